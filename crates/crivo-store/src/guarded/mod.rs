//! A store behind a guard.

mod exclusive;
mod snapshot;
#[cfg(test)]
mod tests;

pub use exclusive::{Exclusive, GuardSource, OpenOptions, ScanReason};
pub use snapshot::Snapshot;

#[cfg(feature = "async")]
pub(crate) use exclusive::{load, stamp};

use std::fmt;
use std::sync::Arc;

use crivo::{Digest, KeyHasher};

use crate::counters::Tally;
use crate::{Counters, Store};

/// A store behind a guard: absent keys are answered from memory.
///
/// The mode `M` says who may write, and what an *absent* is worth:
///
/// | mode | the data | *absent* is wrong if |
/// |---|---|---|
/// | [`Snapshot`] | do not change | somebody changes them |
/// | [`Exclusive`] | are changed through this value alone | somebody writes without `crivo-store`, or has [taken over](OpenOptions::take_over) and this owner has not tried to write since |
///
/// An error of the store is never *absent*.
///
/// Several threads can share it; put it into an [`Arc`]. To close it, take it out again: `Arc::into_inner`.
pub struct Guarded<S, M = Exclusive> {
    store: Arc<S>,
    mode: M,
    tally: Tally,
}

/// What a mode answers from memory.
pub trait Mode: sealed::Sealed {}

pub(crate) mod sealed {
    use crivo::{Digest, KeyHasher};

    pub trait Sealed {
        fn hasher(&self) -> KeyHasher;

        fn admits(&self, digest: Digest) -> bool;

        /// Asks as [`admits`](Self::admits) does, when the answer is called. Its memory is fetched until
        /// then.
        fn admits_later(&self, digest: Digest) -> impl FnOnce() -> bool;

        fn admits_batch(&self, digests: &[Digest], hits: &mut [bool]);
    }
}

