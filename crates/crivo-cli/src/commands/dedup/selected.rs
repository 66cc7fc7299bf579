//! Records selected by how often they occur, or the last of equal ones: the input is read twice.

use std::ops::ControlFlow;

use super::DedupArgs;
use super::summary::DedupSummary;
use crate::commands::records::{Fingerprint, HashedRecords, Printer};
use crate::error::Error;
use crate::input::{Chunk, Chunks, InputProgress, Pieces, Replay, in_parallel};
use crate::spill::{Keep, RecordGroups, RecordHasher};

/// What is printed of each group of equal records.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupSelection {
    /// Which record of a group.
    pub(super) keep: Keep,
    /// Groups of one record.
    pub(super) singles: bool,
    /// Groups of several.
    pub(super) repeated: bool,
    /// Whether the number of records stands before the record.
    pub(super) prints_count: bool,
}

impl GroupSelection {
    fn includes(self, count: u64) -> bool {
        if count == 1 { self.singles } else { self.repeated }
    }
}

impl DedupArgs {
    /// Prints one record of every selected group, in the order of the input.
    pub(super) fn print_selected(
        &self,
        selection: GroupSelection,
        printer: &mut Printer,
    ) -> Result<DedupSummary, Error> {
        let paths = self.input.paths();
        let input = Replay::of(&paths)?;
        let open = || -> Result<Chunks, Error> {
            let progress = InputProgress::beside_records(&paths);
            Ok(input.chunks(self.input.format.format()?, progress)?.under_one_header())
        };
        let hasher = RecordHasher::new();
        let hash = move |chunk: &Chunk, hashed: &mut HashedRecords| hashed.hash(chunk, hasher);

        let mut groups = RecordGroups::with_memory(self.memory, selection.keep);
        let mut at_first = Fingerprint::default();
        in_parallel(open()?, hash, |_, hashed| {
            at_first.add(&hashed.digests);
            hashed.digests.iter().try_for_each(|digest| groups.add(*digest))?;
            Ok(ControlFlow::Continue(()))
        })?;
        let mut selected = groups.finish(|count| selection.includes(count))?;

        let mut now = Fingerprint::default();
        let mut number = 0;
        let mut summary = DedupSummary::default();
        let mut kept = Pieces::default();
        let delimiter = self.input.format.csv.then(|| self.input.format.delimiter.unwrap_or(b','));
        in_parallel(open()?, hash, |chunk, hashed| {
            now.add(&hashed.digests);
            kept.clear();
            if selection.prints_count {
                write_header(printer, chunk.header(), delimiter)?;
            }
            for record in &hashed.records {
                let count = selected.group_size(number)?;
                number += 1;
                match count {
                    None => summary.dropped += 1,
                    Some(count) if selection.prints_count => {
                        match delimiter {
                            None => printer.write(format!("{count:>7} ").as_bytes())?,
                            Some(delimiter) => {
                                printer.write(count.to_string().as_bytes())?;
                                printer.write(&[delimiter])?;
                            }
                        }
                        printer.write(&chunk.bytes()[record.clone()])?;
                    }
                    Some(_) => kept.push(record.clone()),
                }
            }
            if !selection.prints_count {
                printer.print(chunk, &kept)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        printer.flush()?;
        now.check(&at_first, &input)?;
        summary.records = number;
        Ok(summary)
    }
}

/// Writes the header of CSV, with the column `count` before the others.
fn write_header(printer: &mut Printer, header: &[u8], delimiter: Option<u8>) -> Result<(), Error> {
    let Some(delimiter) = delimiter.filter(|_| !header.is_empty()) else { return Ok(()) };
    let names = header.iter().position(|byte| !b"\xEF\xBB\xBF\r\n".contains(byte));
    let (mark, names) = header.split_at(names.unwrap_or(header.len()));
    printer.write(mark)?;
    if !names.is_empty() {
        printer.write(b"count")?;
        printer.write(&[delimiter])?;
    }
    printer.write(names)
}
