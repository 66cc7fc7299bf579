//! Where there is no memory, what can fail says so, and has changed nothing.
//!
//! Every constructor, loader, union and build runs under a limit of the address space, that is raised
//! step by step until it succeeds. Whatever lies in between must be an error that names the memory: not
//! a panic, and not the end of the process. As that could not be told from inside, the operations run in
//! a process of their own: this test program, started again for its ignored test.
//!
//! Tables and whatever else grows with keys or files are asked for with care. Small things are not,
//! such as the text of an error: a reserve in the heap keeps them out of this.

#![cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]

mod filters;
mod formats;
mod limits;
mod others;

use std::process::Command;

use self::limits::{LARGE, Limits, PAGE};

/// By what share of itself the child raises the limit, at least by a page: one in this many.
const SHARE: &str = "CRIVO_TEST_MEMORY_SHARE";

/// Enough that tables are [`LARGE`], and that a fuse filter is worth a second thread.
const KEYS: u64 = 300_000;

const FPR: f64 = 1e-4;

fn run_child(share: u64) {
    // What the heap does not need it gives back at once, or the next operation would find it there.
    let tunables = format!(
        "glibc.malloc.mmap_threshold={LARGE}:glibc.malloc.trim_threshold={PAGE}:\
         glibc.malloc.top_pad=0:glibc.malloc.arena_max=1"
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
        .env(SHARE, share.to_string())
        .env("GLIBC_TUNABLES", tunables)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {last:?}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "{last:?}");
}

#[test]
fn too_little_memory_is_an_error_that_changes_nothing() {
    run_child(8);
}

#[test]
#[ignore = "takes minutes: the same with limits close to each other"]
fn a_little_too_little_memory_is_an_error_that_changes_nothing() {
    run_child(512);
}

#[test]
#[ignore = "started by the other tests, in a process of its own"]
fn child() {
    let Ok(share) = std::env::var(SHARE) else { return };
    let limits = Limits::new(share.parse().unwrap());
    filters::all(&limits);
    formats::all(&limits);
    others::all(&limits);
    limits.assert_that_they_limit();
}
