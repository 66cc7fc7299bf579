//! Linear probing: a key lies at its home slot or in the next free one behind it.

use std::borrow::Borrow;

use super::InsertError;
use super::dictionary::complete_exact_map;
use super::error::capacity_error;
use super::load::{MIN_SLOTS, entry_limit, slots_for};
use super::slots::{Entries, EntriesMut, IntoEntries, TaggedSlots, Transfer};
use super::tags::tag_of;
use crivo::hash::reduce;
use crivo::{BuildError, Digest, Key, KeyHasher, ParameterError};

/// The load at which a map grows, unless told otherwise.
const DEFAULT_MAX_LOAD: f64 = 0.75;

/// A map by linear probing: a key lies at its home slot or in the next free one behind it.
///
/// ```text
///   naive get:   at = home(key)
///                while slot[at] is taken { if it holds key, found; at = at + 1, round the end }
///                absent
/// ```
///
/// Here sixteen tags are compared at a time, so that most lookups end in the first group. Removal
/// closes the gap: every entry behind it that may move forward does (*backward shift*), so that
/// there are no tombstones and lookups do not slow down with age.
///
/// ```
/// use crivo_exact::LinearMap;
///
/// let mut capitals = LinearMap::new();
/// capitals.insert("Portugal", "Lisboa")?;
/// capitals.insert("Brasil", "Rio de Janeiro")?;
/// assert_eq!(capitals.insert("Brasil", "Brasília")?, Some("Rio de Janeiro"));
/// assert_eq!(capitals.remove("Portugal"), Some("Lisboa"));
/// assert!(!capitals.contains_key("Portugal"));
/// # Ok::<(), crivo_exact::InsertError>(())
/// ```
///
/// # Cost
///
/// At load α a hit looks at about (1 + 1/(1−α))/2 slots, a miss at (1 + 1/(1−α)²)/2: 2.5 and 8.5
/// at the default of 75%, but 5.5 and 50.5 at 90%. Keys with equal digests make one long run: the
/// map slows down, but its answers stay right.
///
/// # References
/// - Knuth, *The Art of Computer Programming* vol. 3, §6.4: the analysis above (his first, of 1962).
#[derive(Clone)]
pub struct LinearMap<K, V> {
    slots: TaggedSlots<K, V>,
    hasher: KeyHasher,
    /// The table grows when more entries than this would be in it; there is always an empty slot.
    entry_limit: usize,
    max_load: f64,
}

impl<K, V> LinearMap<K, V> {
    /// A map with no room yet.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let ages = LinearMap::<String, u32>::new();
    /// assert_eq!((ages.len(), ages.slot_count()), (0, 0));
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(KeyHasher::default())
    }

    /// A map with no room yet that hashes with `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::LinearMap;
    ///
    /// let ages = LinearMap::<String, u32>::with_hasher(KeyHasher::xxh3(7));
    /// assert_eq!(ages.hasher(), KeyHasher::xxh3(7));
    /// ```
    pub fn with_hasher(hasher: KeyHasher) -> Self {
        let slots = TaggedSlots::none();
        Self { slots, hasher, entry_limit: 0, max_load: DEFAULT_MAX_LOAD }
    }
}

impl<K: Key + Eq, V> LinearMap<K, V> {
    /// A map with room for `capacity` entries.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let squares = LinearMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.slot_count() >= 1_000);
    /// assert!(LinearMap::<u64, u64>::with_capacity(0).is_err());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0 or more than can be addressed, or if there is no memory for it.
    pub fn with_capacity(capacity: usize) -> Result<Self, BuildError> {
        Self::with_capacity_and_hasher(capacity, KeyHasher::default())
    }

    /// A map with room for `capacity` entries that hashes with `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::LinearMap;
    ///
    /// let squares = LinearMap::<u64, u64>::with_capacity_and_hasher(1_000, KeyHasher::xxh3(7))?;
    /// assert_eq!(squares.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`with_capacity`](Self::with_capacity).
    pub fn with_capacity_and_hasher(
        capacity: usize,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        Self::with_max_load(capacity, DEFAULT_MAX_LOAD, hasher)
    }

