//! `CF.*`: a cuckoo filter with fingerprints of eight bits, which grows by another table when there
//! is no place.
//!
//! ```text
//!   header  keys, buckets, removals, tables: u64; slots per bucket, maximum of moves, expansion: u16
//!   then    the fingerprints of each table, a byte for each slot; 0 is empty
//! ```
//!
//! Table j has buckets · expansion^j buckets. All are powers of two.

use std::fmt;

use crivo::filter::{Full, NotPresent, Operation};
use crivo::{BuildError, ParameterError};
use crivo_core::check::check_keys;

use super::{bytes_of, join_chunks, murmur64a, split_chunks};
use crate::bytes::{Header, put_le_u16, put_le_u64};
use crate::key::of_this_system;
use crate::{
    ChangeError, Create, ForeignFilter, Format, FormatError, KeyOf, KeyType, KeyTypeError,
    Recognition, TypedKey,
};

/// The most bytes of a table. The server counts them in 32 bits, so that larger ones are wrong there.
const MAX_TABLE: u64 = 1 << 32;

/// What `CF.RESERVE` may be told besides the capacity.
///
/// ```
/// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
///
/// // CF.RESERVE key 1000 BUCKETSIZE 4
/// let options = RedisCuckooOptions { bucket_size: 4, ..RedisCuckooOptions::default() };
/// assert_eq!(RedisCuckoo::new(1_000, options)?.options().bucket_size, 4);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisCuckooOptions {
    /// `BUCKETSIZE`: slots per bucket, from 1 to 255. More of them make more false positives.
    pub bucket_size: u16,
    /// `MAXITERATIONS`: how many fingerprints are moved to make place, before the filter grows.
    pub max_moves: u16,
    /// `EXPANSION`: how much larger the next table is, rounded up to a power of two; 0 if there must
    /// be none.
    pub expansion: u16,
}

impl Default for RedisCuckooOptions {
    /// The server's own: 2, 20 and 1.
    fn default() -> Self {
        Self { bucket_size: 2, max_moves: 20, expansion: 1 }
    }
}

/// A cuckoo filter of RedisBloom. See [the module](super) for what a dump is.
///
/// ```
/// use crivo_formats::redis::{RedisCuckooOptions, RedisCuckoo};
///
/// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?; // CF.RESERVE key 1000
/// filter.insert("ana")?;
/// filter.insert("ana")?;
/// assert_eq!(filter.count("ana"), 2);
/// filter.remove("ana")?;
/// assert!(filter.contains("ana"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisCuckoo {
    options: RedisCuckooOptions,
    /// Of the first table.
    bucket_count: u64,
    key_count: u64,
    removal_count: u64,
    tables: Vec<Slots>,
}

/// A table.
#[derive(Clone, PartialEq, Eq)]
struct Slots {
    bytes: Vec<u8>,
    bucket_size: usize,
}

/// A fingerprint, and a number that tells its buckets in every table.
#[derive(Clone, Copy)]
struct Entry {
    fingerprint: u8,
    hash: u64,
}

impl Entry {
    fn new(key: &[u8]) -> Self {
        let hash = murmur64a(key, 0);
        Self { fingerprint: (hash % 255 + 1) as u8, hash }
    }

    fn other_hash(self) -> u64 {
        self.hash ^ (u64::from(self.fingerprint) * 0x5bd1_e995)
    }
}

impl Slots {
    fn zeroed(length: u64, bucket_size: usize) -> Result<Self, BuildError> {
        let out_of_memory = BuildError::OutOfMemory { bytes: length as usize };
        if length > MAX_TABLE {
            return Err(out_of_memory);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length as usize).map_err(|_| out_of_memory)?;
        bytes.resize(length as usize, 0);
        Ok(Self { bytes, bucket_size })
    }

    fn bucket_count(&self) -> u64 {
        (self.bytes.len() / self.bucket_size) as u64
    }

    /// The first slot of the bucket that a hash means.
    fn start(&self, hash: u64) -> usize {
        (hash % self.bucket_count()) as usize * self.bucket_size
    }

