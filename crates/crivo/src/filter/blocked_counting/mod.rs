//! The blocked counting Bloom filter: all counters of a key in one cache line.
//!
//! | file | idea |
//! |---|---|
//! | `block` | which counters are a key's; the scalar code, by which all other is measured |
//! | `avx512`, `avx2` | the same answers by vector instructions |
//! | `dispatch` | which of them a filter uses |
//! | `marking` | which places of the table a key marks, for building by ranges |
//! | `codec` | the filter as a file |

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
mod block;
mod codec;
mod dispatch;
mod marking;
mod spec;

use std::fmt;

use block::COUNTERS;
pub use spec::BlockedCountingSpec;

use super::any::operations;
use super::blocked::{LINE_WORDS, line_of};
use super::methods::{describe, insert_methods, read_methods, remove_methods};
use super::occupancy::{Cells, Occupancy};
use super::packed_counters::{self, CounterWidth, Step};
use super::{
    Count, DynamicFilter, Filter, FilterSpec, Full, Incompatible, NotPresent, RebuildError,
    RemovableFilter, batch, set_bits,
};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::blocked::{Block, Positions};
use crate::theory::estimate::Estimate;
use crate::{BuildError, Digest, KeyHasher};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// What theory must know about a block: positions are independent, and may repeat.
const BLOCK: Block = Block { bits: COUNTERS as u32, positions: Positions::Independent };

/// Words of a block whose counters have eight bits.
const TWO_LINES: usize = 2 * LINE_WORDS;

/// A counting Bloom filter that touches one cache line per key.
///
/// *Problem:* a [`CountingBloom`](super::CountingBloom) reads k counters all over its table, and an
/// insertion or removal writes them. In a table larger than the cache that is k misses. Here the key
/// chooses a **block** of 128 counters first, and all of its counters lie in it: with four bits each
/// that is one cache line, with eight bits two neighbouring ones.
///
/// ```text
///   digest ──┬─ high bits:  block = ⌊digest · blocks / 2^64⌋
///            └─ a product:  k positions of 7 bits within that block
///
///   block 0   block 1   block 2                         block 3
///   [·······] [·······] [··2···········1·······3·····]  [·······]   128 counters each
/// ```
///
/// A small one: four blocks, k = 3, counters of four bits, a key with the digest 0x9000000000000001.
/// Nine sixteenths of the way through four blocks is block 2. The digest times a constant is
/// 0x81b54a…, and the low seven bits of these bytes are 0000_001, 0110_101 and 1001_010: counter 0 of
/// word 1, counter 6 of word 5, counter 9 of word 2. To insert the key is to raise these three by one,
/// to remove it is to lower them; it is a member, probably, as long as none of them is 0.
///
/// ```
/// use crivo::filter::{BlockedCounting, Count};
///
/// let mut words = BlockedCounting::new(1_000, 0.01)?;
/// words.insert("ana");
/// words.insert("ida");
/// words.insert("ana");
/// assert_eq!(words.count("ana"), Count::AtMost(2));
/// words.remove("ida")?;
/// assert!(!words.contains("ida"));
/// assert!(words.remove("ida").is_err()); // nothing changes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost and error
///
/// Keys fall into blocks at random, and it is the crowded blocks that err. [`new`](Self::new) takes the
/// fewest blocks that keep the mean over block loads below the rate:
/// [`theory::blocked`](crate::theory::blocked) with blocks of 128 positions. That takes more counters
/// than the classic layout, the more so the lower the rate:
///
/// | FPR | bits per key, counters of four bits | [`CountingBloom`](super::CountingBloom) |
/// |---|---|---|
/// | 10% | 19.7 | 19.2 |
/// | 1% | 43.4 | 38.4 |
/// | 0.1% | 76.0 | 57.5 |
/// | 0.01% | 123.8 | 76.7 |
///
/// Counters of eight bits take twice as much, and count to 254 instead of 14. It is never [`Full`]:
/// past its capacity it accepts keys at a rising false-positive rate.
///
/// Counters that are full, and positions that coincide, are as in
/// [`CountingBloom`](super::CountingBloom#counters-that-are-full): a saturated counter sticks until
/// [`clear`](Self::clear), and each *different* counter of a key moves once, so that removal undoes
/// insertion exactly.
///
/// # When not to use it
///
/// - Where memory counts more than time: a [`CountingBloom`](super::CountingBloom) is smaller, and much
///   so below 1%.
/// - For removal alone: a cuckoo or a quotient filter takes a quarter of the memory.
/// - Where nothing is removed or counted: take a [`Blocked`](super::Blocked) filter.
///
/// # References
///
/// - L. Fan, P. Cao, J. Almeida, A. Broder, *Summary cache*, ToN 2000: counters instead of bits.
/// - F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, JEA 2009:
///   blocks.
#[derive(Clone, PartialEq, Eq)]
pub struct BlockedCounting {
    hasher: KeyHasher,
    /// Whole blocks, at least one: of one line if counters have four bits, else of two.
    words: Words,
    /// k, from 1 to 255.
    probes: u32,
    width: CounterWidth,
    key_count: u64,
    capacity: u64,
    metadata: Metadata,
    /// How this processor looks at a block: no property of the filter, and in no file.
    level: Level,
}

