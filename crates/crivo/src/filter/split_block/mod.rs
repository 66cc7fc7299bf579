//! The split-block Bloom filter: a key has one bit in each of the eight words of its block.
//!
//! | file | idea |
//! |---|---|
//! | `block` | which block and which bits are a key's; the scalar code, by which all other is measured |
//! | `avx512`, `avx2`, `neon` | the same answers by vector instructions |
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
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod spec;

use std::fmt;

use block::{BLOCK_BITS, BLOCK_WORDS, Block, block_of};
pub use spec::SplitBlockSpec;

use super::any::operations;
use super::methods::{describe, insert_methods, merge_methods, one_more, read_methods};
use super::occupancy::{Cells, Occupancy};
use super::{DynamicFilter, Filter, FilterSpec, Full, batch};
use crate::persist::Metadata;
use crate::simd::Level;
use crate::theory::estimate::Estimate;
use crate::theory::split_block;
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// The Bloom filter of Parquet files: eight 32-bit words to a block, and a bit in each of them.
///
/// *Problem:* as in [`Blocked`](super::Blocked), all bits of a key should lie in one cache line. If
/// each of eight words takes just one of them, a processor with registers of eight words needs
/// neither a loop nor a permutation: one multiplication, two shifts and one test.
///
/// ```text
///   digest ──┬─ upper 32 bits:  block = ⌊upper · blocks / 2^32⌋
///            └─ lower 32 bits:  bit of word i = top five bits of lower · salt i
///
///   block  [····1···|··1·····|1·······|·······1|···1····|·1······|······1·|1·······]
///            word 0    word 1                                        … word 7        32 bits each
/// ```
///
/// A small one: four blocks, and a key with the digest 0x9000000000000001. Nine sixteenths of the way
/// through four blocks is block 2. The lower half is 1, so that the top five bits of the salts
/// themselves are the positions: 8, 8, 17, 20, 14, 5, 19 and 11.
///
/// ```
/// use crivo::filter::SplitBlock;
///
/// let mut seen = SplitBlock::new(1_000_000, 0.01)?;
/// seen.insert("ana");
/// assert!(seen.contains("ana"));
/// assert!(!seen.contains("bob"));
/// assert_eq!(seen.blocks(), 41_130); // 10.53 bits per key
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// # Parquet
///
/// With [XXH64](KeyHasher::xxh64) and seed 0, the words of this filter are the bitset of a Parquet
/// file for the same values: [`words`](Self::words), [`from_words`](Self::from_words). Here any hash
/// family will do, and any number of blocks up to 2^32; some readers of Parquet files want a power of
/// two.
///
/// # Error and size
///
/// [`new`](Self::new) takes the fewest blocks that keep the rate of
/// [`theory::split_block`](crate::theory::split_block), which counts crowded blocks, and that only
/// 32 bits of a digest choose the bits.
///
/// # When not to use it
///
/// - Where no other program reads the filter. [`Blocked`](super::Blocked) takes 6% less memory at 1%
///   and 16% less at 0.01%: its blocks are larger, and its k follows the FPR. Here it is always 8.
/// - If keys are to be removed or counted.
///
/// # References
///
/// - F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, JEA 2009:
///   blocks, and patterns of bits in them.
/// - J. Apple, *Split block Bloom filters*, 2021: this form of them, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct SplitBlock {
    hasher: KeyHasher,
    /// Whole blocks, from 1 to 2^32.
    words: Words,
    key_count: u64,
    capacity: u64,
    metadata: Metadata,
    /// How this processor looks at a block: no property of the filter, and in no file.
    level: Level,
}

impl SplitBlock {
    /// A filter for `capacity` keys with a false-positive rate of at most `fpr`, by fold64 with seed 0.
    ///
    /// It is the smallest such filter, in whole blocks of 256 bits. [`SplitBlockSpec`] has more ways
    /// to size one.
    ///
    /// ```
    /// let filter = crivo::filter::SplitBlock::new(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.2}", filter.size_in_bits() as f64 / 1e6), "10.53"); // bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1 or takes more than 2^32 blocks, or there
    /// is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hash function: for keys that an adversary may choose, take
    /// one with a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::SplitBlock;
    ///
    /// // The hash function of Parquet files.
    /// let filter = SplitBlock::with_hasher(1_000, 0.01, KeyHasher::xxh64(0))?;
    /// assert_eq!(filter.hasher(), KeyHasher::xxh64(0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1 or takes more than 2^32 blocks, or there
    /// is no memory.
    pub fn with_hasher(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        SplitBlockSpec::for_fpr(capacity, fpr)?.build(hasher)
    }

