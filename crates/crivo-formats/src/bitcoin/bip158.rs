//! BIP 158: the basic filter of a block, a Golomb-coded set.
//!
//! ```text
//!   number of elements, as Bitcoin writes lengths; then a stream of bits, the highest of a byte first:
//!   for each element, in order, its distance from the one before: the quotient by 2^19 in ones, a
//!   zero, and the remainder in 19 bits
//! ```
//!
//! An element is a number below n · 784,931: SipHash-2-4 of its bytes under the block's hash, reduced to
//! that range. The file does not have the hash. Elements of no bytes are left out.

use std::fmt;

use crivo::filter::Operation;
use crivo_core::mix::reduce;
use siphasher::sip::SipHasher24;

use super::{compact_size, put_compact_size};
use crate::bytes::Header;
use crate::key::{bytes_of, of_this_system};
use crate::{
    ChangeError, Create, ForeignFilter, Format, FormatError, KeyOf, KeyType, KeyTypeError,
    Recognition, TypedKey,
};

/// The bits of a remainder, and the inverse of the false-positive rate.
const REMAINDER_BITS: u32 = 19;
const INVERSE_FPR: u64 = 784_931;

/// More elements than any block has room for.
const MAX_ELEMENTS: u64 = 1 << 32;

/// The filter of a block, under the block's hash.
///
/// ```
/// use crivo_formats::bitcoin::Bip158Filter;
///
/// let block_hash = [7; 32];
/// let scripts = [b"script 1".as_slice(), b"script 2"];
/// let filter = Bip158Filter::build(&block_hash, scripts);
/// assert!(filter.contains(b"script 1".as_slice()));
/// assert!(filter.contains_any([b"script 9".as_slice(), b"script 2"]));
/// assert_eq!(Bip158Filter::from_bytes(&filter.to_bytes(), &block_hash)?, filter);
/// # Ok::<(), crivo_formats::FormatError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bip158Filter {
    key: [u64; 2],
    /// In order; some may be equal.
    values: Vec<u64>,
    /// Of the file.
    length: usize,
}

