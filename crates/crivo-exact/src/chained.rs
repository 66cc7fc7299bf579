//! Hashing with chaining: keys that fall on the same head form a list.

use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::{slice, vec};

use super::InsertError;
use super::dictionary::complete_exact_map;
use crivo::hash::reduce;
use crivo::{BuildError, Digest, Key, KeyHasher, ParameterError};

/// A hash map with chaining: keys that fall on the same head form a list.
///
/// ```text
///   heads        nodes: key, value, next
///   0: 2         0: "ana"  1  end       head 0 → node 2 → node 0
///   1: end       1: "eva"  2  end       head 1: none
///   2: 1         2: "rui"  3  0         head 2 → node 1
/// ```
///
/// The lists run through one vector of nodes instead of through pointers: an entry costs no
/// allocation of its own, and iteration walks a dense vector. Removal moves the last node into
/// the gap and redirects the one link that led to it.
///
/// A lookup compares the key with those of one chain: at a load of α entries per head, about
/// 1 + α/2 of them on average if the key is there, and α if it is not. The number of heads doubles
/// when there are more entries than heads, so that α is at most 1. Keys that an adversary chose to
/// share their digests make it slow (one long chain), but never wrong.
///
/// ```
/// use crivo_exact::ChainedMap;
///
/// let mut ages = ChainedMap::new();
/// assert_eq!(ages.insert(String::from("ana"), 31)?, None);
/// assert_eq!(ages.insert(String::from("ana"), 32)?, Some(31));
/// assert_eq!(ages.get("ana"), Some(&32));
/// assert_eq!(ages.get("eva"), None);
/// assert_eq!(ages.remove("ana"), Some(32));
/// assert!(ages.is_empty());
/// # Ok::<(), crivo_exact::InsertError>(())
/// ```
///
/// *When not to use it:* a lookup follows a link per entry of the chain, each likely a miss of the
/// processor's cache; maps with open addressing stay in one or two cache lines.
///
/// Knuth, *The Art of Computer Programming*, volume 3, section 6.4, has the analysis.
#[derive(Clone)]
pub struct ChainedMap<K, V> {
    heads: Vec<u32>,
    nodes: Vec<Node<K, V>>,
    hasher: KeyHasher,
}

#[derive(Clone)]
struct Node<K, V> {
    key: K,
    value: V,
    /// The index of the next node of the chain, or `END`.
    next: u32,
}

/// Stands for a node's index where a chain ends.
const END: u32 = u32::MAX;

/// The number of indices below `END`.
const MAX_ENTRIES: usize = END as usize;

/// The heads that a map starts with on its first insertion.
const MIN_HEADS: usize = 4;

