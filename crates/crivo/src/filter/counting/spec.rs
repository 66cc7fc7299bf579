//! The dimensions of a counting Bloom filter.

use super::counters::Counters;
use super::{CounterWidth, CountingBloom};
use crate::filter::bloom::{MAX_POSITIONS_PER_KEY, size_for};
use crate::filter::spec::unless_useless;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::theory::{bloom, digest};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::check::{check_keys, check_positive, check_probes};

/// The specification of a [`CountingBloom`] filter: counters and their width, probes per key, and the
/// capacity.
///
/// ```
/// use crivo::filter::{CounterWidth, CountingSpec, FilterSpec};
///
/// let spec = CountingSpec::for_fpr(1_000_000, 0.01)?;
/// assert_eq!(format!("{:.1}", spec.bits_per_key()), "38.4");
/// let wide = spec.with_width(CounterWidth::Eight)?;
/// assert_eq!(format!("{:.1}", wide.bits_per_key()), "76.7");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountingSpec {
    pub(super) counters: u64,
    pub(super) probes: u32,
    pub(super) width: CounterWidth,
    pub(super) capacity: u64,
}

impl CountingSpec {
    /// A filter of that many counters of four bits, of which a key has that many.
    ///
    /// Its capacity is the number of keys for which that many probes are best: m·ln 2/k.
    ///
    /// ```
    /// use crivo::filter::{CountingSpec, FilterSpec};
    ///
    /// let spec = CountingSpec::with_size(10_000, 7)?;
    /// assert_eq!((spec.size_in_bits(), spec.capacity()), (40_000, 990));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no counters, or k is not from 1 to 255.
    pub fn with_size(counters: u64, probes: u32) -> Result<Self, ParameterError> {
        check_positive("number of counters", counters)?;
        check_probes(probes)?;
        // k = m·ln 2/n is symmetric in k and n.
        let capacity = bloom::best_probes_real(counters, u64::from(probes))?;
        Self::from_parts(counters, probes, CounterWidth::default(), (capacity as u64).max(1))
    }

    /// The same with counters of another width.
    ///
    /// ```
    /// use crivo::filter::{CounterWidth, CountingSpec, FilterSpec};
    ///
    /// let spec = CountingSpec::with_size(10_000, 7)?.with_width(CounterWidth::Eight)?;
    /// assert_eq!(spec.size_in_bits(), 80_000);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If they are 2^64 bits or more.
    pub fn with_width(self, width: CounterWidth) -> Result<Self, ParameterError> {
        Self::from_parts(self.counters, self.probes, width, self.capacity)
    }

    /// A filter of these dimensions, if there can be one.
    pub(in crate::filter) fn from_parts(
        counters: u64,
        probes: u32,
        width: CounterWidth,
        capacity: u64,
    ) -> Result<Self, ParameterError> {
        check_positive("capacity", capacity)?;
        check_positive("number of counters", counters)?;
        check_probes(probes)?;
        // Sizes in bits are `u64`.
        if counters > u64::MAX / u64::from(width.bits()) {
            let allowed = "less than 2^64 bits in all";
            return Err(ParameterError::new("number of counters", counters, allowed));
        }
        Ok(Self { counters, probes, width, capacity })
    }

    /// How many counters there are, m.
    ///
    /// ```
    /// assert_eq!(crivo::filter::CountingSpec::with_size(10_000, 7)?.counter_count(), 10_000);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn counter_count(&self) -> u64 {
        self.counters
    }

    /// How many counters a key has, k.
    ///
    /// ```
    /// use crivo::filter::{CountingSpec, FilterSpec};
    ///
    /// assert_eq!(CountingSpec::for_fpr(1_000, 0.01)?.probes(), 7);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// How many bits a counter has.
    ///
    /// ```
    /// use crivo::filter::{CountingSpec, CounterWidth, FilterSpec};
    ///
    /// assert_eq!(CountingSpec::for_fpr(1_000, 0.01)?.width(), CounterWidth::Four);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn width(&self) -> CounterWidth {
        self.width
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// // Sixteen counters of four bits to a word.
    /// assert_eq!(crivo::filter::CountingSpec::with_size(10_000, 7)?.word_count(), 625);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        Counters::word_count(self.counters, self.width)
    }
}

impl FilterSpec for CountingSpec {
    type Filter = CountingBloom;

    const KIND: Kind = Kind::Counting;

    const CAPABILITIES: Capabilities = Capabilities {
        insert: true,
        remove: true,
        count: true,
        free_copies: true,
        merge: true,
        never_full: true,
        ..Capabilities::STATIC
    };

    const SUMMARY: &'static str = "remove, count, merge";

    /// The counters have four bits.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        let bloom::BloomSize { bits, probes, .. } = size_for(capacity, fpr)?;
        Self::from_parts(bits, probes, CounterWidth::default(), capacity)
    }

    /// The counters have four bits.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let width = CounterWidth::default();
        let per_word = u64::from(64 / width.bits());
        let useful = capacity.saturating_mul(MAX_POSITIONS_PER_KEY).div_ceil(per_word);
        let counters = per_word * (memory.in_bits()? / 64).min(useful);
        if counters == 0 {
            return Err(memory.too_few());
        }
        let probes = bloom::best_probes(counters, capacity)?;
        unless_useless(Self::from_parts(counters, probes, width, capacity)?, memory)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.word_count().saturating_mul(64)
    }

    fn fpr_at(&self, keys: u64) -> f64 {
        digest::fpr(bloom::mean_fpr(self.counters, keys, self.probes), keys)
    }

    fn build(&self, hasher: KeyHasher) -> Result<CountingBloom, BuildError> {
        let Self { counters, probes, width, capacity } = *self;
        // A length beyond the address space is more than any allocator has.
        let words = Words::zeroed(usize::try_from(self.word_count()).unwrap_or(usize::MAX))?;
        let counters = Counters::new(words, counters, probes, width)
            .expect("a specification is valid, and the words were counted for it");
        let metadata = Metadata::new();
        Ok(CountingBloom { counters, hasher, capacity, key_count: 0, metadata })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<CountingBloom, SpecError> {
        build::in_ranges(self, items, digest_of, threads, hasher)
    }
}
