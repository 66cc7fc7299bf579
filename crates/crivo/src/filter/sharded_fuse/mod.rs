//! The fuse filter of very many keys: built shard by shard, in bounded memory.
//!
//! A [fuse filter](super::fuse) is solved for all its keys at once, which takes 27 bytes of memory
//! per key. Here the first bits of a digest choose a *shard*, and each shard is a fuse filter of its
//! own, with its own seed. So only a few shards are in work at a time, one on each processor, and the
//! digests of the others can wait on disk:
//!
//! ```text
//!   digest   0110 1011…          the first bits: shard 6; all bits: the cells in it
//!   shards   │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ …          all with as many cells
//!   seeds    │ s │ s │ s'│ s │ s │ s │ s │ s │ …          another where the first did not do
//! ```
//!
//! ```
//! use crivo::filter::ShardedFuse;
//!
//! let members = ShardedFuse::build(0..100_000u64, 0.01)?;
//! assert!(members.contains(&77u64));
//! assert_eq!(members.width(), 7); // 7 bits are the fewest for 1%
//! # Ok::<(), crivo::filter::FuseError>(())
//! ```
//!
//! The FPR is that of a fuse filter, 2^−w. The size is, too, for a million keys and more: shards are
//! equally large, with room for the one that gets the most keys, which is half a hundredth more at
//! the most. A question reads the seed of its shard, which lies in a cache, and then as many cells.
//!
//! # How many shards?
//! As few as leave at most 2^21 keys to each, as a power of two. It depends on the number of distinct
//! keys and on nothing else: the same keys give the same filter, in any order, on any number of threads
//! and with any amount of memory.
//!
//! # Within a memory
//! A [`KeyCollector`] takes keys one after another. One that is made [`within`](KeyCollector::within)
//! an amount of memory (with the feature `spill`) writes their digests, 8 bytes each, to an anonymous
//! temporary file when half of that memory is full, and the construction keeps to the memory as
//! well, beside the filter itself. It needs a certain amount, which is taken even if the limit is lower: up
//! to 16 MB for digests in memory, and then a shard up to 61 MB. Not counted is what is small: the number of
//! keys of each shard (256 KB), where digests lie in the file (for each thousand, 16 bytes or fewer), and the
//! buffers and the stack of each thread.
//!
//! ```
//! # #[cfg(feature = "spill")] {
//! use crivo::KeyHasher;
//! use crivo::filter::{Bytes, KeyCollector, ShardedFuse};
//!
//! let mut collector = KeyCollector::within(Bytes(1 << 28), KeyHasher::default());
//! for user in 0..10_000 {
//!     collector.insert(&format!("user-{user}"))?;
//! }
//! let filter = ShardedFuse::from_keys(collector.finish()?, 0.001)?;
//! assert!(filter.contains("user-7"));
//! # }
//! # Ok::<(), crivo::filter::FuseError>(())
//! ```
//!
//! # When not to use it
//! Below 2^21 keys there is one shard, and a [`Fuse`](super::Fuse) is the same with less ado.

mod build;
mod codec;
mod keys;
mod spec;
mod table;
#[cfg(test)]
mod tests;

pub use keys::{KeyCollector, KeySet};
pub use spec::ShardedFuseSpec;

use std::fmt;

use self::table::ShardedTable;
use super::any::operations;
use super::fuse::FuseError;
use super::methods::{describe, read_methods};
use super::{Filter, FilterSpec};
use crate::persist::Metadata;
use crate::theory::fuse::Arity;
use crate::{Digest, Key, KeyHasher};
use crivo_core::memory::Cache;

/// A binary fuse filter in shards: static, a false-positive rate of 2^−w, 1.13 · w bits per key.
///
/// See [the module](self) for how it works. The filter of no keys contains nothing.
///
/// ```
/// use crivo::filter::ShardedFuse;
///
/// let words = ["crivo", "peneira", "joeira"];
/// let filter = ShardedFuse::build(words, 0.001)?;
/// assert!(words.iter().all(|word| filter.contains(word)));
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ShardedFuse {
    hasher: KeyHasher,
    key_count: u64,
    /// None at all if there are no keys.
    cells: ShardedTable,
    metadata: Metadata,
}

