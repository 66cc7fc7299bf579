//! How many bits does a Bloom filter look at before it rejects an absent key?
//!
//! It looks at one bit after the other and stops at the first that is clear. If a share p of the
//! bits is set, the first clear one comes after 1/(1 − p) looks in the mean: *two*, in a filter
//! that is half full, however large k is.
//!
//! ```
//! use crivo::theory::rejection;
//!
//! assert_eq!(rejection::probes_until_clear(0.5)?, 2.0);
//! assert_eq!(rejection::probes_of_absent_key(0.5, 7)?, 1.984375);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! A present key always costs all k. A [blocked](super::blocked) filter looks at a single cache
//! line either way, which is why this saving is of little use there.

use crate::ParameterError;
use crivo_core::check::check_probes;

/// The mean number of bits seen up to and including the first clear one: 1/(1 − fill).
///
/// ```
/// use crivo::theory::rejection;
///
/// assert_eq!(rejection::probes_until_clear(0.75)?, 4.0);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the fill is not at least 0 and below 1.
pub fn probes_until_clear(fill: f64) -> Result<f64, ParameterError> {
    check_fill(fill)?;
    Ok(1.0 / (1.0 - fill))
}

/// The mean number of bits that a query for an absent key looks at, of k at most:
/// (1 − fill^k)/(1 − fill).
///
/// The false positives, which see all k, are counted in.
///
/// ```
/// use crivo::theory::rejection;
///
/// // 1 + 1/2 + 1/4
/// assert_eq!(rejection::probes_of_absent_key(0.5, 3)?, 1.75);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the fill is not at least 0 and below 1, or k is not from 1 to 255.
pub fn probes_of_absent_key(fill: f64, k: u32) -> Result<f64, ParameterError> {
    check_probes(k)?;
    let accepted = fill.powi(k as i32);
    Ok((1.0 - accepted) * probes_until_clear(fill)?)
}

/// The mean number of bits looked at by queries that are rejected:
/// 1/(1 − fill) − k·fill^k/(1 − fill^k).
///
/// ```
/// use crivo::theory::rejection;
///
/// // With one probe, the bit that rejects is the first.
/// assert_eq!(rejection::probes_of_rejected_key(0.5, 1)?, 1.0);
/// assert_eq!(format!("{:.3}", rejection::probes_of_rejected_key(0.5, 7)?), "1.945");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the fill is not at least 0 and below 1, or k is not from 1 to 255.
pub fn probes_of_rejected_key(fill: f64, k: u32) -> Result<f64, ParameterError> {
    check_probes(k)?;
    let accepted = fill.powi(k as i32);
    Ok(probes_until_clear(fill)? - f64::from(k) * accepted / (1.0 - accepted))
}

fn check_fill(fill: f64) -> Result<(), ParameterError> {
    if (0.0..1.0).contains(&fill) {
        Ok(())
    } else {
        Err(ParameterError::of_real("fill", fill, "at least 0 and below 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        for bad in [1.0, -0.1, f64::NAN] {
            assert_eq!(probes_until_clear(bad).map_err(parameter), Err("fill"));
            assert_eq!(probes_of_absent_key(bad, 3).map_err(parameter), Err("fill"));
        }
        assert_eq!(probes_of_rejected_key(0.5, 0).map_err(parameter), Err("k"));
    }

    proptest! {
        #[test]
        fn the_formulas_are_the_sums_they_stand_for(fill in 0.0..0.95f64, k in 1u32..40) {
            // The i-th bit is the first clear one with probability fill^(i−1)·(1 − fill).
            let stops = |i: u32| fill.powi(i as i32 - 1) * (1.0 - fill);
            let rejected: f64 = (1..=k).map(|i| f64::from(i) * stops(i)).sum();
            let accepted = fill.powi(k as i32);
            let absent = rejected + f64::from(k) * accepted;
            prop_assert!((probes_of_absent_key(fill, k).unwrap() / absent - 1.0).abs() < 1e-10);
            let given = rejected / (1.0 - accepted);
            prop_assert!((probes_of_rejected_key(fill, k).unwrap() / given - 1.0).abs() < 1e-10);
        }
    }
}
