//! The classic Bloom filter: a key is k bits of a table.
//!
//! To insert a key, set its k bits. To ask for a key, look at its k bits: if one is clear, the key
//! was never inserted; if all are set it probably was, unless other keys happen to have set them.
//!
//! ```text
//!   64 bits, three per key                                        (bit 0 on the left)
//!
//!   insert "ana": set 31, 32, 40
//!   ...............................aa.......a.......................
//!   insert "rui": set 20, 35, 41
//!   ....................r..........aa..r....ar......................
//!   ask for "ema": look at 7, 32, 49
//!   .......?........................?................?..............
//!   32 is set, by "ana", but 7 and 49 are clear: "ema" was certainly never inserted.
//! ```
//!
//! ```
//! use crivo::filter::Bloom;
//!
//! let mut seen = Bloom::new(1_000_000, 0.01)?; // a million keys, 1% false positives
//! seen.insert("ana");
//! assert!(seen.contains("ana"));
//! assert!(!seen.contains("rui"));
//! assert_eq!(format!("{:.2}", seen.size_in_bits() as f64 / 1e6), "9.59"); // bits per key
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! # Cost and error
//!
//! n keys in m bits are wrongly found at the rate (1 − e^(−kn/m))^k, which is least when half of
//! the bits are set: 1.44·log2(1/rate) bits per key and k = log2(1/rate), that is 9.59 bits and
//! k = 7 for 1%. [`theory::bloom`](crate::theory::bloom) tells the whole story. A query is one
//! hash and up to k loads, each of them from a cache line of its own.
//!
//! A Bloom filter is never full. Past its [`capacity`](Bloom::capacity) it takes keys as before, and
//! [`expected_fpr`](Bloom::expected_fpr) rises.
//!
//! # When not to use it
//! - A large table that is asked more often than it is merged: a *blocked* Bloom filter needs 3%
//!   more bits at 1%, and one cache line instead of k.
//! - Keys that must be removed again: a counting, cuckoo or quotient filter.
//! - A set that never changes: a binary fuse filter takes 20% less memory.
//! - An unknown number of keys: [`Growing`](super::Growing).
//!
//! # References
//! - B. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 1970: the idea,
//!   with hyphenation as its example.
//! - A. Kirsch, M. Mitzenmacher, *Less hashing, same performance*, ESA 2006: why one hash per key
//!   is enough for k positions.
//! - P. Dillinger, P. Manolios, *Bloom filters in probabilistic verification*, FMCAD 2004: where
//!   plain double hashing falls short.

mod codec;
mod marking;
mod spec;
mod table;

use std::{fmt, iter};

use super::any::operations;
use super::atomic::Shape;
use super::methods::{describe, insert_methods, merge_methods, read_methods};
use super::occupancy::{Cells, Occupancy};
use super::{DynamicFilter, Filter, FilterSpec, Full, set_bits};
use crate::persist::Metadata;
use crate::theory::estimate::Estimate;
use crate::{BuildError, Digest, KeyHasher};
use crivo_core::Words;
use crivo_core::memory::Cache;

pub use spec::BloomSpec;
pub(super) use spec::{MAX_POSITIONS_PER_KEY, size_for};
use table::BitTable;
pub(super) use table::{Probes, bit};

/// A classic Bloom filter. See [the module](self) for how it works.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::Bloom;
///
/// let hasher = KeyHasher::xxh3(7);
/// let mut monday = Bloom::with_hasher(1_000, 0.01, hasher)?;
/// let mut tuesday = Bloom::with_hasher(1_000, 0.01, hasher)?;
/// monday.insert("ana");
/// tuesday.insert("rui");
///
/// monday.union_with(&tuesday)?;
/// assert!(monday.contains("ana") && monday.contains("rui"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bloom {
    table: BitTable,
    probes: u32,
    key_count: u64,
    capacity: u64,
    hasher: KeyHasher,
    metadata: Metadata,
}

/// How to make one.
impl Bloom {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// It is the smallest such filter, rounded up to whole words of 64 bits. [`BloomSpec`] has more
    /// ways to size one.
    ///
    /// ```
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::new(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.2}", filter.size_in_bits() as f64 / 1e6), "9.59"); // bits per key
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
    /// use crivo::filter::Bloom;
    /// use crivo::hash::SecretKey;
    ///
    /// // For keys that an adversary may choose.
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(Bloom::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        BloomSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// A filter of `bits` bits that sets `probes` of them per key: [`BloomSpec::with_size`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::with_size(10_000, 7, KeyHasher::default())?;
    /// assert_eq!((filter.size_in_bits(), filter.capacity()), (10_048, 990));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits, the probes are not from 1 to 255, or there is no memory.
    pub fn with_size(bits: u64, probes: u32, hasher: KeyHasher) -> Result<Self, BuildError> {
        BloomSpec::with_size(bits, probes)?.build(hasher)
    }
}

/// What it is, and how full.
impl Bloom {
    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{Bloom, BloomSpec, FilterSpec};
    ///
    /// assert_eq!(Bloom::new(1_000, 0.01)?.spec(), BloomSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> BloomSpec {
        let word_count = self.table.words().len() as u64;
        BloomSpec { word_count, probes: self.probes, capacity: self.capacity }
    }

