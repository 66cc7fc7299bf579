//! The classic Bloom filter: n keys set k random bits each, in an array of m.
//!
//! A query for an absent key looks at k random bits. It is wrong when all of them are set. After
//! n keys a bit is still clear with probability (1 − 1/m)^(kn) ≈ e^(−kn/m), hence
//!
//! ```text
//!   FPR ≈ (1 − e^(−kn/m))^k                                    ten bits per key, k = 7: 0.819%
//! ```
//!
//! ```
//! use crivo::theory::bloom;
//!
//! let (n, m) = (1_000_000, 10_000_000);
//! let k = bloom::best_probes(m, n)?;
//! assert_eq!(k, 7);
//! assert_eq!(format!("{:.6}", bloom::fpr(m, n, k)?), "0.008194");
//!
//! // The other way round: how many bits for 1%?
//! let size = bloom::size(n, 0.01)?;
//! assert_eq!((size.probes, size.bits), (7, 9_592_957));
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # Three forms of the same FPR
//!
//! | function | what it is | when |
//! |---|---|---|
//! | [`fpr`] | the limit for large m | sizes: from 1,000 bits on (k = 7) it errs by less than 1% of itself |
//! | [`fpr_bound`] | an upper bound, nearly as simple | guarantees |
//! | [`fpr_exact`] | the truth for ideal hash functions | small filters, and tests |
//!
//! The textbook's (1 − (1 − 1/m)^(kn))^k is none of these. It takes the k probed bits to be
//! independent, which they are not: given that one bit is set, the filter is likely to be fuller.
//! It is always too low; [`fpr`], a little below it, more so.
//!
//! # References
//! - B. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 1970: the idea.
//! - P. Bose et al., *On the false-positive rate of Bloom filters*, IPL 2008: shows that the
//!   textbook formula is not exact, and bounds how far it is off.
//! - K. Christensen, A. Roginsky, M. Jimeno, *A new analysis of the false positive rate of a Bloom
//!   filter*, IPL 2010: the exact formula as a stable recurrence.
//! - A. Goel, P. Gupta, *Small subset queries and Bloom filters using ternary associative
//!   memories*, SIGMETRICS 2010: the upper bound of [`fpr_bound`].

use std::f64::consts::LN_2;

use super::occupancy;
use super::search::least_by_steps;
use crate::ParameterError;
use crivo_core::check::{
    MAX_PROBES, check_fpr, check_keys, check_positive, check_probes, check_sized_fpr, size_from,
};

/// The FPR in the limit of large m: (1 − e^(−kn/m))^k.
///
/// It is slightly too low; [`fpr_exact`] says by how much. An empty filter (n = 0) accepts
/// nothing.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(format!("{:.4}", bloom::fpr(8_000, 1_000, 6)?), "0.0216");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, or k is not from 1 to 255.
pub fn fpr(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    Ok(limit_fpr(m as f64, n as f64, k))
}

/// The formula of [`fpr`], for parameters that were checked.
fn limit_fpr(m: f64, n: f64, k: u32) -> f64 {
    let k = f64::from(k);
    (-(-k * n / m).exp_m1()).powf(k)
}

/// An upper bound on the FPR for every size: (1 − e^(−k(n + ½)/(m − 1)))^k, by Goel and Gupta.
///
/// Half a key more and one bit less than [`fpr`].
///
/// ```
/// use crivo::theory::bloom;
///
/// // A hundred bits, ten keys: the limit is below the truth, the bound above it.
/// assert_eq!(format!("{:.5}", bloom::fpr(100, 10, 7)?), "0.00819");
/// assert_eq!(format!("{:.5}", bloom::fpr_exact(100, 10, 7)?), "0.00894");
/// assert_eq!(format!("{:.5}", bloom::fpr_bound(100, 10, 7)?), "0.01085");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is below 2, or k is not from 1 to 255.
pub fn fpr_bound(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    if m < 2 {
        return Err(ParameterError::new("m", m, "at least 2"));
    }
    check_probes(k)?;
    Ok(limit_fpr((m - 1) as f64, n as f64 + 0.5, k))
}

