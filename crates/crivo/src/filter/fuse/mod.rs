//! The binary fuse filter: for a set that is known in full, the smallest filter here.
//!
//! An array of cells of w bits, a few more cells than keys. A key has three cells (or four), and a
//! fingerprint of w bits. The values of the cells are chosen so that for every key, its cells
//! **xor to its fingerprint**. For any other key they xor to something random:
//!
//! ```text
//!   cells             [ 0 | 5 | 0 | 6 | 3 | 0 | … ]         w = 3
//!                           ↓       ↓   ↓
//!   "ana"  fingerprint 0 =  5  xor  6 xor 3                 a member
//!   "eva"  fingerprint 4 ≠  5  xor  0 xor 3 = 6             certainly not a member
//!
//!   rate = 2^−w
//!   size = w · (1.125 n)  bits with three cells, w · (1.075 n) with four, for a million keys and more
//! ```
//!
//! ```
//! use crivo::filter::Fuse;
//!
//! let members = Fuse::build(["ana", "rui", "ana"], 0.01)?;
//! assert!(members.contains("ana") && members.contains("rui"));
//! assert_eq!(members.key_count(), 2);
//! assert_eq!(members.expected_fpr(), 1.0 / 128.0); // 7 bits are the fewest for 1%
//!
//! let many = Fuse::build(0..1_000_000u64, 0.01)?;
//! assert!(many.contains(&77u64));
//! assert!(many.bits_per_key() < 7.92); // a Bloom filter takes 9.59
//! # Ok::<(), crivo::filter::FuseError>(())
//! ```
//!
//! # How values are found
//! A cell that only one key uses can take the value which that key lacks, whatever the other cells
//! hold. So the key may be set aside, and decided last; without it other cells have one user left:
//!
//! ```text
//!   keys            a: cells 0 2 3      b: cells 1 2 3      c: cells 1 2 4
//!   users of cells  0: a    1: b c    2: a b c    3: a b    4: c
//!   set aside       a (at 0), then b (at 3: a has gone), then c (at 1: b has gone)
//!   decided         c, b, a: each at its own cell, which nobody decided before reads
//! ```
//!
//! This gets stuck if some keys share all their cells among them. Random cells leave room for a
//! load of 82%. Here a key's cells lie in consecutive *segments*, which overlap like scales, and
//! keys are set aside from both ends of the array towards the middle: a load of 89% then suffices,
//! and so do two processors, one from each end. If it gets stuck, another seed is tried; that is
//! rare for many keys, and quickly done for few.
//!
//! The construction takes about 27 bytes of memory per key beside the filter, the 8 of the digests
//! among them.
//! The same keys give the same filter, in any order and on any number of threads.
//!
//! # Three cells or four?
//! Four cells take 5% less memory (up to 10% for small sets), and a little more time. If the choice
//! is left open, fewer than 2^17 keys get four cells, and more get three.
//!
//! # Width and speed
//! Any width from 1 to 32 bits is packed without waste, and a cell read with one load. Width 8 needs
//! no shifts, and is the fastest.
//!
//! # When not to use it
//! When keys are still to come: nothing can be inserted, and two filters cannot be united. Then a
//! [Bloom filter](crate::theory::bloom) takes 1.44 · log2(1/rate) bits per key, and all keys can
//! be forgotten. And for a few dozens of keys: they take two cells each, or more.
//!
//! The values are solved for the digests as they are: an adversary who can choose *all* keys, and knows the
//! hasher, can choose digests for which no seed is found ([`FuseError::Unsolved`]); use a secret
//! key against that.
//!
//! # References
//! - T. M. Graf, D. Lemire, *Binary fuse filters: fast and smaller than xor filters*, JEA 2022: the
//!   structure and its dimensions.
//! - M. Dietzfelbinger, S. Walzer, *Dense peelable random uniform hypergraphs*, ESA 2019: why
//!   overlapping segments can be so full.

mod codec;
pub(super) mod equation;
pub(super) mod options;
mod partition;
mod peel;
pub(super) mod solve;
pub(super) mod spec;
pub(super) mod table;
#[cfg(test)]
mod tests;

pub use options::{FuseError, FuseOptions};
pub use spec::FuseSpec;

use std::fmt;

use self::table::FuseTable;
use super::any::operations;
use super::methods::{describe, read_methods};
use super::{Filter, FilterSpec};
use crate::persist::Metadata;
use crate::theory::fuse::Arity;
use crate::{Digest, Key, KeyHasher};
use crivo_core::memory::Cache;