impl<K, V> ChainedMap<K, V> {
    /// An empty map, which takes memory on the first insertion.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let ages = ChainedMap::<String, u32>::new();
    /// assert_eq!((ages.len(), ages.slot_count()), (0, 0));
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(KeyHasher::default())
    }

    /// An empty map that hashes with `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::ChainedMap;
    ///
    /// let ages = ChainedMap::<String, u32>::with_hasher(KeyHasher::xxh3(7));
    /// assert_eq!(ages.hasher(), KeyHasher::xxh3(7));
    /// ```
    pub const fn with_hasher(hasher: KeyHasher) -> Self {
        Self { heads: Vec::new(), nodes: Vec::new(), hasher }
    }

    /// An empty map with memory for `capacity` entries, and as many heads.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let squares = ChainedMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.slot_count() >= 1_000);
    /// assert!(ChainedMap::<u64, u64>::with_capacity(0).is_err());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If `capacity` is 0 or above 4,294,967,295, or if there is no memory.
    pub fn with_capacity(capacity: usize) -> Result<Self, BuildError> {
        Self::with_capacity_and_hasher(capacity, KeyHasher::default())
    }

    /// An empty map with memory for `capacity` entries that hashes with `hasher`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::ChainedMap;
    ///
    /// let squares = ChainedMap::<u64, u64>::with_capacity_and_hasher(1_000, KeyHasher::xxh3(7))?;
    /// assert_eq!(squares.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`with_capacity`](Self::with_capacity).
    pub fn with_capacity_and_hasher(
        capacity: usize,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        let refused = |allowed| Err(ParameterError::new("capacity", capacity, allowed).into());
        if capacity == 0 {
            return refused("at least 1");
        }
        if capacity > MAX_ENTRIES {
            return refused("at most 4294967295, as many as 32-bit links can number");
        }
        let out_of_memory = |bytes| BuildError::OutOfMemory { bytes };
        let mut map = Self::with_hasher(hasher);
        // The nodes, the larger part, are only reserved: if they are refused, nothing was filled.
        map.reserve_nodes(capacity).map_err(out_of_memory)?;
        map.heads = empty_heads(capacity).map_err(out_of_memory)?;
        Ok(map)
    }

    /// Removes every entry and keeps the memory.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert("ana", 41)?;
    /// let bytes = ages.size_in_bytes();
    /// ages.clear();
    /// assert_eq!((ages.len(), ages.size_in_bytes()), (0, bytes));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn clear(&mut self) {
        self.heads.fill(END);
        self.nodes.clear();
    }

    /// Every entry, in no particular order.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut squares = ChainedMap::new();
    /// squares.try_extend((0..10u64).map(|key| (key, key * key)))?;
    /// assert_eq!(squares.iter().map(|(_, square)| square).sum::<u64>(), 285);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter(&self) -> ChainedEntries<'_, K, V> {
        ChainedEntries { nodes: self.nodes.iter() }
    }

    /// Every entry with its value mutable, in no particular order.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert("ana", 41)?;
    /// for (_, age) in ages.iter_mut() {
    ///     *age += 1;
    /// }
    /// assert_eq!(ages.get("ana"), Some(&42));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn iter_mut(&mut self) -> ChainedEntriesMut<'_, K, V> {
        ChainedEntriesMut { nodes: self.nodes.iter_mut() }
    }

    fn into_entries(self) -> IntoChainedEntries<K, V> {
        IntoChainedEntries { nodes: self.nodes.into_iter() }
    }

    /// The number of entries.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert("ana", 41)?;
    /// assert_eq!(ages.len(), 1);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// assert!(ages.is_empty());
    /// ages.insert("ana", 41)?;
    /// assert!(!ages.is_empty());
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of heads of chains.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// assert_eq!(ChainedMap::<u64, u64>::with_capacity(1_000)?.slot_count(), 1_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn slot_count(&self) -> usize {
        self.heads.len()
    }

    /// Entries per head: the average length of a chain. 0 if there are no heads yet.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut squares = ChainedMap::new();
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
    /// use crivo_exact::ChainedMap;
    ///
    /// let squares = ChainedMap::<u64, u64>::with_capacity(1_000)?;
    /// assert!(squares.size_in_bytes() >= 17 * squares.slot_count());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub const fn size_in_bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<Node<K, V>>()
    }

    /// The hasher in use.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exact::ChainedMap;
    ///
    /// assert_eq!(ChainedMap::<u64, u64>::new().hasher(), KeyHasher::default());
    /// ```
    pub const fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Reserves memory for `additional` more nodes. The error is the number of bytes that could not
    /// be allocated.
    fn reserve_nodes(&mut self, additional: usize) -> Result<(), usize> {
        self.nodes
            .try_reserve(additional)
            .map_err(|_| (self.nodes.len() + additional).saturating_mul(size_of::<Node<K, V>>()))
    }

    fn head_of(&self, digest: Digest) -> usize {
        head_among(self.heads.len(), digest)
    }

    /// Makes the link to node `target`, which stands in its head or in a node of its chain, lead to
    /// `replacement` instead.
    fn redirect(&mut self, target: u32, digest: Digest, replacement: u32) {
        let head = self.head_of(digest);
        let mut link = &mut self.heads[head];
        while *link != target {
            let index = *link as usize;
            link = &mut self.nodes[index].next;
        }
        *link = replacement;
    }
}