    /// How many bits are set per key: k.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Bloom::new(1_000, 0.01)?.probes(), 7);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// The k bits of a key, in the order in which they are probed; they may repeat.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::with_size(64, 3, KeyHasher::default())?;
    /// let ana = filter.hasher().digest("ana");
    /// assert_eq!(filter.positions(ana).collect::<Vec<_>>(), [31, 32, 40]);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn positions(&self, key: Digest) -> impl Iterator<Item = u64> + use<> {
        let (mut key, word_count) = (Probes::new(key), self.table.words().len());
        (0..self.probes).map(move |_| {
            let (word, position) = key.next(word_count);
            64 * word as u64 + position % 64
        })
    }

    /// How many bits are set. It reads the whole table.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// let mut filter = Bloom::with_size(64, 3, KeyHasher::default())?;
    /// filter.insert("ana");
    /// assert_eq!(filter.count_set_bits(), 3);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_bits(&self) -> u64 {
        self.table.count_set_bits()
    }

    /// The share of the table that is used: the set bits. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(10_000, 0.01)?;
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.2}", filter.occupancy().share()), "0.52");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        Occupancy::of(
            self.count_set_bits(),
            self.size_in_bits(),
            Cells::Bits { probes: self.probes },
        )
    }

    /// The number of different keys, estimated from the set bits: the whole table is read. `None`
    /// if all bits are set, which says nothing about how many keys made them so.
    ///
    /// Unlike [`key_count`](Self::key_count) it counts a key once however often it was inserted,
    /// also after unions.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// filter.extend(["ana"; 100]);
    /// assert_eq!(filter.key_count(), 100);
    /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        let set_bits = iter::once(self.count_set_bits());
        set_bits::estimated_key_count(self.size_in_bits(), self.probes, set_bits)
    }

    /// The false-positive rate of this very table: (set bits/bits)^k. It reads the whole table.
    ///
    /// [`expected_fpr`](Self::expected_fpr) is the mean over all tables with as many keys.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(10_000, 0.01)?;
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.3}", filter.fill_fpr()), "0.010");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        let set_bits = iter::once(self.count_set_bits());
        set_bits::fill_fpr(self.size_in_bits(), self.probes, set_bits)
    }

    /// The filter without its words, and its words.
    pub(super) fn into_words(self) -> (Shape, Words) {
        let Self { table, probes, key_count, capacity, hasher, metadata } = self;
        (Shape { probes, key_count, capacity, hasher, metadata }, table.into_words())
    }

    /// The filter that was taken apart with `into_words`, and whose words may have changed.
    pub(super) fn from_words(shape: Shape, words: Words) -> Self {
        let Shape { probes, key_count, capacity, hasher, metadata } = shape;
        let table = BitTable::from_words(words).expect("a filter has words");
        Self { table, probes, key_count, capacity, hasher, metadata }
    }
}

impl Filter for Bloom {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        self.table.contains(key, self.probes)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        self.table.contains_batch(keys, self.probes, hits);
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.table.words().len() as u64
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Bloom {
    /// Sets the bits of the key with this digest. It never fails.
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(self.put(key))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn clear(&mut self) {
        self.table.words_mut().fill(0);
        self.key_count = 0;
    }
}

impl Bloom {
    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let is_new = !self.table.contains(key, self.probes);
        self.table.insert(key, self.probes);
        self.key_count = self.key_count.saturating_add(1);
        is_new
    }

    /// Asks the processor to fetch the memory of a key.
    #[inline(always)]
    pub(super) fn fetch(&self, key: Digest, cache: Cache) {
        self.table.prefetch(Probes::new(key), self.probes, cache);
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        let count = self.table.insert_all(keys, self.probes);
        self.key_count = self.key_count.saturating_add(count);
    }
}

read_methods!(
    Bloom,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(Bloom, example: "let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;");

merge_methods!(
    Bloom,
    words: |filter| filter.table.words(),
    words_mut: |filter| filter.table.try_words_mut()?,
    same: "size in bits" = |filter| filter.size_in_bits(), "k" = |filter| filter.probes,
);

operations!(Bloom: insert, union, intersect, estimate, fill, occupancy);

impl fmt::Debug for Bloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Bloom", self, Some(self.capacity))
    }
}

#[cfg(test)]
mod tests;
