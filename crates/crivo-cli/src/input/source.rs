//! One input as plain bytes, decompressed if necessary.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compressed::decompressed;
use super::file_type::{FileType, file_type};
use super::progress::InputProgress;
use super::standard::{
    check_not_output, is_standard_input, open_standard_input, standard_input_length,
};
use crate::error::{Error, os_message};

/// The buffer for compressed bytes, and about how much is decompressed at a time.
const COMPRESSED_BYTES: usize = 1 << 18;

/// An input that is being read.
pub(super) struct InputReader {
    name: Arc<str>,
    reader: Box<dyn Read + Send>,
    /// The minimum number of bytes per read, except at the end.
    min_read: usize,
    has_ended: bool,
}

impl std::fmt::Debug for InputReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputReader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens a file that is not also the output.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    check_not_output(&file.metadata()?)?;
    Ok(file)
}

/// Reads as many bytes as a file had, whatever is appended meanwhile.
struct SnapshotReader {
    file: File,
    place: u64,
    length: u64,
}

impl Read for SnapshotReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length - self.place).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let count = read_at(&self.file, &mut buffer[..length], self.place)?;
        if count == 0 && length > 0 {
            let message = "it became shorter while it was being read; run the command again";
            return Err(io::Error::other(message));
        }
        self.place += count as u64;
        Ok(count)
    }
}

/// Reads at a place. The place of the file itself is shared with earlier readers, one of which may
/// not have ended.
#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, place)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, place)
}

/// An input that is not yet open.
#[derive(Debug)]
pub(super) enum Input {
    Standard,
    File(PathBuf),
    /// The first bytes of an open file.
    Snapshot {
        file: File,
        length: u64,
        name: String,
    },
}

impl Input {
    /// The input with this name.
    pub(super) fn named(path: &Path) -> Self {
        match is_standard_input(path) {
            true => Self::Standard,
            false => Self::File(path.to_owned()),
        }
    }

    /// Fails if it does not exist, as far as can be known without opening it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Self::File(path) = self else { return Ok(()) };
        let found = fs::metadata(path).and_then(|metadata| match metadata.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => Ok(()),
        });
        found.map_err(|error| cannot_read(&self.name(), &error))
    }

    /// Its length in bytes if it is a regular file, otherwise 0.
    pub(super) fn length(&self) -> u64 {
        let metadata = match self {
            Self::Standard => return standard_input_length(),
            Self::File(path) => fs::metadata(path),
            Self::Snapshot { length, .. } => return *length,
        };
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Snapshot { name, .. } => name.clone(),
        }
    }

    /// Its raw bytes.
    pub(super) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Standard => Box::new(open_standard_input()?),
            Self::File(path) => Box::new(open_file(&path)?),
            Self::Snapshot { file, length, .. } => {
                Box::new(SnapshotReader { file, place: 0, length })
            }
        })
    }
}

impl InputReader {
    /// Opens an input. The bytes that were read to detect compression are put into `head` if it is
    /// not compressed.
    pub(super) fn open(
        input: Input,
        progress: &InputProgress,
        head: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let name = input.name();
        let open = || {
            let mut raw = progress.watch(input.open()?);
            let (first, file_type) = file_type(&mut raw)?;
            match file_type {
                None => {
                    *head = first;
                    Ok((Box::new(raw) as Box<dyn Read + Send>, 0))
                }
                Some(FileType::Compressed(compression)) => {
                    let bytes = Cursor::new(first).chain(raw);
                    let bytes = Box::new(BufReader::with_capacity(COMPRESSED_BYTES, bytes));
                    Ok((decompressed(compression, bytes), COMPRESSED_BYTES))
                }
                Some(FileType::Foreign { what, advice }) => {
                    Err(io::Error::other(format!("it is {what}; {advice}")))
                }
            }
        };
        let (reader, min_read) = open().map_err(|error| cannot_read(&name, &error))?;
        Ok(Self { name: name.into(), reader, min_read, has_ended: false })
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Reads some bytes; none only at the end. It does not wait for a pipe to fill the buffer.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut count = 0;
        while !self.has_ended && count < buffer.len() && (count == 0 || count < self.min_read) {
            match self.reader.read(&mut buffer[count..]) {
                Ok(0) => self.has_ended = true,
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(&self.name, &error)),
            }
        }
        Ok(count)
    }
}

pub(super) fn cannot_read(name: &str, error: &io::Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "; is the path right?",
        ErrorKind::PermissionDenied => "; do you have permission to read it?",
        ErrorKind::IsADirectory => {
            return Error::new(format_args!(
                "cannot read {name}: it is a directory; name the files in it"
            ));
        }
        _ => "",
    };
    Error::new(format_args!("cannot read {name}: {}{advice}", os_message(error)))
}
