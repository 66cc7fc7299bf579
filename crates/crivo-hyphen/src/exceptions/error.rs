//! Errors of a store.

use std::io;
use std::path::{Path, PathBuf};

use crivo_store::GuardedError;
use crivo_store::redb::RedbError;

/// A store could not be read or changed: which file, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
#[non_exhaustive]
pub struct StoreError {
    /// The file of the store.
    pub path: PathBuf,
    /// What went wrong.
    pub kind: StoreErrorKind,
}

/// What went wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database could not be read or written.
    #[error("{0}")]
    Database(Box<redb::Error>),
    /// Another process has the store open, or this process has it open already.
    #[error("the store is already open; close it there, or share it")]
    AlreadyOpen,
    /// The file is not a database, or not one of exceptions.
    #[error("not a store of exceptions; give the path of a store, or a path that does not exist")]
    NotAStore,
    /// The store was written in a format that this version does not know.
    #[error("unknown store format {0}; it was written by a newer version of crivo")]
    UnknownFormat(u64),
    /// An entry is not in the form that this library writes.
    #[error("an entry of the store is damaged; restore the file from a copy")]
    DamagedEntry,
    /// A word is too long.
    #[error("a word of {length} bytes is too long; the maximum is {limit} bytes")]
    WordTooLong {
        /// The length of the folded word in bytes.
        length: usize,
        /// The maximum length in bytes.
        limit: usize,
    },
    /// The store could not be claimed for another reason than another owner, such as a damaged record of
    /// its last one: the message says what to do.
    #[error("{0}")]
    Store(Box<RedbError>),
    /// The guard could not be built or saved.
    #[error("{0}")]
    Guard(Box<GuardedError<RedbError>>),
}

impl StoreErrorKind {
    pub(super) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), kind: self }
    }
}

impl From<redb::Error> for StoreErrorKind {
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

impl From<io::Error> for StoreErrorKind {
    fn from(error: io::Error) -> Self {
        redb::Error::Io(error).into()
    }
}

impl From<RedbError> for StoreErrorKind {
    fn from(error: RedbError) -> Self {
        match error {
            RedbError::Database(error) => (*error).into(),
            // There is another owner.
            RedbError::Owned { .. } | RedbError::LostClaim { .. } => Self::AlreadyOpen,
            error => Self::Store(Box::new(error)),
        }
    }
}

impl From<GuardedError<RedbError>> for StoreErrorKind {
    fn from(error: GuardedError<RedbError>) -> Self {
        match error {
            GuardedError::Store(error) => error.into(),
            error => Self::Guard(Box::new(error)),
        }
    }
}

macro_rules! from_database_errors {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for StoreErrorKind {
            fn from(error: redb::$error) -> Self {
                redb::Error::from(error).into()
            }
        }
    )*};
}

from_database_errors! { CommitError DatabaseError StorageError TableError TransactionError }
