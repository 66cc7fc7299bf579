//! The Bloom filter of Apache DataSketches, in Java and in C++.
//!
//! ```text
//!   preamble words u8 (3 or 4), version u8 (1), family u8 (21), flags u8 (4: empty), k u16, 0 u16
//!   seed u64
//!   number of words u32, 0 u32
//!   unless empty: number of set bits u64, or −1 if it was not counted; words of 64 bits
//! ```
//!
//! All numbers are little-endian. An empty filter is stored without its table.
//!
//! Integers of all widths are hashed as 64 bits, real numbers as `f64`, where −0 is 0 and every NaN the
//! same; text in UTF-8. The hash is XXH64. **Keys of no bytes are left out**: the system inserts none,
//! and answers that none is there.

use crivo::filter::{Incompatible, Operation};
use crivo::{BuildError, ParameterError};
use xxhash_rust::xxh64::xxh64;

use crate::bits::{Bits, Table, textbook_bits, unless_equal};
use crate::bytes::{Header, le_words, put_le_u16, put_le_u32, put_le_u64, put_le_words};
use crate::methods::{BloomFormat, bloom_methods};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

const VERSION: u8 = 1;
const FAMILY: u8 = 21;
const EMPTY: u8 = 4;
const NOT_COUNTED: u64 = u64::MAX;

/// The most words of an empty filter, whose file is too short to prove that they are meant: 128 MiB.
const MAX_EMPTY_WORDS: u64 = 1 << 24;

/// A Bloom filter of Apache DataSketches.
///
/// ```
/// use crivo_formats::datasketches::DataSketchesBloom;
///
/// let mut filter = DataSketchesBloom::new(1_000, 0.01, 9_001)?;
/// filter.insert(&42i64);
/// assert!(filter.contains(&42i32)); // all integers are hashed as 64 bits
/// assert!(!filter.contains("42"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSketchesBloom {
    table: Table,
    seed: u64,
    /// Whether the file says how many bits are set.
    is_counted: bool,
}

impl DataSketchesBloom {
    /// The filter that DataSketches makes for `capacity` keys, this false-positive rate and this
    /// seed. Filters can be merged only if their seeds are equal.
    ///
    /// ```
    /// use crivo_formats::datasketches::DataSketchesBloom;
    ///
    /// let filter = DataSketchesBloom::new(1_000, 0.01, 9_001)?;
    /// assert_eq!((filter.probes(), filter.seed()), (7, 9_001));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, the system has no filter of that size,
    /// or there is no memory.
    pub fn new(capacity: u64, fpr: f64, seed: u64) -> Result<Self, BuildError> {
        let bits = textbook_bits(capacity, fpr)?.ceil() as u64;
        let probes = (-fpr.ln() / std::f64::consts::LN_2).ceil().max(1.0);
        Self::with_size(bits, probes as u32, seed)
    }

    /// A filter of `bits` bits, rounded up to whole words, with `probes` of them per key.
    ///
    /// ```
    /// use crivo_formats::datasketches::DataSketchesBloom;
    ///
    /// assert_eq!(DataSketchesBloom::with_size(1_000, 4, 9_001)?.size_in_bits(), 1_024);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bits or more than 2^31 words, no probes or more than 65,535, or there is no
    /// memory.
    pub fn with_size(bits: u64, probes: u32, seed: u64) -> Result<Self, BuildError> {
        if bits.div_ceil(64) > i32::MAX as u64 {
            return Err(ParameterError::new("bits", bits, "at most 2^37 - 64").into());
        }
        let table = Table::zeroed(bits.next_multiple_of(64), probes)?;
        Ok(Self { table, seed, is_counted: true })
    }