/// A binary fuse filter: static, a false-positive rate of 2^−w, 1.08 to 1.13 · w bits per key for many keys.
///
/// See [the module](self) for how it works. The filter of no keys contains nothing.
///
/// ```
/// use crivo::filter::Fuse;
///
/// let words = ["crivo", "peneira", "joeira"];
/// let filter = Fuse::build(words, 0.001)?;
/// assert!(words.iter().all(|word| filter.contains(word)));
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fuse {
    hasher: KeyHasher,
    key_count: u64,
    /// None at all if there are no keys.
    cells: FuseTable,
    metadata: Metadata,
}

impl Fuse {
    /// The filter of `keys`, hashed with fold64 and seed 0. Keys may be given more than once.
    ///
    /// [`FuseOptions`] has more to choose from.
    ///
    /// ```
    /// let filter = crivo::filter::Fuse::build(0..10_000u64, 0.01)?;
    /// assert!((0..10_000u64).all(|key| filter.contains(&key)));
    /// assert!((filter.expected_fpr() - 1.0 / 128.0).abs() < 1e-9);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If the FPR is not between 2^−32 and 1, there is no memory, or no seed was found
    /// ([`FuseError::Unsolved`]).
    pub fn build<K: Key>(keys: impl IntoIterator<Item = K>, fpr: f64) -> Result<Self, FuseError> {
        let hasher = KeyHasher::default();
        Self::from_digests(options::digests_of(keys, hasher)?, fpr, hasher)
    }

    /// The filter of the keys with these digests, which must come from `hasher`. Digests may be
    /// given more than once.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Fuse;
    ///
    /// let hasher = KeyHasher::xxh3(7);
    /// let digests = ["ana", "eva"].map(|key| hasher.digest(key));
    /// let filter = Fuse::from_digests(digests.to_vec(), 0.01, hasher)?;
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
        let spec = FuseSpec::for_fpr((digests.len() as u64).max(1), fpr)?;
        spec.options(hasher).build_digests(digests)
    }

    fn new(hasher: KeyHasher, key_count: u64, cells: FuseTable) -> Self {
        Self { hasher, key_count, cells, metadata: Metadata::new() }
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, Fuse, FuseSpec};
    ///
    /// let filter = Fuse::build(0..1_000u64, 0.01)?;
    /// assert_eq!(filter.spec(), FuseSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn spec(&self) -> FuseSpec {
        FuseSpec::of(self.key_count, self.cells.geometry())
    }

    /// How many cells a key has.
    ///
    /// ```
    /// use crivo::filter::FuseOptions;
    /// use crivo::theory::fuse::Arity;
    ///
    /// let options = FuseOptions { arity: Some(Arity::Four), ..FuseOptions::default() };
    /// assert_eq!(options.build(["ana"])?.arity(), Arity::Four);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn arity(&self) -> Arity {
        self.cells.geometry().arity
    }

    /// w: the bits of a fingerprint.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Fuse::build(["ana"], 0.01)?.width(), 7); // 2^-7 = 0.78%
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    pub fn width(&self) -> u32 {
        self.cells.geometry().width
    }
}

impl Filter for Fuse {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let geometry = self.cells.geometry();
        if geometry.first_cells == 0 {
            return false;
        }
        let mixed = geometry.mix(key.get());
        match geometry.arity {
            Arity::Three => self.cells.satisfy::<3>(mixed),
            Arity::Four => self.cells.satisfy::<4>(mixed),
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        match self.arity() {
            _ if self.cells.geometry().first_cells == 0 => hits.fill(false),
            Arity::Three => self.cells.satisfy_each::<3>(keys, hits),
            Arity::Four => self.cells.satisfy_each::<4>(keys, hits),
        }
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        let geometry = self.cells.geometry();
        if geometry.first_cells == 0 {
            return;
        }
        let mixed = geometry.mix(key.get());
        match geometry.arity {
            Arity::Three => self.cells.prefetch::<3>(mixed, Cache::First),
            Arity::Four => self.cells.prefetch::<4>(mixed, Cache::First),
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
    Fuse,
    hasher: |filter| filter.hasher,
    example: "let filter = crivo::filter::Fuse::build([\"ana\", \"eva\"], 0.01)?;",
);

operations!(Fuse:);

impl fmt::Debug for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Fuse", self, Some(self.key_count))
    }
}
