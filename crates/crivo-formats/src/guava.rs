//! Guava's `BloomFilter`, as its `writeTo` writes it.
//!
//! ```text
//!   strategy (1 byte), k (1 byte), number of words (32 bits, big-endian), words (64 bits, big-endian)
//! ```
//!
//! Two strategies exist: 0, `MURMUR128_MITZ_32`, of filters that were made before Guava 16, and 1,
//! `MURMUR128_MITZ_64`, of all since. Both hash by MurmurHash3 x64-128.
//!
//! A *funnel* turns a key into bytes. The file does not name it. These are Guava's own:
//!
//! | funnel | key |
//! |---|---|
//! | `integerFunnel()`, `longFunnel()` | `i32`, `i64` |
//! | `stringFunnel(UTF_8)` | `str` |
//! | `unencodedCharsFunnel()` | [`Utf16`] |
//! | `byteArrayFunnel()` | `[u8]` |

use crivo::BuildError;
use crivo::filter::{Incompatible, Operation};

use crate::bits::{Table, textbook_bits, unless_equal};
use crate::bytes::{Header, put_u8};
use crate::methods::{BloomFormat, bloom_methods, of_format};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey, Utf16};

/// How Guava makes bits of a hash.
///
/// ```
/// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
///
/// // The strategy is the first byte.
/// let filter = GuavaBloom::new(1_000, 0.03, GuavaStrategy::Mitz64)?;
/// assert_eq!(filter.to_bytes()[0], 1);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuavaStrategy {
    /// By sums of 32 bits, from half of the hash. Filters made before Guava 16 have it.
    Mitz32,
    /// By sums of 64 bits, from the whole hash.
    Mitz64,
}

/// A Bloom filter of Guava.
///
/// ```
/// use crivo_formats::Utf16;
/// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
///
/// let mut filter = GuavaBloom::new(1_000, 0.03, GuavaStrategy::Mitz64)?;
/// filter.insert(&Utf16("ana")); // unencodedCharsFunnel
/// assert!(filter.contains(&Utf16("ana")));
/// assert!(!filter.contains("ana")); // stringFunnel(UTF_8)
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuavaBloom {
    strategy: GuavaStrategy,
    table: Table,
}

impl GuavaBloom {
    /// The filter that Guava makes for `capacity` keys and this false-positive rate, from version
    /// 33.4 on; older ones may have chosen another k.
    ///
    /// ```
    /// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
    ///
    /// let filter = GuavaBloom::new(1_000, 0.03, GuavaStrategy::Mitz64)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (7_360, 5));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, Guava has no filter of that size, or
    /// there is no memory.
    pub fn new(capacity: u64, fpr: f64, strategy: GuavaStrategy) -> Result<Self, BuildError> {
        let bits = textbook_bits(capacity, fpr)? as u64;
        let probes = (-fpr.ln() / std::f64::consts::LN_2).round().max(1.0);
        Self::with_size(bits, probes as u32, strategy)
    }

    /// A filter of `bits` bits, rounded up to whole words, with `probes` of them per key.
    ///
    /// ```
    /// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
    ///
    /// let filter = GuavaBloom::with_size(1_000, 4, GuavaStrategy::Mitz64)?;
    /// assert_eq!((filter.size_in_bits(), filter.probes()), (1_024, 4));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits or more than 2^31 words, the probes are not from 1 to 255, or there is
    /// no memory.
    pub fn with_size(bits: u64, probes: u32, strategy: GuavaStrategy) -> Result<Self, BuildError> {
        crivo_core::check::check_probes(probes)?;
        Ok(Self { strategy, table: Table::zeroed_java(bits, probes)? })
    }

