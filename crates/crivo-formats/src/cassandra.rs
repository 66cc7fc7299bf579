//! The `Filter.db` file beside each SSTable of Apache Cassandra.
//!
//! ```text
//!   k, number of words: 32 bits each, big-endian
//!   then the bits: from 4.0 on, bit i is bit i % 8 of byte i / 8;
//!                  before, words of 64 bits, big-endian, in which bit i is bit i % 64 of word i / 64
//! ```
//!
//! The file does not tell its version; the name of the SSTable does.
//!
//! | Cassandra | SSTables | format |
//! |---|---|---|
//! | 1.2 to 2.2 | `ic`, `jb`, `ka`, `la` | [`CassandraVersion::V2`] |
//! | 3.0 to 3.11 | `ma` to `me` | [`CassandraVersion::V3`] |
//! | from 4.0 on | `na`, `nb`, `oa`, `da` | [`CassandraVersion::V4`] |
//!
//! A key is a whole partition key as Cassandra serialises it: numbers big-endian, text in UTF-8. One of
//! several columns is made by [`composite_key`]. The hash is MurmurHash3 x64-128, whose last one to
//! fifteen bytes are taken with their signs.

use crivo::filter::{Incompatible, Operation};
use crivo::{BuildError, ParameterError};
use crivo_core::check::{check_fpr, check_keys};

use crate::bits::{Bits, Table, unless_equal};
use crate::bytes::{Header, be_bytes_of, le_words, put_be_u32, put_le_words};
use crate::methods::{BloomFormat, bloom_methods};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

/// A version of Cassandra's format.
///
/// ```
/// use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};
///
/// // The order of the bytes differs.
/// let mut bytes = Vec::new();
/// for version in [CassandraVersion::V3, CassandraVersion::V4] {
///     let mut filter = CassandraBloom::new(1_000, 0.01, version)?;
///     filter.insert("ana");
///     bytes.push(filter.to_bytes());
/// }
/// assert_ne!(bytes[0], bytes[1]);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CassandraVersion {
    /// From 1.2 to 2.2.
    V2,
    /// 3.0 and 3.11.
    V3,
    /// From 4.0 on.
    V4,
}

impl CassandraVersion {
    const fn name(self) -> &'static str {
        match self {
            Self::V2 => "cassandra-2",
            Self::V3 => "cassandra-3",
            Self::V4 => "cassandra",
        }
    }
}

/// A `Filter.db` of Apache Cassandra.
///
/// ```
/// use crivo_formats::cassandra::{CassandraBloom, CassandraVersion, composite_key};
///
/// let mut filter = CassandraBloom::new(1_000, 0.01, CassandraVersion::V4)?;
/// filter.insert("ana"); // PRIMARY KEY (name)
/// filter.insert(&composite_key([b"ana".as_slice(), &[0, 0, 0, 7]])?); // PRIMARY KEY ((name, number))
/// assert!(filter.contains("ana"));
/// assert!(!filter.contains(&7i32));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CassandraBloom {
    version: CassandraVersion,
    table: Table,
}

impl CassandraBloom {
    /// The filter that Cassandra makes for `capacity` partitions and this
    /// `bloom_filter_fp_chance`.
    ///
    /// ```
    /// use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};
    ///
    /// let filter = CassandraBloom::new(1_000, 0.01, CassandraVersion::V4)?;
    /// assert!(filter.size_in_bits() >= 10 * 1_000); // ten bits per key
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1 or is below 0.0000671, the least that
    /// Cassandra has, or there is no memory.
    pub fn new(capacity: u64, fpr: f64, version: CassandraVersion) -> Result<Self, BuildError> {
        check_keys(capacity)?;
        check_fpr(fpr)?;
        let (bits_per_key, probes) = dimensions(fpr)?;
        let bits = capacity.checked_mul(bits_per_key).and_then(|bits| bits.checked_add(20));
        let words = bits.map(|bits| bits.div_ceil(64)).filter(|words| *words <= i32::MAX as u64);
        let words = words.ok_or_else(|| {
            ParameterError::new("capacity", capacity, "small enough for 2^37 bits")
        })?;
        Ok(Self { version, table: Table::zeroed(64 * words, probes)? })
    }

