//! Several writers on one server.

use std::time::Duration;

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::redis::{RedisStore, RedisStoreError};
use crivo_store::{AsyncGuarded, Existed, GuardedError, Shared, SharedOptions};
use redis::cmd;

use crate::servers::{Connection, OwnServers, Servers, Single, block_on, with};
use crate::{guard, options, stops_absent_keys, wait_until};

/// So long that a machine under load does not let a guard become too old.
const LONG: Duration = Duration::from_secs(600);

type Users = AsyncGuarded<RedisStore<Connection>, Shared>;

async fn share(store: RedisStore<Connection>, kind: Kind) -> Users {
    let options = SharedOptions::new(guard(kind)).staleness(LONG);
    AsyncGuarded::share(store, options).await.unwrap()
}

/// A store that waits for news on a connection of its own.
fn store(servers: &Single, prefix: &str) -> RedisStore<Connection> {
    let address = std::env::var(Single::VARIABLE).unwrap();
    servers.store(prefix).stream_connection(Connection::new(&address))
}

#[test]
fn everybody_hears_of_what_anybody_writes() {
    with(|servers: Single, prefix| async move {
        for kind in Kind::ALL {
            let writer = share(servers.store(&prefix), kind).await;
            let reader = share(store(&servers, &prefix), kind).await;
            let keys: Vec<_> = (0..1_200u32).map(|key| key.to_le_bytes()).collect();
            let entries: Vec<(&[u8], &[u8])> =
                keys.iter().map(|key| (key.as_slice(), b"x".as_slice())).collect();
            let existed = writer.put_batch(&entries[..1_000]).await.unwrap();
            assert!(existed.iter().all(|existed| *existed == Existed::No), "{kind}");
            assert_eq!(writer.put(&keys[7], b"seven").await.unwrap(), Existed::Yes);
            assert!(writer.contains(&keys[999]).await.unwrap(), "an own write is found at once");
            let last = &keys[999];
            wait_until("the last key is heard of", async || reader.contains(last).await.unwrap())
                .await;
            assert!(reader.is_current());
            let asked: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
            let values = reader.get_batch(&asked).await.unwrap();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(value.is_some(), at < 1_000, "{kind}: {at}");
            }
            assert_eq!(values[7].as_deref(), Some(b"seven".as_slice()));
            // Deleted keys stay, and make a guard that is rebuilt.
            let existed = reader.delete_batch(&asked).await.unwrap();
            assert_eq!(existed.iter().filter(|existed| **existed == Existed::Yes).count(), 1_000);
            wait_until("the guard is rebuilt", async || {
                let status = writer.guard_status();
                status.key_count < 1_000 && status.stale_count < 1_000
            })
            .await;
            assert!(!writer.contains(&keys[0]).await.unwrap());
        }
        let reader = share(store(&servers, &prefix), Kind::Cuckoo).await;
        stops_absent_keys(&reader).await;
    });
}

#[test]
fn one_owner_and_several_writers_refuse_each_other() {
    with(|servers: Single, prefix| async move {
        let owner =
            AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo)).await.unwrap();
        owner.put(b"ana", b"1").await.unwrap();
        let share = |take_over: bool| {
            let options = SharedOptions::new(guard(Kind::Cuckoo)).take_over(take_over);
            AsyncGuarded::share(servers.store(&prefix), options)
        };
        let refused = share(false).await.unwrap_err();
        assert!(matches!(refused, GuardedError::Store(RedisStoreError::Owned { .. })), "{refused}");
        let shared = share(true).await.unwrap();
        assert!(shared.contains(b"ana").await.unwrap());
        assert!(matches!(owner.put(b"rui", b"2").await, Err(RedisStoreError::LostClaim)));
        shared.put(b"eva", b"3").await.unwrap();

        let open = |take_over: bool| {
            AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo).take_over(take_over))
        };
        let refused = open(false).await.unwrap_err();
        assert!(matches!(refused, GuardedError::Store(RedisStoreError::Shared)), "{refused}");
        let owner = open(true).await.unwrap();
        assert!(owner.contains(b"eva").await.unwrap());
        assert!(matches!(shared.put(b"leo", b"4").await, Err(RedisStoreError::LostClaim)));
        wait_until("the guard knows that it has lost the stream", async || !shared.is_current())
            .await;
        owner.put(b"leo", b"5").await.unwrap();
        assert!(shared.contains(b"leo").await.unwrap(), "every question passes");
        // When the owner has closed the store, it can be shared again, and is.
        owner.close().await.unwrap();
        wait_until("the store is shared again", async || shared.is_current()).await;
        shared.put(b"luz", b"6").await.unwrap();
    });
}

