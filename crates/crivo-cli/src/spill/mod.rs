//! Exact answers about more records than memory holds.
//!
//! A record is remembered by 128 bits of hash ([`RecordHasher`]), about 20 bytes in a
//! [`DigestSet`]. When a set has taken all the memory it may, it is closed, and whatever is not in
//! it goes to files, 64 of them, chosen by bits of the digest: equal records meet in the same file,
//! and each file is small enough to be settled in memory by itself. One that is not is treated in
//! the same way again, by other bits.
//!
//! ```text
//!   records ──▶ set, until it is full ──▶ settled at once
//!                     └──▶ 64 files by digest ──▶ a set for each ──▶ numbers of records, ascending
//! ```
//!
//! [`Sieve`] finds first occurrences, [`Join`] what two inputs have in common. Files settle records
//! out of order, so that each writes down their numbers, and [`marks`] answers about them in the
//! order of the input. All files are anonymous: they are gone when the program is, however it ends.
//!
//! # How exact is exact?
//!
//! Two of n different records share their 128 bits with probability n²/2^129: for a million million
//! records, 1.5e-15. The hash is seeded anew at random in each run, so that records which
//! collide under one seed, known to somebody, are of no use. It is no cryptographic hash all the same.

mod files;
mod join;
mod marks;
mod set;
mod sieve;

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_128_with_seed;

pub(crate) use files::{Spool, temporary, temporary_error};
pub(crate) use join::Join;
pub(crate) use set::DigestSet;
pub(crate) use sieve::{Sieve, Sifted};

/// How many files a set that is full spreads the rest over, as a power of two.
const PARTITION_BITS: u32 = 6;
const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Which file a digest goes to. Sets place digests by their high bits; files take the low ones.
fn partition(digest: u128, level: u32) -> usize {
    digest.rotate_right(level * PARTITION_BITS) as usize % PARTITIONS
}

/// Turns keys into 128 bits, differently in each run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordHasher {
    seed: u64,
}

impl RecordHasher {
    /// A hasher with a random seed.
    pub(crate) fn new() -> Self {
        // The standard library's own source of randomness, with which it keys its maps.
        Self { seed: RandomState::new().hash_one(0) }
    }

    #[inline]
    pub(crate) fn digest(&self, key: &[u8]) -> u128 {
        xxh3_128_with_seed(key, self.seed)
    }
}

#[cfg(test)]
mod tests;
