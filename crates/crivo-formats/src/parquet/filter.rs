//! One filter: its header and its bits.

use std::fmt;

use crivo::filter::{
    DynamicFilter, Filter, FilterSpec, Full, Incompatible, Operation, RebuildError, SplitBlock,
    SplitBlockSpec,
};
use crivo::theory::estimate::Estimate;
use crivo::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::memory::collected;

use super::thrift::{Struct, Value};
use crate::key::of_this_system;
use crate::{
    ChangeError, Create, ForeignFilter, Format, FormatError, KeyOf, KeyType, KeyTypeError,
    Recognition, TypedKey,
};

/// The largest filter that all readers take: 128 MiB.
///
/// ```
/// use crivo_formats::parquet::{MAX_BLOCKS, ParquetBloom};
///
/// assert_eq!(32 * MAX_BLOCKS, 128 << 20);
/// assert!(ParquetBloom::with_size(MAX_BLOCKS + 1).is_err());
/// ```
pub const MAX_BLOCKS: u64 = 1 << 22;

/// The hash of all Parquet filters.
pub(super) const HASHER: KeyHasher = KeyHasher::xxh64(0);

/// 64-bit words in a block.
const BLOCK_WORDS: usize = 4;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 32;

const NAME: &str = "parquet";

/// The Bloom filter of a column chunk in a Parquet file, as it lies in the file: a header, and the bits
/// of a [`SplitBlock`] filter by XXH64.
///
/// Keys are hashed in their plain encoding without a length: numbers as their bytes in little-endian
/// order, text and bytes as they are. So `5i32` and `5i64` are two keys, and 0.0 and -0.0 too.
///
/// ```
/// use crivo_formats::parquet::ParquetBloom;
///
/// let mut filter = ParquetBloom::new(1_000, 0.01)?;
/// filter.insert("ana");
/// assert!(filter.contains("ana"));
/// assert!(!filter.contains("rui"));
/// assert_eq!(filter.size_in_bits() / 8, 2048); // a power of two
///
/// let bytes = filter.to_bytes(); // as in a file
/// assert_eq!(ParquetBloom::from_bytes(&bytes)?, filter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ParquetBloom {
    /// As it was read.
    header: Vec<u8>,
    filter: SplitBlock,
}

