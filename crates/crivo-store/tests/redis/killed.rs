//! Writers that are killed at random points.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::{AsyncGuarded, AsyncStore, Owner, SharedOptions};

use crate::journal::{CHILD, Event, Journal, Operation, events, start};
use crate::servers::{Servers, Single, with};
use crate::{guard, options, stops_absent_keys, stops_absent_keys_when, wait_until};

/// How many keys a writer has.
const KEYS: u8 = 40;

/// Writes as an owner until it is killed, if the process was started for that.
pub fn write_as_owner<S: Servers>() {
    let Ok(place) = std::env::var(CHILD) else { return };
    with(|servers: S, _| async move {
        let (prefix, file) = place.split_once(' ').unwrap();
        let mut random = Random::new(Owner::random().unwrap().0 as u64);
        loop {
            let options = options(Kind::Cuckoo).take_over(true).file(file);
            let guarded = AsyncGuarded::open(servers.store(prefix), options).await.unwrap();
            for _ in 0..random.below(60) {
                let key = random.below(KEYS.into());
                if random.below(3) == 0 {
                    let operation = Operation::delete(key);
                    operation.begin();
                    guarded.delete(&[key as u8]).await.unwrap();
                    operation.end();
                } else {
                    let operation = Operation::put(key, "x");
                    operation.begin();
                    guarded.put(&[key as u8], b"x").await.unwrap();
                    operation.end();
                }
            }
            if random.below(2) == 0 {
                guarded.close().await.unwrap();
            }
        }
    });
}

#[test]
fn owner() {
    write_as_owner::<Single>();
}

#[test]
fn killed_owners_hide_nothing() {
    kill_owners::<Single>("killed::owner", 8);
}

