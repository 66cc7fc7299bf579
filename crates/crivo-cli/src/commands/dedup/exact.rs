//! Exactly once, whatever the number of records.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::{Summary, sift_chunks};
use crate::commands::records::Printer;
use crate::input::{InputArgs, Pieces};
use crate::outcome::Error;
use crate::spill::{Sieve, Sifted, Spool, temporary_error};

/// How much of the records put aside is read at once.
const READ_BYTES: usize = 1 << 18;

/// Prints first occurrences, with the digests of records in this much memory.
pub(super) fn dedup(input: &InputArgs, memory: u64) -> Result<Summary, Error> {
    let mut printer = Printer::new();
    let mut kept = Pieces::default();
    let mut left_out = Vec::new();
    let mut sieve = Sieve::with_memory(memory);
    let mut aside = Aside::default();
    let mut summary = Summary::default();
    let chunks = input.chunks_to_print()?;
    let length = chunks.length();
    sift_chunks(chunks, |chunk, hashed| {
        left_out.clear();
        sieve.sift(&hashed.digests, |index, sifted| {
            match sifted {
                Sifted::First => return Ok(()),
                Sifted::Repeated => summary.dropped += 1,
                Sifted::Later => aside.push(&chunk.bytes()[hashed.records[index].clone()])?,
            }
            left_out.push(index);
            Ok(())
        })?;
        hashed.without(&left_out, &mut kept);
        if summary.records == 0 {
            // If the rest is as the beginning: so many.
            let new = hashed.digests.len() as u64 - summary.dropped;
            let share = length / chunk.bytes().len().max(1) as u64;
            sieve.expect(new.saturating_mul(share));
        }
        summary.records += hashed.digests.len() as u64;
        printer.print(chunk, &kept)
    })?;

    // Everything that was put aside comes after everything that was not.
    let mut marks = sieve.finish()?;
    aside.replay(|number, record| match marks.is_marked(number)? {
        true => printer.write(record),
        false => {
            summary.dropped += 1;
            Ok(())
        }
    })?;
    printer.flush()?;
    Ok(summary)
}

/// Records that are put aside, in a file: before each its length.
#[derive(Default)]
struct Aside {
    spool: Spool,
}

impl Aside {
    fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        self.spool.write(&(record.len() as u64).to_le_bytes())?;
        self.spool.write(record)
    }

    /// Visits them in order, numbered from 0 on.
    fn replay(self, mut visit: impl FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let Some(file) = self.spool.into_file()? else { return Ok(()) };
        let mut file = BufReader::with_capacity(READ_BYTES, file);
        let mut record = Vec::new();
        let mut number = 0;
        while read_record(&mut file, &mut record).map_err(temporary_error)? {
            visit(number, &record)?;
            number += 1;
        }
        Ok(())
    }
}

/// Reads the next record: whether there is one.
fn read_record(file: &mut BufReader<File>, record: &mut Vec<u8>) -> io::Result<bool> {
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