/// Building.
impl BlockedCounting {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// Its counters have four bits. [`BlockedCountingSpec`] has more ways to size one.
    ///
    /// ```
    /// let filter = crivo::filter::BlockedCounting::new(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.1}", filter.size_in_bits() as f64 / 1e6), "43.4"); // bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function: for keys that an adversary may choose, take one
    /// with a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::BlockedCounting;
    /// use crivo::hash::SecretKey;
    ///
    /// let hasher = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(BlockedCounting::with_hasher(1_000, 0.01, hasher)?.hasher(), hasher);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        BlockedCountingSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// [`with_hasher`](Self::with_hasher) with counters of a chosen width.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{BlockedCounting, Count, CounterWidth};
    ///
    /// let hasher = KeyHasher::default();
    /// let mut filter = BlockedCounting::with_width(1_000, 0.01, CounterWidth::Eight, hasher)?;
    /// filter.extend(["ana"; 100]);
    /// assert_eq!(filter.count("ana"), Count::AtMost(100));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_width(
        capacity: u64,
        fpr: f64,
        width: CounterWidth,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        BlockedCountingSpec::for_fpr(capacity, fpr)?.with_width(width)?.build(hasher)
    }

    /// A filter of that many blocks of 128 counters, of which a key has `probes`:
    /// [`BlockedCountingSpec::with_size`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{BlockedCounting, CounterWidth};
    ///
    /// let filter = BlockedCounting::with_size(100, 6, CounterWidth::Four, KeyHasher::default())?;
    /// assert_eq!((filter.size_in_bits(), filter.capacity()), (51_200, 1_478));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, k is not from 1 to 255, or there is no memory.
    pub fn with_size(
        blocks: u64,
        probes: u32,
        width: CounterWidth,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        BlockedCountingSpec::with_size(blocks, probes)?.with_width(width)?.build(hasher)
    }
}

