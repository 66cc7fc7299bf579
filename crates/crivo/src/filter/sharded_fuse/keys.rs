//! The distinct keys of an input of any size, by shards.
//!
//! ```text
//!   digests ──▶ 512 parts, by their first bits ──▶ copies dropped, keys counted ──▶ shard by shard
//!                     │                                  ▲
//!                     └── beyond the memory: a temporary file
//! ```
//!
//! When the memory is full, a few parts are sorted to see how many copies there are. If it is half of
//! them, all copies are dropped. If that frees too little, everything goes to disk. In the end each part
//! is sorted once, for nothing but the number of its distinct keys: how many shards there are, and how
//! large, follows from all of them. Of what is on disk, copies are dropped again when a shard is
//! read, if there were any.

mod shares;

use std::sync::{Mutex, PoisonError};

use super::table::MAX_SHARD_BITS;
use crate::filter::FuseError;
#[cfg(feature = "spill")]
use crate::filter::spec::Bytes;
use crate::filter::threads::{self, share};
use crate::{BuildError, Digest, Key, KeyHasher, ParameterError};
use crivo_core::memory::{collected, reserved, zeroed};
#[cfg(feature = "spill")]
use crivo_core::spill::{PartFile, SpillError};

const PART_BITS: u32 = 9;

const PARTS: usize = 1 << PART_BITS;

/// Keys are counted as if there were as many shards as there can be.
const MOST_SHARDS: usize = 1 << MAX_SHARD_BITS;

const DIGEST_BYTES: u64 = size_of::<u64>() as u64;

/// Digests in memory have room for at least that many, so that what is written at a time is not too
/// little. Tests write with less.
#[cfg(feature = "spill")]
const MIN_HELD: usize = if cfg!(test) { PARTS } else { 1 << 20 };

/// One part in so many is looked at for copies.
#[cfg(feature = "spill")]
const SAMPLED: usize = 32;

/// Collects keys for a [`ShardedFuse`](super::ShardedFuse) filter: any number of them, and any number
/// of copies.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{KeyCollector, ShardedFuse};
///
/// let mut collector = KeyCollector::new(KeyHasher::default());
/// collector.insert("ana")?;
/// collector.extend(["rui", "ana"])?;
/// let keys = collector.finish()?;
/// assert_eq!((keys.total(), keys.count()), (3, 2));
/// assert!(ShardedFuse::from_keys(keys, 0.01)?.contains("ana"));
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Debug)]
pub struct KeyCollector {
    hasher: KeyHasher,
    threads: Option<usize>,
    /// The memory in bytes, for digests and for shards in work.
    memory: u64,
    /// The digests in memory, in no parts before the first, and how many they are, at most `max_held`.
    parts: Vec<Vec<u64>>,
    held: usize,
    max_held: usize,
    /// How many digests the parts have room for, at most twice `max_held`.
    reserved: usize,
    total: u64,
    /// `None` while everything is in memory.
    #[cfg(feature = "spill")]
    spilled: Option<PartFile>,
}

