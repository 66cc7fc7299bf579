//! The filter before a dictionary, and how it follows the dictionary's changes.

use std::fmt;

use crivo::codec::Kind;
use crivo::filter::{AnyFilter, Filter, Plan, PlanError};
use crivo::{Digest, KeyHasher, ParameterError};

/// Which filter stands before a dictionary, and how often it may let a stranger through.
///
/// | kind | a word is added | a word is removed |
/// |---|---|---|
/// | cuckoo, quotient, counting | into the filter | out of the filter |
/// | bloom, blocked, growing, growing-blocked | into the filter | stays until a rebuild: a false positive |
/// | fuse | the filter is rebuilt | stays until a rebuild: a false positive |
///
/// A filter that is full is rebuilt for a quarter more words. One in which removed words stay is
/// rebuilt when these exceed a quarter of the others by more than 64. Choose fuse, the smallest,
/// for a list that hardly ever changes, and cuckoo for one to which users add words.
///
/// ```
/// use crivo::codec::Kind;
/// use crivo_hyphen::exceptions::Guard;
///
/// let guard = Guard::new(Kind::Cuckoo, 0.01)?;
/// assert_eq!(guard.to_string(), "cuckoo filter at rate 0.01");
/// assert!(Guard::new(Kind::Bloom, 1.5).is_err());
/// # Ok::<(), crivo_hyphen::exceptions::GuardError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    kind: Kind,
    rate: f64,
}

impl Guard {
    /// A filter of this kind with at most this rate of false positives.
    ///
    /// # Errors
    /// If the rate is not strictly between 0 and 1, or so small that the kind cannot reach it.
    pub fn new(kind: Kind, rate: f64) -> Result<Self, GuardError> {
        let guard = Self { kind, rate };
        // The filters know best what they can do.
        guard.build(vec![])?;
        Ok(guard)
    }

    /// The kind of filter.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The rate of false positives.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn build(&self, digests: Vec<Digest>) -> Result<AnyFilter, GuardError> {
        let count = digests.len() as u64;
        let capacity = (count + count / 4).max(LEAST_CAPACITY);
        Ok(Plan::for_rate(self.kind, capacity, self.rate)?.build(HASHER, digests)?)
    }
}

/// Small lists need not be rebuilt at every step.
const LEAST_CAPACITY: u64 = 256;

/// The hash function of every guard, and of the store's fingerprint.
pub(super) const HASHER: KeyHasher = KeyHasher::xxh3(0);

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filter at rate {}", self.kind, self.rate)
    }
}

/// Why there is no such guard: a parameter is out of range, there is no memory, or the filter has
/// no place for all words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardError(PlanError);

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guard cannot be built: {}", self.0)
    }
}

impl std::error::Error for GuardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl From<PlanError> for GuardError {
    fn from(error: PlanError) -> Self {
        Self(error)
    }
}

impl From<ParameterError> for GuardError {
    fn from(error: ParameterError) -> Self {
        Self(PlanError::Build(error.into()))
    }
}

/// A guard at work. At any time it holds every word of its dictionary, and maybe some that were
/// removed: more than there is, never less.
#[derive(Debug, Clone)]
pub(super) struct Sentry {
    guard: Guard,
    filter: AnyFilter,
    /// How many removed words are still in the filter.
    stale: u64,
}

impl Sentry {
    pub(super) fn new(guard: Guard, digests: Vec<Digest>) -> Result<Self, GuardError> {
        Ok(Self { guard, filter: guard.build(digests)?, stale: 0 })
    }

    /// A filter from a file, which holds the words of a dictionary with so many.
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

    /// Adds words that were not in the dictionary; `all` are those that are in it then.
    ///
    /// On an error the filter may hold some of them, which does no harm.
    pub(super) fn insert<E: From<GuardError>>(
        &mut self,
        new: &[Digest],
        all: impl FnOnce() -> Result<Vec<Digest>, E>,
    ) -> Result<(), E> {
        if let Some(filter) = self.filter.as_dynamic_mut()
            && filter.key_count().saturating_add(new.len() as u64) <= filter.capacity()
            && new.iter().all(|&digest| filter.insert_digest(digest).is_ok())
        {
            return Ok(());
        }
        self.rebuild(all()?)?;
        Ok(())
    }

    /// Takes out words that were in the dictionary; `all` are those that are in it now.
    ///
    /// On an error the filter holds more words than it should, which does no harm.
    pub(super) fn remove<E: From<GuardError>>(
        &mut self,
        removed: &[Digest],
        all: impl FnOnce() -> Result<Vec<Digest>, E>,
    ) -> Result<(), E> {
        match self.filter.as_removable_mut() {
            Some(filter) => {
                // All of them are in it: they were in the dictionary.
                if removed.iter().all(|&digest| filter.remove_digest(digest).is_ok()) {
                    return Ok(());
                }
            }
            None => {
                self.stale += removed.len() as u64;
                let live = self.filter.key_count().saturating_sub(self.stale);
                if self.stale <= live / 4 + LEAST_CAPACITY / 4 {
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
