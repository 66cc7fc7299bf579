//! The Bloom filter of DCSO's command `bloom` and of its Go module, version 1, as security teams
//! exchange it.
//!
//! ```text
//!   version u64 (1), capacity u64, fpr f64, k u64, bits m u64, keys u64; words of 64 bits; data
//! ```
//!
//! All numbers are little-endian. The data at the end are for people and programs that use the filter;
//! they are kept as they are. A file that was compressed by gzip must be decompressed first.
//!
//! Keys are bytes; a text is its UTF-8. The hash is FNV-1 of 64 bits, multiplied again and again.

use crivo::BuildError;
use crivo::filter::{Incompatible, Operation};
use crivo_core::check::check_fpr;

use crate::bits::{Bits, Table, textbook_bits, unless_equal};
use crate::bytes::{Header, le_words, put_le_f64, put_le_u64, put_le_words};
use crate::key::bytes_of;
use crate::methods::{BloomFormat, bloom_methods};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

const VERSION: u64 = 1;

/// The largest prime below 2^64, and what a hash is multiplied by.
const PRIME: u64 = 18_446_744_073_709_551_557;
const GENERATOR: u64 = 18_446_744_073_709_550_147;

/// A Bloom filter of DCSO's `bloom`.
///
/// ```
/// use crivo_formats::dcso::DcsoBloom;
///
/// let mut filter = DcsoBloom::new(1_000, 0.01)?; // bloom create -n 1000 -p 0.01
/// filter.insert("192.0.2.1");
/// assert!(filter.contains("192.0.2.1"));
/// assert_eq!(filter.key_count(), 1);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DcsoBloom {
    table: Table,
    capacity: u64,
    fpr: f64,
    key_count: u64,
    data: Vec<u8>,
}

impl DcsoBloom {
    /// The filter that `bloom create` makes for `capacity` keys and this false-positive rate.
    ///
    /// ```
    /// use crivo_formats::dcso::DcsoBloom;
    ///
    /// let filter = DcsoBloom::new(1_000, 0.01)?;
    /// assert_eq!((filter.capacity(), filter.probes()), (1_000, 7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, the filter would have no bits, or there
    /// is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        // The original rounds a negative number up.
        let bits = textbook_bits(capacity, fpr)?.floor();
        let probes = (std::f64::consts::LN_2 * bits / capacity as f64).ceil();
        let table = Table::zeroed(bits as u64, probes as u32)?;
        Ok(Self { table, capacity, fpr, key_count: 0, data: Vec::new() })
    }

    /// Reads a filter that is not compressed.
    ///
    /// ```
    /// use crivo_formats::dcso::DcsoBloom;
    ///
    /// let filter = DcsoBloom::new(1_000, 0.01)?;
    /// assert_eq!(DcsoBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let expected = "a filter of DCSO's bloom";
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(FormatError::Unsupported("filters that gzip has compressed"));
        }
        let mut header = Header::new(bytes);
        if header.le_u64()? != VERSION {
            let reason = "its version is not 1";
            return Err(FormatError::NotThisFormat { expected, reason });
        }
        let capacity = header.le_u64()?;
        let fpr = header.le_f64()?;
        check_fpr(fpr)?;
        let probes = header.le_u64()?;
        let bits = header.le_u64()?;
        let key_count = header.le_u64()?;
        let (words, data) = header.table_and_rest(bits.div_ceil(64), 8)?;
        let table = Table::new(Bits::from_words(le_words(words), bits)?, probes)?;
        Ok(Self { table, capacity, fpr, key_count, data: data.to_vec() })
    }

    /// How many keys it is made for.
    ///
    /// ```
    /// assert_eq!(crivo_formats::dcso::DcsoBloom::new(1_000, 0.01)?.capacity(), 1_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many keys were new when they were inserted; after a union, an upper bound.
    ///
    /// ```
    /// let mut filter = crivo_formats::dcso::DcsoBloom::new(1_000, 0.01)?;
    /// filter.insert("ana");
    /// filter.insert("ana");
    /// assert_eq!(filter.key_count(), 1);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// What is attached to the filter.
    ///
    /// ```
    /// let mut filter = crivo_formats::dcso::DcsoBloom::new(1_000, 0.01)?;
    /// filter.set_data(b"addresses of May".to_vec());
    /// assert_eq!(filter.data(), b"addresses of May");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Attaches something to the filter, instead of what was attached.
    ///
    /// ```
    /// use crivo_formats::dcso::DcsoBloom;
    ///
    /// let mut filter = DcsoBloom::new(1_000, 0.01)?;
    /// filter.set_data(b"addresses of May".to_vec());
    /// assert!(filter.to_bytes().ends_with(b"addresses of May"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_data(&mut self, data: Vec<u8>) {
        self.data = data;
    }
}

