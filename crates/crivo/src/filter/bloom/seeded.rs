//! The textbook's Bloom filter, with k hash functions.

use crate::filter::Incompatible;
use crate::hash::{Family, SeededIndices};
use crate::theory::bloom;
use crate::{BuildError, Key, ParameterError};

use super::table::BitTable;

/// A Bloom filter that hashes every key k times, with k members of one family of functions.
///
/// This is how Bloom filters were first described, and how published experiments built them. It is
/// here to show that one digest, from which [`Bloom`](super::Bloom) derives its k positions, gives
/// the same rate of wrong yeses for a k-th of the work. Use that one.
///
/// It needs keys, not digests; hence it is no [`Filter`](crate::filter::Filter).
///
/// ```
/// use crivo::filter::SeededBloom;
/// use crivo::hash::Family;
///
/// let mut seen = SeededBloom::new(1_000, 0.01, Family::Farm, 0)?; // FarmHash, seeds 0, 1, … 6
/// seen.insert("ana");
/// assert!(seen.contains("ana"));
/// assert!(!seen.contains("rui"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededBloom {
    table: BitTable,
    /// Any number, unlike in `Bloom`: experiments name odd ones.
    bits: u64,
    functions: SeededIndices,
    key_count: u64,
}

impl SeededBloom {
    /// A filter for `capacity` keys with at most `rate` wrong yeses, by the functions of `family`
    /// with the seeds `first_seed`, `first_seed + 1`, ….
    ///
    /// # Errors
    /// If the capacity is 0, the rate is not between 0 and 1, the family has no seeds, or there is
    /// no memory.
    pub fn new(
        capacity: u64,
        rate: f64,
        family: Family,
        first_seed: u64,
    ) -> Result<Self, BuildError> {
        let size = bloom::size(capacity, rate)?;
        Self::with_size(size.bits, size.probes, family, first_seed)
    }

    /// A filter of exactly `bits` bits with `probes` functions.
    ///
    /// # Errors
    /// If there are no bits, the probes are not from 1 to 255, the family has no seeds, or there is
    /// no memory.
    pub fn with_size(
        bits: u64,
        probes: u32,
        family: Family,
        first_seed: u64,
    ) -> Result<Self, BuildError> {
        if bits == 0 {
            return Err(ParameterError::new("m", bits, "at least 1").into());
        }
        let functions = SeededIndices::new(family, first_seed, probes)?;
        Ok(Self { table: BitTable::zeroed(bits)?, bits, functions, key_count: 0 })
    }

    /// Makes `key` a member. It never fails.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        let words = self.table.words_mut();
        for index in self.functions.indices(key, self.bits) {
            words[(index / 64) as usize] |= 1 << (index % 64);
        }
        self.key_count = self.key_count.saturating_add(1);
    }

    /// Whether `key` may be a member. `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let words = self.table.words();
        self.functions
            .indices(key, self.bits)
            .all(|index| words[(index / 64) as usize] >> (index % 64) & 1 != 0)
    }

    /// How many keys were inserted.
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// The size of the table in bits: m.
    pub fn size_in_bits(&self) -> u64 {
        self.bits
    }

    /// How many functions there are: k.
    pub fn probes(&self) -> u32 {
        self.functions.hashers().len() as u32
    }

    /// How many bits are set.
    pub fn count_set_bits(&self) -> u64 {
        self.table.count_set_bits()
    }

    /// The mean rate of wrong yeses that theory gives for the present number of keys.
    pub fn expected_fpr(&self) -> f64 {
        super::expected_fpr(self.bits, self.key_count, self.probes())
    }

    /// Takes in every key of `other`.
    ///
    /// # Errors
    /// If size, k or the functions differ. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Incompatible> {
        Incompatible::unless_equal("size in bits", self.bits, other.bits)?;
        Incompatible::unless_equal("k", self.probes(), other.probes())?;
        let first = |filter: &Self| filter.functions.hashers()[0].identity();
        Incompatible::unless_equal("first hash function", first(self), first(other))?;
        for (ours, theirs) in self.table.words_mut().iter_mut().zip(&**other.table.words()) {
            *ours |= theirs;
        }
        self.key_count = self.key_count.saturating_add(other.key_count);
        Ok(())
    }
}
