//! For keys of which nobody knows how many will come: a chain of Bloom filters, or of blocked ones.
//!
//! A Bloom filter must know its number of keys in advance. A growing one starts small, and adds a
//! filter of twice the capacity whenever the last is full. A key is in it if it is in any of its
//! stages, hence their FPRs add up; so each stage gets a smaller FPR than the one
//! before, and all of them together, however many there will be, no more than the rate asked for.
//!
//! ```text
//!   stage       0      1      2        3               4
//!   capacity    c      2c     4c       8c              16c             …
//!   rate        ε(1−r) ·r     ·r²      ·r³             ·r⁴             …  adds up to ε
//!             [full] [full] [ full ] [    full     ] [ some        ]
//!                                                      ↑ insertions go here, queries start here
//! ```
//!
//! ```
//! use crivo::filter::Growing;
//!
//! let mut seen = Growing::new(1_024, 0.01)?; // begins with 1,024 keys, and never has above 1%
//! for key in 0..100_000u64 {
//!     seen.insert(&key);
//! }
//! assert!(seen.contains(&77_777u64));
//! assert_eq!(seen.stage_count(), 7); // 1,024 · (1 + 2 + … + 64) = 130,048
//! assert!(seen.expected_fpr() < 0.01);
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! # What not knowing costs
//!
//! Bits per key at 1%, every stage full, by the number of stages and r. A filter that knows its
//! number of keys has 9.59, whatever it is.
//!
//! | stages | keys | r = 0.5 | r = 0.8 | **r = 0.85** | r = 0.9 |
//! |---|---|---|---|---|---|
//! | 1 | c | 11.0 | 12.9 | **13.5** | 14.4 |
//! | 5 | 31c | 15.6 | 14.4 | **14.6** | 15.1 |
//! | 10 | 1,023c | 22.6 | 16.7 | **16.2** | 16.1 |
//! | 20 | 1,048,575c | 37.0 | 21.3 | **19.6** | 18.3 |
//!
//! r = 0.85 is within 5% of the best r from 4 to 15 stages (up to 30,000 times the first
//! capacity), and is what is taken. The last rate is in proportion to n^(log2 r), so that the
//! price grows with log n. A stage that has just begun costs up to as much again.
//!
//! [`GrowingBlocked`] is a chain of [`Blocked`] filters: one cache line for each stage instead
//! of several, and more bits, because the later stages have small rates, at which blocks cost most
//! (at 1%: 14.5 bits per key after one stage, 18.0 after ten).
//!
//! # When not to use it
//! When the number of keys is known, if only within a factor of two: then [`Bloom`], made for the
//! largest, is smaller and asks one table instead of several.
//!
//! # References
//! - P. Almeida, C. Baquero, N. Preguiça, D. Hutchison, *Scalable Bloom filters*, IPL 2007: the
//!   construction, and why r from 0.8 to 0.9.
//! - R. Pagh, G. Segev, U. Wieder, *How to approximate a set without knowing its size in advance*,
//!   FOCS 2013: every structure must pay for not knowing n, but only in proportion to log log n.

mod codec;
mod spec;
mod stage;

pub use spec::GrowingSpec;
pub use stage::Stage;

use std::fmt;

use super::any::operations;
use super::methods::{describe, insert_methods, read_methods};
use super::{Blocked, Bloom, DynamicFilter, Filter, FilterSpec, Full};
use crate::persist::Metadata;
use crate::{BuildError, Digest, Key, KeyHasher};
use crivo_core::memory::Cache;
use crivo_core::opaque;

/// r of the module's text.
const TIGHTENING: f64 = 0.85;

/// The least capacity of the first stage: fewer keys would only lengthen the chain.
const MIN_CAPACITY: u64 = 1_024;

/// As many as a file has room to describe: a million times a million keys, of at least 1,024.
const MAX_STAGES: usize = 31;

/// How many keys of a batch are asked together.
const BATCH: usize = 256;

/// A Bloom filter that grows with its keys. See [the module](self) for how it works.
///
/// Every insertion counts, and takes room, also that of a key that is there already. If many keys
/// come again, ask before you insert; where the answer is a false positive, the key is left out, and
/// found all the same:
///
/// ```
/// use crivo::filter::Growing;
///
/// let mut seen = Growing::new(1_024, 0.01)?;
/// for word in ["to", "be", "or", "not", "to", "be"] {
///     if !seen.contains(word) {
///         seen.insert(word);
///     }
/// }
/// assert_eq!(seen.key_count(), 4);
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// Where only the error matters and not the size, collect:
///
/// ```
/// use crivo::filter::Growing;
///
/// let seen: Growing = ["ana", "bia"].into_iter().collect(); // at most 1% false positives
/// assert!(seen.contains("ana"));
/// ```
pub type Growing = GrowingChain<Bloom>;

/// A growing chain of blocked filters: faster to ask, and larger.
///
/// ```
/// use crivo::filter::GrowingBlocked;
///
/// let mut seen = GrowingBlocked::new(1_024, 0.01)?;
/// seen.extend(0..100_000u64);
/// assert!(seen.contains(&77_777u64));
/// assert!(seen.expected_fpr() < 0.01);
/// # Ok::<(), crivo::BuildError>(())
/// ```
pub type GrowingBlocked = GrowingChain<Blocked>;

