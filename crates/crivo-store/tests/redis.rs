//! A guard in front of Redis or Valkey. These tests need a server, whose address is in the variable
//! `CRIVO_TEST_REDIS`: `scripts/services redis` starts one. Without it they say that they were skipped.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::redis::{RedisStore, RedisStoreError};
use crivo_store::{
    AsyncGuarded, AsyncStore, Existed, GuardOptions, GuardSource, GuardedError, OpenOptions, Owner,
    ScanReason,
};
use redis::aio::MultiplexedConnection;

type Keys = RedisStore<MultiplexedConnection>;

/// Runs a test with a connection and a prefix of its own, if there is a server.
fn with_server<F: Future<Output = ()>>(test: impl FnOnce(MultiplexedConnection, String) -> F) {
    let Ok(address) = std::env::var("CRIVO_TEST_REDIS") else {
        eprintln!("skipped: CRIVO_TEST_REDIS names no server");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let prefix = format!("crivo-test-[{}]:", Owner::random().unwrap());
        let connection = connect(&address).await;
        test(connection.clone(), prefix.clone()).await;
        let keys = RedisStore::new(connection.clone(), prefix.clone());
        let mut found = Vec::new();
        keys.scan(|key| found.push([prefix.as_bytes(), key].concat())).await.unwrap();
        found.push(format!("crivo-store.owner:{prefix}").into_bytes());
        let _: u64 =
            redis::cmd("DEL").arg(found).query_async(&mut connection.clone()).await.unwrap();
    });
}

async fn connect(address: &str) -> MultiplexedConnection {
    // A machine under load answers late.
    let patience = std::time::Duration::from_secs(60);
    let config = redis::AsyncConnectionConfig::new()
        .set_response_timeout(Some(patience))
        .set_connection_timeout(Some(patience));
    let client = redis::Client::open(address).unwrap();
    client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

fn options(kind: Kind) -> OpenOptions {
    OpenOptions::new(GuardOptions::new(kind, 0.01).unwrap())
}

#[test]
fn every_kind_follows_writes() {
    with_server(|connection, prefix| async move {
        for kind in Kind::ALL {
            let store = RedisStore::new(connection.clone(), prefix.clone());
            let guarded = AsyncGuarded::open(store, options(kind)).await.unwrap();
            let keys: Vec<_> = (0..1_200u32).map(|key| key.to_le_bytes()).collect();
            let entries: Vec<(&[u8], &[u8])> =
                keys.iter().map(|key| (key.as_slice(), b"x".as_slice())).collect();
            let existed = guarded.put_batch(&entries[..1_000]).await.unwrap();
            assert!(existed.iter().all(|existed| *existed == Existed::No), "{kind}");
            assert_eq!(guarded.put(&keys[7], b"seven").await.unwrap(), Existed::Yes);
            assert_eq!(guarded.delete(&keys[8]).await.unwrap(), Existed::Yes);
            assert_eq!(guarded.delete(&keys[8]).await.unwrap(), Existed::No);
            assert!(guarded.rebuild().await.is_ok());
            assert_eq!(guarded.get(&keys[7]).await.unwrap().unwrap(), b"seven");
            let asked: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
            let values = guarded.get_batch(&asked).await.unwrap();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(value.is_some(), at < 1_000 && at != 8, "{kind}: {at}");
            }
            // 200 absent keys at 1%: by chance more than 20 pass with a probability below 10^-12.
            assert!(guarded.counters().stopped >= 180, "{kind}: {:?}", guarded.counters());
            guarded.delete_batch(&asked).await.unwrap();
            guarded.close().await.unwrap();
        }
    });
}

