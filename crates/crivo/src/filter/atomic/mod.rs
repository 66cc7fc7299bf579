//! Filters that many threads fill at once.

// Miri has no stacks for the threads of loom.
#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod every_order;
mod probe;
mod shareable;
mod table;

pub use shareable::Shareable;

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use super::methods::{describe, read_methods};
use super::{Blocked, Bloom, DynamicFilter, Filter, FilterSpec, Full, Incompatible, RebuildError};
use super::{batch, set_bits};
use crate::persist::Metadata;
use crate::theory::estimate::Estimate;
use crate::{BuildError, Digest, Key, KeyHasher};
use crivo_core::memory::{Cache, prefetch, prefetch_for_change};
pub(super) use shareable::Shape;
use table::AtomicWords;

/// How many keys ahead a batch fetches what it will change. A change waits for its word,
/// and everything after it waits for the change.
const KEYS_AHEAD: usize = 16;

/// A [`Bloom`] filter that many threads fill at once: see [`AtomicFilter`].
///
/// ```
/// use crivo::filter::AtomicBloom;
///
/// let seen = AtomicBloom::new(1_000, 0.01)?;
/// std::thread::scope(|scope| {
///     for thread in 0..2u64 {
///         let seen = &seen;
///         scope.spawn(move || {
///             for key in 500 * thread..500 * (thread + 1) {
///                 seen.insert(&key);
///             }
///         });
///     }
/// });
/// assert!((0..1_000u64).all(|key| seen.contains(&key)));
/// # Ok::<(), crivo::BuildError>(())
/// ```
pub type AtomicBloom = AtomicFilter<Bloom>;

/// A [`Blocked`] filter that many threads fill at once: see [`AtomicFilter`].
///
/// A key is in one cache line. Threads wait for each other where they insert keys of the same line at
/// the same time, and an insertion into a large table misses the caches once instead of k times.
///
/// ```
/// use crivo::filter::{AtomicBlocked, Blocked};
///
/// let seen = AtomicBlocked::new(1_000, 0.01)?;
/// assert!(seen.insert("ana"));
/// let seen: Blocked = seen.into_filter();
/// assert!(seen.contains("ana"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
pub type AtomicBlocked = AtomicFilter<Blocked>;

/// A filter whose `insert` takes `&self`: share it, and let every thread insert. It is an
/// [`AtomicBloom`] or an [`AtomicBlocked`].
///
/// Setting a bit cannot conflict with setting another, hence there is no lock. Whatever the order
/// in which threads come, the bits at the end are those that one thread would have set: a filter
/// turned into an atomic one and back is bit for bit the same.
///
/// ```
/// use crivo::filter::{AtomicBlocked, Blocked};
///
/// let seen = AtomicBlocked::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for part in 0..4u64 {
///         let seen = &seen;
///         threads.spawn(move || {
///             for i in 0..250 {
///                 seen.insert(&(250 * part + i));
///             }
///         });
///     }
/// });
/// assert!((0..1_000u64).all(|key| seen.contains(&key)));
///
/// let mut alone = Blocked::new(1_000, 0.01)?;
/// alone.extend(0..1_000u64);
/// assert_eq!(seen.into_filter(), alone);
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// # What a reader may rely on
///
/// - *After* an insertion, in the sense of Rust's memory model (the same thread; or the thread was
///   joined, or sent a message, or released a lock, and the reader took note), the key is found.
/// - *During* an insertion, or without any such synchronisation, the reader may see some of the
///   bits and not yet others, and answer `false`. It never sees a bit that nobody set, and a key
///   that was once found by a thread is found by it for ever.
/// - Of the threads that insert a new key at the same time *at least one* is told that it was
///   certainly new, unless other keys' bits hide it; several may be. After the insertion of a key no
///   insertion of it is told so.
///
/// The same holds of a copy, of a file, and of a union that are made while others insert: they have
/// every key whose insertion came before, and some of the bits of those that came at the same time.
///
/// All accesses are relaxed atomics: a filter orders nothing but itself. Do not use a `true` as a
/// sign that other data of the inserting thread are ready.
///
/// # When not to use it
/// When one thread does all insertions: an insertion costs some five times a plain one. And if
/// every thread can have a filter of its own, fill those and
/// [`union_with`](Bloom::union_with) them at the end.
pub struct AtomicFilter<F> {
    words: AtomicWords,
    probes: u32,
    capacity: u64,
    hasher: KeyHasher,
    metadata: Metadata,
    key_count: Counter,
    /// The filter of one thread.
    filter: PhantomData<fn() -> F>,
}

