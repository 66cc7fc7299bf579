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
    pub fn get_batch(&self, keys: &[S::Key<'_>]) -> Result<Vec<Option<S::Value>>, S::Error> {
        let hasher = self.mode.hasher();
        let digests: Vec<Digest> = keys.iter().map(|key| S::digest(&hasher, key)).collect();
        let mut hits = vec![false; keys.len()];
        self.mode.admits_batch(&digests, &mut hits);
        let mut values: Vec<Option<S::Value>> = keys.iter().map(|_| None).collect();
        let passed: Vec<usize> = (0..keys.len()).filter(|&at| hits[at]).collect();
        self.tally.stopped((keys.len() - passed.len()) as u64);
        if passed.is_empty() {
            return Ok(values);
        }
        let asked: Vec<&S::Key<'_>> = passed.iter().map(|&at| &keys[at]).collect();
        let answers =
            self.store.get_batch(&asked).inspect_err(|_| self.tally.failed(passed.len() as u64))?;
        for (at, answer) in passed.into_iter().zip(answers) {
            self.tally.answered(answer.is_some());
            values[at] = answer;
        }
        Ok(values)
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

/// The digests of all keys of a store.
fn scan<S: Store>(store: &S, hasher: KeyHasher) -> Result<Vec<Digest>, S::Error> {
    let mut digests = Vec::new();
    store.scan(|key| digests.push(S::digest(&hasher, key)))?;
    Ok(digests)
}
