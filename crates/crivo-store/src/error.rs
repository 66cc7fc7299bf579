//! Why a store could not be opened, rebuilt or closed.

use std::error::Error;

use crivo::codec::FileError;
use crivo::filter::SpecError;

/// Why a guarded store could not be opened, rebuilt or closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardedError<E: Error> {
    /// The store could not be read or written, or has another owner.
    #[error(transparent)]
    Store(E),
    /// The guard could not be built.
    #[error("the guard cannot be built: {0}")]
    Build(SpecError),
    /// The guard's file could not be written. The store is closed, and the guard will be rebuilt when
    /// it is opened.
    #[error("the guard is not saved, and will be rebuilt: {0}")]
    Save(FileError),
    /// The system has no random numbers.
    #[error(
        "the system has no random numbers for the number of an owner: {0}; \
         let the program have them (getrandom, or /dev/urandom), and open the store again"
    )]
    Random(getrandom::Error),
}
