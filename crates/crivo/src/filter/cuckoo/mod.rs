//! The cuckoo filter.

mod codec;
mod evict;
mod fields;
mod size;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use self::fields::{BUCKET_SIZE, Lane};
use self::table::{Load, Place, Table};
use super::{DynamicFilter, Filter, Full, Incompatible, NotPresent, RemovableFilter};
use crate::theory::cuckoo as theory;
use crate::{BuildError, Digest, Key, KeyHasher};

/// A filter that gives keys back: fingerprints in one of two buckets of four slots each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuckoo {
    table: Table,
    key_count: u64,
    capacity: u64,
    hasher: KeyHasher,
}

/// So many keys of a batch are fetched before the first of them is looked at.
const BATCH: usize = 32;

impl Cuckoo {
    /// A filter for `capacity` keys that is wrong about an absent key at most at `rate`, with
    /// XXH3 and seed 0.
    ///
    /// # Errors
    /// If the capacity is 0 or too large, the rate is not between 0 and 1 or takes fingerprints
    /// of more than 32 bits (it is below 2e-9), or if there is no memory.
    pub fn new(capacity: u64, rate: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, rate, KeyHasher::default())
    }

    /// The same with a hash function of your choice.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Self::with_fingerprint_bits(capacity, size::fingerprint_bits(capacity, rate)?, hasher)
    }

    /// A filter for `capacity` keys with fingerprints of so many bits, from 4 to 32.
    ///
    /// # Errors
    /// If the capacity or the number of bits is out of range, or if there is no memory.
    pub fn with_fingerprint_bits(
        capacity: u64,
        fingerprint_bits: u32,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        let buckets = size::buckets_for(capacity, fingerprint_bits)?;
        let table = Table::new(buckets, fingerprint_bits)?;
        Ok(Self { table, key_count: 0, capacity, hasher })
    }

    /// The bits of a fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.table.fields().width()
    }

    /// How many slots there are: the most keys that could be in the filter, were there no bad
    /// luck. It counts on [`capacity`](DynamicFilter::capacity).
    pub fn slot_count(&self) -> u64 {
        self.table.bucket_count() * u64::from(BUCKET_SIZE)
    }

    /// The share of the slots that is taken.
    pub fn load(&self) -> f64 {
        self.key_count as f64 / self.slot_count() as f64
    }

    /// How often `key` may have been inserted, less removals: at least as often as it was.
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.count_digest(self.hasher.digest(key))
    }

    /// How often the key with this digest may have been inserted, less removals.
    #[inline]
    pub fn count_digest(&self, key: Digest) -> u32 {
        let place = self.table.place(key);
        if self.table.fields().are_narrow() {
            count_in::<u64>(&self.table, &place)
        } else {
            count_in::<u128>(&self.table, &place)
        }
    }

    /// Takes in every key of `other`, as often as it is there.
    ///
    /// # Errors
    /// If the filters differ in their hash function, their number of slots or their fingerprints,
    /// or if there is no room. The filter is as it was.
    pub fn union_with(&mut self, other: &Self) -> Result<(), UnionError> {
        if self.hasher != other.hasher {
            let [ours, theirs] = [&*self, other].map(|filter| {
                let identity = filter.hasher.identity();
                format!("{} with {:#x}", identity.family(), identity.value())
            });
            return Err(Incompatible::new("hash function", ours, theirs).into());
        }
        Incompatible::unless_equal("slot count", self.slot_count(), other.slot_count())?;
        let (ours, theirs) = (self.fingerprint_bits(), other.fingerprint_bits());
        Incompatible::unless_equal("fingerprint bits", ours, theirs)?;
        let mut table = self.table.clone();
        for place in other.table.entries() {
            if !insert_into(&mut table, &place) {
                return Err(self.full().into());
            }
        }
        self.table = table;
        self.key_count = self.key_count.saturating_add(other.key_count);
        Ok(())
    }

    fn full(&self) -> Full {
        Full::new(self.key_count, self.capacity)
    }
}

