//! `query`, `dedup`, `diff`, `common` and `count`.

mod bad_input;
mod compare;
mod count;
mod dedup;
#[cfg(target_os = "linux")]
mod progress;
mod query;
#[cfg(unix)]
#[path = "../common/unprivileged.rs"]
mod unprivileged;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

/// A temporary directory, and the command in it.
pub(crate) struct TestDir {
    dir: TempDir,
}

/// A finished command.
pub(crate) struct Finished {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl TestDir {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file with these bytes.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The command, to be run in the directory.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crivo"));
        command.args(args).current_dir(&self.dir);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command with no input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Finished {
        self.run_with(args, b"")
    }

    /// Runs the command with these bytes on its standard input, a pipe.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Finished {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that stops early does not read all of it.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let finished = Finished::from(child.wait_with_output().unwrap());
        writer.join().unwrap();
        finished
    }

    /// A filter of these lines, by `crivo build`.
    pub(crate) fn filter(&self, name: &str, lines: &str, more: &[&str]) -> PathBuf {
        let path = self.path(name);
        let args = [&["build", "-o", name], more].concat();
        let finished = self.run_with(args, lines.as_bytes());
        assert_eq!(finished.status, Some(0), "{}", finished.stderr);
        path
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { status: output.status.code(), stdout: output.stdout, stderr }
    }
}

impl Finished {
    /// The output of a successful command.
    #[track_caller]
    pub(crate) fn printed(self) -> Vec<u8> {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// The output of a successful command, as text.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        String::from_utf8(self.printed()).unwrap()
    }

    /// The message of a failed command, with status 2.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        assert_eq!(self.status, Some(2), "{}", self.stderr);
        assert!(self.stderr.starts_with("crivo: error: ") || self.stderr.starts_with("error: "));
        self.stderr
    }
}

/// The numbers of a range, a line each.
pub(crate) fn lines(range: impl IntoIterator<Item = u64>) -> String {
    range.into_iter().map(|number| format!("line {number}\n")).collect()
}

/// Whether a directory is empty.
pub(crate) fn is_empty(directory: &Path) -> bool {
    directory.read_dir().unwrap().next().is_none()
}
