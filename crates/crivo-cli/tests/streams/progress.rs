//! The progress bar, on a pseudo-terminal.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::Stdio;
use std::ptr;
use std::thread;
use std::time::Duration;

use super::TestDir;

/// Longer than the time after which a bar appears.
const LONG: Duration = Duration::from_millis(700);

/// The two ends of a pseudo-terminal: what it shows, and where programs write.
fn terminal() -> (File, File) {
    let (mut shown, mut written) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are valid, or null where that is allowed.
    let status =
        unsafe { libc::openpty(&mut shown, &mut written, ptr::null_mut(), ptr::null(), &size) };
    assert_eq!(status, 0);
    // SAFETY: both were just opened, and belong to nobody else.
    unsafe { (File::from_raw_fd(shown), File::from_raw_fd(written)) }
}

/// What a command shows on a terminal while it reads a slow pipe. If the terminal is locked, it is so as
/// by another command that shows a bar.
fn shown(options: &[&str], is_locked: bool) -> String {
    let (mut shown, written) = terminal();
    let other = File::open(format!("/proc/self/fd/{}", written.as_raw_fd())).unwrap();
    if is_locked {
        other.lock().unwrap();
    }
    let dir = TestDir::new();
    let mut command = dir.command(["dedup"].iter().chain(options));
    command.env("TERM", "xterm").stdin(Stdio::piped()).stderr(written);
    let mut child = command.spawn().unwrap();
    // The command holds its end of the terminal, too.
    drop(command);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for (number, pause) in [(1, LONG), (2, LONG), (3, Duration::ZERO)] {
        writeln!(input, "line {number}").unwrap();
        output.read_line(&mut line).unwrap();
        thread::sleep(pause);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(line, "line 1\nline 2\nline 3\n");
    drop(other);
    let mut bytes = Vec::new();
    // At its end, the terminal reports an error.
    let _ = shown.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_bar_is_shown_unless_it_is_not_wanted() {
    const SUMMARY: &str = "crivo: 0 records dropped of 3\r\n";
    let all = shown(&[], false);
    assert!(all.contains("14 B") && all.ends_with(SUMMARY), "{all:?}");
    assert_eq!(shown(&["--no-progress"], false), SUMMARY);
    assert_eq!(shown(&["--quiet"], false), "");
    assert_eq!(shown(&[], true), SUMMARY);
}