    /// A filter of that many blocks of 256 bits: [`SplitBlockSpec::with_size`].
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::SplitBlock;
    ///
    /// let filter = SplitBlock::with_size(100, KeyHasher::default())?;
    /// assert_eq!((filter.size_in_bits(), filter.capacity()), (25_600, 2_218));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, there are more than 2^32, or there is no memory.
    pub fn with_size(blocks: u64, hasher: KeyHasher) -> Result<Self, BuildError> {
        SplitBlockSpec::with_size(blocks)?.build(hasher)
    }

    /// The filter with these [`words`](Self::words), of keys that `hasher` hashed. How many keys is not
    /// known: the number is estimated from the bits.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::SplitBlock;
    ///
    /// let hasher = KeyHasher::xxh64(0);
    /// let mut ours = SplitBlock::with_size(64, hasher)?;
    /// ours.extend(0..100u64);
    /// let theirs = SplitBlock::from_words(ours.words(), hasher)?;
    /// assert!((0..100u64).all(|key| theirs.contains(&key)));
    /// assert_eq!(theirs.words(), ours.words());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If they are not whole blocks of four words, from 1 to 2^32, or there is no memory.
    pub fn from_words(words: &[u64], hasher: KeyHasher) -> Result<Self, BuildError> {
        let (blocks, rest) = words.as_chunks::<BLOCK_WORDS>();
        if !rest.is_empty() {
            let whole_blocks = "a multiple of four";
            return Err(ParameterError::new("number of words", words.len(), whole_blocks).into());
        }
        let mut filter = Self::with_size(blocks.len() as u64, hasher)?;
        filter.words.to_mut().copy_from_slice(words);
        // A full block says nothing, but that it has more keys than one that is not full.
        let in_block = |block| split_block::keys_in_block(block::set_bits(block).min(255));
        let keys: f64 = blocks.iter().filter_map(in_block).map(|estimate| estimate.keys).sum();
        let fewest = u64::from(words.iter().any(|&word| word != 0));
        filter.key_count = (keys.round() as u64).max(fewest);
        Ok(filter)
    }

