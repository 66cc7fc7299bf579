//! Why bytes are not what was asked for.

use super::FileKind;
use crate::hash::{HashIdentity, WrongKey};
use crate::{BuildError, ParameterError};

/// Why bytes could not be read. Nothing was taken from them.
///
/// ```
/// use crivo::codec::DecodeError;
/// use crivo::filter::{Bloom, Cuckoo};
///
/// let mut bytes = Bloom::new(1_000, 0.01)?.to_bytes();
/// let error = Cuckoo::from_bytes(&bytes).unwrap_err();
/// assert_eq!(error.to_string(), "this is a bloom filter, not a cuckoo filter");
///
/// *bytes.last_mut().unwrap() ^= 1;
/// assert_eq!(Bloom::from_bytes(&bytes).unwrap_err(), DecodeError::PayloadChecksum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They do not begin as a crivo file does.
    #[error("this is not a crivo filter")]
    NotCrivo,
    /// They were written in a version of the format that this library does not know.
    #[error("format version {0} is unknown; a newer crivo may read it")]
    UnknownVersion(u16),
    /// They name a hash family that this library does not know.
    #[error("hash family {0} is unknown; a newer crivo may read it")]
    UnknownFamily(u8),
    /// They are of another kind than the one that was asked for.
    #[error("this is a {}, not a {}", found.description(), expected.description())]
    WrongKind {
        /// The kind that was asked for.
        expected: FileKind,
        /// The kind that the file has.
        found: FileKind,
    },
    /// A filter was asked for, and they are something else, or a filter that this library does not
    /// know.
    #[error("this is a {}, not a filter that this version of crivo knows", .0.description())]
    NotAFilter(FileKind),
    /// They end too early.
    #[error("the filter is cut short: {found} bytes of {expected}")]
    Truncated {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// There is more than there should be.
    #[error("there are bytes behind the end of the filter")]
    TrailingBytes,
    /// The header claims a length of the payload that does not follow from the parameters.
    #[error("the header is damaged: it claims {found} bytes for a table of {expected}")]
    PayloadLength {
        /// The bytes of a filter with these parameters.
        expected: u64,
        /// The bytes that the header claims.
        found: u64,
    },
    /// The header's checksum is not that of the header.
    #[error("the header is damaged: its checksum is wrong")]
    HeaderChecksum,
    /// The payload's checksum is not that of the payload.
    #[error("the filter is damaged: its checksum is wrong")]
    PayloadChecksum,
    /// A parameter is out of its range.
    #[error("the header is damaged: {0}")]
    Parameter(ParameterError),
    /// The parts contradict each other.
    #[error("the filter is damaged: {0}")]
    Inconsistent(&'static str),
    /// The filter was made with a secret key, and none was given.
    #[error("the filter was made with a secret key, which must be given to read it")]
    KeyNeeded,
    /// The secret key is not the one that the filter was made with.
    #[error(transparent)]
    WrongKey(WrongKey),
    /// The filter was made with another hasher than the one that was asked for.
    #[error("the filter was made with {found}, not with {expected}")]
    WrongHasher {
        /// The one that was asked for.
        expected: HashIdentity,
        /// The filter's.
        found: HashIdentity,
    },
    /// There is no memory for the payload.
    #[error("no memory for a filter of {bytes} bytes")]
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// This machine's numbers have their bytes in the other order than the file's, so that it can
    /// only answer from a copy.
    #[error("a big-endian machine cannot answer from a mapped file; load a copy of it")]
    BigEndian,
}

impl From<ParameterError> for DecodeError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

impl From<BuildError> for DecodeError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Parameter(error) => Self::Parameter(error),
            BuildError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
        }
    }
}
