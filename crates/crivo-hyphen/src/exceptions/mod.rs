//! Words with listed breaks: in a map, or in a database behind a filter.
//!
//! Patterns are right about nearly all words. The others are listed as exceptions, so every word of
//! a text must first be looked up there. In 1970 Burton Bloom chose exactly this as the example for
//! his filter: rules that are enough for nine words in ten, a dictionary for the tenth that does not
//! fit in memory, and a disk access for every word although most words are not in the dictionary. A
//! small filter in memory, the *guard*, saves most of these accesses:
//!
//! ```text
//!               no: certainly not listed
//!   word ──► guard ─────────────────────────────► patterns
//!              │ maybe                               ▲
//!              ▼                  not there          │
//!          dictionary ───────────────────────────────┘   a false positive: one useless lookup
//!              │ found
//!              ▼
//!          the listed breaks
//! ```
//!
//! For a word that is not listed, the guard says *maybe* with a false-positive rate ε that you can
//! choose. It never says *no* for a word in the dictionary. So it changes the cost of a text and
//! never the result. The guard and its rules are those of `crivo-store`; any kind of filter will do.
//!
//! # Does a guard pay?
//!
//! Let a lookup take time *t* and the guard time *g*, and let *p* be the fraction of words that are
//! exceptions. A word costs *t* without a guard, and with one
//!
//! ```text
//!   g + (p + (1 − p) ε) t
//! ```
//!
//! so the guard pays if *g* < (1 − p)(1 − ε) *t*, that is, if the dictionary is much slower than the
//! filter. A lookup in a database takes about a microsecond from its cache and a hundred or more
//! from a disk, and the guard takes some nanoseconds: there it pays. A map in memory is as fast as a
//! filter: there it does not. And a list that is known in advance can be folded into the automaton
//! ([`Automaton::with_exceptions`](crate::Automaton::with_exceptions)), which needs no lookup.
//!
//! | exceptions | feature | lookup | can change | persistent | guard |
//! |---|---|---|---|---|---|
//! | folded into the automaton | | none | no | no | no |
//! | [`MemoryExceptions`] | | map | yes | no | no |
//! | `GuardedExceptions` | `guard` | map | yes | no | yes |
//! | `StoredExceptions` | `stored` | database | yes | yes | optional |
//!
//! All of them implement [`Exceptions`] or give the same answers. The later of two lists overrides
//! the earlier one: see [`Hyphenator::with_exceptions`](crate::Hyphenator::with_exceptions).
//!
//! # Keys must be normalised
//!
//! A filter sees bytes, not words. If it was filled with `ta-ble` and is asked for `table`, or filled
//! with `Massachusetts` and asked for `massachusetts`, it says *no*, and the exception is silently
//! lost. Here every word that is inserted or looked up is [folded](crate::fold()): no hyphens, lower
//! case, composed letters.
//!
//! # References
//!
//! - B. H. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 13 (1970): five
//!   pages, with hyphenation as the example.
//! - F. M. Liang, *Word hy-phen-a-tion by com-put-er*, Stanford 1983: patterns, and why exceptions
//!   remain.

#[cfg(feature = "guard")]
mod guarded;
mod memory;
#[cfg(all(test, feature = "stored"))]
mod tests;

#[cfg(feature = "stored")]
mod error;
#[cfg(feature = "stored")]
mod store;
#[cfg(feature = "stored")]
mod stored;

#[cfg(feature = "stored")]
pub use crivo_store::ScanReason;
#[cfg(feature = "guard")]
pub use crivo_store::{Counters, GuardOptions, GuardStatus};
#[cfg(feature = "stored")]
pub use error::{StoreError, StoreErrorKind};
#[cfg(feature = "guard")]
pub use guarded::GuardedExceptions;
pub use memory::MemoryExceptions;
#[cfg(feature = "stored")]
pub use stored::StoredExceptions;

use std::sync::Arc;

use crate::{Breaks, Exceptions};

/// Shared exceptions: a hyphenator looks words up while others add to them.
impl<E: Exceptions + ?Sized> Exceptions for Arc<E> {
    fn find(&self, folded: &str) -> Option<Breaks> {
        (**self).find(folded)
    }
}
