//! The counting Bloom filter: counters of c bits instead of bits, so that keys can be removed.
//!
//! Its FPR is that of the [classic filter](super::bloom) with as many counters as that has bits.
//! What is new is overflow: k·n increments fall on m counters at random, and a counter of c bits
//! counts to 2^c − 1.
//!
//! ```text
//!   increments of one counter     Binomial(kn, 1/m), nearly Poisson with mean kn/m
//!   P(it reaches v)               ≤ (e·kn/(v·m))^v           with kn/m = ln 2 and v = 16: 1.4e-15
//! ```
//!
//! ```
//! use crivo::theory::counting;
//!
//! // A million keys at ten counters per key: four bits suffice, two do not.
//! let (m, n, k) = (10_000_000, 1_000_000, 7);
//! assert!(counting::overflow(m, n, k, 4)? < 1e-8);
//! assert_eq!(counting::overflow(m, n, k, 2)?, 1.0);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! All of it is about keys that are inserted once. A key that is inserted 16 times reaches 16 by
//! itself.
//!
//! # References
//! - L. Fan, P. Cao, J. Almeida, A. Broder, *Summary cache*, ToN 2000: the structure and the bound
//!   that made four bits the custom.

use std::f64::consts::E;

use super::special::binomial_tails;
use crate::ParameterError;
use crivo_core::check::{check_positive, check_probes, check_range};

/// The probability that one given counter receives `value` or more of the k·n increments, exactly.
///
/// ```
/// use crivo::theory::counting;
///
/// // 700 increments on 1,000 counters: half of these count something.
/// assert_eq!(format!("{:.3}", counting::reach(1_000, 100, 7, 1)?), "0.504");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m or the value is 0, or k is not from 1 to 255.
pub fn reach(m: u64, n: u64, k: u32, value: u64) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    check_positive("value", value)?;
    let increments = n as f64 * f64::from(k);
    let value = value as f64;
    Ok(if value > increments {
        0.0
    } else if m == 1 {
        1.0
    } else {
        binomial_tails(increments, value, 1.0 / m as f64).at_least
    })
}

/// An upper bound on the probability that any of m counters of `bits` bits overflows, that is,
/// receives 2^bits or more increments: m times the exact probability of one, at most 1.
///
/// When it is small it is also a good approximation.
///
/// ```
/// use crivo::theory::counting;
///
/// // A thousand keys, ten counters each.
/// assert_eq!(format!("{:.1e}", counting::overflow(10_000, 1_000, 7, 4)?), "8.1e-13");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, k is not from 1 to 255, or a counter has not from 1 to 32 bits.
pub fn overflow(m: u64, n: u64, k: u32, bits: u32) -> Result<f64, ParameterError> {
    check_counter(bits)?;
    Ok((m as f64 * reach(m, n, k, 1 << bits)?).min(1.0))
}

/// The bound of Fan et al. on [`overflow`]: m·(e·kn/(2^bits·m))^(2^bits), at most 1.
///
/// With the best k, where kn/m = ln 2, and four bits: m·(e·ln 2/16)^16 = 1.37e-15·m.
///
/// ```
/// use crivo::theory::counting;
///
/// let bound = counting::overflow_bound(10_000, 1_000, 7, 4)?;
/// assert_eq!(format!("{bound:.1e}"), "1.6e-11");
/// assert!(counting::overflow(10_000, 1_000, 7, 4)? < bound);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, k is not from 1 to 255, or a counter has not from 1 to 32 bits.
pub fn overflow_bound(m: u64, n: u64, k: u32, bits: u32) -> Result<f64, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    check_counter(bits)?;
    let value = 2f64.powi(bits as i32);
    let mean = n as f64 * f64::from(k) / m as f64;
    Ok((m as f64 * (E * mean / value).powf(value)).min(1.0))
}

