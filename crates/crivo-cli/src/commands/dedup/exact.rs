//! Exact deduplication of any number of records.

use std::io::{self, BufRead, BufReader, Read};

use crivo_core::spill::{SpillError, Spool};

use super::summary::DedupSummary;
use crate::commands::records::{Printer, each_hashed_chunk};
use crate::error::Error;
use crate::input::{InputArgs, Pieces};
use crate::spill::{Deduplicator, Occurrence};

/// The buffer for reading deferred records.
const READ_BYTES: usize = 1 << 18;

/// Prints first occurrences, with the hashes of records in this much memory.
pub(super) fn dedup(
    input: &InputArgs,
    memory: u64,
    printer: &mut Printer,
) -> Result<DedupSummary, Error> {
    let mut kept = Pieces::default();
    let mut left_out = Vec::new();
    let mut deduplicator = Deduplicator::with_memory(memory);
    let mut deferred = DeferredRecords::default();
    let mut summary = DedupSummary::default();
    let chunks = input.chunks_to_print()?;
    let length = chunks.length();
    each_hashed_chunk(chunks, |chunk, hashed| {
        left_out.clear();
        deduplicator.insert_all(&hashed.digests, |index, occurrence| {
            match occurrence {
                Occurrence::First => return Ok(()),
                Occurrence::Repeated => summary.dropped += 1,
                Occurrence::Undecided => {
                    deferred.push(&chunk.bytes()[hashed.records[index].clone()])?;
                }
            }
            left_out.push(index);
            Ok(())
        })?;
        hashed.without(&left_out, &mut kept);
        if summary.records == 0 {
            // Extrapolate from the first chunk.
            let new = hashed.digests.len() as u64 - summary.dropped;
            let share = length / chunk.bytes().len().max(1) as u64;
            deduplicator.expect(new.saturating_mul(share));
        }
        summary.records += hashed.digests.len() as u64;
        printer.print(chunk, &kept)
    })?;

    // All deferred records come after all others.
    let mut marks = deduplicator.finish()?;
    deferred.replay(|number, record| match marks.is_marked(number)? {
        true => printer.write(record),
        false => {
            summary.dropped += 1;
            Ok(())
        }
    })?;
    printer.flush()?;
    Ok(summary)
}

/// Records whose fate is decided at the end, in a file: each is preceded by its length.
#[derive(Default)]
struct DeferredRecords {
    spool: Spool,
}

impl DeferredRecords {
    fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        self.spool.write(&(record.len() as u64).to_le_bytes())?;
        Ok(self.spool.write(record)?)
    }

    /// Visits them in order, numbered from 0.
    fn replay(self, mut visit: impl FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut file = BufReader::with_capacity(READ_BYTES, self.spool.into_reader()?);
        let mut record = Vec::new();
        let mut number = 0;
        while read_record(&mut file, &mut record).map_err(SpillError::from)? {
            visit(number, &record)?;
            number += 1;
        }
        Ok(())
    }
}

/// Reads the next record. Returns whether there is one.
fn read_record(file: &mut impl BufRead, record: &mut Vec<u8>) -> io::Result<bool> {
    if file.fill_buf()?.is_empty() {
        return Ok(false);
    }
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    record.clear();
    let length = u64::from_le_bytes(length);
    if file.by_ref().take(length).read_to_end(record)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(true)
}