impl BloomFormat for DcsoBloom {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    #[inline]
    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<>> {
        let key = bytes_of(key, FORMAT.name).ok()?;
        let (mut hash, bits) = (fnv1(key) % PRIME, self.table.size_in_bits());
        Some((0..self.table.probes()).map(move |_| {
            // The product is cut to 64 bits before the remainder is taken.
            hash = hash.wrapping_mul(GENERATOR) % PRIME;
            hash % bits
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("capacity", self.capacity, other.capacity)?;
        unless_equal("fpr", self.fpr, other.fpr)?;
        if self.key_count.checked_add(other.key_count).is_none() {
            return Err(Incompatible::new("number of keys", self.key_count, other.key_count));
        }
        Ok(())
    }

    fn inserted(&mut self, is_new: bool) {
        if is_new {
            self.key_count = self.key_count.saturating_add(1);
        }
    }

    fn united(&mut self, other: &Self) {
        self.key_count += other.key_count;
    }

    fn stored_key_count(&self) -> Option<u64> {
        Some(self.key_count)
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("capacity", self.capacity.to_string()),
            ("fpr", format!("{:?}", self.fpr)),
            ("attached bytes", self.data.len().to_string()),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_le_u64(&mut bytes, VERSION);
        put_le_u64(&mut bytes, self.capacity);
        put_le_f64(&mut bytes, self.fpr);
        put_le_u64(&mut bytes, u64::from(self.table.probes()));
        put_le_u64(&mut bytes, self.table.size_in_bits());
        put_le_u64(&mut bytes, self.key_count);
        put_le_words(&mut bytes, self.table.words());
        bytes.extend(&self.data);
        bytes
    }
}

bloom_methods! {
    DcsoBloom,
    keys: [str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::dcso::DcsoBloom;\n\
              let mut filter = DcsoBloom::new(1_000, 0.01)?;",
}

pub(crate) const FORMAT: Format = Format {
    name: "dcso",
    description: "DCSO bloom, version 1",
    recognition: Recognition::Magic(&[&VERSION.to_le_bytes()]),
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| Ok(Box::new(DcsoBloom::from_bytes(bytes)?)),
    create: Create::Empty(|n, fpr| Ok(Box::new(DcsoBloom::new(n, fpr)?))),
};

/// FNV-1 of 64 bits.
fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of the hash's authors.
    #[test]
    fn fnv1_has_its_published_values() {
        assert_eq!(fnv1(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1(b"a"), 0xaf63_bd4c_8601_b7be);
        assert_eq!(fnv1(b"foobar"), 0x340d_8765_a4dd_a9c2);
    }

    #[test]
    fn attached_data_are_kept() {
        let mut filter = DcsoBloom::new(10, 0.1).unwrap();
        filter.insert("ana");
        filter.set_data(b"names of people".to_vec());
        let read = DcsoBloom::from_bytes(&filter.to_bytes()).unwrap();
        assert_eq!(read.data(), b"names of people");
        assert_eq!(read, filter);
    }
}
