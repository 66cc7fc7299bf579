//! The number of distinct records.

use crivo_core::spill::Partitions;

use super::set::{InsertResult, RecordSet};
use super::{from_entry, partition, to_entry};
use crate::error::Error;

/// Counts distinct records in bounded memory.
#[derive(Debug)]
pub(crate) struct DistinctCounter {
    set: RecordSet,
    memory: u64,
    level: u32,
    count: u64,
    /// The records that are not in the set, which is full.
    spilled: Option<Box<Partitions<2>>>,
}

impl DistinctCounter {
    /// A counter that uses about this much memory.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::at_level(bytes, 0)
    }

    fn at_level(memory: u64, level: u32) -> Self {
        let set = RecordSet::with_memory(memory);
        Self { set, memory, level, count: 0, spilled: None }
    }

    /// Prepares for this many distinct records, within limits.
    pub(crate) fn expect(&mut self, count: u64) {
        self.set.expect(count);
    }

    /// Adds records.
    pub(crate) fn add_all(&mut self, digests: &[u128]) -> Result<(), Error> {
        let Self { set, level, count, spilled, .. } = self;
        set.insert_all(digests, |index, inserted| match inserted {
            InsertResult::Known => Ok(()),
            InsertResult::New => {
                *count += 1;
                Ok(())
            }
            InsertResult::Full => {
                let digest = digests[index];
                let spilled = spilled.get_or_insert_default();
                Ok(spilled.push(partition(digest, *level), to_entry(digest))?)
            }
        })
    }

    /// The number of distinct records so far, of those that fit into memory.
    pub(crate) fn count_in_memory(&self) -> u64 {
        self.count
    }

    /// The number of distinct records.
    pub(crate) fn finish(self) -> Result<u64, Error> {
        let Self { set, memory, level, mut count, spilled } = self;
        // The sets of the partitions need its memory.
        drop(set);
        let Some(spilled) = spilled else { return Ok(count) };
        for mut file in spilled.into_entries()? {
            let mut counter = Self::at_level(memory, level + 1);
            file.each(|entry| counter.add_all(&[from_entry(entry)]))?;
            drop(file);
            count += counter.finish()?;
        }
        Ok(count)
    }
}
