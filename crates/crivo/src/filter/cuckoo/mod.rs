//! The cuckoo filter: takes keys and gives them back, in fewer bits than a Bloom filter at small
//! rates.
//!
//! Of each key it keeps a *fingerprint* of f bits, in one of two *buckets* of four slots each. A
//! query looks at the eight slots, which is why removing works: the fingerprint is simply taken out.
//!
//! ```text
//!   insert x, fingerprint 9, buckets 1 and 4:
//!
//!     bucket   0 |  5  .  .  . |
//!              1 |  3  7  2  8 |  full
//!              2 |  6  .  .  . |
//!              4 |  1  4  4  b |  full, but the 4 in it may also lie in bucket 2 …
//!
//!     bucket   2 |  6  4  .  . |  … so it moves there …
//!              4 |  1  9  4  b |  … and 9 takes its place
//! ```
//!
//! When the 4 has to move, its key is long forgotten. So its other bucket must follow from the
//! fingerprint and the bucket where it lies (*partial-key cuckoo hashing*):
//!
//! ```text
//!   other(bucket, fingerprint) = sum(fingerprint) − bucket      modulo the number of buckets
//! ```
//!
//! which leads back when it is done twice. The common `bucket XOR hash(fingerprint)` does the same
//! only in tables of a power of two, which are up to twice too large. Here `sum` is odd and the
//! number of buckets even, so that the two buckets are never the same one.
//!
//! ```
//! use crivo::filter::{Count, Cuckoo};
//!
//! let mut visitors = Cuckoo::new(1_000, 0.01)?;
//! visitors.insert("ana")?;
//! visitors.insert("ana")?;
//! visitors.insert("rui")?;
//! assert_eq!(visitors.count("ana"), Count::AtMost(2));
//!
//! visitors.remove("ana")?;
//! assert!(visitors.contains("ana"));
//! visitors.remove("ana")?;
//! assert!(!visitors.contains("ana"));
//! assert!(visitors.remove("ana").is_err());
//! assert!(visitors.contains("rui"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//!
//! Two memory accesses a query, which do not wait for each other. At a load of 95%:
//!
//! ```text
//!   rate ≈ 8 · load/(2^f − 1)                      an empty slot is a fingerprint of 0
//!   bits per key = f/load ≈ (log2(1/rate) + 3)/0.95
//! ```
//!
//! | rate | f | bits per key | a Bloom filter takes |
//! |---|---|---|---|
//! | 1% | 10 | 10.5 | 9.6 |
//! | 0.1% | 13 | 13.7 | 14.4 |
//! | 0.01% | 17 | 17.9 | 19.2 |
//!
//! # How full it gets
//!
//! Tables of 1,000 slots or more with fingerprints of 6 bits or more fill up to 95%, and to 97% as
//! a rule, before an insertion is [`Full`] (at 1,000 slots, one in a thousand may stop earlier).
//! Smaller ones fill less, and are made larger to make up for it:
//!
//! | slots | 8 | 16 | 32 | 64 | 128 | 256 | 512 | 1,000 | 1,600 and more |
//! |---|---|---|---|---|---|---|---|---|---|
//! | made for this many keys | 8 | 10 | 24 | 53 | 111 | 231 | 474 | 942 | 95% |
//!
//! In fresh tables, filled thousands of times, this many keys found room 999 times in 1,000 or more
//! often. Fingerprints of 4 bits are counted on to fill only 92% of a table for a million keys and
//! 69% of one for ten million, those of 5 bits 95% up to 200 million keys: nine keys with the same
//! fingerprint and buckets come too easily.
//!
//! A search for room never moves anything until it has found it. **An insertion that fails has not
//! changed a bit**, and every key is still there.
//!
//! # What removal does and does not promise
//!
//! Remove only what was inserted. Then there are no false negatives, however keys come and go. A
//! key that never was inserted is
//! - *mostly* not found: [`NotPresent`], and nothing has changed;
//! - found at the [false-positive rate](Cuckoo::expected_fpr): then it shares fingerprint and
//!   buckets with a key that was inserted, and removing the one removes the other, **which becomes a
//!   false negative**. No filter of this kind can notice.
//!
//! # When not to use it
//! - Above a rate of about 0.4% a Bloom filter is smaller, if nothing is ever removed.
//! - One key more than eight times: its two buckets are full, the ninth copy is [`Full`]. For
//!   multisets take a counting filter.
//! - A set that never changes is better off in a fuse filter.
//! - Buckets have four slots, always. With two, tables fill to less than 90%; with eight, a
//!   query compares twice as many fingerprints, which costs another bit. At loads of 86%, 95% and
//!   98% the formula above gives four the fewest bits from a rate of 1% down, to within 1.5%.
//!
//! # References
//! - B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, *Cuckoo filter: practically better than
//!   Bloom*, CoNEXT 2014: the structure, and the first study of its load.
//! - D. Eppstein, *Cuckoo filter: simplification and analysis*, SWAT 2016: an analysis of
//!   a simplified variant.

