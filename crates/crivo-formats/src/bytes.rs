//! Numbers in the byte order of their format, and lengths that are checked before they are used.

// Formats of Java's and Go's systems are big-endian on every machine.
#![allow(clippy::big_endian_bytes)]

use crivo_core::wire::Reader;

use crate::{FormatError, TypedKey};

/// A reader of headers, and of the table behind them.
pub(crate) struct Header<'a> {
    whole: &'a [u8],
    rest: Reader<'a>,
}

/// Functions that read one number, and functions that append one.
macro_rules! numbers {
    ($($read:ident $put:ident $number:ty, $from:ident $to:ident;)*) => {
        impl Header<'_> {
            $(pub(crate) fn $read(&mut self) -> Result<$number, FormatError> {
                Ok(<$number>::$from(self.rest.array()?))
            })*
        }
        $(pub(crate) fn $put(bytes: &mut Vec<u8>, number: $number) {
            bytes.extend(number.$to());
        })*
    };
}

numbers! {
    u8 put_u8 u8, from_le_bytes to_le_bytes;
    be_u32 put_be_u32 u32, from_be_bytes to_be_bytes;
    be_u64 put_be_u64 u64, from_be_bytes to_be_bytes;
    le_u16 put_le_u16 u16, from_le_bytes to_le_bytes;
    le_u32 put_le_u32 u32, from_le_bytes to_le_bytes;
    le_u64 put_le_u64 u64, from_le_bytes to_le_bytes;
    le_f64 put_le_f64 f64, from_le_bytes to_le_bytes;
}

impl<'a> Header<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { whole: bytes, rest: Reader::new(bytes) }
    }

    /// How many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.remaining()
    }

    /// The bytes that are left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest.rest()
    }

    /// Leaves out the last bytes, which are there.
    pub(crate) fn drop_last(&mut self, count: usize) {
        let header = self.whole.len() - self.rest.remaining();
        self.whole = &self.whole[..self.whole.len() - count];
        self.rest = Reader::new(&self.whole[header..]);
    }

    /// `count` times `size` bytes, and those behind them.
    pub(crate) fn table_and_rest(
        self,
        count: u64,
        size: u64,
    ) -> Result<(&'a [u8], &'a [u8]), FormatError> {
        let header = (self.whole.len() - self.rest.remaining()) as u64;
        let (length, found) = (count.saturating_mul(size), self.whole.len() as u64);
        let split =
            usize::try_from(length).ok().and_then(|at| self.rest.rest().split_at_checked(at));
        split.ok_or(FormatError::Length { expected: length.saturating_add(header), found })
    }

    /// The bytes that are left, which must be `count` times `size`.
    pub(crate) fn table(mut self, count: u64, size: u64) -> Result<&'a [u8], FormatError> {
        let header = (self.whole.len() - self.rest.remaining()) as u64;
        let found = self.whole.len() as u64;
        let expected = count.saturating_mul(size).saturating_add(header);
        if expected != found {
            return Err(FormatError::Length { expected, found });
        }
        Ok(self.rest.take(self.rest.remaining())?)
    }
}

/// Words of 64 bits, big-endian. The length of the bytes is a multiple of eight.
pub(crate) fn be_words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word))
}

pub(crate) fn put_be_words(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(8 * words.len());
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
}

/// Words of 64 bits, little-endian. The length of the bytes is a multiple of eight.
pub(crate) fn le_words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
}

pub(crate) fn put_le_words(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(8 * words.len());
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

/// The bytes of a signed or real number, big-endian: four or eight. `None` for other keys.
pub(crate) fn be_bytes_of(key: &TypedKey<'_>) -> Option<NumberBytes> {
    let of_four = |bytes: [u8; 4]| {
        let mut eight = [0; 8];
        eight[..4].copy_from_slice(&bytes);
        NumberBytes { bytes: eight, length: 4 }
    };
    Some(match key {
        TypedKey::Int32(key) => of_four(key.to_be_bytes()),
        TypedKey::Float(key) => of_four(key.to_be_bytes()),
        TypedKey::Int64(key) => NumberBytes { bytes: key.to_be_bytes(), length: 8 },
        TypedKey::Double(key) => NumberBytes { bytes: key.to_be_bytes(), length: 8 },
        _ => return None,
    })
}

/// Up to eight bytes.
pub(crate) struct NumberBytes {
    bytes: [u8; 8],
    length: usize,
}

impl AsRef<[u8]> for NumberBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
