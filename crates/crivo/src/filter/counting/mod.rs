//! The counting Bloom filter: counters where the Bloom filter has bits.

mod codec;
mod counters;
mod marking;
mod spec;

#[cfg(test)]
mod tests;

use std::{fmt, iter};

use self::counters::Counters;
use super::any::operations;
use super::methods::{describe, insert_methods, read_methods, remove_methods};
use super::occupancy::{Cells, Occupancy};
use super::packed_counters::Step;
use super::{
    Count, DynamicFilter, Filter, FilterSpec, Full, Incompatible, NotPresent, RebuildError,
    RemovableFilter, batch, set_bits,
};
use crate::persist::Metadata;
use crate::theory::estimate::Estimate;
use crate::{BuildError, Digest, KeyHasher};
use crivo_core::memory::Cache;

pub use self::spec::CountingSpec;
pub use super::packed_counters::CounterWidth;

/// A Bloom filter with counters instead of bits, so that keys can be taken out again, and counted.
///
/// A key owns k places. Inserting it raises the counters there by one, removing it lowers them; it
/// is a member as long as none of them is 0, and the smallest of them says how often it was
/// inserted *at most*: others may have raised it too, but nobody lowers it.
///
/// ```text
///   twelve counters, three places per key      ana: 5 3 6      ida: 8 7 1
///
///   index            0  1  2  3  4  5  6  7  8  9 10 11
///   insert ana       .  .  .  1  .  1  1  .  .  .  .  .
///   insert ida       .  1  .  1  .  1  1  1  1  .  .  .
///   insert ana       .  1  .  2  .  2  2  1  1  .  .  .      ana: at most 2
///   remove ida       .  .  .  2  .  2  2  .  .  .  .  .      ida: certainly not
/// ```
///
/// ```
/// use crivo::filter::{Count, CountingBloom};
///
/// let mut words = CountingBloom::new(1_000, 0.01)?;
/// words.insert("ana");
/// words.insert("ida");
/// words.insert("ana");
/// assert_eq!(words.count("ana"), Count::AtMost(2));
/// words.remove("ida")?;
/// assert!(!words.contains("ida"));
/// assert!(words.remove("ida").is_err());               // nothing changes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost and error
///
/// The false-positive rate is that of a [Bloom filter](crate::theory::bloom) with as many bits as
/// there are counters: (1 − e^(−kn/m))^k. At 1% that takes 9.59 counters per key: 38.4 bits with
/// counters of four bits, 76.7 with eight.
///
/// | [`CounterWidth`] | counts to | bits per key at 1% | use it |
/// |---|---|---|---|
/// | [`Four`](CounterWidth::Four) (default) | 14, then *at least 15* | 38.4 | for removal; for small counts |
/// | [`Eight`](CounterWidth::Eight) | 254, then *at least 255* | 76.7 | for counts |
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{Count, CounterWidth, CountingBloom};
///
/// let hasher = KeyHasher::xxh3(1);
/// let mut visits = CountingBloom::with_width(10_000, 0.001, CounterWidth::Eight, hasher)?;
/// visits.extend(["ana"; 200]);
/// assert_eq!(visits.count("ana"), Count::AtMost(200));
/// visits.extend(["ana"; 200]);
/// assert_eq!(visits.count("ana"), Count::AtLeast(255));
/// assert_eq!(visits.key_count(), 400);
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// It is never [`Full`]: past its capacity it accepts keys at a rising false-positive rate.
///
/// # Counters that are full
///
/// A counter that has reached its greatest value cannot tell how many increments it missed. It
/// **sticks**: it is never lowered again, because a counter that is lowered too often makes some
/// other key a false negative. What it costs is accuracy: the place stays occupied until
/// [`clear`](Self::clear).
///
/// With keys that are inserted once it hardly ever happens: among the 9.6 million four-bit
/// counters of a million keys at 1%, the [expected number](crate::theory::counting) that get as
/// far is 3e-8. A key that is inserted fifteen times gets there by itself.
///
/// # Places that coincide
///
/// The k places of a key may repeat, as in any Bloom filter. Each *different* counter moves once,
/// up and down, so that removal undoes insertion exactly, and a count is not doubled.
///
/// # When not to use it
/// For removal alone a cuckoo or a quotient filter takes a quarter of the memory, and fewer cache
/// lines per query: this one reads k. A [`BlockedCounting`](super::BlockedCounting) has all counters of
/// a key in one line, which is faster, but at 1% it takes 43.4 bits per key: this one keeps the classic
/// layout, and the memory. Where nothing is removed or counted, take a Bloom filter.
///
/// # References
/// - L. Fan, P. Cao, J. Almeida, A. Broder, *Summary cache*, ToN 2000: the structure, and why four
///   bits are enough.
/// - F. Bonomi et al., *An improved construction for counting Bloom filters*, ESA 2006: half the
///   memory, with fingerprints.
#[derive(Clone, PartialEq, Eq)]
pub struct CountingBloom {
    counters: Counters,
    hasher: KeyHasher,
    capacity: u64,
    key_count: u64,
    metadata: Metadata,
}

