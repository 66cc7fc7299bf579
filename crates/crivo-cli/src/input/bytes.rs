//! A whole input as bytes.

use std::io::{self, Cursor, Read};
use std::path::Path;

use super::progress::InputProgress;
use super::source::{Input, InputReader};
use crate::error::Error;

/// The decompressed bytes of a whole input, for commands that do not read records.
///
/// Errors are an [`Error`] wrapped in an [`io::Error`].
#[derive(Debug)]
pub(crate) struct InputBytes {
    head: Cursor<Vec<u8>>,
    rest: InputReader,
}

impl InputBytes {
    pub(crate) fn open(path: &Path, progress: &InputProgress) -> Result<Self, Error> {
        let mut head = Vec::new();
        let input = Input::named(path);
        input.check()?;
        let rest = InputReader::open(input, progress, &mut head)?;
        Ok(Self { head: Cursor::new(head), rest })
    }
}

impl Read for InputBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => self.rest.read(buffer).map_err(io::Error::other),
            count => Ok(count),
        }
    }
}
