//! `BF.*`: a chain of Bloom filters, which grows by a larger one when the last is full.
//!
//! ```text
//!   header   keys u64, links u32, options u32, growth u32
//!   per link bytes u64, bits u64, keys u64, fpr f64, bits per key f64, k u32, capacity u64, n2 u8
//!   then     the bits of each link; bit i is bit i % 8 of byte i / 8
//! ```

use std::fmt;

use crivo::filter::{Full, Operation};
use crivo::theory::estimate::Estimate;
use crivo::{BuildError, ParameterError};
use crivo_core::check::{check_fpr, check_keys, check_positive_real};

use super::{bytes_of, join_chunks, murmur64a, split_chunks};
use crate::bits::{Bits, Table};
use crate::bytes::{Header, le_words, put_le_f64, put_le_u32, put_le_u64, put_le_words, put_u8};
use crate::key::of_this_system;
use crate::{
    ChangeError, Create, ForeignFilter, Format, FormatError, KeyOf, KeyType, KeyTypeError,
    Recognition, TypedKey,
};

/// The bits of the options that we know: no rounding to powers of two, sizes as exponents, hashes of
/// 64 bits, no growth.
const NO_ROUNDING: u32 = 1;
const EXPONENT_SIZES: u32 = 2;
const WIDE_HASHES: u32 = 4;
const NO_SCALING: u32 = 8;

/// How much less errors the next link makes.
const TIGHTENING: f64 = 0.5;

/// What the server takes for the squared logarithm of 2, and for the logarithm.
const LN_2_SQUARED: f64 = 0.480453013918201;
#[allow(clippy::approx_constant)]
const LN_2: f64 = 0.693147180559945;

/// A Bloom filter of RedisBloom. See [the module](super) for what a dump is.
///
/// ```
/// use crivo_formats::redis::RedisBloom;
///
/// let mut filter = RedisBloom::new(100, 0.01, Some(2))?; // BF.RESERVE key 0.01 100 EXPANSION 2
/// for number in 0..1_000 {
///     filter.insert(&format!("item:{number}"))?;
/// }
/// assert!(filter.contains("item:7"));
/// assert_eq!(filter.link_count(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct RedisBloom {
    options: u32,
    growth: u32,
    links: Vec<Link>,
}

/// One Bloom filter of the chain.
#[derive(Clone, PartialEq)]
struct Link {
    table: Table,
    key_count: u64,
    capacity: u64,
    fpr: f64,
    bits_per_key: f64,
    /// If not 0, the bits are numbered by remainders by 2 to the power of this.
    exponent: u8,
}

impl Link {
    fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        let bits_per_key = -(fpr.ln() / LN_2_SQUARED);
        // From 2^64 on the cast saturates, and there is no memory.
        let bits = ((capacity as f64 * bits_per_key) as u64).max(1).checked_next_multiple_of(64);
        let bits = bits.ok_or(BuildError::OutOfMemory { bytes: usize::MAX })?;
        let table = Table::zeroed(bits, (LN_2 * bits_per_key).ceil() as u32)?;
        Ok(Self { table, key_count: 0, capacity, fpr, bits_per_key, exponent: 0 })
    }

    fn positions(&self, hash: Hash) -> impl Iterator<Item = u64> + use<> {
        let modulus = match self.exponent {
            0 => self.table.size_in_bits(),
            exponent => 1 << exponent,
        };
        let mut sum = hash.first;
        (0..self.table.probes()).map(move |_| {
            let position = sum % modulus;
            sum = sum.wrapping_add(hash.step);
            position
        })
    }

    fn contains(&self, hash: Hash) -> bool {
        self.table.contains(self.positions(hash))
    }
}

#[derive(Clone, Copy)]
struct Hash {
    first: u64,
    step: u64,
}

impl Hash {
    fn new(key: &[u8]) -> Self {
        let first = murmur64a(key, 0xc6a4_a793_5bd1_e995);
        Self { first, step: murmur64a(key, first) }
    }
}

