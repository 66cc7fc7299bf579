//! Why an exchange ended without a result.

use std::fmt;

use crate::codec::DecodeError;
use crate::filter::FuseError;
use crate::{BuildError, ParameterError};

/// Why an exchange ended without a result. Whatever was gathered so far is not to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A message ends too early.
    Truncated,
    /// A message goes on behind its end.
    TrailingBytes,
    /// The first bytes are not those of a crivo exchange.
    NotCrivo,
    /// The peer speaks a version that this library does not know.
    UnknownVersion(u8),
    /// A message of a kind that this library does not know.
    UnknownMessage(u8),
    /// A message that has no place here.
    Unexpected {
        /// What should have come.
        expected: &'static str,
        /// What came.
        found: &'static str,
    },
    /// A number is larger than is ever needed: an honest peer does not send it.
    TooLarge {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest that is taken.
        limit: u64,
    },
    /// The two peers hash their items under different keys: no id of the one means anything to the
    /// other.
    SeedMismatch,
    /// The message contradicts what is known.
    Inconsistent(&'static str),
    /// Items of the set were not provided when they were asked for.
    ItemsChanged,
    /// Everything was exchanged, and the sets are still not the same.
    NotEqual,
    /// The filter in a message is no filter.
    Filter(DecodeError),
    /// A filter could not be built.
    Build(FuseError),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the peer's message is cut short"),
            Self::TrailingBytes => f.write_str("the peer's message goes on behind its end"),
            Self::NotCrivo => f.write_str(
                "the other side does not speak this protocol; is it crivo, with the same command?",
            ),
            Self::UnknownVersion(found) => {
                write!(f, "the peer speaks version {found} of the protocol; update the older side")
            }
            Self::UnknownMessage(found) => write!(
                f,
                "the peer sent a message of the unknown kind {found}; update the older side"
            ),
            Self::Unexpected { expected, found } => {
                write!(f, "the peer sent {found} where {expected} was expected")
            }
            Self::TooLarge { what, found, limit } => {
                write!(f, "the peer's {what} is {found}, and at most {limit} is taken")
            }
            Self::SeedMismatch => f.write_str(
                "the peers hash their items under different keys; agree on one key for both",
            ),
            Self::Inconsistent(what) => write!(f, "the peer contradicts itself: {what}"),
            Self::ItemsChanged => f.write_str(
                "items that the exchange began with are gone; did the input change meanwhile?",
            ),
            Self::NotEqual => f.write_str(
                "the sets are not the same after the exchange; did an input change meanwhile?",
            ),
            Self::Filter(error) => write!(f, "the peer's filter cannot be read: {error}"),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExchangeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Filter(error) => Some(error),
            Self::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<DecodeError> for ExchangeError {
    fn from(error: DecodeError) -> Self {
        Self::Filter(error)
    }
}

impl From<FuseError> for ExchangeError {
    fn from(error: FuseError) -> Self {
        Self::Build(error)
    }
}

impl From<BuildError> for ExchangeError {
    fn from(error: BuildError) -> Self {
        Self::Build(error.into())
    }
}

impl From<ParameterError> for ExchangeError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}
