//! Why a table of Cassandra could not be read or changed.

use std::error::Error;

use scylla::errors::{ExecutionError, PrepareError};

use super::MAX_KEY_LENGTH;
use crate::Owner;

/// Why a table of Cassandra could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassandraStoreError {
    /// The cluster or the connection failed. A write may have been applied, or will be.
    #[error(transparent)]
    Server(Box<ExecutionError>),
    /// The owner's record could not be read before a write. Nothing was written.
    #[error("nothing was written, because the owner's record could not be read: {0}")]
    Unchecked(Box<CassandraStoreError>),
    /// A statement could not be prepared: the table, or that of the owners' records, is not there, or has other
    /// columns.
    #[error(
        "a statement cannot be prepared: {0}; if the table or crivo_store_owners is not there, create both by \
         CassandraTable::create; if the table has other columns, name them by CassandraTable::columns"
    )]
    Prepare(Box<PrepareError>),
    /// The cluster has no such data centre.
    #[error(
        "the cluster has no data centre {name:?}, but {}; name one of them for LOCAL_QUORUM",
        listed(.known)
    )]
    UnknownDataCenter {
        /// What was asked for.
        name: String,
        /// Those of the nodes that the client knows.
        known: Vec<String>,
    },
    /// The cluster's answer is not what was asked for.
    #[error("the answer of the cluster cannot be read: {0}")]
    Answer(Box<dyn Error + Send + Sync>),
    /// Cassandra has no keys of this length.
    #[error("a key has {length} bytes; Cassandra takes from 1 to {MAX_KEY_LENGTH}")]
    KeyLength {
        /// The length.
        length: usize,
    },
    /// The table has an owner that has not closed the store.
    #[error("the table is owned by {owner}, who has not closed the store; take over if it is gone")]
    Owned {
        /// Who owns it.
        owner: Owner,
    },
    /// Another owner has taken over. Nothing was written; of a batch, a part may have been written before.
    #[error(
        "another owner has taken over the table, and nothing was written, except perhaps a part of a batch; \
         open the store again to write to it"
    )]
    LostClaim,
    /// The owner's record is not one that this crate writes.
    #[error(
        "the owner's record is damaged: generation {generation}, owner {owner:?}; when no program writes to \
         the table, delete the row of {table:?} from crivo_store_owners and open the store again"
    )]
    DamagedRecord {
        /// The table of the data.
        table: String,
        /// The generation that was found.
        generation: i64,
        /// The owner that was found.
        owner: String,
    },
}

impl CassandraStoreError {
    /// What an error means that comes before anything is written.
    pub(super) fn before_all(self) -> Self {
        match self {
            Self::LostClaim => self,
            other => Self::Unchecked(Box::new(other)),
        }
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    if names.is_empty() { "none that the client knows".to_owned() } else { names.join(", ") }
}

impl From<ExecutionError> for CassandraStoreError {
    fn from(error: ExecutionError) -> Self {
        Self::Server(Box::new(error))
    }
}

impl From<PrepareError> for CassandraStoreError {
    fn from(error: PrepareError) -> Self {
        Self::Prepare(Box::new(error))
    }
}