    fn bucket(&self, hash: u64) -> &[u8] {
        &self.bytes[self.start(hash)..][..self.bucket_size]
    }

    /// The first slot with this fingerprint, in either bucket.
    fn find(&self, entry: Entry, fingerprint: u8) -> Option<usize> {
        [entry.hash, entry.other_hash()].into_iter().find_map(|hash| {
            let slot = self.bucket(hash).iter().position(|&found| found == fingerprint)?;
            Some(self.start(hash) + slot)
        })
    }

    /// How often the fingerprint is in the two buckets; twice as often if they are one.
    fn count(&self, entry: Entry) -> u64 {
        let buckets = [entry.hash, entry.other_hash()].map(|hash| self.bucket(hash));
        let slots = buckets.into_iter().flatten();
        slots.filter(|&&found| found == entry.fingerprint).count() as u64
    }

    /// Puts the fingerprint into an empty slot.
    fn put(&mut self, entry: Entry) -> bool {
        let Some(slot) = self.find(entry, 0) else { return false };
        self.bytes[slot] = entry.fingerprint;
        true
    }

    /// Moves fingerprints on until there is place for this one, or back if there is none.
    fn put_by_moves(&mut self, entry: Entry, max_moves: u16) -> bool {
        let mut moved = Entry { hash: entry.hash % self.bucket_count(), ..entry };
        let mut moves = Vec::new();
        for number in 0..usize::from(max_moves) {
            let slot = self.start(moved.hash) + number % self.bucket_size;
            std::mem::swap(&mut self.bytes[slot], &mut moved.fingerprint);
            moves.push(slot);
            moved.hash = moved.other_hash() % self.bucket_count();
            let start = self.start(moved.hash);
            if let Some(empty) = self.bucket(moved.hash).iter().position(|&found| found == 0) {
                self.bytes[start + empty] = moved.fingerprint;
                return true;
            }
        }
        for slot in moves.into_iter().rev() {
            std::mem::swap(&mut self.bytes[slot], &mut moved.fingerprint);
        }
        false
    }

    fn used(&self) -> u64 {
        self.bytes.iter().filter(|&&slot| slot != 0).count() as u64
    }
}

impl RedisCuckoo {
    /// The filter of `CF.RESERVE` with this capacity and these options.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// // A byte for each slot.
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert_eq!(filter.size_in_bits(), 8 * 1_024);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, a bucket has no slots or more than 255, no fingerprint may be moved, or
    /// there is no memory.
    pub fn new(capacity: u64, options: RedisCuckooOptions) -> Result<Self, BuildError> {
        check_keys(capacity)?;
        let RedisCuckooOptions { bucket_size, max_moves, expansion } = options;
        check_bucket_size(bucket_size)?;
        check_expansion(expansion)?;
        if max_moves == 0 {
            return Err(ParameterError::new("max moves", 0, "at least 1").into());
        }
        let buckets = (capacity / u64::from(bucket_size)).max(1);
        let bucket_count = buckets
            .checked_next_power_of_two()
            .filter(|buckets| *buckets <= MAX_TABLE)
            .ok_or(BuildError::OutOfMemory { bytes: usize::MAX })?;
        let length = bucket_count * u64::from(bucket_size);
        let expansion = if expansion == 0 { 0 } else { expansion.next_power_of_two() };
        Ok(Self {
            options: RedisCuckooOptions { expansion, ..options },
            bucket_count,
            key_count: 0,
            removal_count: 0,
            tables: vec![Slots::zeroed(length, usize::from(bucket_size))?],
        })
    }

