//! The distinct keys of an input of any size: their digests, sorted and counted.
//!
//! ```text
//!   digests ──▶ 64 parts, by their first bits ──▶ each sorted, copies merged ──▶ all, in order
//!                       │                               ▲
//!                       └── beyond the memory: temporary files
//! ```
//!
//! Beyond the memory, each part goes to a temporary file, and parts are small enough to be sorted one
//! at a time. The files have no names and vanish with the process, however it ends.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::thread;

use crivo::{Digest, KeyHasher};

use crate::error::Error;
use crate::input::InputArgs;
use crate::spill::{Spool, temporary_error};

/// The memory for digests before they are written to disk.
const MEMORY: usize = 256 << 20;

/// A part holds the digests that share this number of first bits.
const PART_BITS: u32 = 6;
const PARTS: usize = 1 << PART_BITS;

/// The memory is checked after this many digests.
const BATCH: usize = 1 << 13;

/// The buffer for reading, in bytes.
const BUFFER: usize = 1 << 18;

/// The distinct keys of an input. With `W` = 1 copies are forgotten, with `W` = 2 they are counted.
pub(crate) fn gather<const W: usize>(
    input: &InputArgs,
    hasher: KeyHasher,
) -> Result<Distinct<W>, Error> {
    let mut collector = DigestCollector::within(MEMORY);
    input.each_batch(hasher, |digests| collector.extend(digests))?;
    collector.finish()
}

/// A digest; where `W` is 2, with the number of its copies.
type Entry<const W: usize> = [u64; W];

/// Collects digests.
struct DigestCollector<const W: usize> {
    parts: Vec<Vec<Entry<W>>>,
    /// The parts on disk; empty while everything is in memory.
    spools: Vec<Spool>,
    /// The number of entries in memory, and its maximum.
    held: usize,
    max_held: usize,
    total: u64,
}

impl<const W: usize> DigestCollector<W> {
    /// An empty collector that uses at most `memory` bytes.
    fn within(memory: usize) -> Self {
        let max_held = (memory / size_of::<Entry<W>>()).max(PARTS);
        Self { parts: vec![Vec::new(); PARTS], spools: Vec::new(), held: 0, max_held, total: 0 }
    }

    /// Adds digests.
    fn extend(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for digests in digests.chunks(BATCH) {
            for digest in digests {
                let digest = digest.get();
                let mut entry = [1; W];
                entry[0] = digest;
                self.parts[(digest >> (u64::BITS - PART_BITS)) as usize].push(entry);
            }
            self.held += digests.len();
            self.total += digests.len() as u64;
            if self.held >= self.max_held {
                self.make_room()?;
            }
        }
        Ok(())
    }

    /// Merges copies. If that frees too little, everything goes to disk.
    fn make_room(&mut self) -> Result<(), Error> {
        self.merge_copies();
        if self.held > self.max_held / 2 {
            self.spools.resize_with(PARTS, Spool::default);
            for (part, spool) in self.parts.iter_mut().zip(&mut self.spools) {
                write(spool, part)?;
                part.clear();
            }
            self.held = 0;
        }
        Ok(())
    }

    /// Sorts every part and merges copies, on all cores.
    fn merge_copies(&mut self) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for parts in self.parts.chunks_mut(PARTS.div_ceil(threads)) {
                scope.spawn(move || parts.iter_mut().for_each(sort_and_merge));
            }
        });
        self.held = self.parts.iter().map(Vec::len).sum();
    }

    /// All digests, sorted.
    fn finish(mut self) -> Result<Distinct<W>, Error> {
        let total = self.total;
        if self.spools.is_empty() {
            self.merge_copies();
            let distinct = self.held as u64;
            return Ok(Distinct { total, distinct, place: Storage::Memory(self.parts) });
        }
        let mut sorted = Spool::default();
        let mut distinct = 0;
        for (mut part, spool) in self.parts.into_iter().zip(self.spools) {
            each_of(spool, |entry| {
                part.push(entry);
                Ok(())
            })?;
            sort_and_merge(&mut part);
            distinct += part.len() as u64;
            write(&mut sorted, &part)?;
        }
        Ok(Distinct { total, distinct, place: Storage::Disk(sorted) })
    }
}

fn sort_and_merge<const W: usize>(part: &mut Vec<Entry<W>>) {
    part.sort_unstable_by_key(|entry| entry[0]);
    part.dedup_by(|next, kept| {
        let is_copy = next[0] == kept[0];
        if is_copy && W > 1 {
            kept[W - 1] += next[W - 1];
        }
        is_copy
    });
}

