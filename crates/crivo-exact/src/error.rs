//! What can go wrong when a dictionary is filled.

use crivo::{BuildError, ParameterError};
use thiserror::Error;

/// The error for a capacity of 0, or one that no table can have.
pub(super) fn capacity_error(capacity: usize) -> BuildError {
    let allowed = "at least 1, and no more than memory can address";
    ParameterError::new("capacity", capacity, allowed).into()
}

/// Why an entry could not be stored. The dictionary is as it was before.
///
/// ```
/// use crivo::{Key, KeyHasher};
/// use crivo_exact::{CuckooMap, InsertError};
///
/// /// Keys that differ, and all have the same bytes.
/// #[derive(PartialEq, Eq)]
/// struct Same(u32);
///
/// impl Key for Same {
///     fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
///         use_bytes(b"")
///     }
/// }
///
/// // Two buckets of eight slots, and no more.
/// let mut map = CuckooMap::with_capacity_and_hasher(100, KeyHasher::default())?;
/// let inserted = map.try_extend((0..17).map(|number| (Same(number), ())));
/// assert!(matches!(inserted, Err(InsertError::TooManyCollisions { .. })));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The table has to grow and the allocator has no memory for it.
    #[error("the table must grow, and there is no memory for {bytes} bytes")]
    OutOfMemory {
        /// The number of bytes requested.
        bytes: usize,
    },
    /// The table has as many entries as its indices can number.
    #[error("the table is full: it can number no more than {limit} entries")]
    TooManyEntries {
        /// The largest number of entries.
        limit: usize,
    },
    /// Cuckoo hashing found no place for the key, neither with other seeds nor in a larger table:
    /// too many keys share their digests, or the options let the search give up too early.
    #[error(
        "no place for the key beside {entries} others, even in {slots} slots and with {seeds} \
         seeds: too many keys share a digest, or the search for a place is allowed too few moves; \
         for keys that others choose, hash with a secret key (KeyHasher::sip24)"
    )]
    TooManyCollisions {
        /// The number of entries in the table.
        entries: usize,
        /// The number of slots of the largest table that was tried.
        slots: usize,
        /// The number of seeds that were tried.
        seeds: usize,
    },
}
