//! What two inputs have in common.

use super::DigestSet;
use super::files::{NUMBERED, Partitions, WrittenEntries, from_numbered, numbered};
use super::marks::{MarkLists, Marks};
use super::set::Inserted;
use crate::outcome::Error;

const DIGEST_BYTES: usize = 16;

/// Tells which records of one input, the left one, are also in the other.
///
/// First all of the left are added, then all of the right; then the left is asked about.
#[derive(Debug)]
pub(crate) struct Join {
    left: DigestSet,
    /// By the slots of `left`: whether the digest is also on the right.
    in_both: Vec<u64>,
    /// What did not fit into `left`, and all of the right that may be equal to it.
    later: Option<Box<Later>>,
    memory: u64,
    level: u32,
}

#[derive(Debug)]
struct Later {
    left: Partitions<NUMBERED>,
    right: Partitions<DIGEST_BYTES>,
}

impl Join {
    /// A join whose sets keep to this much memory each; there are two at a time.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::at_level(bytes, 0)
    }

    fn at_level(memory: u64, level: u32) -> Self {
        let left = DigestSet::with_memory(memory);
        Self { left, in_both: Vec::new(), later: None, memory, level }
    }

    /// Adds a record of the left. Numbers ascend.
    pub(crate) fn add_left(&mut self, number: u64, digest: u128) -> Result<(), Error> {
        if self.left.insert(digest) != Inserted::Full {
            return Ok(());
        }
        let level = self.level;
        let later = self.later.get_or_insert_with(|| {
            Box::new(Later { left: Partitions::new(level), right: Partitions::new(level) })
        });
        later.left.push(digest, numbered(number, digest))
    }

    /// Adds a record of the right, after all of the left.
    pub(crate) fn add_right(&mut self, digest: u128) -> Result<(), Error> {
        if let Some(slot) = self.left.find(digest) {
            self.in_both.resize(self.left.slot_count().div_ceil(64), 0);
            self.in_both[slot / 64] |= 1 << (slot % 64);
            return Ok(());
        }
        match &mut self.later {
            Some(later) => later.right.push(digest, digest.to_le_bytes()),
            None => Ok(()),
        }
    }

    /// Settles everything.
    pub(crate) fn finish(self) -> Result<Joined, Error> {
        let mut lists = MarkLists::default();
        let Self { left, in_both, later, memory, level } = self;
        if let Some(later) = later {
            settle_all(later, memory, level, &mut lists)?;
        }
        Ok(Joined { left, in_both, marks: lists.into_marks()? })
    }

    /// Whether a record that has a place in `left` is in both.
    fn is_in_both(left: &DigestSet, in_both: &[u64], digest: u128) -> bool {
        let word = |slot: usize| in_both.get(slot / 64).copied().unwrap_or(0);
        left.find(digest).is_some_and(|slot| word(slot) >> (slot % 64) & 1 == 1)
    }
}

fn settle_all(
    later: Box<Later>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    let Later { left, right } = *later;
    for (left, right) in left.into_files().into_iter().zip(right.into_files()) {
        let (left, right) = (left.written()?, right.written()?);
        if !left.is_empty() && !right.is_empty() {
            settle(left, right, Join::at_level(memory, level + 1), lists)?;
        }
    }
    Ok(())
}

/// Settles one pair of files.
fn settle(
    mut left: WrittenEntries<NUMBERED>,
    mut right: WrittenEntries<DIGEST_BYTES>,
    mut join: Join,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    left.each(|entry| {
        let (number, digest) = from_numbered(entry);
        join.add_left(number, digest)
    })?;
    right.each(|entry| join.add_right(u128::from_le_bytes(entry)))?;
    drop(right);
    let Join { left: set, in_both, later, memory, level } = join;
    left.each(|entry| {
        let (number, digest) = from_numbered(entry);
        match Join::is_in_both(&set, &in_both, digest) {
            true => lists.push(number),
            false => Ok(()),
        }
    })?;
    lists.end_list();
    drop((left, set, in_both));
    match later {
        Some(later) => settle_all(later, memory, level, lists),
        None => Ok(()),
    }
}

/// What a [`Join`] found.
#[derive(Debug)]
pub(crate) struct Joined {
    left: DigestSet,
    in_both: Vec<u64>,
    marks: Marks,
}

impl Joined {
    /// Whether this record of the left is also on the right. Numbers must ascend.
    pub(crate) fn is_in_both(&mut self, number: u64, digest: u128) -> Result<bool, Error> {
        Ok(Join::is_in_both(&self.left, &self.in_both, digest) || self.marks.is_marked(number)?)
    }
}
