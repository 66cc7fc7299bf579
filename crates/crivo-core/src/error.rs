//! Why a structure could not be made.

use std::fmt;

use thiserror::Error;

/// A parameter outside its range: its name, the value that was given and what is allowed.
///
/// ```
/// use crivo_core::ParameterError;
///
/// let error = ParameterError::new("fpr", 1.5, "strictly between 0 and 1");
/// assert_eq!(error.to_string(), "fpr is 1.5, but it must be strictly between 0 and 1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{parameter} is {value}, but it must be {allowed}")]
#[non_exhaustive]
pub struct ParameterError {
    /// The name of the parameter, as the documentation spells it.
    pub parameter: &'static str,
    /// The value that was given.
    pub value: String,
    /// What would have been allowed, as the end of a sentence: "it must be …".
    pub allowed: &'static str,
}

impl ParameterError {
    /// Says that `parameter` was given `value`, which is not `allowed`.
    ///
    /// ```
    /// use crivo_core::ParameterError;
    ///
    /// let error = ParameterError::new("width", 33, "from 1 to 32");
    /// assert_eq!(error.to_string(), "width is 33, but it must be from 1 to 32");
    /// ```
    pub fn new(parameter: &'static str, value: impl fmt::Display, allowed: &'static str) -> Self {
        Self { parameter, value: value.to_string(), allowed }
    }

    /// The same for a real number, which may be too small to write with all its zeros.
    ///
    /// ```
    /// use crivo_core::ParameterError;
    ///
    /// let error = ParameterError::of_real("fpr", 1e-300, "at least 1e-60");
    /// assert_eq!(error.to_string(), "fpr is 1e-300, but it must be at least 1e-60");
    /// ```
    pub fn of_real(parameter: &'static str, value: f64, allowed: &'static str) -> Self {
        Self::new(parameter, format_args!("{value:?}"), allowed)
    }
}

/// Why a structure could not be made.
///
/// ```
/// use crivo_core::{BuildError, PackedSlots};
///
/// assert!(matches!(PackedSlots::try_new(65, 10), Err(BuildError::Parameter(_))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// A parameter is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The allocator has no such amount of memory.
    #[error("no memory for a table of {bytes} bytes")]
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
}
