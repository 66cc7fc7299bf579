//! A guard in front of Cassandra. These tests need a server, whose address is in the variable
//! `CRIVO_TEST_CASSANDRA`: `scripts/services cassandra` starts one. The test that kills a node starts a
//! cluster of its own, if the variable `CRIVO_TEST_SERVICES` is set. Without the variables they say that
//! they were skipped.

#[cfg(unix)]
mod journal;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crivo::filter::Kind;
use crivo_core::Random;
use crivo_store::cassandra::{CHECK_INTERVAL, CassandraStore, CassandraStoreError, CassandraTable};
use crivo_store::{
    AsyncGuarded, AsyncOwnedStore, AsyncStore, Existed, GuardOptions, GuardSource, GuardedError,
    Mode, OpenOptions, Owner, ScanReason,
};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

#[cfg(unix)]
use journal::{Journal, Operation};

/// A machine under load answers late.
const TIMEOUT: Duration = Duration::from_secs(120);

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

async fn connect(address: &str) -> Arc<Session> {
    let profile = ExecutionProfile::builder().request_timeout(Some(TIMEOUT)).build();
    let builder = SessionBuilder::new()
        .known_node(address)
        .connection_timeout(TIMEOUT)
        // Nodes that missed a change of the schema ask for it again after minutes.
        .schema_agreement_timeout(4 * TIMEOUT)
        .metadata_request_serverside_timeout(TIMEOUT)
        .default_execution_profile_handle(profile.into_handle());
    Arc::new(builder.build().await.unwrap())
}

async fn create(client: &Session, keyspace: &str, replicas: u32) -> CassandraTable {
    let statement = format!(
        "CREATE KEYSPACE {keyspace} WITH replication = \
         {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    );
    client.query_unpaged(statement, ()).await.unwrap();
    let table = table(keyspace);
    table.create(client).await.unwrap();
    table
}

fn table(keyspace: &str) -> CassandraTable {
    CassandraTable::new(keyspace, "Keys").takeover_wait(Duration::from_millis(200))
}

/// Says that a test was skipped: not by a macro, whose output is shown for tests that fail alone.
fn skipped(reason: &str) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    let _ = std::io::stderr().write_all(format!("skipped {name}: {reason}\n").as_bytes());
}

/// Runs a test with a client and a table of its own, if there is a server.
fn with_server<F: Future<Output = ()>>(
    test: impl FnOnce(Arc<Session>, CassandraTable, String) -> F,
) {
    let Ok(address) = std::env::var("CRIVO_TEST_CASSANDRA") else {
        skipped("CRIVO_TEST_CASSANDRA names no server");
        return;
    };
    block_on(async {
        let client = connect(&address).await;
        let keyspace = format!("crivo_test_{}", Owner::random().unwrap());
        let table = create(&client, &keyspace, 1).await;
        test(client.clone(), table, keyspace.clone()).await;
        client.query_unpaged(format!("DROP KEYSPACE {keyspace}"), ()).await.unwrap();
    });
}

fn options(kind: Kind) -> OpenOptions {
    OpenOptions::new(GuardOptions::new(kind, 0.01).unwrap())
}

async fn store(client: &Arc<Session>, table: &CassandraTable) -> CassandraStore {
    CassandraStore::new(client.clone(), table.clone()).await.unwrap()
}