impl RedisBloom {
    /// The filter of `BF.RESERVE` with this error rate, capacity and `EXPANSION`; `NONSCALING` if
    /// that is `None`.
    ///
    /// ```
    /// use crivo_formats::redis::RedisBloom;
    ///
    /// let filter = RedisBloom::new(100, 0.01, None)?; // BF.RESERVE key 0.01 100 NONSCALING
    /// assert_eq!((filter.capacity(), filter.expansion()), (100, None));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, the expansion is 0, or there is no
    /// memory.
    pub fn new(capacity: u64, fpr: f64, expansion: Option<u32>) -> Result<Self, BuildError> {
        check_keys(capacity)?;
        check_fpr(fpr)?;
        if expansion == Some(0) {
            return Err(ParameterError::new("expansion", 0, "at least 1").into());
        }
        let scaling = if expansion.is_some() { 0 } else { NO_SCALING };
        let tightening = if expansion.is_some() { TIGHTENING } else { 1.0 };
        // The server takes no larger one.
        let link = Link::new(capacity, fpr.min(0.25) * tightening)?;
        let options = NO_ROUNDING | WIDE_HASHES | scaling;
        Ok(Self { options, growth: expansion.unwrap_or(2), links: vec![link] })
    }

    /// Reads the bytes of all chunks, one after another.
    ///
    /// ```
    /// use crivo_formats::redis::RedisBloom;
    ///
    /// let filter = RedisBloom::new(100, 0.01, Some(2))?;
    /// assert_eq!(RedisBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let key_count = header.le_u64()?;
        let link_count = header.le_u32()?;
        let options = header.le_u32()?;
        let growth = header.le_u32()?;
        if options & WIDE_HASHES == 0 {
            return Err(FormatError::Unsupported("filters with hashes of 32 bits"));
        }
        if options & !(NO_ROUNDING | EXPONENT_SIZES | WIDE_HASHES | NO_SCALING) != 0 {
            return Err(FormatError::Inconsistent("an option is unknown"));
        }
        // Each takes 53 bytes, so that no header makes more of them than there are bytes.
        let headers = (0..link_count).map(|_| LinkHeader::read(&mut header));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let sum = |part: fn(&LinkHeader) -> u64| {
            headers.iter().map(part).try_fold(0u64, u64::checked_add).unwrap_or(u64::MAX)
        };
        if headers.is_empty() || sum(|link| link.key_count) != key_count {
            return Err(FormatError::Inconsistent("the links do not have all keys"));
        }
        let mut tables = header.table(sum(|link| link.bytes), 1)?;
        let mut links = Vec::new();
        for link in &headers {
            let table;
            (table, tables) = tables.split_at(link.bytes as usize);
            links.push(link.with_table(table)?);
        }
        Ok(Self { options, growth, links })
    }

    /// Reads the chunks that `BF.SCANDUMP` gave, with their numbers.
    ///
    /// ```
    /// use crivo_formats::redis::RedisBloom;
    ///
    /// let chunks = RedisBloom::new(100, 0.01, Some(2))?.to_chunks();
    /// let chunks = || chunks.iter().map(|(number, chunk)| (*number, &chunk[..]));
    /// assert!(RedisBloom::from_chunks(chunks()).is_ok());
    /// assert!(RedisBloom::from_chunks(chunks().skip(1)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not such a filter, whole and in their order.
    pub fn from_chunks<'a>(
        chunks: impl IntoIterator<Item = (u64, &'a [u8])>,
    ) -> Result<Self, FormatError> {
        Self::from_bytes(&join_chunks(chunks)?)
    }

    /// The bytes of all chunks, one after another.
    ///
    /// ```
    /// use crivo_formats::redis::RedisBloom;
    ///
    /// let filter = RedisBloom::new(100, 0.01, Some(2))?;
    /// let chunks = filter.to_chunks().into_iter().flat_map(|(_, chunk)| chunk);
    /// assert_eq!(filter.to_bytes(), chunks.collect::<Vec<u8>>());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        self.links.iter().for_each(|link| put_le_words(&mut bytes, link.table.words()));
        bytes
    }

    /// The chunks that `BF.LOADCHUNK` takes, with their numbers.
    ///
    /// ```
    /// use crivo_formats::redis::RedisBloom;
    ///
    /// let mut filter = RedisBloom::new(100, 0.01, Some(2))?;
    /// filter.insert("ana")?;
    /// let chunks = filter.to_chunks(); // BF.LOADCHUNK key NUMBER CHUNK, for each
    /// let chunks = chunks.iter().map(|(number, chunk)| (*number, &chunk[..]));
    /// assert_eq!(RedisBloom::from_chunks(chunks)?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_chunks(&self) -> Vec<(u64, Vec<u8>)> {
        let table = |link: &Link| {
            let mut bytes = Vec::new();
            put_le_words(&mut bytes, link.table.words());
            bytes
        };
        let tables: Vec<_> = self.links.iter().map(table).collect();
        split_chunks(self.header(), tables.iter().map(Vec::as_slice))
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_le_u64(&mut bytes, self.key_count());
        put_le_u32(&mut bytes, self.links.len() as u32);
        put_le_u32(&mut bytes, self.options);
        put_le_u32(&mut bytes, self.growth);
        for link in &self.links {
            let bits = link.table.size_in_bits();
            put_le_u64(&mut bytes, bits / 8);
            put_le_u64(&mut bytes, bits);
            put_le_u64(&mut bytes, link.key_count);
            put_le_f64(&mut bytes, link.fpr);
            put_le_f64(&mut bytes, link.bits_per_key);
            put_le_u32(&mut bytes, link.table.probes());
            put_le_u64(&mut bytes, link.capacity);
            put_u8(&mut bytes, link.exponent);
        }
        bytes
    }

    /// Whether `key` may be a member. `false` is certain.
    ///
    /// ```
    /// let mut filter = crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?;
    /// filter.insert("ana")?;
    /// assert!(filter.contains("ana") && !filter.contains("rui"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains<K: KeyOf<Self> + ?Sized>(&self, key: &K) -> bool {
        of_this_system(self.contains_key(&key.as_key()))
    }

    /// Makes `key` a member, as `BF.ADD` does: `true` if it was certainly new. A key that seems to be
    /// there changes nothing.
    ///
    /// ```
    /// let mut filter = crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?;
    /// assert!(filter.insert("ana")?);
    /// assert!(!filter.insert("ana")?);
    /// assert_eq!(filter.key_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the filter is full and must not grow, or there is no memory for another link. It is as it
    /// was.
    pub fn insert<K: KeyOf<Self> + ?Sized>(&mut self, key: &K) -> Result<bool, ChangeError> {
        self.insert_key(&key.as_key())
    }

    fn insert_hash(&mut self, hash: Hash) -> Result<bool, ChangeError> {
        if self.links.iter().rev().any(|link| link.contains(hash)) {
            return Ok(false);
        }
        let last = self.last();
        if last.key_count >= last.capacity {
            let full = Full::new(self.key_count(), self.capacity());
            if self.options & NO_SCALING != 0 {
                return Err(full.into());
            }
            let capacity = last.capacity.checked_mul(u64::from(self.growth));
            let capacity = capacity.filter(|capacity| *capacity > 0).ok_or(full)?;
            let link = Link::new(capacity, last.fpr * TIGHTENING)?;
            self.links.push(link);
        }
        let last = self.links.last_mut().expect("there is a link");
        last.table.insert(last.positions(hash));
        last.key_count += 1;
        Ok(true)
    }

    fn last(&self) -> &Link {
        self.links.last().expect("there is a link")
    }

    /// How many filters the chain has.
    ///
    /// ```
    /// assert_eq!(crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?.link_count(), 1);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// How many keys were new when they were inserted.
    ///
    /// ```
    /// let mut filter = crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.key_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        self.links.iter().map(|link| link.key_count).sum()
    }

    /// How many keys there can be until the next link is made.
    ///
    /// ```
    /// assert_eq!(crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?.capacity(), 100);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.capacity))
    }

    /// How much larger the next link is; `None` if there is no next one.
    ///
    /// ```
    /// assert_eq!(crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?.expansion(), Some(2));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expansion(&self) -> Option<u32> {
        (self.options & NO_SCALING == 0).then_some(self.growth)
    }

    /// The memory of all tables, in bits.
    ///
    /// ```
    /// let filter = crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?;
    /// assert!(filter.size_in_bits() >= 9 * 100);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        self.links.iter().map(|link| link.table.size_in_bits()).sum()
    }

    /// The false-positive rate of these very tables, from their set bits.
    ///
    /// ```
    /// assert_eq!(crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?.expected_fpr(), 0.0);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected_fpr(&self) -> f64 {
        1.0 - self.links.iter().map(|link| 1.0 - link.table.fill_fpr()).product::<f64>()
    }

    /// The number of different keys, estimated from the set bits, of a chain of one link.
    ///
    /// ```
    /// let mut filter = crivo_formats::redis::RedisBloom::new(100, 0.01, Some(2))?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        let [link] = &self.links[..] else { return None };
        link.table.estimated_key_count()
    }
}

