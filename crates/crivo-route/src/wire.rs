//! Messages as bytes, and why bytes are no message.

use crivo_core::wire::WireError;
pub(super) use crivo_core::wire::{Reader, put_bytes, put_number};
use thiserror::Error;

/// Why bytes are not a message.
///
/// ```
/// use crivo_route::{Message, MessageError};
///
/// assert_eq!(Message::from_bytes(&[9, 1]), Err(MessageError::UnknownVersion(9)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// They end too early.
    #[error("the message is cut short")]
    Truncated,
    /// There is more than there should be.
    #[error("there are bytes after the end of the message")]
    TrailingBytes,
    /// They were written in a version of the protocol that this library does not know.
    #[error("protocol version {0} is unknown; a newer crivo may read it")]
    UnknownVersion(u8),
    /// They name a kind of message that this library does not know.
    #[error("message kind {0} is unknown")]
    UnknownKind(u8),
    /// The parts contradict each other.
    #[error("the message is damaged: {0}")]
    Inconsistent(&'static str),
}

impl From<WireError> for MessageError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Truncated => Self::Truncated,
            WireError::TrailingBytes => Self::TrailingBytes,
            WireError::Number => Self::Inconsistent("a number is not in its shortest form"),
            WireError::Flag => Self::Inconsistent("a flag is neither 0 nor 1"),
        }
    }
}
