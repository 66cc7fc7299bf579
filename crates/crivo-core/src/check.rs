//! Checks of parameters, in one place, so that every formula refuses the same values.

use std::ops::RangeInclusive;

use crate::ParameterError;

/// The maximum number of probes of a filter.
pub const MAX_PROBES: u32 = 255;

/// A false-positive rate: a number strictly between 0 and 1.
///
/// # Errors
/// If the value is out of range.
pub fn check_fpr(fpr: f64) -> Result<(), ParameterError> {
    check_open_unit("fpr", fpr)
}

/// An FPR that a table is sized for. Digests of 64 bits allow no less, and formulas that sum over k
/// would take long.
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
/// # Errors
/// If the value is out of range.
pub fn check_keys(n: u64) -> Result<(), ParameterError> {
    check_positive("n", n)
}

/// A count that must be at least 1.
///
/// # Errors
/// If the value is out of range.
pub fn check_positive(name: &'static str, value: u64) -> Result<(), ParameterError> {
    if value > 0 { Ok(()) } else { Err(ParameterError::new(name, value, "at least 1")) }
}

/// A number of probes per key.
///
/// # Errors
/// If the value is out of range.
pub fn check_probes(k: u32) -> Result<(), ParameterError> {
    check_range("k", k, 1..=MAX_PROBES, "from 1 to 255")
}

/// A whole number within a range that `allowed` describes.
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