    /// Reads a filter of this version.
    ///
    /// ```
    /// use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};
    ///
    /// let filter = CassandraBloom::new(1_000, 0.01, CassandraVersion::V4)?;
    /// let copy = CassandraBloom::from_bytes(&filter.to_bytes(), CassandraVersion::V4)?;
    /// assert_eq!(copy, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8], version: CassandraVersion) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let probes = header.be_u32()?;
        if version != CassandraVersion::V4 {
            return Ok(Self { version, table: Table::read_java(header, probes)? });
        }
        let word_count = u64::from(header.be_u32()?);
        let bits = Bits::from_words(le_words(header.table(word_count, 8)?), 64 * word_count)?;
        Ok(Self { version, table: Table::new(bits, probes)? })
    }

    /// The version of the format.
    ///
    /// ```
    /// use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};
    ///
    /// let filter = CassandraBloom::new(1_000, 0.01, CassandraVersion::V3)?;
    /// assert_eq!(filter.version(), CassandraVersion::V3);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn version(&self) -> CassandraVersion {
        self.version
    }
}

/// A partition key of several columns, each in its own serialisation: behind its length in 16 bits,
/// big-endian, and in front of a byte 0.
///
/// ```
/// use crivo_formats::cassandra::composite_key;
///
/// let key = composite_key([b"ana".as_slice(), &[0, 0, 0, 7]])?;
/// assert_eq!(key, b"\x00\x03ana\x00\x00\x04\x00\x00\x00\x07\x00");
/// assert!(composite_key([[0; 65_536].as_slice()]).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If a column has more than 65,535 bytes, which Cassandra does not allow.
pub fn composite_key<'a>(
    columns: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, ParameterError> {
    let mut key = Vec::new();
    for column in columns {
        let length = u16::try_from(column.len()).map_err(|_| {
            ParameterError::new("length of a column", column.len(), "at most 65535 bytes")
        })?;
        key.extend([(length >> 8) as u8, length as u8]);
        key.extend(column);
        key.push(0);
    }
    Ok(key)
}

/// Bits per key and k for an FPR: the smallest table that has it, and then the smallest k.
fn dimensions(fpr: f64) -> Result<(u64, u32), ParameterError> {
    if fpr >= published_fpr(2, 1) {
        // So it is in Cassandra, although one bit per key and two probes do not have that FPR.
        return Ok((1, 2));
    }
    for bits in 2..=20 {
        let mut probes = best_probes(bits);
        if published_fpr(bits, probes) <= fpr {
            while published_fpr(bits, probes - 1) <= fpr {
                probes -= 1;
            }
            return Ok((u64::from(bits), probes));
        }
    }
    Err(ParameterError::of_real("fpr", fpr, "at least 0.0000671, the least that Cassandra has"))
}

/// (1 − e^(−k/b))^k, rounded as in the published table that Cassandra goes by: to three digits, or
/// to three decimals where there are up to five bits per key.
fn published_fpr(bits: u32, probes: u32) -> f64 {
    let (bits, probes) = (f64::from(bits), f64::from(probes));
    let exact = (1.0 - (-probes / bits).exp()).powf(probes);
    let decimals = if bits <= 5.0 { 3 } else { (2.0 - exact.log10().floor()) as usize };
    format!("{exact:.decimals$}").parse().expect("digits are a number")
}

/// The k with the least FPR in that table, or the first of several.
fn best_probes(bits: u32) -> u32 {
    let better = |best: u32, k: u32| {
        if published_fpr(bits, k) < published_fpr(bits, best) { k } else { best }
    };
    (1..=bits).fold(1, better)
}

