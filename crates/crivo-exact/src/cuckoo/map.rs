//! The map itself.

use std::borrow::Borrow;

use super::CuckooOptions;
use super::evict::Randomness;
use super::geometry::Geometry;
use super::table::{Path, Table, empty_slot_for};
use crate::InsertError;
use crate::dictionary::complete_exact_map;
use crate::error::capacity_error;
use crate::slots::{Entries, EntriesMut, IntoEntries, TaggedSlots, Transfer};
use crate::tags::{Tags, TwoBuckets, tag_of};
use crivo::hash::Family;
use crivo::{BuildError, Digest, Key, KeyHasher};

/// How many tables are tried, with other seeds and larger, before an insertion fails.
const ATTEMPTS: usize = 13;

/// A map by cuckoo hashing: compact, and every lookup reads d buckets and nothing else.
///
/// See [the module](super) for how it works and [`CuckooOptions`] for the variations. The default
/// has two choices among buckets of eight and fills to 95%: 17.9 bytes per entry for `u64` to
/// `u64`.
///
/// ```
/// use crivo_exact::CuckooMap;
///
/// let mut ages = CuckooMap::with_capacity(100)?;
/// ages.insert("ana".to_string(), 31)?;
/// ages.insert("rui".to_string(), 40)?;
/// assert_eq!(ages.insert("ana".to_string(), 32)?, Some(31));
/// assert_eq!(ages.get("ana"), Some(&32));
/// assert_eq!(ages.remove("rui"), Some(40));
/// assert_eq!(ages.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CuckooMap<K, V> {
    slots: TaggedSlots<K, V>,
    geometry: Geometry,
    hasher: KeyHasher,
    stash: Vec<(K, V)>,
    options: CuckooOptions,
    /// `options.max_load`, or its default.
    max_load: f64,
    /// How many entries the table may hold at that load.
    max_entries: usize,
    randomness: Randomness,
    /// The number of rebuilds that took a new seed.
    reseeds: u64,
}

/// An entry and its slot, or else the tags of the two buckets that it is not in.
type Found<'a, K, V> = Result<(usize, &'a (K, V)), TwoBuckets>;

/// Where an entry is.
enum Place {
    Slot(usize),
    Stash(usize),
}

impl<K, V> CuckooMap<K, V> {
    /// A map with the default options and no room yet.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let ages = CuckooMap::<String, u32>::new();
    /// assert_eq!((ages.len(), ages.slot_count()), (0, 0));
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(KeyHasher::default())
    }

    /// A map with the default options, no room yet, and a hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CuckooMap;
    ///
    /// let ages = CuckooMap::<String, u32>::with_hasher(KeyHasher::xxh3(7));
    /// assert_eq!(ages.hasher(), KeyHasher::xxh3(7));
    /// ```
    pub fn with_hasher(hasher: KeyHasher) -> Self {
        let options = CuckooOptions { hasher, ..CuckooOptions::default() };
        Self::empty(options, super::options::DEFAULT_MAX_LOAD)
    }

    fn empty(options: CuckooOptions, max_load: f64) -> Self {
        Self {
            slots: TaggedSlots::none(),
            geometry: Geometry::without_slots(&options),
            hasher: options.hasher,
            stash: Vec::new(),
            options,
            max_load,
            max_entries: 0,
            randomness: Randomness::new(),
            reseeds: 0,
        }
    }
}

impl<K: Key + Eq, V> CuckooMap<K, V> {
    /// A map with the default options and room for `capacity` entries.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let squares = CuckooMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.slot_count() >= 1_000);
    /// assert!(CuckooMap::<u64, u64>::with_capacity(0).is_err());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0 or more than can be addressed, or if there is no memory for it.
    pub fn with_capacity(capacity: usize) -> Result<Self, BuildError> {
        CuckooOptions::default().build(capacity)
    }

