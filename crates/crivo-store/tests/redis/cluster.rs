//! One owner of the keys of a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::redis::{ClusterStore, RedisStore, RedisStoreError};
use crivo_store::{AsyncGuarded, AsyncStore, GuardSource, GuardedError, ScanReason};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cmd;

use crate::servers::{OwnServers, PATIENCE, Servers, block_on, with};
use crate::{exclusive, options, stops_absent_keys, wait_until};

#[derive(Clone)]
struct Cluster(ClusterConnection);

impl Servers for Cluster {
    const VARIABLE: &str = "CRIVO_TEST_REDIS_CLUSTER";

    type Store = ClusterStore;

    async fn connect(addresses: &str) -> Self {
        let client = ClusterClient::builder(addresses.split(' '))
            .connection_timeout(PATIENCE)
            .response_timeout(PATIENCE)
            .overall_response_timeout(Some(PATIENCE))
            .build()
            .unwrap();
        Self(client.get_async_connection().await.unwrap())
    }

    fn store(&self, prefix: &str) -> ClusterStore {
        ClusterStore::new(self.0.clone(), prefix).unwrap()
    }
}

#[test]
fn odd_keys_and_values_are_kept() {
    exclusive::keep_odd_keys::<Cluster>();
}

#[test]
fn kinds_follow_writes() {
    exclusive::follow_writes::<Cluster>(&[Kind::Cuckoo, Kind::Blocked, Kind::Fuse]);
}

#[test]
fn a_saved_guard_is_valid_for_the_session_that_was_closed() {
    exclusive::save_and_take_over::<Cluster>();
}

#[test]
fn owners_who_take_over_from_each_other_hide_nothing() {
    exclusive::take_over_from_each_other::<Cluster>(5);
}

#[test]
fn tasks_hide_no_key() {
    exclusive::hide_no_key::<Cluster>();
}

#[cfg(unix)]
#[test]
fn owner() {
    crate::killed::write_as_owner::<Cluster>();
}

#[cfg(unix)]
#[test]
fn killed_owners_hide_nothing() {
    crate::killed::kill_owners::<Cluster>("cluster::owner", 6);
}

#[test]
fn a_store_of_one_server_refuses_a_cluster() {
    with(|servers: Cluster, prefix| async move {
        let address = std::env::var(Cluster::VARIABLE).unwrap();
        let node = crate::servers::Connection::new(address.split(' ').next().unwrap());
        let refused = RedisStore::new(node, prefix.clone()).scan(|_| ()).await.unwrap_err();
        assert!(matches!(refused, RedisStoreError::Cluster), "{refused}");
        let refused = RedisStore::new(servers.0.clone(), prefix).scan(|_| ()).await.unwrap_err();
        assert!(matches!(refused, RedisStoreError::Cluster), "{refused}");
        let braces = ClusterStore::new(servers.0, "a{b").unwrap_err();
        assert!(matches!(braces, RedisStoreError::Prefix { .. }), "{braces}");
    });
}

/// One master has older data again, as after a failover to a replica that was behind. What the saved guard is
/// for, all partitions must say.
#[test]
fn a_saved_guard_is_not_valid_for_older_data_of_a_partition() {
    with(|servers: Cluster, prefix| async move {
        let mut raw = servers.0.clone();
        let directory = tempfile::tempdir().unwrap();
        let open = async || {
            let options = options(Kind::Cuckoo).file(directory.path().join("guard"));
            AsyncGuarded::open(servers.store(&prefix), options).await.unwrap()
        };
        let (name, record) =
            (format!("{{{prefix}68}}ana"), format!("crivo-store.owner:{{{prefix}68}}"));
        let guarded = open().await;
        guarded.put(b"ana", b"1").await.unwrap();
        guarded.close().await.unwrap();
        let old: String =
            cmd("HGET").arg(&record).arg("owner").query_async(&mut raw).await.unwrap();
        let guarded = open().await;
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        guarded.delete(b"ana").await.unwrap();
        guarded.close().await.unwrap();

        let () = cmd("SET").arg(&name).arg("1").query_async(&mut raw).await.unwrap();
        let () =
            cmd("HSET").arg(&record).arg("owner").arg(old).query_async(&mut raw).await.unwrap();
        let guarded = open().await;
        assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        assert!(guarded.contains(b"ana").await.unwrap());
        guarded.close().await.unwrap();
    });
}