impl KeyCollector {
    /// Collects all digests in memory, 8 bytes for each key and for each copy.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::KeyCollector;
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::xxh3(7));
    /// collector.insert("ana")?;
    /// assert_eq!(collector.finish()?.count(), 1);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    #[must_use]
    pub fn new(hasher: KeyHasher) -> Self {
        Self {
            hasher,
            threads: None,
            memory: u64::MAX,
            parts: Vec::new(),
            held: 0,
            max_held: usize::MAX,
            reserved: 0,
            total: 0,
            #[cfg(feature = "spill")]
            spilled: None,
        }
    }

    /// Collects digests in at most this memory, and the rest in a temporary file.
    /// [The module](super#within-a-memory) says what the memory counts.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Bytes, KeyCollector};
    ///
    /// let mut collector = KeyCollector::within(Bytes(100_000), KeyHasher::default());
    /// collector.extend(0..50_000u64)?; // 400,000 bytes
    /// assert_eq!(collector.finish()?.count(), 50_000);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    #[cfg(feature = "spill")]
    #[must_use]
    pub fn within(memory: Bytes, hasher: KeyHasher) -> Self {
        // The other half is for what vectors take beyond their digests, and for shards in work.
        let max_held = usize::try_from(memory.0 / 2 / DIGEST_BYTES).unwrap_or(usize::MAX);
        Self { memory: memory.0, max_held: max_held.max(MIN_HELD), ..Self::new(hasher) }
    }

    /// The same, with at most this many threads, also for the construction of the filter; by default as
    /// many as the machine has. The filter is the same.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{KeyCollector, ShardedFuse};
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default()).with_threads(1)?;
    /// collector.extend(0..1_000u64)?;
    /// let filter = ShardedFuse::from_keys(collector.finish()?, 0.01)?;
    /// assert!(filter == ShardedFuse::build(0..1_000u64, 0.01)?);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If the number is 0.
    pub fn with_threads(self, threads: usize) -> Result<Self, ParameterError> {
        match threads {
            0 => Err(ParameterError::new("threads", 0, "at least 1")),
            _ => Ok(Self { threads: Some(threads), ..self }),
        }
    }

    /// Adds a key. It may be one that is there already.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::KeyCollector;
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.insert("ana")?;
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, or a temporary file cannot be written. The key may have been added; to
    /// add it again makes no difference but for [`KeySet::total`].
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), FuseError> {
        self.insert_digests(&[self.hasher.digest(key)])
    }

    /// Adds keys.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::KeyCollector;
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend(["ana", "rui"])?;
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some of the keys may have been added.
    pub fn extend<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> Result<(), FuseError> {
        keys.into_iter().try_for_each(|key| self.insert(&key))
    }

    /// Adds the keys with these digests, which must come from the collector's hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::KeyCollector;
    ///
    /// let hasher = KeyHasher::default();
    /// let mut collector = KeyCollector::new(hasher);
    /// collector.insert_digests(&["ana", "rui"].map(|key| hasher.digest(key)))?;
    /// assert_eq!(collector.finish()?.count(), 2);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some of the keys may have been added.
    pub fn insert_digests(&mut self, digests: &[Digest]) -> Result<(), FuseError> {
        self.make_parts()?;
        let mut rest = digests;
        while !rest.is_empty() {
            let room = self.max_held - self.held;
            let (now, later) = rest.split_at(rest.len().min(room));
            now.iter().try_for_each(|digest| self.put(digest.get()))?;
            rest = later;
            if self.held >= self.max_held {
                self.make_room()?;
            }
        }
        self.total += digests.len() as u64;
        Ok(())
    }

    fn make_parts(&mut self) -> Result<(), BuildError> {
        if self.parts.is_empty() {
            self.parts = collected((0..PARTS).map(|_| Vec::new()))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, digest: u64) -> Result<(), BuildError> {
        let index = (digest >> (u64::BITS - PART_BITS)) as usize;
        if self.parts[index].len() == self.parts[index].capacity() {
            self.grow(index)?;
        }
        self.parts[index].push(digest);
        self.held += 1;
        Ok(())
    }

    /// Makes room for a few more digests in a part: less than a vector would, which would double it.
    ///
    /// Copies of one key fill a part that is far longer than others, and when they are dropped, the part
    /// keeps its room. So what others do not use is given back, where old and new room would be more than
    /// the memory.
    #[cold]
    fn grow(&mut self, index: usize) -> Result<(), BuildError> {
        let length = self.parts[index].len();
        let more = (length / 4).max(16).min(self.max_held - self.held);
        if self.reserved.saturating_add(length + more) > self.max_held.saturating_mul(2) {
            self.parts.iter_mut().for_each(Vec::shrink_to_fit);
            self.reserved = self.room();
        }
        let before = self.parts[index].capacity();
        reserve(&mut self.parts[index], more)?;
        self.reserved += self.parts[index].capacity() - before;
        Ok(())
    }

    /// How many digests the parts have room for.
    fn room(&self) -> usize {
        self.parts.iter().map(Vec::capacity).sum()
    }

    #[cfg(not(feature = "spill"))]
    fn make_room(&mut self) -> Result<(), FuseError> {
        Err(BuildError::OutOfMemory { bytes: usize::MAX }.into())
    }

    /// Drops copies if there are many. If that frees too little, everything goes to disk.
    #[cfg(feature = "spill")]
    #[cold]
    fn make_room(&mut self) -> Result<(), FuseError> {
        if self.are_half_copies() {
            self.drop_copies();
        }
        if self.held > self.max_held / 2 { self.spill() } else { Ok(()) }
    }

    /// Whether half of the digests are copies, as far as some parts tell: a few, and the longest, in
    /// which all copies of one key may be.
    #[cfg(feature = "spill")]
    fn are_half_copies(&mut self) -> bool {
        let longest = (0..PARTS).max_by_key(|&part| self.parts[part].len());
        let (mut given, mut kept) = (0, 0);
        for part in (0..PARTS).step_by(SAMPLED).chain(longest) {
            let part = &mut self.parts[part];
            given += part.len();
            sort_and_drop_copies(part);
            kept += part.len();
        }
        self.held = self.parts.iter().map(Vec::len).sum();
        kept <= given / 2
    }

    /// Sorts all parts.
    #[cfg(feature = "spill")]
    fn drop_copies(&mut self) {
        let workers = threads_for_parts(self.threads, self.held as u64);
        let sort = |part: &mut Vec<u64>| {
            sort_and_drop_copies(part);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = share(workers, Mutex::new(self.parts.iter_mut()), sort);
        self.held = self.parts.iter().map(Vec::len).sum();
    }

    /// Writes all that is in memory to disk.
    #[cfg(feature = "spill")]
    fn spill(&mut self) -> Result<(), FuseError> {
        let file = match &mut self.spilled {
            Some(file) => file,
            none => none.insert(PartFile::new(PARTS)?),
        };
        for (index, part) in self.parts.iter_mut().enumerate() {
            file.append(index, part)?;
            self.held -= part.len();
            part.clear();
        }
        Ok(())
    }

    /// The distinct keys.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::KeyCollector;
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend([7u64, 8, 7])?;
    /// assert_eq!(collector.finish()?.count(), 2);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, or a temporary file cannot be written or read.
    pub fn finish(self) -> Result<KeySet, FuseError> {
        self.finish_with(Vec::new())
    }

    /// The distinct keys, with what others have collected in memory: their parts. Others are there only if
    /// nothing is on disk.
    fn finish_with(mut self, others: Vec<Vec<Vec<u64>>>) -> Result<KeySet, FuseError> {
        let mut counts = zeroed(MOST_SHARDS)?;
        let storage = self.store(others, &mut counts)?;
        let Self { hasher, threads, memory, total, .. } = self;
        let count = counts.iter().sum();
        Ok(KeySet { hasher, threads, memory, total, count, counts, storage })
    }

    fn store(
        &mut self,
        others: Vec<Vec<Vec<u64>>>,
        counts: &mut [u64],
    ) -> Result<Storage, FuseError> {
        #[cfg(feature = "spill")]
        if self.spilled.is_some() {
            debug_assert!(others.is_empty(), "collectors for several threads have no limit");
            self.spill()?;
            // Counting needs the memory.
            self.parts = Vec::new();
            if let Some(file) = self.spilled.take() {
                self.count_in(&file, counts)?;
                return Ok(Storage::Disk(file));
            }
        }
        self.make_parts()?;
        let workers = threads_for_parts(self.threads, self.held as u64);
        let mut others: Vec<_> = others.into_iter().map(Vec::into_iter).collect();
        let parts = self.parts.iter_mut().zip(counts.chunks_mut(MOST_SHARDS / PARTS));
        let parts = parts.map(|(part, counts)| {
            let pieces = others.iter_mut().filter_map(Iterator::next);
            (part, pieces.collect::<Vec<_>>(), counts)
        });
        let count = |(part, pieces, counts): (&mut Vec<u64>, Vec<Vec<u64>>, &mut [u64])| {
            reserve(part, pieces.iter().map(Vec::len).sum())?;
            pieces.into_iter().for_each(|mut piece| part.append(&mut piece));
            // While it is in the cache.
            sort_and_drop_copies(part);
            // What copies took is for shards in work. Less is not worth to move the others for.
            if part.capacity() > part.len() + part.len() / 4 + 16 {
                part.shrink_to_fit();
            }
            count_into(counts, part);
            Ok::<(), BuildError>(())
        };
        share(workers, Mutex::new(parts), count)?;
        let parts = std::mem::take(&mut self.parts);
        Ok(Storage::Memory(collected(parts.into_iter().map(Mutex::new))?))
    }

    /// Counts the distinct digests of a file.
    #[cfg(feature = "spill")]
    fn count_in(&self, file: &PartFile, counts: &mut [u64]) -> Result<(), FuseError> {
        let longest = (0..PARTS).map(|part| file.count(part)).max().unwrap_or(0);
        let fit = self.memory / (longest * DIGEST_BYTES).max(1);
        let threads = threads_for_parts(self.threads, self.total);
        let workers = threads.min(fit.try_into().unwrap_or(usize::MAX)).max(1);
        let room = (self.memory / DIGEST_BYTES).max(PARTS as u64) / workers as u64;
        let parts = counts.chunks_mut(MOST_SHARDS / PARTS).enumerate();
        share(workers, Mutex::new(parts), |(part, counts)| {
            // A part that is too large is read several times, some of its digests each time.
            let more_bits = file.count(part).div_ceil(room).next_power_of_two().trailing_zeros();
            let more_bits = more_bits.min(MAX_SHARD_BITS - PART_BITS);
            for piece in 0..1 << more_bits {
                let range =
                    Prefix { value: (part << more_bits) + piece, bits: PART_BITS + more_bits };
                let mut digests = Vec::new();
                read_into(&mut digests, file, range, room as usize)?;
                sort_and_drop_copies(&mut digests);
                count_into(counts, &digests);
            }
            Ok(())
        })
    }

    /// How many digests there is room for in memory, and how many there may be.
    #[cfg(test)]
    pub(super) fn room_and_most(&self) -> (usize, usize) {
        assert_eq!(self.reserved, self.room());
        (self.reserved, self.max_held)
    }

    /// Whether something is on disk.
    #[cfg(test)]
    pub(super) fn has_spilled(&self) -> bool {
        self.spilled.is_some()
    }
}

/// How many threads work on that many keys, as for every other kind.
pub(super) fn threads_for(most: Option<usize>, keys: u64) -> usize {
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    // No threads at all are refused where somebody asks for them.
    threads::count_for(most, keys).unwrap_or(1)
}

/// How many threads work on the parts of that many keys: no more than there are parts.
fn threads_for_parts(most: Option<usize>, keys: u64) -> usize {
    threads_for(most, keys).min(PARTS)
}

fn sort_and_drop_copies(digests: &mut Vec<u64>) {
    digests.sort_unstable();
    digests.dedup();
}

/// Adds distinct digests to the numbers of keys: of all shards, or of those of one part.
fn count_into(counts: &mut [u64], digests: &[u64]) {
    let last = counts.len() - 1;
    debug_assert!(counts.len().is_power_of_two());
    for digest in digests {
        let shard = (digest >> (u64::BITS - MAX_SHARD_BITS)) as usize;
        counts[shard & last] += 1;
    }
}

/// Digests that begin with these bits.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    value: usize,
    bits: u32,
}

