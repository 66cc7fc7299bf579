//! One key in one block: which block, which bits, are they set, set them. Scalar, and the measure of
//! all else.
//!
//! ```text
//!   digest  63 ─────────────── 32 31 ──────────────── 0
//!                  upper                 lower
//!
//!   block          ⌊upper · blocks / 2^32⌋
//!   bit of word i  (lower · SALTS[i] mod 2^32) >> 27            i = 0 … 7
//! ```
//!
//! Word i of a block is the lower half of its 64-bit word i/2 if i is even, and the upper half if i
//! is odd: in the memory of a little-endian machine, and in a file, just the eight 32-bit words one
//! after another.

#![allow(unsafe_code)] // No bounds check: the product that chooses a block is one.

use crate::Digest;

/// 64-bit words in a block.
pub(super) const BLOCK_WORDS: usize = 4;

/// Bits in a block.
pub(super) const BLOCK_BITS: u64 = 256;

/// Bits of a key: one in each 32-bit word.
pub(super) const PROBES: u32 = 8;

/// 256 bits, of which two blocks fill a cache line.
pub(super) type Block = [u64; BLOCK_WORDS];

/// Numbers that are loaded at once: within one cache line.
#[repr(align(32))]
pub(super) struct Salts(pub(super) [u32; PROBES as usize]);

/// The odd multipliers of the Parquet specification, one for each word.
pub(super) static SALTS: Salts = Salts([
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
]);

/// By how much a product is shifted, to leave the five bits of a position.
pub(super) const SHIFT: u32 = 27;

/// Where the key's block is: below the number of blocks, if that is from 1 to 2^32.
#[inline(always)]
pub(super) fn block_of(key: Digest, block_count: usize) -> usize {
    (((key.get() >> 32) * block_count as u64) >> 32) as usize
}

/// The key's block; nothing if there is none.
#[inline(always)]
pub(super) fn find(blocks: &[Block], key: Digest) -> Option<&Block> {
    // SAFETY: of up to 2^32 blocks the product chooses one that exists; of more, one of the first 2^32.
    (!blocks.is_empty()).then(|| unsafe { blocks.get_unchecked(block_of(key, blocks.len())) })
}

/// [`find`], to be changed.
#[inline(always)]
pub(super) fn find_mut(blocks: &mut [Block], key: Digest) -> Option<&mut Block> {
    let block = block_of(key, blocks.len());
    // SAFETY: as above.
    (!blocks.is_empty()).then(|| unsafe { blocks.get_unchecked_mut(block) })
}

/// The bits of the key in its block.
#[inline(always)]
pub(super) fn mask_of(key: Digest) -> Block {
    let lower = key.get() as u32;
    let mut mask = [0; BLOCK_WORDS];
    for (word, salts) in mask.iter_mut().zip(SALTS.0.as_chunks::<2>().0) {
        let [even, odd] = salts.map(|salt| 1u64 << (lower.wrapping_mul(salt) >> SHIFT));
        *word = even | odd << 32;
    }
    mask
}

/// Whether all bits of the key are set.
#[inline(always)]
pub(super) fn contains(block: &Block, key: Digest) -> bool {
    // No branch per word: in a block that is half full nobody could predict it.
    let unset = |(mask, word): (&u64, &u64)| mask & !word;
    mask_of(key).iter().zip(block).map(unset).fold(0, |all, unset| all | unset) == 0
}

/// Sets the bits of the key.
#[inline(always)]
pub(super) fn insert(block: &mut Block, key: Digest) {
    for (word, mask) in block.iter_mut().zip(mask_of(key)) {
        *word |= mask;
    }
}

/// How many bits are set.
pub(super) fn set_bits(block: &Block) -> u32 {
    block.iter().map(|word| word.count_ones()).sum()
}

/// The share of patterns whose bits are all set: the product of the words' shares of set bits.
pub(super) fn fill_fpr(block: &Block) -> f64 {
    let share = |half: u32| f64::from(half.count_ones()) / f64::from(u32::BITS);
    block.iter().map(|&word| share(word as u32) * share((word >> 32) as u32)).product()
}
