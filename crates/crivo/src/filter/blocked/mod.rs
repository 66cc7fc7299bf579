//! The blocked Bloom filter: all k bits of a key in one cache line.
//!
//! | file | idea |
//! |---|---|
//! | `line` | which line and which bits are a key's; the scalar code, by which all other is measured |
//! | `avx512`, `avx2`, `neon` | the same answers by vector instructions |
//! | `avx512_batch` | many queries at once |
//! | `dispatch` | which of them a filter uses |
//! | `marking` | which places of the table a key marks, for building by ranges |
//! | `codec` | the filter as a file |

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512_batch;
mod codec;
mod dispatch;
mod line;
mod marking;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod spec;

use std::fmt;

use line::{LINE_BITS, Line};
pub(super) use line::{LINE_WORDS, each_place, first_pattern, line_of, next_pattern};
pub use spec::BlockedSpec;

use super::any::operations;
use super::atomic::Shape;
use super::blocks::{block_of, block_of_mut};
use super::methods::{describe, insert_methods, merge_methods, one_more, read_methods};
use super::occupancy::{Cells, Occupancy};
use super::{DynamicFilter, Filter, FilterSpec, Full, batch, set_bits};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::blocked::Block;
use crate::theory::estimate::Estimate;
use crate::{BuildError, Digest, KeyHasher};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// Which instructions filters use in this process, as `CRIVO_SIMD` names them: for tests and
/// benchmarks.
#[doc(hidden)]
pub fn simd_level() -> &'static str {
    Level::best().name()
}

/// What theory must know about the lines: positions are independent, and may repeat.
const BLOCK: Block = Block::CACHE_LINE;

/// A Bloom filter that touches one cache line per key.
///
/// *Problem:* a classic Bloom filter reads k bits all over its table. In a table larger than the
/// cache that is k misses for a present key. Here the key chooses a **line** of 512 bits first, and
/// all k bits lie in it: one miss, whatever k.
///
/// ```text
///   digest ──┬─ high bits:  line = ⌊digest · lines / 2^64⌋
///            └─ a product:  k positions of 9 bits within that line
///
///   line 0    line 1    line 2                         line 3
///   [·······] [·······] [··1···········1·······1·····] [·······]   512 bits each
/// ```
///
/// A small one: four lines, k = 3, a key with the digest 0x9000000000000001. Nine sixteenths of the
/// way through four lines is line 2. The digest times a constant is 0x81b5…, in bits
/// 100000_011 011010_101 001010_001 …: bit 32 of word 3, bit 26 of word 5, bit 10 of word 1. To
/// insert the key is to set these three; it is a member, probably, if they are set.
///
/// ```
/// use crivo::filter::Blocked;
///
/// let mut seen = Blocked::new(1_000_000, 0.01)?;
/// seen.insert("ana");
/// assert!(seen.contains("ana"));
/// assert!(!seen.contains("bob"));
/// assert_eq!((seen.blocks(), seen.probes()), (19_372, 6)); // 9.92 bits per key
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// # Error and size
///
/// Keys fall into lines at random, and it is the crowded lines that err:
///
/// ```text
///   rate = Σ_j P(a line has j keys) · P(k positions are all set after j keys)
/// ```
///
/// [`new`](Self::new) takes the fewest lines that keep this sum, not the classic filter's formula,
/// below the rate: [`theory::blocked`](crate::theory::blocked). At 1% that is 9.92 bits per key, 3%
/// more than a classic filter; the split-block filters of other libraries take 10.5.
///
/// [`expected_fpr`](Filter::expected_fpr) is that sum for the present number of keys, and
/// [`fill_fpr`](Self::fill_fpr) the rate that the bits themselves give.
///
/// # Speed
///
/// A query is a few instructions on a whole line: AVX-512, AVX2 or NEON where the processor has
/// them, otherwise portable code with the same answers. In tables larger than the cache, ask for many
/// keys at a time: [`contains_batch`](Self::contains_batch) fetches their lines ahead.
///
/// # When not to use it
///
/// - Below 0.1% the crowded lines cost: 22.0 bits per key at 1e-4, where a classic filter takes
///   19.2. A cuckoo filter or a fuse filter is smaller there.
/// - If keys are to be removed or counted.
///
/// # References
///
/// - F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, JEA 2009:
///   the structure, and why crowded lines cost so little.
#[derive(Clone, PartialEq, Eq)]
pub struct Blocked {
    hasher: KeyHasher,
    /// Whole lines, at least one.
    words: Words,
    /// k, from 1 to 255.
    probes: u32,
    key_count: u64,
    capacity: u64,
    metadata: Metadata,
    /// How this processor looks at a line: no property of the filter, and in no file.
    level: Level,
}

impl Blocked {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// It is the smallest such filter, in whole lines of 512 bits. [`BlockedSpec`] has more ways to
    /// size one.
    ///
    /// ```
    /// use crivo::filter::Blocked;
    ///
    /// let filter = Blocked::new(1_000_000, 0.01)?;
    /// assert_eq!(filter.size_in_bits(), 19_372 * 512); // 9.92 bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function: for keys that an adversary may choose, take
    /// one with a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Blocked;
    /// use crivo::hash::SecretKey;
    ///
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(Blocked::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        BlockedSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// A filter of that many lines of 512 bits, with that many probes per key:
    /// [`BlockedSpec::with_size`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Blocked;
    ///
    /// let filter = Blocked::with_size(100, 6, KeyHasher::default())?;
    /// assert_eq!((filter.size_in_bits(), filter.capacity()), (51_200, 5_914));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, the probes are not from 1 to 255, or there is no memory.
    pub fn with_size(blocks: u64, probes: u32, hasher: KeyHasher) -> Result<Self, BuildError> {
        BlockedSpec::with_size(blocks, probes)?.build(hasher)
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{Blocked, BlockedSpec, FilterSpec};
    ///
    /// assert_eq!(Blocked::new(1_000, 0.01)?.spec(), BlockedSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> BlockedSpec {
        BlockedSpec { blocks: self.blocks(), probes: self.probes, capacity: self.capacity }
    }

    /// The number of lines of 512 bits.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Blocked::new(1_000_000, 0.01)?.blocks(), 19_372);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.lines().len() as u64
    }