#[test]
fn a_lost_stream_is_noticed() {
    with(|servers: Single, prefix| async move {
        let mut raw = servers.0.clone();
        let shared = share(store(&servers, &prefix), Kind::Blocked).await;
        let mut expected = Vec::new();
        for loss in 0..4 {
            // Nobody announces this key: only a scan finds it.
            let key = [b"past the guard".as_slice(), &[loss]].concat();
            let name = [prefix.as_bytes(), &key].concat();
            let () = cmd("SET").arg(&name).arg("x").query_async(&mut raw).await.unwrap();
            expected.push(key);
            let [owner, stream] =
                ["owner", "stream"].map(|it| format!("crivo-store.{it}:{prefix}"));
            let command = match loss {
                // Trimmed, deleted, deleted with the record, and replaced by another of the same length.
                0 => cmd("XTRIM").arg(&stream).arg("MAXLEN").arg(0).take(),
                1 => cmd("DEL").arg(&stream).take(),
                2 => cmd("DEL").arg(&owner).arg(&stream).take(),
                _ => {
                    let entries: Vec<(String, Vec<Vec<u8>>)> = cmd("XRANGE")
                        .arg(&stream)
                        .arg("-")
                        .arg("+")
                        .query_async(&mut raw)
                        .await
                        .unwrap();
                    let () = cmd("DEL").arg(&stream).query_async(&mut raw).await.unwrap();
                    let (id, _) = entries.last().unwrap();
                    cmd("XADD").arg(&stream).arg(id).arg("another").arg("=").take()
                }
            };
            let _: redis::Value = command.query_async(&mut raw).await.unwrap();
            let key = expected.last().unwrap();
            wait_until("the key is found", async || shared.contains(key).await.unwrap()).await;
            wait_until("the guard answers", async || shared.is_current()).await;
            for key in &expected {
                assert!(shared.contains(key).await.unwrap());
            }
        }
        shared.put(b"ana", b"1").await.unwrap();
        stops_absent_keys(&shared).await;
    });
}

/// Entries that somebody else has put into the stream cost a scan, also while somebody joins.
#[test]
fn foreign_entries_of_the_stream_are_left_behind() {
    with(|servers: Single, prefix| async move {
        let mut raw = servers.0.clone();
        let stream = format!("crivo-store.stream:{prefix}");
        let shared = share(store(&servers, &prefix), Kind::Blocked).await;
        let other = share(servers.store(&prefix), Kind::Cuckoo).await;
        for (round, fields) in
            [&["a", "?"][..], &["a", "b", "c", "d"], &["a", ""], &["a", "+other:x"]]
                .iter()
                .enumerate()
        {
            // Nobody announces this key: only a scan finds it.
            let key = [b"past the guard".as_slice(), &[round as u8]].concat();
            let name = [prefix.as_bytes(), &key].concat();
            let () = cmd("SET").arg(&name).arg("x").query_async(&mut raw).await.unwrap();
            let mut foreign = cmd("XADD");
            foreign.arg(&stream).arg("*").arg(*fields);
            let _: String = foreign.query_async(&mut raw).await.unwrap();
            let joining = share(servers.store(&prefix), Kind::Fuse).await;
            for one in [&shared, &other, &joining] {
                wait_until("the key is found", async || one.contains(&key).await.unwrap()).await;
                wait_until("the guard answers", async || one.is_current()).await;
                assert!(one.contains(&key).await.unwrap());
            }
            other.put(&[round as u8], b"1").await.unwrap();
            wait_until("a new key is heard of", async || {
                shared.is_current() && shared.contains(&[round as u8]).await.unwrap()
            })
            .await;
        }
        stops_absent_keys(&shared).await;
    });
}

