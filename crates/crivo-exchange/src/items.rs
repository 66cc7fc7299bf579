//! Items as one stream of bytes, cut into messages wherever they are full.
//!
//! ```text
//!   length, bytes, length, bytes, …          an item may be cut, and begin anywhere in a message
//! ```

use std::collections::VecDeque;

use super::ExchangeError;
use super::wire::{Reader, check_limit, number_length, put_number};
use crivo_core::wire::WireError;

/// How many bytes of the stream go into a message.
const PIECE: usize = 1 << 16;
/// No item is longer.
const LONGEST: u64 = 1 << 32;
/// The longest number that says how long an item is.
const LENGTH_BYTES: usize = 10;

/// Items to messages.
#[derive(Debug, Default)]
pub(super) struct ItemWriter {
    buffer: Vec<u8>,
    count: u64,
}

impl ItemWriter {
    /// What an item of this length takes in the stream.
    pub(super) fn length_of(item: usize) -> u64 {
        number_length(item as u64) + item as u64
    }

    /// Adds an item, and what is full to `outbox`, as a `message`.
    pub(super) fn write(
        &mut self,
        item: &[u8],
        message: impl Fn(&[u8]) -> Vec<u8>,
        outbox: &mut VecDeque<Vec<u8>>,
    ) {
        self.count += 1;
        put_number(&mut self.buffer, item.len() as u64);
        let mut item = item;
        loop {
            let (taken, rest) =
                item.split_at(item.len().min(PIECE.saturating_sub(self.buffer.len())));
            self.buffer.extend_from_slice(taken);
            if self.buffer.len() < PIECE {
                return;
            }
            self.flush(&message, outbox);
            item = rest;
        }
    }

    /// Adds what is left to `outbox`; how many items there were.
    pub(super) fn finish(
        &mut self,
        message: impl Fn(&[u8]) -> Vec<u8>,
        outbox: &mut VecDeque<Vec<u8>>,
    ) -> u64 {
        if !self.buffer.is_empty() {
            self.flush(message, outbox);
        }
        self.count
    }

    fn flush(&mut self, message: impl Fn(&[u8]) -> Vec<u8>, outbox: &mut VecDeque<Vec<u8>>) {
        outbox.push_back(message(&self.buffer));
        self.buffer.clear();
    }
}

/// Messages to items.
#[derive(Debug, Default)]
pub(super) struct ItemReader {
    /// The beginning of an item that is not all there.
    pending: Vec<u8>,
    count: u64,
}

impl ItemReader {
    /// Takes a piece of the stream, and gives every item that is complete to `take`. Memory is asked
    /// for as bytes come, whatever length was announced.
    pub(super) fn read(
        &mut self,
        piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), ExchangeError>,
    ) -> Result<(), ExchangeError> {
        let mut rest = piece;
        while !rest.is_empty() || !self.pending.is_empty() {
            let missing = match split_item(&self.pending)? {
                Split::Whole { .. } => 0,
                Split::Missing(count) => count,
            };
            if missing == 0 {
                let pending = std::mem::take(&mut self.pending);
                if let Split::Whole { item, .. } = split_item(&pending)? {
                    self.count += 1;
                    take(item)?;
                }
                continue;
            }
            if self.pending.is_empty() {
                // The usual case: an item that is all in this piece, with no copy.
                if let Split::Whole { item, rest: behind } = split_item(rest)? {
                    self.count += 1;
                    take(item)?;
                    rest = behind;
                    continue;
                }
            }
            if rest.is_empty() {
                return Ok(());
            }
            let (taken, behind) = rest.split_at(rest.len().min(missing));
            self.pending.extend_from_slice(taken);
            rest = behind;
        }
        Ok(())
    }

    /// An error unless exactly this number of items was received, all complete.
    pub(super) fn finish(&self, count: u64) -> Result<(), ExchangeError> {
        if !self.pending.is_empty() {
            return Err(ExchangeError::Truncated);
        }
        if self.count != count {
            return Err(ExchangeError::Inconsistent("another number of items was announced"));
        }
        Ok(())
    }
}

/// What a stream begins with.
enum Split<'a> {
    Whole {
        item: &'a [u8],
        rest: &'a [u8],
    },
    /// At least this number of bytes is missing for an item.
    Missing(usize),
}

fn split_item(stream: &[u8]) -> Result<Split<'_>, ExchangeError> {
    let mut reader = Reader::new(stream);
    let length = match reader.number() {
        Ok(length) => length,
        // The length itself may be cut.
        Err(WireError::Truncated) if stream.len() < LENGTH_BYTES => {
            return Ok(Split::Missing(1));
        }
        Err(error) => return Err(error.into()),
    };
    check_limit("item length", length, LONGEST)?;
    let have = reader.remaining() as u64;
    if have < length {
        return Ok(Split::Missing((length - have) as usize));
    }
    let item = reader.take(length as usize)?;
    Ok(Split::Whole { item, rest: reader.rest() })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pieces(items: &[Vec<u8>]) -> (Vec<Vec<u8>>, u64) {
        let (mut writer, mut outbox) = (ItemWriter::default(), VecDeque::new());
        for item in items {
            writer.write(item, <[u8]>::to_vec, &mut outbox);
        }
        let count = writer.finish(<[u8]>::to_vec, &mut outbox);
        (outbox.into(), count)
    }

    proptest! {
        #[test]
        fn items_come_back_however_the_stream_is_cut(
            items in vec(vec(any::<u8>(), 0..300), 0..20), cuts in vec(1usize..50, 1..20),
        ) {
            let (pieces, count) = pieces(&items);
            let stream = pieces.concat();
            let (mut reader, mut found) = (ItemReader::default(), Vec::new());
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                reader.read(piece, |item| { found.push(item.to_vec()); Ok(()) }).unwrap();
                rest = behind;
            }
            prop_assert_eq!(reader.finish(count), Ok(()));
            prop_assert_eq!(found, items);
        }

        #[test]
        fn any_stream_can_be_read(stream in vec(vec(any::<u8>(), 0..40), 0..10)) {
            let mut reader = ItemReader::default();
            let _ = stream.iter().try_for_each(|piece| reader.read(piece, |_| Ok(())));
            prop_assert!(reader.pending.len() <= stream.concat().len());
        }
    }

    #[test]
    fn a_long_item_is_cut_into_messages() {
        let items = [vec![1; 3 * PIECE], vec![], vec![2; PIECE - 5], vec![3]];
        let (pieces, count) = pieces(&items);
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE + LENGTH_BYTES));
        let (mut reader, mut found) = (ItemReader::default(), Vec::new());
        for piece in &pieces {
            reader
                .read(piece, |item| {
                    found.push(item.to_vec());
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!((found.as_slice(), count), (&items[..], 4));
        assert_eq!(
            reader.finish(3).unwrap_err().to_string(),
            "the peer contradicts itself: another number of items was announced"
        );
    }
}
