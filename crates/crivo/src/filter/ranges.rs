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
use std::sync::{Mutex, RwLock};

use super::batch::{self, LINE_BYTES};
use super::sorted::{Sorted, Sorting, limits};
use super::threads::{lock, read, together, write};
use crate::Digest;
use crivo_core::memory::{self, Cache, prefetch};

/// A range has 2^15 words, so that it and its marks fit into the cache of a core; fewer, if there would be
/// too few ranges, and more, if there would be too many.
const RANGE_BITS: u32 = 15;

/// Some for each thread, so that all have as much to do.
const RANGES_PER_THREAD: usize = 8;

/// A block of any kind lies in one range.
const MIN_RANGE_BITS: u32 = 6;

/// 32 bits name a bit, or a counter, of a range.
const MAX_RANGE_BITS: u32 = 26;

/// The marks of a round take at most twice the memory of the table, so that it passes through the caches a few times
/// only, but at least `MIN_BYTES`, and no more than `MAX_BYTES` or once the table: else a large one would pass more often
/// the larger it is. Where so much is not to be had, `MAX_BYTES` must do. Where threads are many they take up to two
/// fifths more, and up to twice the least where the table has few ranges.
const MIN_BYTES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
pub(super) const MAX_BYTES: usize = if cfg!(test) { 1 << 12 } else { 1 << 27 };

/// So much lies in the cache that cores share, or near it.
pub(super) const BYTES_IN_CACHE: usize = 1 << 24;

/// A table of so many bytes passes quickly: it and its marks lie near the cache.
const BYTES_OF_QUICK_PASSES: usize = BYTES_IN_CACHE + BYTES_IN_CACHE / 4;

/// The words of a page, on most systems.
const PAGE_WORDS: usize = 4096 / size_of::<u64>();

/// A filter whose keys mark places of its table.
pub(super) trait Marked {
    type Marking: Marking;

    /// Up to how many bytes of all their tables together threads fill one each, and unite them: near the
    /// cache that is faster than sorting marks. For tables of bits; 0 for others.
    const SHARED_BYTES: usize;

    /// How keys mark the words, and the words.
    fn marking(&mut self) -> (Self::Marking, &mut [u64]);

    /// Counts keys whose marks were made.
    fn add_key_count(&mut self, keys: u64);
}

/// How keys mark the words of a table: what is left of a filter without its words.
pub(super) trait Marking: Copy + Sync {
    /// What is to be done in a range: a key, or a place.
    type Mark: Copy + Send + Sync;

    /// Whether it costs little that a table near the cache passes through it more often. Then the marks of a round
    /// take half as much memory as the table: they stay near the cache, too, and fresh memory for more of them costs more.
    const QUICK_PASSES: bool;

    /// Whether a mark takes so long that its memory is better fetched ahead even where all is near.
    fn takes_long(&self) -> bool {
        false
    }

    /// The most marks that a key makes.
    fn most_marks(&self) -> usize;

    /// Gives each mark of a key to `put`, with the number of its range, if ranges have 2^`range_bits`
    /// words.
    fn marks(&self, key: Digest, range_bits: u32, put: impl FnMut(usize, Self::Mark));

    /// Makes the marks in their range, which begins at the word `first`.
    fn make(&self, marks: &[Self::Mark], first: usize, words: &mut [u64]);

    /// Asks the processor to fetch the memory of a mark, likewise.
    fn fetch(&self, mark: Self::Mark, first: usize, words: &[u64]);
}

/// Marks by ranges of 2^`range_bits` words.
struct ByRange<M> {
    marking: M,
    range_bits: u32,
}

impl<M: Marking> Sorting for ByRange<M> {
    type Mark = M::Mark;

    fn most_marks(&self) -> usize {
        self.marking.most_marks()
    }

    #[inline(always)]
    fn marks(&self, key: Digest, put: impl FnMut(usize, M::Mark)) {
        self.marking.marks(key, self.range_bits, put);
    }
}

/// Marks the words of a table, all 0, with all items, on that many threads. `None` if there is no memory for
/// it; then nothing has changed.
pub(super) fn mark<T: Sync, M: Marking>(
    marking: M,
    words: &mut [u64],
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
) -> Option<()> {
    let table_bytes = size_of_val(words);
    let marked = mark_within(MAX_BYTES.max(table_bytes), marking, words, items, digest_of, threads);
    if marked.is_none() && table_bytes > MAX_BYTES {
        return mark_within(MAX_BYTES, marking, words, items, digest_of, threads);
    }
    marked
}