mod codec;
mod evict;
mod fields;
mod spec;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use self::fields::BUCKET_SIZE;
pub use self::spec::CuckooSpec;
use self::table::{CuckooTable, LoadBucket, Place};
use super::any::operations;
use super::methods::{describe, read_methods, remove_methods, try_insert_methods};
use super::occupancy::{Cells, Occupancy};
use super::{
    Count, DynamicFilter, Filter, FilterSpec, Full, Incompatible, NotPresent, RebuildError,
    RemovableFilter, batch,
};
use crate::persist::Metadata;
use crate::{BuildError, Digest, KeyHasher};
use crivo_core::memory::Cache;

/// A filter that gives keys back: fingerprints in one of two buckets of four slots each.
///
/// See [the module](self) for how it works, how full it gets, and what removal promises.
///
/// ```
/// use crivo::filter::Cuckoo;
///
/// let mut filter = Cuckoo::new(10_000, 0.001)?;
/// filter.insert("ana")?;
/// assert!(filter.contains("ana") && !filter.contains("rui"));
/// filter.remove("ana")?;
/// assert!(!filter.contains("ana"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Two filters are equal if their tables are, slot by slot: the same keys in another order may lie
/// in other slots, and make another filter.
#[derive(Clone, PartialEq, Eq)]
pub struct Cuckoo {
    table: CuckooTable,
    key_count: u64,
    capacity: u64,
    hasher: KeyHasher,
    metadata: Metadata,
}

impl Cuckoo {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// [`CuckooSpec`] has more ways to size one.
    ///
    /// ```
    /// let filter = crivo::filter::Cuckoo::new(1_000_000, 0.01)?;
    /// assert_eq!(filter.fingerprint_bits(), 10);
    /// assert_eq!(format!("{:.2}", filter.size_in_bits() as f64 / 1e6), "10.53"); // bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0 or too large, the FPR is not between 0 and 1 or takes fingerprints
    /// of more than 32 bits (it is below 2e-9), or if there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Cuckoo;
    /// use crivo::hash::SecretKey;
    ///
    /// // For keys that an adversary may choose.
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(Cuckoo::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        CuckooSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// A filter for `capacity` keys with fingerprints of that many bits, from 4 to 32:
    /// [`CuckooSpec::with_fingerprint_bits`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Cuckoo, FilterSpec};
    ///
    /// let filter = Cuckoo::with_fingerprint_bits(100_000, 12, KeyHasher::default())?;
    /// assert_eq!(format!("{:.4}", filter.spec().fpr_when_full()), "0.0019");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity or the number of bits is out of range, or if there is no memory.
    pub fn with_fingerprint_bits(
        capacity: u64,
        fingerprint_bits: u32,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        CuckooSpec::with_fingerprint_bits(capacity, fingerprint_bits)?.build(hasher)
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{Cuckoo, CuckooSpec, FilterSpec};
    ///
    /// assert_eq!(Cuckoo::new(1_000, 0.01)?.spec(), CuckooSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> CuckooSpec {
        let (buckets, fingerprint_bits) = (self.table.bucket_count(), self.fingerprint_bits());
        CuckooSpec { buckets, fingerprint_bits, capacity: self.capacity }
    }

    /// The bits of a fingerprint.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Cuckoo::new(1_000, 0.01)?.fingerprint_bits(), 10);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fingerprint_bits(&self) -> u32 {
        self.table.fields().width()
    }

