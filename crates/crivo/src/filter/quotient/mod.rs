//! The quotient filter, with rank and select.

mod bytes;
mod codec;
mod fields;
mod geometry;
mod near;
mod operations;
mod processor;
mod rebuild;
mod shift;
mod sort;
mod spec;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use self::geometry::QuotientGeometry;
use self::operations::{
    Contains, ContainsBatch, ContainsNear, CountCopies, Insert, InsertNear, Remove,
};
use self::rebuild::{FillError, merged};
pub use self::spec::QuotientSpec;
use self::table::{NoPlace, NoSuch, QuotientTable};
use super::any::operations;
use super::methods::{describe, read_methods, remove_methods, try_insert_methods};
use super::occupancy::{Cells, Occupancy};
use super::{
    Count, DynamicFilter, Filter, FilterSpec, Full, Incompatible, NotPresent, RebuildError,
    RemovableFilter,
};
use crate::persist::Metadata;
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::memory::Cache;

/// The quotient filter: fingerprints in sorted order, each in a few bits more than its tail.
///
/// # The problem
/// A set of fingerprints answers "have I seen this key?" with as few errors as the fingerprints
/// have collisions. Written out, a fingerprint of 27 bits costs 27 bits. But in a sorted list of a
/// million of them the first 20 bits tell next to nothing: they grow from 0 to 2^20 in small steps.
/// The quotient filter writes only the last 7 bits, and lets the *place* stand for the others.
///
/// # How it works
/// The digest is reduced to a fingerprint, and that is cut in two: the *quotient* is the slot where
/// the fingerprint would like to be, the *remainder* is what stands there. Fingerprints with one
/// quotient form a *run*, in order. A run whose slots are taken moves to the right, and the runs
/// keep their order. Two bits a slot are enough to find everything again: whether a quotient
/// *occurs*, and whether a run *ends* in this slot.
///
/// Six fingerprints of two hexadecimal digits, the first of which is the quotient: 1a, 1c, 2b, 2e,
/// 3d and 6f.
///
/// ```text
///   slot         0   1   2   3   4   5   6   7
///   occurs       ·   1   1   1   ·   ·   1   ·      quotients 1, 2, 3 and 6 occur
///   ends         ·   ·   1   ·   1   1   1   ·      four runs, four ends
///   remainder    ·   a   c   b   e   d   f   ·
///                    └─1─┘   └─2─┘   3   6
/// ```
///
/// Is 2e there? Quotient 2 occurs, and it is the second that does; the second end is in slot 4, and
/// the end before is in slot 2. So its run is in the slots 3 and 4, with the remainders b and e:
/// yes. Is 4e there? Quotient 4 does not occur: no, and nothing else had to be read.
///
/// To begin the counting at a block of 64 slots instead of the beginning of the table, each block
/// has an *offset* of 16 bits: how many slots from its first on belong to quotients of the blocks
/// before.
///
/// # What it costs
/// ```text
///   fingerprints   slots · 2^r, for any number of slots (no power of two)
///   rate           1 − e^(−n/(slots·2^r)) ≈ load · 2^−r
///   bits           (r + 2.25) per slot, at most 95% of which are filled
///                  and, once for the table, up to 208 slots more behind the last
/// ```
///
/// 1% takes r = 7 and 9.74 bits per key. As r is whole the rate comes in steps of a factor two: at
/// 95% load 0.74% is what 9.74 bits give, and a wish of 0.7% costs a bit more.
///
/// # How full it should be
/// Fuller is smaller and slower: runs are longer and farther from their quotients, and an insertion
/// moves more of them. [`QuotientSpec::with_load`] asks for a load; 1% for a million keys takes
///
/// ```text
///   load   bits per key   FPR     for
///   0.95           9.74   0.74%   the least memory; what is asked for if nothing is
///   0.75          12.34   0.58%   insertions and removals that go on
///   0.50          18.50   0.39%   speed: most runs are a single key, in its own slot
/// ```
///
/// Measured in the cache, filling to a load of 0.6 took half the time per key of filling to 0.95, and
/// questions took a quarter less. Where only the smaller table is in the cache, less is gained.
///
/// # What it can do that others cannot
/// - It **counts**: a key inserted three times is there three times, and is removed three times.
/// - It **grows without the keys**: [`Quotient::expand`] moves a bit from the remainders to the
///   quotients. That doubles the slots, and not one fingerprint changes; the rate, at a given
///   number of keys, neither.
/// - It **merges**: two filters of one shape unite in a single pass over both.
/// - It has **no history**: the same fingerprints give the same bytes, in whatever order they came
///   and whatever was removed in between.
///
/// # When not to use it
/// If nothing is counted, merged or grown, a cuckoo filter is faster, and a Bloom filter smaller at
/// rates above 1%. Inserting slows down as the filter fills, as in any table with linear probing. A
/// key with thousands of copies makes its whole neighbourhood slow, and 65,535 slots is the
/// farthest that anything may be displaced: then the filter is [`Full`] for it.
///
/// ```
/// use crivo::filter::{Count, Quotient};
///
/// let mut seen = Quotient::new(1000, 0.01)?;
/// seen.insert("ana")?;
/// seen.insert("ana")?;
/// assert!(seen.contains("ana"));
/// assert_eq!(seen.count("ana"), Count::AtMost(2));
///
/// seen.expand()?; // place for 2,000 keys
/// seen.remove("ana")?;
/// assert_eq!(seen.count("ana"), Count::AtMost(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # References
/// - P. Pandey, M. Bender, R. Johnson, R. Patro, *A general-purpose counting filter: making every
///   bit count*, SIGMOD 2017: two bitmaps with rank and select; this design.
/// - M. Bender et al., *Don't thrash: how to cache your hash on flash*, PVLDB 2012: the first one,
///   with expansion and merging.
/// - D. Knuth, *The Art of Computer Programming* 3, §6.4, exercise 13: quotients in the place of
///   keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Quotient {
    table: QuotientTable,
    key_count: u64,
    hasher: KeyHasher,
    metadata: Metadata,
}

