//! Why bytes are not a filter, a key cannot be asked for, or a change was refused.

use crivo::filter::{Full, Incompatible, NotPresent, Operation};
use crivo::{BuildError, ParameterError};
use crivo_core::wire::WireError;
use thiserror::Error;

use crate::KeyType;

/// Why bytes are not a filter of the format that was asked for.
///
/// ```
/// use crivo_formats::dcso::DcsoBloom;
///
/// assert!(DcsoBloom::from_bytes(b"no filter").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// They do not begin as this format does, or its version is unknown.
    #[error("this is not {expected}: {reason}")]
    NotThisFormat {
        /// What was asked for.
        expected: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
    /// The length is not the one that follows from the header.
    #[error("the filter should have {expected} bytes, but there are {found}")]
    Length {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// They end within the header.
    #[error("the header is cut short")]
    Truncated,
    /// A parameter is out of its range.
    #[error("the header is damaged: {0}")]
    Parameter(ParameterError),
    /// The parts contradict each other.
    #[error("the filter is damaged: {0}")]
    Inconsistent(&'static str),
    /// The filter says something that is valid in its system, but that is not supported here.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// Something must be known to read the filter that is not in the file.
    #[error("{0} must be given to read this format")]
    MissingOption(&'static str),
    /// There is no memory for the table.
    #[error("no memory for a table of {bytes} bytes")]
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
}

impl From<ParameterError> for FormatError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

impl From<BuildError> for FormatError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Parameter(error) => Self::Parameter(error),
            BuildError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
        }
    }
}

impl From<WireError> for FormatError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Truncated => Self::Truncated,
            WireError::TrailingBytes => Self::Inconsistent("there are bytes after the end"),
            WireError::Number => Self::Inconsistent("a number is not in its shortest form"),
            WireError::Flag => Self::Inconsistent("a flag is neither 0 nor 1"),
        }
    }
}

/// The filter's system has no keys of this type.
///
/// ```
/// use crivo_formats::dcso::DcsoBloom;
/// use crivo_formats::{ForeignFilter, KeyType, TypedKey};
///
/// let filter = DcsoBloom::new(1_000, 0.01)?;
/// let error = filter.contains_key(&TypedKey::Int64(7)).unwrap_err();
/// assert_eq!(error.key_type, KeyType::Int64);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a filter of {format} has no keys of type {key_type}")]
#[non_exhaustive]
pub struct KeyTypeError {
    /// The name of the format.
    pub format: &'static str,
    /// The type of the key.
    pub key_type: KeyType,
}

impl KeyTypeError {
    /// Says that filters of this format have no such keys.
    pub fn new(format: &'static str, key_type: KeyType) -> Self {
        Self { format, key_type }
    }
}

/// Why a text is not a key of the type that was asked for.
///
/// ```
/// use crivo_formats::KeyType;
///
/// assert!(KeyType::Int64.parse_key(b"seven").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a key of type {key_type}")]
#[non_exhaustive]
pub struct ParseKeyError {
    /// The text, with replacement characters where it is not UTF-8.
    pub text: String,
    /// The type that it should have.
    pub key_type: KeyType,
}

/// Why a filter was not changed. It is as it was.
///
/// ```
/// use crivo_formats::ForeignFilter;
/// use crivo_formats::bits_and_blooms::BitsAndBlooms;
/// use crivo_formats::dcso::DcsoBloom;
///
/// // Filters of two systems cannot be merged.
/// let (mut ours, theirs) = (DcsoBloom::new(1_000, 0.01)?, BitsAndBlooms::new(1_000, 0.01)?);
/// assert!(ours.union_with_any(&theirs).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Filters of this format cannot do this.
    #[error("a filter of {format} cannot {operation}")]
    Unsupported {
        /// The name of the format.
        format: &'static str,
        /// What it was asked to do.
        operation: Operation,
    },
    /// The key has a type that the filter's system does not have.
    #[error(transparent)]
    KeyType(#[from] KeyTypeError),
    /// There is no place for the key.
    #[error(transparent)]
    Full(#[from] Full),
    /// The key to be removed is certainly not in the filter.
    #[error(transparent)]
    NotPresent(#[from] NotPresent),
    /// A parameter is out of range, or there is no memory for a larger table.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Something must be known to make the filter that the keys do not tell.
    #[error("{0} must be given to make a filter of this format")]
    MissingOption(&'static str),
    /// No seed lets all keys be placed, which is as good as impossible.
    #[error("no seed was found by which these keys can be placed")]
    NoSeed,
    /// The filters differ in a parameter.
    #[error(transparent)]
    Incompatible(#[from] Incompatible),
}
