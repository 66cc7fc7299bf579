//! A Bloom filter that many threads fill at once.

mod probe;
mod table;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Filter;
use super::bloom::{self, Bloom, Shape};
use crate::persist::Metadata;
use crate::{BuildError, Digest, Key, KeyHasher};
use table::AtomicWords;

/// A [`Bloom`] filter whose `insert` takes `&self`: share it, and let every thread insert.
///
/// Setting a bit cannot conflict with setting another, hence there is no lock. Whatever the order
/// in which threads come, the bits at the end are those that one thread would have set: a filter
/// turned into an `AtomicBloom` and back is bit for bit the same.
///
/// ```
/// use crivo::filter::{AtomicBloom, Bloom, Filter};
///
/// let seen = AtomicBloom::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for part in 0..4u64 {
///         let seen = &seen;
///         threads.spawn(move || (0..250).for_each(|i| seen.insert(&(250 * part + i))));
///     }
/// });
/// assert!((0..1_000u64).all(|key| seen.contains(&key)));
///
/// let mut alone = Bloom::new(1_000, 0.01)?;
/// alone.extend(0..1_000u64);
/// assert_eq!(seen.into_bloom(), alone);
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
///
/// All accesses are relaxed atomics: a filter orders nothing but itself. Do not use a `true` as a
/// sign that other data of the inserting thread are ready.
///
/// # When not to use it
/// When one thread does all insertions: an insertion costs some five times a plain one. And if
/// every thread can have a filter of its own, fill those and
/// [`union_with`](Bloom::union_with) them at the end.
pub struct AtomicBloom {
    words: AtomicWords,
    probes: u32,
    capacity: u64,
    hasher: KeyHasher,
    metadata: Metadata,
    key_count: Counter,
}

/// Alone in its cache lines: each insertion takes them away from the other threads, which shall
/// keep the fields above.
#[repr(align(128))]
struct Counter(AtomicU64);

impl AtomicBloom {
    /// A filter for `capacity` keys with a rate of at most `rate` wrong yeses, by XXH3 with seed 0.
    ///
    /// For other shapes make a [`Bloom`] and turn it `into()` this.
    ///
    /// # Errors
    /// If the capacity is 0, the rate is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, rate: f64) -> Result<Self, BuildError> {
        Bloom::new(capacity, rate).map(Self::from)
    }

    /// [`new`](Self::new) with another hash function.
    ///
    /// # Errors
    /// If the capacity is 0, the rate is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Bloom::with_hasher(capacity, rate, hasher).map(Self::from)
    }

    /// The filter for one thread, with the same bits. Nothing is copied.
    pub fn into_bloom(self) -> Bloom {
        let Self { words, probes, capacity, hasher, metadata, key_count } = self;
        let key_count = key_count.0.into_inner();
        let shape = Shape { probes, key_count, capacity, hasher, metadata };
        Bloom::from_words(shape, words.into_words())
    }

    /// How many keys it is made for. It accepts more, at a higher rate of wrong yeses.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many bits are set per key: k.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Makes `key` a member. It never fails.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) {
        self.insert_digest(self.hasher.digest(key));
    }

    /// Makes the key with this digest a member. It never fails.
    #[inline]
    pub fn insert_digest(&self, key: Digest) {
        self.set(key);
        self.key_count.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes all of these keys members.
    ///
    /// The counter of keys, for which all threads compete, is touched once for all of them.
    pub fn insert_batch(&self, keys: &[Digest]) {
        for key in keys {
            self.set(*key);
        }
        self.key_count.0.fetch_add(keys.len() as u64, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set(&self, key: Digest) {
        probe::set(self.words.as_slice(), self.probes, key);
    }
}

impl Filter for AtomicBloom {
    #[inline]
    fn contains_digest(&self, key: Digest) -> bool {
        probe::contains(self.words.as_slice(), self.probes, key)
    }

    fn key_count(&self) -> u64 {
        self.key_count.0.load(Ordering::Relaxed)
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.words.as_slice().len() as u64
    }

    fn expected_fpr(&self) -> f64 {
        bloom::expected_fpr(self.size_in_bits(), self.key_count(), self.probes)
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl From<Bloom> for AtomicBloom {
    /// The filter for many threads, with the same bits. Nothing is copied, but the words of a
    /// mapped file.
    fn from(filter: Bloom) -> Self {
        let (Shape { probes, key_count, capacity, hasher, metadata }, words) = filter.into_words();
        // Half of the range is beyond all counting, and leaves room for not saturating.
        let key_count = Counter(AtomicU64::new(key_count.min(u64::MAX / 2)));
        Self { words: AtomicWords::new(words), probes, capacity, hasher, metadata, key_count }
    }
}

impl fmt::Debug for AtomicBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBloom")
            .field("size_in_bits", &self.size_in_bits())
            .field("probes", &self.probes)
            .field("key_count", &self.key_count())
            .field("capacity", &self.capacity)
            .field("hasher", &self.hasher)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::DynamicFilter;

    const THREADS: u64 = 4;
    const KEYS_PER_THREAD: u64 = 5_000;

    /// A table so small that the threads meet in the same words all the time.
    fn small() -> Bloom {
        Bloom::with_size(64 * 97, 7, KeyHasher::xxh3(3)).unwrap()
    }

    #[test]
    fn many_threads_set_the_bits_that_one_would() {
        let shared = AtomicBloom::from(small());
        std::thread::scope(|threads| {
            for part in 0..THREADS {
                let shared = &shared;
                threads.spawn(move || {
                    for key in (part..).step_by(THREADS as usize).take(KEYS_PER_THREAD as usize) {
                        shared.insert(&key);
                        assert!(shared.contains(&key), "a thread sees its own insertions");
                    }
                });
            }
        });
        let mut alone = small();
        alone.extend(0..THREADS * KEYS_PER_THREAD);
        assert_eq!(shared.key_count(), alone.key_count());
        assert_eq!(shared.expected_fpr(), alone.expected_fpr());
        assert_eq!(shared.into_bloom(), alone);
    }

    #[test]
    fn what_a_message_announces_is_found() {
        let shared = AtomicBloom::from(Bloom::new(10_000, 1e-6).unwrap());
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|threads| {
            let shared = &shared;
            threads.spawn(move || {
                let hasher = shared.hasher();
                for batch in 0..100u64 {
                    let keys: Vec<Digest> =
                        (0..100).map(|i| hasher.digest(&(100 * batch + i))).collect();
                    shared.insert_batch(&keys);
                    sender.send(keys).unwrap();
                }
                drop(sender);
            });
            for keys in receiver {
                assert!(keys.iter().all(|key| shared.contains_digest(*key)));
            }
        });
        assert_eq!(shared.key_count(), 10_000);
    }

    #[test]
    fn answers_are_those_of_the_plain_filter() {
        let mut plain = Bloom::new(2_000, 0.1).unwrap();
        plain.extend(0..2_000u64);
        let shared = AtomicBloom::from(plain.clone());
        assert!((0..10_000u64).all(|key| shared.contains(&key) == plain.contains(&key)));
        assert_eq!(
            (shared.capacity(), shared.probes(), shared.size_in_bits(), shared.hasher()),
            (plain.capacity(), plain.probes(), plain.size_in_bits(), plain.hasher())
        );
        assert_eq!(shared.into_bloom(), plain);
    }
}
