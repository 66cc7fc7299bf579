//! Writers in processes of their own, which say what they do until they are killed.

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Set for a process that is to be killed: where it writes.
pub const CHILD: &str = "CRIVO_STORE_TEST_CHILD";

/// What a writer does to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub key: u64,
    /// `None`: it deletes.
    pub value: Option<String>,
}

impl Operation {
    pub fn put(key: u64, value: impl Into<String>) -> Self {
        Self { key, value: Some(value.into()) }
    }

    pub fn delete(key: u64) -> Self {
        Self { key, value: None }
    }

    /// Says in a writer that this begins.
    pub fn begin(&self) {
        match &self.value {
            Some(value) => say(format_args!("begin put {} {value}", self.key)),
            None => say(format_args!("begin delete {}", self.key)),
        }
    }

    /// Says in a writer that the store has acknowledged what was begun.
    pub fn end(self) {
        say(format_args!("done"));
    }
}

/// On a line of its own: the test program prints as well.
fn say(line: fmt::Arguments<'_>) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{line}").and_then(|()| output.flush()).unwrap();
}

/// What a writer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Begun(Operation),
    Acknowledged(Operation),
}

/// Starts a test of this program as a writer, which finds `place` in [`CHILD`].
pub fn start(test: &str, place: impl AsRef<OsStr>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a writer says, until its end.
pub fn events(output: ChildStdout) -> impl Iterator<Item = Event> {
    let mut begun = None;
    BufReader::new(output).lines().filter_map(move |line| {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["begin", "put", key, value] => {
                begun = Some(Operation::put(key.parse().unwrap(), value));
            }
            ["begin", "delete", key] => begun = Some(Operation::delete(key.parse().unwrap())),
            ["done"] => return Some(Event::Acknowledged(begun.take().unwrap())),
            _ => return None,
        }
        begun.clone().map(Event::Begun)
    })
}

/// What a writer that was killed had done.
#[derive(Debug, Default)]
pub struct Journal {
    pub acknowledged: Vec<Operation>,
    /// Nobody knows whether this was done.
    pub under_way: Option<Operation>,
}

impl Journal {
    /// Starts a writer, and kills it after this many events and this time.
    pub fn of_killed(
        test: &str,
        place: impl AsRef<OsStr>,
        event_count: u64,
        pause: Duration,
    ) -> Self {
        let mut child = start(test, place);
        let mut events = events(child.stdout.take().unwrap());
        let mut journal = Self::default();
        events.by_ref().take(event_count as usize).for_each(|event| journal.add(event));
        thread::sleep(pause);
        child.kill().unwrap();
        events.for_each(|event| journal.add(event));
        assert_eq!(child.wait().unwrap().code(), None, "the writer ended by itself");
        journal
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Begun(operation) => self.under_way = Some(operation),
            Event::Acknowledged(operation) => {
                self.under_way = None;
                self.acknowledged.push(operation);
            }
        }
    }
}