/// A key that expires and is written again is announced again, and scripts that are forgotten are sent again.
#[test]
fn keys_that_expire_and_scripts_that_are_lost_hide_nothing() {
    with(|servers: Single, prefix| async move {
        let mut raw = servers.0.clone();
        let writer = share(servers.store(&prefix), Kind::Fuse).await;
        writer.put(b"ana", b"1").await.unwrap();
        let name = [prefix.as_bytes(), b"ana"].concat();
        let () = cmd("PEXPIRE").arg(name).arg(1).query_async(&mut raw).await.unwrap();
        wait_until("the key has expired", async || !writer.contains(b"ana").await.unwrap()).await;
        // Its scan does not find the key: only the announcement tells.
        let reader = share(store(&servers, &prefix), Kind::Fuse).await;
        let () = cmd("SCRIPT").arg("FLUSH").query_async(&mut raw).await.unwrap();
        assert_eq!(writer.put(b"ana", b"").await.unwrap(), Existed::No);
        assert_eq!(writer.put(b"", b"2").await.unwrap(), Existed::No);
        wait_until("the keys are heard of", async || {
            reader.contains(b"ana").await.unwrap() && reader.contains(b"").await.unwrap()
        })
        .await;
        assert_eq!(reader.delete_batch(&[b"ana", b""]).await.unwrap(), [Existed::Yes; 2]);
    });
}

#[test]
fn a_follower_that_falls_behind_scans() {
    with(|servers: Single, prefix| async move {
        let short = |store: RedisStore<Connection>| store.stream_length(10);
        let reader = share(short(servers.store(&prefix)), Kind::Growing).await;
        let writer = share(short(servers.store(&prefix)), Kind::Growing).await;
        let keys: Vec<_> = (0..20_000u32).map(|key| key.to_le_bytes()).collect();
        let entries: Vec<(&[u8], &[u8])> =
            keys.iter().map(|key| (key.as_slice(), b"x".as_slice())).collect();
        writer.put_batch(&entries).await.unwrap();
        let mut random = Random::new(8);
        for guarded in [&writer, &reader] {
            let last = keys.last().unwrap();
            wait_until("the last key is found", async || guarded.contains(last).await.unwrap())
                .await;
            for _ in 0..2_000 {
                let key = &keys[random.below(20_000) as usize];
                assert!(guarded.contains(key).await.unwrap());
            }
        }
    });
}

/// A server without persistence is killed under load, and comes back empty.
#[test]
fn a_server_that_loses_its_data_hides_nothing() {
    let Some(own) = OwnServers::start(&[]) else { return };
    block_on(async {
        let address = own.addresses();
        let new_store = || {
            let connection = Connection::new(&address);
            RedisStore::new(connection, "t:").stream_connection(Connection::new(&address))
        };
        let writer = share(new_store(), Kind::Cuckoo).await;
        let reader = share(new_store(), Kind::Cuckoo).await;
        writer.put(b"ana", b"1").await.unwrap();
        let session = writer.session();
        wait_until("the key is heard of", async || reader.contains(b"ana").await.unwrap()).await;
        own.kill_and_restart(1);
        for shared in [&writer, &reader] {
            wait_until("a new session has begun", async || shared.session() != session).await;
        }
        assert_eq!(writer.session(), reader.session());
        // Its first question may find the old connection.
        wait_until("the server answers", async || reader.contains(b"ana").await.is_ok()).await;
        assert!(!reader.contains(b"ana").await.unwrap());
        writer.put(b"rui", b"2").await.unwrap();
        wait_until("the key is heard of", async || reader.contains(b"rui").await.unwrap()).await;
        wait_until("the guard answers", async || reader.is_current()).await;
        stops_absent_keys(&reader).await;
    });
}
