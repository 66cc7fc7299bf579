//! Where bytes come from: memory that is all there, or a stream that may end at any time.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{CodecError, DecodeError};

/// Bytes to be read from front to back.
pub(super) trait Source {
    /// Memory cannot fail to be read; a stream can.
    type Error: From<DecodeError>;

    /// Fills the buffer, and answers how much of it: less than all only at the end.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// How many bytes there are still, where that is known.
    fn remaining(&self) -> Option<u64>;
}

/// Bytes in memory.
pub(super) struct Slice<'a>(pub &'a [u8]);

impl Source for Slice<'_> {
    type Error = DecodeError;

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, DecodeError> {
        let (taken, rest) = self.0.split_at(buffer.len().min(self.0.len()));
        buffer[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        Ok(taken.len())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

/// Bytes from a reader.
pub(super) struct Stream<R> {
    reader: R,
    remaining: Option<u64>,
}

impl<R: Read> Stream<R> {
    /// A stream of which nobody knows how long it is.
    pub(super) fn unknown(reader: R) -> Self {
        Self { reader, remaining: None }
    }
}

impl Stream<File> {
    /// A file, and its length if it is a regular one: a pipe or a device has none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let reader = File::open(path)?;
        let metadata = reader.metadata()?;
        Ok(Self { reader, remaining: metadata.is_file().then_some(metadata.len()) })
    }
}

impl<R: Read> Source for Stream<R> {
    type Error = CodecError;

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, CodecError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(filled as u64);
        }
        Ok(filled)
    }

    fn remaining(&self) -> Option<u64> {
        self.remaining
    }
}
