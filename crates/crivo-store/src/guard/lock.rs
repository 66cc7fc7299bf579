//! A lock for many readers and rare writers, which readers do not feel.
//!
//! A reader of an ordinary lock counts itself in and out, and both times the processor waits until all its earlier
//! reads have come. A question to a guard is little more than one read of memory that is far away; so nearly all
//! of the time of a question would be waiting for the one before. Here a reader takes a *slot* by one such
//! operation, and leaves it by an ordinary write, behind which the next question can begin. (The idea is that of
//! BRAVO: Dice and Kogan, "BRAVO – Biased Locking for Reader-Writer Locks", USENIX ATC 2019.)
//!
//! ```text
//!   reader   takes the slot of its thread        is the gate closed?   reads    leaves the slot
//!   writer   waits for other writers             closes the gate       waits until no slot is taken    writes
//! ```
//!
//! Either the reader sees that the gate is closed, or the writer sees that the slot is taken: each writes before it
//! reads, and all of these operations have one order (`SeqCst`). A reader that finds the gate closed, or its slot
//! taken, waits at an ordinary lock that all writers hold.

#![allow(unsafe_code)] // The value is reached by readers and writers; the gate keeps them apart.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::thread_number;

/// How often a writer looks for readers before it offers its processor to somebody else, and how often until it sleeps:
/// a reader may ask many questions at once, or wait for its store.
const SPINS: u32 = 1 << 8;
const TURNS: u32 = SPINS + (1 << 6);

/// So long it sleeps at a time.
const SLEEP: Duration = Duration::from_micros(50);

/// A value that many threads read, and few write, seldom.
pub(super) struct Lock<T> {
    gate: Gate<AtomicBool, { thread_number::COUNT }>,
    /// Of those for whom the gate is closed. All writers hold it.
    others: CachePadded<RwLock<()>>,
    value: UnsafeCell<T>,
}

// SAFETY: the value goes with the lock.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: threads share the value to read it, and each may be the one that writes.
unsafe impl<T: Send + Sync> Sync for Lock<T> {}

// Whoever finds the lock poisoned sees nothing of the value, unless it asks for that.
impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Self { gate: Gate::new(), others: RwLock::new(()).into(), value: UnsafeCell::new(value) }
    }

    /// The value, which nobody changes meanwhile; `None` if a writer has panicked.
    ///
    /// A thread that reads already must not ask again: between the two a writer may wait.
    #[inline(always)]
    pub(super) fn read(&self) -> Option<Reading<'_, T>> {
        match self.gate.enter(thread_number::of_this_thread()) {
            Some(slot) => Some(Reading { lock: self, _way: Way::Slot(slot) }),
            None => self.read_with_others(),
        }
    }

    #[cold]
    fn read_with_others(&self) -> Option<Reading<'_, T>> {
        Some(Reading { lock: self, _way: Way::Others(self.others.read().ok()?) })
    }

    /// The value, also if a writer has panicked.
    pub(super) fn read_anyway(&self) -> Reading<'_, T> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        Reading { lock: self, _way: Way::Others(others) }
    }

    /// The value, which nobody else sees meanwhile; `None` if a writer has panicked. A thread that reads must not ask for
    /// it, nor wait for whoever does.
    pub(super) fn write(&self) -> Option<Writing<'_, T>> {
        let others = self.others.write().ok()?;
        let mut turns = 0;
        self.gate.close(|| {
            match turns {
                ..SPINS => std::hint::spin_loop(),
                SPINS..TURNS => std::thread::yield_now(),
                _ => return std::thread::sleep(SLEEP),
            }
            turns += 1;
        });
        Some(Writing { lock: self, was_panicking: std::thread::panicking(), _others: others })
    }

    /// Whether a writer has panicked.
    pub(super) fn is_poisoned(&self) -> bool {
        self.others.is_poisoned()
    }
}

/// The value while it is read.
pub(super) struct Reading<'a, T> {
    lock: &'a Lock<T>,
    /// Left when this is dropped.
    _way: Way<'a>,
}