/// The FPR of an ideal filter, exactly: E[(X/m)^k], where X bits are set by k·n throws into m.
///
/// It costs about k³/3 · log2(kn) operations whatever the size, or k²·n where that is less: some
/// microseconds for k = 7, a tenth of a second for k = 255. It is accurate to about 12 digits.
///
/// With one probe it is the probability that n throws hit a given bit, 1 − (1 − 1/m)^n:
///
/// ```
/// use crivo::theory::bloom;
///
/// let exact = bloom::fpr_exact(100, 20, 1)?;
/// assert!((exact - (1.0 - 0.99f64.powi(20))).abs() < 1e-15);
///
/// // Two bits, two probes, one key, counted by hand: (1/2)·(1/2)² + (1/2)·1² = 5/8, where the
/// // textbook's formula says 9/16.
/// assert_eq!(bloom::fpr_exact(2, 1, 2)?, 0.625);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, or k is not from 1 to 255.
pub fn fpr_exact(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    // Some last digits are rounding.
    Ok(exact_fpr(m, n, k).min(1.0))
}

/// The formula of [`fpr_exact`], for parameters that were checked.
fn exact_fpr(m: u64, n: u64, k: u32) -> f64 {
    occupancy::mean_power(m, throws(n, k), k)
}

fn throws(n: u64, k: u32) -> u128 {
    u128::from(n) * u128::from(k)
}

/// The FPR of a filter, as it is told to people: exact where that makes a difference, and quick
/// everywhere. Parameters are those of a filter, which has bits, and from 1 to 255 probes.
pub(crate) fn mean_fpr(m: u64, n: u64, k: u32) -> f64 {
    /// From here on the limit errs by less than a thousandth at usual k.
    const SMALL: u64 = 1 << 16;
    /// A few milliseconds.
    const QUICK: f64 = 4e6;
    if m > SMALL {
        limit_fpr(m as f64, n as f64, k)
    } else if occupancy::cost(throws(n, k), k) <= QUICK {
        // Some last digits are rounding.
        exact_fpr(m, n, k).min(1.0)
    } else {
        limit_fpr(m.saturating_sub(1) as f64, n as f64 + 0.5, k)
    }
}

/// The k that minimises [`fpr`], as a real number: (m/n)·ln 2. With it half of the bits are set.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(format!("{:.3}", bloom::best_probes_real(10_000, 1_000)?), "6.931");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m or n is 0.
pub fn best_probes_real(m: u64, n: u64) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_keys(n)?;
    Ok(m as f64 / n as f64 * LN_2)
}

/// [`best_probes_real`] rounded down, from 1 to 255: fewer probes, and sometimes not the best.
///
/// At ten bits per key it gives 6 and an FPR of 0.844%, where [`best_probes`] gives 7 and 0.819%.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(bloom::best_probes_floor(10_000, 1_000)?, 6);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m or n is 0.
pub fn best_probes_floor(m: u64, n: u64) -> Result<u32, ParameterError> {
    let best = best_probes_real(m, n)?;
    Ok((best as u32).clamp(1, MAX_PROBES))
}

/// The whole number of probes, from 1 to 255, with the lowest [`fpr`].
///
/// It is one of the two neighbours of [`best_probes_real`], whichever has the lower FPR.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(bloom::best_probes(10_000, 1_000)?, 7);
/// assert_eq!(bloom::best_probes(16_000, 1_000)?, 11);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m or n is 0.
pub fn best_probes(m: u64, n: u64) -> Result<u32, ParameterError> {
    let floor = best_probes_floor(m, n)?;
    let ceiling = (floor + 1).min(MAX_PROBES);
    let fpr_of = |k| limit_fpr(m as f64, n as f64, k);
    Ok(if fpr_of(ceiling) < fpr_of(floor) { ceiling } else { floor })
}

/// The bits that n keys need if k could be any real number: ⌈n · ln(1/FPR) / (ln 2)²⌉.
///
/// This is the formula of the textbooks: 9.59 bits per key at 1%. A real filter has a whole k, and
/// needs what [`size`] says.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(bloom::bits(1_000, 0.01)?, 9_586);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, the FPR is not between 0 and 1, or the size exceeds 64 bits.
pub fn bits(n: u64, fpr: f64) -> Result<u64, ParameterError> {
    check_keys(n)?;
    check_fpr(fpr)?;
    size_from("size in bits", -(n as f64) * fpr.ln() / (LN_2 * LN_2))
}