impl Prefix {
    /// The parts in which there are such digests.
    fn parts(self) -> std::ops::Range<usize> {
        match PART_BITS.checked_sub(self.bits) {
            Some(more) => self.value << more..(self.value + 1) << more,
            None => {
                let part = self.value >> (self.bits - PART_BITS);
                part..part + 1
            }
        }
    }

    #[cfg(feature = "spill")]
    fn contains(self, digest: u64) -> bool {
        // There may be no bits.
        let first_bits = digest.rotate_left(self.bits) & ((1 << self.bits) - 1);
        first_bits == self.value as u64
    }
}

/// Reads the digests with this prefix. If there are more than `room`, copies among them are dropped, and
/// there is room for more only if they need it: half of what is left.
#[cfg(feature = "spill")]
fn read_into(
    digests: &mut Vec<u64>,
    file: &PartFile,
    prefix: Prefix,
    room: usize,
) -> Result<(), FuseError> {
    let mut room = room;
    let given: u64 = prefix.parts().map(|part| file.count(part)).sum();
    let all = usize::try_from(given).unwrap_or(usize::MAX);
    reserve(digests, all.min(room))?;
    for part in prefix.parts() {
        file.read(part, |read| {
            if digests.len().saturating_add(read.len()) > room {
                sort_and_drop_copies(digests);
                room = room.max(digests.len() + digests.len() / 2 + read.len());
                reserve(digests, room - digests.len())?;
            }
            if prefix.bits <= PART_BITS {
                digests.extend_from_slice(read);
            } else {
                digests.extend(read.iter().filter(|&&digest| prefix.contains(digest)));
            }
            Ok::<(), FuseError>(())
        })?;
    }
    Ok(())
}