/// Building.
impl CountingBloom {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// Its counters have four bits. [`CountingSpec`] has more ways to size one.
    ///
    /// ```
    /// let filter = crivo::filter::CountingBloom::new(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.1}", filter.size_in_bits() as f64 / 1e6), "38.4"); // bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::CountingBloom;
    /// use crivo::hash::SecretKey;
    ///
    /// // For keys that an adversary may choose.
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(CountingBloom::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        CountingSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// [`with_hasher`](Self::with_hasher) with counters of a chosen width.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Count, CounterWidth, CountingBloom};
    ///
    /// let hasher = KeyHasher::default();
    /// let mut filter = CountingBloom::with_width(1_000, 0.01, CounterWidth::Eight, hasher)?;
    /// filter.extend(["ana"; 100]);
    /// assert_eq!(filter.count("ana"), Count::AtMost(100));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_width(
        capacity: u64,
        fpr: f64,
        width: CounterWidth,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        CountingSpec::for_fpr(capacity, fpr)?.with_width(width)?.build(hasher)
    }

    /// A filter of that many counters, of which a key has `probes`: [`CountingSpec::with_size`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{CounterWidth, CountingBloom};
    ///
    /// let filter = CountingBloom::with_size(10_000, 7, CounterWidth::Four, KeyHasher::default())?;
    /// assert_eq!((filter.size_in_bits(), filter.capacity()), (40_000, 990));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no counters, k is not from 1 to 255, or there is no memory.
    pub fn with_size(
        counters: u64,
        probes: u32,
        width: CounterWidth,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        CountingSpec::with_size(counters, probes)?.with_width(width)?.build(hasher)
    }
}

/// Questions beyond membership.
impl CountingBloom {
    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{CountingBloom, CountingSpec, FilterSpec};
    ///
    /// assert_eq!(CountingBloom::new(1_000, 0.01)?.spec(), CountingSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> CountingSpec {
        let (counters, probes) = (self.counter_count(), self.probes());
        CountingSpec { counters, probes, width: self.width(), capacity: self.capacity }
    }

    /// [`count`](Self::count) for a digest.
    ///
    /// ```
    /// use crivo::filter::{Count, CountingBloom};
    ///
    /// let mut filter = CountingBloom::new(1_000, 0.01)?;
    /// filter.extend(["ana", "ana"]);
    /// let [ana, rui] = ["ana", "rui"].map(|key| filter.hasher().digest(key));
    /// assert_eq!(filter.count_digest(ana), Count::AtMost(2));
    /// assert_eq!(filter.count_digest(rui), Count::AtMost(0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn count_digest(&self, key: Digest) -> Count {
        self.width().count(self.counters.least(key))
    }

    /// The greatest of all counters: no key was inserted more often.
    ///
    /// ```
    /// use crivo::filter::{Count, CountingBloom};
    ///
    /// let mut filter = CountingBloom::new(1_000, 0.01)?;
    /// filter.extend(["ana", "ana", "eva"]);
    /// assert_eq!(filter.max_count(), Count::AtMost(2));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn max_count(&self) -> Count {
        self.width().count(self.counters.values().max().unwrap_or(0))
    }

    /// The least of all counters. Above 0 the filter is so full that it says yes to every key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Count, CounterWidth, CountingBloom};
    ///
    /// let mut filter = CountingBloom::with_size(10, 3, CounterWidth::Four, KeyHasher::default())?;
    /// assert_eq!(filter.min_count(), Count::AtMost(0));
    /// filter.extend(0..1_000u64);
    /// assert_eq!(filter.min_count(), Count::AtLeast(15));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn min_count(&self) -> Count {
        self.width().count(self.counters.values().min().unwrap_or(0))
    }

    /// The indexes of the counters of a key, k of them, in the order in which they are probed; they
    /// may repeat.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{CounterWidth, CountingBloom};
    ///
    /// let hasher = KeyHasher::default();
    /// let filter = CountingBloom::with_size(12, 3, CounterWidth::Four, hasher)?;
    /// assert_eq!(filter.positions(hasher.digest("ana")).count(), 3);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn positions(&self, key: Digest) -> impl Iterator<Item = u64> + use<> {
        self.counters.indexes(key)
    }

    /// The value of every counter, in order.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{CounterWidth, CountingBloom};
    ///
    /// let mut filter = CountingBloom::with_size(12, 3, CounterWidth::Four, KeyHasher::default())?;
    /// filter.insert("ana");
    /// assert_eq!(filter.counters().map(u32::from).sum::<u32>(), 3);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn counters(&self) -> impl Iterator<Item = u8> {
        self.counters.values()
    }

    /// How many counters there are, m.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{CounterWidth, CountingBloom};
    ///
    /// let filter = CountingBloom::with_size(12, 3, CounterWidth::Four, KeyHasher::default())?;
    /// assert_eq!(filter.counter_count(), 12);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn counter_count(&self) -> u64 {
        self.counters.count()
    }

    /// How many counters a key has, k.
    ///
    /// ```
    /// assert_eq!(crivo::filter::CountingBloom::new(1_000, 0.01)?.probes(), 7);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.counters.probes()
    }

    /// How many bits a counter has.
    ///
    /// ```
    /// use crivo::filter::{CounterWidth, CountingBloom};
    ///
    /// assert_eq!(CountingBloom::new(1_000, 0.01)?.width(), CounterWidth::Four);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn width(&self) -> CounterWidth {
        self.counters.width()
    }

    /// How many counters are above 0. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::CountingBloom::new(1_000, 0.01)?;
    /// filter.extend(["ana"; 5]);
    /// assert!(filter.count_set_counters() <= 7);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_counters(&self) -> u64 {
        self.counters.values().filter(|&value| value > 0).count() as u64
    }

    /// The share of the table that is used: the counters above 0. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::CountingBloom::new(10_000, 0.01)?;
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.2}", filter.occupancy().share()), "0.52");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        let cells = Cells::Counters { probes: self.probes() };
        Occupancy::of(self.count_set_counters(), self.counter_count(), cells)
    }

    /// The number of different keys, estimated from the counters above 0: the whole table is read.
    /// `None` if all are, which says nothing about how many keys made them so.
    ///
    /// Unlike [`key_count`](Self::key_count) it counts a key once however often it was inserted,
    /// also after unions.
    ///
    /// ```
    /// let mut filter = crivo::filter::CountingBloom::new(1_000, 0.01)?;
    /// filter.extend(["ana"; 10]);
    /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        let set = iter::once(self.count_set_counters());
        set_bits::estimated_key_count(self.counter_count(), self.probes(), set)
    }

    /// The false-positive rate of this very table: (share of counters above 0)^k. It reads the whole
    /// table.
    ///
    /// ```
    /// let mut filter = crivo::filter::CountingBloom::new(10_000, 0.01)?;
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.3}", filter.fill_fpr()), "0.010");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        let set = iter::once(self.count_set_counters());
        set_bits::fill_fpr(self.counter_count(), self.probes(), set)
    }
}