impl ParquetBloom {
    /// The smallest filter for `capacity` keys with at most this false-positive rate whose size is a
    /// power of two: some readers take no other.
    ///
    /// Other writers size by a formula that ignores crowded blocks. Their filters are at most as large
    /// as these, and then exceed the FPR.
    ///
    /// ```
    /// use crivo_formats::parquet::ParquetBloom;
    ///
    /// let filter = ParquetBloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.blocks(), 64); // a power of two
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, the filter would be larger than 128 MiB, or
    /// there is no memory.
    pub fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        let blocks = SplitBlockSpec::for_fpr(capacity, fpr)?.blocks();
        Self::with_size(blocks.next_power_of_two())
    }

    /// A filter of that many blocks of 32 bytes.
    ///
    /// ```
    /// assert_eq!(crivo_formats::parquet::ParquetBloom::with_size(64)?.blocks(), 64);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no block, there are more than 2^22, or there is no memory.
    pub fn with_size(blocks: u64) -> Result<Self, BuildError> {
        if blocks > MAX_BLOCKS {
            let allowed = "at most 2^22: readers take filters of up to 128 MiB";
            return Err(ParameterError::new("number of blocks", blocks, allowed).into());
        }
        Ok(Self::of_split_block(SplitBlock::with_size(blocks, HASHER)?))
    }

    /// The filter with the bits of one that was filled by the library.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::SplitBlock;
    /// use crivo_formats::parquet::ParquetBloom;
    ///
    /// let mut filter = SplitBlock::with_size(64, KeyHasher::xxh64(0))?;
    /// filter.insert("ana");
    /// assert!(ParquetBloom::from_split_block(filter)?.contains("ana"));
    /// let other = SplitBlock::with_size(64, KeyHasher::xxh3(0))?;
    /// assert!(ParquetBloom::from_split_block(other).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it does not hash by XXH64 with seed 0, or is larger than 128 MiB.
    pub fn from_split_block(filter: SplitBlock) -> Result<Self, ParameterError> {
        if filter.hasher() != HASHER {
            let found = filter.hasher().identity();
            return Err(ParameterError::new("hash function", found, "xxh64 with seed 0"));
        }
        if filter.blocks() > MAX_BLOCKS {
            return Err(ParameterError::new("number of blocks", filter.blocks(), "at most 2^22"));
        }
        Ok(Self::of_split_block(filter))
    }

    fn of_split_block(filter: SplitBlock) -> Self {
        let header = header_for(filter.blocks() * BLOCK_BYTES);
        Self { header, filter }
    }

    /// The filter as the library has it, on digests by XXH64.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// filter.insert("ana");
    /// assert!(filter.as_split_block().contains("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn as_split_block(&self) -> &SplitBlock {
        &self.filter
    }

    /// Reads a filter: a header, and the bits that it tells of.
    ///
    /// ```
    /// use crivo_formats::parquet::ParquetBloom;
    ///
    /// let mut filter = ParquetBloom::with_size(64)?;
    /// filter.insert("ana");
    /// assert!(ParquetBloom::from_bytes(&filter.to_bytes())?.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is not one, or not of the one algorithm, hash function and compression that there are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let header = Header::read(bytes)?;
        let expected = header.filter_length();
        if bytes.len() as u64 != expected {
            return Err(FormatError::Length { expected, found: bytes.len() as u64 });
        }
        let (header, bits) = bytes.split_at(header.length);
        let words = collected(bits.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)))?;
        Ok(Self { header: header.to_vec(), filter: SplitBlock::from_words(&words, HASHER)? })
    }

    /// The filter as it lies in a file.
    ///
    /// ```
    /// let filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// assert!((2_048..2_080).contains(&filter.to_bytes().len())); // a short header
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.filter.words().iter().flat_map(|word| word.to_le_bytes());
        self.header.iter().copied().chain(words).collect()
    }

    /// Whether `key` may be a member. `false` is certain.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// filter.insert(&7i32);
    /// assert!(filter.contains(&7i32) && !filter.contains(&7i64));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn contains<K: KeyOf<Self> + ?Sized>(&self, key: &K) -> bool {
        of_this_system(self.contains_key(&key.as_key()))
    }

    /// Makes `key` a member: `true` if it was certainly new.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// assert!(filter.insert("ana"));
    /// assert!(!filter.insert("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn insert<K: KeyOf<Self> + ?Sized>(&mut self, key: &K) -> bool {
        self.filter.insert_digest(of_this_system(digest_of(&key.as_key())))
    }

    /// Makes the key with this digest, which [`HASHER`] made, a member.
    #[cfg(feature = "parquet-write")]
    pub(super) fn put(&mut self, digest: Digest) {
        self.filter.insert_digest(digest);
    }

    /// Takes in the keys of another filter.
    ///
    /// ```
    /// use crivo_formats::parquet::ParquetBloom;
    ///
    /// let (mut ours, mut theirs) = (ParquetBloom::with_size(64)?, ParquetBloom::with_size(64)?);
    /// theirs.insert("ana");
    /// ours.union_with(&theirs)?;
    /// assert!(ours.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the two differ in size. This one is as it was.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Incompatible> {
        match self.filter.union_with(&other.filter) {
            Err(RebuildError::Incompatible(error)) => Err(error),
            // Such filters are never full.
            _ => Ok(()),
        }
    }

    /// The number of blocks of 256 bits.
    ///
    /// ```
    /// assert_eq!(crivo_formats::parquet::ParquetBloom::with_size(64)?.blocks(), 64);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.filter.blocks()
    }

    /// The memory of the bits.
    ///
    /// ```
    /// assert_eq!(crivo_formats::parquet::ParquetBloom::with_size(64)?.size_in_bits(), 64 * 256);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        self.filter.size_in_bits()
    }

    /// How many bits are set. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// filter.insert("ana");
    /// assert_eq!(filter.count_set_bits(), 8);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn count_set_bits(&self) -> u64 {
        self.filter.count_set_bits()
    }

    /// The number of different keys, estimated from the set bits. `None` if a block is full.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::with_size(64)?;
    /// filter.insert("ana");
    /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        self.filter.estimated_key_count()
    }

    /// The false-positive rate of these very bits. It reads the whole table.
    ///
    /// ```
    /// let mut filter = crivo_formats::parquet::ParquetBloom::new(1_000, 0.01)?;
    /// for key in 0..1_000i64 {
    ///     filter.insert(&key);
    /// }
    /// assert!(filter.expected_fpr() < 0.01);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected_fpr(&self) -> f64 {
        self.filter.fill_fpr()
    }
}

impl fmt::Debug for ParquetBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParquetBloom {{ blocks: {} }}", self.blocks())
    }
}

impl KeyOf<ParquetBloom> for i32 {}
impl KeyOf<ParquetBloom> for i64 {}
impl KeyOf<ParquetBloom> for f32 {}
impl KeyOf<ParquetBloom> for f64 {}
impl KeyOf<ParquetBloom> for str {}
impl KeyOf<ParquetBloom> for String {}
impl KeyOf<ParquetBloom> for [u8] {}
impl KeyOf<ParquetBloom> for Vec<u8> {}
impl<const N: usize> KeyOf<ParquetBloom> for [u8; N] {}