    /// How many slots there are. The filter is made for [`capacity`](Self::capacity)
    /// keys, which leaves some of them empty, but takes more as long as they find room.
    ///
    /// ```
    /// let filter = crivo::filter::Cuckoo::new(100_000, 0.01)?;
    /// assert!(filter.slot_count() > 100_000);
    /// assert_eq!(filter.slot_count() % 4, 0); // buckets of four
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn slot_count(&self) -> u64 {
        self.table.bucket_count() * u64::from(BUCKET_SIZE)
    }

    /// The share of the slots that is taken.
    ///
    /// ```
    /// let mut filter = crivo::filter::Cuckoo::new(100_000, 0.01)?;
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
    /// use crivo::filter::{Cells, Cuckoo};
    ///
    /// let mut filter = Cuckoo::new(1_000, 0.01)?;
    /// filter.insert("ana")?;
    /// let occupancy = filter.occupancy();
    /// assert_eq!((occupancy.used, occupancy.total), (1, filter.slot_count()));
    /// assert_eq!(occupancy.cells, Cells::Slots { bits: 10 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        let cells = Cells::Slots { bits: self.fingerprint_bits() };
        Occupancy::of(self.key_count, self.slot_count(), cells)
    }

    /// [`count`](Self::count) for a digest: from 0 to 8, the slots of a key.
    ///
    /// ```
    /// use crivo::filter::{Count, Cuckoo};
    ///
    /// let mut filter = Cuckoo::new(1_000, 0.01)?;
    /// filter.try_extend(["ana", "ana"])?;
    /// let [ana, rui] = ["ana", "rui"].map(|key| filter.hasher().digest(key));
    /// assert_eq!(filter.count_digest(ana), Count::AtMost(2));
    /// assert_eq!(filter.count_digest(rui), Count::AtMost(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn count_digest(&self, key: Digest) -> Count {
        let place = self.table.place(key);
        let copies = if self.table.fields().are_narrow() {
            count_in::<u64>(&self.table, &place)
        } else {
            count_in::<u128>(&self.table, &place)
        };
        Count::AtMost(copies.into())
    }

    /// Takes in every key of `other`, as often as it is there: the counts of both add up.
    ///
    /// ```
    /// use crivo::filter::{Count, Cuckoo};
    ///
    /// let mut filters = [Cuckoo::new(1_000, 0.01)?, Cuckoo::new(1_000, 0.01)?];
    /// for filter in &mut filters {
    ///     filter.insert("ana")?;
    /// }
    /// let [mut all, other] = filters;
    /// all.union_with(&other)?;
    /// assert_eq!(all.count("ana"), Count::AtMost(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It works on a copy of the table, which takes the place of the old one when all have found
    /// room.
    ///
    /// # Errors
    /// If the filters differ in their hash function, their number of slots, their fingerprints or
    /// their [`key-encoding`](Metadata::KEY_ENCODING), if there is no room, or no memory. The filter
    /// is as it was.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
        Incompatible::unless_equal("slot count", self.slot_count(), other.slot_count())?;
        let (ours, theirs) = (self.fingerprint_bits(), other.fingerprint_bits());
        Incompatible::unless_equal("fingerprint bits", ours, theirs)?;
        let metadata = Incompatible::merged_metadata(&self.metadata, &other.metadata)?;
        let key_count = self.key_count.saturating_add(other.key_count);
        let mut table = self.table.copied()?;
        for place in other.table.entries() {
            if !insert_into(&mut table, &place) {
                return Err(RebuildError::Full(Full::new(key_count, self.capacity)));
            }
        }
        self.table = table;
        self.key_count = key_count.min(self.slot_count());
        self.metadata = metadata;
        Ok(())
    }

    fn full(&self) -> Full {
        Full::new(self.key_count, self.capacity)
    }
}

