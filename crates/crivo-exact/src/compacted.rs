//! Hash compaction: the table keeps l bits of a key's digest in place of the key.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use super::dictionary::delegate_to_the_map;
use super::error::capacity_error;
use super::load::{entry_limit, slots_for};
use super::{Dictionary, InsertError};
use crivo::hash::reduce;
use crivo::{BuildError, Digest, Key, KeyHasher, ParameterError};
use crivo_core::PackedSlots;

mod entries;
mod outcome;
mod values;

pub use entries::{CompactedEntries, CompactedEntriesMut, IntoCompactedEntries};
pub use outcome::{Inserted, Lookup};
use values::Values;

/// A map that stores l bits of each key's digest instead of the key. **It may err.**
///
/// Where keys are long (the states of a program under verification, URLs), they are most of a
/// table's memory. Hash compaction compresses a key to l bits *before* it enters the table; from
/// then on these bits are the key, and two keys with the same bits are one.
///
/// ```text
///   key                        digest                compressed, l = 12    slot
///   "https://example.org/a" →  9d30 f1c5 2e87 7a40 → 9d3               →   reduce(remix(9d3), slots)
/// ```
///
/// ```
/// use crivo_exact::{CompactedMap, Inserted, Lookup};
///
/// let mut depths = CompactedMap::<String, u32>::new(40)?;
/// assert_eq!(depths.insert("a state of the program", 7)?, Inserted::New);
/// assert_eq!(depths.get("a state of the program"), Lookup::Probably(&7));
/// assert_eq!(depths.get("a state not yet seen"), Lookup::Absent);
/// assert_eq!(depths.insert("a state of the program", 6)?, Inserted::ProbablyReplaced(7));
/// assert!(depths.expected_fpr() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What may go wrong
///
/// The answer that a key is [absent](Lookup::Absent) is certain as long as nothing was removed.
/// Everything else holds *probably*, and the types say so:
///
/// - a lookup of a key never inserted may find [the value of another](Lookup::Probably);
/// - an insertion of a new key may [replace the value of another](Inserted::ProbablyReplaced), and
///   the two keys share one entry from then on;
/// - a removal takes that one entry out, and so every key that shares it, whether or not the
///   removed key had ever been inserted. Only after a removal can a stored key be missing.
///
/// A key shares its l bits with one of n others with probability
///
/// ```text
///   1 − (1 − 2^−l)^n        ≈ n / 2^l  for n much below 2^l
/// ```
///
/// For a million keys, l = 40 gives about one wrong answer in a million lookups of absent keys;
/// l = 64 one in 18 million million. See [`expected_fpr`](Self::expected_fpr).
///
/// # The table
///
/// It is open, with linear probing and backward shift, and at most 7/8 full. A slot costs l bits,
/// one more that tells whether it is taken, and a value. When it is full, an entry takes
///
/// ```text
///   8/7 · ((l + 1) / 8 + size of a value) bytes      l = 40:  5.9 for (), 15.0 for u64
/// ```
///
/// The high load costs time: at 7/8 the search for a key that is there looks at 4.5
/// slots on average, for one that is not at 32.5 (at 3/4 it would be 2.5 and 8.5, for a sixth more
/// memory). But they are neighbours: at l = 40, these 32.5 slots are 163 bytes of compressed keys.
///
/// The slot of an entry follows from its compressed key and nothing else: so the table can grow
/// although it has no keys to hash again, and it never tells two keys apart by their slots that
/// have the same bits.
///
/// *When not to use it:* to know only whether a key was seen, a filter does with fewer bits at the
/// same error; where a wrong value does harm, take an exact map.
///
/// # References
///
/// - Wolper and Leroy, *Reliable hashing without collision detection* (1993): the idea, for model
///   checking.
/// - Stern and Dill, *Improved probabilistic verification by hash compaction* (1995): fewer bits for
///   the same error, by taking the slot from a second hash; such a table cannot grow without keys.
#[derive(Clone)]
pub struct CompactedMap<K, V> {
    compressed: PackedSlots,
    values: Values<V>,
    hasher: KeyHasher,
    // Keys are read and never stored.
    keys: PhantomData<fn(&K)>,
}