/// Asks for 5,000 keys that were never written, and holds an up-to-date guard of FPR 1% to stopping 98%
/// of them: by chance it does not with a probability below 10^-9.
async fn stops_absent_keys<M: Mode>(guarded: &AsyncGuarded<CassandraStore, M>) {
    let before = guarded.counters();
    let keys: Vec<_> =
        (0..5_000u32).map(|key| [&b"never "[..], &key.to_le_bytes()].concat()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    assert!(guarded.get_batch(&keys).await.unwrap().iter().all(Option::is_none));
    let stopped = guarded.counters().stopped - before.stopped;
    assert!(stopped >= 4_900, "{stopped} of 5000: {:?}", guarded.counters());
}

#[test]
fn every_kind_follows_writes() {
    with_server(|client, table, _| async move {
        let keys: Vec<_> = (0..1_200u32).map(|key| key.to_le_bytes()).collect();
        let asked: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
        let entries: Vec<_> = asked.iter().map(|key| (*key, b"x".as_slice())).collect();
        for kind in Kind::ALL {
            let guarded =
                AsyncGuarded::open(store(&client, &table).await, options(kind)).await.unwrap();
            // Cassandra does not tell what was there.
            let existed = guarded.put_batch(&entries[..1_000]).await.unwrap();
            assert_eq!(existed, vec![Existed::Unknown; 1_000], "{kind}");
            guarded.put(&keys[7], b"seven").await.unwrap();
            assert_eq!(guarded.delete(&keys[8]).await.unwrap(), Existed::Unknown);
            assert_eq!(guarded.get(&keys[7]).await.unwrap().unwrap(), b"seven");
            let values = guarded.get_batch(&asked).await.unwrap();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(value.is_some(), at < 1_000 && at != 8, "{kind}: {at}");
            }
            let found: Vec<bool> = values.iter().map(Option::is_some).collect();
            assert_eq!(guarded.store().contains_batch(&asked).await.unwrap(), found, "{kind}");
            guarded.rebuild().await.unwrap();
            stops_absent_keys(&guarded).await;
            if kind == Kind::Fuse {
                let options = GuardOptions::new(kind, 0.01).unwrap();
                let store = store(&client, &table).await;
                let snapshot = AsyncGuarded::snapshot(store, &options).await.unwrap();
                assert_eq!(snapshot.filter().key_count(), 999);
                assert!(snapshot.contains(&keys[7]).await.unwrap());
            }
            // The last write of a key counts, also within a batch.
            let last = [(asked[0], b"1".as_slice()), (asked[0], b"2"), (asked[0], b"3")];
            guarded.put_batch(&last).await.unwrap();
            assert_eq!(guarded.get(&keys[0]).await.unwrap().unwrap(), b"3", "{kind}");
            guarded.delete_batch(&asked).await.unwrap();
            guarded.close().await.unwrap();
        }
    });
}

#[test]
fn keys_that_cassandra_cannot_hold_are_absent() {
    with_server(|client, table, keyspace| async move {
        let raw = store(&client, &table).await;
        let guarded =
            AsyncGuarded::open(store(&client, &table).await, options(Kind::Blocked)).await.unwrap();
        for key in [vec![], vec![1; 65_536]] {
            assert_eq!(raw.get(&key).await.unwrap(), None);
            let refused = guarded.put(&key, b"x").await.unwrap_err();
            assert!(matches!(refused, CassandraStoreError::KeyLength { .. }), "{refused}");
            let refused = guarded.put_batch(&[(b"ana", b"x"), (&key, b"x")]).await.unwrap_err();
            assert!(matches!(refused, CassandraStoreError::KeyLength { .. }), "{refused}");
            assert!(!guarded.contains(&key).await.unwrap());
        }
        assert_eq!(raw.get(b"ana").await.unwrap(), None);
        assert_eq!(guarded.guard_status().doubtful_count, 0, "nothing was sent");
        // Without the table, or that of the owners, whoever opens it is told what to do.
        guarded.close().await.unwrap();
        let missing = CassandraTable::new("crivo", "no such");
        let missing = CassandraStore::new(client.clone(), missing).await.unwrap_err();
        let store = store(&client, &table).await;
        client
            .query_unpaged(format!("DROP TABLE {keyspace}.crivo_store_owners"), ())
            .await
            .unwrap();
        let ownerless = store.claim(Owner(1), false).await.unwrap_err();
        for error in [missing, ownerless] {
            assert!(matches!(error, CassandraStoreError::Prepare(_)), "{error}");
            assert!(error.to_string().contains("CassandraTable::create"), "{error}");
        }
    });
}

