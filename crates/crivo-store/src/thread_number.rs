//! A small number for every thread: which counters, and which slot of a lock, are its own.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Numbers below this belong to one thread at a time: as many as threads are likely to ask at the same time.
pub(crate) const OWN: usize = 16;

/// All other threads share these.
const SHARED: usize = 8;

/// All numbers are below this.
pub(crate) const COUNT: usize = OWN + SHARED;

/// The number of this thread. Threads of the same number one after the other see what those before have done.
///
/// A thread keeps its number as long as it lives. One that comes when all of the first are taken shares one for good,
/// also after others have ended, and its questions take a little longer; so let threads that live long come first.
#[inline]
pub(crate) fn of_this_thread() -> usize {
    thread_local! {
        static NUMBER: Number = Number::take();
    }
    // A thread that is ending has given its number back.
    NUMBER.try_with(|number| number.0).unwrap_or(OWN)
}

struct Number(usize);

/// A bit for each number below [`OWN`] that a thread has.
static TAKEN: AtomicU32 = AtomicU32::new(0);

impl Number {
    fn take() -> Self {
        static OTHERS: AtomicUsize = AtomicUsize::new(0);
        // Acquires what the last thread of that number has done.
        let taken = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, |taken| {
            let free = taken.trailing_ones() as usize;
            (free < OWN).then(|| taken | 1 << free)
        });
        match taken {
            Ok(taken) => Self(taken.trailing_ones() as usize),
            Err(_) => Self(OWN + OTHERS.fetch_add(1, Ordering::Relaxed) % SHARED),
        }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.0 < OWN {
            TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
        }
    }
}
