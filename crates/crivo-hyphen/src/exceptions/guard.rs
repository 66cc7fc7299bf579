//! The filter in front of a dictionary, and how it follows changes of the dictionary.

use std::fmt;

use crivo::filter::{AnyFilter, Kind, Spec, SpecError};
use crivo::{Digest, KeyHasher, ParameterError};

/// Which filter stands in front of a dictionary, and its false-positive rate (FPR).
///
/// | kind | adding a word | removing a word |
/// |---|---|---|
/// | cuckoo, quotient, counting | inserts it | removes it |
/// | fuse | rebuilds the filter | a false positive until the next rebuild |
/// | any other | inserts it | a false positive until the next rebuild |
///
/// A full filter is rebuilt with room for a quarter more words. A filter in which removed words
/// remain is rebuilt once they outnumber a quarter of the others by more than 64. Choose fuse, the
/// smallest, for a list that hardly ever changes, and cuckoo for one to which users add words.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo_hyphen::exceptions::Guard;
///
/// let guard = Guard::new(Kind::Cuckoo, 0.01)?;
/// assert_eq!(guard.to_string(), "cuckoo filter, FPR 0.01");
/// assert!(Guard::new(Kind::Bloom, 1.5).is_err());
/// # Ok::<(), crivo_hyphen::exceptions::GuardError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    kind: Kind,
    fpr: f64,
}

impl Guard {
    /// A filter of this kind with at most this false-positive rate.
    ///
    /// # Errors
    /// If the rate is not strictly between 0 and 1, or is too small for the kind.
    pub fn new(kind: Kind, fpr: f64) -> Result<Self, GuardError> {
        let guard = Self { kind, fpr };
        // The filter itself decides what it supports.
        guard.build(vec![])?;
        Ok(guard)
    }

    /// The kind of filter.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The false-positive rate.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    fn build(&self, digests: Vec<Digest>) -> Result<AnyFilter, GuardError> {
        let count = digests.len() as u64;
        let capacity = (count + count / 4).max(MIN_CAPACITY);
        Ok(Spec::for_fpr(self.kind, capacity, self.fpr)?.build_from(digests, HASHER)?)
    }
}

/// With this, small lists are not rebuilt at every change.
const MIN_CAPACITY: u64 = 256;

/// The hash function of every guard, and of the store's fingerprint.
pub(super) const HASHER: KeyHasher = KeyHasher::xxh3(0);

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filter, FPR {}", self.kind, self.fpr)
    }
}

/// The guard cannot be built: a parameter is out of range, memory is exhausted, or the filter has
/// no room for all words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the guard cannot be built: {0}")]
pub struct GuardError(SpecError);

impl From<SpecError> for GuardError {
    fn from(error: SpecError) -> Self {
        Self(error)
    }
}

impl From<ParameterError> for GuardError {
    fn from(error: ParameterError) -> Self {
        Self(SpecError::Build(error.into()))
    }
}

/// The filter of a guard. It holds every word of its dictionary at any time, and perhaps some that
/// were removed: a superset, so that it never hides a word.
#[derive(Debug, Clone)]
pub(super) struct GuardFilter {
    guard: Guard,
    filter: AnyFilter,
    /// The number of removed words that are still in the filter.
    stale: u64,
}

impl GuardFilter {
    pub(super) fn new(guard: Guard, digests: Vec<Digest>) -> Result<Self, GuardError> {
        Ok(Self { guard, filter: guard.build(digests)?, stale: 0 })
    }

    /// A filter read from a file, which holds the `key_count` words of a dictionary.
    #[cfg(feature = "stored")]
    pub(super) fn from_filter(guard: Guard, filter: AnyFilter, key_count: u64) -> Self {
        let stale = filter.key_count().saturating_sub(key_count);
        Self { guard, filter, stale }
    }

    pub(super) fn guard(&self) -> Guard {
        self.guard
    }

    pub(super) fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// Whether a folded word may be in the dictionary. `false` is certain.
    #[inline]
    pub(super) fn admits(&self, folded: &str) -> bool {
        self.filter.contains(folded)
    }

    /// Adds words that were not in the dictionary; `all` returns every word of it after the change.
    pub(super) fn insert<E: From<GuardError>>(
        &mut self,
        new: &[Digest],
        all: impl FnOnce() -> Result<Vec<Digest>, E>,
    ) -> Result<(), E> {
        let key_count = self.filter.key_count().saturating_add(new.len() as u64);
        let has_room = self.filter.capacity().is_none_or(|capacity| key_count <= capacity);
        if has_room && self.filter.insert_batch(new).is_ok() {
            return Ok(());
        }
        self.rebuild(all()?)?;
        Ok(())
    }

    /// Removes words that were in the dictionary; `all` returns every word of it after the change.
    ///
    /// After an error the filter holds too many words, which costs false positives only.
    pub(super) fn remove<E: From<GuardError>>(
        &mut self,
        removed: &[Digest],
        all: impl FnOnce() -> Result<Vec<Digest>, E>,
    ) -> Result<(), E> {
        match self.filter.remove_batch(removed) {
            Ok(count) => {
                // All of them are in the filter, because they were in the dictionary.
                if count == removed.len() as u64 {
                    return Ok(());
                }
            }
            // Filters of this kind remove nothing.
            Err(_) => {
                self.stale += removed.len() as u64;
                let live = self.filter.key_count().saturating_sub(self.stale);
                if self.stale <= live / 4 + MIN_CAPACITY / 4 {
                    return Ok(());
                }
            }
        }
        self.rebuild(all()?)?;
        Ok(())
    }

    fn rebuild(&mut self, digests: Vec<Digest>) -> Result<(), GuardError> {
        *self = Self::new(self.guard, digests)?;
        Ok(())
    }
}
