//! How many questions there were, and how they ended.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::thread_number::{self, OWN};

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
    /// Threads that ask at the same time count in different cache lines. Each of the first has the shard of its
    /// number to itself; the others share the rest.
    shards: [CachePadded<Shard>; thread_number::COUNT],
}

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

/// The shard in which this thread counts.
#[derive(Clone, Copy)]
pub(crate) struct Counting<'t> {
    shard: &'t Shard,
    /// Nobody else counts there.
    is_own: bool,
    /// A thread counts where it is.
    stays: PhantomData<*const ()>,
}

impl Counting<'_> {
    #[inline]
    pub(crate) fn stopped(self, count: u64) {
        if count > 0 {
            self.add(&self.shard.stopped, count);
            self.note(false);
        }
    }

    #[inline]
    pub(crate) fn answered(self, found: bool) {
        self.add(if found { &self.shard.found } else { &self.shard.absent }, 1);
        self.note(found);
    }

    pub(crate) fn failed(self, count: u64) {
        self.add(&self.shard.failed, count);
    }

    /// Whether the last questions of this thread were all for keys that are there.
    #[inline]
    pub(crate) fn finds_keys(self) -> bool {
        self.shard.found_in_a_row.load(Ordering::Relaxed) == RUN
    }

    /// A processor waits for all that it has begun before it changes memory that others may change.
    #[inline]
    fn add(self, counter: &AtomicU64, count: u64) {
        if self.is_own {
            counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
        } else {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Threads that share a shard may disturb each other here: it is a guess.
    #[inline]
    fn note(self, found: bool) {
        let run = self.shard.found_in_a_row.load(Ordering::Relaxed);
        let next = if found { RUN.min(run + 1) } else { 0 };
        if next != run {
            self.shard.found_in_a_row.store(next, Ordering::Relaxed);
        }
    }
}

impl Tally {
    /// Counts questions that the guard has answered *absent*.
    pub fn stopped(&self, count: u64) {
        self.of_this_thread().stopped(count);
    }

    /// Counts an answer of the store.
    pub fn answered(&self, found: bool) {
        self.of_this_thread().answered(found);
    }

    /// Counts questions that the store could not answer.
    pub fn failed(&self, count: u64) {
        self.of_this_thread().failed(count);
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

    /// Where this thread counts.
    #[inline]
    pub(crate) fn of_this_thread(&self) -> Counting<'_> {
        let number = thread_number::of_this_thread();
        Counting { shard: &self.shards[number], is_own: number < OWN, stays: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::thread;

    use super::*;

    /// Nothing is lost between the shards, whichever threads count: more than have one to themselves, one after
    /// the other in the same, and threads that are ending.
    #[test]
    fn every_question_of_every_thread_is_counted() {
        const ROUNDS: u64 = 20;
        const THREADS: u64 = 3 * OWN as u64;
        static TALLY: LazyLock<Tally> = LazyLock::new(Tally::default);
        struct AtTheEnd;
        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                TALLY.failed(1);
            }
        }
        thread_local! {
            static AT_THE_END: AtTheEnd = const { AtTheEnd };
        }
        for _ in 0..ROUNDS {
            thread::scope(|scope| {
                let count = |thread: u64| {
                    scope.spawn(move || {
                        // What is used first is dropped last.
                        AT_THE_END.with(|_| ());
                        for _ in 0..100 {
                            TALLY.stopped(thread);
                            TALLY.answered(true);
                            TALLY.answered(thread.is_multiple_of(2));
                            TALLY.failed(2);
                        }
                    })
                };
                let threads: Vec<_> = (0..THREADS).map(count).collect();
                // A scope by itself does not wait for what threads drop at their end.
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
        }
        let counters = TALLY.counters();
        let times = 100 * ROUNDS;
        assert_eq!(counters.stopped, times * THREADS * (THREADS - 1) / 2);
        assert_eq!(counters.found, times * THREADS * 3 / 2);
        assert_eq!(counters.false_positives, times * THREADS / 2);
        assert_eq!(counters.failures, times * THREADS * 2 + ROUNDS * THREADS);
    }
}
