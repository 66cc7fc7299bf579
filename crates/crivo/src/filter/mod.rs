//! Approximate membership: *certainly not*, or *probably yes*, in a few bits per key.
//!
//! ```
//! use crivo::filter::Blocked;
//!
//! let mut seen = Blocked::new(1_000_000, 0.01)?; // a million keys, 1% false positives
//! assert!(seen.insert("ana")); // certainly new
//! assert!(seen.contains("ana"));
//! assert!(!seen.contains("rui"));
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! Every kind has the same methods, as far as it can do what they say:
//!
//! | method | answers | on which kinds |
//! |---|---|---|
//! | `contains`, `contains_batch`, `key_count`, `is_empty`, `size_in_bits`, `bits_per_key`, `expected_fpr`, `hasher` | | all |
//! | `insert` | `bool`: `true` if the key was certainly new | [`Bloom`], [`Blocked`], [`SplitBlock`], [`CountingBloom`], [`BlockedCounting`], [`Growing`], [`AtomicFilter`] |
//! | `insert` | `Result<bool, Full>` | [`Cuckoo`], [`Quotient`] |
//! | `remove`, `remove_batch`, `count` | `Result<(), NotPresent>`; `u64`; [`Count`] | [`CountingBloom`], [`BlockedCounting`], [`Cuckoo`], [`Quotient`] |
//! | `union_with` | `Result<(), RebuildError>` | all but [`Fuse`], [`ShardedFuse`] and [`Growing`] |
//! | `intersect_with` | `Result<(), RebuildError>` | [`Bloom`], [`Blocked`], [`SplitBlock`] |
//! | `fill_fpr` | `f64` | [`Bloom`], [`Blocked`], [`SplitBlock`], [`CountingBloom`], [`BlockedCounting`], [`Growing`], [`AtomicFilter`] |
//! | `estimated_key_count` | `Option<Estimate>` | [`Bloom`], [`Blocked`], [`SplitBlock`], [`CountingBloom`], [`BlockedCounting`], [`AtomicFilter`] |
//! | `insert_batch`, `clear`, `capacity` | | all but [`Fuse`] and [`ShardedFuse`], which are built from all their keys |
//!
//! `contains`, `insert`, `remove` and `count` take a key; their twins `contains_digest` and so on
//! take its digest, so that one hash can probe many filters. Code that works with any kind of
//! filter uses the traits [`Filter`], [`DynamicFilter`] and [`RemovableFilter`], on digests, and
//! [`FilterExt`] for keys; or [`AnyFilter`], which returns an error where a kind cannot do what it
//! is asked for.

mod any;
mod atomic;
mod batch;
pub mod blocked;
pub mod blocked_counting;
mod blocks;
pub mod bloom;
mod build;
mod capabilities;
pub mod choose;
mod count;
pub mod counting;
pub mod cuckoo;
mod digests;
mod error;
pub mod fuse;
pub mod growing;
mod kind;
mod methods;
mod occupancy;
mod packed_counters;
mod pointers;
pub mod quotient;
mod ranges;
mod set_bits;
pub mod sharded_fuse;
mod sorted;
pub mod spec;
pub mod split_block;
#[cfg(test)]
mod testing;
mod threads;

pub use any::AnyFilter;
pub use atomic::{AtomicBlocked, AtomicBloom, AtomicFilter, Shareable};
pub use blocked::{Blocked, BlockedSpec};
pub use blocked_counting::{BlockedCounting, BlockedCountingSpec};
pub use bloom::{Bloom, BloomSpec};
pub use capabilities::Capabilities;
pub use count::Count;
pub use counting::{CounterWidth, CountingBloom, CountingSpec};
pub use cuckoo::{Cuckoo, CuckooSpec};
pub use error::{
    Full, Incompatible, NotPresent, Operation, OperationError, RebuildError, WrongKind,
};
pub use fuse::{Fuse, FuseError, FuseOptions, FuseSpec};
pub use growing::{Growing, GrowingBlocked, GrowingChain, GrowingSpec};
pub use kind::Kind;
pub(crate) use kind::for_each_kind;
pub use occupancy::{Cells, Occupancy};
pub use quotient::{Quotient, QuotientSpec};
pub use sharded_fuse::{KeyCollector, KeySet, ShardedFuse, ShardedFuseSpec};
pub use spec::{Bytes, FilterSpec, Spec, SpecError};
pub use split_block::{SplitBlock, SplitBlockSpec};

use crate::{Digest, Key, KeyHasher};

