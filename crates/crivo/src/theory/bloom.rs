//! The classic Bloom filter: n keys set k random bits each, in an array of m.
//!
//! A query for an absent key looks at k random bits. It is wrong when all of them are set. After
//! n keys a bit is still clear with probability (1 − 1/m)^(kn) ≈ e^(−kn/m), hence
//!
//! ```text
//!   rate ≈ (1 − e^(−kn/m))^k                                    ten bits per key, k = 7: 0.819%
//! ```
//!
//! ```
//! use crivo::theory::bloom;
//!
//! let (n, m) = (1_000_000, 10_000_000);
//! let k = bloom::best_probes(m, n)?;
//! assert_eq!(k, 7);
//! assert_eq!(format!("{:.6}", bloom::rate(m, n, k)?), "0.008194");
//!
//! // The other way round: how many bits for 1%?
//! let size = bloom::size(n, 0.01)?;
//! assert_eq!((size.probes, size.bits), (7, 9_592_957));
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # Three forms of the same rate
//!
//! | function | what it is | when |
//! |---|---|---|
//! | [`rate`] | the limit for large m | sizes: from 1,000 bits on (k = 7) it errs by less than 1% of itself |
//! | [`rate_bound`] | an upper bound, nearly as simple | guarantees |
//! | [`rate_exact`] | the truth for ideal hash functions | small filters, and tests |
//!
//! The textbook's (1 − (1 − 1/m)^(kn))^k is none of these. It takes the k probed bits to be
//! independent, which they are not: whoever knows that one bit is set expects a fuller filter.
//! It is always too low; [`rate`], a little below it, more so.
//!
//! # References
//! - B. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 1970: the idea.
//! - P. Bose et al., *On the false-positive rate of Bloom filters*, IPL 2008: shows that the
//!   textbook formula is not exact, and bounds how far it is off.
//! - K. Christensen, A. Roginsky, M. Jimeno, *A new analysis of the false positive rate of a Bloom
//!   filter*, IPL 2010: the exact formula as a stable recurrence.
//! - A. Goel, P. Gupta, *Small subset queries and Bloom filters using ternary associative
//!   memories*, SIGMETRICS 2010: the upper bound of [`rate_bound`].

use std::f64::consts::LN_2;

use super::check::{MAX_PROBES, check_keys, check_positive, check_probes, check_rate, size_from};
use super::occupancy;
use super::search::least;
use crate::ParameterError;

/// The rate in the limit of large m: (1 − e^(−kn/m))^k.
///
/// It is slightly too low; [`rate_exact`] says by how much. An empty filter (n = 0) accepts
/// nothing.
///
/// ```
/// use crivo::theory::bloom;
///
/// assert_eq!(format!("{:.4}", bloom::rate(8_000, 1_000, 6)?), "0.0216");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, or k is not from 1 to 255.
pub fn rate(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    Ok(limit_rate(m as f64, n as f64, k))
}

/// The formula of [`rate`], for parameters that were checked.
fn limit_rate(m: f64, n: f64, k: u32) -> f64 {
    let k = f64::from(k);
    (-(-k * n / m).exp_m1()).powf(k)
}

/// An upper bound on the rate for every size: (1 − e^(−k(n + ½)/(m − 1)))^k, by Goel and Gupta.
///
/// Half a key more and one bit less than [`rate`].
///
/// # Errors
/// If m is below 2, or k is not from 1 to 255.
pub fn rate_bound(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    if m < 2 {
        return Err(ParameterError::new("m", m, "at least 2"));
    }
    check_probes(k)?;
    Ok(limit_rate((m - 1) as f64, n as f64 + 0.5, k))
}

/// The rate of an ideal filter, exactly: E[(X/m)^k], where X bits are set by k·n throws into m.
///
/// It costs about k³/3 · log2(kn) operations (some microseconds for k = 7, a tenth of a second
/// for k = 255) whatever the size, and is accurate to about 12 digits.
///
/// With one probe it is the probability that n throws hit a given bit, 1 − (1 − 1/m)^n:
///
/// ```
/// use crivo::theory::bloom;
///
/// let exact = bloom::rate_exact(100, 20, 1)?;
/// assert!((exact - (1.0 - 0.99f64.powi(20))).abs() < 1e-15);
///
/// // Two bits, two probes, one key, counted by hand: (1/2)·(1/2)² + (1/2)·1² = 5/8, where the
/// // textbook's formula says 9/16.
/// assert_eq!(bloom::rate_exact(2, 1, 2)?, 0.625);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, or k is not from 1 to 255.
pub fn rate_exact(m: u64, n: u64, k: u32) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    // Some last digits are rounding.
    Ok(exact_rate(m, n, k).min(1.0))
}

