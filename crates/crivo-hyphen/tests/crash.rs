//! A process that adds exceptions is killed again and again: it loses no acknowledged exception, and
//! the guard hides none.

#![cfg(feature = "stored")]

use std::io::{BufRead, BufReader, Write, stdout};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use crivo::filter::Kind;
use crivo_hyphen::exceptions::{GuardOptions, StoredExceptions};
use crivo_hyphen::{Exception, Exceptions};

/// Environment variables of the child: the path of the store, and the number of the guard's kind.
const STORE: &str = "CRIVO_CRASH_STORE";
const KIND: &str = "CRIVO_CRASH_KIND";

/// Words are added in batches of this size, all or none.
const BATCH: u64 = 3;

fn guard(kind: Kind) -> Option<GuardOptions> {
    Some(GuardOptions::new(kind, 0.01).unwrap())
}

/// A different word for every number.
fn exception(number: u64) -> Exception {
    let letters: String =
        format!("{number:05}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    Exception::parse(&format!("wo-rd-{letters}")).unwrap()
}

/// Not a test by itself: the code of the child, until it is killed.
#[test]
fn child() {
    let (Ok(store), Ok(kind)) = (env::var(STORE), env::var(KIND)) else { return };
    let kind = Kind::from_id(kind.parse().unwrap()).unwrap();
    let mut words = StoredExceptions::open(&store, guard(kind)).unwrap();
    for batch in words.key_count().unwrap() / BATCH.. {
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        words.insert(numbers.map(exception)).unwrap();
        // On a separate line, because the test harness prints as well.
        println!("\nacknowledged {batch}");
        stdout().flush().unwrap();
        match batch % 4 {
            1 => {
                words.close().unwrap();
                words = StoredExceptions::open(&store, guard(kind)).unwrap();
            }
            3 => {
                // A word is added and removed, and the store is closed and opened.
                let passing =
                    Exception::parse(&format!("pass-ing{}", "x".repeat(batch as usize % 9)));
                let passing = passing.unwrap();
                words.insert([passing.clone()]).unwrap();
                words.remove([passing.word()]).unwrap();
                drop(words);
                words = StoredExceptions::open(&store, guard(kind)).unwrap();
            }
            _ => {}
        }
    }
}

/// Starts the child, kills it some time after a number of acknowledgements, and returns the last
/// batch that it acknowledged.
fn run_and_kill(store: &Path, kind: Kind, acknowledgements: usize, delay: Duration) -> Option<u64> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(STORE, store)
        .env(KIND, kind.id().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = None;
    let mut read_one = || {
        let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("ack")))?;
        // A line that was cut short by the kill does not count.
        line.ok()?.strip_prefix("acknowledged ")?.parse::<u64>().ok()
    };
    for _ in 0..acknowledgements {
        last = Some(read_one().expect("the child adds words until it is killed"));
    }
    thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    // Lines that were in the pipe when it was killed count as well.
    while let Some(batch) = read_one() {
        last = Some(batch);
    }
    last
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    for kind in Kind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("words.redb");
        let mut acknowledged = 0;
        for (round, acknowledgements) in [0, 0, 1, 0, 2, 4, 3, 5].into_iter().enumerate() {
            // Delays spread over the time of a few batches.
            let delay = Duration::from_micros(round as u64 * 1_700);
            if let Some(last) = run_and_kill(&store, kind, acknowledgements, delay) {
                acknowledged = last + 1;
            }
            let words = StoredExceptions::open(&store, guard(kind)).unwrap();
            for number in 0..acknowledged * BATCH {
                let exception = exception(number);
                let found = words.find(exception.word());
                assert_eq!(found.as_ref(), Some(exception.breaks()), "{kind}: {exception} is lost");
            }
            // The guard lets everything through that is in the store, acknowledged or not.
            let mut batched = 0;
            for entry in words.iter().unwrap() {
                let exception = entry.unwrap();
                assert!(words.get(exception.word()).unwrap().is_some(), "{exception} is hidden");
                batched += u64::from(exception.word().starts_with("wo"));
            }
            assert_eq!(batched % BATCH, 0, "a batch is stored completely or not at all");
            assert_eq!(words.counters().failures, 0);
        }
        assert!(acknowledged >= 15, "the child was killed while it worked, not before");
    }
}