/// A growing chain of filters: [`Growing`] or [`GrowingBlocked`].
///
/// ```
/// use crivo::filter::{Blocked, GrowingChain};
///
/// let mut chain = GrowingChain::<Blocked>::new(1_024, 0.01)?;
/// chain.extend(0..5_000u64);
/// assert_eq!(chain.stage_count(), 3);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct GrowingChain<F> {
    /// The oldest first; each has twice the capacity of the one before. Never empty.
    stages: Vec<F>,
    first_capacity: u64,
    fpr: f64,
    metadata: Metadata,
}

impl<F: Stage> GrowingChain<F> {
    /// A filter with a false-positive rate of at most `fpr` for any number of keys, by fold64 with
    /// seed 0. Its first stage is for `first_capacity` keys, or 1,024 if that is less.
    ///
    /// [`GrowingSpec`] has more ways to size one.
    ///
    /// ```
    /// use crivo::filter::Growing;
    ///
    /// let mut seen = Growing::new(1_024, 0.01)?;
    /// seen.extend(0..100_000u64);
    /// assert!(seen.expected_fpr() <= 0.01);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(first_capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(first_capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Growing;
    ///
    /// let seen = Growing::with_hasher(1_024, 0.01, KeyHasher::xxh3(7))?;
    /// assert_eq!(seen.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(
        first_capacity: u64,
        fpr: f64,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        GrowingSpec::<F::Spec>::for_fpr(first_capacity, fpr)?.build(hasher)
    }
}

impl<F: Stage> GrowingChain<F> {
    /// How many filters there are in the chain.
    ///
    /// ```
    /// let mut seen = crivo::filter::Growing::new(1_024, 0.01)?;
    /// assert_eq!(seen.stage_count(), 1);
    /// seen.extend(0..5_000u64);
    /// assert_eq!(seen.stage_count(), 3); // for 1,024 + 2,048 + 4,096 keys
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn stage_count(&self) -> usize {
        self.stages.len()
    }

    /// The stages, the oldest first.
    ///
    /// ```
    /// let mut seen = crivo::filter::Growing::new(1_024, 0.01)?;
    /// seen.extend(0..5_000u64);
    /// let capacities: Vec<u64> = seen.stages().iter().map(|stage| stage.capacity()).collect();
    /// assert_eq!(capacities, [1_024, 2_048, 4_096]);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn stages(&self) -> &[F] {
        &self.stages
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, Growing, GrowingSpec};
    ///
    /// assert_eq!(Growing::new(2_000, 0.01)?.spec(), GrowingSpec::for_fpr(2_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> GrowingSpec<F::Spec> {
        GrowingSpec::new(stage::Stage::spec(&self.stages[0]), self.fpr)
    }

    /// The FPR that it was made for, and keeps.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Growing::new(1_024, 0.01)?.fpr(), 0.01);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// Whether a stage holds more keys than it is made for, because no other could be added when it
    /// was full: there was no memory, or there were 31 stages already.
    ///
    /// Every key is still found, but [`expected_fpr`](Self::expected_fpr) may exceed
    /// [`fpr`](Self::fpr). After each eighth of its capacity that such a stage takes too many, the
    /// filter tries again to add another.
    ///
    /// ```
    /// use crivo::filter::Growing;
    ///
    /// let mut seen = Growing::new(1_024, 0.01)?;
    /// seen.extend(0..10_000u64);
    /// assert!(!seen.is_overfull()); // there was memory for all stages
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn is_overfull(&self) -> bool {
        self.stages.iter().any(|stage| stage.key_count() > stage.capacity())
    }

    /// The false-positive rate that the bits of all stages give. It reads all tables.
    ///
    /// ```
    /// let mut seen = crivo::filter::Growing::new(1_024, 0.01)?;
    /// assert_eq!(seen.fill_fpr(), 0.0);
    /// seen.extend(0..5_000u64);
    /// assert!((0.001..0.01).contains(&seen.fill_fpr()));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        any_of(self.stages.iter().map(stage::Sealed::fill_fpr))
    }

    fn newest(&self) -> &F {
        self.stages.last().expect("there is a first stage from the beginning")
    }

    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let is_new = !self.contains_inlined(key);
        self.add(key);
        is_new
    }

    /// [`contains_digest`](Self::contains_digest), by code that the compiler can delete, as it deletes
    /// no loop with two ways out.
    #[inline(always)]
    fn contains_inlined(&self, key: Digest) -> bool {
        let mut found = false;
        for stage in self.stages.iter().rev() {
            if !found {
                found = stage.contains_inlined(key);
            }
        }
        found
    }

    #[inline]
    fn add(&mut self, key: Digest) {
        let newest = self.newest();
        if newest.key_count() >= newest.capacity() {
            self.grow();
        }
        if let Some(newest) = self.stages.last_mut() {
            // Neither kind of stage is ever full.
            let _ = newest.insert_digest(key);
        }
    }

    /// Asks the processor to fetch the memory where a key is inserted.
    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        self.newest().fetch(key, cache);
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        keys.for_each(|key| self.add(key));
    }

    /// Adds a stage. Where there can be none, the last goes on taking keys beyond its capacity.
    #[cold]
    fn grow(&mut self) {
        let index = self.stages.len();
        let newest = self.newest();
        if index < MAX_STAGES && is_time_to_grow(newest.key_count(), newest.capacity()) {
            let hasher = self.hasher();
            let stage = self.spec().stage(index).map_err(BuildError::from);
            self.stages.extend(stage.and_then(|stage| stage.build(hasher)));
        }
    }
}