/// The bits that n keys need with k probes each, by [`fpr`]: ⌈−kn / ln(1 − FPR^(1/k))⌉.
///
/// ```
/// use crivo::theory::bloom;
///
/// // Two probes instead of seven, for 1%: twice the memory.
/// assert_eq!(bloom::bits_for_probes(1_000, 0.01, 7)?, 9_593);
/// assert_eq!(bloom::bits_for_probes(1_000, 0.01, 2)?, 18_983);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, the FPR is not between 0 and 1, k is not from 1 to 255, or the size exceeds 64
/// bits.
pub fn bits_for_probes(n: u64, fpr: f64, k: u32) -> Result<u64, ParameterError> {
    check_keys(n)?;
    check_fpr(fpr)?;
    check_probes(k)?;
    size_from("size in bits", limit_bits(n as f64, fpr, k))
}

/// The formula of [`bits_for_probes`], for parameters that were checked.
fn limit_bits(n: f64, fpr: f64, k: u32) -> f64 {
    let probes = f64::from(k);
    -probes * n / (-fpr.powf(1.0 / probes)).ln_1p()
}

/// A filter's dimensions, as [`size`] finds them.
///
/// ```
/// use crivo::theory::bloom;
///
/// let size = bloom::size(1_000, 0.001)?;
/// assert_eq!((size.bits, size.probes), (14_381, 10));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BloomSize {
    /// The number of bits, m.
    pub bits: u64,
    /// The number of probes per key, k.
    pub probes: u32,
}

/// The smallest filter that keeps the FPR: the least m for which some whole k has
/// [`fpr_exact`] ≤ FPR, and among such k the fewest probes.
///
/// ```
/// use crivo::theory::bloom;
///
/// let size = bloom::size(100, 0.01)?;
/// assert!(bloom::fpr_exact(size.bits, 100, size.probes)? <= 0.01);
/// assert!(bloom::fpr_exact(size.bits - 1, 100, size.probes)? > 0.01);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// It takes some microseconds at 1% and some milliseconds at 1e-9. Where the exact FPR would take
/// longer, that is for many keys below about 1e-10, [`fpr_bound`] stands in for it, which costs the
/// bits of half a key.
///
/// # Errors
/// If n is 0, the FPR is not between 2^−65 and 1, or the size exceeds 64 bits.
pub fn size(n: u64, fpr: f64) -> Result<BloomSize, ParameterError> {
    check_keys(n)?;
    check_sized_fpr(fpr)?;
    // log2(1/FPR) is the best k in the limit, and needs next to the fewest bits: if it does not
    // fit into 64 bits, nothing does.
    let in_the_limit = -fpr.log2();
    let mut best = size_for_probes(n, fpr, (in_the_limit.round() as u32).clamp(1, MAX_PROBES))?;
    for k in 1..=(in_the_limit as u32 + 1).min(MAX_PROBES) {
        // The limit is below the truth, hence what it asks for is the least that k could need.
        if bits_for_probes(n, fpr, k).is_ok_and(|lower| lower <= best.bits) {
            let found = size_for_probes(n, fpr, k)?;
            if (found.bits, k) < (best.bits, best.probes) {
                best = found;
            }
        }
    }
    Ok(best)
}

/// The least m for k probes each.
fn size_for_probes(n: u64, fpr: f64, k: u32) -> Result<BloomSize, ParameterError> {
    /// A fraction of a millisecond.
    const QUICK: f64 = 2e5;
    // The truth lies between the limit and the bound, which are half a key and a bit apart.
    let lower = bits_for_probes(n, fpr, k)?;
    let upper = size_from("size in bits", limit_bits(n as f64 + 0.5, fpr, k) + 1.0)?;
    let bits = if occupancy::cost(throws(n, k), k) <= QUICK {
        least_by_steps(lower, upper - lower, u64::MAX, |m| exact_fpr(m, n, k) <= fpr)
            .ok_or_else(|| ParameterError::new("size in bits", "above 2^64", "below 2^64"))?
    } else {
        upper
    };
    Ok(BloomSize { bits, probes: k })
}

#[cfg(test)]
mod tests;
