//! A temporary directory for every test, and the command in it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crivo::filter::{AnyFilter, Capabilities, Kind};
use tempfile::TempDir;

/// The names of the kinds that can do something.
pub fn kinds_that(can: impl Fn(Capabilities) -> bool) -> impl Iterator<Item = &'static str> {
    Kind::ALL.into_iter().filter(move |kind| can(kind.capabilities())).map(Kind::name)
}

/// Whether filters of this kind count copies of a key.
pub fn counts_copies(kind: &str) -> bool {
    kinds_that(|can| can.free_copies).any(|name| name == kind)
}

/// Their names as a message lists them.
pub fn list_of_kinds_that(can: impl Fn(Capabilities) -> bool) -> String {
    let names: Vec<_> = kinds_that(can).collect();
    let (last, others) = names.split_last().expect("a kind that can");
    format!("{} and {last} filters", others.join(", "))
}

/// The names of all kinds.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    kinds_that(|_| true)
}

/// A temporary directory in which commands run.
pub struct TestDir {
    dir: TempDir,
}

/// A finished command.
#[derive(Debug)]
pub struct Finished {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl TestDir {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a file in a temporary directory");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file that was written")
    }

    /// A file with the lines `start..end`.
    pub fn numbers(&self, name: &str, range: std::ops::Range<u32>) {
        let text: String = range.map(|number| format!("{number}\n")).collect();
        self.write(name, text);
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).expect("the directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn load(&self, name: &str) -> AnyFilter {
        AnyFilter::load(self.path(name)).expect("a filter, whole and undamaged")
    }

    /// `crivo` with these arguments, separated by spaces.
    pub fn crivo(&self, arguments: &str) -> Command {
        self.in_dir(env!("CARGO_BIN_EXE_crivo"), &arguments.split(' ').collect::<Vec<_>>())
    }

    pub fn in_dir(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        command
    }

    pub fn run(&self, arguments: &str) -> Finished {
        Finished::of(self.crivo(arguments).output().expect("the command runs"))
    }

    /// With something on standard input.
    pub fn run_with(&self, arguments: &str, input: &[u8]) -> Finished {
        let mut command = self.crivo(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        // A command that stops early does not read all of it.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        Finished::of(child.wait_with_output().expect("the command ends"))
    }

    /// A shell script, in which `$CRIVO` is the command.
    pub fn shell(&self, script: &str) -> Finished {
        let mut command = self.in_dir("sh", &["-c", script]);
        Finished::of(command.env("CRIVO", env!("CARGO_BIN_EXE_crivo")).output().expect("a shell"))
    }

    /// A command that must succeed.
    pub fn ok(&self, arguments: &str) -> Finished {
        let finished = self.run(arguments);
        assert_eq!(finished.status, 0, "crivo {arguments}: {finished:?}");
        finished
    }

    /// A command that must fail with status 2, with all of these in its message and no output.
    pub fn fails(&self, arguments: &str, messages: &[&str]) {
        self.run(arguments).failed(arguments, messages);
    }
}

impl Finished {
    pub fn of(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    pub fn failed(&self, what: &str, messages: &[&str]) {
        assert_eq!(self.status, 2, "{what}: {self:?}");
        assert!(self.out.is_empty(), "{what}: {self:?}");
        for message in messages {
            assert!(self.err.contains(message), "{what}: {message:?} is not in {:?}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{what}: {self:?}");
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
