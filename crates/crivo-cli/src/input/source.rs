//! One input as plain bytes, whatever it is compressed with.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::compressed::{GZIP, GzipMembers, ZSTD, ZstdFrames};
use super::is_standard_input;
use super::progress::Progress;
use crate::outcome::{Error, plain};

/// How compressed bytes are read, and about how much is decompressed before it is handed on.
const COMPRESSED_BYTES: usize = 1 << 18;

/// What a file is compressed with, if it is.
pub(crate) fn compression_of(mut file: impl Read) -> io::Result<Option<&'static str>> {
    let first = first_bytes(&mut file)?;
    Ok([(GZIP, "gzip"), (ZSTD, "zstd")]
        .into_iter()
        .find_map(|(magic, name)| (first == magic).then_some(name)))
}

/// An input that is being read.
pub(super) struct Source {
    name: String,
    reader: Box<dyn Read + Send>,
    /// How many bytes at least are read at once, if there are any more.
    at_once: usize,
    has_ended: bool,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where bytes come from, before they are asked for.
#[derive(Debug)]
pub(super) enum Input {
    Standard,
    File(PathBuf),
    /// A temporary file, at its beginning, with what was read from elsewhere.
    Spooled {
        file: File,
        name: String,
    },
}

impl Input {
    /// The input of this name.
    pub(super) fn named(path: &Path) -> Self {
        match is_standard_input(path) {
            true => Self::Standard,
            false => Self::File(path.to_owned()),
        }
    }

    /// An error if it is not there, as far as that can be told without opening it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Self::File(path) = self else { return Ok(()) };
        let found = fs::metadata(path).and_then(|metadata| match metadata.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => Ok(()),
        });
        found.map_err(|error| cannot_read(&self.name(), &error))
    }

    /// How many bytes it has, if it is a file; otherwise none that are known.
    pub(super) fn length(&self) -> u64 {
        let metadata = match self {
            Self::Standard => return standard_input_length(),
            Self::File(path) => fs::metadata(path),
            Self::Spooled { file, .. } => file.metadata(),
        };
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }

    /// What to call it in a message.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Spooled { name, .. } => name.clone(),
        }
    }

    /// Its bytes, as they are.
    pub(super) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Standard => Box::new(io::stdin()),
            Self::File(path) => Box::new(File::open(path)?),
            Self::Spooled { file, .. } => Box::new(file),
        })
    }
}

impl Source {
    /// Opens an input. What has been read to see how it is compressed goes into `head`, if it is
    /// not compressed: these are its first bytes.
    pub(super) fn open(
        input: Input,
        progress: &Progress,
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
        let (reader, at_once) = open().map_err(|error| cannot_read(&name, &error))?;
        Ok(Self { name, reader, at_once, has_ended: false })
    }

    /// What to call it in a message.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads some bytes; none only at the end. A pipe is not waited for longer than needed.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut count = 0;
        while !self.has_ended && count < buffer.len() && (count == 0 || count < self.at_once) {
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

/// A whole input for those who take no records: its bytes, decompressed.
///
/// What goes wrong is an [`Error`] inside the [`io::Error`].
#[derive(Debug)]
pub(crate) struct Text {
    head: Cursor<Vec<u8>>,
    rest: Source,
}

impl Text {
    pub(crate) fn open(path: &Path, progress: &Progress) -> Result<Self, Error> {
        let mut head = Vec::new();
        let input = Input::named(path);
        input.check()?;
        let rest = Source::open(input, progress, &mut head)?;
        Ok(Self { head: Cursor::new(head), rest })
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => self.rest.read(buffer).map_err(io::Error::other),
            count => Ok(count),
        }
    }
}

pub(super) fn cannot_read(name: &str, error: &io::Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "; is the path right?",
        ErrorKind::PermissionDenied => "; may you read the file?",
        ErrorKind::IsADirectory => {
            return Error::new(format_args!(
                "cannot read {name}: it is a folder; name the files in it"
            ));
        }
        _ => "",
    };
    Error::new(format_args!("cannot read {name}: {}{advice}", plain(error)))
}

/// The bytes of the file that standard input is, or none.
fn standard_input_length() -> u64 {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let metadata = file.and_then(|file| file.metadata());
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }
    #[cfg(not(unix))]
    0
}

/// The first bytes, as many as it takes to know that this is not, or is, compressed.
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