    /// A map with room for `capacity` entries that grows when more than `max_load` of its slots
    /// would be taken.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::LinearMap;
    ///
    /// let dense: LinearMap<u64, ()> = LinearMap::with_max_load(9_000, 0.9, KeyHasher::default())?;
    /// assert_eq!(dense.slot_count(), 10_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the load is not from 0.01 to 0.97, or as for [`with_capacity`](Self::with_capacity).
    pub fn with_max_load(
        capacity: usize,
        max_load: f64,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        if !(0.01..=0.97).contains(&max_load) {
            let error = ParameterError::of_real("max_load", max_load, "from 0.01 to 0.97");
            return Err(error.into());
        }
        let slots = slots_for(capacity, max_load)
            .filter(|&slots| TaggedSlots::<K, V>::bytes_for(slots).is_some())
            .ok_or_else(|| capacity_error(capacity))?;
        let slots =
            TaggedSlots::try_new(slots).map_err(|bytes| BuildError::OutOfMemory { bytes })?;
        let entry_limit = entry_limit(slots.slot_count(), max_load);
        Ok(Self { slots, hasher, entry_limit, max_load })
    }

    /// The value of `key`.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert(String::from("ana"), 41)?;
    /// assert_eq!(ages.get("ana"), Some(&41));
    /// assert_eq!(ages.get("rui"), None);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        self.find(key, self.hasher.digest(key)).ok().map(|(_, (_, value))| value)
    }

    /// The value of `key`, mutable.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// if let Some(age) = ages.get_mut("ana") {
    ///     *age += 1;
    /// }
    /// assert_eq!(ages.get("ana"), Some(&42));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    #[inline]
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        let (slot, _) = self.find(key, self.hasher.digest(key)).ok()?;
        self.slots.entry_mut(slot).map(|(_, value)| value)
    }

    /// Whether there is an entry for `key`.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// assert!(ages.contains_key("ana") && !ages.contains_key("rui"));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        self.find(key, self.hasher.digest(key)).is_ok()
    }

    #[inline]
    fn home(&self, digest: Digest) -> usize {
        home_among(self.slots.slot_count(), digest)
    }

    /// The entry of `key` and its slot, or the first empty slot behind its home.
    ///
    /// A table without slots answers `Err(0)`.
    #[inline(always)]
    fn find<Q>(&self, key: &Q, digest: Digest) -> Result<(usize, &(K, V)), usize>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is_wanted = |stored: &K| stored.borrow() == key;
        self.slots.find_in_run(self.home(digest), digest, is_wanted)
    }

    /// Stores `value` under `key` and returns the previous value, if there was one.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// assert_eq!(ages.insert("ana", 41)?, None);
    /// assert_eq!(ages.insert("ana", 42)?, Some(41));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory to grow. The map is then unchanged.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError> {
        let digest = self.hasher.digest(&key);
        let mut empty = match self.find(&key, digest) {
            Ok((slot, _)) => {
                let entry = self.slots.entry_mut(slot);
                let previous = entry.map(|entry| std::mem::replace(&mut entry.1, value));
                // Here and not at the end: a value that is being returned would be leaked if the
                // drop of the key panicked.
                drop(key);
                return Ok(previous);
            }
            Err(empty) => empty,
        };
        if self.len() == self.entry_limit {
            self.grow()?;
            empty = self.slots.tags().first_empty(self.home(digest));
        }
        self.slots.put(empty, tag_of(digest), (key, value));
        Ok(None)
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 < self.slots.slot_count() { slot + 1 } else { 0 }
    }

    fn grow(&mut self) -> Result<(), InsertError> {
        let slots = self.slots.slot_count().saturating_mul(2).max(MIN_SLOTS);
        let larger =
            TaggedSlots::try_new(slots).map_err(|bytes| InsertError::OutOfMemory { bytes })?;
        let mut transfer = Transfer::begin(&mut self.slots, larger);
        for slot in 0..transfer.from().slot_count() {
            if let Some((key, _)) = transfer.from().entry(slot) {
                let digest = self.hasher.digest(key);
                let empty = transfer.to().first_empty(home_among(slots, digest));
                transfer.put(slot, empty, tag_of(digest));
            }
        }
        transfer.commit();
        self.entry_limit = entry_limit(slots, self.max_load);
        Ok(())
    }

    /// Removes the entry of `key` and returns its value.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// assert_eq!(ages.remove("ana"), Some(41));
    /// assert_eq!(ages.remove("ana"), None);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        let (mut leaving, _) = self.find(key, self.hasher.digest(key)).ok()?;
        // The entry changes places with each one behind it that may lie in its slot, and is taken
        // out where no other needs the slot. After each step every entry can be found, so that a
        // hash function may panic.
        let mut slot = self.after(leaving);
        while let Some((key, _)) = self.slots.entry(slot) {
            let home = self.home(self.hasher.digest(key));
            if self.distance(home, slot) >= self.distance(leaving, slot) {
                self.slots.swap(leaving, slot);
                leaving = slot;
            }
            slot = self.after(slot);
        }
        let (_, (_, value)) = self.slots.take(leaving)?;
        Some(value)
    }

    /// How many slots forward `to` lies from `from`, round the end.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.slot_count() - from }
    }

    /// Removes every entry and keeps the memory.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// let bytes = ages.size_in_bytes();
    /// ages.clear();
    /// assert_eq!((ages.len(), ages.size_in_bytes()), (0, bytes));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn clear(&mut self) {
        self.slots.clear();
    }
}