    /// Reads a filter from what `writeTo` wrote.
    ///
    /// ```
    /// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
    ///
    /// let filter = GuavaBloom::with_size(1_000, 4, GuavaStrategy::Mitz64)?;
    /// assert_eq!(GuavaBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let strategy = match header.u8()? {
            0 => GuavaStrategy::Mitz32,
            1 => GuavaStrategy::Mitz64,
            _ => {
                return Err(FormatError::NotThisFormat {
                    expected: "a filter of Guava",
                    reason: "its strategy is neither 0 nor 1",
                });
            }
        };
        let probes = u32::from(header.u8()?);
        Ok(Self { strategy, table: Table::read_java(header, probes)? })
    }

    /// How it makes bits of a hash.
    ///
    /// ```
    /// use crivo_formats::guava::{GuavaBloom, GuavaStrategy};
    ///
    /// let filter = GuavaBloom::with_size(1_000, 4, GuavaStrategy::Mitz32)?;
    /// assert_eq!(filter.strategy(), GuavaStrategy::Mitz32);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn strategy(&self) -> GuavaStrategy {
        self.strategy
    }
}

impl BloomFormat for GuavaBloom {
    fn name(&self) -> &'static str {
        match self.strategy {
            GuavaStrategy::Mitz32 => "guava-mitz32",
            GuavaStrategy::Mitz64 => "guava",
        }
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    #[inline]
    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<>> {
        let hash = |bytes: &[u8]| mur3::murmurhash3_x64_128(bytes, 0);
        let (low, high) = match key {
            TypedKey::Int32(key) => hash(&key.to_le_bytes()),
            TypedKey::Int64(key) => hash(&key.to_le_bytes()),
            TypedKey::Text(key) => hash(key.as_bytes()),
            TypedKey::Utf16(key) => {
                hash(&key.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
            }
            TypedKey::Bytes(key) => hash(key),
            _ => return None,
        };
        let (strategy, bits) = (self.strategy, self.table.size_in_bits());
        let mut sum = low;
        Some((0..self.table.probes()).map(move |_| match strategy {
            GuavaStrategy::Mitz32 => {
                sum = u64::from((sum as u32).wrapping_add((low >> 32) as u32));
                let signed = sum as u32 as i32;
                u64::from(if signed < 0 { !signed } else { signed } as u32) % bits
            }
            GuavaStrategy::Mitz64 => {
                let position = (sum & i64::MAX as u64) % bits;
                sum = sum.wrapping_add(high);
                position
            }
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("strategy", self.name(), other.name())
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_u8(&mut bytes, if self.strategy == GuavaStrategy::Mitz32 { 0 } else { 1 });
        // At most 255: that is checked where a filter is made, and the header has no more.
        put_u8(&mut bytes, self.table.probes() as u8);
        self.table.put_java(&mut bytes);
        bytes
    }
}

bloom_methods! {
    GuavaBloom,
    keys: [i32, i64, str, String, Utf16<'_>, [u8], Vec<u8>],
    example: "# use crivo_formats::guava::{GuavaBloom, GuavaStrategy};\n\
              let mut filter = GuavaBloom::new(1_000, 0.03, GuavaStrategy::Mitz64)?;",
}

const KEY_TYPES: &[KeyType] =
    &[KeyType::Int32, KeyType::Int64, KeyType::Text, KeyType::Utf16, KeyType::Bytes];

pub(crate) const MITZ64_FORMAT: Format = Format {
    name: "guava",
    description: "Guava from 16 on",
    recognition: Recognition::Structure,
    key_types: KEY_TYPES,
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| of_format(GuavaBloom::from_bytes(bytes)?, MITZ64_FORMAT.name),
    create: Create::Empty(|n, fpr| Ok(Box::new(GuavaBloom::new(n, fpr, GuavaStrategy::Mitz64)?))),
};

pub(crate) const MITZ32_FORMAT: Format = Format {
    name: "guava-mitz32",
    description: "Guava before 16",
    recognition: Recognition::Structure,
    key_types: KEY_TYPES,
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| of_format(GuavaBloom::from_bytes(bytes)?, MITZ32_FORMAT.name),
    create: Create::Empty(|n, fpr| Ok(Box::new(GuavaBloom::new(n, fpr, GuavaStrategy::Mitz32)?))),
};
