//! The distinct digests of an input of any size, sorted and counted.
//!
//! ```text
//!   digests ──▶ 64 parts, by their first bits ──▶ each sorted, copies merged ──▶ all, in order
//!                       │                               ▲
//!                       └── beyond the memory: partitions on disk
//! ```
//!
//! When the memory is full, copies are merged. If that frees too little, all parts go to disk, where
//! each is a partition; at the end, each partition is collected in turn, by the next bits.

use std::thread;

use super::{PARTITION_BITS, PARTITIONS, Partitions, SpillError, SpilledEntries, Spool};

/// A digest; if `WORDS` is 2, with the number of its copies.
type Entry<const WORDS: usize> = [u64; WORDS];

/// Fewer entries are sorted sooner than threads are started.
const MIN_FOR_THREADS: usize = 1 << 14;

/// Collects digests in bounded memory. With `WORDS` = 1 copies are dropped, with `WORDS` = 2 they are
/// counted.
///
/// ```
/// use crivo_core::spill::{DigestCollector, SpillError};
///
/// let mut collector = DigestCollector::<2>::within(1 << 20);
/// collector.extend([30, 10, 30, 20, 30])?;
/// let distinct = collector.finish()?;
/// assert_eq!((distinct.total(), distinct.count()), (5, 3));
/// let mut counted = Vec::new();
/// distinct.each(|digest, copies| {
///     counted.push((digest, copies));
///     Ok::<(), SpillError>(())
/// })?;
/// assert_eq!(counted, [(10, 1), (20, 1), (30, 3)]);
/// # Ok::<(), SpillError>(())
/// ```
#[derive(Debug)]
pub struct DigestCollector<const WORDS: usize> {
    parts: Vec<Vec<Entry<WORDS>>>,
    /// `None` while everything is in memory.
    spilled: Option<Box<Partitions<WORDS>>>,
    /// The number of entries in memory, and its maximum.
    held: usize,
    max_held: usize,
    /// How many entries the parts have room for, at most twice `max_held`.
    reserved: usize,
    /// The number of digests, with copies.
    total: u64,
    /// By how many groups of bits the digests are partitioned already.
    level: u32,
    /// The maximum number of threads that sort.
    threads: usize,
}

