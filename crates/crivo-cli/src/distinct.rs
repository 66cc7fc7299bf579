//! The distinct keys of an input, however many: their digests, sorted and counted.
//!
//! ```text
//!   digests ──▶ 256 parts, by their first byte ──▶ each sorted, copies merged ──▶ all, in order
//!                       │                               ▲
//!                       └─── beyond a bound: a temporary file
//! ```
//!
//! Memory stays within the bound: what exceeds it is written to a temporary file, part by part, and
//! parts are small enough to be sorted one at a time. The file has no name and is gone when the
//! command ends, however it ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::thread;

use crivo::{Digest, KeyHasher};

use crate::input::InputArgs;
use crate::outcome::{Error, plain};

/// How much memory digests may take before they are written to disk.
const MEMORY: usize = 256 << 20;

const PARTS: usize = 256;

/// Digests to be visited at once.
const BATCH: usize = 1 << 13;

/// A digest; where `W` is 2, with the number of its copies.
type Entry<const W: usize> = [u64; W];

/// The distinct keys of an input.
pub(crate) fn gather<const W: usize>(
    input: &InputArgs,
    hasher: KeyHasher,
) -> Result<Distinct<W>, Error> {
    let mut gathering = Gathering::within(MEMORY);
    input.each_batch(hasher, |digests| gathering.extend(digests))?;
    gathering.finish()
}

/// Takes in digests. With `W` = 1 it forgets copies, with `W` = 2 it counts them.
struct Gathering<const W: usize> {
    parts: Vec<Vec<Entry<W>>>,
    /// How many entries there are in memory, and may be.
    held: usize,
    most_held: usize,
    total: u64,
    spill: Option<Spill>,
}

impl<const W: usize> Gathering<W> {
    /// Nothing yet, and never more than `memory` bytes of it in memory.
    fn within(memory: usize) -> Self {
        let most_held = (memory / size_of::<Entry<W>>()).max(PARTS);
        Self { parts: vec![Vec::new(); PARTS], held: 0, most_held, total: 0, spill: None }
    }

    /// Takes in some digests.
    fn extend(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for digests in digests.chunks(BATCH) {
            for digest in digests {
                let digest = digest.get();
                let mut entry = [1; W];
                entry[0] = digest;
                self.parts[(digest >> 56) as usize].push(entry);
            }
            self.held += digests.len();
            self.total += digests.len() as u64;
            if self.held >= self.most_held {
                self.make_room().map_err(temporary)?;
            }
        }
        Ok(())
    }

