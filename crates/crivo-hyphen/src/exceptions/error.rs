//! What can go wrong with a store.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::guard::GuardError;

/// Why a store could not be read or changed: which file, and what went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: Cause,
}

/// What went wrong with a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The database could not be read or written.
    Database(Box<redb::Error>),
    /// Another process has it open, or this one has it open twice.
    AlreadyOpen,
    /// It is not a database, or has no exceptions in it.
    NotAStore,
    /// It was written in a format that this library does not know.
    UnknownFormat(u64),
    /// An entry is not what this library writes.
    DamagedEntry,
    /// A word of more bytes than a store takes: how many it has, and how many it may have.
    WordTooLong {
        /// The bytes of the folded word.
        length: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// The guard could not be built.
    Guard(GuardError),
}

impl Cause {
    pub(super) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), cause: self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::AlreadyOpen => {
                f.write_str("the store is open already; close it there, or share it")
            }
            Self::NotAStore => f.write_str(
                "this is not a store of exceptions; give the path of one, or of no file at all",
            ),
            Self::UnknownFormat(format) => {
                write!(f, "format {format} of the store is unknown; a newer crivo may read it")
            }
            Self::DamagedEntry => f.write_str("an entry of the store is damaged; restore a copy"),
            Self::WordTooLong { length, limit } => {
                write!(f, "a word of {length} bytes is too long; a store takes up to {limit}")
            }
            Self::Guard(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Guard(error) => Some(error),
            _ => None,
        }
    }
}

impl From<redb::Error> for Cause {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::AlreadyOpen,
            redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => Self::NotAStore,
            redb::Error::TableDoesNotExist(_) | redb::Error::TableTypeMismatch { .. } => {
                Self::NotAStore
            }
            error => Self::Database(Box::new(error)),
        }
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        redb::Error::Io(error).into()
    }
}

impl From<GuardError> for Cause {
    fn from(error: GuardError) -> Self {
        Self::Guard(error)
    }
}

macro_rules! from_errors_of_the_database {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for Cause {
            fn from(error: redb::$error) -> Self {
                redb::Error::from(error).into()
            }
        }
    )*};
}

from_errors_of_the_database! { CommitError DatabaseError StorageError TableError TransactionError }
