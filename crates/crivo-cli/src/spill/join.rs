//! The semi-join of two inputs: which records of one are in the other.

use crivo_core::spill::{Partitions, SpilledEntries};

use super::marks::{MarkLists, MarkedRecords};
use super::set::{InsertResult, RecordSet};
use super::{from_entry, from_numbered, partition, to_entry, to_numbered};
use crate::error::Error;

/// Finds the records of one input, the left one, that are also in the other.
///
/// First all left records are added, then all right ones; then the left ones are queried.
#[derive(Debug)]
pub(crate) struct SemiJoin {
    left: RecordSet,
    /// One bit per slot of `left`: whether the digest is also on the right.
    in_both: Vec<u64>,
    /// What did not fit into `left`, and the right records that may equal it.
    spilled: Option<Box<Spilled>>,
    memory: u64,
    level: u32,
}

#[derive(Debug, Default)]
struct Spilled {
    left: Partitions<3>,
    right: Partitions<2>,
}

impl SemiJoin {
    /// A semi-join whose sets use this much memory each; there are two at a time.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::at_level(bytes, 0)
    }

    fn at_level(memory: u64, level: u32) -> Self {
        let left = RecordSet::with_memory(memory);
        Self { left, in_both: Vec::new(), spilled: None, memory, level }
    }

    /// Adds a left record. Numbers ascend.
    pub(crate) fn add_left(&mut self, number: u64, digest: u128) -> Result<(), Error> {
        if self.left.insert(digest) != InsertResult::Full {
            return Ok(());
        }
        let spilled = self.spilled.get_or_insert_default();
        Ok(spilled.left.push(partition(digest, self.level), to_numbered(number, digest))?)
    }

    /// Adds a right record, after all left ones.
    pub(crate) fn add_right(&mut self, digest: u128) -> Result<(), Error> {
        if let Some(slot) = self.left.find(digest) {
            self.in_both.resize(self.left.slot_count().div_ceil(64), 0);
            self.in_both[slot / 64] |= 1 << (slot % 64);
            return Ok(());
        }
        match &mut self.spilled {
            Some(spilled) => {
                Ok(spilled.right.push(partition(digest, self.level), to_entry(digest))?)
            }
            None => Ok(()),
        }
    }

    /// Processes the spilled records.
    pub(crate) fn finish(self) -> Result<SemiJoinResult, Error> {
        let mut lists = MarkLists::default();
        let Self { left, in_both, spilled, memory, level } = self;
        if let Some(spilled) = spilled {
            process_all(spilled, memory, level, &mut lists)?;
        }
        Ok(SemiJoinResult { left, in_both, marks: lists.into_marks()? })
    }

    /// Whether a record that is in `left` is in both.
    fn is_in_both(left: &RecordSet, in_both: &[u64], digest: u128) -> bool {
        let word = |slot: usize| in_both.get(slot / 64).copied().unwrap_or(0);
        left.find(digest).is_some_and(|slot| word(slot) >> (slot % 64) & 1 == 1)
    }
}

fn process_all(
    spilled: Box<Spilled>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    let Spilled { left, right } = *spilled;
    for (left, right) in left.into_entries()?.into_iter().zip(right.into_entries()?) {
        if !left.is_empty() && !right.is_empty() {
            process(left, right, SemiJoin::at_level(memory, level + 1), lists)?;
        }
    }
    Ok(())
}

/// Processes one pair of files.
fn process(
    mut left: SpilledEntries<3>,
    mut right: SpilledEntries<2>,
    mut join: SemiJoin,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    left.each(|entry| {
        let (number, digest) = from_numbered(entry);
        join.add_left(number, digest)
    })?;
    right.each(|entry| join.add_right(from_entry(entry)))?;
    drop(right);
    let SemiJoin { left: set, in_both, spilled, memory, level } = join;
    left.each(|entry| {
        let (number, digest) = from_numbered(entry);
        match SemiJoin::is_in_both(&set, &in_both, digest) {
            true => lists.push(number),
            false => Ok(()),
        }
    })?;
    lists.end_list();
    drop((left, set, in_both));
    match spilled {
        Some(spilled) => process_all(spilled, memory, level, lists),
        None => Ok(()),
    }
}

/// The result of a [`SemiJoin`].
#[derive(Debug)]
pub(crate) struct SemiJoinResult {
    left: RecordSet,
    in_both: Vec<u64>,
    marks: MarkedRecords,
}

impl SemiJoinResult {
    /// Whether this left record is also on the right. Numbers must ascend.
    pub(crate) fn is_in_both(&mut self, number: u64, digest: u128) -> Result<bool, Error> {
        Ok(SemiJoin::is_in_both(&self.left, &self.in_both, digest)
            || self.marks.is_marked(number)?)
    }
}
