//! fuse (docs to come)

mod cells;
mod equation;
mod options;
mod partition;
mod peel;
mod persist;
mod solve;
#[cfg(test)]
mod tests;

pub use options::{FuseError, FuseOptions};

use self::cells::Cells;
use super::Filter;
use crate::theory::fuse::{self as theory, Arity};
use crate::{Digest, Key, KeyHasher};

/// A binary fuse filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fuse {
    hasher: KeyHasher,
    key_count: u64,
    /// None at all if there are no keys.
    cells: Cells,
}

impl Fuse {
    /// The filter of `keys`, hashed with XXH3 and seed 0. Keys may be given more than once.
    ///
    /// [`FuseOptions`] has more to choose from.
    ///
    /// # Errors
    /// If the rate is not between 2^−32 and 1, there is no memory, or no seed was found
    /// ([`FuseError::Unsolved`]).
    pub fn build<K: Key>(keys: impl IntoIterator<Item = K>, rate: f64) -> Result<Self, FuseError> {
        FuseOptions::with_rate(rate)?.build(keys)
    }

    /// The filter of the keys with these digests, which must come from `hasher`. Digests may be
    /// given more than once.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn from_digests(
        digests: Vec<Digest>,
        rate: f64,
        hasher: KeyHasher,
    ) -> Result<Self, FuseError> {
        FuseOptions { hasher, ..FuseOptions::with_rate(rate)? }.build_digests(digests)
    }

    fn new(hasher: KeyHasher, key_count: u64, cells: Cells) -> Self {
        Self { hasher, key_count, cells }
    }

    /// How many cells a key has.
    pub fn arity(&self) -> Arity {
        self.cells.geometry().arity
    }

    /// w: the bits of a fingerprint.
    pub fn width(&self) -> u32 {
        self.cells.geometry().width
    }

    fn contains_each<const ARITY: usize>(&self, keys: &[Digest], hits: &mut [bool]) {
        let geometry = self.cells.geometry();
        let mut mixed = [0; BATCH];
        for (keys, hits) in keys.chunks(BATCH).zip(hits.chunks_mut(BATCH)) {
            for (mixed, key) in mixed.iter_mut().zip(keys) {
                *mixed = geometry.mix(key.get());
                self.cells.prefetch::<ARITY>(*mixed);
            }
            for (hit, mixed) in hits.iter_mut().zip(mixed) {
                *hit = self.cells.satisfy::<ARITY>(mixed);
            }
        }
    }
}

/// How many keys of a batch are fetched ahead.
const BATCH: usize = 32;

impl Filter for Fuse {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let geometry = self.cells.geometry();
        if geometry.segment_count == 0 {
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
            _ if self.key_count == 0 => hits.fill(false),
            Arity::Three => self.contains_each::<3>(keys, hits),
            Arity::Four => self.contains_each::<4>(keys, hits),
        }
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.cells.words().len() as u64
    }

    /// 2^−w, however many keys there are; 0 if there are none.
    fn expected_fpr(&self) -> f64 {
        // A width is never out of the range that theory takes.
        if self.key_count == 0 { 0.0 } else { theory::rate(self.width()).unwrap_or(1.0) }
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}