/// What the header says of a link.
struct LinkHeader {
    bytes: u64,
    bits: u64,
    key_count: u64,
    fpr: f64,
    bits_per_key: f64,
    probes: u32,
    capacity: u64,
    exponent: u8,
}

impl LinkHeader {
    fn read(header: &mut Header<'_>) -> Result<Self, FormatError> {
        let link = Self {
            bytes: header.le_u64()?,
            bits: header.le_u64()?,
            key_count: header.le_u64()?,
            fpr: header.le_f64()?,
            bits_per_key: header.le_f64()?,
            probes: header.le_u32()?,
            capacity: header.le_u64()?,
            exponent: header.u8()?,
        };
        check_fpr(link.fpr)?;
        check_positive_real("bits per key", link.bits_per_key)?;
        if link.bytes.checked_mul(8) != Some(link.bits) || !link.bits.is_multiple_of(64) {
            return Err(FormatError::Inconsistent("the bits of a link are not whole words"));
        }
        if link.exponent > 63 || (link.exponent > 0 && link.bits < 1 << link.exponent) {
            return Err(FormatError::Inconsistent("a link has less bits than it uses"));
        }
        if f64::from(link.probes) != (LN_2 * link.bits_per_key).ceil() {
            return Err(FormatError::Inconsistent("k does not follow from the bits per key"));
        }
        Ok(link)
    }