    /// A map with the default options, room for `capacity` entries and a hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CuckooMap;
    ///
    /// let squares = CuckooMap::<u64, u64>::with_capacity_and_hasher(1_000, KeyHasher::xxh3(7))?;
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
        CuckooOptions { hasher, ..CuckooOptions::default() }.build(capacity)
    }

    /// The value of `key`.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
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
        self.find(key).map(|(_, (_, value))| value)
    }

    /// The value of `key`, mutable.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
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
        match self.find(key)?.0 {
            Place::Slot(slot) => self.slots.entry_mut(slot).map(|(_, value)| value),
            Place::Stash(i) => Some(&mut self.stash[i].1),
        }
    }

    /// Whether there is an entry for `key`.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
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
        self.find(key).is_some()
    }

    #[inline(always)]
    fn find<Q>(&self, key: &Q) -> Option<(Place, &(K, V))>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        if !(self.is_only_buckets_of_eight() & (self.hasher.family() == Family::Fold64)) {
            return self.find_out_of_line(key);
        }
        let (slot, entry) = self.find_in_default(key, self.hasher.digest(key)).ok()?;
        Some((Place::Slot(slot), entry))
    }

    /// Whether two buckets of eight are all there is to look at.
    #[inline(always)]
    fn is_only_buckets_of_eight(&self) -> bool {
        self.geometry.two_of_eight & self.stash.is_empty()
    }

    /// The entry of `key`, whatever the geometry and the hash function. A loop of lookups decides once,
    /// before it begins, whether it needs this; if not, none of it takes up registers.
    #[inline(never)]
    fn find_out_of_line<Q>(&self, key: &Q) -> Option<(Place, &(K, V))>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        let digest = self.hasher.digest(key);
        if !self.is_only_buckets_of_eight() {
            return self.find_anywhere(key, digest);
        }
        let (slot, entry) = self.find_in_default(key, digest).ok()?;
        Some((Place::Slot(slot), entry))
    }

    /// The entry of a key with this digest in its two buckets of eight, or else these buckets.
    #[inline(always)]
    fn find_in_default<Q>(&self, key: &Q, digest: Digest) -> Found<'_, K, V>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is_wanted = |stored: &K| stored.borrow() == key;
        self.slots.find_in_two_of_eight(digest, is_wanted)
    }

    /// The entry of a key with this digest in any geometry, and in the stash.
    fn find_anywhere<Q>(&self, key: &Q, digest: Digest) -> Option<(Place, &(K, V))>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is_wanted = |stored: &K| stored.borrow() == key;
        let Geometry { choices, bucket_size, two_of_eight, .. } = self.geometry;
        if two_of_eight {
            if let Ok((slot, entry)) = self.find_in_default(key, digest) {
                return Some((Place::Slot(slot), entry));
            }
        } else {
            for choice in (0..choices).step_by(2) {
                let bucket = |choice| self.geometry.bucket(digest, choice);
                let (first, second) = (bucket(choice), bucket((choice + 1).min(choices - 1)));
                if let Some((slot, entry)) =
                    self.slots.find_in_two(first, second, bucket_size, digest, is_wanted)
                {
                    return Some((Place::Slot(slot), entry));
                }
            }
        }
        let i = self.stash.iter().position(|entry| is_wanted(&entry.0))?;
        Some((Place::Stash(i), &self.stash[i]))
    }

    /// Stores `value` under `key` and returns the previous value, if there was one.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
    /// assert_eq!(ages.insert("ana", 41)?, None);
    /// assert_eq!(ages.insert("ana", 42)?, Some(41));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory to grow, or if too many keys share their digests and the stash is full.
    /// The map is then unchanged.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError> {
        let digest = self.hasher.digest(&key);
        let mut empty_slot = None;
        let place = if self.is_only_buckets_of_eight() {
            match self.find_in_default(&key, digest) {
                Ok((slot, _)) => Some(Place::Slot(slot)),
                Err(buckets) => {
                    empty_slot = buckets.empty_slot().filter(|_| self.len() < self.max_entries);
                    None
                }
            }
        } else {
            self.find_anywhere(&key, digest).map(|(place, _)| place)
        };
        match place {
            Some(place) => {
                let previous = match place {
                    Place::Slot(slot) => self.slots.entry_mut(slot).map(|(_, value)| value),
                    Place::Stash(i) => Some(&mut self.stash[i].1),
                };
                let previous = previous.map(|previous| std::mem::replace(previous, value));
                // Here and not at the end: a value that is being returned would be leaked if the
                // drop of the key panicked.
                drop(key);
                Ok(previous)
            }
            None => {
                match empty_slot {
                    Some(slot) => self.slots.put(slot, tag_of(digest), (key, value)),
                    None => self.insert_new(key, value, digest)?,
                }
                Ok(None)
            }
        }
    }

    /// Inserts an entry whose key is not there, wherever there is a place for it.
    #[inline(never)]
    fn insert_new(&mut self, key: K, value: V, digest: Digest) -> Result<(), InsertError> {
        let has_room = self.len() < self.max_entries;
        let mut path = None;
        if has_room {
            let (hasher, slots) = (self.hasher, &self.slots);
            let digest_in = |slot| slots.entry(slot).map_or(digest, |(key, _)| hasher.digest(key));
            let table = Table::new(slots.tags(), self.geometry, digest_in);
            path = table.path_for(digest, self.options.eviction, &mut self.randomness);
            if path.is_none() && self.can_stash() {
                self.stash.push((key, value));
                return Ok(());
            }
        }
        let (path, digest) = match path {
            Some(path) => (path, digest),
            None => match self.rebuild_with_room_for(&key) {
                // By the hasher of the new table.
                Ok(path) => (path, self.hasher.digest(&key)),
                // No table has a place for this key, so that it is one for the stash.
                Err(InsertError::TooManyCollisions { .. }) if self.can_stash() => {
                    self.stash.push((key, value));
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
        };
        self.slots.put_along(path.as_slice(), tag_of(digest), (key, value));
        self.settle_stash();
        Ok(())
    }

    /// Whether the stash takes one more entry, for which memory is then reserved.
    fn can_stash(&mut self) -> bool {
        self.stash.len() < self.options.stash && self.stash.try_reserve(1).is_ok()
    }

    /// Rebuilds the table, larger or with another seed, so that there is a path for `key` too.
    fn rebuild_with_room_for(&mut self, key: &K) -> Result<Path, InsertError> {
        let wanted = self.len() + 1;
        let mut geometry = self.geometry;
        let mut reseeds = self.reseeds;
        if self.is_hopeless_for(key) {
            let (entries, slots) = (self.len(), self.slot_count());
            return Err(InsertError::TooManyCollisions { entries, slots, seeds: 2 });
        }
        for attempt in 0..ATTEMPTS {
            // A table that is too small grows. One in which no path was found tries another seed,
            // and grows every second time, until it is nearly empty: then size is not what it lacks.
            let full = wanted > geometry.entry_limit(self.max_load);
            if full || attempt % 2 == 1 {
                let larger = geometry
                    .grown(&self.options, wanted, self.max_load)
                    .ok_or(InsertError::OutOfMemory { bytes: usize::MAX })?;
                if full || wanted.saturating_mul(4) > larger.entry_limit(self.max_load) {
                    geometry = larger;
                }
            }
            if !full {
                reseeds += 1;
            }
            let hasher = self.options.hasher.reseeded(reseeds);
            if let Some(path) = self.try_rebuild(geometry, hasher, key)? {
                self.geometry = geometry;
                self.max_entries = geometry.entry_limit(self.max_load);
                self.hasher = hasher;
                self.reseeds = reseeds;
                return Ok(path);
            }
        }
        Err(InsertError::TooManyCollisions {
            entries: self.len(),
            slots: geometry.slot_count(),
            seeds: (reseeds - self.reseeds) as usize,
        })
    }

    /// Whether every slot of the key's buckets holds a key that shares its digest, under this seed
    /// and under the next: then no seed and no size will help, and rebuilding to find that out is
    /// work that an adversary could cause at will.
    fn is_hopeless_for(&self, key: &K) -> bool {
        if self.slot_count() == 0 {
            return false;
        }
        let next = self.options.hasher.reseeded(self.reseeds + 1);
        let (digest, digest_next) = (self.hasher.digest(key), next.digest(key));
        self.geometry.choices(digest).as_slice().iter().all(|bucket| {
            let first = bucket * self.geometry.bucket_size;
            (first..first + self.geometry.bucket_size).all(|slot| {
                self.slots.entry(slot).is_some_and(|(stored, _)| {
                    self.hasher.digest(stored) == digest && next.digest(stored) == digest_next
                })
            })
        })
    }

    /// Moves every entry to a table of another shape, if they all find a place and `key` has one.
    fn try_rebuild(
        &mut self,
        geometry: Geometry,
        hasher: KeyHasher,
        key: &K,
    ) -> Result<Option<Path>, InsertError> {
        let slots = TaggedSlots::try_new(geometry.slot_count())
            .map_err(|bytes| InsertError::OutOfMemory { bytes })?;
        // The digest of what is in each slot of the new table: its keys must not be read before the
        // old ones are gone.
        let mut digests = Vec::new();
        digests.try_reserve_exact(geometry.slot_count()).map_err(|_| InsertError::OutOfMemory {
            bytes: geometry.slot_count().saturating_mul(size_of::<Digest>()),
        })?;
        digests.resize(geometry.slot_count(), Digest::new(0));
        let (eviction, randomness) = (self.options.eviction, &mut self.randomness);
        let mut transfer = Transfer::begin(&mut self.slots, slots);
        let mut path_for = |tags: Tags<'_>, digests: &[Digest], digest| {
            let table = Table::new(tags, geometry, |slot| digests[slot]);
            table.path_for(digest, eviction, randomness)
        };
        for slot in 0..transfer.from().slot_count() {
            let Some((key, _)) = transfer.from().entry(slot) else {
                continue;
            };
            let mut digest = hasher.digest(key);
            let Some(path) = path_for(transfer.to(), &digests, digest) else {
                return Ok(None);
            };
            transfer.put_along(slot, path.as_slice(), tag_of(digest));
            for &slot in path.as_slice() {
                std::mem::swap(&mut digests[slot], &mut digest);
            }
        }
        let path = path_for(transfer.to(), &digests, hasher.digest(key));
        if path.is_some() {
            transfer.commit();
        }
        Ok(path)
    }

    /// Moves entries from the stash into empty slots of their buckets, where there are any.
    fn settle_stash(&mut self) {
        for i in (0..self.stash.len()).rev() {
            let digest = self.hasher.digest(&self.stash[i].0);
            if let Some(slot) = empty_slot_for(self.slots.tags(), &self.geometry, digest) {
                let entry = self.stash.swap_remove(i);
                self.slots.put(slot, tag_of(digest), entry);
            }
        }
    }

    /// Removes the entry of `key` and returns its value.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
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
        let (_, value) = match self.find(key)?.0 {
            Place::Slot(slot) => self.slots.take(slot)?.1,
            Place::Stash(i) => self.stash.swap_remove(i),
        };
        self.settle_stash();
        Some(value)
    }

    /// Removes every entry and keeps the memory.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
    /// ages.insert("ana", 41)?;
    /// let bytes = ages.size_in_bytes();
    /// ages.clear();
    /// assert_eq!((ages.len(), ages.size_in_bytes()), (0, bytes));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn clear(&mut self) {
        // Taken out first, so that both are empty whichever drop panics.
        let mut stash = std::mem::take(&mut self.stash);
        self.slots.clear();
        stash.clear();
        self.stash = stash;
    }
}