    /// Reads a filter from what `toByteArray` or `serialize` gave.
    ///
    /// ```
    /// use crivo_formats::datasketches::DataSketchesBloom;
    ///
    /// let filter = DataSketchesBloom::new(1_000, 0.01, 9_001)?;
    /// assert_eq!(filter.to_bytes().len(), 24); // without its table, as it is empty
    /// assert_eq!(DataSketchesBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let expected = "a Bloom filter of DataSketches";
        let not_this_format = |reason| Err(FormatError::NotThisFormat { expected, reason });
        let mut header = Header::new(bytes);
        let [preamble, version, family, flags] =
            [header.u8()?, header.u8()?, header.u8()?, header.u8()?];
        if family != FAMILY {
            return not_this_format("it is of another family");
        }
        if version != VERSION {
            return not_this_format("its version is unknown");
        }
        let is_empty = flags & EMPTY != 0;
        if flags & !EMPTY != 0 || preamble != if is_empty { 3 } else { 4 } {
            return not_this_format("its preamble or its flags are unknown");
        }
        let (probes, unused) = (u32::from(header.le_u16()?), header.le_u16()?);
        let seed = header.le_u64()?;
        let (word_count, also_unused) = (u64::from(header.le_u32()?), header.le_u32()?);
        if (unused, also_unused) != (0, 0) {
            return Err(FormatError::Inconsistent("bytes without a meaning are not 0"));
        }
        if is_empty {
            header.table(0, 1)?;
            if word_count > MAX_EMPTY_WORDS {
                return Err(FormatError::Unsupported("empty filters of more than 128 MiB"));
            }
            let table = Table::zeroed(64 * word_count, probes)?;
            return Ok(Self { table, seed, is_counted: true });
        }
        let set_bits = header.le_u64()?;
        let words = le_words(header.table(word_count, 8)?);
        let table = Table::new(Bits::from_words(words, 64 * word_count)?, probes)?;
        let is_counted = set_bits != NOT_COUNTED;
        if is_counted && set_bits != table.count_set_bits() {
            return Err(FormatError::Inconsistent("the number of set bits is another one"));
        }
        if set_bits == 0 {
            return Err(FormatError::Inconsistent("it is empty, and does not say so"));
        }
        Ok(Self { table, seed, is_counted })
    }

    /// The seed of the hash function.
    ///
    /// ```
    /// use crivo_formats::datasketches::DataSketchesBloom;
    ///
    /// assert_eq!(DataSketchesBloom::new(1_000, 0.01, 9_001)?.seed(), 9_001);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The two hashes of a key, or `None` if the system has no such keys.
    fn hashes(&self, key: &TypedKey<'_>) -> Option<(u64, u64)> {
        let hash = |bytes: &[u8]| {
            let first = xxh64(bytes, self.seed);
            (first, xxh64(bytes, first))
        };
        Some(match key {
            TypedKey::Int32(key) => hash(&i64::from(*key).to_le_bytes()),
            TypedKey::Int64(key) => hash(&key.to_le_bytes()),
            TypedKey::UInt64(key) => hash(&key.to_le_bytes()),
            TypedKey::Float(key) => hash(&canonical(f64::from(*key)).to_le_bytes()),
            TypedKey::Double(key) => hash(&canonical(*key).to_le_bytes()),
            TypedKey::Text(key) => hash(key.as_bytes()),
            TypedKey::Bytes(key) => hash(key),
            _ => return None,
        })
    }
}

/// The one zero and the one NaN, in bits.
fn canonical(number: f64) -> u64 {
    if number.is_nan() {
        0x7ff8_0000_0000_0000
    } else if number == 0.0 {
        0
    } else {
        number.to_bits()
    }
}

impl BloomFormat for DataSketchesBloom {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    fn leaves_out(&self, key: &TypedKey<'_>) -> bool {
        match key {
            TypedKey::Text(key) => key.is_empty(),
            TypedKey::Bytes(key) => key.is_empty(),
            _ => false,
        }
    }

