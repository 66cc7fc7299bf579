//! The dimensions of a blocked Bloom filter.

use super::line::{LINE_BITS, LINE_WORDS};
use super::{BLOCK, Blocked};
use crate::filter::bloom::MAX_POSITIONS_PER_KEY;
use crate::filter::spec::unless_useless;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::{blocked, bloom, digest};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::check::{check_keys, check_positive, check_probes};

/// The specification of a [`Blocked`] filter: lines of 512 bits, probes per key, and the capacity.
///
/// ```
/// use crivo::filter::{BlockedSpec, Bytes, FilterSpec};
///
/// let spec = BlockedSpec::for_memory(1_000_000, Bytes(1_000_000))?;
/// assert_eq!((spec.size_in_bits(), spec.probes()), (8_000_000, 5));
/// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0233");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedSpec {
    pub(in crate::filter) blocks: u64,
    pub(in crate::filter) probes: u32,
    pub(in crate::filter) capacity: u64,
}

impl BlockedSpec {
    /// A filter of that many lines of 512 bits, with that many probes per key.
    ///
    /// Its capacity is the number of keys that set half of the bits, as in a classic filter.
    ///
    /// ```
    /// use crivo::filter::{BlockedSpec, FilterSpec};
    ///
    /// let spec = BlockedSpec::with_size(100, 6)?;
    /// assert_eq!((spec.size_in_bits(), spec.capacity()), (51_200, 5_914));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, or the probes are not from 1 to 255.
    pub fn with_size(blocks: u64, probes: u32) -> Result<Self, ParameterError> {
        let unnamed = Self::from_parts(blocks, probes, 1)?;
        // (m/k)·ln 2: the formula of the best k, with n and k in each other's place.
        let capacity = bloom::best_probes_real(unnamed.size_in_bits(), probes.into())?;
        Self::from_parts(blocks, probes, capacity as u64)
    }

    /// A filter with these numbers of lines, probes and keys, if there can be one.
    pub(in crate::filter) fn from_parts(
        blocks: u64,
        probes: u32,
        capacity: u64,
    ) -> Result<Self, ParameterError> {
        check_positive("number of blocks", blocks)?;
        check_probes(probes)?;
        if blocks > u64::MAX / LINE_BITS as u64 {
            return Err(ParameterError::new("number of blocks", blocks, "below 2^55"));
        }
        Ok(Self { blocks, probes, capacity })
    }

    /// The number of lines of 512 bits.
    ///
    /// ```
    /// use crivo::filter::{BlockedSpec, FilterSpec};
    ///
    /// assert_eq!(BlockedSpec::for_fpr(1_000_000, 0.01)?.blocks(), 19_372);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// use crivo::filter::BlockedSpec;
    ///
    /// assert_eq!(BlockedSpec::with_size(100, 6)?.word_count(), 800);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.blocks * LINE_WORDS as u64
    }

    /// The number of bits looked at for a key, k.
    ///
    /// ```
    /// use crivo::filter::{BlockedSpec, FilterSpec};
    ///
    /// assert_eq!(BlockedSpec::for_fpr(1_000_000, 0.01)?.probes(), 6);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }
}

impl FilterSpec for BlockedSpec {
    type Filter = Blocked;

    const KIND: Kind = Kind::Blocked;

    const CAPABILITIES: Capabilities =
        Capabilities { insert: true, merge: true, never_full: true, ..Capabilities::STATIC };

    const SUMMARY: &'static str = "merge; reads one cache line per query";

    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        let size = blocked::size(BLOCK, capacity, digest::structure_fpr(capacity, fpr)?)?;
        Self::from_parts(size.blocks, size.probes, capacity)
    }

    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let block_bits = LINE_BITS as u64;
        let useful = capacity.saturating_mul(MAX_POSITIONS_PER_KEY).div_ceil(block_bits);
        let blocks = (memory.in_bits()? / block_bits).min(useful);
        if blocks == 0 {
            return Err(memory.too_few());
        }
        let bits_per_key = blocks as f64 * block_bits as f64 / capacity as f64;
        let probes = blocked::best_probes(BLOCK, bits_per_key.min(MAX_POSITIONS_PER_KEY as f64))?;
        unless_useless(Self::from_parts(blocks, probes, capacity)?, memory)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.blocks * LINE_BITS as u64
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        // The parameters of a specification are valid.
        let structure = blocked::fpr(BLOCK, self.blocks, keys, self.probes).unwrap_or(1.0);
        digest::fpr(structure, keys)
    }

    fn build(&self, hasher: KeyHasher) -> Result<Blocked, BuildError> {
        let Self { probes, capacity, .. } = *self;
        // A length beyond the address space is more than any allocator has.
        let words = Words::zeroed(usize::try_from(self.word_count()).unwrap_or(usize::MAX))?;
        let (metadata, level) = (Metadata::new(), Level::best());
        Ok(Blocked { hasher, words, probes, key_count: 0, capacity, metadata, level })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Blocked, SpecError> {
        build::in_ranges(self, items, digest_of, threads, hasher)
    }
}