enum Way<'a> {
    Slot(#[expect(dead_code, reason = "it is left when it is dropped")] Slot<'a, AtomicBool>),
    Others(
        #[expect(dead_code, reason = "it is unlocked when it is dropped")] RwLockReadGuard<'a, ()>,
    ),
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a writer writes only while it holds the lock of the others and no slot is taken, and this has
        // one of the two as long as it lives.
        unsafe { &*self.lock.value.get() }
    }
}

/// The value while it is written.
pub(super) struct Writing<'a, T> {
    lock: &'a Lock<T>,
    /// What is dropped in a panic may write, too.
    was_panicking: bool,
    _others: RwLockWriteGuard<'a, ()>,
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as below.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this holds the lock of the others, which other writers and readers wait for, and has closed the
        // gate: nobody is in a slot, or comes in, as long as it lives.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        // After a panic the gate stays closed: whoever comes finds the lock of the others poisoned.
        if self.was_panicking || !std::thread::panicking() {
            self.lock.gate.open();
        }
    }
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("is_poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

/// Slots that readers take, unless the gate is closed.
struct Gate<F, const N: usize> {
    slots: [CachePadded<F>; N],
    is_closed: CachePadded<F>,
}

/// What the gate is made of: `true` or `false`, in one order for all threads.
trait Flag {
    fn new() -> Self;
    fn get(&self) -> bool;
    fn set(&self, value: bool);
    /// Sets it, and tells what it was.
    fn raise(&self) -> bool;
    /// Puts it back. Whoever finds it so afterwards sees what was done before.
    fn lower(&self);
}

impl Flag for AtomicBool {
    fn new() -> Self {
        Self::new(false)
    }

    #[inline(always)]
    fn get(&self) -> bool {
        self.load(Ordering::SeqCst)
    }

    fn set(&self, value: bool) {
        self.store(value, Ordering::SeqCst);
    }

    #[inline(always)]
    fn raise(&self) -> bool {
        self.swap(true, Ordering::SeqCst)
    }

    #[inline(always)]
    fn lower(&self) {
        self.store(false, Ordering::Release);
    }
}

impl<F: Flag, const N: usize> Gate<F, N> {
    fn new() -> Self {
        Self { slots: std::array::from_fn(|_| F::new().into()), is_closed: F::new().into() }
    }

    /// Takes a slot, unless it is taken or the gate is closed.
    #[inline(always)]
    fn enter(&self, slot: usize) -> Option<Slot<'_, F>> {
        let flag: &F = &self.slots[slot];
        if flag.raise() {
            // Somebody else's.
            return None;
        }
        let slot = Slot { flag };
        // Dropped, it is left again.
        (!self.is_closed.get()).then_some(slot)
    }

    /// Closes the gate, and waits until no slot is taken. There is one writer at a time.
    fn close(&self, mut wait: impl FnMut()) {
        self.is_closed.set(true);
        for slot in &self.slots {
            while slot.get() {
                wait();
            }
        }
    }

    fn open(&self) {
        self.is_closed.set(false);
    }
}

/// A slot that is taken.
struct Slot<'a, F: Flag> {
    flag: &'a F,
}