    /// The table: four words to a block, and in each of them two words of 32 bits, the first one in
    /// the low bits.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::SplitBlock;
    ///
    /// let mut filter = SplitBlock::with_size(1, KeyHasher::default())?;
    /// filter.insert("ana");
    /// let halves = filter.words().iter().flat_map(|word| [*word as u32, (word >> 32) as u32]);
    /// assert!(halves.map(u32::count_ones).eq([1; 8])); // a bit in each of eight words
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The specification that it was built by.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, SplitBlock, SplitBlockSpec};
    ///
    /// assert_eq!(SplitBlock::new(1_000, 0.01)?.spec(), SplitBlockSpec::for_fpr(1_000, 0.01)?);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn spec(&self) -> SplitBlockSpec {
        SplitBlockSpec { blocks: self.blocks(), capacity: self.capacity }
    }

    /// The number of blocks of 256 bits.
    ///
    /// ```
    /// assert_eq!(crivo::filter::SplitBlock::new(1_000, 0.01)?.blocks(), 42);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.table().len() as u64
    }

    /// The number of bits looked at for a key: 8.
    ///
    /// ```
    /// assert_eq!(crivo::filter::SplitBlock::new(1_000, 0.01)?.probes(), 8);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        block::PROBES
    }

    /// How many bits are set.
    ///
    /// ```
    /// let mut filter = crivo::filter::SplitBlock::new(1_000, 0.01)?;
    /// filter.insert("ana");
    /// assert_eq!(filter.count_set_bits(), 8);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_bits(&self) -> u64 {
        self.table().iter().map(|block| u64::from(block::set_bits(block))).sum()
    }

    /// The share of the table that is used: the set bits. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::SplitBlock::new(100_000, 0.01)?;
    /// filter.extend(0..100_000u64);
    /// assert_eq!(format!("{:.2}", filter.occupancy().share()), "0.53");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn occupancy(&self) -> Occupancy {
        Occupancy::of(
            self.count_set_bits(),
            self.size_in_bits(),
            Cells::Bits { probes: self.probes() },
        )
    }

    /// The false-positive rate that the bits themselves give: the mean over the blocks of the product
    /// of the shares of bits that are set in its words. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo::filter::SplitBlock::new(100_000, 0.01)?;
    /// filter.extend(0..100_000u64);
    /// assert_eq!(format!("{:.3}", filter.fill_fpr()), "0.010");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> f64 {
        self.table().iter().map(block::fill_fpr).sum::<f64>() / self.blocks() as f64
    }

    /// The number of different keys, estimated from the set bits, block by block: the whole table is
    /// read. `None` if a block is full, which says nothing about how many keys made it so.
    ///
    /// It is approximate, within the standard error that it states, and useful where
    /// [`key_count`](Self::key_count) counts keys twice: after a union.
    ///
    /// ```
    /// use crivo::filter::SplitBlock;
    ///
    /// let mut a = SplitBlock::new(10_000, 0.01)?;
    /// a.extend(0..6_000u64);
    /// let mut b = SplitBlock::new(10_000, 0.01)?;
    /// b.extend(4_000..10_000u64);
    /// a.union_with(&b).expect("filters of the same making");
    ///
    /// assert_eq!(a.key_count(), 12_000);
    /// let estimate = a.estimated_key_count().expect("no block is full");
    /// assert!((estimate.keys - 10_000.0).abs() < 4.0 * estimate.standard_error);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        let mut total = Estimate { keys: 0.0, standard_error: 0.0 };
        for block in self.table() {
            let one = split_block::keys_in_block(block::set_bits(block))?;
            total.keys += one.keys;
            total.standard_error = total.standard_error.hypot(one.standard_error);
        }
        Some(total)
    }

    #[inline(always)]
    fn table(&self) -> &[Block] {
        self.words.as_chunks().0
    }
}

impl Filter for SplitBlock {
    #[inline(always)]
    fn contains_digest(&self, key: Digest) -> bool {
        let block = block::find(self.table(), key).expect("a filter has a block");
        dispatch::contains(self.level, block, key)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        dispatch::contains_batch(self.level, self.table(), keys, hits);
    }

    #[inline]
    fn prefetch_digest(&self, key: Digest) {
        self.fetch(key, Cache::First);
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.blocks() * BLOCK_BITS
    }

    fn expected_fpr(&self) -> f64 {
        self.spec().fpr_at(self.key_count)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for SplitBlock {
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

impl SplitBlock {
    #[inline(always)]
    fn put(&mut self, key: Digest) -> bool {
        let blocks = self.words.to_mut().as_chunks_mut().0;
        let block = block::find_mut(blocks, key).expect("a filter has a block");
        let is_new = !dispatch::contains(self.level, block, key);
        dispatch::insert(self.level, block, key);
        self.key_count = one_more(self.key_count);
        is_new
    }

    /// Asks the processor to fetch the memory of a key.
    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        let blocks = self.table();
        batch::fetch(blocks, block_of(key, blocks.len()), cache);
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Digest>) {
        for key in keys {
            self.put(key);
        }
    }
}

read_methods!(
    SplitBlock,
    hasher: |filter| filter.hasher,
    example: "let mut filter = crivo::filter::SplitBlock::new(1_000, 0.01)?;\nfilter.insert(\"ana\");",
);
insert_methods!(SplitBlock, example: "let mut filter = crivo::filter::SplitBlock::new(1_000, 0.01)?;");

merge_methods!(
    SplitBlock,
    words: |filter| &filter.words,
    words_mut: |filter| filter.words.try_to_mut()?,
    same: "number of blocks" = |filter| filter.blocks(),
);

operations!(SplitBlock: insert, union, intersect, estimate, fill, occupancy);

impl fmt::Debug for SplitBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "SplitBlock", self, Some(self.capacity))
    }
}

#[cfg(test)]
mod tests;