pub fn kill_owners<S: Servers>(test: &str, rounds: u32) {
    with(|servers: S, prefix| async move {
        let mut random = Random::new(5);
        let mut expected: BTreeMap<u8, bool> = BTreeMap::new();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guard");
        let place = format!("{prefix} {}", file.display());
        for round in 0..rounds {
            let event_count = 15 + random.below(150);
            // Some die later, while they close the store: between the guard's file and the record, too.
            let pause = Duration::from_micros(random.below(2) * random.below(8_000));
            let journal = Journal::of_killed(test, &place, event_count, pause);
            assert!(!journal.acknowledged.is_empty(), "the writer did nothing");
            for operation in journal.acknowledged {
                expected.insert(operation.key as u8, operation.value.is_some());
            }
            let under_way = journal.under_way.map(|operation| operation.key as u8);

            let raw = servers.store(&prefix);
            let options = options(Kind::Cuckoo).take_over(true).file(&file);
            let guarded = AsyncGuarded::open(servers.store(&prefix), options).await.unwrap();
            // The claim comes after the killed writer's last command or refuses it.
            let snapshot =
                AsyncGuarded::snapshot(servers.store(&prefix), &guard(Kind::Fuse)).await.unwrap();
            for key in 0..KEYS {
                let holds = raw.contains(&[key]).await.unwrap();
                assert_eq!(snapshot.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
                assert_eq!(guarded.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
                if under_way != Some(key) {
                    let expected = expected.get(&key).copied().unwrap_or(false);
                    assert_eq!(holds, expected, "round {round}: {key}");
                }
                expected.insert(key, holds);
            }
            stops_absent_keys(&guarded).await;
            stops_absent_keys(&snapshot).await;
            if round % 2 == 0 {
                guarded.close().await.unwrap();
            }
        }
    });
}

/// Writes as one of several until it is killed, if the process was started for that.
#[test]
fn sharer() {
    let Ok(prefix) = std::env::var(CHILD) else { return };
    // The last byte of the prefix says which keys are those of this writer.
    let (prefix, writer) = prefix.split_at(prefix.len() - 1);
    let writer: u8 = writer.parse().unwrap();
    with(|servers: Single, _| async move {
        let mut random = Random::new(Owner::random().unwrap().0 as u64);
        let store = servers.store(prefix);
        let shared = AsyncGuarded::share(store, guard(Kind::Cuckoo)).await.unwrap();
        loop {
            let key = writer * KEYS + random.below(KEYS.into()) as u8;
            if random.below(3) == 0 {
                let operation = Operation::delete(key.into());
                operation.begin();
                shared.delete(&[key]).await.unwrap();
                operation.end();
            } else {
                let operation = Operation::put(key.into(), "x");
                operation.begin();
                shared.put(&[key], b"x").await.unwrap();
                assert!(shared.contains(&[key]).await.unwrap());
                operation.end();
            }
        }
    });
}

#[test]
fn what_killed_sharers_have_written_is_found_within_the_staleness() {
    const WRITERS: u8 = 2;
    const STALENESS: Duration = Duration::from_millis(300);
    with(|servers: Single, prefix| async move {
        let mut random = Random::new(6);
        let options = SharedOptions::new(guard(Kind::Cuckoo)).staleness(STALENESS);
        let stream = crate::servers::Connection::new(&std::env::var(Single::VARIABLE).unwrap());
        let store = servers.store(&prefix).stream_connection(stream);
        let reader = AsyncGuarded::share(store, options.clone()).await.unwrap();
        let raw = servers.store(&prefix);
        // Since when each key is known to be there.
        let mut present: BTreeMap<u8, Instant> = BTreeMap::new();
        for _ in 0..4 {
            let (news, heard) = mpsc::channel();
            let mut children = Vec::new();
            let mut readers = Vec::new();
            for writer in 0..WRITERS {
                let mut child = start("killed::sharer", format!("{prefix}{writer}"));
                let output = child.stdout.take().unwrap();
                let news = news.clone();
                readers.push(thread::spawn(move || {
                    for event in events(output) {
                        let (operation, since) = match event {
                            Event::Begun(operation) => (operation, None),
                            Event::Acknowledged(operation) => {
                                let since = operation.value.is_some().then(Instant::now);
                                (operation, since)
                            }
                        };
                        news.send((operation.key as u8, since)).unwrap();
                    }
                }));
                children.push(child);
            }
            drop(news);
            let mut operations = 0;
            let enough = 200 + random.below(600);
            let start = Instant::now();
            while operations < enough {
                assert!(start.elapsed() < Duration::from_secs(120), "the writers do nothing");
                for (key, since) in heard.try_iter() {
                    operations += 1;
                    match since {
                        Some(since) => present.insert(key, since),
                        None => present.remove(&key),
                    };
                }
                let key = random.below((KEYS * WRITERS).into()) as u8;
                let asked = Instant::now();
                let found = reader.contains(&[key]).await.unwrap();
                // A delete of that key may have begun in the meantime.
                for (key, since) in heard.try_iter() {
                    operations += 1;
                    match since {
                        Some(since) => present.insert(key, since),
                        None => present.remove(&key),
                    };
                }
                let since = present.get(&key);
                let is_hidden = !found && since.is_some_and(|since| *since + STALENESS < asked);
                if is_hidden {
                    // The writer may have begun to delete it, and has not been heard yet.
                    assert!(!raw.contains(&[key]).await.unwrap(), "{key} is hidden");
                }
                tokio::task::yield_now().await;
            }
            for mut child in children {
                child.kill().unwrap();
                assert_eq!(child.wait().unwrap().code(), None, "the child ended by itself");
            }
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            present.clear();
            // What was under way has arrived, or will not.
            let settled = Instant::now();
            while settled.elapsed() < STALENESS {
                tokio::time::sleep(STALENESS / 10).await;
            }
            for key in 0..KEYS * WRITERS {
                let holds = raw.contains(&[key]).await.unwrap();
                assert_eq!(reader.contains(&[key]).await.unwrap(), holds, "{key}");
            }
            // On a machine under load, news that come in time for so many questions cannot be expected: each
            // waits for them.
            let news = async || wait_until("there is news", async || reader.is_current()).await;
            stops_absent_keys_when(&reader, news).await;
            let options = options.clone().staleness(Duration::from_secs(600));
            let patient = AsyncGuarded::share(servers.store(&prefix), options).await.unwrap();
            stops_absent_keys(&patient).await;
        }
    });
}
