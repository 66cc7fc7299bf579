//! Work on several threads, where there can be several.
//!
//! The number of threads and the address space may be limited. What no thread can be started for is
//! done by the thread that asks for it.
//!
//! A thread that has started, and then finds no memory for what the system lays beside its stack, ends
//! the process. So one is started only where there is a reserve of memory, and nothing here takes of
//! that reserve before the thread is under way.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::ParameterError;

/// A thread is started only where there is memory for this many bytes more.
const RESERVE: usize = 1 << 26;

/// Fewer keys than this are not worth a thread.
pub(super) const WORTH_A_THREAD: usize = 1 << 16;

/// How often a thread looks for the others before it offers its processor to somebody else, and how often before it
/// sleeps: there are more threads than processors, or other programs have them.
const SPINS: u32 = 1 << 10;
const LOOKS: u32 = 2 * SPINS;
const NAP: Duration = Duration::from_micros(50);

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
    let gate = Gate::default();
    let run = |item: &Mutex<Option<I>>| {
        let item = lock(item).take();
        work(item.expect("it runs once, here or there"))
    };
    let (run, gate) = (&run, &gate);
    std::thread::scope(|scope| {
        let opening = Opening(gate);
        let waiting = |item| {
            move || {
                gate.pass();
                run(item)
            }
        };
        let others: Vec<_> =
            others.iter().map(|item| (item, start(scope, waiting(item)))).collect();
        drop(opening);
        let own = run(own);
        let others =
            others.into_iter().map(|(item, thread)| thread.map_or_else(|| run(item), joined));
        std::iter::once(own).chain(others).collect()
    })
}

/// Calls `work` at the same time on this thread and on others, as many as can be started up to that many
/// in all. They work in steps, and wait for each other between two of them.
pub(super) fn together(most: usize, work: impl Fn(&Meeting) + Sync) {
    let meeting = Meeting::default();
    let gate = Gate::default();
    let (work, meeting, gate) = (&work, &meeting, &gate);
    std::thread::scope(|scope| {
        let opening = Opening(gate);
        let run = || {
            let absence = Absence(meeting);
            work(meeting);
            std::mem::forget(absence);
        };
        let other = move || {
            gate.pass();
            run();
        };
        let others: Vec<_> = (1..most).map_while(|_| start(scope, other)).collect();
        meeting.members.store(1 + others.len(), Ordering::Relaxed);
        drop(opening);
        let own = std::panic::catch_unwind(AssertUnwindSafe(run));
        let ends = others.into_iter().map(ScopedJoinHandle::join);
        // The panic of a key is for the caller, not that of those who waited for its thread.
        let panics: Vec<_> = std::iter::once(own).chain(ends).filter_map(Result::err).collect();
        if let Some(panic) = panics.into_iter().min_by_key(|panic| panic.is::<LeftAlone>()) {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Why a thread gave up: another one has panicked.
struct LeftAlone;

/// Where threads wait for each other.
#[derive(Default)]
pub(super) struct Meeting {
    members: AtomicUsize,
    arrived: AtomicUsize,
    steps: AtomicUsize,
    is_broken: AtomicBool,
}

/// Tells the others that a thread will not come any more, because it panics. Forgotten where it does not: a thread may
/// build a filter in the course of a panic, so that whether it panics is not the question.
struct Absence<'a>(&'a Meeting);

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        self.0.is_broken.store(true, Ordering::Release);
    }
}

impl Meeting {
    /// Waits until all threads are here; what they did before is known to all then. True for one of
    /// them, which came last.
    ///
    /// As before a [`Gate`], nobody sleeps, unless it takes long.
    ///
    /// # Panics
    /// If another thread has panicked; without a word, for that one has said it.
    pub(super) fn wait(&self) -> bool {
        let step = self.steps.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members.load(Ordering::Relaxed) {
            self.arrived.store(0, Ordering::Relaxed);
            self.steps.store(step.wrapping_add(1), Ordering::Release);
            return true;
        }
        self.until(|| (self.steps.load(Ordering::Acquire) != step).then_some(()));
        false
    }

    /// Waits for something that another thread will tell, and has begun to work on, likewise.
    ///
    /// # Panics
    /// If another thread has panicked, likewise.
    pub(super) fn until<T>(&self, told: impl Fn() -> Option<T>) -> T {
        look_until(|| {
            let told = told();
            if told.is_none() && self.is_broken.load(Ordering::Acquire) {
                std::panic::resume_unwind(Box::new(LeftAlone));
            }
            told
        })
    }
}

/// Closed until somebody opens it. Who waits before it does not sleep at first: a thread that is woken up may come to lie on the
/// processor of the one that wakes it, and share it for milliseconds.
#[derive(Default)]
struct Gate(AtomicBool);

impl Gate {
    fn pass(&self) {
        look_until(|| self.0.load(Ordering::Acquire).then_some(()));
    }
}

/// Opens a gate when it is dropped, whatever happens before.
struct Opening<'a>(&'a Gate);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