/// On digests by XXH64 of a value's plain encoding.
impl Filter for ParquetBloom {
    fn contains_digest(&self, key: Digest) -> bool {
        self.filter.contains_digest(key)
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        self.filter.contains_batch(keys, hits);
    }

    /// Of a filter that was read, an estimate.
    fn key_count(&self) -> u64 {
        self.filter.key_count()
    }

    fn size_in_bits(&self) -> u64 {
        self.filter.size_in_bits()
    }

    fn expected_fpr(&self) -> f64 {
        self.filter.expected_fpr()
    }

    fn hasher(&self) -> KeyHasher {
        HASHER
    }
}

impl DynamicFilter for ParquetBloom {
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        DynamicFilter::insert_digest(&mut self.filter, key)
    }

    fn capacity(&self) -> u64 {
        self.filter.capacity()
    }

    fn clear(&mut self) {
        self.filter.clear();
    }
}

impl ForeignFilter for ParquetBloom {
    fn format(&self) -> &'static str {
        NAME
    }

    fn contains_key(&self, key: &TypedKey<'_>) -> Result<bool, KeyTypeError> {
        Ok(self.filter.contains_digest(digest_of(key)?))
    }

    fn insert_key(&mut self, key: &TypedKey<'_>) -> Result<bool, ChangeError> {
        Ok(self.filter.insert_digest(digest_of(key)?))
    }

    fn union_with_any(&mut self, other: &dyn ForeignFilter) -> Result<(), ChangeError> {
        let other_format = other.format();
        match (other as &dyn std::any::Any).downcast_ref() {
            Some(other) => Ok(self.union_with(other)?),
            None => Err(Incompatible::new("format", NAME, other_format).into()),
        }
    }

    fn size_in_bits(&self) -> u64 {
        self.size_in_bits()
    }

    fn key_count(&self) -> Option<u64> {
        None
    }

    fn estimated_key_count(&self) -> Option<Estimate> {
        self.estimated_key_count()
    }

    fn fill(&self) -> Option<f64> {
        Some(self.count_set_bits() as f64 / self.size_in_bits() as f64)
    }

    fn expected_fpr(&self) -> f64 {
        self.expected_fpr()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("blocks", self.blocks().to_string()), ("k", self.filter.probes().to_string())]
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

/// The digest of a value's plain encoding.
fn digest_of(key: &TypedKey<'_>) -> Result<Digest, KeyTypeError> {
    Ok(match key {
        TypedKey::Int32(number) => HASHER.digest(number),
        TypedKey::Int64(number) => HASHER.digest(number),
        TypedKey::Float(number) => HASHER.digest(&number.to_le_bytes()),
        TypedKey::Double(number) => HASHER.digest(&number.to_le_bytes()),
        TypedKey::Text(text) => HASHER.digest(*text),
        TypedKey::Bytes(bytes) => HASHER.digest(&**bytes),
        _ => return Err(KeyTypeError::new(NAME, key.key_type())),
    })
}

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    description: "the filter of a column chunk in Apache Parquet, taken out of its file",
    recognition: Recognition::Structure,
    key_types: &[
        KeyType::Int32,
        KeyType::Int64,
        KeyType::Float,
        KeyType::Double,
        KeyType::Text,
        KeyType::Bytes,
    ],
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| Ok(Box::new(ParquetBloom::from_bytes(bytes)?)),
    create: Create::Empty(|capacity, fpr| Ok(Box::new(ParquetBloom::new(capacity, fpr)?))),
};

/// What a filter's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The bytes of the header itself.
    pub(super) length: usize,
    /// The bytes of the bits behind it.
    pub(super) bits: u64,
}

impl Header {
    /// More bytes than any header has.
    pub(super) const MAX_LENGTH: u64 = 64;

    /// Reads a header from the beginning of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let not_this =
            |reason| FormatError::NotThisFormat { expected: "a filter of Parquet", reason };
        let start = &bytes[..bytes.len().min(Self::MAX_LENGTH as usize)];
        let (tree, length) = Struct::read(start)?;
        let bits = tree.length(1)?.ok_or(not_this("its header tells no length"))?;
        if bits == 0 || !bits.is_multiple_of(BLOCK_BYTES) {
            return Err(FormatError::Inconsistent("the bits are not whole blocks of 32 bytes"));
        }
        // Each of these is a union, of which there is one variant so far.
        for (id, unknown) in [
            (2, "an algorithm other than split blocks"),
            (3, "a hash function other than XXH64"),
            (4, "compression of the bits"),
        ] {
            let union = tree.structure(id)?.ok_or(not_this("its header has too few fields"))?;
            if union.get(1).is_none() {
                return Err(FormatError::Unsupported(unknown));
            }
        }
        Ok(Self { length, bits })
    }

    /// The bytes of the whole filter.
    pub(super) fn filter_length(&self) -> u64 {
        self.length as u64 + self.bits
    }
}

