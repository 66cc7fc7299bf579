//! The quotient filter: a hash of q + r bits, whose first q bits are a place and whose last r bits
//! are stored there.
//!
//! It stores the hash values themselves, compactly. A false positive is therefore a collision of
//! full hash values: n = α·2^q stored ones among 2^(q+r) possible ones.
//!
//! ```text
//!   FPR = 1 − (1 − 2^−(q+r))^n ≈ 1 − e^(−α·2^−r) ≈ α·2^−r
//!   bits per slot = r + 2.125 (ranks and selects) or r + 3 (classic)
//! ```
//!
//! ```
//! use crivo::theory::quotient;
//!
//! assert_eq!(quotient::remainder_bits(0.01, 0.95)?, 7);
//! assert_eq!(format!("{:.5}", quotient::fpr(7, 0.95)?), "0.00739");
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # References
//! - M. Bender et al., *Don't thrash: how to cache your hash on flash*, PVLDB 2012: the structure.
//! - P. Pandey et al., *A general-purpose counting filter*, SIGMOD 2017: 2.125 bits by rank and
//!   select, and counts.

use crate::ParameterError;
use crivo_core::check::{check_fpr, check_load, check_positive, check_positive_real, check_range};

/// Bits of metadata per slot with two bitmaps and an offset per 64 slots.
///
/// ```
/// use crivo::theory::quotient::RANK_AND_SELECT;
///
/// // Two bits per slot, and a byte per 64 slots.
/// assert_eq!(RANK_AND_SELECT, 2.0 + 8.0 / 64.0);
/// ```
pub const RANK_AND_SELECT: f64 = 2.125;

/// Bits of metadata per slot in the first design.
///
/// ```
/// use crivo::theory::quotient::{CLASSIC, RANK_AND_SELECT, bits_per_key};
///
/// // What ranks and selects save, per key.
/// let saved = bits_per_key(0.01, 0.95, CLASSIC)? - bits_per_key(0.01, 0.95, RANK_AND_SELECT)?;
/// assert_eq!(format!("{saved:.2}"), "0.92");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
pub const CLASSIC: f64 = 3.0;

/// The FPR for remainders of r bits at a load α: 1 − e^(−α·2^−r).
///
/// ```
/// use crivo::theory::quotient;
///
/// assert_eq!(format!("{:.5}", quotient::fpr(8, 0.5)?), "0.00195");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If r is not from 1 to 63, or the load is not above 0 and at most 1.
pub fn fpr(remainder_bits: u32, load: f64) -> Result<f64, ParameterError> {
    check_remainder(remainder_bits)?;
    check_load(load)?;
    Ok(-(-load * 0.5f64.powi(remainder_bits as i32)).exp_m1())
}

/// The mean FPR of a filter, exactly: 1 − (1 − 1/(slots·2^r))^keys.
///
/// The FPR for remainders of r bits at a load α is its limit for many slots. In a table of few slots
/// it is lower: two slots, one key and one bit make 1/4 here, and 0.221 there.
///
/// ```
/// use crivo::theory::quotient;
///
/// assert!((quotient::mean_fpr(2, 1, 1)? - 0.25).abs() < 1e-15);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no slots, or r is not from 1 to 63.
pub fn mean_fpr(slots: u64, remainder_bits: u32, keys: u64) -> Result<f64, ParameterError> {
    check_positive("slots", slots)?;
    check_remainder(remainder_bits)?;
    let coincidence = 0.5f64.powi(remainder_bits as i32) / slots as f64;
    if coincidence >= 1.0 {
        return Ok(if keys == 0 { 0.0 } else { 1.0 });
    }
    Ok(-(keys as f64 * (-coincidence).ln_1p()).exp_m1())
}

/// The fewest bits of a remainder that keep the [`fpr`] at this load.
///
/// ```
/// use crivo::theory::quotient;
///
/// assert_eq!(quotient::remainder_bits(0.001, 0.95)?, 10);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, the load is not above 0 and at most 1, or it would take
/// more than 63 bits.
pub fn remainder_bits(target: f64, load: f64) -> Result<u32, ParameterError> {
    check_fpr(target)?;
    for bits in 1..64 {
        if fpr(bits, load)? <= target {
            return Ok(bits);
        }
    }
    Err(ParameterError::of_real(
        "fpr",
        target,
        "at least 2^-63, as remainders have 63 bits at most",
    ))
}

/// The bits per key that an FPR takes, were remainders of any real width:
/// (log2(load/FPR) + metadata)/load, metadata being [`RANK_AND_SELECT`] or [`CLASSIC`].
///
/// ```
/// use crivo::theory::quotient::{RANK_AND_SELECT, bits_per_key};
///
/// assert_eq!(format!("{:.2}", bits_per_key(0.01, 0.95, RANK_AND_SELECT)?), "9.15");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, the load is not above 0 and at most 1, or the metadata is
/// not positive.
pub fn bits_per_key(fpr: f64, load: f64, metadata: f64) -> Result<f64, ParameterError> {
    check_fpr(fpr)?;
    check_load(load)?;
    check_positive_real("metadata", metadata)?;
    Ok(((load / fpr).log2().max(0.0) + metadata) / load)
}

fn check_remainder(bits: u32) -> Result<(), ParameterError> {
    check_range("remainder bits", bits, 1..=63, "from 1 to 63")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_filter_errs_once_in_two_to_the_r() {
        for r in 1..=63 {
            let fpr = fpr(r, 1.0).unwrap();
            let bound = 0.5f64.powi(r as i32);
            assert!(fpr < bound * (1.0 + 1e-15) && fpr > 0.78 * bound, "{r}");
        }
    }

    #[test]
    fn the_remainder_is_the_shortest() {
        for target in [0.3, 0.1, 0.01, 1e-3, 1e-9] {
            let r = remainder_bits(target, 0.9).unwrap();
            assert!(fpr(r, 0.9).unwrap() <= target);
            assert!(r == 1 || fpr(r - 1, 0.9).unwrap() > target);
        }
        // Eight bits keep 1/256 at any load.
        assert_eq!(remainder_bits(1.0 / 256.0, 1.0), Ok(8));
    }

    #[test]
    fn metadata_is_paid_per_slot() {
        let ranked = bits_per_key(0.01, 0.95, RANK_AND_SELECT).unwrap();
        let classic = bits_per_key(0.01, 0.95, CLASSIC).unwrap();
        assert!(((classic - ranked) - 0.875 / 0.95).abs() < 1e-12);
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(fpr(0, 0.5).map_err(parameter), Err("remainder bits"));
        assert_eq!(fpr(8, 1.1).map_err(parameter), Err("load"));
        assert_eq!(remainder_bits(0.0, 0.5).map_err(parameter), Err("fpr"));
        assert_eq!(remainder_bits(1e-30, 0.5).map_err(parameter), Err("fpr"));
        assert_eq!(bits_per_key(0.1, 0.5, f64::NAN).map_err(parameter), Err("metadata"));
    }
}