/// The load at which a map grows.
const MAX_LOAD: f64 = 0.875;

impl<K, V> CompactedMap<K, V> {
    /// An empty map that stores `compressed_bits` bits of a key, from 1 to 64.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// assert!(CompactedMap::<String, u32>::new(40).is_ok());
    /// assert!(CompactedMap::<String, u32>::new(65).is_err());
    /// ```
    ///
    /// # Errors
    /// If `compressed_bits` is out of range, or if there is no memory.
    pub fn new(compressed_bits: u32) -> Result<Self, BuildError> {
        Self::with_hasher(compressed_bits, KeyHasher::default())
    }

    /// An empty map that stores `compressed_bits` bits of each key's digest under `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CompactedMap;
    ///
    /// let depths = CompactedMap::<String, u32>::with_hasher(40, KeyHasher::xxh3(7))?;
    /// assert_eq!(depths.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher(compressed_bits: u32, hasher: KeyHasher) -> Result<Self, BuildError> {
        check_bits(compressed_bits)?;
        Self::with_slots(compressed_bits, 0, hasher)
            .map_err(|bytes| BuildError::OutOfMemory { bytes })
    }

    /// An empty map with memory for `capacity` entries, or for all 2^`compressed_bits` that can
    /// differ if those are fewer.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let depths = CompactedMap::<String, u32>::with_capacity(40, 7_000)?;
    /// assert_eq!(depths.slot_count(), 8_000); // at most 7/8 full
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If `compressed_bits` is not from 1 to 64, if `capacity` is 0 or more than can be addressed,
    /// or if there is no memory.
    pub fn with_capacity(compressed_bits: u32, capacity: usize) -> Result<Self, BuildError> {
        Self::with_capacity_and_hasher(compressed_bits, capacity, KeyHasher::default())
    }

    /// An empty map with memory for `capacity` entries that hashes with `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CompactedMap;
    ///
    /// let hasher = KeyHasher::xxh3(7);
    /// let depths = CompactedMap::<String, u32>::with_capacity_and_hasher(40, 7_000, hasher)?;
    /// assert_eq!((depths.slot_count(), depths.hasher()), (8_000, hasher));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn with_capacity_and_hasher(
        compressed_bits: u32,
        capacity: usize,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        check_bits(compressed_bits)?;
        let slots = slots_for(capacity.min(max_entries(compressed_bits)), MAX_LOAD)
            .ok_or_else(|| capacity_error(capacity))?;
        Self::with_slots(compressed_bits, slots, hasher).map_err(|bytes| {
            if bytes > isize::MAX as usize {
                capacity_error(capacity)
            } else {
                BuildError::OutOfMemory { bytes }
            }
        })
    }

    /// An empty table. The error is the number of bytes that could not be allocated, at most
    /// `usize::MAX`.
    fn with_slots(compressed_bits: u32, slots: usize, hasher: KeyHasher) -> Result<Self, usize> {
        let values = Values::try_new(slots)?;
        let compressed =
            PackedSlots::try_new(compressed_bits, slots).map_err(|error| match error {
                BuildError::OutOfMemory { bytes } => bytes,
                BuildError::Parameter(_) => usize::MAX,
            })?;
        Ok(Self { compressed, values, hasher, keys: PhantomData })
    }

    /// Stores `value` under `key`. The key need not be owned, because it is not stored.
    ///
    /// When all 2^l entries that can differ are there, every insertion replaces one.
    ///
    /// ```
    /// use crivo_exact::{CompactedMap, Inserted};
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// assert_eq!(depths.insert("a state", 7)?, Inserted::New);
    /// assert_eq!(depths.insert("a state", 6)?, Inserted::ProbablyReplaced(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for one more entry. The map is then unchanged.
    pub fn insert<Q>(&mut self, key: &Q, value: V) -> Result<Inserted<V>, InsertError>
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        let compressed = self.compress(key);
        let mut slot = self.find(compressed);
        if let Some(present) = self.values.get_mut(slot) {
            return Ok(Inserted::ProbablyReplaced(std::mem::replace(present, value)));
        }
        if self.len() == entry_limit(self.slot_count(), MAX_LOAD) {
            self.grow()?;
            slot = self.find(compressed);
        }
        self.put(slot, compressed, value);
        Ok(Inserted::New)
    }

    /// Stores every pair, in order.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<u64, u32>::new(40)?;
    /// depths.try_extend([(1, 7), (2, 8)])?;
    /// assert_eq!(depths.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert), at the first pair that could not be stored. Those before it
    /// have been.
    pub fn try_extend(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), InsertError>
    where
        K: Key,
    {
        entries.into_iter().try_for_each(|(key, value)| self.insert(&key, value).map(drop))
    }

    /// The value that is probably that of `key`.
    ///
    /// ```
    /// use crivo_exact::{CompactedMap, Lookup};
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// assert_eq!(depths.get("a state"), Lookup::Probably(&7));
    /// assert_eq!(depths.get("another"), Lookup::Absent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<Q>(&self, key: &Q) -> Lookup<&V>
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        self.values.get(self.find(self.compress(key))).into()
    }

    /// The value that is probably that of `key`, mutable. A change affects every key that shares the
    /// entry.
    ///
    /// ```
    /// use crivo_exact::{CompactedMap, Lookup};
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// if let Some(depth) = depths.get_mut("a state").probable() {
    ///     *depth += 1;
    /// }
    /// assert_eq!(depths.get("a state"), Lookup::Probably(&8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_mut<Q>(&mut self, key: &Q) -> Lookup<&mut V>
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        let slot = self.find(self.compress(key));
        self.values.get_mut(slot).into()
    }

    /// Whether there is probably an entry for `key`; `false` is as certain as
    /// [`Lookup::Absent`].
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// assert!(depths.contains_key("a state") && !depths.contains_key("another"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        !self.get(key).is_absent()
    }

    /// Removes the entry that is probably that of `key`, and with it every key that shares it.
    ///
    /// Remove only what you inserted: a key that was never inserted removes another key's entry with
    /// probability [`expected_fpr`](Self::expected_fpr).
    ///
    /// ```
    /// use crivo_exact::{CompactedMap, Lookup};
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// assert_eq!(depths.remove("a state"), Lookup::Probably(7));
    /// assert_eq!(depths.remove("a state"), Lookup::Absent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove<Q>(&mut self, key: &Q) -> Lookup<V>
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        let slot = self.find(self.compress(key));
        let removed = self.values.take(slot);
        if removed.is_some() {
            self.close(slot);
        }
        removed.into()
    }

    /// Removes every entry and keeps the memory.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// depths.clear();
    /// assert!(depths.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Every entry with its compressed key, in no particular order.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// let entries: Vec<_> = depths.iter().collect();
    /// assert_eq!(entries, [(depths.compress("a state"), &7)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> CompactedEntries<'_, V> {
        CompactedEntries { compressed: &self.compressed, values: self.values.iter() }
    }

    /// Every entry with its compressed key and its value mutable, in no particular order.
    ///
    /// ```
    /// use crivo_exact::{CompactedMap, Lookup};
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// for (_, depth) in depths.iter_mut() {
    ///     *depth += 1;
    /// }
    /// assert_eq!(depths.get("a state"), Lookup::Probably(&8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter_mut(&mut self) -> CompactedEntriesMut<'_, V> {
        CompactedEntriesMut { compressed: &self.compressed, values: self.values.iter_mut() }
    }

    /// The l bits that represent `key` in this table.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let depths = CompactedMap::<String, u32>::new(12)?;
    /// let digest = depths.hasher().digest("a state").get();
    /// assert_eq!(depths.compress("a state"), digest >> 52); // the highest 12 bits
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compress<Q>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        self.hasher.digest(key).get() >> (64 - self.compressed_bits())
    }

    /// l: the number of bits that represent a key.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// assert_eq!(CompactedMap::<String, u32>::new(40)?.compressed_bits(), 40);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn compressed_bits(&self) -> u32 {
        self.compressed.width()
    }

    /// The false-positive rate of the table as it is, the probability that a key never inserted is
    /// taken for another: entries / 2^l.
    ///
    /// After n different keys its mean over all hashers is 1 − (1 − 2^−l)^n: keys that share their
    /// bits share an entry, so that there may be fewer entries than keys.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut map = CompactedMap::<u64, ()>::new(16)?;
    /// map.try_extend((0..10).map(|key| (key, ())))?;
    /// assert_eq!(map.expected_fpr(), 10.0 / 65536.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expected_fpr(&self) -> f64 {
        self.len() as f64 / f64::from(self.compressed_bits()).exp2()
    }

    /// The number of entries. Keys that share their bits count once.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<String, u32>::new(40)?;
    /// depths.insert("a state", 7)?;
    /// assert_eq!(depths.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn len(&self) -> usize {
        self.values.taken_count()
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// assert!(CompactedMap::<String, u32>::new(40)?.is_empty());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// assert_eq!(CompactedMap::<u64, u32>::with_capacity(40, 7_000)?.slot_count(), 8_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn slot_count(&self) -> usize {
        self.values.slot_count()
    }

    /// Entries per slot. 0 if there are no slots yet.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// let mut depths = CompactedMap::<u64, u32>::with_capacity(40, 7_000)?;
    /// depths.try_extend((0..7_000).map(|key| (key, 0)))?;
    /// assert_eq!(depths.load(), 0.875);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(&self) -> f64 {
        self.len() as f64 / self.slot_count().max(1) as f64
    }

    /// Heap memory in use, including empty slots, excluding what values point to.
    ///
    /// ```
    /// use crivo_exact::CompactedMap;
    ///
    /// // 41 bits and a value of 64 bits for each of 8,000 slots.
    /// let bytes = CompactedMap::<String, u64>::with_capacity(40, 7_000)?.size_in_bytes();
    /// assert!((105_000..105_200).contains(&bytes));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn size_in_bytes(&self) -> usize {
        self.compressed.size_in_bytes() + self.values.size_in_bytes()
    }

    /// The hasher in use.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CompactedMap;
    ///
    /// assert_eq!(CompactedMap::<String, u32>::new(40)?.hasher(), KeyHasher::default());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The slot where the search for a compressed key starts.
    fn home(&self, compressed: u64) -> usize {
        let spread = Digest::new(compressed).remix().get();
        reduce(spread, self.slot_count() as u64) as usize
    }

    /// The slot of a compressed key, or the free one where it belongs.
    ///
    /// A map that never held anything has no slots, and answers 0.
    fn find(&self, compressed: u64) -> usize {
        let mut slot = self.home(compressed);
        // It ends: an eighth of the slots is free.
        while self.values.is_taken(slot) && self.compressed.get(slot) != compressed {
            slot = self.after(slot);
        }
        slot
    }

    fn after(&self, slot: usize) -> usize {
        if slot + 1 < self.slot_count() { slot + 1 } else { 0 }
    }

    fn put(&mut self, slot: usize, compressed: u64, value: V) {
        self.values.put(slot, value);
        self.compressed.set(slot, compressed);
    }

    /// Moves entries back into the gap, so that no search stops short of an entry behind it.
    fn close(&mut self, mut gap: usize) {
        let mut slot = self.after(gap);
        while self.values.is_taken(slot) {
            let compressed = self.compressed.get(slot);
            // An entry may move back as far as its home, but not past it.
            if self.steps(self.home(compressed), slot) >= self.steps(gap, slot) {
                if let Some(value) = self.values.take(slot) {
                    self.put(gap, compressed, value);
                }
                gap = slot;
            }
            slot = self.after(slot);
        }
    }

    /// How many steps forward it is from one slot to another, around the end if need be.
    fn steps(&self, from: usize, to: usize) -> usize {
        if from <= to { to - from } else { to + self.slot_count() - from }
    }

    /// Moves every entry into a table of twice the size, or changes nothing.
    ///
    /// Only called with a new compressed key at hand, so that there are fewer than 2^l.
    fn grow(&mut self) -> Result<(), InsertError> {
        let out_of_memory = |bytes| InsertError::OutOfMemory { bytes };
        let max_entries = max_entries(self.compressed_bits());
        let capacity = self.len().saturating_mul(2).clamp(1, max_entries);
        let slots = slots_for(capacity, MAX_LOAD).ok_or(out_of_memory(usize::MAX))?;
        let mut larger =
            Self::with_slots(self.compressed_bits(), slots, self.hasher).map_err(out_of_memory)?;
        for slot in 0..self.slot_count() {
            if let Some(value) = self.values.take(slot) {
                let compressed = self.compressed.get(slot);
                larger.put(larger.find(compressed), compressed, value);
            }
        }
        *self = larger;
        Ok(())
    }
}