#[inline]
fn home_among(slot_count: usize, digest: Digest) -> usize {
    reduce(digest.get(), slot_count as u64) as usize
}

impl<K, V> LinearMap<K, V> {
    /// Every entry, in no particular order.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut squares = LinearMap::new();
    /// squares.try_extend((0..10u64).map(|key| (key, key * key)))?;
    /// assert_eq!(squares.iter().map(|(_, square)| square).sum::<u64>(), 285);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.slots.entries(&[])
    }

    /// Every entry with its value mutable, in no particular order.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// for (_, age) in ages.iter_mut() {
    ///     *age += 1;
    /// }
    /// assert_eq!(ages.get("ana"), Some(&42));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter_mut(&mut self) -> EntriesMut<'_, K, V> {
        self.slots.entries_mut(&mut [])
    }

    fn into_entries(self) -> IntoEntries<K, V> {
        self.slots.into_entries(Vec::new())
    }

    /// The number of entries.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// ages.insert("ana", 41)?;
    /// assert_eq!(ages.len(), 1);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.slots.taken_count()
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut ages = LinearMap::new();
    /// assert!(ages.is_empty());
    /// ages.insert("ana", 41)?;
    /// assert!(!ages.is_empty());
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// // Slots stay empty: long runs of neighbours would be slow.
    /// assert!(LinearMap::<u64, u64>::with_capacity(1_000)?.slot_count() > 1_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn slot_count(&self) -> usize {
        self.slots.slot_count()
    }

    /// Entries per slot.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let mut squares = LinearMap::new();
    /// assert_eq!(squares.load(), 0.0);
    /// squares.try_extend((0..10u64).map(|key| (key, key * key)))?;
    /// assert_eq!(squares.load(), 10.0 / squares.slot_count() as f64);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn load(&self) -> f64 {
        self.len() as f64 / self.slot_count().max(1) as f64
    }

    /// Heap memory in use, including empty slots, excluding what keys and values point to.
    ///
    /// ```
    /// use crivo_exact::LinearMap;
    ///
    /// let squares = LinearMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.size_in_bytes() >= 17 * squares.slot_count());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bytes(&self) -> usize {
        self.slots.size_in_bytes()
    }

    /// The hasher in use.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::LinearMap;
    ///
    /// assert_eq!(LinearMap::<u64, u64>::new().hasher(), KeyHasher::default());
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

complete_exact_map!(LinearMap, Entries, EntriesMut, IntoEntries);
