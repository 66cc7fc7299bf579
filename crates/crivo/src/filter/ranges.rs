//! Filters from all their keys, range by range of the table: on several threads, and within a cache.
//!
//! ```text
//!   keys       [ a  b  c  d  e  f | g  h  i  j  k  l ]         a share for each thread
//!                      ↓                   ↓
//!   sorted     │c e│a  │b d│f  │   │h  │g l│k  │i j│           by ranges of the table
//!                ╲               ╱
//!   the table  │ c e h │ a g l │ b d k │ f i j │               a range for whoever is free
//! ```
//!
//! A key marks places of the table: a bit is set, a counter raised. What comes of it does not depend on
//! the order, so that the marks can be sorted by the ranges in which they lie, and a range be left to
//! one thread: no two write to the same line, and there is one table, not one for each thread. A range
//! lies in the cache of a core, while marks all over a large table wait for memory, or for its page
//! tables.
//!
//! The marks are collected in rounds, in a memory that is bounded. Where it is not to be had, nothing is
//! done here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::batch::LINE_BYTES;
use super::threads::{lock, together};
use crate::Digest;
use crivo_core::memory::{self, Cache, prefetch, prefetch_for_change};

/// A range has 2^14 words, so that it and its marks fit into the cache of a core; fewer, if there would be
/// too few ranges, and more, if there would be too many.
const RANGE_BITS: u32 = 14;

/// Some for each thread, so that all have as much to do.
const RANGES_PER_THREAD: usize = 8;

/// So few that the next place of each stays in the cache.
const MAX_RANGES: usize = 1 << 10;

/// A block of any kind lies in one range.
const MIN_RANGE_BITS: u32 = 6;

/// 32 bits name a bit, or a counter, of a range.
const MAX_RANGE_BITS: u32 = 26;

/// The marks of a round take as much memory as the table, but not less and not more than this.
const MIN_BYTES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
const MAX_BYTES: usize = 1 << 27;

/// A round ends where a range may have no room for about so many marks.
const MARKS_PER_STEP: usize = 256;

/// So much lies in the cache that cores share, or near it.
pub(super) const BYTES_IN_CACHE: usize = 1 << 24;

/// A filter whose keys mark places of its table.
pub(super) trait Marked {
    type Marking: Marking;

    /// Up to how many bytes of all their tables together threads fill one each, and unite them: near the
    /// cache that is faster than sorting marks, unless uniting takes long.
    const SHARED_BYTES: usize;

    /// How keys mark the words, and the words.
    fn marking(&mut self) -> (Self::Marking, &mut [u64]);

    /// Counts keys whose marks were made.
    fn add_key_count(&mut self, keys: u64);
}

/// How keys mark the words of a table: what is left of a filter without its words.
pub(super) trait Marking: Copy + Sync {
    /// What is to be done in a range: a key, or a place.
    type Mark: Copy + Default + Send + Sync;

    /// The most marks that a key makes.
    fn most_marks(&self) -> usize;

    /// Gives each mark of a key to `put`, with the number of its range, if ranges have 2^`range_bits`
    /// words.
    fn marks(&self, key: Digest, range_bits: u32, put: impl FnMut(usize, Self::Mark));

    /// Makes the marks in their range, which begins at the word `first`.
    fn make(&self, marks: &[Self::Mark], first: usize, words: &mut [u64]);
}

/// Marks by ranges.
struct Sorted<M> {
    /// For each range as much room as for any other; nothing before the first mark.
    marks: Vec<M>,
    /// Where the marks of each range end.
    ends: Vec<usize>,
    room: usize,
    /// A round ends where there may be no room for the marks of so many items.
    min_step: usize,
}

impl<M: Copy + Default> Sorted<M> {
    /// Room for at least `room` marks of each range, of items that make at most `most_marks` each.
    fn new(ranges: usize, room: usize, most_marks: usize) -> Option<Self> {
        let min_step = (MARKS_PER_STEP / most_marks).max(1);
        let room = room.checked_add(min_step * most_marks)?;
        let marks = memory::reserved(ranges.checked_mul(room)?)?;
        Some(Self { marks, ends: memory::zeroed(ranges).ok()?, room, min_step })
    }

