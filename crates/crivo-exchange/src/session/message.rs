//! The messages of a session, and their bytes.
//!
//! Every message begins with the version, 1, and a tag. *Numbers* have seven bits a byte, the lowest
//! first, in their shortest form; all else is little-endian. A message has no length of its own:
//! the transport delimits it, and it has at most 2^20 bytes.
//!
//! | tag | message | what follows |
//! |---|---|---|
//! | 1 | summary | numbers of items and of their bytes, check of the key (8 bytes) |
//! | 2 | pull | number of symbols to have sent altogether |
//! | 3 | symbols | number of the first, how many (≤ 16384); for each: sum (16), checksum (4), count less ⌊2n/(i+2)⌋ as a zigzag number |
//! | 4 | filters | widths of the initiator's filter and of the responder's, 0 for none |
//! | 5 | filter | how many parts, which, a filter in the format of files, or nothing for no items |
//! | 6 | remaining | number of items that the second round is about |
//! | 7 | wanted | whether it is the last (1 byte), upper halves of ids (8 bytes each) |
//! | 8 | everything | |
//! | 9 | items | a piece of: length as a number, bytes; length, bytes; … |
//! | 10 | end of items | how many there were |
//! | 11 | news | whether it is the last (1 byte); numbers of known items before each that was new |
//! | 12 | seal | number of items of the union, sum of their ids modulo 2^128 (16) |

use crate::rateless::CodedSymbol;
use crate::rateless::codec::{FIXED_BYTES, put_symbol, read_symbol};
use crate::wire;
use crate::{ExchangeError, MAX_MESSAGE, offer};

/// The maximum number of symbols of one message.
pub(super) const MAX_SYMBOLS: u64 = 1 << 14;
/// The maximum number of wanted items of one message.
pub(super) const MAX_WANTED: usize = 1 << 16;
/// The maximum number of items of a set: its ids fill 2^48 bytes.
const MAX_ITEMS: u64 = 1 << 44;
/// The maximum length of all items together.
const MAX_BYTES: u64 = 1 << 60;

/// A message from one peer to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionMessage<'a> {
    /// How large the set is, and a check of the key.
    Summary { item_count: u64, item_bytes: u64, check: u64 },
    /// Send the symbols up to this number.
    Pull { up_to: u64 },
    /// Coded symbols. Their counts are a surplus over what is expected.
    Symbols { start: u64, symbols: Vec<CodedSymbol> },
    /// Filters of these widths follow: mine, then yours; 0 for none.
    Filters { here: u32, there: u32 },
    /// A part of a filter, for the [`Sieve`](crate::Sieve).
    Filter,
    /// How many items are left once the filters have been used.
    Residual { item_count: u64 },
    /// Send the items whose ids begin so. More such messages follow, or not.
    Wanted { halves: Vec<u64>, is_last: bool },
    /// Send everything.
    WantAll,
    /// A piece of the stream of items.
    Items { piece: &'a [u8] },
    /// The end of the stream, with its number of items.
    ItemsEnd { item_count: u64 },
    /// Which of all the items were new: the number of known ones before each.
    News { gaps: Vec<u64>, is_last: bool },
    /// The fingerprint of the union.
    Seal { item_count: u64, sum: u128 },
}

impl SessionMessage<'_> {
    fn tag(&self) -> u8 {
        match self {
            Self::Summary { .. } => 1,
            Self::Pull { .. } => 2,
            Self::Symbols { .. } => 3,
            Self::Filters { .. } => 4,
            Self::Filter => offer::TAG,
            Self::Residual { .. } => 6,
            Self::Wanted { .. } => 7,
            Self::WantAll => 8,
            Self::Items { .. } => 9,
            Self::ItemsEnd { .. } => 10,
            Self::News { .. } => 11,
            Self::Seal { .. } => 12,
        }
    }

    /// A name for error messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Summary { .. } => "a summary",
            Self::Pull { .. } => "a request for symbols",
            Self::Symbols { .. } => "symbols",
            Self::Filters { .. } => "an announcement of filters",
            Self::Filter => "a filter",
            Self::Residual { .. } => "a remaining count",
            Self::Wanted { .. } => "a list of wanted items",
            Self::WantAll => "a request for everything",
            Self::Items { .. } => "items",
            Self::ItemsEnd { .. } => "the end of items",
            Self::News { .. } => "a list of news",
            Self::Seal { .. } => "a seal",
        }
    }

    /// The error for this message where another was expected.
    pub(super) fn instead_of(&self, expected: &'static str) -> ExchangeError {
        ExchangeError::Unexpected { expected, found: self.name() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = wire::message(self.tag());
        let numbers = |bytes: &mut Vec<u8>, numbers: &[u64]| {
            for &number in numbers {
                wire::put_number(bytes, number);
            }
        };
        match self {
            Self::Summary { item_count, item_bytes, check } => {
                numbers(&mut bytes, &[*item_count, *item_bytes]);
                bytes.extend(check.to_le_bytes());
            }
            Self::Pull { up_to } => numbers(&mut bytes, &[*up_to]),
            Self::Symbols { start, symbols } => {
                numbers(&mut bytes, &[*start, symbols.len() as u64]);
                symbols.iter().for_each(|symbol| put_symbol(&mut bytes, symbol));
            }
            Self::Filters { here, there } => {
                numbers(&mut bytes, &[u64::from(*here), u64::from(*there)]);
            }
            // An offer writes its own messages.
            Self::Filter | Self::WantAll => {}
            Self::Residual { item_count } | Self::ItemsEnd { item_count } => {
                numbers(&mut bytes, &[*item_count]);
            }
            Self::Wanted { halves, is_last } => {
                bytes.push(u8::from(*is_last));
                bytes.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
            }
            Self::Items { piece } => bytes.extend_from_slice(piece),
            Self::News { gaps, is_last } => {
                bytes.push(u8::from(*is_last));
                numbers(&mut bytes, gaps);
            }
            Self::Seal { item_count, sum } => {
                numbers(&mut bytes, &[*item_count]);
                bytes.extend(sum.to_le_bytes());
            }
        }
        debug_assert!(bytes.len() <= MAX_MESSAGE);
        bytes
    }
}