/// Looks again and again until there is something. Where that takes long, others need the processor: first they may
/// have it, and then it is left to them.
fn look_until<T>(look: impl Fn() -> Option<T>) -> T {
    let mut turns = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        match turns {
            0..SPINS => std::hint::spin_loop(),
            SPINS..LOOKS => std::thread::yield_now(),
            _ => std::thread::sleep(NAP),
        }
        turns = LOOKS.min(turns + 1);
    }
}

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
            let next = lock(&items).next();
            let Some(item) = next else { break };
            work(item).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    each(0..workers, run).into_iter().collect()
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
    let under_way = Arc::new(Gate::default());
    let begun = Arc::clone(&under_way);
    let run = move || {
        drop(Opening(&begun));
        work()
    };
    let thread = Builder::new().spawn_scoped(scope, run).ok()?;
    under_way.pass();
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

/// What nobody changes meanwhile.
pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// What nobody else looks at meanwhile.
pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

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

    /// Nobody begins a step before all have ended the last one, and one of them is told.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn threads_step_together() {
        for most in [1, 2, 5] {
            let [begun, ended, told] = [const { AtomicUsize::new(0) }; 3];
            together(most, |meeting| {
                for step in 0..100 {
                    begun.fetch_add(1, Ordering::Relaxed);
                    let is_last = meeting.wait();
                    told.fetch_add(usize::from(is_last), Ordering::Relaxed);
                    let members = meeting.members.load(Ordering::Relaxed);
                    assert_eq!(begun.load(Ordering::Relaxed), (step + 1) * members);
                    ended.fetch_add(1, Ordering::Relaxed);
                    meeting.wait();
                }
            });
            assert_eq!(told.into_inner(), 100);
            assert_eq!(ended.into_inner() % 100, 0);
        }
    }

    /// Also where the panic comes while its thread panics already: that one is caught in between.
    #[test]
    fn nobody_waits_for_a_thread_that_panics_in_the_course_of_a_panic() {
        struct PanicsAtTheEnd<'a>(&'a AtomicUsize);
        impl Drop for PanicsAtTheEnd<'_> {
            fn drop(&mut self) {
                let panic = std::panic::catch_unwind(|| {
                    let own = std::thread::current().id();
                    together(2, |meeting| {
                        assert_ne!(std::thread::current().id(), own, "the second panic");
                        meeting.wait();
                    });
                });
                let panic = *panic.unwrap_err().downcast::<String>().unwrap();
                assert!(panic.contains("the second panic"), "{panic}");
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let ended = AtomicUsize::new(0);
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _at_the_end = PanicsAtTheEnd(&ended);
            panic!("the first panic");
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "the first panic");
        assert_eq!(ended.into_inner(), 1);
    }

    /// What a destructor builds while its thread panics is built like anything else.
    #[test]
    fn threads_step_together_in_the_course_of_a_panic() {
        struct StepsAtTheEnd<'a>(&'a AtomicUsize);
        impl Drop for StepsAtTheEnd<'_> {
            fn drop(&mut self) {
                for _ in 0..if cfg!(miri) { 2 } else { 200 } {
                    together(2, |meeting| {
                        meeting.wait();
                        self.0.fetch_add(1, Ordering::Relaxed);
                        meeting.wait();
                    });
                }
            }
        }
        let steps = AtomicUsize::new(0);
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _steps = StepsAtTheEnd(&steps);
            panic!("before the steps");
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "before the steps");
        assert!(steps.into_inner() >= 2);
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