/// Alone in its cache lines: each insertion takes them away from the other threads, which shall
/// keep the fields above.
#[repr(align(128))]
struct Counter(AtomicU64);

impl<F: Shareable> AtomicFilter<F> {
    /// A filter for `capacity` keys with an FPR of at most `fpr`, by fold64 with seed 0.
    ///
    /// For other shapes make a plain filter and turn it `into()` this.
    ///
    /// ```
    /// use crivo::filter::{AtomicBloom, Bloom};
    ///
    /// let seen = AtomicBloom::new(1_000, 0.01)?;
    /// assert_eq!(seen, AtomicBloom::from(Bloom::new(1_000, 0.01)?));
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
    /// use crivo::filter::AtomicBloom;
    ///
    /// let seen = AtomicBloom::with_hasher(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert_eq!(seen.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        F::Spec::for_fpr(capacity, fpr)?.build(hasher).map(Self::from)
    }

    /// The filter for one thread, with the same bits. Nothing is copied.
    ///
    /// ```
    /// use crivo::filter::AtomicBloom;
    ///
    /// let seen = AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// assert!(seen.into_filter().contains("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn into_filter(self) -> F {
        let Self { words, probes, capacity, hasher, metadata, key_count, .. } = self;
        let key_count = key_count.0.into_inner();
        let shape = Shape { probes, key_count, capacity, hasher, metadata };
        F::from_words(shape, words.into_words())
    }

    /// A copy for one thread, with the bits of now. Without memory for it the program ends, as it does
    /// when a filter is cloned.
    ///
    /// ```
    /// use crivo::filter::AtomicBloom;
    ///
    /// let seen = AtomicBloom::new(1_000, 0.01)?;
    /// let before = seen.to_filter();
    /// seen.insert("ana");
    /// assert!(before.is_empty() && seen.to_filter().contains("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn to_filter(&self) -> F {
        let shape = Shape {
            probes: self.probes,
            key_count: self.key_count(),
            capacity: self.capacity,
            hasher: self.hasher,
            metadata: self.metadata.clone(),
        };
        F::from_words(shape, self.words.to_words())
    }

    /// Text that is kept with the filter in its file.
    ///
    /// ```
    /// let mut seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// seen.metadata_mut().set("source", "users.csv")?;
    /// assert_eq!(seen.metadata().get("source"), Some("users.csv"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Text that is kept with the filter in its file, to be changed.
    ///
    /// ```
    /// let mut seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// seen.metadata_mut().set("source", "users.csv")?;
    /// assert_eq!(seen.into_filter().metadata().get("source"), Some("users.csv"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// How many keys it is made for. It accepts more, at a higher false-positive rate.
    ///
    /// ```
    /// assert_eq!(crivo::filter::AtomicBloom::new(1_000, 0.01)?.capacity(), 1_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many bits are set per key: k.
    ///
    /// ```
    /// assert_eq!(crivo::filter::AtomicBloom::new(1_000, 0.01)?.probes(), 7);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// How many bits are set. It reads the whole table.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// assert!((1..=7).contains(&seen.count_set_bits()));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_bits(&self) -> u64 {
        self.set_bits_of_blocks().sum()
    }

    /// How many bits are set, in each of the blocks that a key chooses from.
    fn set_bits_of_blocks(&self) -> impl ExactSizeIterator<Item = u64> {
        let set_bits = |word: &AtomicU64| u64::from(word.load(Ordering::Relaxed).count_ones());
        let words = self.words.as_slice();
        words.chunks(F::block_words(words.len())).map(move |block| block.iter().map(set_bits).sum())
    }

    fn block_bits(&self) -> u64 {
        64 * F::block_words(self.words.as_slice().len()) as u64
    }

    /// The number of different keys, as
    /// [`Bloom::estimated_key_count`] and [`Blocked::estimated_key_count`] estimate it.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// for _ in 0..3 {
    ///     seen.insert("ana");
    /// }
    /// assert_eq!(seen.key_count(), 3);
    /// assert_eq!(seen.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        set_bits::estimated_key_count(self.block_bits(), self.probes, self.set_bits_of_blocks())
    }

    /// The false-positive rate of this very table, as [`Bloom::fill_fpr`] and [`Blocked::fill_fpr`]
    /// give it. It reads the whole table.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// for key in 0..1_000u64 {
    ///     seen.insert(&key);
    /// }
    /// assert_eq!(format!("{:.2}", seen.fill_fpr()), "0.01");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        set_bits::fill_fpr(self.block_bits(), self.probes, self.set_bits_of_blocks())
    }

    /// Makes `key` a member: `true` if it was certainly new, `false` if it may have been a member
    /// before.
    ///
    /// The answer costs nothing if it is not used. Every insertion counts as a key.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// assert!(seen.insert("ana"));
    /// assert!(!seen.insert("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(self.digest_of(key))
    }

    /// [`insert`](Self::insert) for a digest that this filter's [`hasher`](Self::hasher) made:
    /// `true` if the key was certainly new.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// assert!(seen.insert_digest(seen.hasher().digest("ana")));
    /// assert!(seen.contains("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn insert_digest(&self, key: Digest) -> bool {
        let is_new = self.set(key);
        self.key_count.0.fetch_add(1, Ordering::Relaxed);
        is_new
    }

    /// Makes all of these keys members.
    ///
    /// The counter of keys, for which all threads compete, is touched once for all of them, and what
    /// the keys change is fetched ahead.
    ///
    /// ```
    /// let seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert_batch(&["ana", "eva"].map(|key| seen.hasher().digest(key)));
    /// assert!(seen.contains("ana") && seen.contains("eva"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn insert_batch(&self, keys: &[Digest]) {
        let fetch = |&key: &Digest| self.each_line(key, prefetch_for_change);
        keys.iter().take(KEYS_AHEAD).for_each(fetch);
        for (index, &key) in keys.iter().enumerate() {
            keys.get(index + KEYS_AHEAD).into_iter().for_each(fetch);
            self.set(key);
        }
        self.key_count.0.fetch_add(keys.len() as u64, Ordering::Relaxed);
    }

    /// Takes in every key of `other`, while other threads go on inserting into both.
    ///
    /// [`key_count`](Self::key_count) becomes the sum, an upper bound: keys of both count twice. The
    /// metadata stays as it is.
    ///
    /// ```
    /// use crivo::filter::AtomicBloom;
    ///
    /// let (all, part) = (AtomicBloom::new(1_000, 0.01)?, AtomicBloom::new(1_000, 0.01)?);
    /// part.insert("ana");
    /// all.union_with(&part)?;
    /// assert!(all.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If hash function, size, k or how keys were made ([metadata](Metadata)) differ. Nothing has
    /// changed.
    pub fn union_with(&self, other: &Self) -> Result<(), RebuildError> {
        Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
        Incompatible::unless_equal("size in bits", self.size_in_bits(), other.size_in_bits())?;
        Incompatible::unless_equal("k", self.probes, other.probes)?;
        Incompatible::unless_same_keys(&self.metadata, &other.metadata)?;
        probe::unite(self.words.as_slice(), other.words.as_slice());
        self.key_count.0.fetch_add(other.key_count(), Ordering::Relaxed);
        Ok(())
    }

    /// Removes every key. The memory is kept.
    ///
    /// ```
    /// let mut seen = crivo::filter::AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// seen.clear();
    /// assert!(seen.is_empty() && !seen.contains("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn clear(&mut self) {
        self.words.as_slice().iter().for_each(|word| word.store(0, Ordering::Relaxed));
        *self.key_count.0.get_mut() = 0;
    }

    #[inline(always)]
    fn set(&self, key: Digest) -> bool {
        probe::set::<F>(self.words.as_slice(), self.probes, key)
    }

    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        self.each_line(key, |word| prefetch(word, cache));
    }

    /// Visits a word of each cache line that the bits of a key are in.
    #[inline(always)]
    fn each_line(&self, key: Digest, visit: impl Fn(*const AtomicU64)) {
        let words = self.words.as_slice();
        F::each_line(key, self.probes, words.len(), |word| {
            visit(words.as_ptr().wrapping_add(word));
        });
    }
}