    /// Reads the bytes of all chunks, one after another.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert_eq!(RedisCuckoo::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let key_count = header.le_u64()?;
        let bucket_count = header.le_u64()?;
        let removal_count = header.le_u64()?;
        let table_count = header.le_u64()?;
        let [bucket_size, max_moves, expansion] =
            [header.le_u16()?, header.le_u16()?, header.le_u16()?];
        let options = RedisCuckooOptions { bucket_size, max_moves, expansion };
        check_bucket_size(bucket_size)?;
        check_expansion(expansion)?;
        if !bucket_count.is_power_of_two() {
            return Err(FormatError::Inconsistent("the number of buckets is no power of two"));
        }
        // Expansion 0 means that there is one table, as an expansion by nothing.
        if table_count == 0 || (expansion == 0 && table_count > 1) || table_count > 65_535 {
            return Err(FormatError::Inconsistent("there cannot be that many tables"));
        }
        let first = bucket_count.saturating_mul(u64::from(bucket_size));
        let length = |table: u64| {
            let growth = u64::from(expansion).checked_pow(table as u32).unwrap_or(u64::MAX);
            first.saturating_mul(growth)
        };
        let lengths: Vec<u64> = (0..table_count).map(length).collect();
        let total = lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length));
        let mut rest = header.table(total, 1)?;
        if lengths.iter().any(|length| *length > MAX_TABLE) {
            return Err(FormatError::Unsupported("tables of more than 4 GiB"));
        }
        let mut tables = Vec::new();
        for length in lengths {
            let table;
            (table, rest) = rest.split_at(length as usize);
            let mut slots = Slots::zeroed(length, usize::from(bucket_size))?;
            slots.bytes.copy_from_slice(table);
            tables.push(slots);
        }
        Ok(Self { options, bucket_count, key_count, removal_count, tables })
    }

    /// Reads the chunks that `CF.SCANDUMP` gave, with their numbers.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// let chunks = filter.to_chunks(); // CF.SCANDUMP
    /// let chunks = chunks.iter().map(|(number, chunk)| (*number, &chunk[..]));
    /// assert_eq!(RedisCuckoo::from_chunks(chunks)?, filter);
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
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// let chunks = filter.to_chunks().into_iter().flat_map(|(_, chunk)| chunk);
    /// assert_eq!(filter.to_bytes(), chunks.collect::<Vec<u8>>());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        self.tables.iter().for_each(|table| bytes.extend(&table.bytes));
        bytes
    }

    /// The chunks that `CF.LOADCHUNK` takes, with their numbers.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// // The header, and the slots.
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert_eq!(filter.to_chunks().len(), 2);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn to_chunks(&self) -> Vec<(u64, Vec<u8>)> {
        split_chunks(self.header(), self.tables.iter().map(|table| &table.bytes[..]))
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let numbers =
            [self.key_count, self.bucket_count, self.removal_count, self.tables.len() as u64];
        numbers.into_iter().for_each(|number| put_le_u64(&mut bytes, number));
        let RedisCuckooOptions { bucket_size, max_moves, expansion } = self.options;
        [bucket_size, max_moves, expansion].into_iter().for_each(|n| put_le_u16(&mut bytes, n));
        bytes
    }

    /// Whether `key` may be a member. `false` is certain.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// filter.insert("ana")?;
    /// assert!(filter.contains("ana") && !filter.contains("rui"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains<K: KeyOf<Self> + ?Sized>(&self, key: &K) -> bool {
        self.contains_entry(entry_of(key))
    }

    fn contains_entry(&self, entry: Entry) -> bool {
        self.tables.iter().any(|table| table.find(entry, entry.fingerprint).is_some())
    }

    /// How often `key` was inserted and not removed, as `CF.COUNT` tells it: never less than the
    /// truth.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// filter.insert("ana")?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.count("ana"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count<K: KeyOf<Self> + ?Sized>(&self, key: &K) -> u64 {
        let entry = entry_of(key);
        self.tables.iter().map(|table| table.count(entry)).sum()
    }

    /// Makes `key` a member once more, as `CF.ADD` does: `true` if it was certainly new.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert!(filter.insert("ana")?);
    /// assert!(!filter.insert("ana")?);
    /// assert_eq!(filter.key_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place, and no other table can be made. The filter is as it was.
    pub fn insert<K: KeyOf<Self> + ?Sized>(&mut self, key: &K) -> Result<bool, ChangeError> {
        self.insert_entry(entry_of(key))
    }

    fn insert_entry(&mut self, entry: Entry) -> Result<bool, ChangeError> {
        let is_new = !self.contains_entry(entry);
        if !self.tables.iter_mut().rev().any(|table| table.put(entry)) {
            let last = self.tables.last_mut().expect("there is a table");
            if !last.put_by_moves(entry, self.options.max_moves) {
                self.grow()?;
                let placed = self.tables.last_mut().expect("there is a table").put(entry);
                debug_assert!(placed, "the new table is empty");
            }
        }
        self.key_count = self.key_count.saturating_add(1);
        Ok(is_new)
    }

    fn grow(&mut self) -> Result<(), ChangeError> {
        let full = Full::new(self.key_count, self.size_in_bits() / 8);
        let growth = u64::from(self.options.expansion).checked_pow(self.tables.len() as u32);
        let first = self.bucket_count * u64::from(self.options.bucket_size);
        let length = growth.and_then(|growth| growth.checked_mul(first));
        let length = length.filter(|length| *length > 0 && self.tables.len() < 65_535);
        let table = Slots::zeroed(length.ok_or(full)?, usize::from(self.options.bucket_size))?;
        self.tables.push(table);
        Ok(())
    }

    /// Removes one insertion of `key`, as `CF.DEL` does.
    ///
    /// Only remove what was inserted: a key that only seems to be there shares its fingerprint with
    /// one that is, which then becomes a **false negative**.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// filter.insert("ana")?;
    /// filter.remove("ana")?;
    /// assert!(filter.remove("ana").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key is certainly not a member. Nothing has changed.
    pub fn remove<K: KeyOf<Self> + ?Sized>(&mut self, key: &K) -> Result<(), NotPresent> {
        let entry = entry_of(key);
        let found = self.tables.iter_mut().rev().find_map(|table| {
            let slot = table.find(entry, entry.fingerprint)?;
            table.bytes[slot] = 0;
            Some(())
        });
        found.ok_or(NotPresent)?;
        self.key_count = self.key_count.saturating_sub(1);
        self.removal_count = self.removal_count.saturating_add(1);
        if self.tables.len() > 1 && self.removal_count as f64 > self.key_count as f64 * 0.1 {
            self.compact();
        }
        Ok(())
    }

    /// Moves fingerprints to older tables as far as they have place, as the server does, and drops
    /// tables that became empty.
    fn compact(&mut self) {
        for number in (1..self.tables.len()).rev() {
            if !self.empty_table(number) {
                break;
            }
            // It is the last one: all behind it became empty before.
            self.tables.truncate(number);
        }
        self.removal_count = 0;
    }

    /// Moves the fingerprints of a table to older ones: `false` if one found no place.
    fn empty_table(&mut self, number: usize) -> bool {
        let (older, table) = self.tables.split_at_mut(number);
        let mut is_empty = true;
        for (slot, fingerprint) in table[0].bytes.iter_mut().enumerate() {
            if *fingerprint == 0 {
                continue;
            }
            // The bucket tells enough of the hash, because older tables are not larger.
            let hash = (slot / table[0].bucket_size) as u64;
            let entry = Entry { fingerprint: *fingerprint, hash };
            if older.iter_mut().any(|older| older.put(entry)) {
                *fingerprint = 0;
            } else {
                is_empty = false;
            }
        }
        is_empty
    }

    /// The options that it was made with; the expansion is a power of two.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let options = RedisCuckooOptions::default();
    /// assert_eq!(RedisCuckoo::new(1_000, options)?.options(), options);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn options(&self) -> RedisCuckooOptions {
        self.options
    }

    /// How many tables there are.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// assert_eq!(RedisCuckoo::new(1_000, RedisCuckooOptions::default())?.table_count(), 1);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.key_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// The memory of all tables, in bits.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert_eq!(filter.size_in_bits(), 8 * 1_024);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        self.tables.iter().map(|table| 8 * table.bytes.len() as u64).sum()
    }

    /// The false-positive rate that follows from how full the tables are: each used slot of the two
    /// buckets in every table has one of 255 fingerprints.
    ///
    /// ```
    /// use crivo_formats::redis::{RedisCuckoo, RedisCuckooOptions};
    ///
    /// let mut filter = RedisCuckoo::new(1_000, RedisCuckooOptions::default())?;
    /// assert_eq!(filter.expected_fpr(), 0.0);
    /// for key in 0..1_000 {
    ///     filter.insert(&format!("item:{key}"))?;
    /// }
    /// assert!((0.005..0.03).contains(&filter.expected_fpr()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expected_fpr(&self) -> f64 {
        let clear = |table: &Slots| {
            let load = table.used() as f64 / table.bytes.len() as f64;
            (1.0 - load / 255.0).powi(2 * table.bucket_size as i32)
        };
        1.0 - self.tables.iter().map(clear).product::<f64>()
    }
}