impl ShardedFuse {
    /// The filter of `keys`, hashed with fold64 and seed 0. Keys may be given more than once.
    ///
    /// All digests are collected in memory. A [`KeyCollector`] can do with less.
    ///
    /// ```
    /// let filter = crivo::filter::ShardedFuse::build(0..10_000u64, 0.01)?;
    /// assert!((0..10_000u64).all(|key| filter.contains(&key)));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If the FPR is not between 2^−32 and 1, there is no memory, or no seed was found for a shard
    /// ([`FuseError::Unsolved`]).
    pub fn build<K: Key>(keys: impl IntoIterator<Item = K>, fpr: f64) -> Result<Self, FuseError> {
        let mut collector = KeyCollector::new(KeyHasher::default());
        collector.extend(keys)?;
        Self::from_keys(collector.finish()?, fpr)
    }

    /// The filter of the keys with these digests, which must come from `hasher`. Digests may be
    /// given more than once.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::ShardedFuse;
    ///
    /// let hasher = KeyHasher::xxh3(7);
    /// let digests = ["ana", "eva"].map(|key| hasher.digest(key));
    /// let filter = ShardedFuse::from_digests(digests.to_vec(), 0.01, hasher)?;
    /// assert!(filter.contains("ana") && filter.contains("eva"));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn from_digests(
        digests: Vec<Digest>,
        fpr: f64,
        hasher: KeyHasher,
    ) -> Result<Self, FuseError> {
        Self::from_keys(KeyCollector::set_of(digests, None, hasher)?, fpr)
    }

    /// The filter of keys that were collected.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{KeyCollector, ShardedFuse};
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend(["ana", "eva"])?;
    /// assert!(ShardedFuse::from_keys(collector.finish()?, 0.01)?.contains("eva"));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build), and if a temporary file cannot be read.
    pub fn from_keys(keys: KeySet, fpr: f64) -> Result<Self, FuseError> {
        ShardedFuseSpec::for_fpr(keys.count().max(1), fpr)?.build_from_keys(keys)
    }

    fn new(hasher: KeyHasher, key_count: u64, cells: ShardedTable) -> Self {
        Self { hasher, key_count, cells, metadata: Metadata::new() }
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuse, ShardedFuseSpec};
    ///
    /// let filter = ShardedFuse::build(0..1_000u64, 0.01)?;
    /// assert_eq!(filter.spec(), ShardedFuseSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn spec(&self) -> ShardedFuseSpec {
        ShardedFuseSpec::of(self.key_count, self.cells.geometry())
    }

    /// How many cells a key has.
    ///
    /// ```
    /// use crivo::filter::ShardedFuse;
    /// use crivo::theory::fuse::Arity;
    ///
    /// assert_eq!(ShardedFuse::build(["ana"], 0.01)?.arity(), Arity::Four);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn arity(&self) -> Arity {
        self.cells.geometry().shard.arity
    }

    /// w: the bits of a fingerprint.
    ///
    /// ```
    /// assert_eq!(crivo::filter::ShardedFuse::build(["ana"], 0.01)?.width(), 7); // 2^-7 = 0.78%
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn width(&self) -> u32 {
        self.cells.geometry().shard.width
    }

    /// How many shards there are.
    ///
    /// ```
    /// assert_eq!(crivo::filter::ShardedFuse::build(["ana"], 0.01)?.shards(), 1);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn shards(&self) -> u64 {
        self.cells.geometry().shards()
    }

    fn has_no_cells(&self) -> bool {
        self.cells.geometry().shard.first_cells == 0
    }
}

impl Filter for ShardedFuse {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        if self.has_no_cells() {
            return false;
        }
        match self.arity() {
            Arity::Three => self.cells.contains::<3>(key.get()),
            Arity::Four => self.cells.contains::<4>(key.get()),
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        match self.arity() {
            _ if self.has_no_cells() => hits.fill(false),
            Arity::Three => self.cells.contains_each::<3>(keys, hits),
            Arity::Four => self.cells.contains_each::<4>(keys, hits),
        }
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        match self.arity() {
            _ if self.has_no_cells() => {}
            Arity::Three => self.cells.prefetch::<3>(self.cells.place(key.get()), Cache::First),
            Arity::Four => self.cells.prefetch::<4>(self.cells.place(key.get()), Cache::First),
        }
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.cells.words().len() as u64
    }

    /// 2^−w, however many keys there are, and their digests; 0 if there are none.
    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

read_methods!(
    ShardedFuse,
    hasher: |filter| filter.hasher,
    example: "let filter = crivo::filter::ShardedFuse::build([\"ana\", \"eva\"], 0.01)?;",
);

operations!(ShardedFuse:);

impl fmt::Debug for ShardedFuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "ShardedFuse", self, Some(self.key_count))
    }
}
