//! Why a stream or a file could not be read or written.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::DecodeError;

/// Why a filter could not be read from a stream or a file, or written to it.
///
/// ```
/// use crivo::codec::{CodecError, DecodeError, Header};
///
/// let error = Header::read_from(&b"hello"[..]).unwrap_err();
/// assert!(matches!(error, CodecError::Decode(DecodeError::NotCrivo)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The system could not read or write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What was read is not the filter that was asked for.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// What was to be done with a file.
///
/// ```
/// use crivo::codec::{FileAction, Header};
///
/// let error = Header::load("no/such.crivo").unwrap_err();
/// assert_eq!(error.action, FileAction::Read);
/// ```
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
/// The message contains that of the cause, which is therefore no
/// [`source`](std::error::Error::source).
///
/// ```
/// use crivo::codec::Header;
///
/// let error = Header::load("no/such.crivo").unwrap_err();
/// assert!(error.to_string().starts_with("cannot read no/such.crivo: "));
/// assert!(error.to_string().ends_with("; is the path right?"));
/// ```
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {cause}{}", path.display(), self.advice())]
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

    fn advice(&self) -> &'static str {
        let CodecError::Io(error) = &self.cause else { return "" };
        match (error.kind(), self.action) {
            (io::ErrorKind::NotFound, FileAction::Write) => "; does its directory exist?",
            (io::ErrorKind::NotFound, _) => "; is the path right?",
            (io::ErrorKind::PermissionDenied, FileAction::Write) => {
                "; may you write to the file and to its directory?"
            }
            (io::ErrorKind::PermissionDenied, _) => "; may you read the file?",
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                "; make room, or choose another place"
            }
            _ => "",
        }
    }
}
