//! Signals and file descriptors as the process finds them at its start.

#![allow(unsafe_code)]

/// Makes a write beyond the limit on file sizes fail with an error, as a write to a full disk does.
/// By default the signal kills the process.
pub(crate) fn ignore_file_size_signal() {
    #[cfg(unix)]
    // SAFETY: an ignored signal runs no handler, and there are no other threads yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether the process was started without a standard input (`<&-`).
///
/// The standard library opens `/dev/null` in its place before `main` begins, so that there would seem
/// to be no records.
pub(crate) fn lacks_standard_input() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return at_start::LACKS_STANDARD_INPUT.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    false
}

/// Whether the process was started without a standard output (`>&-`), which would be lost without an
/// error in the same way.
pub(crate) fn lacks_standard_output() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return at_start::LACKS_STANDARD_OUTPUT.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    false
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) static LACKS_STANDARD_INPUT: AtomicBool = AtomicBool::new(false);
    pub(super) static LACKS_STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

    extern "C" fn check() {
        for (number, lacks) in [
            (libc::STDIN_FILENO, &LACKS_STANDARD_INPUT),
            (libc::STDOUT_FILENO, &LACKS_STANDARD_OUTPUT),
        ] {
            // SAFETY: `F_GETFD` on a number that is not an open file returns -1 and has no effect.
            let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } != -1;
            lacks.store(!is_open, Ordering::Relaxed);
        }
    }

    // SAFETY: the loader calls every function in this section once, before `main` and before the
    // standard library is initialised; `check` uses nothing of it.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static CHECK: extern "C" fn() = check;
}
