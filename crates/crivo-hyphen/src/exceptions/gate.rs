//! Asking the guard before the dictionary, and counting.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::guard::{Guard, GuardFilter};
use crate::Breaks;

/// How many lookups there were in a dictionary, and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// All lookups.
    pub lookups: u64,
    /// Lookups that the guard rejected, without access to the dictionary.
    pub rejections: u64,
    /// Lookups that found the word in the dictionary.
    pub found: u64,
    /// False positives of the guard: lookups that it let through although the dictionary does not
    /// have the word. Always 0 without a guard.
    pub false_positives: u64,
    /// Lookups that failed; the word was then treated as not listed.
    pub failures: u64,
}

/// The entry to a dictionary: the guard, if there is one, and the counters.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// `None` without a guard. If a thread panicked while it changed the guard, the lock is
    /// poisoned and the guard is no longer consulted: its content is unknown.
    filter: Option<RwLock<GuardFilter>>,
    // A lookup changes exactly one of these.
    rejected: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
}

impl Gate {
    pub(super) fn new(filter: Option<GuardFilter>) -> Self {
        Self { filter: filter.map(RwLock::new), ..Self::default() }
    }

    /// Asks the guard and then, unless it rejects the word, the dictionary.
    pub(super) fn look_up<E>(
        &self,
        folded: &str,
        dictionary: impl FnOnce() -> Result<Option<Breaks>, E>,
    ) -> Result<Option<Breaks>, E> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        if self.read(|filter| filter.admits(folded)) == Some(false) {
            count(&self.rejected);
            return Ok(None);
        }
        let answer = dictionary();
        count(match &answer {
            Ok(Some(_)) => &self.found,
            Ok(None) => &self.absent,
            Err(_) => &self.failed,
        });
        answer
    }

    /// Reads the guard, if there is one that can be trusted.
    pub(super) fn read<T>(&self, read: impl FnOnce(&GuardFilter) -> T) -> Option<T> {
        Some(read(&*self.filter.as_ref()?.read().ok()?))
    }

    /// Changes the guard, if there is one that can be trusted. Lookups wait meanwhile.
    pub(super) fn change<E>(
        &self,
        change: impl FnOnce(&mut GuardFilter) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.filter.as_ref().map(RwLock::write) {
            Some(Ok(mut filter)) => change(&mut filter),
            _ => Ok(()),
        }
    }

    /// Removes the guard: from now on every lookup reaches the dictionary.
    pub(super) fn drop_guard(&mut self) {
        self.filter = None;
    }

    pub(super) fn counters(&self) -> Counters {
        let [rejections, found, absent, failures] =
            [&self.rejected, &self.found, &self.absent, &self.failed]
                .map(|counter| counter.load(Ordering::Relaxed));
        Counters {
            lookups: rejections + found + absent + failures,
            rejections,
            found,
            false_positives: if self.filter.is_some() { absent } else { 0 },
            failures,
        }
    }

    pub(super) fn guard(&self) -> Option<Guard> {
        self.read(GuardFilter::guard)
    }

    pub(super) fn guard_size_in_bits(&self) -> u64 {
        self.read(|filter| filter.filter().size_in_bits()).unwrap_or(0)
    }
}
