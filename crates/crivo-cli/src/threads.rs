//! The number of threads that a command uses: one for each core, unless `--threads` says otherwise.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `--threads` says; 0 if it is not given.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Sets the number, before any work begins.
pub(crate) fn set_count(count: NonZeroUsize) {
    COUNT.store(count.get(), Ordering::Relaxed);
}

/// The number, at least 1.
pub(crate) fn count() -> usize {
    match COUNT.load(Ordering::Relaxed) {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}
