//! Words whose breaks are listed: in a map, or in a database behind a filter.
//!
//! Patterns are right about nearly all words. The others stand in lists of exceptions, and each
//! word of a text has to be looked for there first. In 1970 Burton Bloom took just this for his
//! example: rules that do for nine words in ten, a dictionary for the tenth that is too large for
//! the memory, and a disk that is asked about every word although most are not there. A small table
//! in memory can tell of most words that they need not be looked for:
//!
//! ```text
//!               no: certainly not listed
//!   word ──► guard ─────────────────────────────► patterns
//!              │ maybe                               ▲
//!              ▼                  not there          │
//!          dictionary ───────────────────────────────┘   a false positive: one lookup in vain
//!              │ found
//!              ▼
//!          the listed breaks
//! ```
//!
//! The guard may say *maybe* of a stranger, at a rate ε that can be chosen; it never says *no* of a
//! word in the dictionary. So it changes what a text costs, and never what comes out.
//!
//! # Does it pay?
//!
//! Let a lookup take *t*, the guard *g*, and let a share *p* of the words be exceptions. A word
//! costs *t* without a guard, and with one
//!
//! ```text
//!   g + (p + (1 − p) ε) t
//! ```
//!
//! so that it pays if *g* < (1 − p)(1 − ε) *t*: where the dictionary is much slower than the
//! filter. A lookup in a database takes a microsecond from its cache and a hundred or more from a
//! disk, the guard some nanoseconds: there it pays. A map in memory is as fast as a filter: there
//! it does not. And a list that is known from the beginning can be folded into the automaton
//! ([`Automaton::with_exceptions`](crate::Automaton::with_exceptions)), which asks nobody.
//!
//! | where exceptions are | lookup | additions | survive | guard |
//! |---|---|---|---|---|
//! | folded into the automaton | none | | | |
//! | [`MemoryExceptions`] | map | yes | no | if you like |
//! | `StoredExceptions` (feature `stored`) | database | yes | yes | yes |
//!
//! All are asked through one trait, [`Exceptions`], and answer the same. The later of two lists
//! overrides the earlier one, as
//! [`Hyphenator::with_exceptions`](crate::Hyphenator::with_exceptions) has it.
//!
//! # The question must be the one the filter was filled for
//!
//! A filter knows bytes, and nothing of words. One that was filled with `ta-ble` and is asked for
//! `table`, or filled with `Massachusetts` and asked for `massachusetts`, says *no*, and the
//! exception is lost without a sign. Here everything that goes in and everything that is asked for
//! is [folded](crate::fold()): the plain word, in small letters, composed.
//!
//! # References
//!
//! - B. H. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 13 (1970):
//!   five pages, with the hyphenation of words as the example.
//! - F. M. Liang, *Word hy-phen-a-tion by com-put-er*, Stanford 1983: patterns, and why exceptions
//!   remain.

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