fn check_bucket_size(bucket_size: u16) -> Result<(), ParameterError> {
    let allowed = 1..=255;
    if allowed.contains(&bucket_size) {
        return Ok(());
    }
    Err(ParameterError::new("bucket size", bucket_size, "from 1 to 255"))
}

/// The server's own limit; more would not be rounded up within 16 bits.
fn check_expansion(expansion: u16) -> Result<(), ParameterError> {
    if expansion <= 32_768 {
        return Ok(());
    }
    Err(ParameterError::new("expansion", expansion, "at most 32768"))
}

fn entry_of<K: KeyOf<RedisCuckoo> + ?Sized>(key: &K) -> Entry {
    Entry::new(of_this_system(bytes_of(&key.as_key(), FORMAT.name)))
}

impl fmt::Debug for RedisCuckoo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, tables) = (self.key_count, self.tables.len());
        write!(f, "RedisCuckoo {{ key_count: {keys}, table_count: {tables} }}")
    }
}

impl KeyOf<RedisCuckoo> for str {}
impl KeyOf<RedisCuckoo> for String {}
impl KeyOf<RedisCuckoo> for [u8] {}
impl KeyOf<RedisCuckoo> for Vec<u8> {}

impl ForeignFilter for RedisCuckoo {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn contains_key(&self, key: &TypedKey<'_>) -> Result<bool, KeyTypeError> {
        let bytes = bytes_of(key, FORMAT.name)?;
        Ok(self.contains_entry(Entry::new(bytes)))
    }

