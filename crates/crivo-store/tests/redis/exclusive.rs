//! One owner, on one server and in a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::redis::{RedisStore, RedisStoreError};
use crivo_store::{AsyncGuarded, AsyncStore, Existed, GuardSource, GuardedError, ScanReason};
use redis::cmd;

use crate::servers::{Connection, OwnServers, Servers, Single, block_on, with};
use crate::{guard, options, stops_absent_keys, wait_until};

#[test]
fn every_kind_follows_writes() {
    follow_writes::<Single>(&Kind::ALL);
}

pub fn follow_writes<S: Servers>(kinds: &[Kind]) {
    with(|servers: S, prefix| async move {
        for &kind in kinds {
            let guarded = AsyncGuarded::open(servers.store(&prefix), options(kind)).await.unwrap();
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
            let found: Vec<bool> = values.iter().map(Option::is_some).collect();
            assert_eq!(guarded.contains_batch(&asked).await.unwrap(), found, "{kind}");
            assert_eq!(guarded.store().contains_batch(&asked).await.unwrap(), found, "{kind}");
            // 200 absent keys at 1%, asked twice: by chance more than 20 pass with a probability below 10^-12.
            assert!(guarded.counters().stopped >= 360, "{kind}: {:?}", guarded.counters());
            let snapshot =
                AsyncGuarded::snapshot(servers.store(&prefix), &guard(kind)).await.unwrap();
            for (at, key) in keys.iter().enumerate().step_by(10) {
                assert_eq!(snapshot.contains(key).await.unwrap(), at < 1_000, "{kind}: {at}");
            }
            guarded.delete_batch(&asked).await.unwrap();
            guarded.close().await.unwrap();
        }
    });
}

#[test]
fn a_saved_guard_is_valid_for_the_session_that_was_closed() {
    save_and_take_over::<Single>();
}

