//! Hashing the records of a chunk, and printing them.

use std::io::{self, BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::input::{Chunk, Chunks, Pieces, Replay, in_parallel};
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

/// What tells records that were read twice from other records.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fingerprint {
    count: u64,
    sum: u128,
}

impl Fingerprint {
    pub(crate) fn add(&mut self, digests: &[u128]) {
        self.count += digests.len() as u64;
        // A position is part of the sum, so that exchanged records are noticed.
        self.sum = digests.iter().fold(self.sum, |sum, digest| {
            sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(*digest)
        });
    }

    /// Fails if the records are not those that were read at first.
    pub(crate) fn check(&self, at_first: &Self, input: &Replay) -> Result<(), Error> {
        if self == at_first { Ok(()) } else { Err(input.changed()) }
    }
}

/// Prints records unchanged, in few large writes.
#[derive(Debug)]
pub(crate) struct Printer {
    out: BufWriter<Data>,
    /// The file that is written; `None` for standard output.
    path: Option<PathBuf>,
}

impl Printer {
    /// A printer to standard output.
    pub(crate) fn new() -> Self {
        Self { out: output::data(), path: None }
    }

    /// Runs `print` with a printer to this file, or to standard output if there is none or it is `-`.
    /// The file is replaced when all is printed, so that it may be an input.
    pub(crate) fn with_output<T>(
        path: Option<&Path>,
        print: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match path.filter(|path| path.as_os_str() != "-") {
            None => print(&mut Self::new()),
            Some(path) => output::replace_file(path, |out| {
                print(&mut Self { out, path: Some(path.to_owned()) })
            }),
        }
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
        self.out.write_all(bytes).map_err(|error| self.error(error))
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> Error {
        match &self.path {
            None => Error::output(error),
            Some(path) => Error::writing(path)(error),
        }
    }
}
