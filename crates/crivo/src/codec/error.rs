//! Why bytes are not a filter, and why a file could not be read or written.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::Kind;
use crate::hash::WrongKey;
use crate::{BuildError, ParameterError};

/// Why bytes could not be read as a filter. Nothing was taken from them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// They do not begin as a crivo file does.
    NotCrivo,
    /// They were written in a version of the format that this library does not know.
    UnknownVersion(u16),
    /// They name a kind of filter that this library does not know.
    UnknownKind(u8),
    /// They name a hash family that this library does not know.
    UnknownFamily(u8),
    /// They are a filter of another kind.
    WrongKind {
        /// The kind that was asked for.
        expected: Kind,
        /// The kind that the file has.
        found: Kind,
    },
    /// A filter was asked for, and they are something else.
    NotAFilter(Kind),
    /// They end too early.
    Truncated {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// There is more than there should be.
    TrailingBytes,
    /// The header claims a length of the payload that does not follow from the parameters.
    PayloadLength {
        /// The bytes of a filter with these parameters.
        expected: u64,
        /// The bytes that the header claims.
        found: u64,
    },
    /// The header's checksum is not that of the header.
    HeaderChecksum,
    /// The payload's checksum is not that of the payload.
    PayloadChecksum,
    /// A parameter is out of its range.
    Parameter(ParameterError),
    /// The parts contradict each other.
    Inconsistent(&'static str),
    /// The filter was made with a secret key, and none was given.
    KeyNeeded,
    /// The secret key is not the one that the filter was made with.
    WrongKey(WrongKey),
    /// There is no memory for the payload.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// This machine's numbers have their bytes in the other order than the file's, so that it can
    /// only answer from a copy.
    BigEndian,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCrivo => f.write_str("this is not a crivo filter"),
            Self::UnknownVersion(found) => {
                write!(f, "format version {found} is unknown; a newer crivo may read it")
            }
            Self::UnknownKind(found) => {
                write!(f, "filter kind {found} is unknown; a newer crivo may read it")
            }
            Self::UnknownFamily(found) => {
                write!(f, "hash family {found} is unknown; a newer crivo may read it")
            }
            Self::WrongKind { expected, found } => {
                let (noun, wanted) = (found.noun(), expected.noun());
                write!(f, "this is a {found} {noun}, not a {expected} {wanted}")
            }
            Self::NotAFilter(found) => {
                write!(f, "this is a {found} {}, not a filter", found.noun())
            }
            Self::Truncated { expected, found } => {
                write!(f, "the filter is cut short: {found} bytes of {expected}")
            }
            Self::TrailingBytes => f.write_str("there are bytes behind the end of the filter"),
            Self::PayloadLength { expected, found } => write!(
                f,
                "the header is damaged: it claims {found} bytes for a table of {expected}"
            ),
            Self::HeaderChecksum => f.write_str("the header is damaged: its checksum is wrong"),
            Self::PayloadChecksum => f.write_str("the filter is damaged: its checksum is wrong"),
            Self::Parameter(error) => write!(f, "the header is damaged: {error}"),
            Self::Inconsistent(what) => write!(f, "the filter is damaged: {what}"),
            Self::KeyNeeded => {
                f.write_str("the filter was made with a secret key, which must be given to read it")
            }
            Self::WrongKey(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "no memory for a filter of {bytes} bytes"),
            Self::BigEndian => f.write_str(
                "a machine of big-endian order cannot answer from a mapped file; load a copy of it",
            ),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<ParameterError> for DecodeError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

impl From<BuildError> for DecodeError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Parameter(error) => Self::Parameter(error),
            BuildError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
        }
    }
}

/// Why a filter could not be read from a stream or a file, or written to it.
#[derive(Debug)]
#[non_exhaustive]
pub enum CodecError {
    /// The system could not read or write.
    Io(io::Error),
    /// What was read is not the filter that was asked for.
    Decode(DecodeError),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Decode(error) => Some(error),
        }
    }
}

impl From<io::Error> for CodecError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for CodecError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// What was to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileAction {
    /// It was to be read.
    Read,
    /// It was to be written.
    Write,
    /// It was to be mapped into memory.
    Map,
}

impl fmt::Display for FileAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Map => "map",
        })
    }
}

/// Why a file could not be read, written or mapped: which file, and what to do.
///
/// ```
/// use crivo::codec::Header;
///
/// let error = Header::load("no/such.crivo").unwrap_err();
/// assert!(error.to_string().starts_with("cannot read no/such.crivo: "));
/// assert!(error.to_string().ends_with("; is the path right?"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct FileError {
    /// The file, as it was named by the caller.
    pub path: PathBuf,
    /// What was to be done.
    pub action: FileAction,
    /// What went wrong.
    pub cause: CodecError,
}

impl FileError {
    /// For `map_err`: the same error, with the file that it is about.
    pub(super) fn at<E: Into<CodecError>>(path: &Path, action: FileAction) -> impl Fn(E) -> Self {
        move |cause| Self { path: path.to_owned(), action, cause: cause.into() }
    }

    fn advice(&self) -> Option<&'static str> {
        let CodecError::Io(error) = &self.cause else { return None };
        Some(match (error.kind(), self.action) {
            (io::ErrorKind::NotFound, FileAction::Write) => "does its folder exist?",
            (io::ErrorKind::NotFound, _) => "is the path right?",
            (io::ErrorKind::PermissionDenied, FileAction::Write) => {
                "may you write to the file and to its folder?"
            }
            (io::ErrorKind::PermissionDenied, _) => "may you read the file?",
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                "make room, or choose another place"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, action, cause } = self;
        write!(f, "cannot {action} {}: {cause}", path.display())?;
        self.advice().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
