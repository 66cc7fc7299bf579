//! The blocked Bloom filter: all k bits of a key lie in one block, such as a cache line.
//!
//! A query touches one cache line instead of k. The price: keys fall into blocks at random, some
//! blocks get more than their share, and it is the crowded blocks that err.
//!
//! ```text
//!   load of a block          j ~ Binomial(n, 1/blocks), nearly Poisson
//!   FPR inside a block      g(j) = chance that k positions are all set, after j keys
//!   FPR                     Σ_j P(load = j) · g(j)
//! ```
//!
//! ```
//! use crivo::theory::blocked::{self, Block};
//!
//! let size = blocked::size(Block::CACHE_LINE, 1_000_000, 0.01)?;
//! assert_eq!((size.blocks, size.probes), (19_372, 6));         // 9.92 bits per key
//! assert!(blocked::fpr(Block::CACHE_LINE, size.blocks, 1_000_000, 6)? <= 0.01);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # What happens inside a block
//!
//! A block is so small that it matters how its k positions are drawn, and whether g is computed
//! or approximated. For blocks of 512 bits, at the best k:
//!
//! | [`Positions`] | 1% takes | at 8 bits | 10 bits | 12 bits | 16 bits |
//! |---|---|---|---|---|---|
//! | [`Textbook`](Positions::Textbook): g ≈ (1 − (1 − 1/B)^(jk))^k | 9.90 | 2.31% | 0.957% | 0.407% | 0.0825% |
//! | [`Independent`](Positions::Independent): exact; positions may repeat | 9.92 | 2.33% | 0.966% | 0.413% | 0.0844% |
//! | [`Distinct`](Positions::Distinct): exact; k different positions | 9.89 | 2.31% | 0.955% | 0.408% | 0.0822% |
//!
//! The first row is what the literature tabulates. A filter that draws its positions
//! independently errs 1% to 2% more often than that; one that draws them without repetition
//! reaches the published figures, and lies slightly below most of them.
//!
//! # When not to use it
//! Below about 0.1% the crowded blocks dominate: at 16 bits per key the FPR is 1.8 times that of
//! the [classic filter](super::bloom). A [cuckoo](super::cuckoo) or a [fuse](super::fuse) filter is
//! smaller there.
//!
//! # References
//! - F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, JEA 2009:
//!   the structure, and the mixture over block loads with the textbook's formula inside a block.

use super::bloom;
use super::limits;
use super::occupancy;
use super::search::least;
use crate::ParameterError;
use crivo_core::check::{
    MAX_PROBES, check_fpr, check_keys, check_positive, check_positive_real, check_probes,
    check_range,
};

/// How a key's k positions within its block are drawn, or thought to be drawn.
///
/// ```
/// use crivo::theory::blocked::{self, Block, Positions};
///
/// // 16 bits per key, 9 probes: positions that repeat cost 3% more false positives.
/// let fpr = |positions| blocked::fpr_at(Block { bits: 512, positions }, 16.0, 9);
/// assert_eq!(format!("{:.6}", fpr(Positions::Independent)?), "0.000844");
/// assert_eq!(format!("{:.6}", fpr(Positions::Distinct)?), "0.000822");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Positions {
    /// Each position is drawn from the whole block, so that two may coincide. Computed exactly.
    Independent,
    /// The k positions are all different. Computed exactly.
    Distinct,
    /// Independent positions by the textbook's formula (1 − (1 − 1/B)^(jk))^k, which is 1% to 2%
    /// too low in blocks of 512 bits. It serves to compare with published figures.
    Textbook,
}

/// What a block is: its size, and how positions within it are drawn.
///
/// ```
/// use crivo::theory::blocked::{self, Block, Positions};
///
/// // Two cache lines per block crowd less than one.
/// let pair = Block { bits: 1_024, positions: Positions::Independent };
/// assert_eq!(format!("{:.2}", blocked::bits_per_key(pair, 0.01)?), "9.76");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    /// The size of a block, from 8 to 65,536 bits.
    pub bits: u32,
    /// How the k positions of a key are drawn.
    pub positions: Positions,
}

