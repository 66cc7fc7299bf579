//! Apache Spark's `BloomFilter`, as `DataFrameStatFunctions.bloomFilter` makes it and
//! `BloomFilter.writeTo` writes it.
//!
//! ```text
//!   version 1   version (1), k, number of words: 32 bits each; words of 64 bits; all big-endian
//!   version 2   version (2), k, seed, number of words; words
//! ```
//!
//! Spark wrote version 1 up to 4.0; from 4.1 on it writes version 2, and reads both. Version 1
//! numbers its bits by 32-bit sums, so that only the first 2^31 bits of a larger table are used,
//! and its false-positive rate is far above the one asked for from some hundred million keys on.
//!
//! Keys are integers, all as 64 bits, text in UTF-8, and bytes. The hash is MurmurHash3 x86-32 with
//! Spark's own treatment of the last one to three bytes.

use crivo::BuildError;
use crivo::filter::{Incompatible, Operation};

use crate::bits::{Table, textbook_bits, unless_equal};
use crate::bytes::{Header, put_be_u32};
use crate::methods::{BloomFormat, bloom_methods, of_format};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

/// A version of Spark's format.
///
/// ```
/// use crivo_formats::spark::{SparkBloom, SparkVersion};
///
/// let filter = SparkBloom::new(1_000, 0.03, SparkVersion::V2 { seed: 7 })?;
/// assert_eq!(filter.to_bytes()[..4], [0, 0, 0, 2]);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SparkVersion {
    /// What Spark wrote up to 4.0.
    V1,
    /// What it writes from 4.1 on. The seed is part of the filter; Spark's default is 0.
    V2 {
        /// The seed of the hash function.
        seed: i32,
    },
}

impl SparkVersion {
    fn name(self) -> &'static str {
        match self {
            Self::V1 => "spark-v1",
            Self::V2 { .. } => "spark-v2",
        }
    }

    fn seed(self) -> i32 {
        match self {
            Self::V1 => 0,
            Self::V2 { seed } => seed,
        }
    }
}

/// A Bloom filter of Apache Spark.
///
/// ```
/// use crivo_formats::spark::{SparkBloom, SparkVersion};
///
/// let mut filter = SparkBloom::new(1_000, 0.03, SparkVersion::V2 { seed: 0 })?;
/// filter.insert(&42i64);
/// assert!(filter.contains(&42i64));
/// assert!(!filter.contains("42"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkBloom {
    version: SparkVersion,
    table: Table,
}

impl SparkBloom {
    /// The filter that Spark makes for `capacity` keys and this false-positive rate.
    ///
    /// ```
    /// use crivo_formats::spark::{SparkBloom, SparkVersion};
    ///
    /// let filter = SparkBloom::new(1_000, 0.03, SparkVersion::V1)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (7_360, 5));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, Spark has no filter of that size, or
    /// there is no memory.
    pub fn new(capacity: u64, fpr: f64, version: SparkVersion) -> Result<Self, BuildError> {
        // As Java does, down to a whole number.
        let bits = textbook_bits(capacity, fpr)? as u64;
        let probes = (bits as f64 / capacity as f64 * std::f64::consts::LN_2).round().max(1.0);
        Self::with_size(bits, probes as u32, version)
    }

    /// A filter of `bits` bits, rounded up to whole words, with `probes` of them per key.
    ///
    /// ```
    /// use crivo_formats::spark::{SparkBloom, SparkVersion};
    ///
    /// let filter = SparkBloom::with_size(1_000, 4, SparkVersion::V1)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (1_024, 4));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits or more than 2^31 words, no probes or too many, or there is no memory.
    pub fn with_size(bits: u64, probes: u32, version: SparkVersion) -> Result<Self, BuildError> {
        Ok(Self { version, table: Table::zeroed_java(bits, probes)? })
    }

    /// Reads a filter from what `writeTo` wrote.
    ///
    /// ```
    /// use crivo_formats::spark::{SparkBloom, SparkVersion};
    ///
    /// let filter = SparkBloom::with_size(1_000, 4, SparkVersion::V1)?;
    /// assert_eq!(SparkBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let version = header.be_u32()?;
        let probes = header.be_u32()?;
        let version = match version {
            1 => SparkVersion::V1,
            2 => SparkVersion::V2 { seed: header.be_u32()? as i32 },
            _ => {
                return Err(FormatError::NotThisFormat {
                    expected: "a filter of Spark",
                    reason: "its version is neither 1 nor 2",
                });
            }
        };
        Ok(Self { version, table: Table::read_java(header, probes)? })
    }

    /// The version of the format.
    ///
    /// ```
    /// use crivo_formats::spark::{SparkBloom, SparkVersion};
    ///
    /// let filter = SparkBloom::with_size(1_000, 4, SparkVersion::V1)?;
    /// assert_eq!(filter.version(), SparkVersion::V1);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn version(&self) -> SparkVersion {
        self.version
    }
}

