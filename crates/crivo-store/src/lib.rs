//! A filter in front of a key-value store: absent keys are answered from memory.
//!
//! ```
//! # #[cfg(feature = "redb")] {
//! use crivo::filter::Kind;
//! use crivo_store::redb::RedbStore;
//! use crivo_store::{GuardOptions, Guarded, OpenOptions};
//! use redb::{Database, TableDefinition};
//!
//! const WORDS: TableDefinition<&str, u64> = TableDefinition::new("words");
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("words.redb");
//! let store = RedbStore::new(Database::create(&path)?, WORDS);
//! let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.001)?)
//!     .file(path.with_extension("guard"));
//! let words = Guarded::open(store, options)?;
//!
//! words.put("sieve", 1)?;
//! assert_eq!(words.get("sieve")?.map(|count| count.value()), Some(1));
//! assert!(!words.contains("filter")?); // the database was not asked
//! assert_eq!(words.counters().stopped, 1);
//! words.close()?; // saves the guard for the next start
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | item | what it is |
//! |---|---|
//! | [`Guarded`] | a store behind a guard, with its [`Counters`] |
//! | [`Snapshot`], [`Exclusive`] | its modes: data that do not change, and data that one owner changes |
//! | [`guard`] | the guard alone, and the protocol that keeps it right |
//! | [`Store`], [`OwnedStore`] | what a guard needs of a store |
//! | `asynchronous` | the same for stores whose calls are futures: `AsyncGuarded` (feature `async`, on tokio) |
//! | `Shared` | a mode of `AsyncGuarded`: data that several writers change, who announce what they write |
//! | `redis` | keys of a Redis or Valkey server (feature `redis`) |
//! | `cassandra` | a table of a Cassandra cluster (feature `cassandra`) |
//! | [`redb`] | tables of the embedded database redb (feature `redb`, on by default) |
//!
//! # The promise
//!
//! *Absent* is certain: [`guard`] says why, and every mode says what would break it. Never write to the
//! store past the guard.

#[cfg(feature = "async")]
pub mod asynchronous;
#[cfg(feature = "cassandra")]
pub mod cassandra;
mod counters;
mod error;
pub mod guard;
mod guarded;
#[cfg(test)]
mod heard;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "redis")]
pub mod redis;
mod store;
mod thread_number;

#[cfg(feature = "async")]
pub use asynchronous::{
    AsyncExclusive, AsyncGuarded, AsyncOwnedStore, AsyncSharedStore, AsyncStore, Shared,
    SharedOptions,
};
pub use counters::{Counters, Tally};
pub use error::GuardedError;
pub use guard::{Guard, GuardOptions, GuardStatus};
pub use guarded::{Exclusive, GuardSource, Guarded, Mode, OpenOptions, ScanReason, Snapshot};
pub use store::{Claim, Existed, OwnedStore, Owner, Session, Store};

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "redb"))]
#[doc = include_str!("../README.md")]
mod readme {}
