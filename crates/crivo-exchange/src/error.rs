//! Why an exchange failed.

use crivo::codec::DecodeError;
use crivo::filter::FuseError;
use crivo::{BuildError, ParameterError};
use crivo_core::wire::WireError;
use thiserror::Error;

/// Why an exchange failed. Whatever was received so far must not be used.
///
/// ```
/// use crivo_exchange::{ExchangeError, ExchangeKey, IdSet, Strata};
///
/// let message = Strata::of(&IdSet::of_items(ExchangeKey::new([1; 16]), ["ana"])).to_bytes();
/// let error = Strata::from_bytes(&message, ExchangeKey::new([2; 16])).unwrap_err();
/// assert_eq!(error, ExchangeError::SeedMismatch);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A message ends too early.
    #[error("the peer's message is cut short")]
    Truncated,
    /// A message goes on after its end.
    #[error("the peer's message goes on after its end")]
    TrailingBytes,
    /// The first bytes are not those of a crivo exchange.
    #[error("the other side does not speak this protocol; is it crivo, with the same command?")]
    NotCrivo,
    /// The peer speaks a version that this library does not know.
    #[error("the peer speaks version {0} of the protocol; update the older side")]
    UnknownVersion(u8),
    /// A message of a kind that this library does not know.
    #[error("the peer sent a message of the unknown kind {0}; update the older side")]
    UnknownMessage(u8),
    /// A message that is not allowed at this point.
    #[error("the peer sent {found} where {expected} was expected")]
    Unexpected {
        /// What was expected.
        expected: &'static str,
        /// What was received.
        found: &'static str,
    },
    /// A number is larger than is ever needed: an honest peer does not send it.
    #[error("the peer's {what} is {found}, above the limit of {limit}")]
    TooLarge {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The maximum.
        limit: u64,
    },
    /// The two peers hash their items under different keys, so that their ids are unrelated.
    #[error("the peers hash their items under different keys; agree on one key for both")]
    SeedMismatch,
    /// The message contradicts what is known.
    #[error("the peer contradicts itself: {0}")]
    Inconsistent(&'static str),
    /// Items of the set were not provided when they were asked for.
    #[error("items that the exchange began with are gone; did the input change meanwhile?")]
    ItemsChanged,
    /// Everything was exchanged, and the sets are still not the same.
    #[error("the sets are not the same after the exchange; did an input change meanwhile?")]
    NotEqual,
    /// The filter in a message cannot be read.
    #[error("the peer's filter cannot be read")]
    Filter(#[from] DecodeError),
    /// An earlier message was an error.
    #[error("the exchange has failed before")]
    Failed,
    /// A filter could not be built.
    #[error(transparent)]
    Build(#[from] FuseError),
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

impl From<WireError> for ExchangeError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Truncated => Self::Truncated,
            WireError::TrailingBytes => Self::TrailingBytes,
            WireError::Number => Self::Inconsistent("a number is not in its shortest form"),
            WireError::Flag => Self::Inconsistent("a flag is neither 0 nor 1"),
        }
    }
}
