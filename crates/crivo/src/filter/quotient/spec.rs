//! The dimensions of a quotient filter.

use super::geometry::QuotientGeometry;
use super::table::QuotientTable;
use super::{Quotient, sort};
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build, threads};
use crate::persist::Metadata;
use crate::theory::{digest, quotient};
use crate::{BuildError, Digest, KeyHasher, ParameterError};

/// The specification of a [`Quotient`] filter: slots, and the bits of a remainder.
///
/// ```
/// use crivo::filter::{FilterSpec, QuotientSpec};
///
/// let spec = QuotientSpec::for_fpr(1_000_000, 0.01)?;
/// assert_eq!((spec.slot_count(), spec.remainder_bits()), (1_052_632, 7));
/// assert_eq!(format!("{:.4} {:.2}", spec.fpr_when_full(), spec.bits_per_key()), "0.0074 9.74");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotientSpec {
    pub(super) geometry: QuotientGeometry,
}

/// The bits that a remainder can have.
const WIDTHS: std::ops::RangeInclusive<u32> = 1..=62;

impl QuotientSpec {
    /// A filter for `capacity` keys that stores `remainder_bits` bits of each, besides its place.
    ///
    /// The FPR is 0.95 · 2^−bits when it is full.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, QuotientSpec};
    ///
    /// let spec = QuotientSpec::with_remainder_bits(1_000_000, 8)?;
    /// assert_eq!(format!("{:.5}", spec.fpr_when_full()), "0.00370");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, there are not from 1 to 62 remainder bits, or the slots times 2^bits are
    /// more than 2^63.
    pub fn with_remainder_bits(capacity: u64, remainder_bits: u32) -> Result<Self, ParameterError> {
        Self::from_parts(QuotientGeometry::slots_for(capacity)?, remainder_bits)
    }

    /// The same remainders in more slots, of which as many keys as the [capacity](FilterSpec::capacity)
    /// of `self` fill no more than the share `load`.
    ///
    /// What that costs and gives is told in the documentation of [`Quotient`]. There is still place for
    /// 95% of the slots: the capacity grows with them, and keeps the FPR.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, QuotientSpec};
    ///
    /// let full = QuotientSpec::for_fpr(1_000_000, 0.01)?;
    /// let half = full.with_load(0.5)?;
    /// assert_eq!((half.slot_count(), half.remainder_bits()), (2_000_000, 7));
    /// assert_eq!(format!("{:.4}", full.fpr_at(1_000_000)), "0.0074");
    /// assert_eq!(format!("{:.4}", half.fpr_at(1_000_000)), "0.0039");
    /// assert_eq!(half.capacity(), 1_900_000);
    /// assert!(half.fpr_when_full() <= 0.01);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the load is not above 0 and at most 0.95, or the slots times 2^bits are more than 2^63.
    pub fn with_load(self, load: f64) -> Result<Self, ParameterError> {
        let slots = QuotientGeometry::slots_at_load(self.capacity(), load)?;
        // At 95% the quotient may round to one slot less than there is.
        Self::from_parts(slots.max(self.slot_count()), self.remainder_bits())
    }

    /// A filter of these dimensions, if there can be one.
    pub(in crate::filter) fn from_parts(
        slots: u64,
        remainder_bits: u32,
    ) -> Result<Self, ParameterError> {
        Ok(Self { geometry: QuotientGeometry::new(slots, remainder_bits)? })
    }

    /// How many quotients there are.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, QuotientSpec};
    ///
    /// let spec = QuotientSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.2}", 1e6 / spec.slot_count() as f64), "0.95"); // full slots
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn slot_count(&self) -> u64 {
        self.geometry.slots()
    }

    /// How many bits of a key are stored, besides its place.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, QuotientSpec};
    ///
    /// assert_eq!(QuotientSpec::for_fpr(1_000_000, 0.001)?.remainder_bits(), 10);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn remainder_bits(&self) -> u32 {
        self.geometry.remainder_bits()
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, QuotientSpec};
    ///
    /// let spec = QuotientSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(spec.word_count() * 64, spec.size_in_bits());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.geometry.words() as u64
    }
}

impl FilterSpec for QuotientSpec {
    type Filter = Quotient;

    const KIND: Kind = Kind::Quotient;

    const CAPABILITIES: Capabilities = Capabilities {
        insert: true,
        remove: true,
        count: true,
        merge: true,
        grow: true,
        ..Capabilities::STATIC
    };

    const SUMMARY: &'static str = "remove, count, merge, grow";

    /// The fewest remainder bits that keep the FPR.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        // Equal digests are equal fingerprints, and counted as such: no share is set aside for them.
        digest::structure_fpr(capacity, fpr)?;
        let slots = QuotientGeometry::slots_for(capacity)?;
        WIDTHS
            .map_while(|bits| Self::from_parts(slots, bits).ok())
            .find(|spec| spec.fpr_at(capacity) <= fpr)
            .ok_or_else(|| {
                let allowed = "such that slots · 2^r, about n/FPR, is at most 2^63";
                ParameterError::of_real("fpr", fpr, allowed)
            })
    }

    /// The longest remainders that fit.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        let slots = QuotientGeometry::slots_for(capacity)?;
        let bits = memory.in_bits()?;
        WIDTHS
            .map_while(|width| Self::from_parts(slots, width).ok())
            .take_while(|spec| spec.size_in_bits() <= bits)
            .last()
            .ok_or_else(|| memory.too_few())
    }

    fn capacity(&self) -> u64 {
        self.geometry.capacity()
    }

    fn size_in_bits(&self) -> u64 {
        self.word_count().saturating_mul(64)
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        // The dimensions of a specification are valid.
        quotient::mean_fpr(self.slot_count(), self.remainder_bits(), keys).unwrap_or(1.0)
    }

    fn build(&self, hasher: KeyHasher) -> Result<Quotient, BuildError> {
        let table = QuotientTable::new(self.geometry)?;
        Ok(Quotient { table, key_count: 0, hasher, metadata: Metadata::new() })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Quotient, SpecError> {
        let count = threads::count_for(threads, items.len())?;
        let Some(table) = sort::table_of(self.geometry, items, &digest_of, count) else {
            return build::in_shares(self, items, digest_of, threads, hasher);
        };
        let key_count = items.len() as u64;
        Ok(Quotient { table, key_count, hasher, metadata: Metadata::new() })
    }
}