impl<K: Key + Eq, V> ChainedMap<K, V> {
    /// Stores `value` under `key` and returns the previous value, if there was one.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// assert_eq!(ages.insert("ana", 41)?, None);
    /// assert_eq!(ages.insert("ana", 42)?, Some(41));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    ///
    /// # Errors
    /// If there are 4,294,967,295 entries already, or no memory for one more. The map is then
    /// unchanged.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError> {
        let digest = self.hasher.digest(&key);
        if let Some(index) = self.find(&key, digest) {
            let previous = std::mem::replace(&mut self.nodes[index].value, value);
            // Here and not at the end: a value that is being returned would be leaked if the drop
            // of the key panicked.
            drop(key);
            return Ok(Some(previous));
        }
        self.make_room_for_one()?;
        let head = self.head_of(digest);
        let next = std::mem::replace(&mut self.heads[head], self.nodes.len() as u32);
        self.nodes.push(Node { key, value, next });
        Ok(None)
    }

    /// The value of `key`.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert(String::from("ana"), 41)?;
    /// assert_eq!(ages.get("ana"), Some(&41));
    /// assert_eq!(ages.get("rui"), None);
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        let index = self.find(key, self.hasher.digest(key))?;
        Some(&self.nodes[index].value)
    }

    /// The value of `key`, mutable.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert("ana", 41)?;
    /// if let Some(age) = ages.get_mut("ana") {
    ///     *age += 1;
    /// }
    /// assert_eq!(ages.get("ana"), Some(&42));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        let index = self.find(key, self.hasher.digest(key))?;
        Some(&mut self.nodes[index].value)
    }

    /// Whether there is an entry for `key`.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
    /// ages.insert("ana", 41)?;
    /// assert!(ages.contains_key("ana") && !ages.contains_key("rui"));
    /// # Ok::<(), crivo_exact::InsertError>(())
    /// ```
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Key + Eq + ?Sized,
    {
        self.get(key).is_some()
    }

    /// Removes the entry of `key` and returns its value. The memory is kept.
    ///
    /// ```
    /// use crivo_exact::ChainedMap;
    ///
    /// let mut ages = ChainedMap::new();
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
        let digest = self.hasher.digest(key);
        let gap = self.find(key, digest)?;
        let last = self.nodes.len() - 1;
        // A hash function may panic: it is called before anything changes.
        let moves = (gap != last).then(|| self.hasher.digest(&self.nodes[last].key));
        self.redirect(gap as u32, digest, self.nodes[gap].next);
        if let Some(digest_of_last) = moves {
            self.redirect(last as u32, digest_of_last, gap as u32);
        }
        let Node { value, .. } = self.nodes.swap_remove(gap);
        Some(value)
    }

    fn find<Q>(&self, key: &Q, digest: Digest) -> Option<usize>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        // A map that never held anything has no heads.
        let mut index = *self.heads.get(self.head_of(digest))?;
        while index != END {
            let node = &self.nodes[index as usize];
            if node.key.borrow() == key {
                return Some(index as usize);
            }
            index = node.next;
        }
        None
    }

    /// Reserves memory for one more node, and doubles the heads when they are too few. On an error
    /// nothing has changed.
    fn make_room_for_one(&mut self) -> Result<(), InsertError> {
        let entries = self.nodes.len();
        if entries >= MAX_ENTRIES {
            return Err(InsertError::TooManyEntries { limit: MAX_ENTRIES });
        }
        let out_of_memory = |bytes| InsertError::OutOfMemory { bytes };
        self.reserve_nodes(1).map_err(out_of_memory)?;
        if entries >= self.heads.len() {
            self.grow_heads(entries.saturating_mul(2).max(MIN_HEADS)).map_err(out_of_memory)?;
        }
        Ok(())
    }

    /// Puts every node into its chain under new heads. The error is the number of bytes that could
    /// not be allocated.
    fn grow_heads(&mut self, count: usize) -> Result<(), usize> {
        let mut heads = empty_heads(count)?;
        // A hash function may panic: the links change when all of them are known.
        let mut links = Vec::new();
        links.try_reserve_exact(self.nodes.len()).map_err(|_| 4 * self.nodes.len())?;
        links.extend(self.nodes.iter().enumerate().map(|(index, node)| {
            let head = head_among(heads.len(), self.hasher.digest(&node.key));
            std::mem::replace(&mut heads[head], index as u32)
        }));
        for (node, link) in self.nodes.iter_mut().zip(links) {
            node.next = link;
        }
        self.heads = heads;
        Ok(())
    }
}

/// `count` heads of empty chains. The error is the number of bytes that could not be allocated.
fn empty_heads(count: usize) -> Result<Vec<u32>, usize> {
    let mut heads = Vec::new();
    heads.try_reserve_exact(count).map_err(|_| count.saturating_mul(size_of::<u32>()))?;
    heads.resize(count, END);
    Ok(heads)
}

fn head_among(heads: usize, digest: Digest) -> usize {
    reduce(digest.get(), heads as u64) as usize
}

complete_exact_map!(ChainedMap, ChainedEntries, ChainedEntriesMut, IntoChainedEntries);

/// The entries of a [`ChainedMap`], from [`ChainedMap::iter`].
pub struct ChainedEntries<'a, K, V> {
    nodes: slice::Iter<'a, Node<K, V>>,
}

impl<'a, K, V> Iterator for ChainedEntries<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.nodes.next().map(|node| (&node.key, &node.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<K, V> ExactSizeIterator for ChainedEntries<'_, K, V> {}

impl<K, V> FusedIterator for ChainedEntries<'_, K, V> {}

