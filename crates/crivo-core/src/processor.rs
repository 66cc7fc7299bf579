//! Where a thread runs.
//!
//! Some systems begin a thread on the processor of the one that starts it, although others are idle, and look at
//! that only some milliseconds later: in virtual machines above all. Small work is done by then, on one processor.
//!
//! Where a system does not tell, or is not asked, nothing is done.

#![allow(unsafe_code)] // Calls of the system.

/// The processor on which this thread runs, if the system tells.
///
/// ```
/// use crivo_core::processor;
///
/// let _: Option<usize> = processor::current();
/// ```
pub fn current() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: it takes nothing, and returns a number, negative if there is none.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Moves this thread elsewhere if it runs on that processor and may run on others. It may come back later, as the system
/// thinks fit.
///
/// ```
/// use crivo_core::processor;
///
/// std::thread::scope(|scope| {
///     let here = processor::current();
///     scope.spawn(move || here.into_iter().for_each(processor::leave));
/// });
/// ```
pub fn leave(processor: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if current() == Some(processor) && processor < libc::CPU_SETSIZE as usize {
        // SAFETY: any bits are a set, also none.
        let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let bytes = size_of_val(&allowed);
        // SAFETY: there is room for as many bytes, and 0 means this thread. Without room for all processors of this
        // machine it fails.
        if unsafe { libc::sched_getaffinity(0, bytes, &mut allowed) } != 0 {
            return;
        }
        let mut others = allowed;
        // SAFETY: the processor is in the range of a set.
        unsafe { libc::CPU_CLR(processor, &mut others) };
        // If there are no others, the first call fails, and changes nothing; the second allows what was allowed.
        for set in [others, allowed] {
            // SAFETY: the set is read, and has as many bytes.
            unsafe { libc::sched_setaffinity(0, bytes, &set) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = processor;
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        // SAFETY: as in `leave`.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
            (0..libc::CPU_SETSIZE as usize).filter(|&i| libc::CPU_ISSET(i, &set)).collect()
        }
    }

    fn allow(processors: &[usize]) {
        // SAFETY: as in `leave`.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            processors.iter().for_each(|&processor| libc::CPU_SET(processor, &mut set));
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
        }
    }

    /// Which processors are allowed is as before, whether there are others or not.
    #[test]
    fn a_thread_leaves_if_it_may() {
        let before = allowed();
        for &processor in &before {
            // A thread that is allowed one processor is there; it stays.
            allow(&[processor]);
            assert_eq!(current(), Some(processor));
            leave(processor);
            assert_eq!((current(), allowed()), (Some(processor), vec![processor]));
            allow(&before);
        }
        if let [one, other, ..] = before[..] {
            allow(&[one]);
            allow(&[one, other]);
            leave(one);
            assert_eq!(allowed(), [one, other]);
        }
        leave(usize::MAX);
        allow(&before);
    }
}
