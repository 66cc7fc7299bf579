//! Exceptions in a map behind a guard.

use std::convert::Infallible;

use crivo::Digest;

use super::gate::{Counters, Gate};
use super::guard::{Guard, GuardError, GuardFilter, HASHER};
use super::memory::MemoryExceptions;
use crate::{Breaks, Exception, Exceptions, fold};

/// A map of exceptions behind a guard.
///
/// A map answers about as fast as a filter, so this rarely pays. Use it to measure what a guard
/// does, or for a map that is larger than the processor's caches.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo_hyphen::exceptions::{Guard, GuardedExceptions};
/// use crivo_hyphen::Exception;
///
/// let list = Exception::parse_list("gno-mon cri-vo")?;
/// let words = GuardedExceptions::new(list.into_iter().collect(), Guard::new(Kind::Blocked, 0.01)?)?;
/// assert!(words.get("Crivo").is_some());
/// assert!(words.get("sieve").is_none());
///
/// let counters = words.counters();
/// assert_eq!((counters.lookups, counters.found), (2, 1));
/// assert_eq!(counters.rejections + counters.false_positives, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GuardedExceptions {
    words: MemoryExceptions,
    gate: Gate,
}

impl GuardedExceptions {
    /// Puts a guard in front of a map.
    ///
    /// # Errors
    /// If the guard cannot be built.
    pub fn new(words: MemoryExceptions, guard: Guard) -> Result<Self, GuardError> {
        let filter = GuardFilter::new(guard, digests(&words))?;
        Ok(Self { words, gate: Gate::new(Some(filter)) })
    }

    /// Adds exceptions, or replaces the breaks of words that are present. Returns the number of
    /// words that were not present before.
    ///
    /// # Errors
    /// If the guard had to be rebuilt and could not be. The words are in the map and will be found:
    /// from then on there is no guard.
    pub fn insert(
        &mut self,
        exceptions: impl IntoIterator<Item = Exception>,
    ) -> Result<u64, GuardError> {
        let mut new = Vec::new();
        for exception in exceptions {
            if self.words.insert_one(&exception) {
                new.push(HASHER.digest(exception.word()));
            }
        }
        let updated = self.gate.change(|filter| filter.insert(&new, || Ok(digests(&self.words))));
        self.keep_guard_if(updated)?;
        Ok(new.len() as u64)
    }

    /// Removes words, in any letter case. Returns the number of words that were present.
    ///
    /// # Errors
    /// If the guard had to be rebuilt and could not be: from then on there is no guard.
    pub fn remove<W: AsRef<str>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<u64, GuardError> {
        let mut removed = Vec::new();
        for word in words {
            let word = fold(word.as_ref());
            if self.words.remove_folded(&word) {
                removed.push(HASHER.digest(&*word));
            }
        }
        let updated =
            self.gate.change(|filter| filter.remove(&removed, || Ok(digests(&self.words))));
        self.keep_guard_if(updated)?;
        Ok(removed.len() as u64)
    }

    /// The listed breaks of a word in any letter case, as offsets into the [folded](fold()) word.
    pub fn get(&self, word: &str) -> Option<Breaks> {
        self.find(&fold(word))
    }

    /// All exceptions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Exception> + '_ {
        self.words.iter()
    }

    /// The number of words.
    pub fn key_count(&self) -> u64 {
        self.words.key_count()
    }

    /// How many lookups there were, and how they ended.
    pub fn counters(&self) -> Counters {
        self.gate.counters()
    }

    /// The guard; `None` if it could not be rebuilt after a change.
    pub fn guard(&self) -> Option<Guard> {
        self.gate.guard()
    }

    /// The memory of the guard in bits; 0 without a guard.
    pub fn guard_size_in_bits(&self) -> u64 {
        self.gate.guard_size_in_bits()
    }

    /// The map without the guard.
    pub fn into_inner(self) -> MemoryExceptions {
        self.words
    }

    /// Drops the guard if it could not be updated: it would hide words.
    fn keep_guard_if(&mut self, updated: Result<(), GuardError>) -> Result<(), GuardError> {
        if updated.is_err() {
            self.gate.drop_guard();
        }
        updated
    }
}

impl Exceptions for GuardedExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        let look_up = || Ok::<_, Infallible>(self.words.find(folded));
        self.gate.look_up(folded, look_up).unwrap_or_default()
    }
}

fn digests(words: &MemoryExceptions) -> Vec<Digest> {
    words.words().map(|word| HASHER.digest(word)).collect()
}