impl Block {
    /// 512 bits, the cache line of most processors, with independent positions.
    ///
    /// ```
    /// use crivo::theory::blocked::{self, Block};
    ///
    /// assert_eq!(Block::CACHE_LINE.bits, 512);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub const CACHE_LINE: Self = Self { bits: 512, positions: Positions::Independent };

    fn check(self, k: u32) -> Result<(), ParameterError> {
        check_range("block size", self.bits, 8..=65_536, "from 8 to 65536 bits")?;
        check_probes(k)?;
        if self.positions == Positions::Distinct && k > self.bits {
            return Err(ParameterError::new("k", k, "at most the bits of a block"));
        }
        Ok(())
    }

    /// The k of a classic filter at this FPR, rounded up: no larger one is of use here.
    fn classic_probes(self, fpr: f64) -> u32 {
        let real = (-fpr.log2()).ceil() as u32;
        real.clamp(1, MAX_PROBES.min(self.bits))
    }
}

/// The FPR of `blocks` blocks that hold n keys, with k probes each.
///
/// An empty filter (n = 0) accepts nothing. The loads are binomial, not their Poisson limit, so
/// that it holds from one block on: then it is [`bloom::fpr_exact`].
///
/// ```
/// use crivo::theory::{blocked::{self, Block}, bloom};
///
/// // 16 kB for 10,000 keys. One block is a classic filter.
/// assert_eq!(format!("{:.5}", blocked::fpr(Block::CACHE_LINE, 250, 10_000, 8)?), "0.00295");
/// let one_block = blocked::fpr(Block::CACHE_LINE, 1, 40, 6)?;
/// assert!((one_block - bloom::fpr_exact(512, 40, 6)?).abs() < 1e-12);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no blocks, the block size is out of range, or k is not from 1 to 255.
pub fn fpr(block: Block, blocks: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    check_positive("number of blocks", blocks)?;
    block.check(k)?;
    // Some last digits are rounding.
    Ok(InBlock::new(block, k).mixture(Load::of_keys(n, blocks)).min(1.0))
}

/// The FPR at a budget of bits per key, in the limit of many blocks.
///
/// ```
/// use crivo::theory::blocked::{self, Block};
///
/// let fpr = blocked::fpr_at(Block::CACHE_LINE, 10.0, 6)?;
/// assert_eq!(format!("{:.3}%", 100.0 * fpr), "0.966%");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the budget is not positive, the block size is out of range, or k is not from 1 to 255.
pub fn fpr_at(block: Block, bits_per_key: f64, k: u32) -> Result<f64, ParameterError> {
    check_positive_real("bits per key", bits_per_key)?;
    block.check(k)?;
    Ok(InBlock::new(block, k).mixture(Load::of_budget(block, bits_per_key)))
}

/// The k with the lowest FPR at a budget of bits per key, in the limit of many blocks.
///
/// It is at most the classic filter's, and often one or two less.
///
/// ```
/// use crivo::theory::{blocked::{self, Block}, bloom};
///
/// assert_eq!(blocked::best_probes(Block::CACHE_LINE, 16.0)?, 9);
/// assert_eq!(bloom::best_probes(16_000, 1_000)?, 11);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the budget is not positive, or the block size is out of range.
pub fn best_probes(block: Block, bits_per_key: f64) -> Result<u32, ParameterError> {
    check_positive_real("bits per key", bits_per_key)?;
    block.check(1)?;
    let classic = bits_per_key * std::f64::consts::LN_2 + 1.0;
    let most = (classic as u32).clamp(1, MAX_PROBES.min(block.bits));
    let load = Load::of_budget(block, bits_per_key);
    let mut best = (1, f64::INFINITY);
    for k in (1..=most).rev() {
        let fpr = InBlock::new(block, k).mixture(load);
        // The FPR falls to its minimum and rises again: past it nothing better comes.
        if fpr > best.1 {
            break;
        }
        best = (k, fpr);
    }
    Ok(best.0)
}

