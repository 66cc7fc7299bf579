//! The split-block Bloom filter: blocks of eight 32-bit words, of which a key has a bit in each.
//!
//! ```text
//!   load of a block          j ~ Binomial(n, 1/blocks)
//!   a given bit is set       1 − (31/32)^j                      its word took one bit of each key
//!   FPR inside a block      g(j) = (1 − (31/32)^j)^8           words are independent, given j
//!   FPR                     Σ_j P(load = j) · g(j)
//! ```
//!
//! ```
//! use crivo::theory::split_block;
//!
//! let blocks = split_block::blocks(1_000_000, 0.01)?;
//! assert_eq!(format!("{:.2}", blocks as f64 * 256.0 / 1e6), "10.53"); // bits per key
//! assert!(split_block::fpr(blocks, 1_000_000)? <= 0.01);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # What 32 bits decide
//!
//! The structure is that of Parquet files, and so is the way from a digest to its bits: the upper half
//! of the digest chooses the block, the lower half the bits. That has three consequences, and the
//! formulas here count them all.
//!
//! - *At most 2^32 blocks*, 128 GiB.
//! - *Blocks are not equally likely.* ⌊upper · blocks / 2^32⌋ gives each block ⌊2^32/blocks⌋ or
//!   ⌈2^32/blocks⌉ of the 2^32 halves. Up to 2^22 blocks (128 MiB) the two differ by less than a
//!   thousandth; between 2^31 and 2^32 blocks some are twice as likely as others.
//! - *The floor is that of 32 bits, in every block.* The lower halves give 2^32 different patterns of
//!   bits, all distinct, though eight positions in 32 bits have 2^40. An absent key has the pattern of
//!   a present one, in the same block, with a probability of n/(2^32 · blocks). For a given size of the
//!   filter that is more than the n/2^64 of [equal digests](super::digest), which it includes; with
//!   2^32 blocks it is the same. At usual FPRs it does not show: at 1% it is 6e-9, and at 1e-6 it is
//!   less than a thousandth of the FPR.
//!
//! # When not to use it
//! For its size. At 1% it takes 6% more bits than [512-bit blocks](super::blocked), at 0.01% a
//! fifth more, because its blocks are half as large and k is always 8.
//!
//! # References
//! - J. Apple, *Split block Bloom filters*, 2021: the structure and its FPR.
//! - The Parquet format's specification, *BloomFilter.md*: the bits of a key, to the letter.

use super::blocked::{Load, mixture};
use super::bloom;
use super::digest;
use super::estimate::Estimate;
use super::search::least;
use crate::ParameterError;

/// The most blocks that there can be: 32 bits of a digest choose one.
///
/// ```
/// use crivo::theory::split_block::{self, MAX_BLOCKS};
///
/// assert!(split_block::fpr(MAX_BLOCKS, 1_000).is_ok());
/// assert!(split_block::fpr(MAX_BLOCKS + 1, 1_000).is_err());
/// ```
pub const MAX_BLOCKS: u64 = 1 << 32;

/// Words in a block: the bits that a key has.
const WORDS: u32 = 8;

/// Bits of a word.
const WORD_BITS: f64 = 32.0;

/// Bits of a block.
const BLOCK_BITS: u64 = 256;

/// From this load on every bit of a block is set, but for a chance below e^-50.
const FULL_FROM: u64 = 1_778;

/// An error unless there can be that many blocks.
pub(crate) fn check_blocks(blocks: u64) -> Result<(), ParameterError> {
    if (1..=MAX_BLOCKS).contains(&blocks) {
        return Ok(());
    }
    Err(ParameterError::new("number of blocks", blocks, "from 1 to 2^32"))
}

/// The FPR of this number of blocks with n keys, equal patterns included.
///
/// ```
/// use crivo::theory::split_block;
///
/// // Ten bits per key.
/// assert_eq!(format!("{:.4}", split_block::fpr(1_000, 25_600)?), "0.0126");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no blocks, or more than 2^32.
pub fn fpr(blocks: u64, n: u64) -> Result<f64, ParameterError> {
    check_blocks(blocks)?;
    Ok(fpr_of_blocks(blocks, n).min(1.0))
}

