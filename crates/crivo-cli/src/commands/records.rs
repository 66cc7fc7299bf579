//! Records on their way through a command: with their digests, and out again.

use std::io::{BufWriter, StdoutLock, Write};
use std::ops::Range;

use crate::input::Chunk;
use crate::outcome::Error;
use crate::output;
use crate::spill::RecordHasher;

/// The records of a chunk, with the digests of their keys.
#[derive(Debug, Default)]
pub(crate) struct Hashed {
    pub(crate) digests: Vec<u128>,
    pub(crate) records: Vec<Range<usize>>,
}

impl Hashed {
    /// Becomes that of this chunk.
    pub(crate) fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        let Self { digests, records } = self;
        digests.clear();
        records.clear();
        chunk.each(|record, key| {
            digests.push(hasher.digest(key));
            records.push(record);
        });
    }
}

/// Prints records as they are, in few large pieces.
#[derive(Debug)]
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    bytes: Vec<u8>,
}

impl Printer {
    /// To standard output.
    pub(crate) fn new() -> Self {
        Self { out: output::data(), bytes: Vec::new() }
    }

    /// Prints some of a chunk's records, after its header if there is one. They do not stay in a
    /// buffer: whoever reads them may wait for them.
    pub(crate) fn print(
        &mut self,
        chunk: &Chunk,
        records: impl IntoIterator<Item = Range<usize>>,
    ) -> Result<(), Error> {
        self.bytes.clear();
        self.bytes.extend_from_slice(chunk.header());
        chunk.copy_records(records, &mut self.bytes);
        self.out.write_all(&self.bytes).map_err(Error::output)?;
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
