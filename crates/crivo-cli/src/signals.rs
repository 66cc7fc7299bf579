//! Signals that would end the command without a word.

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