/// The fewest blocks that hold n keys at this FPR, equal patterns included.
///
/// ```
/// use crivo::theory::split_block;
///
/// let blocks = split_block::blocks(1_000, 0.01)?;
/// assert_eq!(blocks, 42);
/// assert!(split_block::fpr(blocks - 1, 1_000)? > 0.01);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, or the FPR is not between n/2^63 and 1 or takes more than 2^32 blocks.
pub fn blocks(n: u64, fpr: f64) -> Result<u64, ParameterError> {
    // The floor of 64 bits is that of every filter.
    digest::structure_fpr(n, fpr)?;
    let allowed = fpr.min(digest::MAX_STRUCTURE_FPR);
    // Near a classic filter of eight probes the sums are short.
    let hint = bloom::bits_for_probes(n, allowed, WORDS).map_or(MAX_BLOCKS, |m| m / BLOCK_BITS);
    least(hint, MAX_BLOCKS, |blocks| fpr_of_blocks(blocks, n) <= allowed).ok_or_else(|| {
        let higher = "higher for that many keys: split-block filters have at most 2^32 blocks";
        ParameterError::of_real("fpr", fpr, higher)
    })
}

/// The number of different keys in a block with this number of set bits, up to 256: `None` if all are
/// set.
///
/// With j keys 256 · (31/32)^j bits are clear in the mean. The standard error follows from the variance
/// of the number of set bits, which is that of eight words with j throws each.
///
/// ```
/// use crivo::theory::split_block;
///
/// // Half of the 256 bits are set, eight by each key at most.
/// let half = split_block::keys_in_block(128).unwrap();
/// assert_eq!(format!("{:.1} ± {:.1}", half.keys, half.standard_error), "21.8 ± 1.1");
/// assert_eq!(split_block::keys_in_block(256), None);
/// ```
pub fn keys_in_block(set_bits: u32) -> Option<Estimate> {
    let clear = 1.0 - f64::from(set_bits) / BLOCK_BITS as f64;
    if clear <= 0.0 {
        return None;
    }
    let per_key = (-1.0 / WORD_BITS).ln_1p();
    let keys = clear.ln() / per_key;
    // Of two given bits of a word, neither is set.
    let both_clear = (keys * (-2.0 / WORD_BITS).ln_1p()).exp();
    let variance_of_word =
        WORD_BITS * (clear + (WORD_BITS - 1.0) * both_clear - WORD_BITS * clear * clear);
    let variance = f64::from(WORDS) * variance_of_word.max(0.0);
    let standard_error = variance.sqrt() / (BLOCK_BITS as f64 * clear * -per_key);
    Some(Estimate { keys, standard_error })
}

/// [`fpr`] of a number of blocks that is in range.
///
/// Some blocks have one more of the 2^32 upper halves than the others. Each of the two sorts is met by
/// queries as often as by keys.
fn fpr_of_blocks(blocks: u64, n: u64) -> f64 {
    let (halves, blocks_with_more) = (MAX_BLOCKS / blocks, MAX_BLOCKS % blocks);
    let of_sort = |halves: u64| {
        let share = halves as f64 / MAX_BLOCKS as f64;
        mixture(Load::of_share(n, share), FULL_FROM, in_block)
    };
    let more = ((halves + 1) * blocks_with_more) as f64 / MAX_BLOCKS as f64;
    let fewer = if more < 1.0 { (1.0 - more) * of_sort(halves) } else { 0.0 };
    if blocks_with_more == 0 { fewer } else { fewer + more * of_sort(halves + 1) }
}

