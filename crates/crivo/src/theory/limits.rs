//! What no structure can beat: the least bits per key for a false-positive rate ε.
//!
//! | structure | bits per key | at 1% |
//! |---|---|---|
//! | any filter, its set fixed ([`fixed_set`]) | log2(1/ε) | 6.64 |
//! | any filter with insertion and deletion ([`changing_set`]) | log2(1/ε) + log2 e | 8.09 |
//! | Bloom filters ([`bloom`]) | log2 e · log2(1/ε) | 9.59 |
//! | no error at all ([`exact_set`]) | log2 C(u, n) / n for n keys out of u | |
//!
//! The first limit counts: a filter accepts the n keys and a share ε of all others, and from
//! "accepts" to "is in the set" costs no more than choosing n out of what it accepts. The factor
//! log2 e = 1.44 of the third is a trait of Bloom filters, and not of the problem.
//!
//! # References
//! - L. Carter et al., *Exact and approximate membership testers*, STOC 1978: the first limit.
//! - W. Kuszmaul, J. Liang, R. Zhou, *Fingerprint filters are optimal*, 2025: the second, up to
//!   o(1) bits per key, for ε that tends to 0.

use std::f64::consts::{LN_2, LOG2_E};

use super::special::ln_choose;
use crate::ParameterError;
use crivo_core::check::{check_fpr, check_keys};

/// The least bits per key of any filter, even one that never changes: log2(1/ε).
///
/// ```
/// use crivo::theory::limits;
///
/// assert_eq!(limits::fixed_set(1.0 / 256.0)?, 8.0);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1.
pub fn fixed_set(fpr: f64) -> Result<f64, ParameterError> {
    check_fpr(fpr)?;
    Ok(-fpr.log2())
}

/// The least bits per key of a filter whose keys come and go: log2(1/ε) + log2 e.
///
/// A limit for small ε. A structure that stores n fingerprints out of n/ε needs log2 C(n/ε, n)
/// bits, which at 10% is 0.07 bits per key less than this, at 1% 0.007.
///
/// ```
/// use crivo::theory::limits;
///
/// assert_eq!(format!("{:.2}", limits::changing_set(0.01)?), "8.09");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1.
pub fn changing_set(fpr: f64) -> Result<f64, ParameterError> {
    Ok(fixed_set(fpr)? + LOG2_E)
}

/// The least bits per key of a Bloom filter, with the best k: log2 e · log2(1/ε).
///
/// ```
/// use crivo::theory::limits;
///
/// assert_eq!(format!("{:.2}", limits::bloom(0.01)?), "9.59");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1.
pub fn bloom(fpr: f64) -> Result<f64, ParameterError> {
    Ok(fixed_set(fpr)? * LOG2_E)
}

/// The least bits, in all, of a dictionary without error of n keys out of a universe of u:
/// log2 C(u, n).
///
/// ```
/// use crivo::theory::limits;
///
/// // A million keys of 64 bits: 45.5 bits each, because their order need not be kept.
/// let bits = limits::exact_set(u64::MAX, 1_000_000)?;
/// assert_eq!(format!("{:.1}", bits / 1e6), "45.5");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0 or above u.
pub fn exact_set(universe: u64, n: u64) -> Result<f64, ParameterError> {
    check_keys(n)?;
    if n > universe {
        return Err(ParameterError::new("n", n, "at most the size of the universe"));
    }
    // The smaller of the set and its complement: one of u elements less one is not lost in rounding.
    Ok(ln_choose(universe as f64, n.min(universe - n) as f64) / LN_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_documentation_holds() {
        assert_eq!(format!("{:.2}", fixed_set(0.01).unwrap()), "6.64");
        assert_eq!(format!("{:.2}", changing_set(0.01).unwrap()), "8.09");
        assert_eq!(format!("{:.2}", bloom(0.01).unwrap()), "9.59");
    }

    #[test]
    fn fingerprints_come_near_the_limit_of_changing_sets() {
        let per_key = |factor: u64| exact_set(1_000_000_000 * factor, 1_000_000_000).unwrap() / 1e9;
        let gap = |fpr: f64, factor| changing_set(fpr).unwrap() - per_key(factor);
        assert_eq!(format!("{:.2}", gap(0.1, 10)), "0.07");
        assert_eq!(format!("{:.3}", gap(0.01, 100)), "0.007");
    }

    #[test]
    fn exact_sets_agree_with_long_arithmetic() {
        // log2 of binomial coefficients in arithmetic of 50 digits.
        for (u, n, expected) in [
            (1_000, 10, 77.801_653_891_636_12),
            (u64::MAX, 1_000_000, 45_511_115.180_032_28),
            (1_000_000_000_000, 500_000_000_000, 999_999_999_979.742_7),
        ] {
            let got = exact_set(u, n).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-13, "{u} {n}: {got}");
        }
        assert_eq!(exact_set(5, 5), Ok(0.0));
        assert!((exact_set(5, 2).unwrap() - 10f64.log2()).abs() < 1e-13);
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(fixed_set(0.0).map_err(parameter), Err("fpr"));
        assert_eq!(changing_set(1.0).map_err(parameter), Err("fpr"));
        assert_eq!(bloom(f64::NAN).map_err(parameter), Err("fpr"));
        assert_eq!(exact_set(5, 6).map_err(parameter), Err("n"));
        assert_eq!(exact_set(5, 0).map_err(parameter), Err("n"));
    }
}