#[test]
fn a_saved_guard_is_valid_for_the_session_that_was_closed() {
    with_server(|client, table, _| async move {
        let directory = tempfile::tempdir().unwrap();
        // Longer than a writer relies on what it has read: it has certainly noticed.
        let table = table.takeover_wait(CHECK_INTERVAL + Duration::from_millis(1));
        let open = async |take_over: bool| {
            let options = options(Kind::Blocked).file(directory.path().join("guard"));
            AsyncGuarded::open(store(&client, &table).await, options.take_over(take_over)).await
        };
        let guarded = open(false).await.unwrap();
        assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        guarded.put(b"ana", b"1").await.unwrap();
        guarded.close().await.unwrap();
        let guarded = open(false).await.unwrap();
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        assert!(guarded.contains(b"ana").await.unwrap());
        guarded.put(b"rui", b"2").await.unwrap();

        // A second owner is refused, or replaces the first, which notices when it next writes.
        let refused = open(false).await.unwrap_err();
        let GuardedError::Store(CassandraStoreError::Owned { owner }) = refused else {
            panic!("{refused}");
        };
        assert_eq!(owner, guarded.session().owner);
        let second = open(true).await.unwrap();
        assert_eq!(second.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        assert_eq!(second.session().generation, guarded.session().generation + 1);
        assert!(second.contains(b"rui").await.unwrap());
        second.put(b"eva", b"3").await.unwrap();
        let lost = guarded.put(b"leo", b"4").await.unwrap_err();
        assert!(matches!(lost, CassandraStoreError::LostClaim), "{lost}");
        assert!(!second.store().contains(b"leo").await.unwrap());
        assert!(!guarded.guard_status().is_trusted && guarded.contains(b"eva").await.unwrap());
        assert!(guarded.close().await.is_err());
        second.close().await.unwrap();
    });
}

/// Two tasks take over from each other while they write. Whoever could write after a look at all keys had no successor
/// yet that writes, so that nothing may be hidden from it.
#[test]
fn owners_who_take_over_from_each_other_hide_nothing() {
    const KEYS: u8 = 20;
    const WAIT: Duration = Duration::from_secs(2);
    const { assert!(WAIT.as_millis() > CHECK_INTERVAL.as_millis()) };
    with_server(|client, table, _| async move {
        let own = |seed: u64, client: Arc<Session>, table: CassandraTable| async move {
            let mut random = Random::new(seed);
            let mut looks_of_successors = 0;
            for round in 0..2 {
                if round > 0 {
                    // The other one takes over meanwhile, and writes.
                    let pause = WAIT + Duration::from_millis(500 * random.below(3));
                    tokio::time::sleep(pause).await;
                }
                let options = options(Kind::Blocked).take_over(true);
                let opened = AsyncGuarded::open(store(&client, &table).await, options).await;
                let guarded = opened.unwrap();
                let has_taken_over = guarded.session().generation > 1;
                let begin = Instant::now();
                // Until the other one takes over, if it still does.
                while begin.elapsed() < 2 * WAIT {
                    let key = [random.below(KEYS.into()) as u8];
                    let written = match random.below(3) {
                        0 => guarded.delete(&key).await,
                        _ => guarded.put(&key, b"x").await,
                    };
                    match written {
                        Ok(_) => {}
                        Err(CassandraStoreError::LostClaim) => break,
                        Err(error) => panic!("{error}"),
                    }
                    let keys: Vec<[u8; 1]> = (0..KEYS).map(|key| [key]).collect();
                    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
                    // In this order: a key may come, but from the owner alone.
                    let are_there = guarded.store().contains_batch(&keys).await.unwrap();
                    let found = guarded.contains_batch(&keys).await.unwrap();
                    if guarded.put(&key, b"y").await.is_ok() {
                        looks_of_successors += u32::from(has_taken_over);
                        let hidden = (0..keys.len()).find(|&at| are_there[at] && !found[at]);
                        assert_eq!(hidden, None, "task {seed}");
                    }
                }
            }
            looks_of_successors
        };
        let table = table.takeover_wait(WAIT);
        let first = tokio::spawn(own(0, client.clone(), table.clone()));
        tokio::time::sleep(Duration::from_millis(200)).await;
        let second = tokio::spawn(own(1, client.clone(), table.clone()));
        let looks = first.await.unwrap() + second.await.unwrap();
        assert!(looks > 0, "nobody was the next owner for long enough");
    });
}

/// Somebody has written into the record what this crate never would.
#[test]
fn a_damaged_record_is_named() {
    with_server(|client, table, keyspace| async move {
        for (generation, owner) in [(i64::MAX, "abc"), (-1, "abc"), (1, "me")] {
            let record = format!(
                "INSERT INTO {keyspace}.crivo_store_owners (table_name, generation, owner, is_open) \
                 VALUES ('Keys', {generation}, '{owner}', false)"
            );
            client.query_unpaged(record, ()).await.unwrap();
            let opened = AsyncGuarded::open(store(&client, &table).await, options(Kind::Blocked));
            let error = opened.await.unwrap_err();
            assert!(
                matches!(&error, GuardedError::Store(CassandraStoreError::DamagedRecord { .. })),
                "{error}"
            );
            assert!(error.to_string().contains("delete the row of \"Keys\""), "{error}");
        }
    });
}

/// What a task knows of a key: its value, absence, or nothing after an error.
type Model = BTreeMap<Vec<u8>, Option<Option<Vec<u8>>>>;

/// Puts, deletes and questions of one task about its own keys. Returns how many were answered.
async fn operate(
    guarded: &AsyncGuarded<CassandraStore>,
    task: u8,
    random: &mut Random,
    model: &mut Model,
    operations: u32,
) -> u32 {
    let mut answered = 0;
    for _ in 0..operations {
        let key = vec![task, random.below(40) as u8];
        let (result, value) = match random.below(3) {
            0 => (guarded.delete(&key).await, None),
            _ => {
                let value = random.number().to_le_bytes().to_vec();
                (guarded.put(&key, &value).await, Some(value))
            }
        };
        answered += u32::from(result.is_ok());
        model.insert(key, result.is_ok().then_some(value));
        let key = vec![task, random.below(40) as u8];
        if let Ok(found) = guarded.get(&key).await {
            answered += 1;
            if let Some(expected) = model.get(&key).unwrap_or(&Some(None)) {
                assert_eq!(&found, expected, "task {task}");
            }
        }
    }
    answered
}

#[test]
fn tasks_hide_no_key() {
    with_server(|client, table, _| async move {
        let guarded =
            AsyncGuarded::open(store(&client, &table).await, options(Kind::Blocked)).await.unwrap();
        let guarded = Arc::new(guarded);
        let work = |task: u8, guarded: Arc<AsyncGuarded<CassandraStore>>| async move {
            let (mut random, mut model) = (Random::new(task.into()), Model::new());
            for _ in 0..8 {
                let answered = operate(&guarded, task, &mut random, &mut model, 30).await;
                assert_eq!(answered, 60);
                guarded.rebuild().await.unwrap();
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

/// Writes until it is killed, if the process was started for that.
#[cfg(unix)]
#[test]
fn writer() {
    let (Ok(place), Ok(address)) =
        (std::env::var(journal::CHILD), std::env::var("CRIVO_TEST_CASSANDRA"))
    else {
        return;
    };
    let (keyspace, file) = place.split_once(' ').unwrap();
    block_on(async {
        let client = connect(&address).await;
        let table = table(keyspace);
        let mut random = Random::new(Owner::random().unwrap().0 as u64);
        loop {
            let options = options(Kind::Blocked).take_over(true).file(file);
            let guarded = AsyncGuarded::open(store(&client, &table).await, options).await.unwrap();
            for _ in 0..random.below(60) {
                let key = random.below(40);
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

#[cfg(unix)]
#[test]
fn killed_writers_hide_nothing() {
    with_server(|client, table, keyspace| async move {
        let raw = store(&client, &table).await;
        let mut random = Random::new(5);
        let mut expected: BTreeMap<u8, bool> = BTreeMap::new();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guard");
        let place = format!("{keyspace} {}", file.display());
        for round in 0..6 {
            let event_count = 15 + random.below(150);
            // Some die later, while they close the store: between the guard's file and the record, too.
            let pause = Duration::from_millis(random.below(2) * random.below(60));
            let journal = Journal::of_killed("writer", &place, event_count, pause);
            assert!(!journal.acknowledged.is_empty(), "the writer did nothing");
            for operation in journal.acknowledged {
                expected.insert(operation.key as u8, operation.value.is_some());
            }
            let under_way = journal.under_way.map(|operation| operation.key as u8);

            let options = options(Kind::Blocked).take_over(true).file(&file);
            let guarded = AsyncGuarded::open(store(&client, &table).await, options).await.unwrap();
            for key in (0..40).filter(|key| under_way != Some(*key)) {
                let holds = expected.get(&key).copied().unwrap_or(false);
                assert_eq!(raw.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
                assert_eq!(guarded.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
            }
            // The write that nobody acknowledged may arrive even now: another one decides.
            if let Some(key) = under_way {
                guarded.put(&[key], b"y").await.unwrap();
                assert!(guarded.contains(&[key]).await.unwrap());
                expected.insert(key, true);
            }
            stops_absent_keys(&guarded).await;
            let fuse = GuardOptions::new(Kind::Fuse, 0.01).unwrap();
            let snapshot =
                AsyncGuarded::snapshot(store(&client, &table).await, &fuse).await.unwrap();
            for key in 0..40 {
                let holds = expected.get(&key).copied().unwrap_or(false);
                assert_eq!(snapshot.contains(&[key]).await.unwrap(), holds, "round {round}: {key}");
            }
            stops_absent_keys(&snapshot).await;
            if round % 2 == 0 {
                guarded.close().await.unwrap();
            }
        }
    });
}

/// A cluster of this test, which ends with it.
struct Cluster {
    script: PathBuf,
    directory: tempfile::TempDir,
}

impl Cluster {
    /// Three nodes, if they may be started and can be installed here.
    fn start() -> Option<Self> {
        if std::env::var_os("CRIVO_TEST_SERVICES").is_none() {
            skipped("CRIVO_TEST_SERVICES is not set");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
        let cluster = Self { script, directory: tempfile::tempdir().unwrap() };
        match cluster.call("start", &["--nodes", "3"]) {
            Some(0) => Some(cluster),
            Some(3) => {
                skipped("Cassandra cannot be installed");
                None
            }
            status => panic!("the cluster did not start: {status:?}"),
        }
    }

    fn call(&self, action: &str, arguments: &[&str]) -> Option<i32> {
        let mut command = Command::new(&self.script);
        command.args(["cassandra", action]).arg(self.directory.path()).args(arguments);
        command.status().unwrap().code()
    }

    /// The address of the first node.
    fn address(&self) -> String {
        let output = Command::new(&self.script)
            .args(["cassandra", "env"])
            .arg(self.directory.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let port = text.lines().find_map(|line| line.strip_prefix("export CASSANDRA_PORT='"));
        format!("127.0.0.1:{}", port.unwrap().trim_end_matches('\''))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.call("stop", &[]);
    }
}

/// Three nodes, replication factor 3, QUORUM: one is killed and restarted under load.
#[test]
fn a_cluster_that_loses_a_node_hides_nothing() {
    const TASKS: u8 = 4;
    let Some(cluster) = Cluster::start() else { return };
    block_on(async {
        let client = connect(&cluster.address()).await;
        let table = create(&client, "crivo_test", 3).await;
        let guarded =
            AsyncGuarded::open(store(&client, &table).await, options(Kind::Blocked)).await.unwrap();
        let guarded = Arc::new(guarded);
        let cluster = Arc::new(cluster);
        let mut models = vec![Model::new(); usize::from(TASKS)];
        for stage in ["all nodes", "kill", "start", "again all nodes"] {
            let has_happened = Arc::new(AtomicBool::new(false));
            let tasks: Vec<_> = models
                .into_iter()
                .zip(0..TASKS)
                .map(|(mut model, task)| {
                    let (guarded, has_happened) = (guarded.clone(), has_happened.clone());
                    let mut random = Random::new(u64::from(task) + (stage.len() as u64) * 100);
                    tokio::spawn(async move {
                        let mut answered = 0;
                        // Before, during and after what happens in this stage.
                        while !has_happened.load(Ordering::Relaxed) {
                            answered += operate(&guarded, task, &mut random, &mut model, 10).await;
                            // A node that starts needs the processor, too.
                            tokio::time::sleep(Duration::from_millis(200)).await;
                        }
                        answered += operate(&guarded, task, &mut random, &mut model, 100).await;
                        (model, answered)
                    })
                })
                .collect();
            let cluster = cluster.clone();
            let event = tokio::task::spawn_blocking(move || match stage {
                "kill" => cluster.call("kill", &["--node", "2"]),
                "start" => cluster.call("start", &[]),
                _ => Some(0),
            });
            let event = event.await.unwrap();
            has_happened.store(true, Ordering::Relaxed);
            assert_eq!(event, Some(0), "{stage}");
            models = Vec::new();
            for task in tasks {
                let (model, answered) = task.await.unwrap();
                assert!(answered > 0, "{stage}: nothing was answered");
                models.push(model);
            }
            // Errors are allowed, and leave keys in doubt; a rebuild is done when it can be.
            let rebuilt = guarded.rebuild().await;
            eprintln!("{stage}: {rebuilt:?}, {:?}", guarded.guard_status());
        }
        // The guard of the next owner is that of a scan.
        let guarded = Arc::try_unwrap(guarded).unwrap();
        guarded.close().await.unwrap();
        let guarded =
            AsyncGuarded::open(store(&client, &table).await, options(Kind::Blocked)).await.unwrap();
        for (key, expected) in models.iter().flatten() {
            let found = guarded.get(key).await.unwrap();
            assert!(expected.as_ref().is_none_or(|expected| *expected == found), "{key:?}");
        }
        stops_absent_keys(&guarded).await;
        guarded.close().await.unwrap();
    });
}