impl Quotient {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// [`QuotientSpec`] has more ways to size one.
    ///
    /// ```
    /// let filter = crivo::filter::Quotient::new(1_000_000, 0.01)?;
    /// assert_eq!(filter.remainder_bits(), 7);
    /// assert_eq!(format!("{:.1}", filter.size_in_bits() as f64 / 1e6), "9.7"); // bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1 or too small for the 64 bits of a digest,
    /// or there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Quotient;
    /// use crivo::hash::SecretKey;
    ///
    /// // For keys that an adversary may choose.
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(Quotient::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        QuotientSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// A filter for `capacity` keys that stores `remainder_bits` bits of each, besides its place:
    /// [`QuotientSpec::with_remainder_bits`].
    ///
    /// Bits beyond what the FPR needs are bits for [`expand`](Self::expand) to use.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{FilterSpec, Quotient};
    ///
    /// let filter = Quotient::with_remainder_bits(1_000, 8, KeyHasher::default())?;
    /// assert!(filter.spec().fpr_when_full() < 1.0 / 256.0);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, there are not from 1 to 62 remainder bits, the slots times 2^bits are
    /// more than 2^63, or there is no memory.
    pub fn with_remainder_bits(
        capacity: u64,
        remainder_bits: u32,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        QuotientSpec::with_remainder_bits(capacity, remainder_bits)?.build(hasher)
    }

    /// The specification of its present size.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, Quotient, QuotientSpec};
    ///
    /// assert_eq!(Quotient::new(1_000, 0.01)?.spec(), QuotientSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> QuotientSpec {
        QuotientSpec { geometry: self.table.geometry }
    }