/// The header of a filter with this many bytes of bits: at most 2^27.
fn header_for(bits: u64) -> Vec<u8> {
    let mut first_variant = Struct::default();
    first_variant.set(1, Value::Struct(Struct::default()));
    let mut header = Struct::default();
    header.set(1, Value::I32(bits as i32));
    for id in 2..=4 {
        header.set(id, Value::Struct(first_variant.clone()));
    }
    header.to_bytes()
}

const _: () = assert!(BLOCK_WORDS as u64 * 8 == BLOCK_BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AsKey;

    #[test]
    fn the_header_is_that_of_other_writers() {
        let bytes = ParquetBloom::with_size(128).unwrap().to_bytes();
        let header = "1580401c1c00001c1c00001c1c000000";
        let ours: String = bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(ours, header);
        assert_eq!(bytes.len(), 16 + 4096);
    }

    #[test]
    fn sizes_are_powers_of_two_unless_asked_otherwise() {
        for keys in [1, 2, 30, 1_000, 12_345] {
            let blocks = ParquetBloom::new(keys, 0.01).unwrap().blocks();
            assert!(blocks.is_power_of_two());
        }
        let odd = ParquetBloom::with_size(3).unwrap();
        assert_eq!(ParquetBloom::from_bytes(&odd.to_bytes()).unwrap(), odd);
        assert!(ParquetBloom::with_size(0).is_err());
        assert!(ParquetBloom::with_size(MAX_BLOCKS + 1).is_err());
        assert!(ParquetBloom::new(1 << 32, 0.01).is_err());
    }

    #[test]
    fn headers_that_lie_are_errors() {
        let good = ParquetBloom::new(10, 0.01).unwrap().to_bytes();
        assert!(ParquetBloom::from_bytes(&good).is_ok());
        for end in 0..good.len() {
            assert!(ParquetBloom::from_bytes(&good[..end]).is_err(), "{end}");
        }
        let error = ParquetBloom::from_bytes(&[&good[..], &[0]].concat()).unwrap_err();
        assert!(matches!(error, FormatError::Length { .. }));
        let header = |bits: i32, unions: i16, variant| {
            let mut union = Struct::default();
            union.set(variant, Value::Struct(Struct::default()));
            let mut header = Struct::default();
            header.set(1, Value::I32(bits));
            (2..2 + unions).for_each(|id| header.set(id, Value::Struct(union.clone())));
            ParquetBloom::from_bytes(&[header.to_bytes(), vec![0; 64]].concat())
        };
        assert!(header(64, 3, 1).is_ok());
        assert!(matches!(header(64, 3, 2), Err(FormatError::Unsupported(_))));
        assert!(matches!(header(64, 2, 1), Err(FormatError::NotThisFormat { .. })));
        assert!(matches!(header(96, 3, 1), Err(FormatError::Length { .. })));
        assert!(matches!(header(i32::MAX - 31, 3, 1), Err(FormatError::Length { .. })));
        for bits in [0, 1, 33, -32] {
            assert!(matches!(header(bits, 3, 1), Err(FormatError::Inconsistent(_))), "{bits}");
        }
    }

    #[test]
    fn only_the_library_s_filters_by_xxh64_are_parquet_filters() {
        let mut filter = SplitBlock::with_size(4, HASHER).unwrap();
        filter.insert(&7i32);
        let ours = ParquetBloom::from_split_block(filter).unwrap();
        assert!(ours.contains(&7i32) && !ours.contains(&7i64));
        assert_eq!(ours.as_split_block().key_count(), 1);
        let other = SplitBlock::with_size(4, KeyHasher::xxh64(1)).unwrap();
        assert_eq!(ParquetBloom::from_split_block(other).unwrap_err().parameter, "hash function");
    }

    #[test]
    fn keys_of_other_types_are_errors() {
        let mut filter = ParquetBloom::new(10, 0.01).unwrap();
        for key in [TypedKey::UInt64(1), TypedKey::Utf16("ana")] {
            assert!(filter.contains_key(&key).is_err() && filter.insert_key(&key).is_err());
        }
        assert!(filter.insert_key(&b"ana".as_key()).unwrap());
        assert!(filter.contains("ana"));
    }
}
