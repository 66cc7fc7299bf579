//! Records on their way through a command: with their digests, and out again.

use std::io::{BufWriter, Write};
use std::ops::Range;

use crate::input::{Chunk, Pieces};
use crate::outcome::Error;
use crate::output::{self, Data};
use crate::spill::RecordHasher;

/// Records are seldom shorter, and in a chunk there are seldom more.
const SHORT_RECORD: usize = 8;
const MANY_RECORDS: usize = 1 << 15;

/// The records of a chunk, with the digests of their keys.
#[derive(Debug, Default)]
pub(crate) struct Hashed {
    pub(crate) digests: Vec<u128>,
    pub(crate) records: Vec<Range<usize>>,
    /// Whether there is something between two of the records.
    has_gaps: bool,
}

impl Hashed {
    /// Becomes that of this chunk.
    pub(crate) fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        let Self { digests, records, has_gaps } = self;
        digests.clear();
        records.clear();
        // Growing little by little would touch twice the memory.
        let estimate = (chunk.bytes().len() / SHORT_RECORD).min(MANY_RECORDS);
        digests.reserve(estimate);
        records.reserve(estimate);
        *has_gaps = false;
        let mut last_end = None;
        chunk.each(|record, key| {
            *has_gaps |= last_end.is_some_and(|end| end != record.start);
            last_end = Some(record.end);
            digests.push(hasher.digest(key));
            records.push(record);
        });
    }

    /// All records but those with these indices, which ascend.
    pub(crate) fn without(&self, left_out: &[usize], kept: &mut Pieces) {
        kept.clear();
        let mut first = 0;
        for end in left_out.iter().copied().chain([self.records.len()]) {
            match &self.records[first..end] {
                records if self.has_gaps => records.iter().for_each(|r| kept.push(r.clone())),
                [first, .., last] => kept.push(first.start..last.end),
                [only] => kept.push(only.clone()),
                [] => {}
            }
            first = end + 1;
        }
    }
}

/// Prints records as they are, in few large pieces.
#[derive(Debug)]
pub(crate) struct Printer {
    out: BufWriter<Data>,
}

impl Printer {
    /// To standard output.
    pub(crate) fn new() -> Self {
        Self { out: output::data() }
    }

    /// Prints some of a chunk's records, after its header if there is one. They do not stay in a
    /// buffer: whoever reads them may wait for them.
    pub(crate) fn print(&mut self, chunk: &Chunk, records: &Pieces) -> Result<(), Error> {
        self.write(chunk.header())?;
        records.of(chunk).try_for_each(|piece| self.write(piece))?;
        self.flush()
    }

    /// Prints bytes. They may stay in a buffer.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(Error::output)
    }

    /// Empties the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::output)
    }
}
