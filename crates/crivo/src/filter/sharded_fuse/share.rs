//! Items shared out to threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::filter::threads::each;

/// Calls `work` on every item, on that many threads: each takes the next item when it is done with
/// one. After an error, no more items are taken.
pub(super) fn share<I, E: Send>(
    workers: usize,
    items: Mutex<impl Iterator<Item = I> + Send>,
    work: impl Fn(I) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let has_failed = AtomicBool::new(false);
    let run = |_: usize| {
        while !has_failed.load(Ordering::Relaxed) {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { break };
            work(item).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    each(0..workers, run).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_item_is_worked_on_once() {
        for workers in [1, 2, 5] {
            let sum = AtomicU64::new(0);
            let work = |item| {
                sum.fetch_add(item, Ordering::Relaxed);
                Ok::<(), ()>(())
            };
            share(workers, Mutex::new(0..1_000), work).unwrap();
            assert_eq!(sum.into_inner(), 499_500);
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let done = AtomicU64::new(0);
        let work = |item| {
            done.fetch_add(1, Ordering::Relaxed);
            if item == 3 { Err("the third") } else { Ok(()) }
        };
        assert_eq!(share(1, Mutex::new(0..1_000), work), Err("the third"));
        assert_eq!(done.into_inner(), 4);
    }
}