    fn insert_key(&mut self, key: &TypedKey<'_>) -> Result<bool, ChangeError> {
        let bytes = bytes_of(key, FORMAT.name)?;
        self.insert_entry(Entry::new(bytes))
    }

    fn size_in_bits(&self) -> u64 {
        self.size_in_bits()
    }

    fn key_count(&self) -> Option<u64> {
        Some(self.key_count)
    }

    fn fill(&self) -> Option<f64> {
        let used: u64 = self.tables.iter().map(Slots::used).sum();
        Some(used as f64 / (self.size_in_bits() / 8) as f64)
    }

    fn expected_fpr(&self) -> f64 {
        self.expected_fpr()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("filters", self.tables.len().to_string()),
            ("buckets", self.bucket_count.to_string()),
            ("bucket size", self.options.bucket_size.to_string()),
            ("max iterations", self.options.max_moves.to_string()),
            ("expansion", self.options.expansion.to_string()),
            ("deletes", self.removal_count.to_string()),
        ]
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

/// The least FPR of a full filter with the server's own bucket size.
const LEAST_FPR: f64 = 4.0 / 255.0;

fn create(capacity: u64, fpr: f64) -> Result<Box<dyn ForeignFilter>, BuildError> {
    if fpr < LEAST_FPR {
        let allowed = "at least 0.0157, which fingerprints of eight bits have";
        return Err(ParameterError::of_real("fpr", fpr, allowed).into());
    }
    Ok(Box::new(RedisCuckoo::new(capacity, RedisCuckooOptions::default())?))
}

pub(crate) const FORMAT: Format = Format {
    name: "redis-cuckoo",
    description: "RedisBloom, CF.SCANDUMP",
    recognition: Recognition::Structure,
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[Operation::Insert, Operation::Remove, Operation::Count],
    read: |bytes, _| Ok(Box::new(RedisCuckoo::from_bytes(bytes)?)),
    create: Create::Empty(create),
};