/// The read side of a filter, on digests. `false` is certain; `true` is wrong at a known rate.
///
/// A digest must come from this filter's [`hasher`](Self::hasher): with another one's the answer is
/// about some other key, which no filter can notice. To ask for keys, use [`FilterExt`].
///
/// References and smart pointers to filters are filters: `&F`, `&mut F`, `Box<F>`, `Rc<F>`, `Arc<F>`.
///
/// ```
/// use crivo::filter::{Bloom, Filter};
///
/// fn report(filter: &dyn Filter) -> String {
///     let (keys, fpr) = (filter.key_count(), filter.expected_fpr());
///     format!("{keys} keys in {} bits, FPR {fpr:.1e}", filter.size_in_bits())
/// }
///
/// let mut bloom = Bloom::new(100, 0.01)?;
/// bloom.extend(0..100u64);
/// assert!(report(&bloom).starts_with("100 keys in 1024 bits, FPR "));
/// assert!(report(&Box::new(bloom)).starts_with("100 keys"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Filter {
    /// Whether the key with this digest may be a member. `false` is certain.
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana"], 0.01)?);
    /// assert!(filter.contains_digest(filter.hasher().digest("ana")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn contains_digest(&self, key: Digest) -> bool;

    /// Answers for many keys at once: `hits[i]` for `keys[i]`. It fetches ahead where that pays.
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana"], 0.01)?);
    /// let digests = ["ana", "rui"].map(|key| filter.hasher().digest(key));
    /// let mut hits = [false; 2];
    /// filter.contains_batch(&digests, &mut hits);
    /// assert_eq!(hits, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the slices differ in length.
    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        for (key, hit) in keys.iter().zip(hits) {
            *hit = self.contains_digest(*key);
        }
    }

    /// Asks the processor to fetch what a question for this key will read: it costs a few nanoseconds,
    /// and changes nothing. It pays if there is other work to do before the question, and the filter is
    /// too large for a cache; for many keys at once there is [`contains_batch`](Self::contains_batch).
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana"], 0.01)?);
    /// let digest = filter.hasher().digest("ana");
    /// filter.prefetch_digest(digest);
    /// // … other work, during which the memory arrives …
    /// assert!(filter.contains_digest(digest));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        let _ = key;
    }

    /// How many keys there are: successful insertions less removals. A static filter counts
    /// distinct keys; after a union it is an upper bound.
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana", "ana", "eva"], 0.01)?);
    /// assert_eq!(filter.key_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn key_count(&self) -> u64;

    /// Whether there are no keys: every answer is `false`.
    ///
    /// ```
    /// use crivo::filter::{Bloom, Filter};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Bloom::new(100, 0.01)?);
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn is_empty(&self) -> bool {
        self.key_count() == 0
    }

    /// The memory of the table, in bits.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Bloom, Filter};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Bloom::with_size(640, 7, KeyHasher::default())?);
    /// assert_eq!(filter.size_in_bits(), 640);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn size_in_bits(&self) -> u64;

    /// The mean false-positive rate that theory gives for the present
    /// [`key_count`](Self::key_count).
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// // Fingerprints of seven bits.
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana"], 0.01)?);
    /// assert!((filter.expected_fpr() - 1.0 / 128.0).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn expected_fpr(&self) -> f64;

    /// The hash function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Bloom, Filter};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Bloom::with_hasher(100, 0.01, KeyHasher::xxh3(7))?);
    /// assert_eq!(filter.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn hasher(&self) -> KeyHasher;

    /// Bits of memory per key, now.
    ///
    /// ```
    /// use crivo::filter::{Filter, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(0..10_000u64, 0.01)?);
    /// assert_eq!(format!("{:.0}", filter.bits_per_key()), "9");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn bits_per_key(&self) -> f64 {
        self.size_in_bits() as f64 / self.key_count().max(1) as f64
    }
}

/// A filter that takes keys one by one.
///
/// ```
/// use crivo::filter::{Cuckoo, DynamicFilter, FilterExt, Full};
///
/// fn fill(filter: &mut dyn DynamicFilter, keys: &[&str]) -> Result<(), Full> {
///     keys.iter().try_for_each(|key| filter.insert(*key).map(drop))
/// }
///
/// let mut filter = Cuckoo::new(1_000, 0.01)?;
/// fill(&mut filter, &["ana", "eva"])?;
/// assert_eq!(filter.key_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DynamicFilter: Filter {
    /// Makes the key with this digest a member: `true` if it was certainly new, `false` if it may
    /// have been a member before.
    ///
    /// Every insertion counts as a key, also that of a key which is there already.
    ///
    /// ```
    /// use crivo::filter::{Bloom, DynamicFilter};
    ///
    /// let mut filter: Box<dyn DynamicFilter> = Box::new(Bloom::new(100, 0.01)?);
    /// let ana = filter.hasher().digest("ana");
    /// assert!(filter.insert_digest(ana)?);
    /// assert!(!filter.insert_digest(ana)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place for it. The filter is as it was: every key is still in it.
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full>;

    /// How many keys it is made for. Bloom filters accept more, at a higher false-positive rate.
    ///
    /// ```
    /// use crivo::filter::{Bloom, DynamicFilter};
    ///
    /// let filter: Box<dyn DynamicFilter> = Box::new(Bloom::new(100, 0.01)?);
    /// assert_eq!(filter.capacity(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn capacity(&self) -> u64;

    /// Removes every key. The memory is kept.
    ///
    /// ```
    /// use crivo::filter::{Bloom, DynamicFilter, FilterExt};
    ///
    /// let mut filter: Box<dyn DynamicFilter> = Box::new(Bloom::new(100, 0.01)?);
    /// filter.insert("ana")?;
    /// filter.clear();
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn clear(&mut self);
}

