//! How many questions there were, and how they ended.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

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
    /// Threads that ask at the same time count in different cache lines.
    shards: [CachePadded<Shard>; SHARDS],
}

/// As many as threads are likely to ask at the same time.
const SHARDS: usize = 8;

#[derive(Debug, Default)]
struct Shard {
    // A question changes exactly one of these.
    stopped: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
    /// How many keys were found since one was not, up to [`RUN`].
    found_in_a_row: AtomicU64,
}

/// After so many keys that were found, the next one is expected to be there.
const RUN: u64 = 8;

impl Shard {
    /// Threads that share a shard may disturb each other here: it is a guess.
    #[inline]
    fn note(&self, found: bool) {
        let run = self.found_in_a_row.load(Ordering::Relaxed);
        let next = if found { RUN.min(run + 1) } else { 0 };
        if next != run {
            self.found_in_a_row.store(next, Ordering::Relaxed);
        }
    }
}

impl Tally {
    /// Counts questions that the guard has answered *absent*.
    pub fn stopped(&self, count: u64) {
        if count > 0 {
            let shard = self.shard();
            shard.stopped.fetch_add(count, Ordering::Relaxed);
            shard.note(false);
        }
    }

    /// Counts an answer of the store.
    pub fn answered(&self, found: bool) {
        let shard = self.shard();
        let counter = if found { &shard.found } else { &shard.absent };
        counter.fetch_add(1, Ordering::Relaxed);
        shard.note(found);
    }

    /// Whether the last questions of this thread were all for keys that are there.
    #[inline]
    pub(crate) fn finds_keys(&self) -> bool {
        self.shard().found_in_a_row.load(Ordering::Relaxed) == RUN
    }

    /// Counts questions that the store could not answer.
    pub fn failed(&self, count: u64) {
        self.shard().failed.fetch_add(count, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let sum = |counter: fn(&Shard) -> &AtomicU64| {
            self.shards.iter().map(|shard| counter(shard).load(Ordering::Relaxed)).sum()
        };
        let [stopped, found, false_positives, failures]: [u64; 4] = [
            sum(|shard| &shard.stopped),
            sum(|shard| &shard.found),
            sum(|shard| &shard.absent),
            sum(|shard| &shard.failed),
        ];
        let questions = stopped + found + false_positives + failures;
        Counters { questions, stopped, found, false_positives, failures }
    }

    /// The shard of this thread.
    #[inline]
    fn shard(&self) -> &Shard {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static SHARD: usize = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
        }
        // A thread that is ending has lost its number, and may share any shard.
        &self.shards[SHARD.try_with(|shard| *shard).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is lost between the shards, whichever threads count.
    #[test]
    fn every_question_of_every_thread_is_counted() {
        let tally = Tally::default();
        std::thread::scope(|scope| {
            for thread in 0..3 * SHARDS as u64 {
                let tally = &tally;
                scope.spawn(move || {
                    tally.stopped(thread);
                    tally.answered(true);
                    tally.answered(thread % 2 == 0);
                    tally.failed(2);
                });
            }
        });
        let counters = tally.counters();
        assert_eq!((counters.stopped, counters.found), (276, 36));
        assert_eq!((counters.false_positives, counters.failures), (12, 48));
        assert_eq!(counters.questions, 276 + 48 + 48);
    }
}
