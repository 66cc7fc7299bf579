//! A guard before a store on disk: what it does not know is not worth a look.
//!
//! Looking up a key that is not there is as dear as one that is: pages are read down to the leaf
//! where it would be. A filter in memory answers most of these questions. Its *no* is certain, and
//! after its *perhaps* the store is asked, so that answers are always right.
//!
//! ```text
//!   get(key) ──▶ guard ── no ──▶ None                  99 absent keys of 100
//!                  └── perhaps ──▶ redb ──▶ value, or None after all
//! ```
//!
//! ```text
//! cargo run --release --example store_guard           a store of 100,000 users in a temporary file
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, process};

use crivo::filter::Growing;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

const USERS: TableDefinition<'_, &str, u64> = TableDefinition::new("users");

/// The guard's rate of idle questions to the store.
const RATE: f64 = 0.01;

/// A table of users with a guard.
struct Users {
    store: Database,
    guard: Growing,
    /// How often the store was asked, and how often for nothing.
    asked: u64,
    in_vain: u64,
}

impl Users {
    /// Opens a store, or makes one, and builds its guard from the keys that are there.
    fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let store = Database::create(path)?;
        let mut guard = Growing::new(1_024, RATE)?;
        let writing = store.begin_write()?;
        for entry in writing.open_table(USERS)?.iter()? {
            guard.insert(entry?.0.value());
        }
        writing.commit()?;
        Ok(Self { store, guard, asked: 0, in_vain: 0 })
    }

    /// Stores all of them, or none.
    ///
    /// The guard learns them first. If the store then fails, it knows keys that are not there, and
    /// lets some idle questions through; the other way round it would deny keys that are there.
    fn insert_all<'a>(
        &mut self,
        users: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Result<(), Box<dyn Error>> {
        let writing = self.store.begin_write()?;
        {
            let mut table = writing.open_table(USERS)?;
            for (name, id) in users {
                // What is replaced is known already.
                if !self.guard.contains(name) {
                    self.guard.insert(name);
                }
                table.insert(name, id)?;
            }
        }
        Ok(writing.commit()?)
    }

    /// Removes a user from the store. The guard goes on saying *perhaps*, until it is built again.
    fn remove(&mut self, name: &str) -> Result<Option<u64>, Box<dyn Error>> {
        let writing = self.store.begin_write()?;
        let removed = writing.open_table(USERS)?.remove(name)?.map(|id| id.value());
        writing.commit()?;
        Ok(removed)
    }

    /// The user of this name.
    fn get(&mut self, name: &str) -> Result<Option<u64>, Box<dyn Error>> {
        if !self.guard.contains(name) {
            return Ok(None);
        }
        let found = self.get_unguarded(name)?;
        self.asked += 1;
        self.in_vain += u64::from(found.is_none());
        Ok(found)
    }

    fn get_unguarded(&self, name: &str) -> Result<Option<u64>, Box<dyn Error>> {
        let reading = self.store.begin_read()?;
        Ok(reading.open_table(USERS)?.get(name)?.map(|id| id.value()))
    }
}

/// A file that goes away at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("crivo-{}-{name}.redb", process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn name(number: u64) -> String {
    format!("user-{number}")
}

fn main() -> Result<(), Box<dyn Error>> {
    const COUNT: u64 = 100_000;
    let file = Temporary::new("example");
    let mut users = Users::open(&file.0)?;
    let names: Vec<String> = (0..COUNT).map(name).collect();
    users.insert_all(names.iter().map(String::as_str).zip(0..))?;
    println!(
        "{COUNT} users in {}, guarded by {} bytes",
        file.0.display(),
        users.guard.size_in_bits() / 8
    );

    let strangers: Vec<String> = (COUNT..2 * COUNT).map(name).collect();
    let begun = Instant::now();
    for name in &strangers {
        assert_eq!(users.get_unguarded(name)?, None);
    }
    let unguarded = begun.elapsed();
    let begun = Instant::now();
    for name in &strangers {
        assert_eq!(users.get(name)?, None);
    }
    let guarded = begun.elapsed();
    println!("{COUNT} strangers asked for: {unguarded:.1?} without a guard, {guarded:.1?} with it");
    println!("the store was asked {} times, all in vain", users.in_vain);
    println!("{} times were expected", (users.guard.expected_fpr() * COUNT as f64).round());

    assert_eq!(users.remove(&names[7])?, Some(7));
    assert_eq!(users.get(&names[7])?, None);
    println!("a user who left is not found, although the guard remembers the name");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_store() {
        let file = Temporary::new("answers");
        let mut users = Users::open(&file.0).unwrap();
        let names: Vec<String> = (0..3_000).map(name).collect();
        users.insert_all(names.iter().map(String::as_str).zip(0..)).unwrap();
        users.insert_all([("user-7", 700)]).unwrap();
        assert_eq!(users.remove("user-8").unwrap(), Some(8));
        for number in 0..6_000 {
            let expected = match number {
                7 => Some(700),
                8 | 3_000.. => None,
                _ => Some(number),
            };
            assert_eq!(users.get(&name(number)).unwrap(), expected);
        }
        // Of 3,000 strangers and one who is gone, 1% lead to a look in vain: 30, and never 90.
        assert!(users.in_vain >= 1 && users.in_vain < 90, "{}", users.in_vain);
        assert_eq!(users.asked - users.in_vain, 2_999);
    }

    #[test]
    fn a_store_that_is_opened_again_is_guarded_again() {
        let file = Temporary::new("again");
        let mut users = Users::open(&file.0).unwrap();
        users.insert_all([("ana", 1), ("bia", 2)]).unwrap();
        drop(users);
        let mut users = Users::open(&file.0).unwrap();
        assert_eq!(users.get("bia").unwrap(), Some(2));
        assert_eq!(users.get("carla").unwrap(), None);
        assert_eq!(users.guard.key_count(), 2);
    }
}