impl Filter for Cuckoo {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let place = self.table.place(key);
        if self.table.fields().are_narrow() {
            contains_in::<u64>(&self.table, &place)
        } else {
            contains_in::<u128>(&self.table, &place)
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        if self.table.fields().are_narrow() {
            contains_batch_in::<u64>(&self.table, keys, hits);
        } else {
            contains_batch_in::<u128>(&self.table, keys, hits);
        }
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        for bucket in self.table.place(key).buckets {
            self.table.prefetch(bucket, Cache::First);
        }
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.table.words().len() as u64 * u64::from(u64::BITS)
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Cuckoo {
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        let is_new = !self.contains_digest(key);
        self.store(key)?;
        Ok(is_new)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn clear(&mut self) {
        self.table.clear();
        self.key_count = 0;
    }
}

impl Cuckoo {
    #[inline]
    fn store(&mut self, key: Digest) -> Result<(), Full> {
        let place = self.table.place(key);
        if !insert_into(&mut self.table, &place) {
            return Err(self.full());
        }
        // A hostile file may have claimed more keys than it has.
        self.key_count = (self.key_count + 1).min(self.slot_count());
        Ok(())
    }
}

impl RemovableFilter for Cuckoo {
    #[inline]
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
        let place = self.table.place(key);
        let removed = if self.table.fields().are_narrow() {
            remove_from::<u64>(&mut self.table, &place)
        } else {
            remove_from::<u128>(&mut self.table, &place)
        };
        // A table from a file may hold more than its key count says.
        self.key_count = self.key_count.saturating_sub(u64::from(removed));
        if removed { Ok(()) } else { Err(NotPresent) }
    }
}

read_methods!(
    Cuckoo,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::Cuckoo::new(1_000, 0.01)?;\nfilter.insert(\"ana\")?;",
);
try_insert_methods!(Cuckoo);
remove_methods!(Cuckoo, insert: "filter.insert(\"ana\")?;");

operations!(Cuckoo: try_insert, remove, union, occupancy);

impl fmt::Debug for Cuckoo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Cuckoo", self, Some(self.capacity))
    }
}

#[inline(always)]
fn contains_in<L: LoadBucket>(table: &CuckooTable, place: &Place) -> bool {
    table.fields().any_equal(table.both::<L>(place), place.fingerprint)
}

fn contains_batch_in<L: LoadBucket>(table: &CuckooTable, keys: &[Digest], hits: &mut [bool]) {
    let fetch = |key| {
        let place = table.place(key);
        place.buckets.into_iter().for_each(|bucket| table.prefetch(bucket, Cache::Second));
        place
    };
    batch::fetch_and_look(keys, hits, fetch, |place| contains_in::<L>(table, &place));
}

#[inline(always)]
fn count_in<L: LoadBucket>(table: &CuckooTable, place: &Place) -> u32 {
    let equal = |bucket: L| table.fields().equal(bucket, place.fingerprint).count_ones();
    table.both::<L>(place).map(equal).into_iter().sum()
}

#[inline(always)]
fn insert_into(table: &mut CuckooTable, place: &Place) -> bool {
    if table.fields().are_narrow() {
        insert_lanes::<u64>(table, place)
    } else {
        insert_lanes::<u128>(table, place)
    }
}

#[inline(always)]
fn insert_lanes<L: LoadBucket>(table: &mut CuckooTable, place: &Place) -> bool {
    let [first, second] = table.both::<L>(place).map(|bucket| table.fields().empty(bucket));
    // Slots fill up from the lowest, so that the larger mark belongs to the emptier bucket.
    let (bucket, empty) =
        if first >= second { (place.buckets[0], first) } else { (place.buckets[1], second) };
    if empty == L::NONE {
        return evict::make_room::<L>(table, place);
    }
    table.flip(bucket, table.fields().first(empty), place.fingerprint);
    true
}

#[inline(always)]
fn remove_from<L: LoadBucket>(table: &mut CuckooTable, place: &Place) -> bool {
    let [first, second] =
        table.both::<L>(place).map(|bucket| table.fields().equal(bucket, place.fingerprint));
    let (bucket, equal) =
        if first != L::NONE { (place.buckets[0], first) } else { (place.buckets[1], second) };
    if equal == L::NONE {
        return false;
    }
    table.flip(bucket, table.fields().first(equal), place.fingerprint);
    true
}
