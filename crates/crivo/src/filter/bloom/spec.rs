//! The dimensions of a Bloom filter.

use super::{BitTable, Bloom};
use crate::filter::spec::unless_useless;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::theory::{bloom, digest};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::check::{check_keys, check_positive, check_positive_real, check_probes, size_from};

/// The specification of a [`Bloom`] filter: bits, probes per key, and the capacity.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{BloomSpec, Bytes, FilterSpec};
///
/// let spec = BloomSpec::for_memory(1_000, Bytes(1_200))?;
/// assert_eq!((spec.size_in_bits(), spec.probes()), (9_600, 7));
/// let filter = spec.build(KeyHasher::xxh3(7))?;
/// assert_eq!(filter.spec(), spec);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomSpec {
    pub(in crate::filter) word_count: u64,
    pub(in crate::filter) probes: u32,
    pub(in crate::filter) capacity: u64,
}

/// More positions per key than this are of no use: the FPR is then far below that at which digests
/// of 64 bits coincide.
pub(in crate::filter) const MAX_POSITIONS_PER_KEY: u64 = 96;

/// Up to this many keys, positions are not quite independent: they all come from one digest, and of
/// a table so small they say more than its 64 bits can. Measured FPRs were up to 1.6 times those of
/// theory with one key, and 1.02 times with twenty.
const FEW_KEYS: u64 = 32;

/// Bits, or counters, and probes for `capacity` keys: enough for theory's FPR, and twice as good for
/// few keys.
pub(in crate::filter) fn size_for(
    capacity: u64,
    fpr: f64,
) -> Result<bloom::BloomSize, ParameterError> {
    let structure = digest::structure_fpr(capacity, fpr)?;
    bloom::size(capacity, if capacity <= FEW_KEYS { structure / 2.0 } else { structure })
}

impl BloomSpec {
    /// A filter of `bits` bits, rounded up to a multiple of 64, that sets `probes` of them per key.
    ///
    /// Its capacity is the number of keys that set half of the bits, for which that many probes
    /// are best: m·ln 2/k.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// let spec = BloomSpec::with_size(10_000, 7)?;
    /// assert_eq!((spec.size_in_bits(), spec.capacity()), (10_048, 990));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits, or the probes are not from 1 to 255.
    pub fn with_size(bits: u64, probes: u32) -> Result<Self, ParameterError> {
        check_positive("m", bits)?;
        check_probes(probes)?;
        let half_full = bits as f64 * std::f64::consts::LN_2 / f64::from(probes);
        Self::from_parts(bits.div_ceil(64), probes, (half_full as u64).max(1))
    }

    /// A filter for `capacity` keys with `bits_per_key` bits for each, and the best k.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// let spec = BloomSpec::with_bits_per_key(1_000_000, 10.0)?;
    /// assert_eq!(spec.probes(), 7);
    /// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0082");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, or the bits per key are not a positive number.
    pub fn with_bits_per_key(capacity: u64, bits_per_key: f64) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        check_positive_real("bits per key", bits_per_key)?;
        let bits = size_from("size in bits", capacity as f64 * bits_per_key)?;
        Self::from_parts(bits.div_ceil(64), bloom::best_probes(bits, capacity)?, capacity)
    }

    /// A filter with these numbers of words, probes and keys, if there can be one.
    pub(in crate::filter) fn from_parts(
        word_count: u64,
        probes: u32,
        capacity: u64,
    ) -> Result<Self, ParameterError> {
        // The number of bits must fit into 64 bits, too.
        if !(1..1 << 58).contains(&word_count) {
            return Err(ParameterError::new("words", word_count, "from 1 to 2^58 - 1"));
        }
        check_probes(probes)?;
        check_positive("capacity", capacity)?;
        Ok(Self { word_count, probes, capacity })
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// assert_eq!(crivo::filter::BloomSpec::with_size(10_000, 7)?.word_count(), 157);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.word_count
    }

    /// How many bits are set per key: k.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// assert_eq!(BloomSpec::for_fpr(1_000, 0.001)?.probes(), 10);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }
}

impl FilterSpec for BloomSpec {
    type Filter = Bloom;

    const KIND: Kind = Kind::Bloom;

    const CAPABILITIES: Capabilities =
        Capabilities { insert: true, merge: true, never_full: true, ..Capabilities::STATIC };

    const SUMMARY: &'static str = "merge; accepts any number of keys, at a rising FPR";

    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        let bloom::BloomSize { bits, probes, .. } = size_for(capacity, fpr)?;
        Self::from_parts(bits.div_ceil(64), probes, capacity)
    }

    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let useful = capacity.saturating_mul(MAX_POSITIONS_PER_KEY).div_ceil(64);
        let word_count = (memory.in_bits()? / 64).min(useful);
        if word_count == 0 {
            return Err(memory.too_few());
        }
        let probes = bloom::best_probes(word_count.saturating_mul(64), capacity)?;
        unless_useless(Self::from_parts(word_count, probes, capacity)?, memory)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.word_count
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        digest::fpr(bloom::mean_fpr(self.size_in_bits(), keys, self.probes), keys)
    }

    fn build(&self, hasher: KeyHasher) -> Result<Bloom, BuildError> {
        let Self { word_count, probes, capacity } = *self;
        let table = BitTable::zeroed(64 * word_count)?;
        Ok(Bloom { table, probes, key_count: 0, capacity, hasher, metadata: Metadata::new() })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Bloom, SpecError> {
        build::in_ranges(self, items, digest_of, threads, hasher)
    }
}