fn check_bits(compressed_bits: u32) -> Result<(), ParameterError> {
    if (1..=64).contains(&compressed_bits) {
        Ok(())
    } else {
        Err(ParameterError::new("compressed bits", compressed_bits, "from 1 to 64"))
    }
}

/// The number of different compressed keys: 2^l, or `usize::MAX` if that is less.
fn max_entries(compressed_bits: u32) -> usize {
    1usize.checked_shl(compressed_bits).unwrap_or(usize::MAX)
}

impl<K: Key, V> Dictionary<K, V> for CompactedMap<K, V> {
    type StoredKey<'a>
        = u64
    where
        Self: 'a,
        V: 'a;

    const EXACT: bool = false;

    fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError> {
        let previous = Self::insert(self, &key, value).map(Inserted::replaced);
        // Here and not at the end: a value that is being returned would be leaked if the drop of
        // the key panicked.
        drop(key);
        previous
    }

    fn get(&self, key: &K) -> Option<&V> {
        Self::get(self, key).probable()
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        Self::get_mut(self, key).probable()
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        Self::remove(self, key).probable()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (u64, &'a V)>
    where
        V: 'a,
    {
        Self::iter(self)
    }

    fn iter_mut<'a>(&'a mut self) -> impl Iterator<Item = (u64, &'a mut V)>
    where
        V: 'a,
    {
        Self::iter_mut(self)
    }

    delegate_to_the_map!();
}

impl<K, V: fmt::Debug> fmt::Debug for CompactedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<'a, K, V> IntoIterator for &'a CompactedMap<K, V> {
    type Item = (u64, &'a V);
    type IntoIter = CompactedEntries<'a, V>;

    fn into_iter(self) -> CompactedEntries<'a, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut CompactedMap<K, V> {
    type Item = (u64, &'a mut V);
    type IntoIter = CompactedEntriesMut<'a, V>;

    fn into_iter(self) -> CompactedEntriesMut<'a, V> {
        self.iter_mut()
    }
}

impl<K, V> IntoIterator for CompactedMap<K, V> {
    type Item = (u64, V);
    type IntoIter = IntoCompactedEntries<V>;

    fn into_iter(self) -> IntoCompactedEntries<V> {
        IntoCompactedEntries { compressed: self.compressed, values: self.values, next: 0 }
    }
}

#[cfg(test)]
mod tests;
