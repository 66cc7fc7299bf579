//! The dimensions of a cuckoo filter: how large a table must be, so that its keys find room.
//!
//! A table of s slots is counted on for s·load keys, where load is the least of three limits. The
//! first two were measured with this very code, on 1,000 to 20,000 fresh tables of each of 22 sizes
//! up to 6,400 slots, and widths of 4, 5, 6, 8 and 12 bits: at most one in a thousand was refused a
//! key earlier. (Of larger tables, up to 2^26 slots, only a few were filled.) The third is computed.
//!
//! 1. **95%**: large tables fill up to 97%, but the search for the last empty slots gets long.
//! 2. **0.98 − c/√s**: 98% is the [threshold](theory::load_threshold); small tables stay below it by
//!    an amount that scatters as 1/√s. c = 1.2, and 2.2 for fingerprints of less than 6 bits, whose
//!    few steps from bucket to bucket coincide now and then. Above 1,600 slots the first limit is
//!    lower. Two buckets (s = 8) are an exception: every key may lie in both, and all slots fill.
//! 3. **Nine keys of one kind**: D·m/2 pairs of a fingerprint and its two buckets take eight keys
//!    each; the keys of a pair are a Poisson variable of mean λ = 8·load/D. That one pair among all
//!    gets nine has a probability of at most D·m/2 · λ^9/9!, which is to be 1/100. The limit counts
//!    for 4 bits from about a million keys on, for 5 bits above 200 million, for 6 above 10^10.

use super::Cuckoo;
use super::fields::BUCKET_SIZE;
use super::table::{self, CuckooTable};
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::theory::search::least;
use crate::theory::{cuckoo as theory, digest};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::check::check_keys;

/// The specification of a [`Cuckoo`] filter: buckets, bits of a fingerprint, and the capacity.
///
/// ```
/// use crivo::filter::{CuckooSpec, FilterSpec};
///
/// let spec = CuckooSpec::with_fingerprint_bits(1_000_000, 12)?;
/// assert_eq!(format!("{:.4} {:.2}", spec.fpr_when_full(), spec.bits_per_key()), "0.0019 12.63");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooSpec {
    pub(super) buckets: u64,
    pub(super) fingerprint_bits: u32,
    pub(super) capacity: u64,
}

/// The bits that a fingerprint can have.
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=32;

impl CuckooSpec {
    /// A filter for `capacity` keys with fingerprints of that many bits, from 4 to 32.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// let spec = CuckooSpec::with_fingerprint_bits(1_000_000, 16)?;
    /// assert_eq!(format!("{:.5}", spec.fpr_when_full()), "0.00012");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity or the number of bits is out of range.
    pub fn with_fingerprint_bits(
        capacity: u64,
        fingerprint_bits: u32,
    ) -> Result<Self, ParameterError> {
        Self::from_parts(buckets_for(capacity, fingerprint_bits)?, fingerprint_bits, capacity)
    }

    /// A filter of these dimensions, if there can be one.
    pub(in crate::filter) fn from_parts(
        buckets: u64,
        fingerprint_bits: u32,
        capacity: u64,
    ) -> Result<Self, ParameterError> {
        CuckooTable::word_count(buckets, fingerprint_bits)?;
        if !(1..=buckets * u64::from(BUCKET_SIZE)).contains(&capacity) {
            let allowed = "at least 1, and at most the number of slots";
            return Err(ParameterError::new("capacity", capacity, allowed));
        }
        Ok(Self { buckets, fingerprint_bits, capacity })
    }

    /// The bits of a fingerprint.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// assert_eq!(CuckooSpec::for_fpr(1_000_000, 0.001)?.fingerprint_bits(), 13);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    /// How many slots there are, each for one fingerprint.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// let spec = CuckooSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.3}", 1e6 / spec.slot_count() as f64), "0.950"); // full slots
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn slot_count(&self) -> u64 {
        self.buckets * u64::from(BUCKET_SIZE)
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// let spec = CuckooSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(spec.word_count() * 64, spec.size_in_bits());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        // The dimensions of a specification are valid.
        CuckooTable::word_count(self.buckets, self.fingerprint_bits).unwrap_or(u64::MAX / 64)
    }
}

impl FilterSpec for CuckooSpec {
    type Filter = Cuckoo;

    const KIND: Kind = Kind::Cuckoo;

    // Eight copies fill a key's two buckets: not what is called counting. A merger fills one table
    // with the keys of both: not what one would plan with.
    const CAPABILITIES: Capabilities =
        Capabilities { insert: true, remove: true, ..Capabilities::STATIC };

    const SUMMARY: &'static str = "remove; merge while there is room";

