//! The view of a table that the search for a place uses.

use super::Eviction;
use super::evict::{Buckets, Choices, Randomness};
use super::geometry::Geometry;
use crate::group::Group;
use crate::slots::{EMPTY, TaggedSlots};
use crivo::{Digest, Key, KeyHasher};

/// Slots, and the rule that says which of them a key may take.
pub(super) struct Table<'a, K, V> {
    slots: &'a TaggedSlots<K, V>,
    geometry: Geometry,
    hasher: KeyHasher,
}

/// The slots over which a new entry finds its place; most often just one.
pub(super) enum Path {
    Direct([usize; 1]),
    Chain(Vec<usize>),
}

impl Path {
    #[inline]
    pub(super) fn as_slice(&self) -> &[usize] {
        match self {
            Self::Direct(slot) => slot,
            Self::Chain(slots) => slots,
        }
    }
}

impl<'a, K: Key, V> Table<'a, K, V> {
    #[inline]
    pub(super) fn new(slots: &'a TaggedSlots<K, V>, geometry: Geometry, hasher: KeyHasher) -> Self {
        Self { slots, geometry, hasher }
    }

    /// A path for a new key with this digest.
    pub(super) fn path_for(
        &self,
        digest: Digest,
        eviction: Eviction,
        randomness: &mut Randomness,
    ) -> Option<Path> {
        if let Some(slot) = self.empty_slot_for(digest) {
            return Some(Path::Direct([slot]));
        }
        let start = self.geometry.choices(digest);
        eviction.find_path(self, &start, randomness).map(Path::Chain)
    }

    /// An empty slot in the emptiest of the digest's buckets: keeping them level makes for fewer
    /// evictions later.
    #[inline]
    pub(super) fn empty_slot_for(&self, digest: Digest) -> Option<usize> {
        // Which bucket is emptier is a coin toss: a maximum of numbers that carry the slot with
        // them needs no branch to be guessed wrong.
        let mut best = 0;
        for i in 0..self.geometry.choices {
            let bucket = self.geometry.bucket(digest, i);
            let empty = self.empty_lanes(bucket);
            let slot = bucket * self.geometry.bucket_size + empty.trailing_zeros() as usize;
            best = best.max(u64::from(empty.count_ones()) << 56 | slot as u64);
        }
        (best >> 56 > 0).then_some((best & (u64::MAX >> 8)) as usize)
    }

    /// A bit for every empty slot of a bucket.
    #[inline]
    fn empty_lanes(&self, bucket: usize) -> u32 {
        let tags = self.slots.eight_tags(bucket * self.geometry.bucket_size);
        Group::new(tags, 0).matches(EMPTY) & self.geometry.lanes()
    }
}

impl<K: Key, V> Buckets for Table<'_, K, V> {
    fn bucket_size(&self) -> usize {
        self.geometry.bucket_size
    }

    #[inline]
    fn empty_slot(&self, bucket: usize) -> Option<usize> {
        let empty = self.empty_lanes(bucket);
        let slot = bucket * self.geometry.bucket_size + empty.trailing_zeros() as usize;
        (empty != 0).then_some(slot)
    }

    #[inline]
    fn choices_of(&self, slot: usize) -> Choices {
        match self.slots.entry(slot) {
            Some((key, _)) => self.geometry.choices(self.hasher.digest(key)),
            // Searches only ask about slots that they found taken.
            None => Choices::new(0, |_| 0),
        }
    }
}