impl<const WORDS: usize> DigestCollector<WORDS> {
    /// An empty collector that holds at most this many bytes of digests in memory. (There may be room
    /// for twice as many.)
    #[must_use]
    pub fn within(memory: usize) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self::at_level((memory / size_of::<Entry<WORDS>>()).max(PARTITIONS), 0, threads)
    }

    /// The same, with at most this many threads for sorting; 0 counts as 1. By default, one for each
    /// core.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    fn at_level(max_held: usize, level: u32, threads: usize) -> Self {
        let parts = vec![Vec::new(); PARTITIONS];
        Self { parts, spilled: None, held: 0, max_held, reserved: 0, total: 0, level, threads }
    }

    /// Adds digests.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn extend(&mut self, digests: impl IntoIterator<Item = u64>) -> Result<(), SpillError> {
        digests.into_iter().try_for_each(|digest| {
            let mut entry = [1; WORDS];
            entry[0] = digest;
            self.total += 1;
            self.push(entry)
        })
    }

    #[inline]
    fn push(&mut self, entry: Entry<WORDS>) -> Result<(), SpillError> {
        let partition = entry[0] << (self.level * PARTITION_BITS) >> (u64::BITS - PARTITION_BITS);
        let part = partition as usize;
        if self.parts[part].len() == self.parts[part].capacity() {
            self.grow(part);
        }
        self.parts[part].push(entry);
        self.held += 1;
        if self.held >= self.max_held { self.make_room() } else { Ok(()) }
    }

    /// Makes room for more entries in a part.
    ///
    /// Copies of one digest fill a part that is far longer than others, and when they are merged, the part
    /// keeps its room. So what others do not use is given back, where old and new room would be more than
    /// there may be.
    #[cold]
    fn grow(&mut self, part: usize) {
        let length = self.parts[part].len();
        let more = length.max(4).min(self.max_held - self.held);
        if self.reserved.saturating_add(length + more) > self.max_held.saturating_mul(2) {
            self.parts.iter_mut().for_each(Vec::shrink_to_fit);
            self.reserved = self.room();
        }
        let before = self.parts[part].capacity();
        self.parts[part].reserve_exact(more);
        self.reserved += self.parts[part].capacity() - before;
    }

    /// How many entries the parts have room for.
    fn room(&self) -> usize {
        self.parts.iter().map(Vec::capacity).sum()
    }

    /// Merges copies. If that frees too little, everything goes to disk.
    ///
    /// After ten levels the digests of a partition share 60 bits: there are at most 16 distinct ones,
    /// which always fit, and there is no level beyond.
    #[cold]
    fn make_room(&mut self) -> Result<(), SpillError> {
        self.merge_copies();
        if self.held > self.max_held / 2 { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), SpillError> {
        let partitions = self.spilled.get_or_insert_default();
        for (partition, part) in self.parts.iter_mut().enumerate() {
            part.drain(..).try_for_each(|entry| partitions.push(partition, entry))?;
        }
        self.held = 0;
        Ok(())
    }

    /// Sorts every part and merges copies, on several threads.
    fn merge_copies(&mut self) {
        if self.held < MIN_FOR_THREADS || self.threads == 1 {
            self.parts.iter_mut().for_each(sort_and_merge);
        } else {
            let parts_of_one = PARTITIONS.div_ceil(self.threads);
            thread::scope(|scope| {
                for parts in self.parts.chunks_mut(parts_of_one) {
                    scope.spawn(move || parts.iter_mut().for_each(sort_and_merge));
                }
            });
        }
        self.held = self.parts.iter().map(Vec::len).sum();
    }

    /// The distinct digests.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<DistinctDigests<WORDS>, SpillError> {
        let total = self.total;
        if self.spilled.is_none() {
            self.merge_copies();
            let count = self.held as u64;
            return Ok(DistinctDigests { total, count, storage: Storage::Memory(self.parts) });
        }
        let mut sorted = Spool::default();
        let mut count = 0;
        self.drain_to(&mut |entry| {
            count += 1;
            sorted.push(entry)
        })?;
        Ok(DistinctDigests { total, count, storage: Storage::Disk(SpilledEntries::of(sorted)?) })
    }

    /// Passes on all entries in order.
    fn drain_to(
        mut self,
        sink: &mut dyn FnMut(Entry<WORDS>) -> Result<(), SpillError>,
    ) -> Result<(), SpillError> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        let Some(partitions) = self.spilled else {
            self.merge_copies();
            return self.parts.into_iter().flatten().try_for_each(sink);
        };
        // The partitions need the memory.
        drop(self.parts);
        for mut entries in partitions.into_entries()? {
            let mut collector = Self::at_level(self.max_held, self.level + 1, self.threads);
            entries.each(|entry| collector.push(entry))?;
            drop(entries);
            collector.drain_to(sink)?;
        }
        Ok(())
    }
}

fn sort_and_merge<const WORDS: usize>(part: &mut Vec<Entry<WORDS>>) {
    part.sort_unstable_by_key(|entry| entry[0]);
    part.dedup_by(|next, kept| {
        let is_copy = next[0] == kept[0];
        if is_copy && WORDS > 1 {
            kept[WORDS - 1] += next[WORDS - 1];
        }
        is_copy
    });
}

/// Distinct digests in ascending order.
#[derive(Debug)]
pub struct DistinctDigests<const WORDS: usize> {
    total: u64,
    count: u64,
    storage: Storage<WORDS>,
}

#[derive(Debug)]
enum Storage<const WORDS: usize> {
    Memory(Vec<Vec<Entry<WORDS>>>),
    Disk(SpilledEntries<WORDS>),
}