impl<K, V> Clone for ChainedEntries<'_, K, V> {
    fn clone(&self) -> Self {
        Self { nodes: self.nodes.clone() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for ChainedEntries<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// The entries of a [`ChainedMap`] with mutable values, from [`ChainedMap::iter_mut`].
pub struct ChainedEntriesMut<'a, K, V> {
    nodes: slice::IterMut<'a, Node<K, V>>,
}

impl<'a, K, V> Iterator for ChainedEntriesMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.nodes.next().map(|node| (&node.key, &mut node.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<K, V> ExactSizeIterator for ChainedEntriesMut<'_, K, V> {}

impl<K, V> FusedIterator for ChainedEntriesMut<'_, K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for ChainedEntriesMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ChainedEntries { nodes: self.nodes.as_slice().iter() }.fmt(f)
    }
}

/// The owned entries of a [`ChainedMap`], from its `into_iter`.
pub struct IntoChainedEntries<K, V> {
    nodes: vec::IntoIter<Node<K, V>>,
}

impl<K, V> Iterator for IntoChainedEntries<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.nodes.next().map(|node| (node.key, node.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<K, V> ExactSizeIterator for IntoChainedEntries<K, V> {}

impl<K, V> FusedIterator for IntoChainedEntries<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for IntoChainedEntries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ChainedEntries { nodes: self.nodes.as_slice().iter() }.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every node hangs in exactly the chain that it belongs to.
    fn assert_sound(map: &ChainedMap<u64, u64>) {
        let mut seen = vec![false; map.nodes.len()];
        for (head, &first) in map.heads.iter().enumerate() {
            let mut index = first;
            while index != END {
                let node = &map.nodes[index as usize];
                assert_eq!(map.head_of(map.hasher.digest(&node.key)), head);
                assert!(!std::mem::replace(&mut seen[index as usize], true));
                index = node.next;
            }
        }
        assert!(seen.into_iter().all(|reached| reached));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn chains_stay_whole_through_growth_and_removal() {
        // From different first sizes, keys meet on a head in different company.
        for capacity in [1, 2, 3, 64] {
            let mut map = ChainedMap::with_capacity(capacity).unwrap();
            for key in 0..64 {
                map.insert(key, key).unwrap();
                assert_sound(&map);
            }
            for step in 0..64 {
                let key = step * 37 % 64;
                assert_eq!(map.remove(&key), Some(key));
                assert_eq!(map.remove(&key), None);
                assert_sound(&map);
            }
        }
    }

    #[test]
    fn heads_double_when_there_are_more_entries() {
        let mut map = ChainedMap::with_capacity(3).unwrap();
        let mut heads = Vec::new();
        for key in 0..13u64 {
            map.insert(key, ()).unwrap();
            heads.push(map.slot_count());
        }
        assert_eq!(heads, [3, 3, 3, 6, 6, 6, 12, 12, 12, 12, 12, 12, 24]);
    }

    #[test]
    fn an_entry_of_two_words_costs_28_bytes() {
        let map = ChainedMap::<u64, u64>::with_capacity(1000).unwrap();
        // The link takes the 8 bytes to which a u64 is aligned; there are machines where that is 4.
        let (entry, link, head) = (16, align_of::<u64>(), 4);
        assert_eq!(map.size_in_bytes(), 1000 * (entry + link + head));
    }

    // Other machines cannot even name these sizes.
    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "asks for more memory than there is")]
    fn impossible_capacities_are_errors() {
        let refusal =
            |capacity| ChainedMap::<u64, u64>::with_capacity(capacity).unwrap_err().to_string();
        assert_eq!(refusal(0), "capacity is 0, but it must be at least 1");
        assert_eq!(
            refusal(4_294_967_296),
            "capacity is 4294967296, but it must be at most 4294967295, as many as 32-bit links \
             can number"
        );
        assert!(matches!(
            ChainedMap::<u64, [u64; 1 << 20]>::with_capacity(MAX_ENTRIES),
            Err(BuildError::OutOfMemory { bytes }) if bytes > 1 << 50
        ));
    }

    #[test]
    fn it_prints_as_a_map_and_clones() {
        let mut map = ChainedMap::new();
        map.try_extend([("ana", 1), ("eva", 2)]).unwrap();
        assert_eq!(format!("{map:?}"), r#"{"ana": 1, "eva": 2}"#);
        assert_eq!(format!("{:?}", map.iter()), r#"{"ana": 1, "eva": 2}"#);
        let mut copy = map.clone();
        *copy.get_mut("ana").unwrap() = 3;
        assert_eq!((map.get("ana"), copy.get("ana")), (Some(&1), Some(&3)));
        assert_eq!((&copy).into_iter().len(), 2);
    }
}