impl BloomFormat for CassandraBloom {
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
        let (low, high) = match key {
            TypedKey::Text(key) => murmur3(key.as_bytes()),
            TypedKey::Bytes(key) => murmur3(key),
            key => murmur3(be_bytes_of(key)?.as_ref()),
        };
        let (mut sum, step) = match self.version {
            CassandraVersion::V2 => (low, high),
            CassandraVersion::V3 | CassandraVersion::V4 => (high, low),
        };
        let bits = self.table.size_in_bits() as i64;
        Some((0..self.table.probes()).map(move |_| {
            let position = (sum as i64 % bits).unsigned_abs();
            sum = sum.wrapping_add(step);
            position
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("version", self.name(), other.name())
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_be_u32(&mut bytes, self.table.probes());
        match self.version {
            CassandraVersion::V4 => {
                put_be_u32(&mut bytes, self.table.words().len() as u32);
                put_le_words(&mut bytes, self.table.words());
            }
            CassandraVersion::V2 | CassandraVersion::V3 => self.table.put_java(&mut bytes),
        }
        bytes
    }
}

bloom_methods! {
    CassandraBloom,
    keys: [i32, i64, f32, f64, str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};\n\
              let mut filter = CassandraBloom::new(1_000, 0.01, CassandraVersion::V4)?;",
}

const KEY_TYPES: &[KeyType] = &[
    KeyType::Int32,
    KeyType::Int64,
    KeyType::Float,
    KeyType::Double,
    KeyType::Text,
    KeyType::Bytes,
];

macro_rules! row {
    ($constant:ident, $version:expr, $description:literal) => {
        pub(crate) const $constant: Format = Format {
            name: $version.name(),
            description: $description,
            recognition: Recognition::Structure,
            key_types: KEY_TYPES,
            operations: &[Operation::Insert, Operation::Union],
            read: |bytes, _| Ok(Box::new(CassandraBloom::from_bytes(bytes, $version)?)),
            create: Create::Empty(|n, fpr| Ok(Box::new(CassandraBloom::new(n, fpr, $version)?))),
        };
    };
}

row!(V4_FORMAT, CassandraVersion::V4, "Filter.db of Apache Cassandra from 4.0 on");
row!(V3_FORMAT, CassandraVersion::V3, "Filter.db of Apache Cassandra 3");
row!(V2_FORMAT, CassandraVersion::V2, "Filter.db of Apache Cassandra 1.2 to 2.2");

/// MurmurHash3 x64-128 with seed 0, but for the last one to fifteen bytes: each is taken with its
/// sign, so that one from 128 on inverts all bits above it.
fn murmur3(bytes: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix_low = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix_high = |word: u64| word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);

    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut low, mut high) = (0u64, 0u64);
    for block in blocks {
        let block = u128::from_le_bytes(*block);
        low = (low ^ mix_low(block as u64)).rotate_left(27).wrapping_add(high);
        low = low.wrapping_mul(5).wrapping_add(0x52dc_e729);
        high = (high ^ mix_high((block >> 64) as u64)).rotate_left(31).wrapping_add(low);
        high = high.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let signed = |bytes: &[u8]| {
        bytes.iter().rev().fold(0, |word, &byte| (word << 8) ^ i64::from(byte as i8)) as u64
    };
    let (tail_low, tail_high) = tail.split_at(tail.len().min(8));
    low ^= mix_low(signed(tail_low));
    high ^= mix_high(signed(tail_high));

    let length = bytes.len() as u64;
    let (low, high) = (low ^ length, high ^ length);
    let low = low.wrapping_add(high);
    let high = high.wrapping_add(low);
    let (low, high) = (finish(low), finish(high));
    let low = low.wrapping_add(high);
    (low, high.wrapping_add(low))
}

fn finish(mut word: u64) -> u64 {
    word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_below_128_are_hashed_as_murmurhash3_does() {
        for length in 0..100 {
            let bytes: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(37) % 128).collect();
            assert_eq!(murmur3(&bytes), mur3::murmurhash3_x64_128(&bytes, 0), "{length}");
        }
        let (high, whole) = ([255; 16], [255; 15]);
        assert_eq!(murmur3(&high), mur3::murmurhash3_x64_128(&high, 0));
        assert_ne!(murmur3(&whole), mur3::murmurhash3_x64_128(&whole, 0));
    }

    /// What Cassandra 5.0.8 wrote for tables with these chances and 1,000 partitions.
    #[test]
    fn dimensions_are_those_of_the_server() {
        for (fpr, probes, words) in [(0.01, 5, 157), (0.1, 3, 79), (0.0001, 10, 313)] {
            let filter = CassandraBloom::new(1_000, fpr, CassandraVersion::V4).unwrap();
            assert_eq!((filter.probes(), filter.size_in_bits() / 64), (probes, words), "{fpr}");
        }
        assert_eq!(dimensions(0.000_067_1), Ok((20, 14)));
        assert!(dimensions(0.000_067).is_err());
        assert_eq!(dimensions(0.393), Ok((1, 2)));
        assert_eq!(dimensions(0.392), Ok((3, 1)));
    }
}