    /// How many quotients there are.
    ///
    /// ```
    /// let filter = crivo::filter::Quotient::new(1_000, 0.01)?;
    /// assert!(filter.slot_count() >= filter.capacity());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn slot_count(&self) -> u64 {
        self.table.geometry.slots()
    }

    /// The share of the slots that is taken.
    ///
    /// ```
    /// let mut filter = crivo::filter::Quotient::new(100_000, 0.01)?;
    /// filter.try_extend(0..100_000u64)?;
    /// assert_eq!(format!("{:.2}", filter.load_factor()), "0.95");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_factor(&self) -> f64 {
        self.occupancy().share()
    }

    /// The share of the table that is used: the slots that are taken.
    ///
    /// ```
    /// use crivo::filter::{Cells, Quotient};
    ///
    /// let mut filter = Quotient::new(1_000, 0.01)?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.occupancy().used, 1);
    /// assert_eq!(filter.occupancy().cells, Cells::Slots { bits: 7 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        let cells = Cells::Slots { bits: self.remainder_bits() };
        Occupancy::of(self.key_count, self.slot_count(), cells)
    }

    /// How many bits of a key are stored, besides its place.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Quotient::new(1_000, 0.001)?.remainder_bits(), 10);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn remainder_bits(&self) -> u32 {
        self.table.geometry.remainder_bits()
    }

    /// [`count`](Self::count) for a digest.
    ///
    /// ```
    /// use crivo::filter::{Count, Quotient};
    ///
    /// let mut filter = Quotient::new(1_000, 0.01)?;
    /// filter.try_extend(["ana"; 20])?;
    /// assert_eq!(filter.count_digest(filter.hasher().digest("ana")), Count::AtMost(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_digest(&self, key: Digest) -> Count {
        Count::AtMost(self.table.processor.run(CountCopies(&self.table, self.fingerprint(key))))
    }

    #[inline(always)]
    fn fingerprint(&self, key: Digest) -> u64 {
        self.table.geometry.fingerprint(key.get())
    }

    /// Whether runs may be far from their quotients. It decides what is tried first, and no answer.
    #[inline(always)]
    fn is_crowded(&self) -> bool {
        self.key_count > self.table.geometry.crowded()
    }

    /// Doubles the slots, without the keys: each remainder gives one bit to its quotient.
    ///
    /// The fingerprints stay what they are, and so does the rate for as many keys as there are. In
    /// memory there are both tables for a moment.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Quotient;
    ///
    /// let mut seen = Quotient::with_remainder_bits(1000, 10, KeyHasher::default())?;
    /// seen.try_extend(0..1000u32)?;
    /// let fpr = seen.expected_fpr();
    ///
    /// seen.expand()?;
    /// assert_eq!((seen.capacity(), seen.remainder_bits()), (2000, 9));
    /// assert!((0..1000u32).all(|key| seen.contains(&key)));
    /// assert_eq!(seen.expected_fpr(), fpr);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the remainders have a single bit, if there is no memory, or if one key has too many copies
    /// that the new table has no place for them. Nothing has changed.
    pub fn expand(&mut self) -> Result<(), RebuildError> {
        let (slots, bits) = (self.slot_count(), self.remainder_bits());
        if bits == 1 {
            let allowed = "at least 2, so that one can be given away";
            let error = ParameterError::new("remainder bits", bits, allowed);
            return Err(BuildError::from(error).into());
        }
        let geometry = QuotientGeometry::new(2 * slots, bits - 1).map_err(BuildError::from)?;
        self.table = filled(geometry, self.table.fingerprints(), self.key_count)?;
        Ok(())
    }

    /// Takes in every key of `other`, as often as it is there.
    ///
    /// The filters need the same fingerprints: the same hasher, and slots · 2^r. One may have been
    /// expanded more often than the other. The shape stays that of `self`.
    ///
    /// ```
    /// use crivo::filter::{Count, Quotient};
    ///
    /// let mut left = Quotient::new(100, 0.01)?;
    /// let mut right = Quotient::new(100, 0.01)?;
    /// left.insert("ana")?;
    /// right.insert("ana")?;
    /// right.insert("rui")?;
    /// left.union_with(&right)?;
    /// assert!(left.contains("rui"));
    /// assert_eq!(left.count("ana"), Count::AtMost(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the fingerprints or the [`key-encoding`](Metadata::KEY_ENCODING) differ, there is no place
    /// for all keys, or no memory. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
        Incompatible::unless_equal(
            "slots · 2^r",
            self.table.geometry.range(),
            other.table.geometry.range(),
        )?;
        let metadata = Incompatible::merged_metadata(&self.metadata, &other.metadata)?;
        let key_count = self.key_count.saturating_add(other.key_count);
        if key_count > self.capacity() {
            return Err(RebuildError::Full(Full::new(key_count, self.capacity())));
        }
        let fingerprints = merged(self.table.fingerprints(), other.table.fingerprints());
        self.table = filled(self.table.geometry, fingerprints, key_count)?;
        self.key_count = key_count;
        self.metadata = metadata;
        Ok(())
    }
}

