//! Words whose breaks are listed: in a map, or in a database behind a filter.

mod gate;
mod guard;
mod memory;
#[cfg(all(test, feature = "stored"))]
mod tests;

#[cfg(feature = "stored")]
mod error;
#[cfg(feature = "stored")]
mod guard_file;
#[cfg(feature = "stored")]
mod store;
#[cfg(feature = "stored")]
mod stored;

#[cfg(feature = "stored")]
pub use error::{Cause, StoreError};
pub use gate::Counters;
pub use guard::{Guard, GuardError};
#[cfg(feature = "stored")]
pub use guard_file::Rebuilt;
pub use memory::MemoryExceptions;
#[cfg(feature = "stored")]
pub use stored::StoredExceptions;

use std::sync::Arc;

use crate::{Breaks, Exceptions};

/// Shared exceptions: to be asked by hyphenators, and added to by others.
impl<E: Exceptions + ?Sized> Exceptions for Arc<E> {
    fn find(&self, folded: &str) -> Option<Breaks> {
        (**self).find(folded)
    }
}
