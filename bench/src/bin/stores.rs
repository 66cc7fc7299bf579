//! Stores with and without a guard: absent and present keys, and what the guards take.
//!
//! ```text
//! cargo run --release --bin stores [KEYS]
//! ```
//!
//! Tables of redb always; keys of a Redis server if `REDIS_URL` is set, and of a cluster if
//! `REDIS_CLUSTER_URL` is; with `--features cassandra`, a table of the Cassandra at `CASSANDRA_HOSTS` and
//! `CASSANDRA_PORT`, in a keyspace `crivo_bench` that is created and dropped. `scripts/services` starts
//! them, and prints the variables. The guards have an FPR of 0.1%. A ratio above 1 says how many times as
//! fast as the store without a guard.
//!
//! A guard in front of redb is measured alone with the store: a program has one guard, not eight, which would
//! drive each other out of the caches. The two take turns of a few milliseconds, each with other keys, so
//! that both find the caches as the other has left them. The time is that which the thread had a processor,
//! and the ratio is the median over the turns: what else the machine does falls on both alike.

use std::time::Duration;

use crivo::filter::Kind;
use crivo_bench::{Contender, interleave, median, number, shuffle, table};
use crivo_store::redb::RedbStore;
use crivo_store::redis::{ClusterStore, RedisStore};
use crivo_store::{
    AsyncGuarded, AsyncOwnedStore, AsyncStore, GuardOptions, Guarded, Mode, OpenOptions,
    SharedOptions, Store,
};
use redb::{Database, TableDefinition};
use tokio::runtime::Runtime;

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");
const FPR: f64 = 0.001;
const ROUNDS: usize = 9;
const KINDS: [Kind; 4] = [Kind::Fuse, Kind::Blocked, Kind::Bloom, Kind::Cuckoo];

/// How many of these keys a store has.
type CountKeys<'a> = Box<dyn Fn(&[u64]) -> u64 + 'a>;

/// A store, guarded or not.
struct Subject<'a> {
    name: String,
    /// The memory of its guard.
    bits: u64,
    count: CountKeys<'a>,
}

impl<'a> Subject<'a> {
    fn new(name: impl Into<String>, bits: u64, count: impl Fn(&[u64]) -> u64 + 'a) -> Self {
        Self { name: name.into(), bits, count: Box::new(count) }
    }
}

