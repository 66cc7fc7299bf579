//! Exact dictionaries: maps that never err, and one that may.
//!
//! | map | a lookup touches | removal | memory for u64 → u64, bytes per entry |
//! |---|---|---|---|
//! | `ChainedMap` | its bucket's chain | yes | 28 and more |
//! | `LinearMap` | a run of neighbouring slots | yes, by backward shift | 17 / load |
//! | `CuckooMap` | d buckets, always | yes | 17 / load: 17.9 at 95% |
//! | `CompactedMap` | a run of neighbouring slots | of inserted keys only | l bits instead of a key; **may err** |
//!
//! All of them hash with a [`KeyHasher`](crate::KeyHasher), so that their behaviour is the same
//! on every platform, and all follow [`Dictionary`], so that an experiment runs over each.
//!
mod chained;
mod compacted;
mod dictionary;
mod error;

pub use chained::{ChainedEntries, ChainedMap};
pub use compacted::{Answer, CompactedEntries, CompactedMap, Inserted};
pub use dictionary::Dictionary;
pub use error::{BuildError, InsertError};