impl Bip158Filter {
    /// The filter of these elements, each of which counts once.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice(), b"script 1"]);
    /// assert_eq!(filter.key_count(), 1);
    /// ```
    ///
    /// # Panics
    /// If there are 2^32 different elements or more; a block has room for far less.
    pub fn build<'a>(block_hash: &[u8; 32], elements: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut elements: Vec<&[u8]> =
            elements.into_iter().filter(|element| !element.is_empty()).collect();
        elements.sort_unstable();
        elements.dedup();
        let count = elements.len() as u64;
        assert!(count < MAX_ELEMENTS, "a block has room for far less than {count} elements");
        let key = key_of(block_hash);
        let mut values: Vec<u64> =
            elements.iter().map(|element| value_of(key, element, count)).collect();
        values.sort_unstable();
        let mut filter = Self { key, values, length: 0 };
        filter.length = filter.to_bytes().len();
        filter
    }

    /// Reads the filter of the block with this hash.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice()]);
    /// assert_eq!(Bip158Filter::from_bytes(&filter.to_bytes(), &[7; 32])?, filter);
    /// assert!(Bip158Filter::from_bytes(b"\xff", &[7; 32]).is_err());
    /// # Ok::<(), crivo_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it. With another hash they
    /// are still a filter, whose answers mean nothing.
    pub fn from_bytes(bytes: &[u8], block_hash: &[u8; 32]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let count = compact_size(&mut header)?;
        let stream = header.rest();
        // An element has at least 20 bits.
        let least = count.saturating_mul(u64::from(REMAINDER_BITS) + 1).div_ceil(8);
        let found = stream.len() as u64;
        if least > found || count >= MAX_ELEMENTS {
            return Err(FormatError::Length { expected: least, found });
        }
        let mut stream = BitReader { bytes: stream, position: 0 };
        let (mut values, mut last) = (Vec::with_capacity(count as usize), 0u64);
        for _ in 0..count {
            let distance = stream.distance().ok_or(FormatError::Truncated)?;
            last = last
                .checked_add(distance)
                .filter(|value| *value < count * INVERSE_FPR)
                .ok_or(FormatError::Inconsistent("an element is beyond the range of all"))?;
            values.push(last);
        }
        stream.end()?;
        Ok(Self { key: key_of(block_hash), values, length: bytes.len() })
    }

    /// The filter as nodes send it.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// // The filter of no elements is a byte 0.
    /// assert_eq!(Bip158Filter::build(&[7; 32], []).to_bytes(), [0]);
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_compact_size(&mut bytes, self.values.len() as u64);
        let mut writer = BitWriter { bytes, free: 0 };
        let mut last = 0;
        for value in &self.values {
            writer.put_distance(value - last);
            last = *value;
        }
        writer.bytes
    }

    /// Whether `element` may be in the block. `false` is certain.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice()]);
    /// assert!(filter.contains(b"script 1".as_slice()));
    /// assert!(!filter.contains(b"script 2".as_slice()));
    /// ```
    pub fn contains<K: KeyOf<Self> + ?Sized>(&self, element: &K) -> bool {
        of_this_system(self.contains_key(&element.as_key()))
    }

    /// Whether any of these may be in the block: what a wallet asks of every block. `false` is
    /// certain.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice()]);
    /// assert!(filter.contains_any([b"script 9".as_slice(), b"script 1"]));
    /// assert!(!filter.contains_any([]));
    /// ```
    pub fn contains_any<'a>(&self, elements: impl IntoIterator<Item = &'a [u8]>) -> bool {
        elements.into_iter().any(|element| self.contains_bytes(element))
    }

    fn contains_bytes(&self, element: &[u8]) -> bool {
        let value = value_of(self.key, element, self.values.len() as u64);
        !element.is_empty() && self.values.binary_search(&value).is_ok()
    }

    /// How many different elements there are.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice(), b"script 2"]);
    /// assert_eq!(filter.key_count(), 2);
    /// ```
    pub fn key_count(&self) -> u64 {
        self.values.len() as u64
    }

    /// The size of the file, in bits. In memory each element has 64.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice()]);
    /// assert_eq!(filter.size_in_bits(), 8 * filter.to_bytes().len() as u64);
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        8 * self.length as u64
    }

    /// The false-positive rate for one element that is not there: 1 in 784,931.
    ///
    /// ```
    /// use crivo_formats::bitcoin::Bip158Filter;
    ///
    /// let filter = Bip158Filter::build(&[7; 32], [b"script 1".as_slice()]);
    /// assert_eq!((1.0 / filter.expected_fpr()).round(), 784_931.0);
    /// ```
    pub fn expected_fpr(&self) -> f64 {
        if self.values.is_empty() { 0.0 } else { 1.0 / INVERSE_FPR as f64 }
    }
}

fn key_of(block_hash: &[u8; 32]) -> [u64; 2] {
    let halves = block_hash.as_chunks::<8>().0;
    [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
}

fn value_of([low, high]: [u64; 2], element: &[u8], count: u64) -> u64 {
    reduce(SipHasher24::new_with_keys(low, high).hash(element), count * INVERSE_FPR)
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    position: usize,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Option<u64> {
        let byte = self.bytes.get(self.position / 8)?;
        let bit = byte >> (7 - self.position % 8) & 1;
        self.position += 1;
        Some(u64::from(bit))
    }

    fn distance(&mut self) -> Option<u64> {
        let mut quotient = 0u64;
        while self.bit()? == 1 {
            quotient += 1;
        }
        let mut remainder = 0;
        for _ in 0..REMAINDER_BITS {
            remainder = remainder << 1 | self.bit()?;
        }
        Some(quotient << REMAINDER_BITS | remainder)
    }

    /// The last byte is filled with zeros, and nothing is behind it.
    fn end(mut self) -> Result<(), FormatError> {
        if self.position.div_ceil(8) != self.bytes.len() {
            return Err(FormatError::Inconsistent("there are bytes after the end"));
        }
        while let Some(bit) = self.bit() {
            if bit != 0 {
                return Err(FormatError::Inconsistent("the last byte is not filled with zeros"));
            }
        }
        Ok(())
    }
}

struct BitWriter {
    bytes: Vec<u8>,
    /// How many bits of the last byte are free.
    free: u32,
}

impl BitWriter {
    fn put_bit(&mut self, bit: bool) {
        if self.free == 0 {
            self.bytes.push(0);
            self.free = 8;
        }
        self.free -= 1;
        *self.bytes.last_mut().expect("a byte was pushed") |= u8::from(bit) << self.free;
    }

    fn put_distance(&mut self, distance: u64) {
        (0..distance >> REMAINDER_BITS).for_each(|_| self.put_bit(true));
        self.put_bit(false);
        (0..REMAINDER_BITS).rev().for_each(|bit| self.put_bit(distance >> bit & 1 == 1));
    }
}

impl fmt::Debug for Bip158Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bip158Filter {{ key_count: {} }}", self.values.len())
    }
}

