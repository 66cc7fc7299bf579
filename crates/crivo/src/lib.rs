//! **crivo** (Portuguese: *sieve*) answers *"have I seen this key?"*
//!
//! | module | what it holds |
//! |---|---|
//! | [`hash`] | keys, stable seeded hash families, indices from a digest, tests of hash quality |
//! | [`theory`] | sizes, error rates, bounds and confidence intervals, as pure functions |
//! | [`bits`] | packed slots of any width |
//! | [`filter`] | approximate membership: a few bits per key, and a known rate of wrong yeses |
//! | [`codec`] | one portable file format for every filter |
//! | [`sketch`] | which sets are similar? MinHash, and an index that finds them |
//! | [`exchange`] | two peers with a set each: what differs, what is common, which rows match |
//! | [`exact`] | dictionaries: chaining, linear probing, cuckoo hashing, hash compaction |
//! | [`route`] | requests that find their way through a tree, or to a moving device, by filters |
//! | [`admit`] | what a cache should keep: admission on the second request, and policies compared |
//! | [`memory`] | what large tables ask of the machine: huge pages, cache lines ahead of their use |
//!
//! ```
//! use crivo::exact::CuckooMap;
//!
//! let mut stock = CuckooMap::new();
//! stock.insert("apples", 3)?;
//! stock.insert("pears", 5)?;
//! assert_eq!(stock.get("pears"), Some(&5));
//! assert!(!stock.contains("plums"));
//! # Ok::<(), crivo::exact::InsertError>(())
//! ```

mod error;
mod random;

pub mod admit;
pub mod bits;
pub mod codec;
pub mod exact;
pub mod exchange;
pub mod filter;
pub mod hash;
pub mod memory;
pub mod route;
pub mod sketch;
pub mod theory;

pub use error::{BuildError, ParameterError};
pub use hash::{Digest, Key, KeyHasher};