fn main() {
    let keys = std::env::args().nth(1).map(|keys| keys.parse().expect("a number of keys"));
    measure_redb(keys.unwrap_or(1_000_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Ok(url) = std::env::var("REDIS_URL") {
        measure_redis(keys.unwrap_or(100_000), &url, &runtime);
    }
    if let Ok(urls) = std::env::var("REDIS_CLUSTER_URL") {
        measure_cluster(keys.unwrap_or(100_000), &urls, &runtime);
    }
    #[cfg(feature = "cassandra")]
    if let (Ok(hosts), Ok(port)) =
        (std::env::var("CASSANDRA_HOSTS"), std::env::var("CASSANDRA_PORT"))
    {
        measure_cassandra(keys.unwrap_or(100_000), &hosts, &port, &runtime);
    }
}

fn guard(kind: Kind) -> GuardOptions {
    GuardOptions::new(kind, FPR).unwrap()
}

/// For tables and servers that another guard of this program has opened before. Nobody writes.
fn take_over(kind: Kind) -> OpenOptions {
    OpenOptions::new(guard(kind)).take_over(true)
}

fn measure_redb(keys: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.redb");
    let database = Database::create(&path).unwrap();
    let writing = database.begin_write().unwrap();
    {
        let mut table = writing.open_table(TABLE).unwrap();
        (0..keys).for_each(|key| drop(table.insert(number(key), key).unwrap()));
    }
    writing.commit().unwrap();
    drop(database);

    // Opened again, so that its cache is empty.
    let database = std::sync::Arc::new(Database::open(&path).unwrap());
    let store = || RedbStore::new(database.clone(), TABLE);
    let count = |store: &RedbStore<u64, u64>, asked: &[u64]| {
        asked.iter().filter(|key| store.contains(key).unwrap()).count() as u64
    };
    let unguarded = store();
    let unguarded = Subject::new("no guard", 0, |asked| count(&unguarded, asked));
    let head =
        ["redb", "bits per key", "absent, ns", "guarded", "×", "present, ns", "guarded", "×"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut measure = |guarded: Subject<'_>| {
        let absent = by_turns(&unguarded, &guarded, keys, false);
        let present = by_turns(&unguarded, &guarded, keys, true);
        let mut row = vec![guarded.name, format!("{:.1}", guarded.bits as f64 / keys as f64)];
        for ([plain, guarded], ratio, decimals) in
            [(absent.0, absent.1, 1), (present.0, present.1, 3)]
        {
            row.push(format!("{plain:.0}"));
            row.push(format!("{guarded:.0}"));
            row.push(format!("{ratio:.decimals$}"));
        }
        rows.push(row);
    };
    for kind in KINDS {
        let guarded = Guarded::snapshot(store(), &guard(kind)).unwrap();
        let bits = guarded.filter().size_in_bits();
        measure(Subject::new(format!("snapshot, {kind}"), bits, ask(guarded)));
    }
    for kind in KINDS {
        let guarded = Guarded::open(store(), take_over(kind)).unwrap();
        let bits = guarded.guard_status().size_in_bits;
        measure(Subject::new(format!("exclusive, {kind}"), bits, ask(guarded)));
    }
    let [turns, questions] = PRESENT;
    println!(
        "{keys} keys; for present ones {turns} turns of {questions} questions\n{}",
        table(&rows)
    );
}

/// Turns of the store without a guard and with it, and questions in each.
///
/// Where a guard stops all questions it stays in the cache, but for what a turn of the store drives out of
/// it: for absent keys turns are long.
const PRESENT: [u64; 2] = [800, 2_000];
const ABSENT: [u64; 2] = [16, 50_000];

/// The nanoseconds that a question takes without a guard and with it, and the first over the second within a
/// turn: medians.
fn by_turns(
    unguarded: &Subject<'_>,
    guarded: &Subject<'_>,
    keys: u64,
    are_present: bool,
) -> ([f64; 2], f64) {
    let [turn_count, questions] = if are_present { PRESENT } else { ABSENT };
    let mut next = 0;
    let mut ask = |subject: &Subject<'_>| {
        let asked: Vec<u64> = (next..next + questions)
            .map(|at| number(number(at) % keys + if are_present { 0 } else { keys }))
            .collect();
        next += questions;
        let start = processor_time();
        let found = (subject.count)(&asked);
        let time = processor_time() - start;
        assert_eq!(found, if are_present { questions } else { 0 }, "{}", subject.name);
        time / questions as f64
    };
    let mut turns: Vec<[f64; 2]> = Vec::new();
    // The first quarter warms the caches up.
    for turn in 0..turn_count + turn_count / 4 {
        // By turns, too, who begins.
        let mut subjects = [unguarded, guarded];
        subjects.rotate_left(turn as usize % 2);
        let mut times = subjects.map(&mut ask);
        times.rotate_left(turn as usize % 2);
        if turn >= turn_count / 4 {
            turns.push(times);
        }
    }
    let median_of = |value: fn(&[f64; 2]) -> f64| median(turns.iter().map(value).collect());
    ([median_of(|turn| turn[0]), median_of(|turn| turn[1])], median_of(|turn| turn[0] / turn[1]))
}

/// For how many nanoseconds this thread has had a processor.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn ask<M: Mode>(guarded: Guarded<RedbStore<u64, u64>, M>) -> impl Fn(&[u64]) -> u64 {
    move |asked| asked.iter().filter(|key| guarded.contains(**key).unwrap()).count() as u64
}

fn measure_redis(keys: u64, url: &str, runtime: &Runtime) {
    let client = redis::Client::open(url).unwrap();
    let connect = || runtime.block_on(client.get_multiplexed_async_connection()).unwrap();
    let (connection, stream) = (connect(), connect());
    let store = || RedisStore::new(connection.clone(), "crivo-bench.exclusive:");
    fill(store(), keys, runtime);
    let shared = || {
        let store = RedisStore::new(connection.clone(), "crivo-bench.shared:");
        store.stream_connection(stream.clone())
    };
    fill(shared(), keys, runtime);
    let mut subjects = owned_subjects(store, runtime);
    for kind in KINDS {
        // Questions that do not wait for the server leave the follower no time.
        let options = SharedOptions::new(guard(kind)).staleness(Duration::from_secs(600));
        let guarded = runtime.block_on(AsyncGuarded::share(shared(), options.take_over(true)));
        let guarded = guarded.unwrap();
        let bits = guarded.guard_status().size_in_bits;
        subjects.push(Subject::new(format!("shared, {kind}"), bits, ask_async(guarded, runtime)));
    }
    measure("Redis", &subjects, keys, 5_000);
    drop(subjects);
    empty(store(), runtime);
    empty(shared(), runtime);
}

fn measure_cluster(keys: u64, urls: &str, runtime: &Runtime) {
    let client = redis::cluster::ClusterClient::new(urls.split(' ')).unwrap();
    let connection = runtime.block_on(client.get_async_connection()).unwrap();
    let store = || ClusterStore::new(connection.clone(), "crivo-bench:").unwrap();
    fill(store(), keys, runtime);
    measure("Redis Cluster", &owned_subjects(store, runtime), keys, 5_000);
    empty(store(), runtime);
}