/// The expected number of saturated counters: those at their greatest value, 2^bits − 1.
///
/// A counter there cannot tell 2^bits − 1 increments from more. A filter that never wants to
/// lose a key must let it stick, which costs accuracy after removals, and no more.
///
/// ```
/// use crivo::theory::counting;
///
/// // Of 10,000 counters of two bits, some three hundred are at 3.
/// assert_eq!(format!("{:.0}", counting::expected_saturated(10_000, 1_000, 7, 2)?), "341");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, k is not from 1 to 255, or a counter has not from 1 to 32 bits.
pub fn expected_saturated(m: u64, n: u64, k: u32, bits: u32) -> Result<f64, ParameterError> {
    check_counter(bits)?;
    Ok(m as f64 * reach(m, n, k, (1 << bits) - 1)?)
}

fn check_counter(bits: u32) -> Result<(), ParameterError> {
    check_range("bits of a counter", bits, 1..=32, "from 1 to 32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bound_of_fan_et_al() {
        // kn/m = ln 2 to eight digits: "1.37e-15 · m".
        let (m, n, k) = (100_000_000, 9_902_103, 7);
        let per_counter = overflow_bound(m, n, k, 4).unwrap() / m as f64;
        assert_eq!(format!("{per_counter:.2e}"), "1.37e-15");
    }

    #[test]
    fn the_exact_tail_agrees_with_long_arithmetic() {
        // Sums of binomial probabilities in arithmetic of 50 digits.
        for (m, n, k, value, expected) in [
            (10_000_000, 1_000_000, 7, 16, 8.225_329_979_467_68e-17),
            (1_000, 100, 7, 4, 0.005_720_829_414_078_379),
            (10, 1, 7, 7, 1e-7),
            (1_000, 10_000, 5, 60, 0.092_156_444_185_236_73),
        ] {
            let got = reach(m, n, k, value).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-11, "{m} {n} {k} {value}: {got:e}");
        }
    }

    #[test]
    fn corner_cases() {
        assert_eq!(reach(1, 1, 3, 3), Ok(1.0));
        assert_eq!(reach(1, 1, 3, 4), Ok(0.0));
        assert_eq!(reach(100, 0, 3, 1), Ok(0.0));
        assert_eq!(overflow(100, 0, 3, 4), Ok(0.0));
    }

    /// Sums of 10^10 terms, which would not end, are taken in strides.
    #[test]
    fn large_numbers_come_to_an_end() {
        let half = reach(2, u64::MAX - 1, 2, u64::MAX).unwrap();
        assert!((half - 0.5).abs() < 1e-6, "{half}");
        assert_eq!(reach(1 << 40, 1 << 50, 7, u64::MAX), Ok(0.0));
    }

    #[test]
    fn saturation_counts_one_increment_less_than_overflow() {
        let (m, n, k) = (10_000_000, 1_000_000, 7);
        let saturated = expected_saturated(m, n, k, 4).unwrap();
        assert!(saturated > overflow(m, n, k, 4).unwrap());
        assert_eq!(saturated, m as f64 * reach(m, n, k, 15).unwrap());
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(overflow(0, 1, 1, 4).map_err(parameter), Err("m"));
        assert_eq!(overflow(1, 1, 0, 4).map_err(parameter), Err("k"));
        assert_eq!(overflow(1, 1, 1, 0).map_err(parameter), Err("bits of a counter"));
        assert_eq!(overflow_bound(1, 1, 1, 33).map_err(parameter), Err("bits of a counter"));
        assert_eq!(reach(1, 1, 1, 0).map_err(parameter), Err("value"));
    }

    proptest! {
        #[test]
        fn the_bound_bounds(m in 1u64..100_000, n in 1u64..10_000, k in 1u32..12, bits in 1u32..6) {
            let exact = overflow(m, n, k, bits).unwrap();
            prop_assert!(exact <= overflow_bound(m, n, k, bits).unwrap() * (1.0 + 1e-9));
        }
    }
}
