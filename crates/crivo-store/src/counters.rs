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

/// Counts questions, on any number of threads: [`Guarded`](crate::Guarded) has one of its own, and
/// a [`Guard`](crate::Guard) that is used alone can have one beside it.
///
/// ```
/// use crivo_store::Tally;
///
/// let tally = Tally::default();
/// tally.stopped(98); // by the guard
/// tally.answered(true);
/// tally.answered(false);
/// let counters = tally.counters();
/// assert_eq!((counters.questions, counters.found, counters.false_positives), (100, 1, 1));
/// ```
#[derive(Debug, Default)]
pub struct Tally {
    // A question changes exactly one of these.
    stopped: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
}

impl Tally {
    /// Counts questions that the guard has answered *absent*.
    pub fn stopped(&self, count: u64) {
        self.stopped.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts an answer of the store.
    pub fn answered(&self, found: bool) {
        let counter = if found { &self.found } else { &self.absent };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts questions that the store could not answer.
    pub fn failed(&self, count: u64) {
        self.failed.fetch_add(count, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let [stopped, found, false_positives, failures] =
            [&self.stopped, &self.found, &self.absent, &self.failed]
                .map(|counter| counter.load(Ordering::Relaxed));
        let questions = stopped + found + false_positives + failures;
        Counters { questions, stopped, found, false_positives, failures }
    }
}
