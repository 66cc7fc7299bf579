//! What can go wrong when a dictionary is filled.

use std::fmt;

use crivo::{BuildError, ParameterError};

/// What is said of a capacity of 0, or of one that no table can have.
pub(super) fn capacity_error(capacity: usize) -> BuildError {
    let allowed = "at least 1, and no more than memory can address";
    ParameterError::new("capacity", capacity, allowed).into()
}

/// Why an entry could not be stored. The dictionary is as it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// The table has to grow and the allocator has no memory for it.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// The table has as many entries as its indices can number.
    TooManyEntries {
        /// The largest number of entries.
        limit: usize,
    },
    /// Cuckoo hashing found no place for the key, neither with other seeds nor in a larger table:
    /// too many keys share their digests, or the options let the search give up too early.
    TooManyCollisions {
        /// How many entries the table holds.
        entries: usize,
        /// How many slots the largest table tried had.
        slots: usize,
        /// How many seeds were tried.
        seeds: usize,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { bytes } => {
                write!(f, "the table must grow, and there is no memory for {bytes} bytes")
            }
            Self::TooManyEntries { limit } => {
                write!(f, "the table is full: it can number no more than {limit} entries")
            }
            Self::TooManyCollisions { entries, slots, seeds } => write!(
                f,
                "no place for the key beside {entries} others, even in {slots} slots and with \
                 {seeds} seeds: too many keys share a digest, or the search for a place is allowed too \
                 few moves; for keys that others choose, hash with a secret key (KeyHasher::sip24)"
            ),
        }
    }
}

impl std::error::Error for InsertError {}
