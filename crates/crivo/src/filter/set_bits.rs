//! What the set bits of a table tell: its false-positive rate, and how many keys there are.
//!
//! A table is one block, or many of the same size, and all bits of a key are in one of them.

use crate::theory::estimate::{self, Estimate};

/// The FPR that the bits themselves give: the mean of (set bits/bits)^k over the blocks.
pub(super) fn fill_fpr(
    block_bits: u64,
    probes: u32,
    set_bits: impl ExactSizeIterator<Item = u64>,
) -> f64 {
    let blocks = set_bits.len() as f64;
    let fpr = |set_bits| (set_bits as f64 / block_bits as f64).powi(probes as i32);
    set_bits.map(fpr).sum::<f64>() / blocks
}

/// The number of different keys, estimated block by block. `None` if a block is full, which says
/// nothing about how many keys made it so. Of a filter that was made, the dimensions are valid.
///
/// The errors of many blocks cancel out, but not what their estimates have in common: of m bits, a
/// position misses a given one with probability 1 − 1/m instead of e^(−1/m), and the estimate is
/// [biased](estimate#where-the-standard-errors-come-from) by h(kn/m)/(2k). Both are taken out.
pub(super) fn estimated_key_count(
    block_bits: u64,
    probes: u32,
    set_bits: impl Iterator<Item = u64>,
) -> Option<Estimate> {
    let (bits, probes_real) = (block_bits as f64, f64::from(probes));
    let finite = -1.0 / (bits * (-1.0 / bits).ln_1p());
    let mut total = Estimate { keys: 0.0, standard_error: 0.0 };
    for set_bits in set_bits {
        let block = estimate::cardinality(block_bits, probes, set_bits).ok()?;
        let bias = block.standard_error.powi(2) * probes_real / (2.0 * bits);
        total.keys += block.keys * finite - bias;
        total.standard_error = total.standard_error.hypot(block.standard_error);
    }
    Some(total)
}
