//! Sizes, false-positive rates, bounds and intervals: pure formulas that know no filter type.
//!
//! Every filter has three numbers: how many bits a key takes, how often an absent key is taken
//! for present (the false-positive rate, FPR or ε), and how many keys it holds. Two of them decide the
//! third, and these functions say how. Filters are sized by them, and tests hold filters to them.
//!
//! ```
//! use crivo::theory::{bloom, cuckoo, interval, limits};
//!
//! // A million keys at 1%: what does it take?
//! let size = bloom::size(1_000_000, 0.01)?;
//! assert_eq!((size.bits, size.probes), (9_592_957, 7));
//! assert_eq!(format!("{:.2}", limits::fixed_set(0.01)?), "6.64");    // no filter takes less
//! assert_eq!(format!("{:.2}", cuckoo::bits_per_key(0.01, 4, 0.95)?), "10.15");
//!
//! // Measured: 1,037 of 100,000 absent keys were accepted. Is that 1%?
//! assert!(interval::exact(1_037, 100_000, 0.95)?.contains(0.01));
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! | module | question |
//! |---|---|
//! | [`bloom`] | the classic filter: three forms of its FPR, the best k, its size |
//! | [`blocked`] | the same in blocks of one cache line |
//! | [`split_block`] | the same in blocks of eight 32-bit words, as Parquet has them |
//! | [`counting`] | do counters of c bits overflow? |
//! | [`cuckoo`] | fingerprints in buckets; how full a cuckoo table can get |
//! | [`quotient`] | remainders in runs |
//! | [`fuse`] | static filters of three or four cells a key |
//! | [`digest`] | what a digest of 64 bits allows, whatever the filter |
//! | [`compaction`] | hashes stored instead of keys, and their collisions |
//! | [`limits`] | what no structure can beat |
//! | [`estimate`] | how many keys, from the number of set bits |
//! | [`interval`] | how sure is a measured rate? |
//! | [`rejection`] | how many bits does a rejected query look at? |
//!
//! # What they assume
//!
//! Ideal hashing: positions and fingerprints are independent and uniform, and every inserted key
//! is different. [`hash`](crate::hash) comes near enough that tests cannot tell; an adversary who
//! knows the seed can. An FPR is the mean over all filters of that size; one filter's own FPR
//! scatters around it, the more the smaller it is.
//!
//! Sizes are whole numbers in `u64`, FPRs are `f64` strictly between 0 and 1, and what is out of
//! range is refused with a [`ParameterError`](crate::ParameterError) that says why.
//!
//! The project's `docs/theory.md` tells it all as one story, with the mistakes that are often
//! copied.

mod occupancy;

pub(crate) mod search;

pub mod blocked;
pub mod bloom;
pub mod compaction;
pub mod counting;
pub mod cuckoo;
pub mod digest;
pub mod estimate;
pub mod fuse;
pub mod interval;
pub mod limits;
pub mod quotient;
pub mod rejection;
pub mod special;
pub mod split_block;

#[cfg(test)]
mod tests;
