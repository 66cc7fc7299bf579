//! How often every record occurs, and where.
//!
//! ```text
//!   records ──▶ groups, until they are many ──▶ (number, count) of those selected
//!                     └──▶ 64 files by digest ──▶ groups of each ──┘        │
//!                                            64 files by number ◀───────────┘ beyond the memory
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem;

use crivo_core::spill::{PARTITIONS, Partitions, SpilledEntries};

use super::{from_numbered, partition, to_numbered};
use crate::error::Error;

/// What a group takes in a map that has just grown.
const GROUP_BYTES: u64 = 72;

const MIN_GROUPS: usize = 1 << 10;

/// Which record of a group stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Keep {
    /// The first.
    First,
    /// The last.
    Last,
}

/// Groups of equal records, in bounded memory.
#[derive(Debug)]
pub(crate) struct RecordGroups {
    level: Level,
    memory: u64,
    /// The number of the next record.
    next: u64,
}

impl RecordGroups {
    /// No records yet; about this much memory.
    pub(crate) fn with_memory(bytes: u64, keep: Keep) -> Self {
        Self { level: Level::new(bytes, keep, 0), memory: bytes, next: 0 }
    }

    /// Adds the next record.
    pub(crate) fn add(&mut self, digest: u128) -> Result<(), Error> {
        let number = self.next;
        self.next += 1;
        self.level.add(number, digest)
    }

    /// The records that stand for the groups whose size is selected.
    pub(crate) fn finish(
        self,
        is_selected: impl Fn(u64) -> bool,
    ) -> Result<SelectedRecords, Error> {
        let mut selected =
            Selector { memory: self.memory, total: self.next, entries: Vec::new(), spilled: None };
        self.level.select(self.memory, &is_selected, &mut selected)?;
        selected.finish()
    }
}

#[derive(Debug, Clone, Copy)]
struct Group {
    number: u64,
    count: u64,
}

/// The groups of a file, or of all records.
#[derive(Debug)]
struct Level {
    groups: HashMap<u128, Group, BuildHasherDefault<DigestHasher>>,
    max_groups: usize,
    keep: Keep,
    level: u32,
    /// The records of other groups.
    spilled: Option<Box<Partitions<3>>>,
}

impl Level {
    fn new(memory: u64, keep: Keep, level: u32) -> Self {
        let max_groups = usize::try_from(memory / GROUP_BYTES).unwrap_or(usize::MAX);
        let max_groups = max_groups.max(MIN_GROUPS);
        Self { groups: HashMap::default(), max_groups, keep, level, spilled: None }
    }

    /// Adds a record. Numbers ascend.
    fn add(&mut self, number: u64, digest: u128) -> Result<(), Error> {
        let is_full = self.groups.len() >= self.max_groups;
        match self.groups.entry(digest) {
            Entry::Occupied(mut group) => {
                let group = group.get_mut();
                group.count += 1;
                if self.keep == Keep::Last {
                    group.number = number;
                }
                Ok(())
            }
            Entry::Vacant(vacant) if !is_full => {
                vacant.insert(Group { number, count: 1 });
                Ok(())
            }
            Entry::Vacant(_) => {
                let file = partition(digest, self.level);
                let spilled = self.spilled.get_or_insert_default();
                Ok(spilled.push(file, to_numbered(number, digest))?)
            }
        }
    }

    fn select(
        self,
        memory: u64,
        is_selected: &impl Fn(u64) -> bool,
        selected: &mut Selector,
    ) -> Result<(), Error> {
        for Group { number, count } in self.groups.into_values() {
            if is_selected(count) {
                selected.push([number, count])?;
            }
        }
        let Some(spilled) = self.spilled else { return Ok(()) };
        for mut file in spilled.into_entries()? {
            let mut level = Self::new(memory, self.keep, self.level + 1);
            file.each(|entry| {
                let (number, digest) = from_numbered(entry);
                level.add(number, digest)
            })?;
            drop(file);
            level.select(memory, is_selected, selected)?;
        }
        Ok(())
    }
}

/// A record that was selected: its number, and the size of its group.
type SelectedEntry = [u64; 2];

/// Brings selected records into the order of the input.
struct Selector {
    memory: u64,
    /// The number of all records.
    total: u64,
    entries: Vec<SelectedEntry>,
    /// By number, if they are many.
    spilled: Option<Box<Partitions<2>>>,
}

impl Selector {
    fn push(&mut self, entry: SelectedEntry) -> Result<(), Error> {
        self.entries.push(entry);
        let bytes = (self.entries.len() * size_of::<SelectedEntry>()) as u64;
        if bytes > self.memory / 4 + (1 << 16) { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), Error> {
        let spilled = self.spilled.get_or_insert_default();
        for entry in mem::take(&mut self.entries) {
            let range = u128::from(entry[0]) * PARTITIONS as u128 / u128::from(self.total);
            spilled.push(range as usize, entry)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<SelectedRecords, Error> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        let ranges = match self.spilled {
            Some(spilled) => spilled.into_entries()?,
            None => Vec::new(),
        };
        let mut records = SelectedRecords { ranges: ranges.into_iter(), entries: self.entries };
        records.sort();
        Ok(records)
    }
}

/// The selected records, in the order of the input.
#[derive(Debug)]
pub(crate) struct SelectedRecords {
    /// The ranges of numbers that have not been read.
    ranges: std::vec::IntoIter<SpilledEntries<2>>,
    /// The entries of the current range, the next one at the end.
    entries: Vec<SelectedEntry>,
}

impl SelectedRecords {
    fn sort(&mut self) {
        self.entries.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The size of a record's group, if the record is selected. Numbers must ascend from query to
    /// query, and none may be left out.
    pub(crate) fn group_size(&mut self, number: u64) -> Result<Option<u64>, Error> {
        while self.entries.is_empty() {
            let Some(mut range) = self.ranges.next() else { return Ok(None) };
            range.each(|entry| {
                self.entries.push(entry);
                Ok::<(), Error>(())
            })?;
            self.sort();
        }
        Ok(self.entries.pop_if(|entry| entry[0] == number).map(|[_, count]| count))
    }
}

/// Digests are hashes already.
#[derive(Debug, Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u128(&mut self, digest: u128) {
        // Partitions use the low bits.
        self.0 = (digest >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
