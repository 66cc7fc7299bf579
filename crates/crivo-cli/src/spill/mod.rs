//! Exact answers about more records than memory holds.
//!
//! A record is represented by a 128-bit hash ([`RecordHasher`]), which takes about 20 bytes in a
//! [`RecordSet`](set::RecordSet). When a set has used its memory, it is closed, and records that are not in it go to
//! one of 64 files, chosen by bits of the digest: equal records meet in the same file, and each file
//! is small enough to be processed in memory. A file that is not is partitioned again, by other bits.
//!
//! ```text
//!   records ──▶ set, until it is full ──▶ decided at once
//!                     └──▶ 64 files by digest ──▶ a set for each ──▶ numbers of records, ascending
//! ```
//!
//! [`Deduplicator`] finds first occurrences, [`SemiJoin`] what two inputs have in common, [`RecordGroups`]
//! how often records occur, and [`DistinctCounter`] how many are distinct. Files are
//! processed out of the order of the input; the numbers of their records are written down, and
//! [`marks`] returns them in the order of the input. All files are anonymous: they vanish with the
//! process, however it ends.
//!
//! # How exact is exact?
//!
//! Two of n distinct records share their 128 bits with probability n²/2^129: for 10^12 records,
//! 1.5e-15. The hash has a random seed in each run, so that records that collide under a known seed
//! are useless to an attacker. It is not a cryptographic hash, however.

mod count;
mod dedup;
mod groups;
mod join;
mod marks;
mod set;

use std::hash::{BuildHasher, RandomState};

use crivo_core::spill::{PARTITION_BITS, PARTITIONS};
use xxhash_rust::xxh3::xxh3_128_with_seed;

pub(crate) use count::DistinctCounter;
pub(crate) use dedup::{Deduplicator, Occurrence};
pub(crate) use groups::{Keep, RecordGroups};
pub(crate) use join::SemiJoin;
pub(crate) use set::{InsertResult, RecordSet};

/// The default of `--memory`, for every command that has it.
pub(crate) const DEFAULT_MEMORY: &str = "1GB";

/// The partition of a digest. Sets place digests by their high bits; partitions use the low ones.
fn partition(digest: u128, level: u32) -> usize {
    digest.rotate_right(level * PARTITION_BITS) as usize % PARTITIONS
}

/// A digest in a file.
type DigestEntry = [u64; 2];

fn to_entry(digest: u128) -> DigestEntry {
    [digest as u64, (digest >> 64) as u64]
}

fn from_entry([low, high]: DigestEntry) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// A record's number and digest in a file.
type NumberedEntry = [u64; 3];

fn to_numbered(number: u64, digest: u128) -> NumberedEntry {
    let [low, high] = to_entry(digest);
    [number, low, high]
}

fn from_numbered([number, low, high]: NumberedEntry) -> (u64, u128) {
    (number, from_entry([low, high]))
}

/// Hashes keys to 128 bits, differently in each run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordHasher {
    seed: u64,
}

impl RecordHasher {
    /// A hasher with a random seed.
    pub(crate) fn new() -> Self {
        // The source of randomness with which the standard library keys its maps.
        Self { seed: RandomState::new().hash_one(0) }
    }

    #[inline]
    pub(crate) fn digest(&self, key: &[u8]) -> u128 {
        xxh3_128_with_seed(key, self.seed)
    }
}

#[cfg(test)]
mod tests;