/// Makes room for that many more digests, and no more than that.
fn reserve(digests: &mut Vec<u64>, more: usize) -> Result<(), BuildError> {
    let bytes = digests.len().saturating_add(more).saturating_mul(DIGEST_BYTES as usize);
    digests.try_reserve_exact(more).map_err(|_| BuildError::OutOfMemory { bytes })
}

/// Distinct keys, of which a [`ShardedFuse`](super::ShardedFuse) filter can be built.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{KeyCollector, ShardedFuse};
///
/// let mut collector = KeyCollector::new(KeyHasher::default());
/// collector.extend(["ana", "rui", "ana"])?;
/// let keys = collector.finish()?;
/// assert_eq!((keys.total(), keys.count()), (3, 2));
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Debug)]
pub struct KeySet {
    hasher: KeyHasher,
    threads: Option<usize>,
    memory: u64,
    total: u64,
    count: u64,
    /// How many there are in each shard, if there were as many shards as there can be.
    counts: Vec<u64>,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    /// Distinct and sorted.
    Memory(Vec<Mutex<Vec<u64>>>),
    /// With copies.
    #[cfg(feature = "spill")]
    Disk(PartFile),
}

impl KeySet {
    /// How many distinct keys there are.
    ///
    /// ```
    /// # use crivo::{KeyHasher, filter::KeyCollector};
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend(["ana", "rui", "ana"])?;
    /// assert_eq!(collector.finish()?.count(), 2);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many keys were added, with copies.
    ///
    /// ```
    /// # use crivo::{KeyHasher, filter::KeyCollector};
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend(["ana", "rui", "ana"])?;
    /// assert_eq!(collector.finish()?.total(), 3);
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The hasher of the digests.
    ///
    /// ```
    /// # use crivo::{KeyHasher, filter::KeyCollector};
    /// let keys = KeyCollector::new(KeyHasher::xxh3(7)).finish()?;
    /// assert_eq!(keys.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// All distinct digests in ascending order, in memory whatever the limit: for other kinds of
    /// filters.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{Fuse, KeyCollector};
    ///
    /// let hasher = KeyHasher::default();
    /// let mut collector = KeyCollector::new(hasher);
    /// collector.extend(["ana", "rui", "ana"])?;
    /// let filter = Fuse::from_digests(collector.finish()?.into_digests()?, 0.01, hasher)?;
    /// assert!(filter.contains("ana"));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, or a temporary file cannot be read.
    pub fn into_digests(self) -> Result<Vec<Digest>, FuseError> {
        let mut digests = self.take_shard(0, 0)?;
        digests.sort_unstable();
        // The memory is kept: a digest is its 64 bits.
        Ok(digests.into_iter().map(Digest::new).collect())
    }