/// Somebody has written into the record of a partition what this crate never would.
#[test]
fn a_damaged_record_of_a_partition_is_named() {
    with(|servers: Cluster, prefix| async move {
        let mut raw = servers.0.clone();
        let open =
            || AsyncGuarded::open(servers.store(&prefix), options(Kind::Cuckoo).take_over(true));
        let many_digits = "9".repeat(400);
        for partition in ["00", "68"] {
            let record = format!("crivo-store.owner:{{{prefix}{partition}}}");
            for generation in ["18446744073709551615", "9007199254740992", &many_digits] {
                let text = format!("{generation} abc open");
                let mut set = cmd("HSET");
                set.arg(&record).arg("owner").arg(text).arg("write").arg(0);
                let () = set.query_async(&mut raw).await.unwrap();
                let error = open().await.unwrap_err();
                let GuardedError::Store(RedisStoreError::DamagedRecord { key, .. }) = &error else {
                    panic!("{error}");
                };
                assert_eq!(key, &record, "{generation}");
            }
            let () = cmd("DEL").arg(&record).query_async(&mut raw).await.unwrap();
            open().await.unwrap().close().await.unwrap();
        }
    });
}

/// What a task knows about a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Absent,
    Present,
    /// A write to it had no answer.
    Unknown,
}

/// Three masters, of which one is killed and started again under load.
#[test]
fn a_cluster_that_loses_a_master_hides_nothing() {
    const TASKS: u8 = 4;
    const KEYS: u64 = 50;
    let Some(own) = OwnServers::start(&["--cluster"]) else { return };
    let addresses = own.addresses();
    block_on(async {
        // Short time-outs: the point is what happens when there is no answer.
        let client = ClusterClient::builder(addresses.split(' '))
            .response_timeout(Duration::from_millis(500))
            .connection_timeout(Duration::from_millis(500))
            .build()
            .unwrap();
        let connection = client.get_async_connection().await.unwrap();
        let store = || ClusterStore::new(connection.clone(), "t:").unwrap();
        let guarded = Arc::new(AsyncGuarded::open(store(), options(Kind::Cuckoo)).await.unwrap());
        let is_over = Arc::new(AtomicBool::new(false));
        let work =
            |task: u8, guarded: Arc<AsyncGuarded<ClusterStore>>, is_over: Arc<AtomicBool>| {
                async move {
                    let mut random = Random::new(task.into());
                    let mut known = BTreeMap::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let key = [task, random.below(KEYS) as u8];
                        let (written, then) = match random.below(3) {
                            0 => (guarded.delete(&key).await, Known::Absent),
                            _ => (guarded.put(&key, b"x").await, Known::Present),
                        };
                        known.insert(key, if written.is_ok() { then } else { Known::Unknown });
                        let key = [task, random.below(KEYS) as u8];
                        let expected = known.get(&key).copied().unwrap_or(Known::Absent);
                        // An error says nothing.
                        if let Ok(found) = guarded.contains(&key).await
                            && expected != Known::Unknown
                        {
                            assert_eq!(found, expected == Known::Present, "{key:?}");
                        }
                    }
                    known
                }
            };
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(work(task, guarded.clone(), is_over.clone())))
            .collect();
        let killed = tokio::task::spawn_blocking(move || {
            for node in [2, 3, 1] {
                std::thread::sleep(Duration::from_millis(300));
                own.kill_and_restart(node);
            }
            own
        });
        let own = killed.await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_over.store(true, Ordering::Relaxed);
        let mut known = BTreeMap::new();
        for task in tasks {
            known.append(&mut task.await.unwrap());
        }
        assert!(known.len() > 20, "the tasks did next to nothing");
        let raw = store();
        wait_until("the cluster answers", async || guarded.rebuild().await.is_ok()).await;
        for (key, known) in known {
            let holds = raw.contains(&key).await.unwrap();
            assert_eq!(guarded.contains(&key).await.unwrap(), holds, "{key:?}");
            if known != Known::Unknown {
                assert_eq!(holds, known == Known::Present, "{key:?} was lost");
            }
        }
        stops_absent_keys(&guarded).await;
        Arc::try_unwrap(guarded).unwrap().close().await.unwrap();
        drop(own);
    });
}
