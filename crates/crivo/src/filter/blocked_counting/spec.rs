//! The dimensions of a blocked counting Bloom filter.

use super::block::COUNTERS;
use super::{BLOCK, BlockedCounting};
use crate::filter::bloom::MAX_POSITIONS_PER_KEY;
use crate::filter::packed_counters::CounterWidth;
use crate::filter::spec::unless_useless;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::{blocked, bloom, digest};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::check::{check_keys, check_positive, check_probes};

/// The specification of a [`BlockedCounting`] filter: blocks of 128 counters, their width, probes per
/// key, and the capacity.
///
/// ```
/// use crivo::filter::{BlockedCountingSpec, CounterWidth, FilterSpec};
///
/// let spec = BlockedCountingSpec::for_fpr(1_000_000, 0.01)?;
/// assert_eq!(format!("{:.1}", spec.bits_per_key()), "43.4");
/// let wide = spec.with_width(CounterWidth::Eight)?;
/// assert_eq!(format!("{:.1}", wide.bits_per_key()), "86.8");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedCountingSpec {
    pub(super) blocks: u64,
    pub(super) probes: u32,
    pub(super) width: CounterWidth,
    pub(super) capacity: u64,
}

impl BlockedCountingSpec {
    /// A filter of that many blocks of 128 counters of four bits, of which a key has that many.
    ///
    /// Its capacity is the number of keys that raise half of the counters, as in a classic filter.
    ///
    /// ```
    /// use crivo::filter::{BlockedCountingSpec, FilterSpec};
    ///
    /// let spec = BlockedCountingSpec::with_size(100, 6)?;
    /// assert_eq!((spec.size_in_bits(), spec.capacity()), (51_200, 1_478));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, or the probes are not from 1 to 255.
    pub fn with_size(blocks: u64, probes: u32) -> Result<Self, ParameterError> {
        let unnamed = Self::from_parts(blocks, probes, CounterWidth::default(), 1)?;
        // (m/k)·ln 2: the formula of the best k, with n and k in each other's place.
        let capacity = bloom::best_probes_real(unnamed.counter_count(), probes.into())?;
        Ok(Self { capacity: (capacity as u64).max(1), ..unnamed })
    }

    /// The same with counters of another width.
    ///
    /// ```
    /// use crivo::filter::{BlockedCountingSpec, CounterWidth, FilterSpec};
    ///
    /// let spec = BlockedCountingSpec::with_size(100, 6)?.with_width(CounterWidth::Eight)?;
    /// assert_eq!(spec.size_in_bits(), 102_400);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If they are 2^64 bits or more.
    pub fn with_width(self, width: CounterWidth) -> Result<Self, ParameterError> {
        Self::from_parts(self.blocks, self.probes, width, self.capacity)
    }

    /// A filter of these dimensions, if there can be one.
    pub(super) fn from_parts(
        blocks: u64,
        probes: u32,
        width: CounterWidth,
        capacity: u64,
    ) -> Result<Self, ParameterError> {
        check_positive("capacity", capacity)?;
        check_positive("number of blocks", blocks)?;
        check_probes(probes)?;
        // Sizes in bits are `u64`.
        if blocks > u64::MAX / (COUNTERS * u64::from(width.bits())) {
            let allowed = "less than 2^64 bits in all";
            return Err(ParameterError::new("number of blocks", blocks, allowed));
        }
        Ok(Self { blocks, probes, width, capacity })
    }

    /// The number of blocks of 128 counters.
    ///
    /// ```
    /// assert_eq!(crivo::filter::BlockedCountingSpec::with_size(100, 6)?.blocks(), 100);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// How many counters there are.
    ///
    /// ```
    /// assert_eq!(crivo::filter::BlockedCountingSpec::with_size(100, 6)?.counter_count(), 12_800);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn counter_count(&self) -> u64 {
        self.blocks * COUNTERS
    }

    /// How many counters a key has, k.
    ///
    /// ```
    /// use crivo::filter::{BlockedCountingSpec, FilterSpec};
    ///
    /// assert_eq!(BlockedCountingSpec::for_fpr(1_000, 0.01)?.probes(), 6);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// How many bits a counter has.
    ///
    /// ```
    /// use crivo::filter::{BlockedCountingSpec, CounterWidth, FilterSpec};
    ///
    /// assert_eq!(BlockedCountingSpec::for_fpr(1_000, 0.01)?.width(), CounterWidth::Four);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn width(&self) -> CounterWidth {
        self.width
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// assert_eq!(crivo::filter::BlockedCountingSpec::with_size(100, 6)?.word_count(), 800);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.size_in_bits() / 64
    }
}

impl FilterSpec for BlockedCountingSpec {
    type Filter = BlockedCounting;

    const KIND: Kind = Kind::BlockedCounting;

    const CAPABILITIES: Capabilities = Capabilities {
        insert: true,
        remove: true,
        count: true,
        free_copies: true,
        merge: true,
        never_full: true,
        ..Capabilities::STATIC
    };

    const SUMMARY: &'static str = "remove, count, merge; reads one cache line per query";

    /// The counters have four bits.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        let size = blocked::size(BLOCK, capacity, digest::structure_fpr(capacity, fpr)?)?;
        Self::from_parts(size.blocks, size.probes, CounterWidth::default(), capacity)
    }

    /// The counters have four bits.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let width = CounterWidth::default();
        let useful = capacity.saturating_mul(MAX_POSITIONS_PER_KEY).div_ceil(COUNTERS);
        let blocks = (memory.in_bits()? / (COUNTERS * u64::from(width.bits()))).min(useful);
        if blocks == 0 {
            return Err(memory.too_few());
        }
        let per_key = blocks as f64 * COUNTERS as f64 / capacity as f64;
        let probes = blocked::best_probes(BLOCK, per_key.min(MAX_POSITIONS_PER_KEY as f64))?;
        unless_useless(Self::from_parts(blocks, probes, width, capacity)?, memory)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.counter_count() * u64::from(self.width.bits())
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        // The parameters of a specification are valid.
        let structure = blocked::fpr(BLOCK, self.blocks, keys, self.probes).unwrap_or(1.0);
        digest::fpr(structure, keys)
    }

    fn build(&self, hasher: KeyHasher) -> Result<BlockedCounting, BuildError> {
        let Self { probes, width, capacity, .. } = *self;
        // A length beyond the address space is more than any allocator has.
        let words = Words::zeroed(usize::try_from(self.word_count()).unwrap_or(usize::MAX))?;
        let (metadata, level) = (Metadata::new(), Level::best());
        Ok(BlockedCounting {
            hasher,
            words,
            probes,
            width,
            key_count: 0,
            capacity,
            metadata,
            level,
        })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<BlockedCounting, SpecError> {
        build::in_ranges(self, items, digest_of, threads, hasher)
    }
}
