//! Messages as bytes: a version, a tag, and limits that hold before anything is allocated.

pub(super) use crivo_core::wire::{Reader, number_length, put_number, put_signed};

use super::ExchangeError;

/// The version that stands at the beginning of every message.
pub(super) const VERSION: u8 = 1;

/// The maximum length of a message in bytes. A longer one is refused before it is read.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet, MAX_MESSAGE, Offer};
///
/// let set = IdSet::of_items(ExchangeKey::new([7; 16]), (0..1_000u32).map(u32::to_le_bytes));
/// let mut offer = Offer::new(&set, 32, 0)?;
/// while let Some(message) = offer.next_message(&set)? {
///     assert!(message.len() <= MAX_MESSAGE);
/// }
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
pub const MAX_MESSAGE: usize = 1 << 20;

/// A new message of the kind with this tag.
pub(super) fn message(tag: u8) -> Vec<u8> {
    vec![VERSION, tag]
}

/// Reads version and tag.
pub(super) fn open(bytes: &[u8]) -> Result<(u8, Reader<'_>), ExchangeError> {
    check_limit("message length", bytes.len() as u64, MAX_MESSAGE as u64)?;
    let mut reader = Reader::new(bytes);
    match reader.byte()? {
        VERSION => Ok((reader.byte()?, reader)),
        other => Err(ExchangeError::UnknownVersion(other)),
    }
}

/// A number of at most `limit`.
pub(super) fn number_up_to(
    reader: &mut Reader<'_>,
    what: &'static str,
    limit: u64,
) -> Result<u64, ExchangeError> {
    let found = reader.number()?;
    check_limit(what, found, limit)?;
    Ok(found)
}

/// An error if an untrusted number is above what is ever needed.
pub(super) fn check_limit(what: &'static str, found: u64, limit: u64) -> Result<(), ExchangeError> {
    if found > limit { Err(ExchangeError::TooLarge { what, found, limit }) } else { Ok(()) }
}
