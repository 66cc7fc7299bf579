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

/// A thread is started only where there is memory for this many bytes more.
const RESERVE: usize = 1 << 26;

/// As many threads as the machine has.
pub(in crate::filter) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` makes of each item, at the same time.
pub(in crate::filter) fn each<I: Copy + Send, T: Send>(
    mut items: impl Iterator<Item = I>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let Some(own) = items.next() else { return Vec::new() };
    let gate = Mutex::new(());
    let (work, gate) = (&work, &gate);
    std::thread::scope(|scope| {
        let closed = lock(gate);
        let waiting = |item| {
            move || {
                drop(lock(gate));
                work(item)
            }
        };
        let others: Vec<_> = items.map(|item| (item, start(scope, waiting(item)))).collect();
        drop(closed);
        let own = work(own);
        let others =
            others.into_iter().map(|(item, thread)| thread.map_or_else(|| work(item), joined));
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