    /// Merges copies; if that frees too little, everything goes to disk.
    fn make_room(&mut self) -> io::Result<()> {
        self.merge_copies();
        if self.held > self.most_held / 2 {
            let spill = match &mut self.spill {
                Some(spill) => spill,
                none => none.insert(Spill::new()?),
            };
            for (index, part) in self.parts.iter_mut().enumerate() {
                spill.append(index, part)?;
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
        self.merge_copies();
        let total = self.total;
        let Some(spill) = self.spill else {
            let distinct = self.held as u64;
            return Ok(Distinct { total, distinct, place: Place::Memory(self.parts) });
        };
        let (file, distinct) = spill.sorted(self.parts).map_err(temporary)?;
        Ok(Distinct { total, distinct, place: Place::Disk(file) })
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

fn temporary(error: io::Error) -> Error {
    Error::new(format_args!(
        "cannot spool keys to a temporary file in {}: {}; TMPDIR names another place",
        std::env::temp_dir().display(),
        plain(&error)
    ))
}

/// Parts on disk, in pieces.
struct Spill {
    file: BufWriter<File>,
    /// For each part, where its pieces begin and how many entries they have.
    pieces: Vec<Vec<(u64, usize)>>,
    end: u64,
}

impl Spill {
    fn new() -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
        Ok(Self { file, pieces: vec![Vec::new(); PARTS], end: 0 })
    }

    fn append<const W: usize>(&mut self, part: usize, entries: &[Entry<W>]) -> io::Result<()> {
        if !entries.is_empty() {
            self.pieces[part].push((self.end, entries.len()));
            write_entries(&mut self.file, entries)?;
            self.end += size_of_val(entries) as u64;
        }
        Ok(())
    }

    /// A file of all entries, those in memory included, sorted and merged; and how many they are.
    fn sorted<const W: usize>(self, memory: Vec<Vec<Entry<W>>>) -> io::Result<(File, u64)> {
        let Self { file, pieces, .. } = self;
        let mut file = BufReader::new(file.into_inner()?);
        let mut sorted = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
        let mut distinct = 0;
        for (mut part, pieces) in memory.into_iter().zip(pieces) {
            for (start, count) in pieces {
                file.seek(SeekFrom::Start(start))?;
                part.reserve(count);
                for _ in 0..count {
                    // As many as were written there.
                    part.extend(read_entry(&mut file)?);
                }
            }
            sort_and_merge(&mut part);
            distinct += part.len() as u64;
            write_entries(&mut sorted, &part)?;
        }
        Ok((sorted.into_inner()?, distinct))
    }
}

fn write_entries<const W: usize>(file: &mut impl Write, entries: &[Entry<W>]) -> io::Result<()> {
    entries.as_flattened().iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))
}

/// The next entry; `None` at the end.
fn read_entry<const W: usize>(file: &mut impl Read) -> io::Result<Option<Entry<W>>> {
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
    /// How many there were, with copies.
    pub(crate) total: u64,
    /// How many different ones.
    pub(crate) distinct: u64,
    place: Place<W>,
}

enum Place<const W: usize> {
    Memory(Vec<Vec<Entry<W>>>),
    Disk(File),
}

impl<const W: usize> Distinct<W> {
    /// Visits every digest once, with the number of its copies: 1 if they were not counted.
    pub(crate) fn each(
        self,
        mut visit: impl FnMut(Digest, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut visit = |entry: Entry<W>| {
            let copies = if W > 1 { entry[W - 1] } else { 1 };
            visit(Digest::new(entry[0]), copies)
        };
        match self.place {
            // Parts are let go one by one.
            Place::Memory(parts) => parts.into_iter().flatten().try_for_each(visit),
            Place::Disk(mut file) => {
                file.rewind().map_err(temporary)?;
                let mut file = BufReader::with_capacity(1 << 20, file);
                while let Some(entry) = read_entry(&mut file).map_err(temporary)? {
                    visit(entry)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Digests with copies, far apart and side by side.
    fn many() -> Vec<Digest> {
        let digest = |i: u64| Digest::new(i).remix();
        (0..50_000).flat_map(|i| [digest(i), digest(i / 3), digest(7)]).collect()
    }

    fn visited<const W: usize>(memory: usize) -> (u64, u64, Vec<(u64, u64)>) {
        let mut gathering = Gathering::<W>::within(memory);
        many().chunks(1234).for_each(|digests| gathering.extend(digests).unwrap());
        let found = gathering.finish().unwrap();
        let (total, distinct) = (found.total, found.distinct);
        let mut visited = Vec::new();
        found.each(|digest, copies| Ok(visited.push((digest.get(), copies)))).unwrap();
        (total, distinct, visited)
    }

    #[test]
    fn memory_or_disk_every_digest_comes_once_in_order_with_its_copies() {
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
    fn nothing_is_nothing() {
        let found = Gathering::<1>::within(0).finish().unwrap();
        assert_eq!((found.total, found.distinct), (0, 0));
        found.each(|_, _| Err(Error::new("there is none"))).unwrap();
    }

    #[test]
    fn one_key_a_million_times_never_reaches_the_disk() {
        let mut gathering = Gathering::<2>::within(1 << 20);
        let digests = [Digest::new(5); 1000];
        (0..1000).for_each(|_| gathering.extend(&digests).unwrap());
        assert!(gathering.spill.is_none());
        let found = gathering.finish().unwrap();
        assert_eq!((found.total, found.distinct), (1_000_000, 1));
        found
            .each(|digest, copies| Ok(assert_eq!((digest.get(), copies), (5, 1_000_000))))
            .unwrap();
    }
}
