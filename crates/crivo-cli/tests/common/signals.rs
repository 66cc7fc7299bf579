//! Sending signals to the command under test.

#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Gives SIGINT its default effect on the command. A shell without job control starts background
/// processes with SIGINT ignored, and their children inherit that: tests that run in the background
/// would interrupt nothing.
pub fn interruptible(command: &mut Command) -> &mut Command {
    // SAFETY: `signal` is async-signal-safe, and may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        })
    }
}

/// Sends a signal to a child.
pub fn send(signal: i32, child: &Child) {
    // SAFETY: a `Child` that has not been waited for keeps its process id.
    let status = unsafe { libc::kill(child.id() as i32, signal) };
    assert_eq!(status, 0, "signal {signal} could not be sent");
}
