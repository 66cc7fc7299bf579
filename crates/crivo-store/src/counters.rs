//! How many questions there were, and how they ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many questions there were, and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// All questions; each key of a batch is one.
    pub questions: u64,
    /// Answered *absent* by the guard, without the store.
    pub stopped: u64,
    /// Answered by the store: the key is there.
    pub found: u64,
    /// Passed by the guard, also because it was not up to date, but the store does not have the key.
    pub false_positives: u64,
    /// The store could not answer.
    pub failures: u64,
}

/// The counters, as threads change them: a question changes exactly one.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    stopped: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
}

impl Tally {
    pub(crate) fn stopped(&self, count: u64) {
        self.stopped.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts an answer of the store.
    pub(crate) fn answered(&self, found: bool) {
        let counter = if found { &self.found } else { &self.absent };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, count: u64) {
        self.failed.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> Counters {
        let [stopped, found, false_positives, failures] =
            [&self.stopped, &self.found, &self.absent, &self.failed]
                .map(|counter| counter.load(Ordering::Relaxed));
        let questions = stopped + found + false_positives + failures;
        Counters { questions, stopped, found, false_positives, failures }
    }
}