    /// The width of fingerprints that keeps the FPR in the smallest table.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        // Equal digests are equal fingerprints, and counted as such: no share is set aside for them.
        digest::structure_fpr(capacity, fpr)?;
        let mut best: Option<Self> = None;
        for width in WIDTHS {
            let spec = Self::with_fingerprint_bits(capacity, width)?;
            let load = capacity as f64 / spec.slot_count() as f64;
            if theory::fpr(table::distinct(width), BUCKET_SIZE, load)? <= fpr {
                if best.is_some_and(|best| best.size_in_bits() <= spec.size_in_bits()) {
                    break;
                }
                best = Some(spec);
            }
        }
        best.ok_or_else(|| {
            ParameterError::of_real("fpr", fpr, "within reach of 32 bits: above 1.9e-9")
        })
    }

    /// The widest fingerprints that fit.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let bits = memory.in_bits()?;
        WIDTHS
            .rev()
            .filter_map(|width| Self::with_fingerprint_bits(capacity, width).ok())
            .find(|spec| spec.size_in_bits() <= bits)
            .ok_or_else(|| memory.too_few())
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.word_count()
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        // The dimensions of a specification are valid.
        theory::mean_fpr(table::distinct(self.fingerprint_bits), self.buckets, keys).unwrap_or(1.0)
    }

    fn build(&self, hasher: KeyHasher) -> Result<Cuckoo, BuildError> {
        let Self { buckets, fingerprint_bits, capacity } = *self;
        let table = CuckooTable::new(buckets, fingerprint_bits)?;
        Ok(Cuckoo { table, key_count: 0, capacity, hasher, metadata: Metadata::new() })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Cuckoo, SpecError> {
        build::in_order(self, items, digest_of, threads, hasher)
    }
}

/// The number of buckets, an even one, of a table for `capacity` keys.
pub(super) fn buckets_for(capacity: u64, width: u32) -> Result<u64, ParameterError> {
    check_keys(capacity)?;
    if !WIDTHS.contains(&width) {
        return Err(ParameterError::new("fingerprint bits", width, "from 4 to 32"));
    }
    if capacity <= u64::from(2 * BUCKET_SIZE) {
        return Ok(2);
    }
    let is_enough = |half: u64| {
        let slots = (2 * half * u64::from(BUCKET_SIZE)) as f64;
        slots * load_limit(slots, width) >= capacity as f64
    };
    // Larger tables take more keys, so that the least that is enough can be searched for.
    let hint = capacity / u64::from(2 * BUCKET_SIZE);
    least(hint, 1 << 58, is_enough)
        .map(|half| 2 * half)
        .ok_or_else(|| ParameterError::new("capacity", capacity, "below 2^58 or so"))
}

/// The share of its slots that a table can be counted on to fill.
fn load_limit(slots: f64, width: u32) -> f64 {
    let distinct = 2f64.powi(width as i32) - 1.0;
    let scatter = if width < 6 { 2.2 } else { 1.2 };
    let small = 0.98 - scatter / slots.sqrt();
    let pairs = distinct * slots / 8.0;
    let nine_factorial = 362_880.0;
    let nine_of_a_kind = (0.01 * nine_factorial / pairs).powf(1.0 / 9.0) * distinct / 8.0;
    small.min(nine_of_a_kind).min(0.95)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_table_is_the_smallest_that_is_enough() {
        for width in [4, 5, 6, 12] {
            for capacity in (1..3_000).chain([1_000_000, 100_000_000, 1 << 40]) {
                let buckets = buckets_for(capacity, width).unwrap();
                assert!(buckets.is_multiple_of(2));
                let holds = |buckets: u64| {
                    let slots = (buckets * 4) as f64;
                    if buckets == 2 { 8.0 } else { slots * load_limit(slots, width) }
                };
                assert!(holds(buckets) >= capacity as f64, "{capacity} {width}");
                if buckets > 2 {
                    assert!(holds(buckets - 2) < capacity as f64, "{capacity} {width}");
                }
            }
        }
    }

    #[test]
    fn large_tables_are_filled_to_95_percent() {
        for (capacity, width) in [(2_000, 6), (1_000_000, 6), (100_000_000, 6), (1 << 40, 8)] {
            let slots = buckets_for(capacity, width).unwrap() * 4;
            assert!(slots < (capacity as f64 / 0.95) as u64 + 16, "{capacity} {width}");
        }
    }

    #[test]
    fn the_width_is_the_one_of_theory_or_saves_memory() {
        let width = |keys, fpr| CuckooSpec::for_fpr(keys, fpr).unwrap().fingerprint_bits();
        assert_eq!(width(1_000_000, 0.01), 10);
        assert_eq!(width(1_000_000, 0.001), 13);
        assert_eq!(width(1_000, 0.45), 4);
        // Four bits would be enough, in a table that is 60% full: five take less.
        assert_eq!(width(100_000_000, 0.45), 5);
        assert_eq!(width(1_000_000, 1.9e-9), 32);
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(buckets_for(0, 8).map_err(parameter), Err("n"));
        assert_eq!(buckets_for(10, 3).map_err(parameter), Err("fingerprint bits"));
        assert_eq!(buckets_for(10, 33).map_err(parameter), Err("fingerprint bits"));
        assert_eq!(buckets_for(u64::MAX, 8).map_err(parameter), Err("capacity"));
        for fpr in [0.0, 1.0, f64::NAN, -1.0, 1e-9, 1e-30] {
            assert_eq!(CuckooSpec::for_fpr(1_000, fpr).map_err(parameter), Err("fpr"), "{fpr}");
        }
    }
}