impl BloomFormat for SparkBloom {
    fn name(&self) -> &'static str {
        self.version.name()
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    #[inline]
    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<>> {
        let hash = |seed| {
            Some(match key {
                TypedKey::Int32(key) => murmur3(&i64::from(*key).to_le_bytes(), seed),
                TypedKey::Int64(key) => murmur3(&key.to_le_bytes(), seed),
                TypedKey::Text(key) => murmur3(key.as_bytes(), seed),
                TypedKey::Bytes(key) => murmur3(key, seed),
                _ => return None,
            })
        };
        let first = hash(self.version.seed())?;
        let second = hash(first)?;
        let (version, bits) = (self.version, self.table.size_in_bits());
        let mut sum = match version {
            SparkVersion::V1 => i64::from(first),
            SparkVersion::V2 { .. } => i64::from(first) * i64::from(i32::MAX),
        };
        Some((0..self.table.probes()).map(move |_| {
            sum = sum.wrapping_add(i64::from(second));
            if version == SparkVersion::V1 {
                sum = i64::from(sum as i32);
            }
            (if sum < 0 { !sum } else { sum }) as u64 % bits
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("version", self.name(), other.name())?;
        unless_equal("seed", self.version.seed(), other.version.seed())
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        match self.version {
            SparkVersion::V1 => Vec::new(),
            SparkVersion::V2 { seed } => vec![("seed", seed.to_string())],
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_be_u32(&mut bytes, if self.version == SparkVersion::V1 { 1 } else { 2 });
        put_be_u32(&mut bytes, self.table.probes());
        if let SparkVersion::V2 { seed } = self.version {
            put_be_u32(&mut bytes, seed as u32);
        }
        self.table.put_java(&mut bytes);
        bytes
    }
}

bloom_methods! {
    SparkBloom,
    keys: [i32, i64, str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::spark::{SparkBloom, SparkVersion};\n\
              let mut filter = SparkBloom::new(1_000, 0.03, SparkVersion::V1)?;",
}

const KEY_TYPES: &[KeyType] = &[KeyType::Int32, KeyType::Int64, KeyType::Text, KeyType::Bytes];

pub(crate) const V1_FORMAT: Format = Format {
    name: "spark-v1",
    description: "Apache Spark up to 4.0",
    recognition: Recognition::Structure,
    key_types: KEY_TYPES,
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| of_format(SparkBloom::from_bytes(bytes)?, V1_FORMAT.name),
    create: Create::Empty(|n, fpr| Ok(Box::new(SparkBloom::new(n, fpr, SparkVersion::V1)?))),
};

pub(crate) const V2_FORMAT: Format = Format {
    name: "spark-v2",
    description: "Apache Spark from 4.1 on",
    recognition: Recognition::Structure,
    key_types: KEY_TYPES,
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| of_format(SparkBloom::from_bytes(bytes)?, V2_FORMAT.name),
    create: Create::Empty(|n, fpr| {
        Ok(Box::new(SparkBloom::new(n, fpr, SparkVersion::V2 { seed: 0 })?))
    }),
};

/// MurmurHash3 x86-32, but for the last one to three bytes: each is mixed in as if it were a block,
/// with its sign.
#[inline]
fn murmur3(bytes: &[u8], seed: i32) -> i32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let blocks = blocks.iter().map(|block| u32::from_le_bytes(*block));
    let tail = tail.iter().map(|&byte| i32::from(byte as i8) as u32);
    let mut hash = blocks.chain(tail).fold(seed as u32, |hash, block| {
        let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ block).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_hashed_as_murmurhash3_does() {
        for length in (0..64).step_by(4) {
            let bytes: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(37)).collect();
            for seed in [0, 1, -1] {
                let expected = mur3::murmurhash3_x86_32(&bytes, seed as u32);
                assert_eq!(murmur3(&bytes, seed) as u32, expected);
            }
        }
    }

    #[test]
    fn headers_that_lie_are_errors() {
        let mut bytes = SparkBloom::new(10, 0.1, SparkVersion::V1).unwrap().to_bytes();
        assert!(SparkBloom::from_bytes(&bytes).is_ok());
        assert_eq!(
            SparkBloom::from_bytes(&bytes[..bytes.len() - 1]),
            Err(FormatError::Length { expected: 20, found: 19 })
        );
        assert_eq!(SparkBloom::from_bytes(&bytes[..7]), Err(FormatError::Truncated));
        bytes[4..8].fill(0xff);
        assert!(matches!(SparkBloom::from_bytes(&bytes), Err(FormatError::Parameter(_))));
        bytes[8..12].fill(0xff);
        let expected = 12 + 8 * u64::from(u32::MAX);
        assert_eq!(
            SparkBloom::from_bytes(&bytes),
            Err(FormatError::Length { expected, found: 20 })
        );
        bytes[3] = 3;
        assert!(matches!(SparkBloom::from_bytes(&bytes), Err(FormatError::NotThisFormat { .. })));
    }
}