/// The bits per key that an FPR takes with the best k, in the limit of many blocks.
///
/// ```
/// use crivo::theory::blocked::{self, Block, Positions};
///
/// let published = Block { positions: Positions::Textbook, ..Block::CACHE_LINE };
/// assert_eq!(format!("{:.2}", blocked::bits_per_key(published, 0.01)?), "9.90");
/// assert_eq!(format!("{:.2}", blocked::bits_per_key(Block::CACHE_LINE, 0.01)?), "9.92");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, the block size is out of range, or no number of bits is
/// enough.
pub fn bits_per_key(block: Block, fpr: f64) -> Result<f64, ParameterError> {
    check_fpr(fpr)?;
    block.check(1)?;
    let fewest = |k, hint: f64| {
        let mut inside = InBlock::new(block, k);
        let mut keeps = |budget| inside.mixture(Load::of_budget(block, budget)) <= fpr;
        let (mut too_few, mut enough) = (0.0, hint);
        while enough.is_finite() && !keeps(enough) {
            too_few = enough;
            enough *= 1.5;
        }
        // Halving reaches the last digits of the answer in about forty steps.
        while enough - too_few > 1e-12 * enough {
            let middle = 0.5 * (too_few + enough);
            if keeps(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        enough
    };
    let classic = block.classic_probes(fpr);
    let mut best = fewest(classic, limits::bloom(fpr)?);
    // Crowding lowers the best k. Below it the budget rises again, and nothing better comes.
    for k in (1..classic).rev() {
        let load = Load::of_budget(block, best);
        if InBlock::new(block, k).mixture(load) > fpr {
            break;
        }
        best = fewest(k, best);
    }
    check_positive_real("bits per key", best)?;
    Ok(best)
}

/// A filter's dimensions, as [`size`] finds them.
///
/// ```
/// use crivo::theory::blocked::{self, Block};
///
/// // One key takes one block.
/// let size = blocked::size(Block::CACHE_LINE, 1, 0.01)?;
/// assert_eq!(size.blocks, 1);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedSize {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of probes per key, k.
    pub probes: u32,
}

/// The fewest blocks that hold n keys at this FPR with some k, and among such k the least.
///
/// It takes a fraction of a millisecond at usual FPRs, whatever n, and a millisecond at 1e-9.
///
/// ```
/// use crivo::theory::blocked::{self, Block};
///
/// let size = blocked::size(Block::CACHE_LINE, 1_000, 0.001)?;
/// assert_eq!((size.blocks, size.probes), (31, 8));
/// assert!(blocked::fpr(Block::CACHE_LINE, size.blocks - 1, 1_000, size.probes)? > 0.001);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, the FPR is not between 0 and 1, the block size is out of range, or the filter
/// would exceed 2^64 bits.
pub fn size(block: Block, n: u64, fpr: f64) -> Result<BlockedSize, ParameterError> {
    check_fpr(fpr)?;
    block.check(1)?;
    let classic = block.classic_probes(fpr);
    let mut best =
        BlockedSize { blocks: blocks_for_probes(block, n, fpr, classic)?, probes: classic };
    // Crowding lowers the best k. Below it the blocks become more again, and nothing better comes.
    for probes in (1..classic).rev() {
        let mut inside = InBlock::new(block, probes);
        let mut keeps = |blocks| inside.mixture(Load::of_keys(n, blocks)) <= fpr;
        if !keeps(best.blocks) {
            break;
        }
        // No more than the best so far, hence never none.
        let blocks = least(best.blocks, best.blocks, keeps).unwrap_or(best.blocks);
        best = BlockedSize { blocks, probes };
    }
    Ok(best)
}

/// The fewest blocks that hold n keys at this FPR with k probes each.
///
/// ```
/// use crivo::theory::blocked::{self, Block};
///
/// // Three probes instead of six: faster, and a quarter more memory.
/// assert_eq!(blocked::blocks_for_probes(Block::CACHE_LINE, 1_000_000, 0.01, 6)?, 19_372);
/// assert_eq!(blocked::blocks_for_probes(Block::CACHE_LINE, 1_000_000, 0.01, 3)?, 24_644);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, the FPR is not between 0 and 1, k or the block size is out of range, or the filter
/// would exceed 2^64 bits.
pub fn blocks_for_probes(block: Block, n: u64, fpr: f64, k: u32) -> Result<u64, ParameterError> {
    check_keys(n)?;
    check_fpr(fpr)?;
    block.check(k)?;
    let bits = u64::from(block.bits);
    let mut inside = InBlock::new(block, k);
    // A classic filter of the same size is the place to look around. Far fewer blocks would be
    // slow to compute: their loads are long sums.
    let hint = bloom::bits_for_probes(n, fpr, k)? / bits;
    least(hint, u64::MAX / bits, |blocks| inside.mixture(Load::of_keys(n, blocks)) <= fpr)
        .ok_or_else(|| ParameterError::new("size in bits", "above 2^64", "below 2^64"))
}

/// The distribution of the number of keys in one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// The number of keys, infinite in the limit.
    keys: f64,
    /// The mean number of keys in a block.
    mean: f64,
    /// p/(1 − p) for the chance p that a key falls into the block, over p: 1 in the limit.
    odds: f64,
}