impl Filter for CountingBloom {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        self.counters.contains(key)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        let fetch = |key| {
            self.counters.prefetch(key, Cache::Second);
            key
        };
        batch::fetch_and_look(keys, hits, fetch, |key| self.counters.contains(key));
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.counters.words().len() as u64 * 64
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for CountingBloom {
    /// Raises the key's counters. It is never [`Full`].
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(self.put(key))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Counters that were stuck are free again.
    fn clear(&mut self) {
        self.counters.clear();
        self.key_count = 0;
    }
}

impl CountingBloom {
    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let is_new = !self.counters.contains(key);
        self.raise(key);
        is_new
    }

    #[inline]
    fn raise(&mut self, key: Digest) {
        self.counters.step(key, Step::Up);
        self.key_count = self.key_count.saturating_add(1);
    }

    /// Asks the processor to fetch the memory of a key.
    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        self.counters.prefetch(key, cache);
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        keys.for_each(|key| self.raise(key));
    }
}

impl RemovableFilter for CountingBloom {
    /// Lowers the key's counters, except those that are saturated. A key whose counters are all
    /// saturated therefore stays a member, however often it is removed.
    #[inline]
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
        if !self.counters.contains(key) {
            return Err(NotPresent);
        }
        self.counters.step(key, Step::Down);
        self.key_count = self.key_count.saturating_sub(1);
        Ok(())
    }
}

/// Changes of the whole.
impl CountingBloom {
    /// Takes in all keys of `other`, with their counts: counters are added, and saturate.
    ///
    /// ```
    /// use crivo::filter::{Count, CountingBloom};
    ///
    /// let mut ours = CountingBloom::new(1_000, 0.01)?;
    /// let mut theirs = ours.clone();
    /// ours.insert("ana");
    /// theirs.extend(["ana", "ana", "eva"]);
    /// ours.union_with(&theirs)?;
    /// assert_eq!(ours.count("ana"), Count::AtMost(3));
    /// assert_eq!(ours.count("eva"), Count::AtMost(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the hashers, the numbers of counters or probes, the widths or
    /// [`key-encoding`](Metadata::KEY_ENCODING) differ, or there is no memory for a copy of a mapped
    /// file's words. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        let unless_equal = Incompatible::unless_equal::<u64>;
        Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
        unless_equal("number of counters", self.counter_count(), other.counter_count())?;
        unless_equal("k", self.probes().into(), other.probes().into())?;
        Incompatible::unless_equal("width of a counter", self.width(), other.width())?;
        let metadata = Incompatible::merged_metadata(&self.metadata, &other.metadata)?;
        self.counters.add(&other.counters)?;
        self.metadata = metadata;
        self.key_count = self.key_count.saturating_add(other.key_count);
        Ok(())
    }
}

read_methods!(
    CountingBloom,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::CountingBloom::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(
    CountingBloom,
    example: "let mut filter = crivo::filter::CountingBloom::new(1_000, 0.01)?;",
);
remove_methods!(CountingBloom, insert: "filter.insert(\"ana\");");

operations!(CountingBloom: insert, remove, union, estimate, fill, occupancy);

impl fmt::Debug for CountingBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "CountingBloom", self, Some(self.capacity))
    }
}
