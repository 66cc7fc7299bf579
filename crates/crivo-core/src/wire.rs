//! Bytes of messages: variable-length integers, and a reader that trusts no length.

use thiserror::Error;

/// Why bytes could not be read. Each protocol maps it to its own error.
///
/// ```
/// use crivo_core::wire::{Reader, WireError};
///
/// assert_eq!(Reader::new(b"").byte(), Err(WireError::Truncated));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// They end too early.
    #[error("the bytes end too early")]
    Truncated,
    /// There is more than there should be.
    #[error("there are bytes after the end")]
    TrailingBytes,
    /// A number is not in the one form that [`put_number`] gives it.
    #[error("a number is not in its shortest form, or has more than 64 bits")]
    Number,
    /// A flag is neither 0 nor 1.
    #[error("a flag is neither 0 nor 1")]
    Flag,
}

/// Appends a number in LEB128: seven bits per byte, the lowest first; the top bit of a byte says
/// that more follow.
///
/// ```
/// let mut bytes = Vec::new();
/// crivo_core::wire::put_number(&mut bytes, 300);
/// assert_eq!(bytes, [0xac, 0x02]);
/// ```
pub fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number of either sign: 0, −1, 1, −2, … as 0, 1, 2, 3, …
///
/// ```
/// use crivo_core::wire::put_signed;
///
/// let mut bytes = Vec::new();
/// for number in [0, -1, 1, -2] {
///     put_signed(&mut bytes, number);
/// }
/// assert_eq!(bytes, [0, 1, 2, 3]);
/// ```
pub fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put_number(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends the length, then the bytes.
///
/// ```
/// use crivo_core::wire::put_bytes;
///
/// let mut bytes = Vec::new();
/// put_bytes(&mut bytes, b"ana");
/// assert_eq!(bytes, b"\x03ana");
/// ```
pub fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_number(bytes, content.len() as u64);
    bytes.extend(content);
}

/// How many bytes [`put_number`] takes.
///
/// ```
/// use crivo_core::wire::number_length;
///
/// assert_eq!([0, 127, 128, u64::MAX].map(number_length), [1, 1, 2, 10]);
/// ```
pub fn number_length(number: u64) -> u64 {
    u64::from(64 - (number | 1).leading_zeros()).div_ceil(7)
}

/// The bytes of a message that are still to be read.
///
/// ```
/// use crivo_core::wire::{Reader, WireError};
///
/// let mut reader = Reader::new(&[0xac, 0x02, 7]);
/// assert_eq!(reader.number(), Ok(300));
/// assert_eq!(reader.byte(), Ok(7));
/// assert_eq!(reader.byte(), Err(WireError::Truncated));
/// ```
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads these bytes, from the first on.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(b"ana").remaining(), 3);
    /// ```
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next `count` bytes.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// let mut reader = Reader::new(b"ana");
    /// assert_eq!(reader.take(2), Ok(&b"an"[..]));
    /// assert!(reader.take(2).is_err());
    /// ```
    ///
    /// # Errors
    /// If there are fewer.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(WireError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(b"ana").array(), Ok(*b"an"));
    /// ```
    ///
    /// # Errors
    /// If there are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(WireError::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// The next byte.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(b"ana").byte(), Ok(b'a'));
    /// ```
    ///
    /// # Errors
    /// If there is none.
    pub fn byte(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Eight bytes, little-endian.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(&7u64.to_le_bytes()).fixed(), Ok(7));
    /// ```
    ///
    /// # Errors
    /// If there are fewer.
    pub fn fixed(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number in the one form that [`put_number`] gives it.
    ///
    /// ```
    /// use crivo_core::wire::{Reader, WireError};
    ///
    /// assert_eq!(Reader::new(&[0x82, 0x01]).number(), Ok(130));
    /// assert_eq!(Reader::new(&[0x82, 0x00]).number(), Err(WireError::Number)); // 2 takes one byte
    /// ```
    ///
    /// # Errors
    /// If the bytes end, the form is not the shortest, or the number has more than 64 bits.
    pub fn number(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            number |= bits << shift;
            if byte < 0x80 {
                let fits = shift < 63 || bits <= 1;
                let is_shortest = byte != 0 || shift == 0;
                return if fits && is_shortest { Ok(number) } else { Err(WireError::Number) };
            }
        }
        Err(WireError::Number)
    }

    /// What [`put_signed`] wrote.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(&[3]).signed(), Ok(-2));
    /// ```
    ///
    /// # Errors
    /// Those of [`number`](Self::number).
    pub fn signed(&mut self) -> Result<i64, WireError> {
        let folded = self.number()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// A byte that is 0 or 1.
    ///
    /// ```
    /// use crivo_core::wire::{Reader, WireError};
    ///
    /// assert_eq!(Reader::new(&[1]).flag(), Ok(true));
    /// assert_eq!(Reader::new(&[2]).flag(), Err(WireError::Flag));
    /// ```
    ///
    /// # Errors
    /// If there is none, or it is another.
    pub fn flag(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Flag),
        }
    }

    /// A number of items that follow, each of at least `bits_each` bits. They must fit into what
    /// remains, so that memory for them may be allocated.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// // Three items of a byte each, and a claim of a hundred.
    /// assert_eq!(Reader::new(b"\x03ana").count(8), Ok(3));
    /// assert!(Reader::new(b"\x64ana").count(8).is_err());
    /// ```
    ///
    /// # Errors
    /// If they cannot fit, or the number cannot be read.
    pub fn count(&mut self, bits_each: u64) -> Result<usize, WireError> {
        let count = self.number()?;
        if count > 8 * self.bytes.len() as u64 / bits_each {
            return Err(WireError::Truncated);
        }
        Ok(count as usize)
    }

    /// What [`put_bytes`] wrote.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// assert_eq!(Reader::new(b"\x03ana").bytes(), Ok(&b"ana"[..]));
    /// ```
    ///
    /// # Errors
    /// If there are fewer bytes than the length says, or it cannot be read.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.count(8)?;
        self.take(length)
    }

    /// How many bytes remain.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// let mut reader = Reader::new(b"ana");
    /// reader.byte()?;
    /// assert_eq!(reader.remaining(), 2);
    /// # Ok::<(), crivo_core::wire::WireError>(())
    /// ```
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes that remain.
    ///
    /// ```
    /// use crivo_core::wire::Reader;
    ///
    /// let mut reader = Reader::new(b"ana");
    /// reader.byte()?;
    /// assert_eq!(reader.rest(), b"na");
    /// # Ok::<(), crivo_core::wire::WireError>(())
    /// ```
    pub fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// An error unless everything was read.
    ///
    /// ```
    /// use crivo_core::wire::{Reader, WireError};
    ///
    /// assert_eq!(Reader::new(b"").end(), Ok(()));
    /// assert_eq!(Reader::new(b"ana").end(), Err(WireError::TrailingBytes));
    /// ```
    ///
    /// # Errors
    /// If bytes remain.
    pub fn end(self) -> Result<(), WireError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(WireError::TrailingBytes) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_and_has_the_stated_length(
            number: u64, signed: i64, content: Vec<u8>,
        ) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            prop_assert_eq!(bytes.len() as u64, number_length(number));
            put_signed(&mut bytes, signed);
            put_bytes(&mut bytes, &content);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert_eq!(reader.bytes(), Ok(&*content));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn a_number_has_one_form(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut reader = Reader::new(&bytes);
            if let Ok(number) = reader.number() {
                let mut again = Vec::new();
                put_number(&mut again, number);
                prop_assert_eq!(&bytes[..bytes.len() - reader.remaining()], again);
            }
        }
    }
}