pub fn save_and_take_over<S: Servers>() {
    with(|servers: S, prefix| async move {
        let directory = tempfile::tempdir().unwrap();
        let open = |take_over: bool| {
            let options = options(Kind::Cuckoo).file(directory.path().join("guard"));
            AsyncGuarded::open(servers.store(&prefix), options.take_over(take_over))
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
        // In a cluster these keys have several partitions.
        for key in [b"leo", b"lea", b"lia", b"luz"] {
            let fenced = guarded.put(key, b"4").await.unwrap_err();
            assert!(matches!(fenced, RedisStoreError::LostClaim), "{fenced}");
            assert!(!second.contains(key).await.unwrap());
        }
        assert!(!guarded.guard_status().is_trusted && guarded.contains(b"eva").await.unwrap());
        assert!(guarded.close().await.is_err());
        second.close().await.unwrap();
    });
}

#[test]
fn owners_who_take_over_from_each_other_hide_nothing() {
    take_over_from_each_other::<Single>(20);
}

/// Tasks take over from each other while they write. Whoever could write before and after a look at all keys
/// was the owner meanwhile, from whom nothing may be hidden.
pub fn take_over_from_each_other<S: Servers>(rounds: u32) {
    const KEYS: u8 = 20;
    with(|servers: S, prefix| async move {
        let own = |seed: u64, servers: S, prefix: String| async move {
            let mut random = Random::new(seed);
            let mut looks = 0;
            for _ in 0..rounds {
                let options = options(Kind::Cuckoo).take_over(true);
                let guarded = match AsyncGuarded::open(servers.store(&prefix), options).await {
                    Ok(guarded) => guarded,
                    // Another one was faster.
                    Err(GuardedError::Store(RedisStoreError::LostClaim)) => continue,
                    Err(error) => panic!("{error}"),
                };
                for _ in 0..20 {
                    let key = [random.below(KEYS.into()) as u8];
                    let written = match random.below(3) {
                        0 => guarded.delete(&key).await,
                        _ => guarded.put(&key, b"x").await,
                    };
                    match written {
                        Ok(_) => {}
                        Err(RedisStoreError::LostClaim) => break,
                        Err(error) => panic!("{error}"),
                    }
                    let mut hidden = Vec::new();
                    for key in (0..KEYS).map(|key| [key]) {
                        let is_there = guarded.store().contains(&key).await.unwrap();
                        if is_there && !guarded.contains(&key).await.unwrap() {
                            hidden.push(key);
                        }
                    }
                    // In a cluster each key tells of its own partition.
                    for key in &hidden {
                        assert!(guarded.put(key, b"y").await.is_err(), "{key:?} is hidden");
                    }
                    looks += u32::from(guarded.put(&key, b"y").await.is_ok());
                }
            }
            looks
        };
        let owners: Vec<_> =
            (0..3).map(|seed| tokio::spawn(own(seed, servers.clone(), prefix.clone()))).collect();
        let mut looks = 0;
        for owner in owners {
            looks += owner.await.unwrap();
        }
        assert!(looks > 0, "nobody was the owner for long enough");
    });
}

/// No bytes, any bytes and many bytes are keys and values like others.
#[test]
fn odd_keys_and_values_are_kept() {
    keep_odd_keys::<Single>();
}

pub fn keep_odd_keys<S: Servers>() {
    with(|servers: S, prefix| async move {
        let long = vec![0xff; 1 << 20];
        let keys: [&[u8]; 6] = [b"", b"\0", b"*?[a]\\^-", b"\r\n{x}", "žlutý".as_bytes(), &long];
        for kind in [Kind::Cuckoo, Kind::Fuse] {
            let guarded = AsyncGuarded::open(servers.store(&prefix), options(kind)).await.unwrap();
            for key in keys {
                assert_eq!(guarded.put(key, b"").await.unwrap(), Existed::No);
                assert_eq!(guarded.get(key).await.unwrap().as_deref(), Some(b"".as_slice()));
            }
            guarded.rebuild().await.unwrap();
            let snapshot =
                AsyncGuarded::snapshot(servers.store(&prefix), &guard(kind)).await.unwrap();
            for key in keys {
                assert!(guarded.contains(key).await.unwrap());
                assert!(snapshot.contains(key).await.unwrap());
            }
            assert_eq!(guarded.delete_batch(&keys).await.unwrap(), [Existed::Yes; 6]);
            guarded.close().await.unwrap();
        }
    });
}

/// With such a prefix, strangers who choose keys could name the owner's record, and own the store.
#[test]
fn a_key_cannot_be_the_record() {
    with(|servers: Single, _| async move {
        // A prefix P and a key K with P + K = "crivo-store.owner:" + P.
        let prefix = "crivo-store.owner:crivo-store.owner:";
        let key = b"crivo-store.owner:";
        let options = options(Kind::Bloom).take_over(true);
        let owner = AsyncGuarded::open(servers.store(prefix), options).await.unwrap();
        for refused in [owner.put(key, b"mine").await, owner.delete(key).await] {
            assert!(matches!(refused, Err(RedisStoreError::ReservedKey { .. })), "{refused:?}");
        }
        let refused = owner.put_batch(&[(b"rui", b"1"), (key, b"mine")]).await;
        assert!(matches!(refused, Err(RedisStoreError::ReservedKey { .. })), "{refused:?}");
        assert_eq!(owner.guard_status().doubtful_count, 0, "it was refused before it was sent");
        assert!(!owner.contains(key).await.unwrap());
        assert_eq!(owner.get_batch(&[key, b"ana"]).await.unwrap(), [None, None]);
        let found = owner.store().contains_batch(&[key, b"ana"]).await.unwrap();
        assert_eq!(found, [false, false]);
        owner.put(b"ana", b"1").await.unwrap();
        owner.rebuild().await.unwrap();
        assert!(owner.contains(b"ana").await.unwrap());
        owner.delete(b"ana").await.unwrap();
        owner.close().await.unwrap();
    });
}

/// The server forgets the scripts, lets keys expire, and loses everything.
#[test]
fn what_a_server_does_by_itself_hides_no_key() {
    with(|servers: Single, prefix| async move {
        let mut raw = servers.0.clone();
        let name = |key: &[u8]| [prefix.as_bytes(), key].concat();
        let guarded = AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo)).await;
        let guarded = guarded.unwrap();
        guarded.put(b"ana", b"1").await.unwrap();
        let () = cmd("SCRIPT").arg("FLUSH").query_async(&mut raw).await.unwrap();
        assert_eq!(guarded.put(b"rui", b"2").await.unwrap(), Existed::No);
        // Expired, written again, and deleted: the copy that expired costs nothing but memory.
        for _ in 0..3 {
            let () = cmd("PEXPIRE").arg(name(b"ana")).arg(1).query_async(&mut raw).await.unwrap();
            wait_until("the key has expired", async || !guarded.contains(b"ana").await.unwrap())
                .await;
            assert_eq!(guarded.put(b"ana", b"3").await.unwrap(), Existed::No);
            assert!(guarded.contains(b"ana").await.unwrap());
        }
        assert_eq!(guarded.delete(b"ana").await.unwrap(), Existed::Yes);
        assert_eq!(guarded.put(b"ana", b"4").await.unwrap(), Existed::No);
        assert!(guarded.contains(b"ana").await.unwrap() && guarded.contains(b"rui").await.unwrap());
        // The record is gone, as after FLUSHALL: nothing is written, and nothing is hidden.
        let record = format!("crivo-store.owner:{prefix}");
        let () = cmd("DEL").arg(record).query_async(&mut raw).await.unwrap();
        assert!(matches!(guarded.put(b"eva", b"5").await, Err(RedisStoreError::LostClaim)));
        let () = cmd("SET").arg(name(b"leo")).arg("6").query_async(&mut raw).await.unwrap();
        assert!(guarded.contains(b"leo").await.unwrap());
    });
}