/// [`mark`] with so many bytes of marks at the most, if the table does not call for fewer.
fn mark_within<T: Sync, M: Marking>(
    max_bytes: usize,
    marking: M,
    words: &mut [u64],
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
) -> Option<()> {
    let bytes = size_of_val(words);
    let is_quick = M::QUICK_PASSES && bytes <= BYTES_OF_QUICK_PASSES;
    let fetches_ahead = !is_quick || marking.takes_long();
    let bytes = if is_quick { bytes / 2 } else { bytes.saturating_mul(2) };
    let bytes = bytes.clamp(MIN_BYTES, max_bytes);
    let marks = items.len().saturating_mul(marking.most_marks());
    // The last range has room like any other, also if it is shorter: a sixteenth more than is needed, unless ranges
    // are few, because many threads share the marks or the table is small.
    let marks_at_once = bytes / size_of::<M::Mark>() / 17 * 16;
    // Rounds that are about as long as each other: memory costs time, too.
    let rounds = marks.div_ceil(marks_at_once).max(1);
    let (threads, max_ranges) = limits(marks / rounds, threads);
    let range_bits = range_bits(words.len(), threads, max_ranges)?;
    let ranges = words.len().div_ceil(1 << range_bits);
    // Of a whole range, and of a thread.
    let range_words = words.len().min(1 << range_bits);
    let marks_per_word = marks as f64 / (rounds * threads) as f64 / words.len().max(1) as f64;
    let mean = marks_per_word * range_words as f64;
    // Ranges have more or fewer marks than the mean, and hardly any so many more. If one has, there is one
    // more round.
    let room = (mean + 4.0 * mean.sqrt()).ceil() as usize;
    let by_range = ByRange { marking, range_bits };
    let mut shares = items.chunks(items.len().div_ceil(threads).max(1));
    let mut sorted = memory::reserved(threads)?;
    for _ in 0..threads {
        sorted.push(RwLock::new((
            Sorted::new(ranges, room, &by_range)?,
            shares.next().unwrap_or_default(),
        )));
    }
    let parts = words.chunks_mut(1 << range_bits).map(Mutex::new);
    let parts = memory::collected(parts).ok()?;
    let parts_of_share = parts.len().div_ceil(threads).max(1);
    let [next_part, next_share, next_range] = [const { AtomicUsize::new(0) }; 3];
    let take = |next: &AtomicUsize| next.fetch_add(1, Ordering::Relaxed);
    together(threads, |meeting| {
        while let Some(parts) = parts.chunks(parts_of_share).nth(take(&next_part)) {
            parts.iter().for_each(|words| touch(&mut lock(words)));
        }
        loop {
            while let Some(sorted) = sorted.get(take(&next_share)) {
                let (sorted, items) = &mut *write(sorted);
                *items = sorted.fill(items, digest_of, &by_range);
            }
            // Who is last begins the count of what nobody counts at the time.
            if meeting.wait() {
                next_share.store(0, Ordering::Relaxed);
            }
            let is_last = sorted.iter().all(|sorted| read(sorted).1.is_empty());
            while let Some((range, words)) = at(&parts, take(&next_range)) {
                let words = &mut **lock(words);
                let marks = || sorted.iter().map(read);
                let count: usize = marks().map(|sorted| sorted.0.of_range(range).len()).sum();
                // Most lines will be needed, and in no order that a processor foresees.
                let lines = words.chunks(LINE_BYTES / size_of::<u64>());
                if words.len() <= 1 << RANGE_BITS && count >= lines.len() {
                    lines.for_each(|line| prefetch(line.as_ptr(), Cache::Second));
                }
                let first = range << range_bits;
                let fetch = |words: &[u64], mark| marking.fetch(mark, first, words);
                for sorted in marks() {
                    let marks = sorted.0.of_range(range);
                    if fetches_ahead || words.len() > 1 << RANGE_BITS {
                        let make =
                            |words: &mut [u64], marks: &[_]| marking.make(marks, first, words);
                        batch::in_groups(words, marks, fetch, make);
                    } else {
                        marking.make(marks, first, words);
                    }
                }
            }
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

/// Has the system clear the pages of words that are 0 and may not have been touched yet. It does so when a page is
/// first written to, and threads that need the same page at that time would all wait for it.
pub(super) fn touch(words: &mut [u64]) {
    words.iter_mut().step_by(PAGE_WORDS).for_each(|word| *word = 0);
}

/// The logarithm of the words of a range. `None` if there are so many that marks could not name a place.
fn range_bits(words: usize, threads: usize, max_ranges: usize) -> Option<u32> {
    let mut bits = RANGE_BITS;
    while words >> bits < RANGES_PER_THREAD * threads && bits > MIN_RANGE_BITS {
        bits -= 1;
    }
    while bits <= MAX_RANGE_BITS && words.div_ceil(1 << bits) > max_ranges {
        bits += 1;
    }
    (bits <= MAX_RANGE_BITS).then_some(bits)
}

fn at<T>(items: &[T], index: usize) -> Option<(usize, &T)> {
    Some((index, items.get(index)?))
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
        assert_eq!(range_bits(8, 2, 1_024), Some(MIN_RANGE_BITS));
        assert_eq!(range_bits(1 << 18, 2, 1_024), Some(14));
        assert_eq!(range_bits(1 << 18, 2, 10), Some(15));
        assert_eq!(range_bits(1 << 22, 2, 1_024), Some(RANGE_BITS));
        assert_eq!(range_bits(1 << 26, 2, 1_024), Some(16));
        assert_eq!(range_bits((1 << 26) + 1, 2, 1_024), Some(17));
        #[cfg(target_pointer_width = "64")]
        assert_eq!(range_bits(1 << 37, 2, 1_024), None);
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
