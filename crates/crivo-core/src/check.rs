//! Checks of parameters, in one place, so that every formula refuses the same values.

use std::ops::RangeInclusive;

use crate::ParameterError;

/// The maximum number of probes of a filter.
///
/// ```
/// use crivo_core::check::{MAX_PROBES, check_probes};
///
/// assert!(check_probes(MAX_PROBES).is_ok() && check_probes(MAX_PROBES + 1).is_err());
/// ```
pub const MAX_PROBES: u32 = 255;

/// A false-positive rate: a number strictly between 0 and 1.
///
/// ```
/// use crivo_core::check::check_fpr;
///
/// assert!(check_fpr(0.01).is_ok());
/// assert_eq!(check_fpr(1.0).unwrap_err().parameter, "fpr");
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_fpr(fpr: f64) -> Result<(), ParameterError> {
    check_open_unit("fpr", fpr)
}

/// An FPR that a table is sized for. Digests of 64 bits allow no less, and formulas that sum over k
/// would take long.
///
/// ```
/// use crivo_core::check::check_sized_fpr;
///
/// assert!(check_sized_fpr(1e-15).is_ok());
/// assert!(check_sized_fpr(1e-30).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_sized_fpr(fpr: f64) -> Result<(), ParameterError> {
    check_fpr(fpr)?;
    if fpr < 0.5f64.powi(65) {
        return Err(ParameterError::of_real("fpr", fpr, "at least 2^-65"));
    }
    Ok(())
}

/// Anything that must lie strictly between 0 and 1; NaN does not.
///
/// ```
/// use crivo_core::check::check_open_unit;
///
/// assert!(check_open_unit("confidence", 0.95).is_ok());
/// assert!(check_open_unit("confidence", f64::NAN).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_open_unit(name: &'static str, value: f64) -> Result<(), ParameterError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(ParameterError::of_real(name, value, "strictly between 0 and 1"))
    }
}

/// How full a table is: above 0 and at most 1.
///
/// ```
/// use crivo_core::check::check_load;
///
/// assert!(check_load(1.0).is_ok() && check_load(0.0).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_load(load: f64) -> Result<(), ParameterError> {
    if load > 0.0 && load <= 1.0 {
        Ok(())
    } else {
        Err(ParameterError::of_real("load", load, "above 0 and at most 1"))
    }
}

/// A number of keys to size a filter for.
///
/// ```
/// use crivo_core::check::check_keys;
///
/// assert!(check_keys(1).is_ok() && check_keys(0).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_keys(n: u64) -> Result<(), ParameterError> {
    check_positive("n", n)
}

/// A count that must be at least 1.
///
/// ```
/// use crivo_core::check::check_positive;
///
/// let error = check_positive("number of blocks", 0).unwrap_err();
/// assert_eq!(error.to_string(), "number of blocks is 0, but it must be at least 1");
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_positive(name: &'static str, value: u64) -> Result<(), ParameterError> {
    if value > 0 { Ok(()) } else { Err(ParameterError::new(name, value, "at least 1")) }
}

/// A number of probes per key.
///
/// ```
/// use crivo_core::check::check_probes;
///
/// assert!(check_probes(7).is_ok() && check_probes(0).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_probes(k: u32) -> Result<(), ParameterError> {
    check_range("k", k, 1..=MAX_PROBES, "from 1 to 255")
}

/// A whole number within a range that `allowed` describes.
///
/// ```
/// use crivo_core::check::check_range;
///
/// let error = check_range("width", 33, 1..=32, "from 1 to 32").unwrap_err();
/// assert_eq!(error.to_string(), "width is 33, but it must be from 1 to 32");
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_range(
    name: &'static str,
    value: u32,
    range: RangeInclusive<u32>,
    allowed: &'static str,
) -> Result<(), ParameterError> {
    if range.contains(&value) { Ok(()) } else { Err(ParameterError::new(name, value, allowed)) }
}

/// A positive, finite real number, such as a budget in bits per key.
///
/// ```
/// use crivo_core::check::check_positive_real;
///
/// assert!(check_positive_real("bits per key", 9.6).is_ok());
/// assert!(check_positive_real("bits per key", f64::INFINITY).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn check_positive_real(name: &'static str, value: f64) -> Result<(), ParameterError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ParameterError::of_real(name, value, "above 0 and finite"))
    }
}

/// Rounds a computed size up to a whole number, at least 1, and refuses what does not fit into a `u64`.
///
/// ```
/// use crivo_core::check::size_from;
///
/// assert_eq!(size_from("size in bits", 9_585.1), Ok(9_586));
/// assert!(size_from("size in bits", 1e30).is_err());
/// ```
///
/// # Errors
/// If the value is out of range.
pub fn size_from(name: &'static str, value: f64) -> Result<u64, ParameterError> {
    // 2^64 itself is the first f64 beyond the range.
    if value < 18_446_744_073_709_551_616.0 {
        Ok((value.ceil() as u64).max(1))
    } else {
        Err(ParameterError::of_real(name, value, "below 2^64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_strictly_between_0_and_1() {
        assert!(check_fpr(f64::MIN_POSITIVE).is_ok());
        assert!(check_fpr(1.0 - f64::EPSILON).is_ok());
        for bad in [0.0, -0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
            let error = check_fpr(bad).unwrap_err();
            assert_eq!(error.parameter, "fpr");
            assert_eq!(error.value, format!("{bad:?}"));
        }
    }

    #[test]
    fn the_message_names_parameter_value_and_range() {
        assert_eq!(
            check_probes(0).unwrap_err().to_string(),
            "k is 0, but it must be from 1 to 255"
        );
        assert_eq!(
            check_load(1.5).unwrap_err().to_string(),
            "load is 1.5, but it must be above 0 and at most 1"
        );
        assert!(check_load(f64::NAN).is_err());
        assert!(check_positive_real("bits per key", f64::INFINITY).is_err());
    }

    #[test]
    fn a_size_is_rounded_up_and_kept_within_64_bits() {
        assert_eq!(size_from("m", 0.0), Ok(1));
        assert_eq!(size_from("m", 9.1), Ok(10));
        assert!(size_from("m", 2f64.powi(64)).is_err());
        assert!(size_from("m", f64::NAN).is_err());
    }
}