/// Somebody has written into the record what this crate never would.
#[test]
fn a_damaged_record_is_named() {
    with(|servers: Single, prefix| async move {
        let mut raw = servers.0.clone();
        let record = format!("crivo-store.owner:{prefix}");
        for text in ["18446744073709551615 abc closed", "9007199254740992 abc closed", "mine"] {
            let () = cmd("SET").arg(&record).arg(text).query_async(&mut raw).await.unwrap();
            let opened = AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo)).await;
            let shared = AsyncGuarded::share(servers.store(&prefix), guard(Kind::Cuckoo)).await;
            for error in [opened.unwrap_err(), shared.unwrap_err()] {
                let GuardedError::Store(RedisStoreError::DamagedRecord { key, .. }) = &error else {
                    panic!("{error}");
                };
                assert_eq!(key, &record);
                assert!(error.to_string().contains("delete that key"), "{error}");
            }
        }
        let () = cmd("DEL").arg(&record).query_async(&mut raw).await.unwrap();
        let opened = AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo)).await;
        opened.unwrap().close().await.unwrap();
    });
}

/// A put that the server has refused for certain leaves nothing in the guard, which can be saved.
#[test]
fn what_a_server_refuses_is_not_in_doubt() {
    let Some(own) = OwnServers::start(&[]) else { return };
    block_on(async {
        let connection = Connection::new(&own.addresses());
        let mut raw = connection.clone();
        let directory = tempfile::tempdir().unwrap();
        let open = async || {
            let options = options(Kind::Cuckoo).file(directory.path().join("guard"));
            let options = options.rebuild_in_background(false);
            AsyncGuarded::open(RedisStore::new(connection.clone(), "t:"), options).await.unwrap()
        };
        let guarded = open().await;
        guarded.put(b"ana", b"1").await.unwrap();
        let keys: Vec<_> = (0..600u32).map(|key| key.to_le_bytes()).collect();
        let entries: Vec<_> = keys.iter().map(|key| (key.as_slice(), b"2".as_slice())).collect();
        let set = |name: &str, value: &str| cmd("CONFIG").arg("SET").arg(name).arg(value).take();
        let replica = |host: &str, port: &str| cmd("REPLICAOF").arg(host).arg(port).take();
        for (begin, end) in [
            (set("maxmemory", "1"), set("maxmemory", "0")),
            (set("min-replicas-to-write", "1"), set("min-replicas-to-write", "0")),
            (replica("127.0.0.1", "1"), replica("NO", "ONE")),
        ] {
            let () = begin.query_async(&mut raw).await.unwrap();
            for key in [b"ana", b"rui"] {
                let refused = guarded.put(key, b"2").await.unwrap_err();
                assert!(matches!(refused, RedisStoreError::Refused(_)), "{refused}");
            }
            // Two scripts, of which the first is refused.
            let refused = guarded.put_batch(&entries).await.unwrap_err();
            assert!(matches!(refused, RedisStoreError::Refused(_)), "{refused}");
            let () = end.query_async(&mut raw).await.unwrap();
            // The guard was small, and has put many of them into its second filter.
            guarded.rebuild().await.unwrap();
            let status = guarded.guard_status();
            assert_eq!((status.key_count, status.doubtful_count), (1, 0));
            assert_eq!(guarded.get(b"ana").await.unwrap().as_deref(), Some(b"1".as_slice()));
        }
        guarded.close().await.unwrap();
        let guarded = open().await;
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        assert!(guarded.contains(b"ana").await.unwrap());
        // Without a connection nothing is sent. The first put may find the one that has ended.
        own.kill(1);
        wait_until("connections are refused", async || {
            matches!(guarded.put(b"ana", b"3").await, Err(RedisStoreError::Refused(_)))
        })
        .await;
        let doubtful = guarded.guard_status().doubtful_count;
        for key in &keys {
            assert!(matches!(guarded.put(key, b"3").await, Err(RedisStoreError::Refused(_))));
        }
        assert!(matches!(guarded.put_batch(&entries).await, Err(RedisStoreError::Refused(_))));
        assert_eq!(guarded.guard_status().doubtful_count, doubtful);
    });
}

#[test]
fn tasks_hide_no_key() {
    hide_no_key::<Single>();
}

pub fn hide_no_key<S: Servers>() {
    with(|servers: S, prefix| async move {
        let store = servers.store(&prefix);
        let guarded = Arc::new(AsyncGuarded::open(store, options(Kind::Cuckoo)).await.unwrap());
        let work = |task: u8, guarded: Arc<AsyncGuarded<S::Store>>| async move {
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
        let guarded = Arc::try_unwrap(guarded).unwrap();
        guarded.rebuild().await.unwrap();
        stops_absent_keys(&guarded).await;
        guarded.close().await.unwrap();
    });
}