    /// Sorts the marks of the first items, until there may be no room for those of others; returns the
    /// items that are left.
    fn fill<'a, T>(
        &mut self,
        mut items: &'a [T],
        digest_of: &impl Fn(&T) -> Digest,
        marking: &impl Marking<Mark = M>,
        range_bits: u32,
    ) -> &'a [T] {
        // There is room: it was reserved. The thread that will write there touches it first.
        self.marks.resize(self.ends.len() * self.room, M::default());
        let marks = &mut self.marks[..];
        // On this thread's stack: lists of two threads may lie in the same cache line. A range that is not
        // there would be a panic.
        let mut ends = [usize::MAX; MAX_RANGES];
        let ranges = self.ends.len();
        for (range, end) in ends[..ranges].iter_mut().enumerate() {
            *end = range * self.room;
        }
        loop {
            // All marks of these items might lie in the fullest range.
            let used =
                ends[..ranges].iter().enumerate().map(|(range, end)| end - range * self.room);
            let step = (self.room - used.max().unwrap_or(0)) / marking.most_marks();
            if items.is_empty() || step < self.min_step {
                break;
            }
            let (now, later) = items.split_at(step.min(items.len()));
            for item in now {
                marking.marks(digest_of(item), range_bits, |range, mark| {
                    let end = &mut ends[range % MAX_RANGES];
                    marks[*end] = mark;
                    // The line after the next marks, which another thread may have read.
                    prefetch_for_change(
                        marks.as_ptr().wrapping_add(*end + LINE_BYTES / size_of::<M>()),
                    );
                    *end += 1;
                });
            }
            items = later;
        }
        self.ends.copy_from_slice(&ends[..ranges]);
        items
    }

    fn of_range(&self, range: usize) -> &[M] {
        &self.marks[range * self.room..self.ends[range]]
    }
}

/// Marks the words of a table with all items, on that many threads. `None` if there is no memory for it;
/// then nothing has changed.
pub(super) fn mark<T: Sync, M: Marking>(
    marking: M,
    words: &mut [u64],
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
) -> Option<()> {
    let range_bits = range_bits(words.len(), threads)?;
    let ranges = words.len().div_ceil(1 << range_bits);
    let bytes = size_of_val(words).clamp(MIN_BYTES, MAX_BYTES);
    // Few keys have few marks, however large the table is.
    let of_items = 2 * size_of::<M::Mark>() * marking.most_marks();
    let bytes = bytes.min(of_items.saturating_mul(items.len()));
    let room = bytes / (threads * ranges * size_of::<M::Mark>());
    let mut shares = items.chunks(items.len().div_ceil(threads).max(1));
    let mut sorted = memory::reserved(threads)?;
    for _ in 0..threads {
        sorted.push(RwLock::new((
            Sorted::new(ranges, room, marking.most_marks())?,
            shares.next().unwrap_or_default(),
        )));
    }
    let parts = words.chunks_mut(1 << range_bits).map(Mutex::new);
    let parts = memory::collected(parts).ok()?;
    let (next_share, next_range) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take = |next: &AtomicUsize| next.fetch_add(1, Ordering::Relaxed);
    together(threads, |meeting| {
        loop {
            while let Some(sorted) = sorted.get(take(&next_share)) {
                let (sorted, items) = &mut *write(sorted);
                *items = sorted.fill(items, digest_of, &marking, range_bits);
            }
            // Who is last begins the count of what nobody counts at the time.
            if meeting.wait() {
                next_share.store(0, Ordering::Relaxed);
            }
            let sorted: Vec<_> = sorted.iter().map(read).collect();
            let is_last = sorted.iter().all(|sorted| sorted.1.is_empty());
            while let Some((range, words)) = at(&parts, take(&next_range)) {
                let words = &mut **lock(words);
                let marks = || sorted.iter().map(|sorted| sorted.0.of_range(range));
                // Most lines will be needed, and in no order that a processor foresees.
                let lines = words.chunks(LINE_BYTES / size_of::<u64>());
                if words.len() <= 1 << RANGE_BITS
                    && marks().map(<[_]>::len).sum::<usize>() >= lines.len()
                {
                    lines.for_each(|line| prefetch(line.as_ptr(), Cache::Second));
                }
                marks().for_each(|marks| marking.make(marks, range << range_bits, words));
            }
            drop(sorted);
            if is_last {
                return;
            }
            if meeting.wait() {
                next_range.store(0, Ordering::Relaxed);
            }
        }
    });
    Some(())
}