impl Load {
    fn of_keys(n: u64, blocks: u64) -> Self {
        let (keys, blocks) = (n as f64, blocks as f64);
        Self { keys, mean: keys / blocks, odds: blocks / (blocks - 1.0) }
    }

    /// Of a block to which a key falls with this probability.
    pub(super) fn of_share(n: u64, share: f64) -> Self {
        Self { keys: n as f64, mean: n as f64 * share, odds: 1.0 / (1.0 - share) }
    }

    fn of_budget(block: Block, bits_per_key: f64) -> Self {
        Self { keys: f64::INFINITY, mean: f64::from(block.bits) / bits_per_key, odds: 1.0 }
    }

    /// P(load = j + 1) / P(load = j).
    fn ratio(self, j: u64) -> f64 {
        let j = j as f64;
        // (keys − j)·p, in a form that has a limit for infinitely many keys.
        let free = (1.0 - j / self.keys).max(0.0) * self.mean;
        free * self.odds / (j + 1.0)
    }
}

/// g(j) for a block: computed as far as it was asked for, since a solver asks again and again.
struct InBlock {
    block: Block,
    k: u32,
    /// g(0), g(1), … as far as computed.
    fprs: Vec<f64>,
    /// P(i given bits of the block are all set) after the keys so far, for i = 0 … k.
    all_set: Vec<f64>,
    /// P(k positions of a query are exactly i different ones), for i = 0 … k.
    query: Vec<f64>,
    /// Distinct positions only: P(a key hits exactly h of i given bits), as `hits[i][h]`.
    hits: Vec<Vec<f64>>,
}

impl InBlock {
    fn new(block: Block, k: u32) -> Self {
        let mut all_set = vec![0.0; k as usize + 1];
        all_set[0] = 1.0;
        let mut query = vec![0.0; k as usize + 1];
        query[k as usize] = 1.0;
        let mut hits = Vec::new();
        match block.positions {
            Positions::Independent => query = occupancy::distinct_hits(block.bits.into(), k),
            Positions::Distinct => hits = (0..=k).map(|i| hits_among(block.bits, i, k)).collect(),
            Positions::Textbook => {}
        }
        Self { block, k, fprs: vec![0.0], all_set, query, hits }
    }