/// The table of `key_count` sorted fingerprints.
fn filled(
    geometry: QuotientGeometry,
    fingerprints: impl Iterator<Item = u64>,
    key_count: u64,
) -> Result<QuotientTable, RebuildError> {
    let mut found = 0;
    let counted = fingerprints.inspect(|_| found += 1);
    match QuotientTable::filled(geometry, counted) {
        Ok(table) if found == key_count => Ok(table),
        Ok(_) | Err(FillError::Unsorted) => Err(RebuildError::Damaged),
        Err(FillError::Memory(error)) => Err(error.into()),
        Err(FillError::NoPlace) => {
            Err(RebuildError::Full(Full::new(key_count, geometry.capacity())))
        }
    }
}

impl Filter for Quotient {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let fingerprint = self.fingerprint(key);
        // Here, where it is inlined, so that the quick no costs neither a call nor a cache line
        // more. In a batch, where all lines are on their way, guessing costs more than it saves.
        if !self.table.may_contain(fingerprint) {
            return false;
        }
        if self.is_crowded() {
            self.table.processor.run(Contains(&self.table, fingerprint))
        } else {
            self.table.processor.run(ContainsNear(&self.table, fingerprint))
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        self.table.processor.run(ContainsBatch { table: &self.table, keys, hits });
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.table.prefetch(self.fingerprint(key), Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.table.words.len() as u64 * 64
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Quotient {
    #[inline]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        let full = Full::new(self.key_count, self.capacity());
        if full.key_count >= full.capacity {
            return Err(full);
        }
        let fingerprint = self.fingerprint(key);
        let processor = self.table.processor;
        let inserted = if self.is_crowded() {
            processor.run(Insert(&mut self.table, fingerprint))
        } else {
            processor.run(InsertNear(&mut self.table, fingerprint))
        };
        let is_new = inserted.map_err(|NoPlace| full)?;
        self.key_count += 1;
        Ok(is_new)
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.table.geometry.capacity()
    }

    fn clear(&mut self) {
        self.table.words.to_mut().fill(0);
        self.key_count = 0;
    }
}

impl RemovableFilter for Quotient {
    #[inline]
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
        // A damaged file may have more fingerprints than it says.
        let fewer = self.key_count.checked_sub(1).ok_or(NotPresent)?;
        let fingerprint = self.fingerprint(key);
        let processor = self.table.processor;
        processor.run(Remove(&mut self.table, fingerprint)).map_err(|NoSuch| NotPresent)?;
        self.key_count = fewer;
        Ok(())
    }
}

read_methods!(
    Quotient,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::Quotient::new(1_000, 0.01)?;\nfilter.insert(\"ana\")?;",
);
try_insert_methods!(Quotient);
remove_methods!(Quotient, insert: "filter.insert(\"ana\")?;");

operations!(Quotient: try_insert, remove, union, occupancy);

impl fmt::Debug for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Quotient", self, Some(self.capacity()))
    }
}
