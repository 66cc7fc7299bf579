//! Asking the guard before the dictionary, and counting.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crivo::filter::Filter;

use super::guard::{Guard, Sentry};
use crate::Breaks;

/// What happened to the words that a dictionary was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// How many words were asked for.
    pub lookups: u64,
    /// How many the guard turned away: the dictionary behind it was not asked.
    pub rejections: u64,
    /// How many are in the dictionary.
    pub found: u64,
    /// How many the guard let through for nothing: the dictionary does not have them. Without a
    /// guard there are none.
    pub false_positives: u64,
    /// How many times the dictionary could not answer; the word was then treated as not listed.
    pub failures: u64,
}

/// The way into a dictionary: a guard, or none, and the counters.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// `None` without a guard. Where a thread has died while it changed the guard, the guard is
    /// not asked any more: nobody can vouch for it.
    sentry: Option<RwLock<Sentry>>,
    // A lookup changes just one of these.
    rejected: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
}

impl Gate {
    pub(super) fn new(sentry: Option<Sentry>) -> Self {
        Self { sentry: sentry.map(RwLock::new), ..Self::default() }
    }

    /// Asks the guard and then, unless that says no, the dictionary.
    pub(super) fn look_up<E>(
        &self,
        folded: &str,
        dictionary: impl FnOnce() -> Result<Option<Breaks>, E>,
    ) -> Result<Option<Breaks>, E> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        if self.ask(|sentry| sentry.admits(folded)) == Some(false) {
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

    /// Something about the guard, if there is one to be asked.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&Sentry) -> T) -> Option<T> {
        Some(question(&*self.sentry.as_ref()?.read().ok()?))
    }

    /// Changes the guard, if there is one. Meanwhile nobody asks it.
    pub(super) fn change<E>(
        &self,
        change: impl FnOnce(&mut Sentry) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.sentry.as_ref().map(RwLock::write) {
            Some(Ok(mut sentry)) => change(&mut sentry),
            _ => Ok(()),
        }
    }

    /// Does without the guard from now on.
    pub(super) fn open_for_good(&mut self) {
        self.sentry = None;
    }

    pub(super) fn counters(&self) -> Counters {
        let [rejections, found, absent, failures] =
            [&self.rejected, &self.found, &self.absent, &self.failed]
                .map(|counter| counter.load(Ordering::Relaxed));
        Counters {
            lookups: rejections + found + absent + failures,
            rejections,
            found,
            false_positives: if self.sentry.is_some() { absent } else { 0 },
            failures,
        }
    }

    pub(super) fn guard(&self) -> Option<Guard> {
        self.ask(Sentry::guard)
    }

    pub(super) fn guard_size_in_bits(&self) -> u64 {
        self.ask(|sentry| sentry.filter().size_in_bits()).unwrap_or(0)
    }
}
