//! What the system does to a process before it can say a word.

#![allow(unsafe_code)]

/// Lets a write beyond a limit on the size of files fail, as a write to a full disk does: then there
/// is an error to report, and a temporary file to remove. Otherwise the process is killed.
pub(crate) fn outlive_file_size_limits() {
    #[cfg(unix)]
    // SAFETY: ignoring a signal runs no code of ours when it comes; no other thread is there yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether the process was started without a standard output (`>&-`).
///
/// The standard library opens `/dev/null` in its place before `main` begins, so that whatever was
/// printed would be lost without an error.
pub(crate) fn lacks_standard_output() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return at_start::LACKS_STANDARD_OUTPUT.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    false
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) static LACKS_STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

    extern "C" fn look() {
        // SAFETY: asking about a number that is no file is an error, and nothing else.
        let is_open = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } != -1;
        LACKS_STANDARD_OUTPUT.store(!is_open, Ordering::Relaxed);
    }

    // SAFETY: the loader calls every function in this section once, before `main` and before the
    // standard library has begun; `look` needs nothing of it.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}
