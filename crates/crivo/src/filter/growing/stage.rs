//! What a chain can be made of.

use crate::filter::{Blocked, Bloom, DynamicFilter, Kind};
use crate::persist::Persist;
use crate::theory::blocked::{self, Block};
use crate::theory::bloom;
use crate::{BuildError, Digest, KeyHasher, ParameterError};

/// A filter that is never full, of which a [`Growing`](super::Growing) chain can be made: [`Bloom`]
/// or [`Blocked`].
///
/// Nothing else implements it: a file must say what its chain is made of.
#[expect(private_bounds, reason = "what is private here keeps others from implementing it")]
pub trait Stage: DynamicFilter + Sealed {}

impl Stage for Bloom {}
impl Stage for Blocked {}

/// What the chain must know of its stages.
pub(super) trait Sealed: Sized + Persist + PartialEq {
    /// Its own kind.
    const KIND: Kind;

    /// The kind of the chain's files.
    const CHAIN: Kind;

    /// The unit of a table: it has whole ones.
    const WORDS_PER_UNIT: u64;

    fn made_for(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError>;

    /// The size of what [`made_for`](Self::made_for) would make.
    fn planned_bits(capacity: u64, rate: f64) -> Result<u64, ParameterError>;

    /// The name of the chain's type.
    const CHAIN_NAME: &'static str;

    /// Whether the key may be a member, by code that the compiler can delete where the answer is not
    /// used.
    fn contains_inlined(&self, key: Digest) -> bool;

    /// The false-positive rate that the bits themselves give.
    fn fill_fpr(&self) -> f64;

    fn probes(&self) -> u32;

    fn word_count(&self) -> u64;
}

impl Sealed for Bloom {
    const KIND: Kind = Kind::Bloom;
    const CHAIN: Kind = Kind::Growing;
    const WORDS_PER_UNIT: u64 = 1;
    const CHAIN_NAME: &'static str = "Growing";

    #[inline(always)]
    fn contains_inlined(&self, key: Digest) -> bool {
        self.contains_digest(key)
    }

    fn made_for(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, rate, hasher)
    }

    fn planned_bits(capacity: u64, rate: f64) -> Result<u64, ParameterError> {
        Ok(bloom::size(capacity, rate)?.bits.div_ceil(64).saturating_mul(64))
    }

    fn fill_fpr(&self) -> f64 {
        self.fill_fpr()
    }

    fn probes(&self) -> u32 {
        self.probes()
    }

    fn word_count(&self) -> u64 {
        self.size_in_bits() / 64
    }
}

impl Sealed for Blocked {
    const KIND: Kind = Kind::Blocked;
    const CHAIN: Kind = Kind::GrowingBlocked;
    const WORDS_PER_UNIT: u64 = 8;
    const CHAIN_NAME: &'static str = "GrowingBlocked";

    #[inline(always)]
    fn contains_inlined(&self, key: Digest) -> bool {
        self.contains_inlined(key)
    }

    fn made_for(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, rate, hasher)
    }

    fn planned_bits(capacity: u64, rate: f64) -> Result<u64, ParameterError> {
        let blocks = blocked::size(Block::CACHE_LINE, capacity, rate)?.blocks;
        Ok(blocks.saturating_mul(Block::CACHE_LINE.bits.into()))
    }

    fn fill_fpr(&self) -> f64 {
        self.fill_fpr()
    }

    fn probes(&self) -> u32 {
        self.probes()
    }

    fn word_count(&self) -> u64 {
        self.size_in_bits() / 64
    }
}