/// The FPR inside a block with that many keys, equal patterns included.
///
/// Patterns of eight independent positions would be equal with a chance of 2^-40; g counts these,
/// although they are among the 2^-32: a quarter of a percent of a share that hardly shows.
fn in_block(keys: u64) -> f64 {
    let keys = keys as f64;
    let bit_is_set = -(keys * (-1.0 / WORD_BITS).ln_1p()).exp_m1();
    let positions = bit_is_set.powi(WORDS as i32);
    let equal = -(-keys / MAX_BLOCKS as f64).exp_m1();
    positions + (1.0 - positions) * equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Σ over all loads, without any trick, for equally likely blocks.
    fn naive(blocks: u64, n: u64) -> f64 {
        let p = 1.0 / blocks as f64;
        let mut probability = (1.0 - p).powi(n as i32);
        let mut sum = 0.0;
        for j in 0..=n {
            let bit = 1.0 - (31.0f64 / 32.0).powi(j as i32);
            let equal = 1.0 - (1.0 - 0.5f64.powi(32)).powi(j as i32);
            sum += probability * (1.0 - (1.0 - bit.powi(8)) * (1.0 - equal));
            probability *= (n - j) as f64 / (j + 1) as f64 * p / (1.0 - p);
        }
        sum
    }

    #[test]
    fn the_fpr_is_the_sum_over_the_loads() {
        for blocks in [2, 4, 64, 1 << 20] {
            for n in [1, 2, 10, 100, 1_000] {
                let (ours, theirs) = (fpr(blocks, n).unwrap(), naive(blocks, n));
                assert!((ours / theirs - 1.0).abs() < 1e-6, "{blocks} {n}: {ours} {theirs}");
            }
        }
        assert_eq!(fpr(7, 0).unwrap(), 0.0);
        // One block holds every key.
        let expected = (1.0 - (31.0f64 / 32.0).powi(20)).powi(8);
        assert!((fpr(1, 20).unwrap() / expected - 1.0).abs() < 1e-5);
        assert_eq!(fpr(1, 1 << 40).unwrap(), 1.0);
    }

    /// What the Parquet specification tabulates, rounded: bits per key for an FPR.
    #[test]
    fn sizes_are_the_published_ones() {
        for (published, fpr) in
            [(6.0, 0.1), (10.5, 0.01), (16.9, 0.001), (26.4, 1e-4), (41.0, 1e-5)]
        {
            let n = 10_000_000;
            let bits = blocks(n, fpr).unwrap() as f64 * 256.0 / n as f64;
            assert!((bits - published).abs() < 0.07, "{fpr}: {bits}");
        }
    }

    /// Three blocks share 2^32 halves unequally, but hardly; 3·2^30 blocks as 1 : 2.
    #[test]
    fn blocks_that_are_more_likely_are_counted() {
        let even = |shift: u32| fpr(1 << shift, 1 << 30).unwrap();
        let uneven = fpr(3 << 30, 1 << 30).unwrap();
        // Half of the halves of 3·2^30 blocks share a block, as with 2^31 blocks; the others do not.
        assert!((uneven / (0.5 * even(31) + 0.5 * even(32)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_floor_is_that_of_32_bits_in_every_block() {
        // One key: its block and its pattern.
        for blocks in [1, 1_024, MAX_BLOCKS] {
            let floor = 0.5f64.powi(32) / blocks as f64;
            let ours = fpr(blocks, 1).unwrap();
            assert!(ours >= floor && ours <= 1.005 * floor, "{blocks}: {ours} {floor}");
        }
        assert!(blocks(1, 2.01 * 0.5f64.powi(64)).is_ok());
        assert_eq!(blocks(1, 1.99 * 0.5f64.powi(64)).unwrap_err().parameter, "fpr");
        assert_eq!(blocks(1 << 40, 0.01).unwrap_err().parameter, "fpr");
        assert_eq!(blocks(0, 0.01).unwrap_err().parameter, "n");
        for out_of_range in [0, MAX_BLOCKS + 1, u64::MAX] {
            assert_eq!(fpr(out_of_range, 1).unwrap_err().parameter, "number of blocks");
        }
    }

    #[test]
    fn keys_are_estimated_until_a_block_is_full() {
        assert_eq!(keys_in_block(0), Some(Estimate { keys: 0.0, standard_error: 0.0 }));
        let one = keys_in_block(8).unwrap();
        assert!((one.keys - 1.0).abs() < 1e-12 && one.standard_error < 1e-6, "{one:?}");
        let half = keys_in_block(128).unwrap();
        assert!((half.keys - 21.83).abs() < 0.01, "{half:?}");
        assert!(half.standard_error > 1.0 && half.standard_error < 1.2, "{half:?}");
        assert!(keys_in_block(255).is_some());
        assert_eq!(keys_in_block(256), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

        #[test]
        fn fewer_blocks_would_not_do(n in 1u64..1 << 34, exponent in 0.01..30.0f64) {
            let asked = 0.5f64.powf(exponent);
            let Ok(found) = blocks(n, asked) else { return Ok(()) };
            prop_assert!(fpr(found, n).unwrap() <= asked);
            prop_assert!(found == 1 || fpr(found - 1, n).unwrap() > asked);
        }
    }
}
