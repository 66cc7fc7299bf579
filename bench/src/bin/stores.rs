//! A redb table with and without a guard: absent and present keys.
//!
//! ```text
//! cargo run --release --bin stores [KEYS]
//! ```
//!
//! The database is closed and opened again before it is asked. The guards have an FPR of 0.1%.

use crivo::filter::Kind;
use crivo_bench::{Contender, interleave, number, shuffle};
use crivo_store::redb::RedbStore;
use crivo_store::{GuardOptions, Guarded, Mode, Store};
use redb::{Database, TableDefinition};

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");
const FPR: f64 = 0.001;
const QUESTIONS: usize = 20_000;
const ROUNDS: usize = 9;

type Table = RedbStore<u64, u64>;

fn main() {
    let keys: u64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |keys| keys.parse().expect("the number of keys is a number"));
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

    let database = std::sync::Arc::new(Database::open(&path).unwrap());
    let store = || RedbStore::new(database.clone(), TABLE);
    let unguarded = store();
    let guard = |kind| GuardOptions::new(kind, FPR).unwrap();
    let snapshots: Vec<_> = [Kind::Fuse, Kind::Blocked, Kind::Cuckoo]
        .into_iter()
        .map(|kind| (kind, Guarded::snapshot(store(), &guard(kind)).unwrap()))
        .collect();
    let exclusive = Guarded::open(store(), guard(Kind::Cuckoo)).unwrap();
    for (kind, snapshot) in &snapshots {
        let bits = snapshot.filter().size_in_bits() as f64 / keys as f64;
        println!("{kind}: {bits:.1} bits per key");
    }

    let mut present: Vec<u64> = (0..keys).map(number).collect();
    shuffle(&mut present);
    present.truncate(QUESTIONS);
    let absent: Vec<u64> = (keys..keys + QUESTIONS as u64).map(number).collect();
    for (what, asked, expected) in
        [("absent", &absent, 0), ("present", &present, present.len() as u64)]
    {
        let mut contenders = vec![Contender::new("no guard", || {
            asked.iter().filter(|key| unguarded.contains(key).unwrap()).count() as u64
        })];
        for (kind, snapshot) in &snapshots {
            contenders.push(Contender::new(format!("snapshot, {kind}"), || ask(snapshot, asked)));
        }
        contenders.push(Contender::new("exclusive, cuckoo", || ask(&exclusive, asked)));
        let times = interleave(&mut contenders, asked.len(), ROUNDS, Some(expected));
        println!("\n{what} keys");
        for (contender, time) in contenders.iter().zip(&times) {
            println!("{:20} {time:9.1} ns {:8.2} ×", contender.name, times[0] / time);
        }
    }
}

fn ask<M: Mode>(guarded: &Guarded<Table, M>, keys: &[u64]) -> u64 {
    keys.iter().filter(|key| guarded.contains(**key).unwrap()).count() as u64
}