    /// The number of bits looked at for a key, k.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Blocked::new(1_000_000, 0.01)?.probes(), 6);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// How many bits are set.
    ///
    /// ```
    /// let mut filter = crivo::filter::Blocked::new(1_000, 0.01)?;
    /// filter.insert("ana");
    /// assert!((1..=u64::from(filter.probes())).contains(&filter.count_set_bits()));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_bits(&self) -> u64 {
        self.set_bits_of_lines().sum()
    }

    /// The share of the table that is used: the set bits. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::Blocked::new(100_000, 0.01)?;
    /// filter.extend(0..100_000u64);
    /// assert_eq!(format!("{:.2}", filter.occupancy().share()), "0.45");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        Occupancy::of(
            self.count_set_bits(),
            self.size_in_bits(),
            Cells::Bits { probes: self.probes },
        )
    }

    /// The false-positive rate that the bits themselves give: the mean of (set bits/512)^k over
    /// the lines. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::Blocked::new(100_000, 0.01)?;
    /// filter.extend(0..100_000u64);
    /// assert_eq!(format!("{:.3}", filter.fill_fpr()), "0.010");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        set_bits::fill_fpr(LINE_BITS as u64, self.probes, self.set_bits_of_lines())
    }

    /// The number of different keys, estimated from the set bits, line by line: the whole table is
    /// read. `None` if a line is full, which says nothing about how many keys made it so.
    ///
    /// It is approximate, within the standard error that it states, and useful where
    /// [`key_count`](Self::key_count) counts keys twice: after a union.
    ///
    /// ```
    /// use crivo::filter::Blocked;
    ///
    /// let mut a = Blocked::new(10_000, 0.01)?;
    /// a.extend(0..6_000u64);
    /// let mut b = Blocked::new(10_000, 0.01)?;
    /// b.extend(4_000..10_000u64);
    /// a.union_with(&b).expect("filters of the same making");
    ///
    /// assert_eq!(a.key_count(), 12_000);
    /// let estimate = a.estimated_key_count().expect("no line is full");
    /// assert!((estimate.keys - 10_000.0).abs() < 4.0 * estimate.standard_error);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        set_bits::estimated_key_count(LINE_BITS as u64, self.probes, self.set_bits_of_lines())
    }

    fn set_bits_of_lines(&self) -> impl ExactSizeIterator<Item = u64> {
        self.lines().iter().map(|line| line::set_bits(line).into())
    }

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        self.words.as_chunks().0
    }

    /// The filter without its words, and its words.
    pub(super) fn into_words(self) -> (Shape, Words) {
        let Self { words, probes, key_count, capacity, hasher, metadata, level: _ } = self;
        (Shape { probes, key_count, capacity, hasher, metadata }, words)
    }

    /// The filter that was taken apart with `into_words`, and whose words may have changed.
    pub(super) fn from_words(shape: Shape, words: Words) -> Self {
        let Shape { probes, key_count, capacity, hasher, metadata } = shape;
        Self { hasher, words, probes, key_count, capacity, metadata, level: Level::best() }
    }
}

impl Filter for Blocked {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let line = block_of(&self.words, key).expect("a filter has a line");
        dispatch::contains(self.level, line, key, self.probes)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        dispatch::contains_batch(self.level, self.lines(), self.probes, keys, hits);
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.blocks() * LINE_BITS as u64
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Blocked {
    /// Never [`Full`]: past its capacity it accepts, at a higher false-positive rate.
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(self.put(key))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn clear(&mut self) {
        self.words.to_mut().fill(0);
        self.key_count = 0;
    }
}

impl Blocked {
    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let line = block_of_mut(self.words.to_mut(), key).expect("a filter has a line");
        let is_new = !dispatch::contains_inlined(self.level, line, key, self.probes);
        dispatch::insert(self.level, line, key, self.probes);
        self.key_count = one_more(self.key_count);
        is_new
    }

    /// Asks the processor to fetch the memory of a key.
    #[inline(always)]
    pub(super) fn fetch(&self, key: Digest, cache: Cache) {
        let lines = self.lines();
        batch::fetch(lines, line_of(key, lines.len()), cache);
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        for key in keys {
            self.put(key);
        }
    }

    /// [`contains_digest`](Self::contains_digest), by code that the compiler can delete: without a
    /// panic.
    #[inline(always)]
    pub(super) fn contains_inlined(&self, key: Digest) -> bool {
        let contains = |line| dispatch::contains_inlined(self.level, line, key, self.probes);
        block_of(&self.words, key).is_some_and(contains)
    }
}

read_methods!(
    Blocked,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::Blocked::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(Blocked, example: "let mut filter = crivo::filter::Blocked::new(1_000, 0.01)?;");

merge_methods!(
    Blocked,
    words: |filter| &filter.words,
    words_mut: |filter| filter.words.try_to_mut()?,
    same: "number of blocks" = |filter| filter.blocks(), "k" = |filter| filter.probes,
);

operations!(Blocked: insert, union, intersect, estimate, fill, occupancy);

impl fmt::Debug for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Blocked", self, Some(self.capacity))
    }
}

#[cfg(test)]
mod tests;