impl<'a> SessionMessage<'a> {
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Result<Self, ExchangeError> {
        let (tag, mut reader) = wire::open(bytes)?;
        let message = match tag {
            1 => Self::Summary {
                item_count: wire::number_up_to(&mut reader, "number of items", MAX_ITEMS)?,
                item_bytes: wire::number_up_to(&mut reader, "length of all items", MAX_BYTES)?,
                check: u64::from_le_bytes(reader.array()?),
            },
            2 => Self::Pull { up_to: reader.number()? },
            3 => {
                let start = wire::number_up_to(&mut reader, "number of a symbol", MAX_ITEMS)?;
                let count = wire::number_up_to(&mut reader, "number of symbols", MAX_SYMBOLS)?;
                // Each takes more bytes than this: memory is allocated in proportion to what was received.
                if count as usize > reader.remaining() / FIXED_BYTES {
                    return Err(ExchangeError::Truncated);
                }
                let mut symbols = Vec::with_capacity(count as usize);
                for _ in 0..count {
                    symbols.push(read_symbol(&mut reader)?);
                }
                Self::Symbols { start, symbols }
            }
            4 => {
                let mut width = || {
                    let most = u64::from(offer::MAX_WIDTH);
                    wire::number_up_to(&mut reader, "width of a filter", most)
                        .map(|width| width as u32)
                };
                Self::Filters { here: width()?, there: width()? }
            }
            offer::TAG => return Ok(Self::Filter),
            6 => Self::Residual {
                item_count: wire::number_up_to(&mut reader, "number of items", MAX_ITEMS)?,
            },
            7 => {
                let is_last = reader.flag()?;
                let (halves, rest) = reader.clone().rest().as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(ExchangeError::Truncated);
                }
                let halves = halves.iter().map(|half| u64::from_le_bytes(*half)).collect();
                return Ok(Self::Wanted { halves, is_last });
            }
            8 => Self::WantAll,
            9 => return Ok(Self::Items { piece: reader.rest() }),
            10 => Self::ItemsEnd {
                item_count: wire::number_up_to(&mut reader, "number of items", MAX_ITEMS)?,
            },
            11 => {
                let is_last = reader.flag()?;
                let mut gaps = Vec::new();
                while reader.remaining() > 0 {
                    gaps.push(wire::number_up_to(&mut reader, "gap between news", MAX_ITEMS)?);
                }
                Self::News { gaps, is_last }
            }
            12 => Self::Seal {
                item_count: wire::number_up_to(&mut reader, "number of items", MAX_ITEMS)?,
                sum: u128::from_le_bytes(reader.array()?),
            },
            other => return Err(ExchangeError::UnknownMessage(other)),
        };
        reader.end()?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn any_message() -> impl Strategy<Value = SessionMessage<'static>> {
        let symbol = (any::<u128>(), any::<u32>(), any::<i64>())
            .prop_map(|(sum, check, count)| CodedSymbol { sum, check, count });
        let item_count = 0..MAX_ITEMS;
        prop_oneof![
            (item_count.clone(), 0..MAX_BYTES, any::<u64>()).prop_map(
                |(item_count, item_bytes, check)| SessionMessage::Summary {
                    item_count,
                    item_bytes,
                    check
                }
            ),
            any::<u64>().prop_map(|up_to| SessionMessage::Pull { up_to }),
            (item_count.clone(), vec(symbol, 0..20))
                .prop_map(|(start, symbols)| SessionMessage::Symbols { start, symbols }),
            (0..33u32, 0..33u32).prop_map(|(here, there)| SessionMessage::Filters { here, there }),
            item_count.clone().prop_map(|item_count| SessionMessage::Residual { item_count }),
            (vec(any::<u64>(), 0..20), any::<bool>())
                .prop_map(|(halves, is_last)| SessionMessage::Wanted { halves, is_last }),
            Just(SessionMessage::WantAll),
            Just(SessionMessage::Items { piece: b"a piece of the stream" }),
            item_count.clone().prop_map(|item_count| SessionMessage::ItemsEnd { item_count }),
            (vec(0..MAX_ITEMS, 0..20), any::<bool>())
                .prop_map(|(gaps, is_last)| SessionMessage::News { gaps, is_last }),
            (item_count, any::<u128>())
                .prop_map(|(item_count, sum)| SessionMessage::Seal { item_count, sum }),
        ]
    }

    proptest! {
        #[test]
        fn messages_come_back_and_pieces_of_them_never_pass_for_another(
            message in any_message(), cut: prop::sample::Index,
        ) {
            let bytes = message.to_bytes();
            prop_assert_eq!(SessionMessage::from_bytes(&bytes), Ok(message));
            let cut = &bytes[..cut.index(bytes.len())];
            if let Ok(other) = SessionMessage::from_bytes(cut) {
                prop_assert_eq!(other.to_bytes(), cut);
            }
        }

        #[test]
        fn whatever_can_be_read_is_written_the_same(mut bytes in vec(any::<u8>(), 2..200), tag in 0..14u8) {
            (bytes[0], bytes[1]) = (wire::VERSION, tag);
            match SessionMessage::from_bytes(&bytes) {
                Ok(SessionMessage::Filter) | Err(_) => {}
                Ok(message) => prop_assert_eq!(message.to_bytes(), bytes),
            }
        }
    }
}
