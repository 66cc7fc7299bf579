//! Hashing the records of a chunk, and printing them.

use std::io::{BufWriter, Write};
use std::ops::{ControlFlow, Range};

use crate::error::Error;
use crate::input::{Chunk, Chunks, Pieces, in_parallel};
use crate::output::{self, Data};
use crate::spill::RecordHasher;

/// Records are rarely shorter.
const SHORT_RECORD: usize = 8;
/// A chunk rarely has more records.
const MANY_RECORDS: usize = 1 << 15;

/// The records of a chunk, with the digests of their keys.
#[derive(Debug, Default)]
pub(crate) struct HashedRecords {
    pub(crate) digests: Vec<u128>,
    pub(crate) records: Vec<Range<usize>>,
    /// Whether any two records are not adjacent.
    has_gaps: bool,
}

impl HashedRecords {
    /// Replaces the contents by the records of this chunk.
    pub(crate) fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        let Self { digests, records, has_gaps } = self;
        digests.clear();
        records.clear();
        // Growing step by step would touch twice the memory.
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

    /// Sets `kept` to all records except those with these ascending indices.
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

/// Hashes all records on all cores, and calls `visit` with each chunk in order.
pub(crate) fn each_hashed_chunk(
    chunks: Chunks,
    mut visit: impl FnMut(&Chunk, &HashedRecords) -> Result<(), Error>,
) -> Result<(), Error> {
    let hasher = RecordHasher::new();
    in_parallel(
        chunks,
        move |chunk, hashed: &mut HashedRecords| hashed.hash(chunk, hasher),
        |chunk, hashed| visit(chunk, hashed).map(ControlFlow::Continue),
    )
}

/// Prints records unchanged, in few large writes.
#[derive(Debug)]
pub(crate) struct Printer {
    out: BufWriter<Data>,
}

impl Printer {
    /// A printer to standard output.
    pub(crate) fn new() -> Self {
        Self { out: output::data() }
    }

    /// Prints some of a chunk's records, after its header if there is one, and flushes them: a
    /// reader may be waiting for them.
    pub(crate) fn print(&mut self, chunk: &Chunk, records: &Pieces) -> Result<(), Error> {
        self.write(chunk.header())?;
        records.of(chunk).try_for_each(|piece| self.write(piece))?;
        self.flush()
    }

    /// Prints bytes, buffered.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(Error::output)
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::output)
    }
}