    /// On how many threads a filter is to be built.
    pub(super) fn threads(&self) -> usize {
        threads_for(self.threads, self.count)
    }

    /// How many keys the largest of 2^`shard_bits` shards has.
    pub(super) fn largest_shard(&self, shard_bits: u32) -> u64 {
        let counts = self.counts.chunks(MOST_SHARDS >> shard_bits);
        counts.map(|counts| counts.iter().sum()).max().unwrap_or(0)
    }

    /// The memory for shards in work.
    pub(super) fn free_memory(&self) -> u64 {
        match &self.storage {
            Storage::Memory(parts) => {
                let room = |part: &Mutex<Vec<u64>>| {
                    part.lock().unwrap_or_else(PoisonError::into_inner).capacity() as u64
                };
                let room: u64 = parts.iter().map(room).sum();
                self.memory.saturating_sub(room.saturating_mul(DIGEST_BYTES))
            }
            #[cfg(feature = "spill")]
            Storage::Disk(_) => self.memory,
        }
    }

    /// The distinct digests of one of 2^`shard_bits` shards. It can be taken once.
    pub(super) fn take_shard(&self, shard: usize, shard_bits: u32) -> Result<Vec<u64>, FuseError> {
        let prefix = Prefix { value: shard, bits: shard_bits };
        let counts =
            &self.counts[shard * (MOST_SHARDS >> shard_bits)..][..MOST_SHARDS >> shard_bits];
        // A vector is never longer than memory.
        let count = counts.iter().sum::<u64>() as usize;
        let digests = match &self.storage {
            Storage::Memory(parts) => {
                let bytes = count.saturating_mul(DIGEST_BYTES as usize);
                let mut digests = reserved(count).ok_or(BuildError::OutOfMemory { bytes })?;
                for part in &parts[prefix.parts()] {
                    let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                    if shard_bits <= PART_BITS {
                        digests.append(&mut part);
                        *part = Vec::new();
                    } else {
                        let first = part.partition_point(|&digest| {
                            digest >> (u64::BITS - shard_bits) < prefix.value as u64
                        });
                        digests.extend_from_slice(&part[first..first + count]);
                    }
                }
                digests
            }
            #[cfg(feature = "spill")]
            Storage::Disk(file) => {
                // Where there are copies, room for as many again: it is taken once, and given back
                // before the shard is solved, so that it is within what a shard takes per key.
                let room = count.saturating_mul(2).saturating_add(1 << 12);
                let mut digests = Vec::new();
                read_into(&mut digests, file, prefix, room)?;
                if digests.len() > count {
                    sort_and_drop_copies(&mut digests);
                }
                digests.shrink_to_fit();
                digests
            }
        };
        debug_assert_eq!(digests.len(), count);
        Ok(digests)
    }
}

#[cfg(feature = "spill")]
impl From<SpillError> for FuseError {
    fn from(error: SpillError) -> Self {
        Self::TemporaryFile { kind: error.cause.kind(), message: error.to_string() }
    }
}