/// Questions beyond membership.
impl BlockedCounting {
    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{BlockedCounting, BlockedCountingSpec, FilterSpec};
    ///
    /// let spec = BlockedCountingSpec::for_fpr(1_000, 0.01)?;
    /// assert_eq!(BlockedCounting::new(1_000, 0.01)?.spec(), spec);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> BlockedCountingSpec {
        let Self { probes, width, capacity, .. } = *self;
        BlockedCountingSpec { blocks: self.blocks(), probes, width, capacity }
    }

    /// [`count`](Self::count) for a digest.
    ///
    /// ```
    /// use crivo::filter::{BlockedCounting, Count};
    ///
    /// let mut filter = BlockedCounting::new(1_000, 0.01)?;
    /// filter.extend(["ana", "ana"]);
    /// let [ana, rui] = ["ana", "rui"].map(|key| filter.hasher().digest(key));
    /// assert_eq!(filter.count_digest(ana), Count::AtMost(2));
    /// assert_eq!(filter.count_digest(rui), Count::AtMost(0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_digest(&self, key: Digest) -> Count {
        let least = match self.width {
            CounterWidth::Four => block::least(self.block::<LINE_WORDS>(key), key, self.probes),
            CounterWidth::Eight => block::least(self.block::<TWO_LINES>(key), key, self.probes),
        };
        self.width.count(least)
    }

    /// The greatest of all counters: no key was inserted more often.
    ///
    /// ```
    /// use crivo::filter::{BlockedCounting, Count};
    ///
    /// let mut filter = BlockedCounting::new(1_000, 0.01)?;
    /// filter.extend(["ana", "ana", "eva"]);
    /// assert_eq!(filter.max_count(), Count::AtMost(2));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn max_count(&self) -> Count {
        self.width.count(self.counters().max().unwrap_or(0))
    }

    /// The indexes of the counters of a key among [`counters`](Self::counters), k of them, in the
    /// order in which they are probed; they may repeat.
    ///
    /// ```
    /// let filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;
    /// let ana = filter.hasher().digest("ana");
    /// let blocks: Vec<u64> = filter.positions(ana).map(|index| index / 128).collect();
    /// assert_eq!(blocks, [blocks[0]; 6]); // all in one block
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn positions(&self, key: Digest) -> impl Iterator<Item = u64> + use<> {
        let first = COUNTERS * line_of(key, self.blocks() as usize) as u64;
        let index_of = match self.width {
            CounterWidth::Four => block::index_of::<LINE_WORDS>,
            CounterWidth::Eight => block::index_of::<TWO_LINES>,
        };
        block::positions(key, self.probes).map(move |position| first + index_of(position))
    }

    /// The value of every counter, in order.
    ///
    /// ```
    /// let mut filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;
    /// filter.insert("ana");
    /// assert!(filter.counters().map(u32::from).sum::<u32>() <= filter.probes());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn counters(&self) -> impl Iterator<Item = u8> {
        packed_counters::values(&self.words, self.width)
    }

    /// The number of blocks of 128 counters.
    ///
    /// ```
    /// let filter = crivo::filter::BlockedCounting::new(1_000_000, 0.01)?;
    /// assert_eq!(filter.blocks(), filter.size_in_bits() / 512);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        (self.words.len() / self.block_words()) as u64
    }

    /// How many counters there are.
    ///
    /// ```
    /// let filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;
    /// assert_eq!(filter.counter_count(), 128 * filter.blocks());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn counter_count(&self) -> u64 {
        COUNTERS * self.blocks()
    }

    /// How many counters a key has, k.
    ///
    /// ```
    /// assert_eq!(crivo::filter::BlockedCounting::new(1_000, 0.01)?.probes(), 6);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// How many bits a counter has.
    ///
    /// ```
    /// use crivo::filter::{BlockedCounting, CounterWidth};
    ///
    /// assert_eq!(BlockedCounting::new(1_000, 0.01)?.width(), CounterWidth::Four);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn width(&self) -> CounterWidth {
        self.width
    }

    /// How many counters are above 0. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;
    /// filter.extend(["ana"; 5]);
    /// assert!(filter.count_set_counters() <= 6);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_counters(&self) -> u64 {
        self.set_counters_of_blocks().sum()
    }

    /// The share of the table that is used: the counters above 0. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::BlockedCounting::new(10_000, 0.01)?;
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.1}", filter.occupancy().share()), "0.4");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        let cells = Cells::Counters { probes: self.probes };
        Occupancy::of(self.count_set_counters(), self.counter_count(), cells)
    }

    /// The number of different keys, estimated from the counters above 0, block by block: the whole
    /// table is read. `None` if all counters of a block are, which says nothing about how many keys made
    /// them so.
    ///
    /// Unlike [`key_count`](Self::key_count) it counts a key once however often it was inserted,
    /// also after unions.
    ///
    /// ```
    /// let mut filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;
    /// filter.extend(["ana"; 10]);
    /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        set_bits::estimated_key_count(COUNTERS, self.probes, self.set_counters_of_blocks())
    }

    /// The false-positive rate of this very table: the mean of (counters above 0/128)^k over the
    /// blocks. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::BlockedCounting::new(100_000, 0.01)?;
    /// filter.extend(0..100_000u64);
    /// assert_eq!(format!("{:.3}", filter.fill_fpr()), "0.010");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        set_bits::fill_fpr(COUNTERS, self.probes, self.set_counters_of_blocks())
    }

    fn set_counters_of_blocks(&self) -> impl ExactSizeIterator<Item = u64> {
        let set_counters = match self.width {
            CounterWidth::Four => block::set_counters::<LINE_WORDS>,
            CounterWidth::Eight => block::set_counters::<TWO_LINES>,
        };
        self.words.chunks_exact(self.block_words()).map(move |block| set_counters(block).into())
    }

    fn block_words(&self) -> usize {
        match self.width {
            CounterWidth::Four => LINE_WORDS,
            CounterWidth::Eight => TWO_LINES,
        }
    }

    #[inline(always)]
    fn table<const WORDS: usize>(&self) -> &[[u64; WORDS]] {
        self.words.as_chunks().0
    }

    /// The block of a key, where blocks have that many words.
    #[inline(always)]
    fn block<const WORDS: usize>(&self, key: Digest) -> &[u64; WORDS] {
        let blocks = self.table();
        &blocks[line_of(key, blocks.len())]
    }

    #[inline(always)]
    fn block_mut<const WORDS: usize>(&mut self, key: Digest) -> &mut [u64; WORDS] {
        let blocks = self.words.to_mut().as_chunks_mut().0;
        let index = line_of(key, blocks.len());
        &mut blocks[index]
    }
}