read_methods!(
    AtomicFilter<F> where [F: Shareable],
    hasher: |filter| filter.hasher,
    example: "let filter = crivo::filter::AtomicBloom::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);

impl<F: Shareable> DynamicFilter for AtomicFilter<F> {
    /// Sets the bits of the key with this digest. It never fails.
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(Self::insert_digest(self, key))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<K: Key, F: Shareable> Extend<K> for AtomicFilter<F> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(&key);
        }
    }
}

impl<F: Shareable> Extend<Digest> for AtomicFilter<F> {
    fn extend<I: IntoIterator<Item = Digest>>(&mut self, keys: I) {
        for key in keys {
            Self::insert_digest(self, key);
        }
    }
}

impl<F: Shareable> Filter for AtomicFilter<F> {
    #[inline]
    fn contains_digest(&self, key: Digest) -> bool {
        probe::contains::<F>(self.words.as_slice(), self.probes, key)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        let fetch = |key| {
            self.fetch(key, Cache::Second);
            key
        };
        batch::fetch_and_look(keys, hits, fetch, |key| self.contains_digest(key));
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count.0.load(Ordering::Relaxed)
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.words.as_slice().len() as u64
    }

    fn expected_fpr(&self) -> f64 {
        F::fpr_at(self.size_in_bits() / 64, self.probes, self.capacity, self.key_count())
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl<F: Shareable> From<F> for AtomicFilter<F> {
    /// The filter for many threads, with the same bits. Nothing is copied, but the words of a
    /// mapped file; without memory for those the program ends.
    fn from(filter: F) -> Self {
        let (Shape { probes, key_count, capacity, hasher, metadata }, words) = filter.into_words();
        // Half of the range is beyond all counting, and leaves room for not saturating.
        let key_count = Counter(AtomicU64::new(key_count.min(u64::MAX / 2)));
        Self {
            words: AtomicWords::new(words),
            probes,
            capacity,
            hasher,
            metadata,
            key_count,
            filter: PhantomData,
        }
    }
}

impl<F: Shareable> Clone for AtomicFilter<F> {
    fn clone(&self) -> Self {
        self.to_filter().into()
    }
}

impl<F: Shareable> PartialEq for AtomicFilter<F> {
    /// Whether the filters for one thread would be equal.
    fn eq(&self, other: &Self) -> bool {
        let parameters = |filter: &Self| (filter.probes, filter.capacity, filter.hasher);
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let (ours, theirs) = (self.words.as_slice(), other.words.as_slice());
        parameters(self) == parameters(other)
            && self.key_count() == other.key_count()
            && self.metadata == other.metadata
            && ours.iter().map(load).eq(theirs.iter().map(load))
    }
}

impl<F: Shareable> fmt::Debug for AtomicFilter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, F::ATOMIC_NAME, self, Some(self.capacity))
    }
}

#[cfg(test)]
mod tests;
