//! Anonymous temporary files, which vanish with the process.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::{array, env, io};

use super::{PARTITIONS, partition};
use crate::error::{Error, os_message};

/// The buffer of each file.
const BUFFER_BYTES: usize = 1 << 15;

/// A temporary file without a name.
pub(crate) fn temporary() -> Result<File, Error> {
    tempfile::tempfile().map_err(temporary_error)
}

/// For `map_err`: a temporary file could not be created, written or read.
pub(crate) fn temporary_error(error: io::Error) -> Error {
    Error::new(format_args!(
        "cannot use a temporary file in {}: {}; make room, or set TMPDIR to a directory with more",
        env::temp_dir().display(),
        os_message(&error)
    ))
}

/// Bytes that are first written, then read from the beginning. The file is created by the first
/// write.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    file: Option<BufWriter<File>>,
}

impl Spool {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::with_capacity(BUFFER_BYTES, temporary()?)),
        };
        file.write_all(bytes).map_err(temporary_error)
    }

    /// The file at its beginning; `None` if nothing was written.
    pub(crate) fn into_file(self) -> Result<Option<File>, Error> {
        let Some(file) = self.file else { return Ok(None) };
        let rewound = || {
            let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.rewind()?;
            Ok(file)
        };
        rewound().map(Some).map_err(temporary_error)
    }
}

/// Entries of a fixed size, partitioned into files by bits of a digest.
#[derive(Debug)]
pub(super) struct Partitions<const SIZE: usize> {
    files: [EntryFile<SIZE>; PARTITIONS],
    level: u32,
}

impl<const SIZE: usize> Partitions<SIZE> {
    /// Files chosen by the bits of this level.
    pub(super) fn new(level: u32) -> Self {
        Self { files: array::from_fn(|_| EntryFile::default()), level }
    }

    pub(super) fn push(&mut self, digest: u128, entry: [u8; SIZE]) -> Result<(), Error> {
        self.files[partition(digest, self.level)].push(entry)
    }

    pub(super) fn into_files(self) -> [EntryFile<SIZE>; PARTITIONS] {
        self.files
    }
}

/// Entries of a fixed size in a file.
#[derive(Debug, Default)]
pub(super) struct EntryFile<const SIZE: usize>(Spool);

impl<const SIZE: usize> EntryFile<SIZE> {
    pub(super) fn push(&mut self, entry: [u8; SIZE]) -> Result<(), Error> {
        self.0.write(&entry)
    }

    /// Ends writing.
    pub(super) fn written(self) -> Result<WrittenEntries<SIZE>, Error> {
        Ok(WrittenEntries(self.0.into_file()?))
    }
}

/// Entries that can be read several times.
#[derive(Debug)]
pub(super) struct WrittenEntries<const SIZE: usize>(Option<File>);

impl<const SIZE: usize> WrittenEntries<SIZE> {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Visits the entries in the order of writing.
    pub(super) fn each(
        &mut self,
        mut visit: impl FnMut([u8; SIZE]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        file.rewind().map_err(temporary_error)?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut entry = [0; SIZE];
        loop {
            match file.read_exact(&mut entry) {
                Ok(()) => visit(entry)?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(temporary_error(error)),
            }
        }
    }
}

/// The bytes of a record's number and digest.
pub(super) const NUMBERED: usize = 24;

pub(super) fn numbered(number: u64, digest: u128) -> [u8; NUMBERED] {
    let mut entry = [0; NUMBERED];
    entry[..8].copy_from_slice(&number.to_le_bytes());
    entry[8..].copy_from_slice(&digest.to_le_bytes());
    entry
}

pub(super) fn from_numbered(entry: [u8; NUMBERED]) -> (u64, u128) {
    let (mut number, mut digest) = ([0; 8], [0; 16]);
    number.copy_from_slice(&entry[..8]);
    digest.copy_from_slice(&entry[8..]);
    (u64::from_le_bytes(number), u128::from_le_bytes(digest))
}
