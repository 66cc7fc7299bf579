//! Exceptions in a map behind a guard.

use crivo::Digest;
use crivo::filter::SpecError;
use crivo_store::{Counters, Existed, Guard, GuardOptions, GuardStatus, Tally};

use super::memory::MemoryExceptions;
use crate::{Breaks, Exception, Exceptions, fold};

/// A map of exceptions behind a guard.
///
/// A map answers about as fast as a filter, so this rarely pays. Use it to measure what a guard
/// does, or for a map that is larger than the processor's caches.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo_hyphen::exceptions::{GuardOptions, GuardedExceptions};
/// use crivo_hyphen::Exception;
///
/// let list = Exception::parse_list("gno-mon cri-vo")?;
/// let guard = GuardOptions::new(Kind::Blocked, 0.01)?;
/// let words = GuardedExceptions::new(list.into_iter().collect(), guard)?;
/// assert!(words.get("Crivo").is_some());
/// assert!(words.get("sieve").is_none());
///
/// let counters = words.counters();
/// assert_eq!((counters.questions, counters.found), (2, 1));
/// assert_eq!(counters.stopped + counters.false_positives, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GuardedExceptions {
    words: MemoryExceptions,
    guard: Guard,
    tally: Tally,
}

impl GuardedExceptions {
    /// Puts a guard in front of a map.
    ///
    /// # Errors
    /// If the guard cannot be built.
    pub fn new(words: MemoryExceptions, guard: GuardOptions) -> Result<Self, SpecError> {
        // A map that has returned writes nothing later.
        let guard = guard.late_writes(false);
        let digests = words.words().map(|word| guard.digest(word)).collect();
        Ok(Self { guard: Guard::build(guard, digests)?, words, tally: Tally::default() })
    }

    /// Adds exceptions, or replaces the breaks of words that are present. Returns the number of
    /// words that were not present before.
    pub fn insert(&mut self, exceptions: impl IntoIterator<Item = Exception>) -> u64 {
        let mut new = 0;
        for exception in exceptions {
            let put = self.guard.begin_put(self.digest(exception.word()));
            let is_new = self.words.insert_one(&exception);
            put.stored(if is_new { Existed::No } else { Existed::Yes });
            new += u64::from(is_new);
        }
        self.rebuild_if_needed();
        new
    }

    /// Removes words, in any letter case. Returns the number of words that were present.
    pub fn remove<W: AsRef<str>>(&mut self, words: impl IntoIterator<Item = W>) -> u64 {
        let mut removed = 0;
        for word in words {
            let word = fold(word.as_ref());
            let delete = self.guard.begin_delete(self.digest(&word));
            let was_present = self.words.remove_folded(&word);
            delete.deleted(if was_present { Existed::Yes } else { Existed::No });
            removed += u64::from(was_present);
        }
        self.rebuild_if_needed();
        removed
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
        self.tally.counters()
    }

    /// How large the guard is, how old, and how much of it is wasted.
    pub fn guard_status(&self) -> GuardStatus {
        self.guard.status()
    }

    /// The map without the guard.
    pub fn into_inner(self) -> MemoryExceptions {
        self.words
    }

    fn digest(&self, folded: &str) -> Digest {
        self.guard.hasher().digest(folded)
    }

    fn rebuild_if_needed(&self) {
        if self.guard.needs_rebuild()
            && let Some(rebuild) = self.guard.begin_rebuild()
        {
            // If it cannot be built, the old guard stays. It holds every word.
            let _ = rebuild.finish(self.words.words().map(|word| self.digest(word)).collect());
        }
    }
}

impl Exceptions for GuardedExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        if !self.guard.contains(self.digest(folded)) {
            self.tally.stopped(1);
            return None;
        }
        let found = self.words.find(folded);
        self.tally.answered(found.is_some());
        found
    }
}