/// The logarithm of the words of a range. `None` if there are so many that marks could not name a place.
fn range_bits(words: usize, threads: usize) -> Option<u32> {
    let mut bits = RANGE_BITS;
    while words >> bits < RANGES_PER_THREAD * threads && bits > MIN_RANGE_BITS {
        bits -= 1;
    }
    while words >> bits >= MAX_RANGES {
        bits += 1;
    }
    (bits <= MAX_RANGE_BITS).then_some(bits)
}

fn at<T>(items: &[T], index: usize) -> Option<(usize, &T)> {
    Some((index, items.get(index)?))
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use crate::codec;
    use crate::filter::any::Operations;
    use crate::filter::{
        BlockedCountingSpec, BlockedSpec, BloomSpec, CounterWidth, CountingSpec, Filter,
        FilterSpec, SplitBlockSpec,
    };
    use crate::persist::Persist;

    /// Ranges of any size, in several rounds, also where there are more threads than keys, and keys that
    /// come often.
    fn ranges_give_the_bytes_of_insertions<S>(spec: S)
    where
        S: FilterSpec<Filter: Marked + Operations + Persist>,
    {
        let hasher = KeyHasher::default();
        let digest_of = |key: &u64| hasher.digest(key);
        for count in [0u64, 1, 2, 3, 7, 255, 256, 257, 2_000] {
            // Every third key is one of forty, so often that counters of four bits reach their end.
            let keys: Vec<u64> = (0..count).map(|i| if i % 3 == 0 { i % 40 } else { i }).collect();
            let mut alone = spec.build(hasher).unwrap();
            let digests: Vec<Digest> = keys.iter().map(digest_of).collect();
            alone.any_insert_batch(&digests).unwrap().unwrap();
            for threads in [1, 2, 3, 8] {
                let mut filter = spec.build(hasher).unwrap();
                let (marking, words) = filter.marking();
                mark(marking, words, &keys, &digest_of, threads).unwrap();
                filter.add_key_count(count);
                assert_eq!(filter.key_count(), count);
                assert!(codec::to_bytes(&filter) == codec::to_bytes(&alone), "{count}, {threads}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn all_kinds_are_marked_as_by_insertions() {
        for keys in [30, 3_000] {
            ranges_give_the_bytes_of_insertions(BloomSpec::for_fpr(keys, 0.01).unwrap());
            ranges_give_the_bytes_of_insertions(BlockedSpec::for_fpr(keys, 0.01).unwrap());
            ranges_give_the_bytes_of_insertions(SplitBlockSpec::for_fpr(keys, 0.01).unwrap());
            for width in [CounterWidth::Four, CounterWidth::Eight] {
                let spec = CountingSpec::for_fpr(keys, 0.01).unwrap().with_width(width).unwrap();
                ranges_give_the_bytes_of_insertions(spec);
                let spec = BlockedCountingSpec::for_fpr(keys, 0.01).unwrap();
                ranges_give_the_bytes_of_insertions(spec.with_width(width).unwrap());
            }
        }
        // Places that coincide, and more of them than usual.
        ranges_give_the_bytes_of_insertions(CountingSpec::with_size(100, 40).unwrap());
        ranges_give_the_bytes_of_insertions(BloomSpec::with_size(1 << 20, 255).unwrap());
    }

    #[test]
    fn ranges_are_neither_few_nor_many() {
        assert_eq!(range_bits(8, 2), Some(MIN_RANGE_BITS));
        assert_eq!(range_bits(1 << 18, 2), Some(14));
        assert_eq!(range_bits(1 << 22, 2), Some(RANGE_BITS));
        assert_eq!(range_bits(1 << 26, 2), Some(17));
        #[cfg(target_pointer_width = "64")]
        assert_eq!(range_bits(1 << 37, 2), None);
    }

    /// Of whichever share the key is, and so of whichever thread.
    #[test]
    fn a_panic_of_a_key_goes_on() {
        let hasher = KeyHasher::default();
        let keys: Vec<u64> = (0..100).collect();
        for bad in [0, 49, 50, 99] {
            let mut filter = BlockedSpec::for_fpr(100, 0.01).unwrap().build(hasher).unwrap();
            let (marking, words) = filter.marking();
            let digest_of = |&key: &u64| {
                assert_ne!(key, bad, "the key is bad");
                hasher.digest(&key)
            };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                mark(marking, words, &keys, &digest_of, 2);
            }));
            let panic = result.unwrap_err().downcast::<String>().unwrap();
            assert!(panic.contains("the key is bad"), "{panic}");
        }
    }
}