    #[inline]
    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<>> {
        let (first, step) = self.hashes(key)?;
        let bits = self.table.size_in_bits();
        let mut sum = first;
        Some((0..self.table.probes()).map(move |_| {
            sum = sum.wrapping_add(step);
            (sum >> 1) % bits
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("seed", self.seed, other.seed)
    }

    // The system counts the bits when it merges, but not when it inserts.
    fn inserted(&mut self, _is_new: bool) {
        self.is_counted = false;
    }

    fn united(&mut self, _other: &Self) {
        self.is_counted = true;
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        vec![("seed", self.seed.to_string())]
    }

    fn encode(&self) -> Vec<u8> {
        let set_bits = self.table.count_set_bits();
        let is_empty = set_bits == 0 && self.is_counted;
        let mut bytes = Vec::new();
        let (preamble, flags) = if is_empty { (3, EMPTY) } else { (4, 0) };
        bytes.extend([preamble, VERSION, FAMILY, flags]);
        put_le_u16(&mut bytes, self.table.probes() as u16);
        put_le_u16(&mut bytes, 0);
        put_le_u64(&mut bytes, self.seed);
        put_le_u32(&mut bytes, self.table.words().len() as u32);
        put_le_u32(&mut bytes, 0);
        if !is_empty {
            put_le_u64(&mut bytes, if self.is_counted { set_bits } else { NOT_COUNTED });
            put_le_words(&mut bytes, self.table.words());
        }
        bytes
    }
}

bloom_methods! {
    DataSketchesBloom,
    keys: [i32, i64, u64, f32, f64, str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::datasketches::DataSketchesBloom;\n\
              let mut filter = DataSketchesBloom::new(1_000, 0.01, 0)?;",
}

pub(crate) const FORMAT: Format = Format {
    name: "datasketches",
    description: "Apache DataSketches, in Java and C++",
    recognition: Recognition::Magic(&[&[4, VERSION, FAMILY, 0], &[3, VERSION, FAMILY, EMPTY]]),
    key_types: &[
        KeyType::Int32,
        KeyType::Int64,
        KeyType::UInt64,
        KeyType::Float,
        KeyType::Double,
        KeyType::Text,
        KeyType::Bytes,
    ],
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| Ok(Box::new(DataSketchesBloom::from_bytes(bytes)?)),
    create: Create::Empty(|n, fpr| Ok(Box::new(DataSketchesBloom::new(n, fpr, 0)?))),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_filter_is_stored_without_its_table() {
        let filter = DataSketchesBloom::new(1_000, 0.01, 7).unwrap();
        let mut bytes = filter.to_bytes();
        assert_eq!(bytes.len(), 24);
        assert_eq!(DataSketchesBloom::from_bytes(&bytes), Ok(filter));
        bytes[16..20].fill(0x7f);
        let error = DataSketchesBloom::from_bytes(&bytes).unwrap_err();
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
    }

    #[test]
    fn keys_of_no_bytes_are_left_out() {
        let mut filter = DataSketchesBloom::new(10, 0.1, 0).unwrap();
        assert!(!filter.insert(""));
        assert!(!filter.contains("") && !filter.contains(&[][..]));
        assert_eq!(filter.count_set_bits(), 0);
    }

    #[test]
    fn zeros_are_one_key_and_nans_are_another() {
        let mut filter = DataSketchesBloom::new(10, 0.001, 0).unwrap();
        filter.insert(&-0.0f64);
        assert!(filter.contains(&0.0f32));
        assert!(!filter.contains(&f64::NAN));
        filter.insert(&-f64::NAN);
        assert!(filter.contains(&f32::NAN));
    }

    #[test]
    fn a_count_that_is_wrong_is_an_error_and_one_that_was_not_made_is_not() {
        let mut filter = DataSketchesBloom::new(10, 0.1, 0).unwrap();
        filter.insert("ana");
        let mut bytes = filter.to_bytes();
        assert_eq!(bytes[24..32], NOT_COUNTED.to_le_bytes());
        assert_eq!(DataSketchesBloom::from_bytes(&bytes), Ok(filter.clone()));
        bytes[24..32].copy_from_slice(&filter.count_set_bits().to_le_bytes());
        let counted = DataSketchesBloom::from_bytes(&bytes).unwrap();
        assert_eq!(counted.to_bytes(), bytes);
        bytes[24] += 1;
        assert!(DataSketchesBloom::from_bytes(&bytes).is_err());
    }
}