impl Filter for BlockedCounting {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let Self { probes, level, .. } = *self;
        match self.width {
            CounterWidth::Four => dispatch::contains(level, self.block(key), key, probes),
            CounterWidth::Eight => block::contains(self.block::<TWO_LINES>(key), key, probes),
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        let Self { probes, level, .. } = *self;
        match self.width {
            CounterWidth::Four => {
                let contains = |line: &_, key| dispatch::contains(level, line, key, probes);
                batch::contains(self.table(), keys, hits, line_of, contains);
            }
            CounterWidth::Eight => {
                let contains = |block: &[u64; TWO_LINES], key| block::contains(block, key, probes);
                batch::contains(self.table(), keys, hits, line_of, contains);
            }
        }
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for BlockedCounting {
    /// Raises the key's counters. It is never [`Full`].
    #[inline(always)]
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        Ok(self.put(key))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Counters that were stuck are free again.
    fn clear(&mut self) {
        self.words.to_mut().fill(0);
        self.key_count = 0;
    }
}

impl BlockedCounting {
    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let Self { probes, level, .. } = *self;
        self.key_count = self.key_count.saturating_add(1);
        match self.width {
            CounterWidth::Four => {
                let line = self.block_mut(key);
                let is_new = !dispatch::contains_inlined(level, line, key, probes);
                dispatch::step(level, line, key, probes, Step::Up);
                is_new
            }
            CounterWidth::Eight => {
                let block = self.block_mut::<TWO_LINES>(key);
                let is_new = !block::contains(block, key, probes);
                block::step(block, key, probes, Step::Up);
                is_new
            }
        }
    }

    /// Asks the processor to fetch the memory of a key.
    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        match self.width {
            CounterWidth::Four => {
                let blocks: &[[u64; LINE_WORDS]] = self.table();
                batch::fetch(blocks, line_of(key, blocks.len()), cache);
            }
            CounterWidth::Eight => {
                let blocks: &[[u64; TWO_LINES]] = self.table();
                batch::fetch(blocks, line_of(key, blocks.len()), cache);
            }
        }
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        for key in keys {
            self.put(key);
        }
    }
}

impl RemovableFilter for BlockedCounting {
    /// Lowers the key's counters, except those that are saturated. A key whose counters are all
    /// saturated therefore stays a member, however often it is removed.
    #[inline]
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
        if !self.contains_digest(key) {
            return Err(NotPresent);
        }
        let Self { probes, level, .. } = *self;
        match self.width {
            CounterWidth::Four => {
                dispatch::step(level, self.block_mut(key), key, probes, Step::Down);
            }
            CounterWidth::Eight => {
                block::step(self.block_mut::<TWO_LINES>(key), key, probes, Step::Down);
            }
        }
        self.key_count = self.key_count.saturating_sub(1);
        Ok(())
    }
}

/// Changes of the whole.
impl BlockedCounting {
    /// Takes in all keys of `other`, with their counts: counters are added, and saturate.
    ///
    /// ```
    /// use crivo::filter::{BlockedCounting, Count};
    ///
    /// let mut ours = BlockedCounting::new(1_000, 0.01)?;
    /// let mut theirs = ours.clone();
    /// ours.insert("ana");
    /// theirs.extend(["ana", "ana", "eva"]);
    /// ours.union_with(&theirs)?;
    /// assert_eq!(ours.count("ana"), Count::AtMost(3));
    /// assert_eq!(ours.count("eva"), Count::AtMost(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the hashers, the numbers of blocks or probes, the widths or
    /// [`key-encoding`](Metadata::KEY_ENCODING) differ, or there is no memory for a copy of a mapped
    /// file's words. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        let unless_equal = Incompatible::unless_equal::<u64>;
        Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
        unless_equal("number of blocks", self.blocks(), other.blocks())?;
        unless_equal("k", self.probes.into(), other.probes.into())?;
        Incompatible::unless_equal("width of a counter", self.width, other.width)?;
        let metadata = Incompatible::merged_metadata(&self.metadata, &other.metadata)?;
        packed_counters::add(self.words.try_to_mut()?, &other.words, self.width);
        self.metadata = metadata;
        self.key_count = self.key_count.saturating_add(other.key_count);
        Ok(())
    }
}

read_methods!(
    BlockedCounting,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(
    BlockedCounting,
    example: "let mut filter = crivo::filter::BlockedCounting::new(1_000, 0.01)?;",
);
remove_methods!(BlockedCounting, insert: "filter.insert(\"ana\");");

operations!(BlockedCounting: insert, remove, union, estimate, fill, occupancy);

impl fmt::Debug for BlockedCounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "BlockedCounting", self, Some(self.capacity))
    }
}

#[cfg(test)]
mod tests;