impl<K, V> CuckooMap<K, V> {
    /// Every entry, in no particular order.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut squares = CuckooMap::new();
    /// squares.try_extend((0..10u64).map(|key| (key, key * key)))?;
    /// assert_eq!(squares.iter().map(|(_, square)| square).sum::<u64>(), 285);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.slots.entries(&self.stash)
    }

    /// Every entry with its value mutable, in no particular order.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
    /// ages.insert("ana", 41)?;
    /// for (_, age) in ages.iter_mut() {
    ///     *age += 1;
    /// }
    /// assert_eq!(ages.get("ana"), Some(&42));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter_mut(&mut self) -> EntriesMut<'_, K, V> {
        self.slots.entries_mut(&mut self.stash)
    }

    fn into_entries(self) -> IntoEntries<K, V> {
        self.slots.into_entries(self.stash)
    }

    /// The number of entries.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
    /// ages.insert("ana", 41)?;
    /// assert_eq!(ages.len(), 1);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.slots.taken_count() + self.stash.len()
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut ages = CuckooMap::new();
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
    /// use crivo_exact::CuckooMap;
    ///
    /// // At most 95% of the slots are taken.
    /// let slots = CuckooMap::<u64, u64>::with_capacity(9_500)?.slot_count();
    /// assert!((10_000..10_100).contains(&slots));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn slot_count(&self) -> usize {
        self.slots.slot_count()
    }

    /// The number of entries in the stash, outside the table.
    ///
    /// ```
    /// use crivo_exact::{CuckooMap, CuckooOptions};
    ///
    /// // Up to 64 entries may lie outside the table, if no place is found for them.
    /// let options = CuckooOptions { stash: 64, ..CuckooOptions::default() };
    /// let mut map: CuckooMap<u64, u64> = options.build(1_000)?;
    /// map.try_extend((0..1_000).map(|key| (key, key * key)))?;
    /// assert!(map.stash_count() <= 64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stash_count(&self) -> usize {
        self.stash.len()
    }

    /// The number of times that an unlucky seed was replaced.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut map = CuckooMap::with_capacity(1_000)?;
    /// map.try_extend((0..1_000u64).map(|key| (key, ())))?;
    /// assert_eq!(map.reseed_count(), 0); // as nearly always
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reseed_count(&self) -> u64 {
        self.reseeds
    }

    /// Entries per slot.
    ///
    /// ```
    /// use crivo_exact::CuckooMap;
    ///
    /// let mut squares = CuckooMap::new();
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
    /// use crivo_exact::CuckooMap;
    ///
    /// let squares = CuckooMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.size_in_bytes() >= 17 * squares.slot_count());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bytes(&self) -> usize {
        let stash = self.stash.capacity() * size_of::<(K, V)>();
        self.slots.size_in_bytes() + stash
    }

    /// The hasher in use: that of the options, or a reseeded one after a rebuild.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::CuckooMap;
    ///
    /// assert_eq!(CuckooMap::<u64, u64>::new().hasher(), KeyHasher::default());
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The options of the map.
    ///
    /// ```
    /// use crivo_exact::CuckooOptions;
    ///
    /// let options = CuckooOptions { choices: 3, bucket_size: 4, ..CuckooOptions::default() };
    /// assert_eq!(options.build::<u64, u64>(1_000)?.options().choices, 3);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn options(&self) -> CuckooOptions {
        self.options
    }
}

