//! Work on several threads, where there can be several.
//!
//! The number of threads and the address space may be limited. What no thread can be started for is
//! done by the thread that asks for it.
//!
//! A thread that has started, and then finds no memory for what the system lays beside its stack, ends
//! the process. So one is started only where there is a reserve of memory, and nothing here takes of
//! that reserve before the thread is under way.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::ParameterError;

/// A thread is started only where there is memory for this many bytes more.
const RESERVE: usize = 1 << 26;

/// Fewer keys than this are not worth a thread.
pub(super) const WORTH_A_THREAD: usize = 1 << 16;

/// As many threads as the machine has.
pub(super) fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many threads work on that many keys, if these are the most that may; as many as the machine
/// has, if it is left open.
///
/// # Errors
/// If none may.
pub(super) fn count_for(most: Option<usize>, keys: usize) -> Result<usize, ParameterError> {
    if most == Some(0) {
        return Err(ParameterError::new("threads", 0, "at least 1"));
    }
    if keys < WORTH_A_THREAD {
        return Ok(1);
    }
    Ok(most.unwrap_or_else(available).min(keys / WORTH_A_THREAD + 1))
}

/// What `work` makes of each item, at the same time.
pub(super) fn each<I: Send, T: Send>(
    items: impl Iterator<Item = I>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    // Where no thread can be started for an item, it is still here.
    let items: Vec<_> = items.map(|item| Mutex::new(Some(item))).collect();
    let Some((own, others)) = items.split_first() else { return Vec::new() };
    let gate = Mutex::new(());
    let run = |item: &Mutex<Option<I>>| {
        let item = lock(item).take();
        work(item.expect("it runs once, here or there"))
    };
    let (run, gate) = (&run, &gate);
    std::thread::scope(|scope| {
        let closed = lock(gate);
        let waiting = |item| {
            move || {
                drop(lock(gate));
                run(item)
            }
        };
        let others: Vec<_> =
            others.iter().map(|item| (item, start(scope, waiting(item)))).collect();
        drop(closed);
        let own = run(own);
        let others =
            others.into_iter().map(|(item, thread)| thread.map_or_else(|| run(item), joined));
        std::iter::once(own).chain(others).collect()
    })
}

/// Both answers, computed at the same time if `parallel`.
pub(super) fn both<A: Send, B: Send>(
    parallel: bool,
    left: impl FnOnce() -> A,
    right: impl FnOnce() -> B + Send,
) -> (A, B) {
    if !parallel {
        return (left(), right());
    }
    // Where no thread can be started, the work is still here.
    let right = Mutex::new(Some(right));
    let run_right = || {
        let right = lock(&right).take();
        right.map(|right| right())
    };
    std::thread::scope(|scope| {
        let thread = start(scope, run_right);
        let left = left();
        let right = thread.map_or_else(run_right, joined);
        (left, right.expect("it runs once, here or there"))
    })
}

/// Starts a thread, if there can be another, and waits until it is under way.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let mut reserve: Vec<u8> = Vec::new();
    reserve.try_reserve_exact(RESERVE).ok()?;
    // The compiler would leave out an allocation that nothing uses.
    drop(std::hint::black_box(reserve));
    let (under_way, is_under_way) = mpsc::channel();
    let run = move || {
        // The other end waits for it.
        let _ = under_way.send(());
        work()
    };
    let thread = Builder::new().spawn_scoped(scope, run).ok()?;
    let _ = is_under_way.recv();
    Some(thread)
}

/// What a thread answered; its panic, if it had one, goes on here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What is inside; a panic of another thread is told where that thread is joined.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn each_item_is_worked_on_once_and_in_order() {
        for count in 0..9 {
            assert_eq!(
                each(0..count, |item| item * item),
                (0..count).map(|i| i * i).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn few_keys_are_for_one_thread() {
        assert_eq!(count_for(Some(8), WORTH_A_THREAD - 1), Ok(1));
        assert_eq!(count_for(Some(8), 3 * WORTH_A_THREAD), Ok(4));
        assert_eq!(count_for(Some(8), 100 * WORTH_A_THREAD), Ok(8));
        assert!(count_for(None, 100 * WORTH_A_THREAD).is_ok_and(|threads| threads >= 1));
        assert!(count_for(Some(0), 0).is_err());
    }

    #[test]
    fn both_answers_come_with_and_without_a_thread() {
        for parallel in [false, true] {
            let mut written = [0; 2];
            let [one, other] = &mut written;
            let answers = both(parallel, || *one = 1, || *other = 2);
            assert_eq!((answers, written), (((), ()), [1, 2]));
        }
    }

    #[test]
    #[should_panic(expected = "on the thread")]
    fn a_panic_of_a_thread_goes_on() {
        both(true, || (), || panic!("on the thread"));
    }
}
