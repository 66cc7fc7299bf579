//! The dimensions of a split-block Bloom filter.

use super::SplitBlock;
use super::block::{BLOCK_BITS, BLOCK_WORDS, PROBES};
use crate::filter::spec::unless_useless;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::{bloom, split_block};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::check::check_keys;

/// The specification of a [`SplitBlock`] filter: blocks of 256 bits, and the capacity.
///
/// ```
/// use crivo::filter::{FilterSpec, SplitBlockSpec};
///
/// // As many as Parquet files have for a million values at 1%: the next power of two.
/// let spec = SplitBlockSpec::for_fpr(1_000_000, 0.01)?;
/// let spec = SplitBlockSpec::with_size(spec.blocks().next_power_of_two())?;
/// assert_eq!(spec.size_in_bits() / 8, 2 << 20);
/// assert_eq!(format!("{:.5}", spec.fpr_at(1_000_000)), "0.00103");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitBlockSpec {
    pub(super) blocks: u64,
    pub(super) capacity: u64,
}

impl SplitBlockSpec {
    /// A filter of that many blocks of 256 bits.
    ///
    /// Its capacity is the number of keys that set half of the bits, as in a classic filter.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, SplitBlockSpec};
    ///
    /// let spec = SplitBlockSpec::with_size(100)?;
    /// assert_eq!((spec.size_in_bits(), spec.capacity()), (25_600, 2_218));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, or there are more than 2^32.
    pub fn with_size(blocks: u64) -> Result<Self, ParameterError> {
        let unnamed = Self::from_parts(blocks, 1)?;
        // (m/k)·ln 2: the formula of the best k, with n and k in each other's place.
        let capacity = bloom::best_probes_real(unnamed.size_in_bits(), PROBES.into())?;
        Self::from_parts(blocks, capacity as u64)
    }

    /// A filter with these numbers of blocks and keys, if there can be one.
    pub(super) fn from_parts(blocks: u64, capacity: u64) -> Result<Self, ParameterError> {
        split_block::check_blocks(blocks)?;
        Ok(Self { blocks, capacity })
    }

    /// The number of blocks of 256 bits.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, SplitBlockSpec};
    ///
    /// assert_eq!(SplitBlockSpec::for_fpr(1_000, 0.01)?.blocks(), 42);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// assert_eq!(crivo::filter::SplitBlockSpec::with_size(100)?.word_count(), 400);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.blocks * BLOCK_WORDS as u64
    }
}

impl FilterSpec for SplitBlockSpec {
    type Filter = SplitBlock;

    const KIND: Kind = Kind::SplitBlock;

    const CAPABILITIES: Capabilities =
        Capabilities { insert: true, merge: true, never_full: true, ..Capabilities::STATIC };

    const SUMMARY: &'static str = "merge; the filter of Parquet files";

    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        Self::from_parts(split_block::blocks(capacity, fpr)?, capacity)
    }

    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        // Up to the last block every one lowers the FPR.
        let blocks = (memory.in_bits()? / BLOCK_BITS).min(split_block::MAX_BLOCKS);
        if blocks == 0 {
            return Err(memory.too_few());
        }
        unless_useless(Self::from_parts(blocks, capacity)?, memory)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.blocks * BLOCK_BITS
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        // The number of blocks of a specification is valid.
        split_block::fpr(self.blocks, keys).unwrap_or(1.0)
    }

    fn build(&self, hasher: KeyHasher) -> Result<SplitBlock, BuildError> {
        // A length beyond the address space is more than any allocator has.
        let words = Words::zeroed(usize::try_from(self.word_count()).unwrap_or(usize::MAX))?;
        let (metadata, level) = (Metadata::new(), Level::best());
        Ok(SplitBlock { hasher, words, key_count: 0, capacity: self.capacity, metadata, level })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<SplitBlock, SpecError> {
        build::in_ranges(self, items, digest_of, threads, hasher)
    }
}
