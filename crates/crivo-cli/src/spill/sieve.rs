//! First occurrences.

use super::DigestSet;
use super::files::{Entries, NUMBERED, Partitions, from_numbered, numbered};
use super::marks::{MarkLists, Marks};
use super::set::Inserted;
use crate::outcome::Error;

/// Tells records that come for the first time from those that have come before.
///
/// While there is memory it answers at once. Then it answers [`Sifted::Later`] for records that it
/// does not know, which the caller puts aside in order; [`finish`](Self::finish) tells which of
/// these are first occurrences.
#[derive(Debug)]
pub(crate) struct Sieve {
    set: DigestSet,
    memory: u64,
    /// How many records have been put aside.
    later_count: u64,
    later: Option<Box<Partitions<NUMBERED>>>,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sifted {
    /// It comes for the first time.
    First,
    /// It has come before.
    Repeated,
    /// That is told at the end.
    Later,
}

impl Sieve {
    /// A sieve that keeps to this much memory, about.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        let set = DigestSet::with_memory(bytes);
        Self { set, memory: bytes, later_count: 0, later: None }
    }

    /// Makes room for so many different records at once, within reason.
    pub(crate) fn expect(&mut self, count: u64) {
        self.set.expect(count);
    }

    /// Sifts records in their order: `sifted` is called with each index and what the record is.
    #[inline]
    pub(crate) fn sift(
        &mut self,
        digests: &[u128],
        mut sifted: impl FnMut(usize, Sifted) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { set, later_count, later, .. } = self;
        set.insert_all(digests, |index, inserted| {
            let answer = match inserted {
                Inserted::New => Sifted::First,
                Inserted::Known => Sifted::Repeated,
                Inserted::Full => {
                    let files = later.get_or_insert_with(|| Box::new(Partitions::new(0)));
                    files.push(digests[index], numbered(*later_count, digests[index]))?;
                    *later_count += 1;
                    Sifted::Later
                }
            };
            sifted(index, answer)
        })
    }

    /// Settles what was put aside: those records are numbered from 0 on in their order, and the
    /// first occurrences are marked.
    pub(crate) fn finish(self) -> Result<Marks, Error> {
        let Self { set, memory, later, .. } = self;
        // Its memory goes to the sets of the files.
        drop(set);
        let mut lists = MarkLists::default();
        if let Some(later) = later {
            settle_all(*later, memory, 1, &mut lists)?;
        }
        lists.into_marks()
    }
}

fn settle_all(
    later: Partitions<NUMBERED>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    later.into_files().into_iter().try_for_each(|file| settle(file, memory, level, lists))
}

/// Settles one file, whose numbers ascend.
fn settle(
    file: Entries<NUMBERED>,
    memory: u64,
    level: u32,
    lists: &mut MarkLists,
) -> Result<(), Error> {
    let mut file = file.written()?;
    if file.is_empty() {
        return Ok(());
    }
    let mut set = DigestSet::with_memory(memory);
    let mut later = None;
    file.each(|entry| {
        let (number, digest) = from_numbered(entry);
        match set.insert(digest) {
            Inserted::New => lists.push(number),
            Inserted::Known => Ok(()),
            Inserted::Full => {
                later.get_or_insert_with(|| Box::new(Partitions::new(level))).push(digest, entry)
            }
        }
    })?;
    lists.end_list();
    drop((set, file));
    later.map_or(Ok(()), |later| settle_all(*later, memory, level + 1, lists))
}
