//! A guard in front of a redb table: how many questions never reach the database.
//!
//! ```sh
//! cargo run --release -p crivo-store --example guarded_table
//! ```

use std::error::Error;

use crivo::filter::Kind;
use crivo_store::redb::RedbStore;
use crivo_store::{GuardOptions, Guarded, OpenOptions};
use redb::{Database, TableDefinition};

const USERS: TableDefinition<'_, &str, u64> = TableDefinition::new("users");

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let open = || -> Result<_, Box<dyn Error>> {
        let database = Database::create(directory.path().join("users.redb"))?;
        let guard = GuardOptions::new(Kind::Cuckoo, 0.001)?;
        let options = OpenOptions::new(guard).file(directory.path().join("users.guard"));
        Ok(Guarded::open(RedbStore::new(database, USERS), options)?)
    };

    let users = open()?;
    let names: Vec<String> = (0..10_000).map(|number| format!("user{number}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), name.len() as u64)).collect();
    users.put_batch(&entries)?;
    users.delete("user7")?;
    users.close()?;

    let users = open()?;
    println!("the guard came from: {:?}", users.guard_source());
    for number in 0..100_000 {
        users.contains(&format!("user{number}"))?;
    }
    let counters = users.counters();
    println!("questions         {}", counters.questions);
    println!("stopped           {}", counters.stopped);
    println!("found             {}", counters.found);
    println!("false positives   {}", counters.false_positives);
    println!("bytes of memory   {}", users.guard_status().size_in_bits / 8);
    users.close()?;
    Ok(())
}