#[test]
fn a_saved_guard_is_valid_for_the_session_that_was_closed() {
    with_server(|connection, prefix| async move {
        let directory = tempfile::tempdir().unwrap();
        let open = |take_over: bool| {
            let store: Keys = RedisStore::new(connection.clone(), prefix.clone());
            let options = options(Kind::Cuckoo).file(directory.path().join("guard"));
            AsyncGuarded::open(store, options.take_over(take_over))
        };
        let guarded = open(false).await.unwrap();
        assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        guarded.put(b"ana", b"1").await.unwrap();
        guarded.close().await.unwrap();
        let guarded = open(false).await.unwrap();
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        assert!(guarded.contains(b"ana").await.unwrap());
        guarded.put(b"rui", b"2").await.unwrap();

        // A second owner is refused, or fences the first off.
        let refused = open(false).await.unwrap_err();
        assert!(matches!(refused, GuardedError::Store(RedisStoreError::Owned { .. })), "{refused}");
        let second = open(true).await.unwrap();
        assert_eq!(second.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        assert!(second.contains(b"rui").await.unwrap());
        second.put(b"eva", b"3").await.unwrap();
        let fenced = guarded.put(b"leo", b"4").await.unwrap_err();
        assert!(matches!(fenced, RedisStoreError::LostClaim), "{fenced}");
        assert!(!second.contains(b"leo").await.unwrap());
        assert!(!guarded.guard_status().is_trusted && guarded.contains(b"eva").await.unwrap());
        assert!(guarded.close().await.is_err());
        second.close().await.unwrap();
    });
}

#[test]
fn tasks_hide_no_key() {
    with_server(|connection, prefix| async move {
        let store: Keys = RedisStore::new(connection, prefix);
        let guarded = Arc::new(AsyncGuarded::open(store, options(Kind::Cuckoo)).await.unwrap());
        let work = |task: u8, guarded: Arc<AsyncGuarded<Keys>>| async move {
            let mut random = Random::new(task.into());
            let mut expected = BTreeMap::new();
            for _ in 0..400 {
                let key = [task, random.below(30) as u8];
                if random.below(3) == 0 {
                    guarded.delete(&key).await.unwrap();
                    expected.remove(&key);
                } else {
                    let value = random.number().to_le_bytes();
                    guarded.put(&key, &value).await.unwrap();
                    expected.insert(key, value);
                }
                let key = [task, random.below(30) as u8];
                let found = guarded.get(&key).await.unwrap();
                assert_eq!(found.as_deref(), expected.get(&key).map(|value| &value[..]));
                if random.below(50) == 0 {
                    guarded.rebuild().await.unwrap();
                }
            }
        };
        let tasks: Vec<_> = (0..8).map(|task| tokio::spawn(work(task, guarded.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        Arc::try_unwrap(guarded).unwrap().close().await.unwrap();
    });
}

/// Set for a process that [`killed_writers_hide_nothing`] starts: the prefix to write under.
const CHILD: &str = "CRIVO_STORE_TEST_CHILD";

/// Writes until it is killed, if the process was started for that.
#[test]
fn child() {
    let Ok(prefix) = std::env::var(CHILD) else { return };
    with_server(|connection, _| async move {
        let mut random = Random::new(Owner::random().unwrap().0 as u64);
        let print = |line: String| {
            let mut output = std::io::stdout().lock();
            writeln!(output, "\n{line}").and_then(|()| output.flush()).unwrap();
        };
        loop {
            let store: Keys = RedisStore::new(connection.clone(), prefix.clone());
            let options = options(Kind::Cuckoo).take_over(true);
            let guarded = AsyncGuarded::open(store, options).await.unwrap();
            for _ in 0..random.below(60) {
                let key = [random.below(40) as u8];
                if random.below(3) == 0 {
                    print(format!("begin delete {}", key[0]));
                    guarded.delete(&key).await.unwrap();
                } else {
                    print(format!("begin put {}", key[0]));
                    guarded.put(&key, b"x").await.unwrap();
                }
                print("done".to_owned());
            }
            if random.below(2) == 0 {
                guarded.close().await.unwrap();
            }
        }
    });
}

#[cfg(unix)]
#[test]
fn killed_writers_hide_nothing() {
    with_server(|connection, prefix| async move {
        let mut random = Random::new(5);
        let mut expected: BTreeMap<u8, bool> = BTreeMap::new();
        for round in 0..8 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["child", "--exact", "--nocapture"])
                .env(CHILD, &prefix)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines =
                BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            let mut pending: Option<String> = None;
            let mut done = 0;
            let mut settle = |line: String, pending: &mut Option<String>| {
                if line.starts_with("begin ") {
                    *pending = Some(line);
                } else if line == "done" {
                    let (key, is_put) = parse(&pending.take().unwrap());
                    expected.insert(key, is_put);
                    done += 1;
                }
            };
            for line in lines.by_ref().take(30 + random.below(300) as usize) {
                settle(line, &mut pending);
            }
            child.kill().unwrap();
            for line in lines {
                settle(line, &mut pending);
            }
            assert_eq!(child.wait().unwrap().code(), None, "the child ended by itself");
            assert!(done > 0, "the child did nothing");
            let under_way = pending.as_deref().map(parse).map(|(key, _)| key);

            let store: Keys = RedisStore::new(connection.clone(), prefix.clone());
            let raw: Keys = RedisStore::new(connection.clone(), prefix.clone());
            let guarded =
                AsyncGuarded::open(store, options(Kind::Cuckoo).take_over(true)).await.unwrap();
            // The claim comes after the killed writer's last command or refuses it.
            for key in 0..40 {
                let holds = raw.contains(&[key]).await.unwrap();
                assert_eq!(guarded.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
                if under_way != Some(key) {
                    let expected = expected.get(&key).copied().unwrap_or(false);
                    assert_eq!(holds, expected, "round {round}: {key}");
                }
                expected.insert(key, holds);
            }
            if round % 2 == 0 {
                guarded.close().await.unwrap();
            }
        }
    });
}

#[cfg(unix)]
fn parse(operation: &str) -> (u8, bool) {
    let words: Vec<&str> = operation.split(' ').collect();
    (words[2].parse().unwrap(), words[1] == "put")
}