    /// From this load on every bit is set but for a chance below e^-50.
    fn full_from(&self) -> u64 {
        let bits = f64::from(self.block.bits);
        ((50.0 + bits.ln()) * bits / f64::from(self.k)).ceil() as u64
    }

    /// g(j): the FPR of a block that holds j keys.
    fn fpr(&mut self, j: u64) -> f64 {
        if j >= self.full_from() {
            return 1.0;
        }
        while self.fprs.len() as u64 <= j {
            self.add_key();
        }
        self.fprs[j as usize]
    }

    fn add_key(&mut self) {
        let bits = f64::from(self.block.bits);
        let fpr = match self.block.positions {
            Positions::Textbook => {
                let throws = self.fprs.len() as f64 * f64::from(self.k);
                let clear_exponent = throws * (-1.0 / bits).ln_1p();
                (-clear_exponent.exp_m1()).powi(self.k as i32)
            }
            Positions::Independent => {
                for _ in 0..self.k {
                    occupancy::throw(&mut self.all_set, self.block.bits.into());
                }
                self.query.iter().zip(&self.all_set).map(|(p, g)| p * g).sum()
            }
            Positions::Distinct => {
                // Of i given bits the new key sets h, and the others had to be set before.
                for i in (1..self.all_set.len()).rev() {
                    let chances = self.hits[i].iter().enumerate();
                    self.all_set[i] = chances.map(|(h, p)| p * self.all_set[i - h]).sum();
                }
                self.all_set[self.k as usize]
            }
        };
        self.fprs.push(fpr);
    }

    /// Σ_j P(load = j)·g(j).
    fn mixture(&mut self, load: Load) -> f64 {
        mixture(load, self.full_from(), |j| self.fpr(j))
    }
}

/// Σ_j P(load = j)·g(j), from the most likely load outwards, where g is 1 from the load `full_from` on.
///
/// The probabilities are taken relative to that of the most likely load and normalised at the
/// end: no factorial of 10^12 is ever needed.
pub(super) fn mixture(load: Load, full_from: u64, mut fpr: impl FnMut(u64) -> f64) -> f64 {
    // Below this share of the sum a term no longer shows in it.
    const NEGLIGIBLE: f64 = 1e-18;
    if load.mean >= load.keys {
        // A single block holds every key.
        return fpr(load.keys as u64);
    }
    let mode = load.mean as u64;
    if mode / 2 > full_from.max(200) {
        // At a mean of 400 or more, half the mean or less has a chance below e^-60.
        return 1.0;
    }
    let (mut total, mut sum) = (1.0, fpr(mode));
    let mut weight = 1.0;
    for j in mode.. {
        let ratio = load.ratio(j);
        weight *= ratio;
        total += weight;
        sum += weight * fpr(j + 1);
        // g is at most 1, and the weights fall faster than geometrically: what follows is at most
        // weight·ratio/(1 − ratio).
        if ratio < 1.0 && weight * ratio <= NEGLIGIBLE * sum * (1.0 - ratio) {
            break;
        }
    }
    weight = 1.0;
    for j in (0..mode).rev() {
        weight /= load.ratio(j);
        total += weight;
        sum += weight * fpr(j);
        if weight <= NEGLIGIBLE * total {
            break;
        }
    }
    sum / total
}

/// P(k different bits of `bits` contain exactly h of i given ones), for h = 0 … i.
fn hits_among(bits: u32, i: u32, k: u32) -> Vec<f64> {
    let mut hits = vec![0.0; i as usize + 1];
    hits[0] = 1.0;
    for drawn in 0..k {
        let left = f64::from(bits - drawn);
        for h in (0..hits.len()).rev() {
            let wanted = (i as usize - h) as f64;
            let hit_next = if h > 0 { hits[h - 1] * (wanted + 1.0) / left } else { 0.0 };
            hits[h] = hits[h] * ((left - wanted) / left).max(0.0) + hit_next;
        }
    }
    hits
}

#[cfg(test)]
mod tests;