impl<const WORDS: usize> DistinctDigests<WORDS> {
    /// The number of digests that were added, with copies.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of distinct digests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Visits every digest once, in ascending order, with the number of its copies: 1 if they were
    /// not counted.
    ///
    /// # Errors
    /// If a temporary file cannot be read, and those of `visit`.
    pub fn each<E: From<SpillError>>(
        self,
        mut visit: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let visit = |entry: Entry<WORDS>| {
            let copies = if WORDS > 1 { entry[WORDS - 1] } else { 1 };
            visit(entry[0], copies)
        };
        match self.storage {
            // Parts are freed one by one.
            Storage::Memory(parts) => parts.into_iter().flatten().try_for_each(visit),
            Storage::Disk(mut entries) => entries.each(visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::mix::mix;

    const PLENTY: usize = 256 << 20;

    fn collect<const WORDS: usize>(digests: &[u64], memory: usize) -> (u64, u64, Vec<(u64, u64)>) {
        let mut collector = DigestCollector::<WORDS>::within(memory);
        for digests in digests.chunks(1234) {
            collector.extend(digests.iter().copied()).unwrap();
            assert!(collector.held <= collector.max_held);
        }
        let distinct = collector.finish().unwrap();
        let (total, count) = (distinct.total(), distinct.count());
        let mut visited = Vec::new();
        let visit = |digest, copies| {
            visited.push((digest, copies));
            Ok::<(), SpillError>(())
        };
        distinct.each(visit).unwrap();
        (total, count, visited)
    }

    fn check(digests: &[u64], memories: &[usize]) {
        let mut expected = BTreeMap::<u64, u64>::new();
        digests.iter().for_each(|digest| *expected.entry(*digest).or_default() += 1);
        let expected: Vec<_> = expected.into_iter().collect();
        let counts = (digests.len() as u64, expected.len() as u64);
        for memory in memories {
            let (total, count, counted) = collect::<2>(digests, *memory);
            assert_eq!((total, count), counts, "{memory}");
            assert_eq!(counted, expected, "{memory}");
            let (total, count, once) = collect::<1>(digests, *memory);
            assert_eq!((total, count), counts, "{memory}");
            assert!(once.iter().map(|entry| entry.0).eq(expected.iter().map(|entry| entry.0)));
        }
    }

    #[test]
    fn digests_are_distinct_sorted_and_counted_in_memory_and_on_disk() {
        let digests: Vec<_> = (0..50_000).flat_map(|i| [mix(i), mix(i / 3), mix(7)]).collect();
        // Everything in memory; partitions that fit; partitions of partitions.
        check(&digests, &[PLENTY, 300_000, 0]);
    }

    #[test]
    fn digests_that_share_their_first_bits_are_partitioned_to_the_last() {
        let neighbours = (0..1_000).map(|i| u64::MAX - i);
        let digests: Vec<_> = neighbours.chain(0..1_000).chain((0..1_000).rev()).collect();
        check(&digests, &[PLENTY, 0]);
    }

    #[test]
    fn no_digests_give_no_digests() {
        check(&[], &[PLENTY, 0]);
    }

    /// Each run fills a part of its own up to the memory, and leaves one entry in it.
    #[test]
    fn long_runs_of_copies_leave_no_room_behind() {
        let mut collector = DigestCollector::<2>::within(1 << 16);
        let most = 2 * collector.max_held;
        for run in 0..PARTITIONS as u64 {
            let digest = run << (u64::BITS - PARTITION_BITS);
            for _ in 0..10 {
                collector.extend(std::iter::repeat_n(digest, 1_000)).unwrap();
                assert_eq!(collector.reserved, collector.room());
                assert!(collector.room() <= most, "{run}: {} of {most}", collector.room());
            }
        }
        assert!(collector.spilled.is_none());
        assert_eq!(collector.finish().unwrap().count(), PARTITIONS as u64);
    }

    #[test]
    fn copies_of_one_digest_never_reach_the_disk() {
        let mut collector = DigestCollector::<2>::within(1 << 20);
        collector.extend(std::iter::repeat_n(5, 1_000_000)).unwrap();
        assert!(collector.spilled.is_none());
        let distinct = collector.finish().unwrap();
        assert_eq!((distinct.total(), distinct.count()), (1_000_000, 1));
        let visit = |digest, copies| {
            assert_eq!((digest, copies), (5, 1_000_000));
            Ok::<(), SpillError>(())
        };
        distinct.each(visit).unwrap();
    }
}