/// Whether a stage with at least as many keys as its capacity asks for another one. It does so when
/// it is full, and if there was no memory then, after every eighth of its capacity more: finding the
/// size of a stage takes far longer than an insertion.
fn is_time_to_grow(key_count: u64, capacity: u64) -> bool {
    let step = (capacity / 8).max(MIN_CAPACITY / 8);
    key_count.saturating_sub(capacity).is_multiple_of(step)
}

/// The chance that any of independent things happens: 1 − (1 − a)(1 − b)…
fn any_of(chances: impl Iterator<Item = f64>) -> f64 {
    let ln_none: f64 = chances.map(|chance| (-chance).ln_1p()).sum();
    -ln_none.exp_m1()
}

/// How many keys stage `index` is for.
fn stage_capacity(first_capacity: u64, index: usize) -> u64 {
    first_capacity.saturating_mul(1 << index)
}

impl<F: Stage> Filter for GrowingChain<F> {
    /// The newest stage is asked first: it is for half of all keys.
    #[inline]
    fn contains_digest(&self, key: Digest) -> bool {
        // Else a stage could be left at its first bit that is not set, by a branch that nobody can predict.
        let contains = |stage: &F| opaque(stage.contains_digest(key).into()) != 0;
        self.stages.iter().rev().any(contains)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        let mut answers = [false; BATCH];
        let mut open = Vec::with_capacity(BATCH);
        let mut open_keys = Vec::with_capacity(BATCH);
        for (keys, hits) in keys.chunks(BATCH).zip(hits.chunks_mut(BATCH)) {
            hits.fill(false);
            open.clear();
            open.extend(0..keys.len());
            for stage in self.stages.iter().rev() {
                open_keys.clear();
                open_keys.extend(open.iter().map(|&index| keys[index]));
                let answers = &mut answers[..open.len()];
                stage.contains_batch(&open_keys, answers);
                for (&index, &found) in open.iter().zip(&*answers) {
                    hits[index] = found;
                }
                open.retain(|&index| !hits[index]);
            }
        }
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.stages.iter().for_each(|stage| stage.prefetch_digest(key));
    }

    fn key_count(&self) -> u64 {
        self.stages.iter().fold(0, |sum, stage| sum.saturating_add(stage.key_count()))
    }

    fn size_in_bits(&self) -> u64 {
        self.stages.iter().map(Filter::size_in_bits).sum()
    }

    /// 1 − (1 − f₀)(1 − f₁)…, of the stages' rates.
    fn expected_fpr(&self) -> f64 {
        any_of(self.stages.iter().map(Filter::expected_fpr))
    }

    fn hasher(&self) -> KeyHasher {
        self.newest().hasher()
    }
}

impl<F: Stage> DynamicFilter for GrowingChain<F> {
    /// Makes the key with this digest a member. It never fails.
    ///
    /// If there is no memory for another stage, the last takes more keys than it is made for:
    /// then [`is_overfull`](GrowingChain::is_overfull) says so, and
    /// [`expected_fpr`](Filter::expected_fpr) may rise above [`fpr`](GrowingChain::fpr).
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(self.put(key))
    }

    /// As many as there can be: it is made for any number.
    fn capacity(&self) -> u64 {
        u64::MAX
    }

    /// Only the first stage stays.
    fn clear(&mut self) {
        self.stages.truncate(1);
        self.stages.iter_mut().for_each(DynamicFilter::clear);
    }
}

read_methods!(
    GrowingChain<F> where [F: Stage],
    hasher: |filter| filter.hasher(),
    example: "let mut filter = crivo::filter::Growing::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(
    GrowingChain<F> where [F: Stage],
    example: "let mut filter = crivo::filter::Growing::new(1_000, 0.01)?;",
);

operations!(Growing: insert, fill, stages);
operations!(GrowingBlocked: insert, fill, stages);

impl<F: Stage> fmt::Debug for GrowingChain<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, F::CHAIN_NAME, self, None)
    }
}

impl Default for Growing {
    /// For any number of keys at a rate of at most 1%, by fold64 with seed 0.
    fn default() -> Self {
        Self::new(MIN_CAPACITY, 0.01).expect("there is memory for two kilobytes")
    }
}

impl<K: Key> FromIterator<K> for Growing {
    /// The [default](Growing::default) filter with these keys in it.
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut filter = Self::default();
        filter.extend(keys);
        filter
    }
}

#[cfg(test)]
mod tests;