    fn with_table(&self, bytes: &[u8]) -> Result<Link, FormatError> {
        Ok(Link {
            table: Table::new(Bits::from_words(le_words(bytes), self.bits)?, self.probes)?,
            key_count: self.key_count,
            capacity: self.capacity,
            fpr: self.fpr,
            bits_per_key: self.bits_per_key,
            exponent: self.exponent,
        })
    }
}

impl fmt::Debug for RedisBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, links) = (self.key_count(), self.links.len());
        write!(f, "RedisBloom {{ key_count: {keys}, link_count: {links} }}")
    }
}

impl KeyOf<RedisBloom> for str {}
impl KeyOf<RedisBloom> for String {}
impl KeyOf<RedisBloom> for [u8] {}
impl KeyOf<RedisBloom> for Vec<u8> {}

impl ForeignFilter for RedisBloom {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn contains_key(&self, key: &TypedKey<'_>) -> Result<bool, KeyTypeError> {
        let bytes = bytes_of(key, FORMAT.name)?;
        let hash = Hash::new(bytes);
        Ok(self.links.iter().rev().any(|link| link.contains(hash)))
    }

    fn insert_key(&mut self, key: &TypedKey<'_>) -> Result<bool, ChangeError> {
        let bytes = bytes_of(key, FORMAT.name)?;
        self.insert_hash(Hash::new(bytes))
    }

    fn size_in_bits(&self) -> u64 {
        self.size_in_bits()
    }

    fn key_count(&self) -> Option<u64> {
        Some(self.key_count())
    }

    fn estimated_key_count(&self) -> Option<Estimate> {
        self.estimated_key_count()
    }

    fn fill(&self) -> Option<f64> {
        let set: u64 = self.links.iter().map(|link| link.table.count_set_bits()).sum();
        Some(set as f64 / self.size_in_bits() as f64)
    }

    fn expected_fpr(&self) -> f64 {
        self.expected_fpr()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let probes: Vec<_> =
            self.links.iter().map(|link| link.table.probes().to_string()).collect();
        vec![
            ("filters", self.links.len().to_string()),
            ("capacity", self.capacity().to_string()),
            ("expansion", self.expansion().map_or("none".to_owned(), |value| value.to_string())),
            ("k", probes.join(", ")),
        ]
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

pub(crate) const FORMAT: Format = Format {
    name: "redis-bloom",
    description: "RedisBloom, BF.SCANDUMP",
    recognition: Recognition::Structure,
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[Operation::Insert],
    read: |bytes, _| Ok(Box::new(RedisBloom::from_bytes(bytes)?)),
    create: Create::Empty(|n, fpr| Ok(Box::new(RedisBloom::new(n, fpr, Some(2))?))),
};
