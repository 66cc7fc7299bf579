//! Stores with and without a guard: absent and present keys, and what the guards take.
//!
//! ```text
//! cargo run --release --bin stores [-- [--all-kinds] [KEYS]]
//! ```
//!
//! Four kinds of filter guard, or all of them.
//!
//! Tables of redb always; keys of a Redis server if `REDIS_URL` is set, and of a cluster if
//! `REDIS_CLUSTER_URL` is; with `--features cassandra`, a table of the Cassandra at `CASSANDRA_HOSTS` and
//! `CASSANDRA_PORT`, in a keyspace `crivo_bench` that is created and dropped. `scripts/services` starts
//! them, and prints the variables. The guards have an FPR of 0.1%. A ratio above 1 says how many times as
//! fast as the store without a guard.
//!
//! A guard is measured alone with the store: a program has one guard, not eight, which would drive each other
//! out of the caches. The two take turns, each with other keys: of milliseconds for keys that are there, so that both find
//! the caches, and a server, as the other has left them, and longer ones for absent keys; by turns, too, who begins. The
//! ratio is the median over the turns: what else the machine does falls on both alike. For redb the time is that which
//! the thread had a processor.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crivo::filter::Kind;
use crivo_bench::{median, number, table};
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
const FOUR_KINDS: [Kind; 4] = [Kind::Fuse, Kind::Blocked, Kind::Bloom, Kind::Cuckoo];

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
    let (mut kinds, mut keys) = (&FOUR_KINDS[..], None);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--all-kinds" => kinds = &Kind::ALL,
            number => keys = Some(number.replace('_', "").parse().expect("a number of keys")),
        }
    }
    measure_redb(kinds, keys.unwrap_or(1_000_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Ok(url) = std::env::var("REDIS_URL") {
        measure_redis(kinds, keys.unwrap_or(100_000), &url, &runtime);
    }
    if let Ok(urls) = std::env::var("REDIS_CLUSTER_URL") {
        measure_cluster(kinds, keys.unwrap_or(100_000), &urls, &runtime);
    }
    #[cfg(feature = "cassandra")]
    if let (Ok(hosts), Ok(port)) =
        (std::env::var("CASSANDRA_HOSTS"), std::env::var("CASSANDRA_PORT"))
    {
        measure_cassandra(kinds, keys.unwrap_or(100_000), &hosts, &port, &runtime);
    }
}

fn guard(kind: Kind) -> GuardOptions {
    GuardOptions::new(kind, FPR).unwrap()
}

/// For tables and servers that another guard of this program has opened before. Nobody writes.
fn take_over(kind: Kind) -> OpenOptions {
    OpenOptions::new(guard(kind)).take_over(true)
}

fn measure_redb(kinds: &[Kind], keys: u64) {
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
    let mut report = Report::new("redb", &unguarded, keys, &REDB);
    for &kind in kinds {
        let guarded = Guarded::snapshot(store(), &guard(kind)).unwrap();
        let bits = guarded.filter().size_in_bits();
        report.add(&Subject::new(format!("snapshot, {kind}"), bits, ask(guarded)));
    }
    for &kind in kinds {
        let guarded = Guarded::open(store(), take_over(kind)).unwrap();
        let bits = guarded.guard_status().size_in_bits;
        report.add(&Subject::new(format!("exclusive, {kind}"), bits, ask(guarded)));
    }
    report.print();
}

/// How a store is measured.
struct Plan {
    absent: Turns,
    present: Turns,
    /// Nanoseconds.
    clock: fn() -> f64,
}

/// How long a store with a guard and without it take turns, the first fifth of which warms the caches up.
struct Turns {
    questions: u64,
    time: Duration,
}

/// Where a guard stops all questions it stays in the cache, but for what a turn of the store drives out of
/// it: for absent keys turns are so long that this matters little.
const REDB: Plan = Plan {
    absent: Turns { questions: 400_000, time: Duration::from_secs(4) },
    present: Turns { questions: 2_000, time: Duration::from_secs(4) },
    clock: processor_time,
};
const SERVER: Plan = Plan {
    absent: Turns { questions: 500, time: Duration::from_secs(2) },
    present: Turns { questions: 20, time: Duration::from_secs(7) },
    clock: wall_time,
};

/// A table of what was measured in front of one store.
struct Report<'a> {
    unguarded: &'a Subject<'a>,
    keys: u64,
    plan: &'static Plan,
    rows: Vec<Vec<String>>,
}

impl<'a> Report<'a> {
    fn new(store: &str, unguarded: &'a Subject<'a>, keys: u64, plan: &'static Plan) -> Self {
        let head =
            [store, "bits per key", "absent, ns", "guarded", "×", "present, ns", "guarded", "×"];
        Self { unguarded, keys, plan, rows: vec![head.map(str::to_owned).to_vec()] }
    }

    fn add(&mut self, guarded: &Subject<'_>) {
        let bits = guarded.bits as f64 / self.keys as f64;
        let mut row = vec![guarded.name.clone(), format!("{bits:.1}")];
        for (are_present, decimals) in [(false, 1), (true, 3)] {
            let ([plain, guarded], ratio) = self.by_turns(guarded, are_present);
            row.push(format!("{plain:.0}"));
            row.push(format!("{guarded:.0}"));
            row.push(format!("{ratio:.decimals$}"));
        }
        self.rows.push(row);
    }

