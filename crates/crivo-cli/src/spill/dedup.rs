//! First occurrences of records.

use crivo_core::spill::{Partitions, SpilledEntries};

use super::marks::{MarkLists, MarkedRecords};
use super::set::{InsertResult, RecordSet};
use super::{from_numbered, partition, to_numbered};
use crate::error::Error;

/// Distinguishes first occurrences of records from repetitions.
///
/// While there is memory it decides at once. Then it returns [`Occurrence::Undecided`] for records that
/// are not in its set. The caller defers these in order, and [`finish`](Self::finish) decides which of
/// them are first occurrences.
#[derive(Debug)]
pub(crate) struct Deduplicator {
    set: RecordSet,
    memory: u64,
    /// The number of undecided records.
    undecided_count: u64,
    undecided: Option<Box<Partitions<3>>>,
}

/// Whether a record is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrence {
    /// It is new.
    First,
    /// It is a repetition.
    Repeated,
    /// This is decided at the end.
    Undecided,
}

impl Deduplicator {
    /// A deduplicator that uses about this much memory.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        let set = RecordSet::with_memory(bytes);
        Self { set, memory: bytes, undecided_count: 0, undecided: None }
    }

    /// Prepares for this many distinct records, within limits.
    pub(crate) fn expect(&mut self, count: u64) {
        self.set.expect(count);
    }

    /// Inserts records in order, and calls `visit` with each index and result.
    #[inline]
    pub(crate) fn insert_all(
        &mut self,
        digests: &[u128],
        mut visit: impl FnMut(usize, Occurrence) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { set, undecided_count, undecided, .. } = self;
        set.insert_all(digests, |index, inserted| {
            let occurrence = match inserted {
                InsertResult::New => Occurrence::First,
                InsertResult::Known => Occurrence::Repeated,
                InsertResult::Full => {
                    let digest = digests[index];
                    undecided
                        .get_or_insert_default()
                        .push(partition(digest, 0), to_numbered(*undecided_count, digest))?;
                    *undecided_count += 1;
                    Occurrence::Undecided
                }
            };
            visit(index, occurrence)
        })
    }

    /// Decides the undecided records, which are numbered from 0 in their order: first occurrences
    /// are marked.
    pub(crate) fn finish(self) -> Result<MarkedRecords, Error> {
        let Self { set, memory, undecided, .. } = self;
        // The sets of the partitions need its memory.
        drop(set);
        let mut lists = MarkLists::default();
        if let Some(undecided) = undecided {
            decide_all(*undecided, memory, 1, &mut lists)?;
        }
        lists.into_marks()
    }
}

fn decide_all(
    undecided: Partitions<3>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    let mut files = undecided.into_entries()?.into_iter();
    files.try_for_each(|file| decide(file, memory, level, lists))
}

/// Decides the records of one file, whose numbers ascend.
fn decide(
    mut file: SpilledEntries<3>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    if file.is_empty() {
        return Ok(());
    }
    let mut set = RecordSet::with_memory(memory);
    let mut undecided: Option<Box<Partitions<3>>> = None;
    file.each(|entry| {
        let (number, digest) = from_numbered(entry);
        match set.insert(digest) {
            InsertResult::New => lists.push(number),
            InsertResult::Known => Ok(()),
            InsertResult::Full => {
                Ok(undecided.get_or_insert_default().push(partition(digest, level), entry)?)
            }
        }
    })?;
    lists.end_list();
    drop((set, file));
    undecided.map_or(Ok(()), |undecided| decide_all(*undecided, memory, level + 1, lists))
}
