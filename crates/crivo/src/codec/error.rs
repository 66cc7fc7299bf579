//! Why bytes are not a filter.

use std::fmt;

use super::Kind;
use crate::ParameterError;
use crate::hash::WrongKey;

/// Why bytes could not be read as a filter. Nothing was taken from them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// They do not begin as a crivo file does.
    NotCrivo,
    /// They were written in a version of the format that this library does not know.
    UnknownVersion(u16),
    /// They name a kind of filter that this library does not know.
    UnknownKind(u8),
    /// They name a hash family that this library does not know.
    UnknownFamily(u8),
    /// They are a filter of another kind.
    WrongKind {
        /// The kind that was asked for.
        expected: Kind,
        /// The kind that the file has.
        found: Kind,
    },
    /// They end too early.
    Truncated {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// There is more than there should be.
    TrailingBytes,
    /// The header's checksum is not that of the header.
    HeaderChecksum,
    /// The payload's checksum is not that of the payload.
    PayloadChecksum,
    /// A parameter is out of its range.
    Parameter(ParameterError),
    /// The parts contradict each other.
    Inconsistent(&'static str),
    /// The filter was made with a secret key, and none was given.
    KeyNeeded,
    /// The secret key is not the one that the filter was made with.
    WrongKey(WrongKey),
    /// There is no memory for the payload.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCrivo => f.write_str("this is not a crivo filter"),
            Self::UnknownVersion(found) => {
                write!(f, "format version {found} is unknown; a newer crivo may read it")
            }
            Self::UnknownKind(found) => {
                write!(f, "filter kind {found} is unknown; a newer crivo may read it")
            }
            Self::UnknownFamily(found) => {
                write!(f, "hash family {found} is unknown; a newer crivo may read it")
            }
            Self::WrongKind { expected, found } => {
                write!(f, "this is a {found} filter, not a {expected} filter")
            }
            Self::Truncated { expected, found } => {
                write!(f, "the filter is cut short: {found} bytes of {expected}")
            }
            Self::TrailingBytes => f.write_str("there are bytes behind the end of the filter"),
            Self::HeaderChecksum => f.write_str("the header is damaged: its checksum is wrong"),
            Self::PayloadChecksum => f.write_str("the filter is damaged: its checksum is wrong"),
            Self::Parameter(error) => write!(f, "the header is damaged: {error}"),
            Self::Inconsistent(what) => write!(f, "the filter is damaged: {what}"),
            Self::KeyNeeded => {
                f.write_str("the filter was made with a secret key, which must be given to read it")
            }
            Self::WrongKey(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "no memory for a filter of {bytes} bytes"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<ParameterError> for DecodeError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}