#[cfg(feature = "cassandra")]
fn measure_cassandra(keys: u64, hosts: &str, port: &str, runtime: &Runtime) {
    use crivo_store::cassandra::{CassandraStore, CassandraTable};
    use scylla::client::session_builder::SessionBuilder;

    let nodes: Vec<String> = hosts.split(' ').map(|host| format!("{host}:{port}")).collect();
    let builder = SessionBuilder::new().known_nodes(&nodes);
    let client = std::sync::Arc::new(runtime.block_on(builder.build()).unwrap());
    let execute = |statement: &str| {
        runtime.block_on(client.query_unpaged(statement, ())).unwrap();
    };
    let remove = "DROP KEYSPACE IF EXISTS crivo_bench";
    execute(remove);
    execute(&format!(
        "CREATE KEYSPACE crivo_bench WITH replication = \
         {{'class': 'SimpleStrategy', 'replication_factor': {}}}",
        nodes.len().min(3)
    ));
    // Every guard takes over from the one before, which writes no more.
    let table = CassandraTable::new("crivo_bench", "numbers").takeover_wait(Duration::ZERO);
    runtime.block_on(table.create(&client)).unwrap();
    let store = || runtime.block_on(CassandraStore::new(client.clone(), table.clone())).unwrap();
    fill(store(), keys, runtime);
    measure("Cassandra", &owned_subjects(store, runtime), keys, 2_000);
    execute(remove);
}

/// A server's keys in the modes that every store has.
fn owned_subjects<S>(store: impl Fn() -> S, runtime: &Runtime) -> Vec<Subject<'_>>
where
    S: AsyncOwnedStore<Key = [u8]>,
{
    let unguarded = store();
    let mut subjects = vec![Subject::new("no guard", 0, move |asked| {
        runtime.block_on(async {
            let mut found = 0;
            for key in asked {
                found += u64::from(unguarded.contains(&key.to_le_bytes()).await.unwrap());
            }
            found
        })
    })];
    for kind in KINDS {
        let guarded = runtime.block_on(AsyncGuarded::snapshot(store(), &guard(kind))).unwrap();
        let bits = guarded.filter().size_in_bits();
        subjects.push(Subject::new(format!("snapshot, {kind}"), bits, ask_async(guarded, runtime)));
    }
    for kind in KINDS {
        let guarded = runtime.block_on(AsyncGuarded::open(store(), take_over(kind))).unwrap();
        let bits = guarded.guard_status().size_in_bits;
        subjects.push(Subject::new(
            format!("exclusive, {kind}"),
            bits,
            ask_async(guarded, runtime),
        ));
    }
    subjects
}

fn ask_async<S: AsyncStore<Key = [u8]>, M: Mode>(
    guarded: AsyncGuarded<S, M>,
    runtime: &Runtime,
) -> impl Fn(&[u64]) -> u64 {
    move |asked| {
        runtime.block_on(async {
            let mut found = 0;
            for key in asked {
                found += u64::from(guarded.contains(&key.to_le_bytes()).await.unwrap());
            }
            found
        })
    }
}

/// Writes the keys, as their owner.
fn fill<S: AsyncOwnedStore<Key = [u8], NewValue = [u8]>>(store: S, keys: u64, runtime: &Runtime) {
    runtime.block_on(async {
        let guarded = AsyncGuarded::open(store, take_over(Kind::Blocked)).await.unwrap();
        let keys: Vec<[u8; 8]> = (0..keys).map(|key| number(key).to_le_bytes()).collect();
        for part in keys.chunks(10_000) {
            let entries: Vec<(&[u8], &[u8])> =
                part.iter().map(|key| (key.as_slice(), key.as_slice())).collect();
            guarded.put_batch(&entries).await.unwrap();
        }
        guarded.close().await.unwrap();
    });
}

fn empty<S: AsyncOwnedStore<Key = [u8]>>(store: S, runtime: &Runtime) {
    runtime.block_on(async {
        let mut keys = Vec::new();
        store.scan(|key| keys.push(key.to_vec())).await.unwrap();
        let guarded = AsyncGuarded::open(store, take_over(Kind::Blocked)).await.unwrap();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        guarded.delete_batch(&keys).await.unwrap();
        guarded.close().await.unwrap();
    });
}

/// Asks all subjects, by turns, and prints a table.
fn measure(store: &str, subjects: &[Subject<'_>], keys: u64, questions: usize) {
    let mut present: Vec<u64> = (0..keys).map(number).collect();
    shuffle(&mut present);
    present.truncate(questions);
    let absent: Vec<u64> = (keys..keys + questions as u64).map(number).collect();
    let times = |asked: &[u64], expected: u64| {
        let mut contenders: Vec<_> = subjects
            .iter()
            .map(|subject| Contender::new(subject.name.as_str(), || (subject.count)(asked)))
            .collect();
        interleave(&mut contenders, asked.len(), ROUNDS, Some(expected))
    };
    let [absent, present] = [times(&absent, 0), times(&present, present.len() as u64)];
    let head = [store, "bits per key", "absent, ns", "×", "present, ns", "×"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (at, subject) in subjects.iter().enumerate() {
        rows.push(vec![
            subject.name.clone(),
            format!("{:.1}", subject.bits as f64 / keys as f64),
            format!("{:.0}", absent[at]),
            format!("{:.2}", absent[0] / absent[at]),
            format!("{:.0}", present[at]),
            format!("{:.3}", present[0] / present[at]),
        ]);
    }
    println!("{keys} keys, {questions} questions\n{}", table(&rows));
}