/// The formula of [`rate_exact`], for parameters that were checked.
fn exact_rate(m: u64, n: u64, k: u32) -> f64 {
    occupancy::mean_power(m, u128::from(n) * u128::from(k), k)
}

/// The k that minimises [`rate`], as a real number: (m/n)·ln 2. With it half of the bits are set.
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
/// At ten bits per key it gives 6 and a rate of 0.844%, where [`best_probes`] gives 7 and 0.819%.
///
/// # Errors
/// If m or n is 0.
pub fn best_probes_floor(m: u64, n: u64) -> Result<u32, ParameterError> {
    let best = best_probes_real(m, n)?;
    Ok((best as u32).clamp(1, MAX_PROBES))
}

/// The whole number of probes, from 1 to 255, with the lowest [`rate`].
///
/// It is one of the two neighbours of [`best_probes_real`], whichever has the lower rate.
///
/// # Errors
/// If m or n is 0.
pub fn best_probes(m: u64, n: u64) -> Result<u32, ParameterError> {
    let floor = best_probes_floor(m, n)?;
    let ceiling = (floor + 1).min(MAX_PROBES);
    let rate_of = |k| limit_rate(m as f64, n as f64, k);
    Ok(if rate_of(ceiling) < rate_of(floor) { ceiling } else { floor })
}

/// The bits that n keys need if k could be any real number: ⌈n · ln(1/rate) / (ln 2)²⌉.
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
/// If n is 0, the rate is not between 0 and 1, or the size exceeds 64 bits.
pub fn bits(n: u64, rate: f64) -> Result<u64, ParameterError> {
    check_keys(n)?;
    check_rate(rate)?;
    size_from("size in bits", -(n as f64) * rate.ln() / (LN_2 * LN_2))
}

/// The bits that n keys need with k probes each, by [`rate`]: ⌈−kn / ln(1 − rate^(1/k))⌉.
///
/// # Errors
/// If n is 0, the rate is not between 0 and 1, k is not from 1 to 255, or the size exceeds 64
/// bits.
pub fn bits_for_probes(n: u64, rate: f64, k: u32) -> Result<u64, ParameterError> {
    check_keys(n)?;
    check_rate(rate)?;
    check_probes(k)?;
    let probes = f64::from(k);
    let root = rate.powf(1.0 / probes);
    size_from("size in bits", -probes * n as f64 / (-root).ln_1p())
}

/// A filter's dimensions, as [`size`] finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// The number of bits, m.
    pub bits: u64,
    /// The number of probes per key, k.
    pub probes: u32,
}

/// The smallest filter that keeps the rate: the least m for which some whole k has
/// [`rate_exact`] ≤ rate, and among such k the fewest probes.
///
/// ```
/// use crivo::theory::bloom;
///
/// let size = bloom::size(100, 0.01)?;
/// assert!(bloom::rate_exact(size.bits, 100, size.probes)? <= 0.01);
/// assert!(bloom::rate_exact(size.bits - 1, 100, size.probes)? > 0.01);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// It takes some microseconds at 1% and some milliseconds at 1e-9.
///
/// # Errors
/// If n is 0, the rate is not between 0 and 1, or the size exceeds 64 bits.
pub fn size(n: u64, rate: f64) -> Result<Size, ParameterError> {
    check_keys(n)?;
    check_rate(rate)?;
    let smallest = |k| -> Result<Size, ParameterError> {
        let lower = bits_for_probes(n, rate, k)?;
        let bits = least(lower, u64::MAX, |m| exact_rate(m, n, k) <= rate)
            .ok_or_else(|| ParameterError::new("size in bits", "above 2^64", "below 2^64"))?;
        Ok(Size { bits, probes: k })
    };
    // log2(1/rate) is the best k in the limit, and needs next to the fewest bits: if it does not
    // fit into 64 bits, nothing does.
    let in_the_limit = -rate.log2();
    let mut best = smallest((in_the_limit.round() as u32).clamp(1, MAX_PROBES))?;
    for k in 1..=(in_the_limit as u32 + 1).min(MAX_PROBES) {
        // The limit is below the truth, hence what it asks for is the least that k could need.
        if bits_for_probes(n, rate, k).is_ok_and(|lower| lower <= best.bits) {
            let found = smallest(k)?;
            if (found.bits, k) < (best.bits, best.probes) {
                best = found;
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests;