impl<F: Flag> Drop for Slot<'_, F> {
    #[inline(always)]
    fn drop(&mut self) {
        self.flag.lower();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// Two halves that are equal whenever nobody writes.
    #[test]
    fn readers_never_see_half_of_a_change() {
        let lock = Lock::new([0u64; 2]);
        let [reads, writes] = [const { AtomicU64::new(0) }; 2];
        let end = Instant::now() + Duration::from_millis(if cfg!(miri) { 50 } else { 300 });
        thread::scope(|scope| {
            // More readers than slots, so that some have to wait with the others.
            for _ in 0..thread_number::COUNT + 3 {
                scope.spawn(|| {
                    let mut last = 0;
                    // Once at least, however late this thread begins.
                    loop {
                        let value = lock.read().unwrap();
                        assert_eq!(value[0], value[1]);
                        assert!(value[0] >= last, "an older value came back");
                        last = value[0];
                        reads.fetch_add(1, Ordering::Relaxed);
                        if Instant::now() >= end {
                            break;
                        }
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    while Instant::now() < end {
                        let mut value = lock.write().unwrap();
                        value[0] += 1;
                        thread::yield_now();
                        value[1] += 1;
                        writes.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(lock.read().unwrap()[0], writes.into_inner());
        assert!(reads.into_inner() > 0);
    }

    #[test]
    fn a_slot_that_is_taken_leaves_the_way_of_the_others() {
        let lock = Lock::new(7);
        // One thread may read twice while nobody wants to write.
        let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
        assert!(matches!(first._way, Way::Slot(_)));
        assert!(matches!(second._way, Way::Others(_)));
        assert_eq!((*first, *second), (7, 7));
        drop((first, second));
        assert!(matches!(lock.read().unwrap()._way, Way::Slot(_)));
        *lock.write().unwrap() = 8;
        assert!(matches!(lock.read().unwrap()._way, Way::Slot(_)));
    }

    #[test]
    fn after_a_panic_of_a_writer_nobody_reads() {
        let lock = Lock::new(7);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _writing = lock.write().unwrap();
            panic!("while writing");
        }));
        assert!(panic.is_err() && lock.is_poisoned());
        assert!(lock.read().is_none() && lock.write().is_none());
        assert_eq!(*lock.read_anyway(), 7);
        // What is written in the course of a panic is written whole.
        struct WritesAtTheEnd<'a>(&'a Lock<u32>);
        impl Drop for WritesAtTheEnd<'_> {
            fn drop(&mut self) {
                *self.0.write().unwrap() = 8;
            }
        }
        let lock = Lock::new(7);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _writes = WritesAtTheEnd(&lock);
            panic!("before writing");
        }));
        assert!(panic.is_err() && !lock.is_poisoned());
        let reading = lock.read().unwrap();
        assert!(*reading == 8 && matches!(reading._way, Way::Slot(_)));
        drop(reading);
        // One that panics while it reads has changed nothing.
        let lock = Lock::new(7);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _reading = lock.read().unwrap();
            panic!("while reading");
        }));
        assert!(panic.is_err() && !lock.is_poisoned());
        assert!(lock.read().is_some() && lock.write().is_some());
    }

    /// In every order of events with up to three preemptions, as loom knows them: its flags differ from those above, as
    /// they say. Of those who wait with the others it knows nothing.
    #[test]
    #[cfg_attr(miri, ignore = "loom has its own")]
    fn a_reader_in_a_slot_and_a_writer_exclude_each_other() {
        use loom::cell::UnsafeCell;
        use loom::sync::Arc;

        struct Model {
            gate: Gate<LoomFlag, 2>,
            value: UnsafeCell<u32>,
        }

        /// loom takes `SeqCst` for less than it is, except in fences.
        struct LoomFlag(loom::sync::atomic::AtomicBool);

        impl Flag for LoomFlag {
            fn new() -> Self {
                Self(loom::sync::atomic::AtomicBool::new(false))
            }

            fn get(&self) -> bool {
                loom::sync::atomic::fence(Ordering::SeqCst);
                self.0.load(Ordering::Acquire)
            }

            fn set(&self, value: bool) {
                self.0.store(value, Ordering::Release);
                loom::sync::atomic::fence(Ordering::SeqCst);
            }

            fn raise(&self) -> bool {
                let was = self.0.swap(true, Ordering::AcqRel);
                loom::sync::atomic::fence(Ordering::SeqCst);
                was
            }

            fn lower(&self) {
                // A store would do. But loom may put one before a swap that has read what was there before it.
                self.0.swap(false, Ordering::Release);
            }
        }

        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        // Readers of one slot, and of two.
        for slots in [[0, 0], [0, 1]] {
            builder.check(move || {
                let model = Arc::new(Model { gate: Gate::new(), value: UnsafeCell::new(0) });
                // loom's cell panics if one reads while another writes.
                let reader = |slot| {
                    let model = model.clone();
                    loom::thread::spawn(move || {
                        if let Some(_slot) = model.gate.enter(slot) {
                            // SAFETY: loom would tell.
                            model.value.with(|value| unsafe { *value });
                        }
                    })
                };
                let readers = slots.map(reader);
                model.gate.close(loom::thread::yield_now);
                // SAFETY: as above.
                model.value.with_mut(|value| unsafe { *value += 1 });
                model.gate.open();
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                // SAFETY: as above.
                assert_eq!(model.value.with(|value| unsafe { *value }), 1);
                assert!(model.gate.enter(0).is_some());
            });
        }
    }
}