fn write<const W: usize>(spool: &mut Spool, entries: &[Entry<W>]) -> Result<(), Error> {
    entries.as_flattened().iter().try_for_each(|word| spool.write(&word.to_le_bytes()))
}

/// Visits the entries that were written to a spool.
fn each_of<const W: usize>(
    spool: Spool,
    mut visit: impl FnMut(Entry<W>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(file) = spool.into_file()? else { return Ok(()) };
    let mut file = BufReader::with_capacity(BUFFER, file);
    while let Some(entry) = read(&mut file).map_err(temporary_error)? {
        visit(entry)?;
    }
    Ok(())
}

/// The next entry; `None` at the end.
fn read<const W: usize>(file: &mut BufReader<File>) -> io::Result<Option<Entry<W>>> {
    let mut entry = [0; W];
    for (index, word) in entry.iter_mut().enumerate() {
        let mut bytes = [0; size_of::<u64>()];
        match file.read_exact(&mut bytes) {
            Err(error) if index == 0 && error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(None);
            }
            result => result?,
        }
        *word = u64::from_le_bytes(bytes);
    }
    Ok(Some(entry))
}

/// Distinct digests in ascending order.
pub(crate) struct Distinct<const W: usize> {
    /// The number of digests, with copies.
    pub(crate) total: u64,
    /// The number of distinct digests.
    pub(crate) distinct: u64,
    place: Storage<W>,
}

enum Storage<const W: usize> {
    Memory(Vec<Vec<Entry<W>>>),
    Disk(Spool),
}

impl<const W: usize> Distinct<W> {
    /// Visits every digest once, with the number of its copies: 1 if they were not counted.
    pub(crate) fn each(
        self,
        mut visit: impl FnMut(Digest, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let visit = |entry: Entry<W>| {
            let copies = if W > 1 { entry[W - 1] } else { 1 };
            visit(Digest::new(entry[0]), copies)
        };
        match self.place {
            // Parts are freed one by one.
            Storage::Memory(parts) => parts.into_iter().flatten().try_for_each(visit),
            Storage::Disk(sorted) => each_of(sorted, visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Digests with copies, distant and adjacent.
    fn many() -> Vec<Digest> {
        let digest = |i: u64| Digest::new(i).remix();
        (0..50_000).flat_map(|i| [digest(i), digest(i / 3), digest(7)]).collect()
    }

    fn visited<const W: usize>(memory: usize) -> (u64, u64, Vec<(u64, u64)>) {
        let mut collector = DigestCollector::<W>::within(memory);
        many().chunks(1234).for_each(|digests| collector.extend(digests).unwrap());
        let found = collector.finish().unwrap();
        let (total, distinct) = (found.total, found.distinct);
        let mut visited = Vec::new();
        let visit = |digest: Digest, copies| {
            visited.push((digest.get(), copies));
            Ok(())
        };
        found.each(visit).unwrap();
        (total, distinct, visited)
    }

    #[test]
    fn digests_are_distinct_sorted_and_counted_in_memory_and_on_disk() {
        let mut expected = BTreeMap::<u64, u64>::new();
        many().iter().for_each(|digest| *expected.entry(digest.get()).or_default() += 1);
        let expected: Vec<_> = expected.into_iter().collect();
        // All in memory; some spills; a spill whenever there is anything.
        for memory in [MEMORY, 300_000, 0] {
            let (total, distinct, counted) = visited::<2>(memory);
            assert_eq!((total, distinct), (150_000, 50_000));
            assert_eq!(counted, expected);
            let (total, distinct, once) = visited::<1>(memory);
            assert_eq!((total, distinct), (150_000, 50_000));
            assert!(once.iter().map(|entry| entry.0).eq(expected.iter().map(|entry| entry.0)));
        }
    }

    #[test]
    fn no_digests_give_no_digests() {
        let found = DigestCollector::<1>::within(0).finish().unwrap();
        assert_eq!((found.total, found.distinct), (0, 0));
        found.each(|_, _| Err(Error::new("there is none"))).unwrap();
    }

    #[test]
    fn one_key_a_million_times_never_reaches_the_disk() {
        let mut collector = DigestCollector::<2>::within(1 << 20);
        let digests = [Digest::new(5); 1000];
        (0..1000).for_each(|_| collector.extend(&digests).unwrap());
        assert!(collector.spools.is_empty());
        let found = collector.finish().unwrap();
        assert_eq!((found.total, found.distinct), (1_000_000, 1));
        let visit = |digest: Digest, copies| {
            assert_eq!((digest.get(), copies), (5, 1_000_000));
            Ok(())
        };
        found.each(visit).unwrap();
    }
}