/// Questions, in every mode.
impl<S: Store, M: Mode> Guarded<S, M> {
    /// The value of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn get(&self, key: S::Key<'_>) -> Result<Option<S::Value>, S::Error> {
        self.ask(&key, Option::is_some, |store, admits| store.get_if(&key, admits))
    }

    /// Whether there is a value for the key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn contains(&self, key: S::Key<'_>) -> Result<bool, S::Error> {
        self.ask(&key, |found| *found, |store, admits| store.contains_if(&key, admits))
    }

    /// The values of several keys, in their order. The store is asked once, for those keys that the
    /// guard lets through.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the store does not answer each key once: see [`Store::get_batch`].
    pub fn get_batch(&self, keys: &[S::Key<'_>]) -> Result<Vec<Option<S::Value>>, S::Error> {
        let passed = self.passed(keys);
        self.ask_passed(keys, passed, Option::is_some, S::get_batch)
    }

    /// Whether there are values for several keys, in their order. The store is asked once, for those keys that
    /// the guard lets through.
    ///
    /// ```
    /// # #[cfg(feature = "redb")] {
    /// use crivo::filter::Kind;
    /// use crivo_store::redb::RedbStore;
    /// use crivo_store::{GuardOptions, Guarded};
    /// use redb::{Database, TableDefinition};
    ///
    /// const WORDS: TableDefinition<&str, u64> = TableDefinition::new("words");
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let database = Database::create(directory.path().join("words.redb"))?;
    /// let store = RedbStore::new(database, WORDS);
    /// let words = Guarded::open(store, GuardOptions::new(Kind::Cuckoo, 0.001)?)?;
    /// words.put("sieve", 1)?;
    /// assert_eq!(words.contains_batch(&["filter", "sieve"])?, [false, true]);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the store does not answer each key once: see [`Store::contains_batch`].
    pub fn contains_batch(&self, keys: &[S::Key<'_>]) -> Result<Vec<bool>, S::Error> {
        let passed = self.passed(keys);
        self.ask_passed(keys, passed, |found| *found, S::contains_batch)
    }

    /// How many questions there were, and how they ended.
    pub fn counters(&self) -> Counters {
        self.tally.counters()
    }

    /// The hash function of the guard.
    pub fn hasher(&self) -> KeyHasher {
        self.mode.hasher()
    }

    /// The store. What is written past the guard is hidden by it.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The places of those keys that the guard lets through.
    fn passed(&self, keys: &[S::Key<'_>]) -> Vec<usize> {
        let hasher = self.mode.hasher();
        let digests: Vec<Digest> = keys.iter().map(|key| S::digest(&hasher, key)).collect();
        passed(&self.mode, &self.tally, &digests)
    }

    /// Asks the store for these of the keys.
    fn ask_passed<'k, T: Default>(
        &self,
        keys: &[S::Key<'k>],
        passed: Vec<usize>,
        is_found: impl Fn(&T) -> bool,
        ask_store: impl FnOnce(&S, &[&S::Key<'k>]) -> Result<Vec<T>, S::Error>,
    ) -> Result<Vec<T>, S::Error> {
        let asked: Vec<&S::Key<'_>> = passed.iter().map(|&at| &keys[at]).collect();
        let answers = if asked.is_empty() { Ok(vec![]) } else { ask_store(&self.store, &asked) };
        spread(&self.tally, keys.len(), passed, answers, is_found)
    }

    /// A question for a key that is likely to be there begins with the store: its filter's memory takes
    /// as long to arrive as a transaction to begin. Any other begins with the guard, and mostly ends there.
    fn ask<T: Default>(
        &self,
        key: &S::Key<'_>,
        is_found: impl FnOnce(&T) -> bool,
        ask_store: impl FnOnce(&S, &mut dyn FnMut() -> bool) -> Result<Option<T>, S::Error>,
    ) -> Result<T, S::Error> {
        let digest = S::digest(&self.mode.hasher(), key);
        let tally = self.tally.of_this_thread();
        let answer = if tally.finds_keys() {
            let mut admits = Some(self.mode.admits_later(digest));
            ask_store(&self.store, &mut || admits.take().is_none_or(|admits| admits()))
        } else if self.mode.admits(digest) {
            ask_store(&self.store, &mut || true)
        } else {
            Ok(None)
        };
        match &answer {
            Ok(Some(answer)) => tally.answered(is_found(answer)),
            Ok(None) => tally.stopped(1),
            Err(_) => tally.failed(1),
        }
        answer.map(Option::unwrap_or_default)
    }
}

impl<S, M: fmt::Debug> fmt::Debug for Guarded<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded")
            .field("mode", &self.mode)
            .field("counters", &self.tally.counters())
            .finish_non_exhaustive()
    }
}

/// The places of those digests of a batch that the guard lets through. The others are counted.
pub(crate) fn passed(mode: &impl Mode, tally: &Tally, digests: &[Digest]) -> Vec<usize> {
    let mut hits = vec![false; digests.len()];
    mode.admits_batch(digests, &mut hits);
    let passed: Vec<usize> = (0..hits.len()).filter(|&at| hits[at]).collect();
    tally.stopped((hits.len() - passed.len()) as u64);
    passed
}

/// The answers to so many questions, from those of the store for the keys that have passed, which are counted.
pub(crate) fn spread<T: Default, E>(
    tally: &Tally,
    count: usize,
    passed: Vec<usize>,
    answers: Result<Vec<T>, E>,
    is_found: impl Fn(&T) -> bool,
) -> Result<Vec<T>, E> {
    let answers = answers.inspect_err(|_| tally.failed(passed.len() as u64))?;
    // Keys without an answer would seem absent.
    assert_eq!(
        answers.len(),
        passed.len(),
        "a batch of the store must have one answer for each key"
    );
    let mut all: Vec<T> = (0..count).map(|_| T::default()).collect();
    for (at, answer) in passed.into_iter().zip(answers) {
        tally.answered(is_found(&answer));
        all[at] = answer;
    }
    Ok(all)
}

/// The digests of all keys of a store.
fn scan<S: Store>(store: &S, hasher: KeyHasher) -> Result<Vec<Digest>, S::Error> {
    let mut digests = Vec::new();
    store.scan(|key| digests.push(S::digest(&hasher, key)))?;
    Ok(digests)
}