    /// The nanoseconds that a question takes without a guard and with it, and the first over the second within
    /// a turn: medians.
    fn by_turns(&self, guarded: &Subject<'_>, are_present: bool) -> ([f64; 2], f64) {
        let Plan { absent, present, clock } = self.plan;
        let Turns { questions, time } = if are_present { present } else { absent };
        let mut next = 0;
        let mut ask = |subject: &Subject<'_>| {
            let asked: Vec<u64> = (next..next + questions)
                .map(|at| number(number(at) % self.keys + if are_present { 0 } else { self.keys }))
                .collect();
            next += questions;
            let start = clock();
            let found = (subject.count)(&asked);
            let time = clock() - start;
            assert_eq!(found, if are_present { *questions } else { 0 }, "{}", subject.name);
            time / *questions as f64
        };
        let mut turns: Vec<[f64; 2]> = Vec::new();
        let start = Instant::now();
        for turn in 0.. {
            let elapsed = start.elapsed();
            if elapsed > *time {
                break;
            }
            let mut subjects = [self.unguarded, guarded];
            subjects.rotate_left(turn % 2);
            let mut times = subjects.map(&mut ask);
            times.rotate_left(turn % 2);
            if elapsed > *time / 5 {
                turns.push(times);
            }
        }
        let median_of = |value: fn(&[f64; 2]) -> f64| median(turns.iter().map(value).collect());
        let times = [median_of(|turn| turn[0]), median_of(|turn| turn[1])];
        (times, median_of(|turn| turn[0] / turn[1]))
    }

    fn print(self) {
        println!("{} keys\n{}", self.keys, table(&self.rows));
    }
}

/// For how many nanoseconds this thread has had a processor.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds since some moment.
fn wall_time() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as f64
}

fn ask<M: Mode>(guarded: Guarded<RedbStore<u64, u64>, M>) -> impl Fn(&[u64]) -> u64 {
    move |asked| asked.iter().filter(|key| guarded.contains(**key).unwrap()).count() as u64
}

fn measure_redis(kinds: &[Kind], keys: u64, url: &str, runtime: &Runtime) {
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
    let unguarded = unguarded(store(), runtime);
    let mut report = Report::new("Redis", &unguarded, keys, &SERVER);
    report.add_owned(kinds, store, runtime);
    for &kind in kinds {
        // Questions that do not wait for the server leave the follower no time.
        let options = SharedOptions::new(guard(kind)).staleness(Duration::from_secs(600));
        let guarded = runtime.block_on(AsyncGuarded::share(shared(), options.take_over(true)));
        let guarded = guarded.unwrap();
        let bits = guarded.guard_status().size_in_bits;
        report.add(&Subject::new(format!("shared, {kind}"), bits, ask_async(guarded, runtime)));
    }
    report.print();
    empty(store(), runtime);
    empty(shared(), runtime);
}

fn measure_cluster(kinds: &[Kind], keys: u64, urls: &str, runtime: &Runtime) {
    let client = redis::cluster::ClusterClient::new(urls.split(' ')).unwrap();
    let connection = runtime.block_on(client.get_async_connection()).unwrap();
    let store = || ClusterStore::new(connection.clone(), "crivo-bench:").unwrap();
    fill(store(), keys, runtime);
    let unguarded = unguarded(store(), runtime);
    let mut report = Report::new("Redis Cluster", &unguarded, keys, &SERVER);
    report.add_owned(kinds, store, runtime);
    report.print();
    empty(store(), runtime);
}

#[cfg(feature = "cassandra")]
fn measure_cassandra(kinds: &[Kind], keys: u64, hosts: &str, port: &str, runtime: &Runtime) {
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
    let unguarded = unguarded(store(), runtime);
    let mut report = Report::new("Cassandra", &unguarded, keys, &SERVER);
    report.add_owned(kinds, store, runtime);
    report.print();
    execute(remove);
}

/// A server's keys without a guard.
fn unguarded<S: AsyncStore<Key = [u8]>>(store: S, runtime: &Runtime) -> Subject<'_> {
    Subject::new("no guard", 0, move |asked| {
        runtime.block_on(async {
            let mut found = 0;
            for key in asked {
                found += u64::from(store.contains(&key.to_le_bytes()).await.unwrap());
            }
            found
        })
    })
}

impl Report<'_> {
    /// A server's keys in the modes that every store has.
    fn add_owned<S>(&mut self, kinds: &[Kind], store: impl Fn() -> S, runtime: &Runtime)
    where
        S: AsyncOwnedStore<Key = [u8]>,
    {
        for &kind in kinds {
            let guarded = runtime.block_on(AsyncGuarded::snapshot(store(), &guard(kind))).unwrap();
            let bits = guarded.filter().size_in_bits();
            let ask = ask_async(guarded, runtime);
            self.add(&Subject::new(format!("snapshot, {kind}"), bits, ask));
        }
        for &kind in kinds {
            let guarded = runtime.block_on(AsyncGuarded::open(store(), take_over(kind))).unwrap();
            let bits = guarded.guard_status().size_in_bits;
            let ask = ask_async(guarded, runtime);
            self.add(&Subject::new(format!("exclusive, {kind}"), bits, ask));
        }
    }
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
