//! Bytes of messages: numbers of variable length, and a reader that trusts no length.

use super::ExchangeError;

/// The version that stands at the beginning of every message.
pub(super) const VERSION: u8 = 1;

/// The longest message, in bytes. A longer one is refused before it is read.
pub const MAX_MESSAGE: usize = 1 << 20;

/// Appends seven bits a byte, the lowest first; the top bit says that more follow.
pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number that is as likely negative: 0, −1, 1, −2, … as 0, 1, 2, 3, …
pub(super) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put_number(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

/// How many bytes [`put_number`] takes.
pub(super) fn number_length(number: u64) -> u64 {
    u64::from(64 - (number | 1).leading_zeros()).div_ceil(7)
}

/// A new message of the kind with this tag.
pub(super) fn message(tag: u8) -> Vec<u8> {
    vec![VERSION, tag]
}

/// The bytes of a message that are still to be read.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Reads version and tag.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(u8, Self), ExchangeError> {
        check_limit("message length", bytes.len() as u64, MAX_MESSAGE as u64)?;
        let mut reader = Self::new(bytes);
        match reader.byte()? {
            VERSION => Ok((reader.byte()?, reader)),
            other => Err(ExchangeError::UnknownVersion(other)),
        }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ExchangeError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(ExchangeError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ExchangeError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(ExchangeError::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, ExchangeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, ExchangeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            number |= bits << shift;
            if byte < 0x80 {
                // One way to write each number: no bits beyond the 64th, no empty last byte.
                let fits = shift < 63 || bits <= 1;
                let shortest = byte != 0 || shift == 0;
                return if fits && shortest { Ok(number) } else { Err(BAD_NUMBER) };
            }
        }
        Err(BAD_NUMBER)
    }

    /// A number of at most `limit`.
    pub(super) fn number_up_to(
        &mut self,
        what: &'static str,
        limit: u64,
    ) -> Result<u64, ExchangeError> {
        let found = self.number()?;
        check_limit(what, found, limit)?;
        Ok(found)
    }

    pub(super) fn signed(&mut self) -> Result<i64, ExchangeError> {
        let folded = self.number()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    pub(super) fn flag(&mut self) -> Result<bool, ExchangeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ExchangeError::Inconsistent("a flag is neither 0 nor 1")),
        }
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// All that is left.
    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// An error unless everything was read.
    pub(super) fn end(self) -> Result<(), ExchangeError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(ExchangeError::TrailingBytes) }
    }
}

const BAD_NUMBER: ExchangeError =
    ExchangeError::Inconsistent("a number is not written as it should be");

/// An error if an untrusted number is above what is ever needed.
pub(super) fn check_limit(what: &'static str, found: u64, limit: u64) -> Result<(), ExchangeError> {
    if found > limit { Err(ExchangeError::TooLarge { what, found, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_and_take_the_length_that_was_said(number: u64, signed: i64) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            prop_assert_eq!(bytes.len() as u64, number_length(number));
            put_signed(&mut bytes, signed);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn a_number_can_be_written_in_one_way(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut reader = Reader::new(&bytes);
            if let Ok(number) = reader.number() {
                let mut again = Vec::new();
                put_number(&mut again, number);
                prop_assert_eq!(&bytes[..bytes.len() - reader.remaining()], again);
            }
        }
    }
}