/// A filter that gives keys back.
///
/// Only remove what was inserted. A key that never was, but that the filter takes for a member,
/// shares its traces with a key that was: removing the one makes the other a **false negative**.
///
/// ```
/// use crivo::filter::{CountingBloom, FilterExt, NotPresent, Quotient, RemovableFilter};
///
/// fn forget(filter: &mut dyn RemovableFilter, key: &str) -> Result<(), NotPresent> {
///     filter.remove(key)
/// }
///
/// let (mut counting, mut quotient) = (CountingBloom::new(100, 0.01)?, Quotient::new(100, 0.01)?);
/// counting.insert("ana");
/// quotient.insert("ana")?;
/// forget(&mut counting, "ana")?;
/// forget(&mut quotient, "ana")?;
/// assert!(counting.is_empty() && quotient.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RemovableFilter: DynamicFilter {
    /// Removes one insertion of the key with this digest.
    ///
    /// ```
    /// use crivo::filter::{Cuckoo, FilterExt, RemovableFilter};
    ///
    /// let mut filter: Box<dyn RemovableFilter> = Box::new(Cuckoo::new(100, 0.01)?);
    /// filter.insert("ana")?;
    /// filter.remove_digest(filter.hasher().digest("ana"))?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key is certainly not a member. Nothing has changed.
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent>;
}

/// Keys instead of digests, for every [`Filter`], also behind `dyn`.
///
/// A program that names its kind of filter does not need it: every kind has these methods itself.
///
/// ```
/// use crivo::filter::{Bloom, Cuckoo, DynamicFilter, Filter, FilterExt, Full};
///
/// fn first_visit(seen: &mut dyn DynamicFilter, visitor: &str) -> Result<bool, Full> {
///     seen.insert(visitor)
/// }
///
/// fn any_contains(filters: &[&dyn Filter], key: &str) -> bool {
///     filters.iter().any(|filter| filter.contains(key))
/// }
///
/// let mut bloom = Bloom::new(1_000, 0.01)?;
/// let mut cuckoo = Cuckoo::new(1_000, 0.01)?;
/// assert!(first_visit(&mut bloom, "ana")?);
/// assert!(first_visit(&mut cuckoo, "rui")?);
/// assert!(!first_visit(&mut cuckoo, "rui")?);
/// assert!(any_contains(&[&bloom, &cuckoo], "rui"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FilterExt: Filter {
    /// Whether `key` may be a member. `false` is certain.
    ///
    /// ```
    /// use crivo::filter::{Filter, FilterExt, Fuse};
    ///
    /// let filter: Box<dyn Filter> = Box::new(Fuse::build(["ana"], 0.01)?);
    /// assert!(filter.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.hasher().digest(key))
    }

    /// Makes `key` a member: `true` if it was certainly new, `false` if it may have been a member
    /// before.
    ///
    /// ```
    /// use crivo::filter::{Bloom, DynamicFilter, FilterExt};
    ///
    /// let mut filter: Box<dyn DynamicFilter> = Box::new(Bloom::new(100, 0.01)?);
    /// assert!(filter.insert("ana")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place for it. The filter is as it was.
    #[inline(always)]
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Full>
    where
        Self: DynamicFilter,
    {
        let digest = self.hasher().digest(key);
        self.insert_digest(digest)
    }

    /// Removes one insertion of `key`. See [`RemovableFilter`] for what must not be removed.
    ///
    /// ```
    /// use crivo::filter::{Cuckoo, FilterExt, RemovableFilter};
    ///
    /// let mut filter: Box<dyn RemovableFilter> = Box::new(Cuckoo::new(100, 0.01)?);
    /// filter.insert("ana")?;
    /// filter.remove("ana")?;
    /// assert!(!filter.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key is certainly not a member. Nothing has changed.
    #[inline(always)]
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), NotPresent>
    where
        Self: RemovableFilter,
    {
        let digest = self.hasher().digest(key);
        self.remove_digest(digest)
    }
}

impl<F: Filter + ?Sized> FilterExt for F {}