impl Filter for Cuckoo {
    #[inline]
    fn contains_digest(&self, key: Digest) -> bool {
        let place = self.table.place(key);
        if self.table.fields().are_narrow() {
            contains_in::<u64>(&self.table, &place)
        } else {
            contains_in::<u128>(&self.table, &place)
        }
    }

    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        if self.table.fields().are_narrow() {
            contains_batch_in::<u64>(&self.table, keys, hits);
        } else {
            contains_batch_in::<u128>(&self.table, keys, hits);
        }
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        self.table.words().len() as u64 * u64::from(u64::BITS)
    }

    fn expected_fpr(&self) -> f64 {
        theory::mean_rate(self.table.distinct(), self.table.bucket_count(), self.key_count)
            .unwrap_or(1.0)
    }

    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Cuckoo {
    #[inline]
    fn insert_digest(&mut self, key: Digest) -> Result<(), Full> {
        let place = self.table.place(key);
        if !insert_into(&mut self.table, &place) {
            return Err(self.full());
        }
        self.key_count += 1;
        Ok(())
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }
}

impl RemovableFilter for Cuckoo {
    #[inline]
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
        let place = self.table.place(key);
        let removed = if self.table.fields().are_narrow() {
            remove_from::<u64>(&mut self.table, &place)
        } else {
            remove_from::<u128>(&mut self.table, &place)
        };
        // A table from a file may hold more than its key count says.
        self.key_count = self.key_count.saturating_sub(u64::from(removed));
        if removed { Ok(()) } else { Err(NotPresent) }
    }
}

#[inline(always)]
fn contains_in<L: Load>(table: &Table, place: &Place) -> bool {
    table.fields().any_equal(table.both::<L>(place), place.fingerprint)
}

fn contains_batch_in<L: Load>(table: &Table, keys: &[Digest], hits: &mut [bool]) {
    for (keys, hits) in keys.chunks(BATCH).zip(hits.chunks_mut(BATCH)) {
        let mut places = [table.place(Digest::new(0)); BATCH];
        for (place, &key) in places.iter_mut().zip(keys) {
            *place = table.place(key);
            place.buckets.map(|bucket| table.prefetch(bucket));
        }
        for (hit, place) in hits.iter_mut().zip(&places) {
            *hit = contains_in::<L>(table, place);
        }
    }
}

#[inline(always)]
fn count_in<L: Load>(table: &Table, place: &Place) -> u32 {
    let equal = |bucket: L| table.fields().equal(bucket, place.fingerprint).count_ones();
    table.both::<L>(place).map(equal).into_iter().sum()
}

#[inline(always)]
fn insert_into(table: &mut Table, place: &Place) -> bool {
    if table.fields().are_narrow() {
        insert_lanes::<u64>(table, place)
    } else {
        insert_lanes::<u128>(table, place)
    }
}

#[inline(always)]
fn insert_lanes<L: Load>(table: &mut Table, place: &Place) -> bool {
    let [first, second] = table.both::<L>(place).map(|bucket| table.fields().empty(bucket));
    // Slots fill up from the lowest, so that the larger mark belongs to the emptier bucket.
    let (bucket, empty) =
        if first >= second { (place.buckets[0], first) } else { (place.buckets[1], second) };
    if empty == L::NONE {
        return evict::make_room::<L>(table, place);
    }
    table.flip(bucket, table.fields().first(empty), place.fingerprint);
    true
}

#[inline(always)]
fn remove_from<L: Load>(table: &mut Table, place: &Place) -> bool {
    let [first, second] =
        table.both::<L>(place).map(|bucket| table.fields().equal(bucket, place.fingerprint));
    let (bucket, equal) =
        if first != L::NONE { (place.buckets[0], first) } else { (place.buckets[1], second) };
    if equal == L::NONE {
        return false;
    }
    table.flip(bucket, table.fields().first(equal), place.fingerprint);
    true
}

/// Why a cuckoo filter could not take in another. It is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnionError {
    /// The filters differ in a parameter.
    Incompatible(Incompatible),
    /// There is no room for the keys of both.
    Full(Full),
}

impl fmt::Display for UnionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incompatible(error) => error.fmt(f),
            Self::Full(_) => f.write_str("the filter has no room for the keys of both"),
        }
    }
}

impl std::error::Error for UnionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Incompatible(error) => error,
            Self::Full(error) => error,
        })
    }
}

impl From<Incompatible> for UnionError {
    fn from(error: Incompatible) -> Self {
        Self::Incompatible(error)
    }
}

impl From<Full> for UnionError {
    fn from(error: Full) -> Self {
        Self::Full(error)
    }
}