impl KeyOf<Bip158Filter> for [u8] {}
impl KeyOf<Bip158Filter> for Vec<u8> {}

impl ForeignFilter for Bip158Filter {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn contains_key(&self, key: &TypedKey<'_>) -> Result<bool, KeyTypeError> {
        Ok(self.contains_bytes(bytes_of(key, FORMAT.name)?))
    }

    fn insert_key(&mut self, key: &TypedKey<'_>) -> Result<bool, ChangeError> {
        bytes_of(key, FORMAT.name)?;
        Err(ChangeError::Unsupported { format: FORMAT.name, operation: Operation::Insert })
    }

    fn size_in_bits(&self) -> u64 {
        self.size_in_bits()
    }

    fn key_count(&self) -> Option<u64> {
        Some(self.key_count())
    }

    fn fill(&self) -> Option<f64> {
        None
    }

    fn expected_fpr(&self) -> f64 {
        self.expected_fpr()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let per_key = self.size_in_bits() as f64 / self.key_count().max(1) as f64;
        vec![("bits per element", format!("{per_key:.2}"))]
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

pub(crate) const FORMAT: Format = Format {
    name: "bip158",
    description: "Bitcoin, BIP 158: the basic filter of a block",
    recognition: Recognition::Nothing,
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[],
    read: |bytes, options| {
        let block_hash = options.block_hash.ok_or(FormatError::MissingOption("a block hash"))?;
        Ok(Box::new(Bip158Filter::from_bytes(bytes, &block_hash)?))
    },
    create: Create::FromKeys(|keys, options| {
        let block_hash = options.block_hash.ok_or(ChangeError::MissingOption("a block hash"))?;
        let elements = keys.iter().map(|key| bytes_of(key, FORMAT.name));
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(Bip158Filter::build(&block_hash, elements)))
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().as_chunks::<2>().0.iter();
        digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The first block of the test network has one output, which pays to this key.
    #[test]
    fn the_filter_of_the_first_block_is_the_published_one() {
        let mut hash = hex("000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943");
        hash.reverse();
        let hash = hash.try_into().unwrap();
        let script = hex("4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6\
                          49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac");
        let filter = Bip158Filter::build(&hash, [&script[..]]);
        assert_eq!(filter.to_bytes(), hex("019dfca8"));
        assert_eq!(Bip158Filter::from_bytes(&hex("019dfca8"), &hash), Ok(filter));
        let empty = Bip158Filter::build(&hash, [&[][..]]);
        assert_eq!(empty.to_bytes(), [0]);
        assert!(!empty.contains(&script) && !empty.contains(&[][..]));
    }

    #[test]
    fn streams_that_lie_are_errors() {
        for bytes in ["", "01", "019dfc", "019dfca9", "019dfca800", "01ffffffff", "fd0100", "0100"]
        {
            assert!(Bip158Filter::from_bytes(&hex(bytes), &[0; 32]).is_err(), "{bytes}");
        }
    }
}