impl CuckooOptions {
    /// A map with these options and room for `capacity` entries.
    ///
    /// ```
    /// use crivo_exact::{CuckooMap, CuckooOptions};
    ///
    /// // Three choices of single slots.
    /// let options = CuckooOptions { choices: 3, bucket_size: 1, ..CuckooOptions::default() };
    /// let mut map: CuckooMap<u64, u64> = options.build(1_000)?;
    /// map.try_extend((0..1_000).map(|key| (key, key * key)))?;
    /// assert_eq!(map.get(&9), Some(&81));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, the capacity is 0 or more than can be addressed, or there
    /// is no memory for it.
    pub fn build<K: Key + Eq, V>(self, capacity: usize) -> Result<CuckooMap<K, V>, BuildError> {
        let max_load = self.validate()?;
        let mut map = CuckooMap::empty(self, max_load);
        map.geometry = Geometry::for_entries(&self, capacity, max_load)
            .filter(|geometry| TaggedSlots::<K, V>::bytes_for(geometry.slot_count()).is_some())
            .ok_or_else(|| capacity_error(capacity))?;
        map.max_entries = map.geometry.entry_limit(max_load);
        map.slots = TaggedSlots::try_new(map.geometry.slot_count())
            .map_err(|bytes| BuildError::OutOfMemory { bytes })?;
        Ok(map)
    }
}

complete_exact_map!(CuckooMap, Entries, EntriesMut, IntoEntries);
