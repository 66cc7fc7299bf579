//! What a digest of 64 bits allows: the floor under the FPR of every filter.
//!
//! A filter sees digests, not keys. An absent key whose digest equals that of a present key is a
//! false positive in any filter, however large:
//!
//! ```text
//!   floor(n) = 1 − (1 − 2^−64)^n ≈ n/2^64                       a thousand million keys: 5.4e-11
//!   FPR      = floor(n) + (1 − floor(n)) · FPR of the structure
//! ```
//!
//! ```
//! use crivo::theory::digest;
//!
//! assert_eq!(format!("{:.1e}", digest::floor(1_000_000_000)), "5.4e-11");
//! // What is left for the structure, if the FPR is to be 2e-10 in all:
//! assert_eq!(format!("{:.1e}", digest::structure_fpr(1_000_000_000, 2e-10)?), "1.5e-10");
//! assert!(digest::structure_fpr(1_000_000_000, 1e-10).is_err());
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # What a size promises
//!
//! The sum of both is at most the FPR that was asked for. Where the floor would take more than half
//! of it, the FPR is refused: [`structure_fpr`] is an error below n/2^63. Where the floor is less than
//! a millionth of it, it is neglected: no measurement would find it, and a fuse filter that is asked
//! for 2^−8 should not need a ninth bit for it.
//!
//! Filters of fingerprints ([cuckoo](super::cuckoo), [quotient](super::quotient)) count equal digests
//! already: they are equal fingerprints, too.

use crate::ParameterError;
use crivo_core::check::{check_fpr, check_keys};

/// Bits of a digest.
const BITS: i32 = 64;

/// A floor below this share of the FPR is neglected.
const NEGLIGIBLE: f64 = 1e-6;

/// A higher FPR is of no use to anyone, and takes long to compute.
pub(crate) const MAX_STRUCTURE_FPR: f64 = 0.999;

/// The probability that an absent key has the digest of one of `keys` keys: about n/2^64.
///
/// ```
/// use crivo::theory::digest;
///
/// assert_eq!(digest::floor(1), 0.5f64.powi(64));
/// ```
pub fn floor(keys: u64) -> f64 {
    -(-(keys as f64) * 0.5f64.powi(BITS)).exp_m1()
}

/// The FPR of a filter of `keys` keys, of whose structure the FPR is known.
///
/// ```
/// use crivo::theory::digest;
///
/// assert_eq!(digest::fpr(0.01, 1_000), 0.01 + 0.99 * digest::floor(1_000));
/// ```
pub fn fpr(structure: f64, keys: u64) -> f64 {
    structure + (1.0 - structure) * floor(keys)
}

/// The FPR that a structure for `keys` keys must keep, so that with equal digests it is `fpr`: at most
/// 99.9%.
///
/// ```
/// use crivo::theory::digest;
///
/// // The floor of a million keys is far below a millionth of 1%.
/// assert_eq!(digest::structure_fpr(1_000_000, 0.01)?, 0.01);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no keys, or the FPR is not between n/2^63 and 1.
pub fn structure_fpr(keys: u64, fpr: f64) -> Result<f64, ParameterError> {
    check_keys(keys)?;
    check_fpr(fpr)?;
    let floor = floor(keys);
    if floor <= NEGLIGIBLE * fpr {
        return Ok(fpr.min(MAX_STRUCTURE_FPR));
    }
    if fpr < 2.0 * floor {
        let allowed = "at least n/2^63 for n keys, because digests have only 64 bits";
        return Err(ParameterError::of_real("fpr", fpr, allowed));
    }
    Ok(((fpr - floor) / (1.0 - floor)).min(MAX_STRUCTURE_FPR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_floor_is_the_share_of_digests_that_are_taken() {
        assert_eq!(floor(0), 0.0);
        assert_eq!(floor(1), 0.5f64.powi(64));
        assert!((floor(1 << 40) / 0.5f64.powi(24) - 1.0).abs() < 1e-7);
        assert!((floor(u64::MAX) - (1.0 - (-1f64).exp())).abs() < 1e-15);
    }

    #[test]
    fn less_than_digests_allow_is_refused() {
        let parameter = |error: ParameterError| error.parameter;
        for (keys, fpr) in [(1, 1e-300), (1, 1e-19), (1_000_000_000, 1e-10), (u64::MAX, 0.5)] {
            assert_eq!(structure_fpr(keys, fpr).map_err(parameter), Err("fpr"), "{keys} {fpr}");
        }
        assert!(structure_fpr(1, 1.1e-19).is_ok());
        assert_eq!(structure_fpr(0, 0.1).map_err(parameter), Err("n"));
        assert_eq!(structure_fpr(1, f64::NAN).map_err(parameter), Err("fpr"));
        let said = structure_fpr(1, 1e-300).unwrap_err().to_string();
        assert!(said.ends_with("because digests have only 64 bits"), "{said}");
    }

    proptest! {
        /// At usual sizes the floor does not show at all; near it the two add up to the FPR.
        #[test]
        fn structure_and_floor_make_up_the_fpr(keys in 1u64..1 << 50, exponent in 0.1..60.0f64) {
            let asked = 0.5f64.powf(exponent);
            match structure_fpr(keys, asked) {
                Ok(structure) => {
                    prop_assert!(structure >= (asked / 2.0).min(0.999) * (1.0 - 1e-12));
                    prop_assert!(fpr(structure, keys) <= asked * (1.0 + 1.001 * NEGLIGIBLE));
                }
                Err(_) => prop_assert!(asked < 2.0 * floor(keys)),
            }
        }
    }
}
