//! One input as plain bytes, decompressed if necessary.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::compressed::{GZIP, GzipMembers, ZSTD, ZstdFrames};
use super::progress::InputProgress;
use super::standard::{is_standard_input, standard_input_length};
use crate::error::{Error, os_message};

/// The buffer for compressed bytes, and about how much is decompressed at a time.
const COMPRESSED_BYTES: usize = 1 << 18;

/// The compression of a file, if it is compressed.
pub(crate) fn compression_of(mut file: impl Read) -> io::Result<Option<&'static str>> {
    let first = first_bytes(&mut file)?;
    Ok([(GZIP, "gzip"), (ZSTD, "zstd")]
        .into_iter()
        .find_map(|(magic, name)| (first == magic).then_some(name)))
}

/// An input that is being read.
pub(super) struct InputReader {
    name: String,
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

/// An input that is not yet open.
#[derive(Debug)]
pub(super) enum Input {
    Standard,
    File(PathBuf),
    /// A temporary file, at its beginning, with the contents of another input.
    Spooled {
        file: File,
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
            Self::Spooled { file, .. } => file.metadata(),
        };
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Spooled { name, .. } => name.clone(),
        }
    }

    /// Its raw bytes.
    pub(super) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Standard => Box::new(io::stdin()),
            Self::File(path) => Box::new(File::open(path)?),
            Self::Spooled { file, .. } => Box::new(file),
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
            let first = first_bytes(&mut raw)?;
            let (is_gzip, is_zstd) = (first == GZIP, first == ZSTD);
            if !is_gzip && !is_zstd {
                *head = first;
                return Ok((Box::new(raw) as Box<dyn Read + Send>, 0));
            }
            let compressed =
                Box::new(BufReader::with_capacity(COMPRESSED_BYTES, Cursor::new(first).chain(raw)));
            let reader: Box<dyn Read + Send> = match is_gzip {
                true => Box::new(GzipMembers::new(compressed)),
                false => Box::new(ZstdFrames::new(compressed)),
            };
            Ok((reader, COMPRESSED_BYTES))
        };
        let (reader, min_read) = open().map_err(|error| cannot_read(&name, &error))?;
        Ok(Self { name, reader, min_read, has_ended: false })
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
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

/// As many of the first bytes as are needed to detect compression.
fn first_bytes(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    while [GZIP, ZSTD].iter().any(|magic| magic.starts_with(&first) && first.len() < magic.len()) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => first.extend(byte),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}
