//! The Bloom filter of the Go module `github.com/bits-and-blooms/bloom`, version 3, as its `WriteTo`
//! and `MarshalBinary` write it.
//!
//! ```text
//!   bits m, probes k, length of the bit set: u64 each; words of 64 bits; all big-endian
//! ```
//!
//! Keys are bytes; a text is its UTF-8. The hash is MurmurHash3 x64-128 of the key, and once more of the
//! key with a byte 1 behind it.

use crivo::BuildError;
use crivo::filter::{Incompatible, Operation};

use crate::bits::{Bits, Table, textbook_bits};
use crate::bytes::{Header, be_words, put_be_u64, put_be_words};
use crate::key::bytes_of;
use crate::methods::{BloomFormat, bloom_methods};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

/// A Bloom filter of `github.com/bits-and-blooms/bloom`.
///
/// ```
/// use crivo_formats::bits_and_blooms::BitsAndBlooms;
///
/// let mut filter = BitsAndBlooms::new(1_000, 0.01)?; // bloom.NewWithEstimates(1000, 0.01)
/// filter.insert("ana");
/// assert!(filter.contains(b"ana".as_slice()));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitsAndBlooms {
    table: Table,
    /// The length of the bit set: that of the table, or rounded up to whole words.
    bit_set_length: u64,
}

impl BitsAndBlooms {
    /// The filter that `NewWithEstimates` makes for `capacity` keys and this false-positive rate.
    ///
    /// ```
    /// use crivo_formats::bits_and_blooms::BitsAndBlooms;
    ///
    /// let filter = BitsAndBlooms::new(1_000, 0.01)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (9_586, 7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        let bits = textbook_bits(capacity, fpr)?.ceil();
        let probes = (std::f64::consts::LN_2 * bits / capacity as f64).ceil();
        Self::with_size(bits as u64, probes as u32)
    }

    /// A filter of `bits` bits with `probes` of them per key: `bloom.New`.
    ///
    /// ```
    /// use crivo_formats::bits_and_blooms::BitsAndBlooms;
    ///
    /// let filter = BitsAndBlooms::with_size(1_000, 4)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (1_000, 4));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits or no probes, too many probes, or there is no memory.
    pub fn with_size(bits: u64, probes: u32) -> Result<Self, BuildError> {
        Ok(Self { table: Table::zeroed(bits, probes)?, bit_set_length: bits })
    }

    /// Reads a filter from what `WriteTo` or `MarshalBinary` wrote.
    ///
    /// ```
    /// use crivo_formats::bits_and_blooms::BitsAndBlooms;
    ///
    /// let filter = BitsAndBlooms::with_size(1_000, 4)?;
    /// assert_eq!(BitsAndBlooms::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let [bits, probes, bit_set_length] = [header.be_u64()?, header.be_u64()?, header.be_u64()?];
        let word_count = bits.div_ceil(64);
        if bit_set_length != bits && bit_set_length != word_count.saturating_mul(64) {
            return Err(FormatError::Inconsistent("the bit set has another length"));
        }
        let words = be_words(header.table(word_count, 8)?);
        let table = Table::new(Bits::from_words(words, bits)?, probes)?;
        Ok(Self { table, bit_set_length })
    }
}

impl BloomFormat for BitsAndBlooms {
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
        let (first, second) = mur3::murmurhash3_x64_128(key, 0);
        let (third, fourth) = mur3::murmurhash3_x64_128(&[key, &[1]].concat(), 0);
        let bits = self.table.size_in_bits();
        Some((0..u64::from(self.table.probes())).map(move |i| {
            let start = if i % 2 == 0 { first } else { second };
            // 0, 1, 1, 0, and again: each start meets each step.
            let step = if matches!(i % 4, 1 | 2) { fourth } else { third };
            start.wrapping_add(i.wrapping_mul(step)) % bits
        }))
    }

    fn check_mergeable(&self, _other: &Self) -> Result<(), Incompatible> {
        Ok(())
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_be_u64(&mut bytes, self.table.size_in_bits());
        put_be_u64(&mut bytes, u64::from(self.table.probes()));
        put_be_u64(&mut bytes, self.bit_set_length);
        put_be_words(&mut bytes, self.table.words());
        bytes
    }
}

bloom_methods! {
    BitsAndBlooms,
    keys: [str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::bits_and_blooms::BitsAndBlooms;\n\
              let mut filter = BitsAndBlooms::new(1_000, 0.01)?;",
}

pub(crate) const FORMAT: Format = Format {
    name: "bits-and-blooms",
    description: "the Go module github.com/bits-and-blooms/bloom/v3",
    recognition: Recognition::Structure,
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| Ok(Box::new(BitsAndBlooms::from_bytes(bytes)?)),
    create: Create::Empty(|n, fpr| Ok(Box::new(BitsAndBlooms::new(n, fpr)?))),
};
