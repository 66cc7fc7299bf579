//! The view of a table that the search for a place uses.

use super::Eviction;
use super::evict::{Buckets, Choices, Randomness};
use super::geometry::Geometry;
use crate::group::Group;
use crate::tags::{COPIES_OF_EMPTY, Tags, Vacancy};
use crivo::Digest;

/// Which slots are taken, which of them a key may take, and the digest of the key in a slot.
pub(super) struct Table<'a, D> {
    tags: Tags<'a>,
    geometry: Geometry,
    digest_in: D,
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

impl<'a, D: Fn(usize) -> Digest> Table<'a, D> {
    /// `digest_in` is only asked about slots that are taken.
    #[inline]
    pub(super) fn new(tags: Tags<'a>, geometry: Geometry, digest_in: D) -> Self {
        Self { tags, geometry, digest_in }
    }

    /// A path for a new key with this digest.
    pub(super) fn path_for(
        &self,
        digest: Digest,
        eviction: Eviction,
        randomness: &mut Randomness,
    ) -> Option<Path> {
        if let Some(slot) = empty_slot_for(self.tags, &self.geometry, digest) {
            return Some(Path::Direct([slot]));
        }
        let start = self.geometry.choices(digest);
        eviction.find_path(self, &start, randomness).map(Path::Chain)
    }
}

/// An empty slot in the emptiest of the digest's buckets.
#[inline(always)]
pub(super) fn empty_slot_for(tags: Tags<'_>, geometry: &Geometry, digest: Digest) -> Option<usize> {
    let mut best = Vacancy::NONE;
    for i in 0..geometry.choices {
        let bucket = geometry.bucket(digest, i);
        let empty = empty_lanes(tags, geometry, bucket);
        best = best.max(Vacancy::new(bucket * geometry.bucket_size, empty));
    }
    best.slot()
}

/// A bit for every empty slot of a bucket.
#[inline]
fn empty_lanes(tags: Tags<'_>, geometry: &Geometry, bucket: usize) -> u32 {
    let tags = tags.eight(bucket * geometry.bucket_size);
    Group::new(tags, 0).matches(&COPIES_OF_EMPTY) & geometry.lanes()
}

impl<D: Fn(usize) -> Digest> Buckets for Table<'_, D> {
    fn bucket_size(&self) -> usize {
        self.geometry.bucket_size
    }

    #[inline]
    fn empty_slot(&self, bucket: usize) -> Option<usize> {
        let empty = empty_lanes(self.tags, &self.geometry, bucket);
        let slot = bucket * self.geometry.bucket_size + empty.trailing_zeros() as usize;
        (empty != 0).then_some(slot)
    }

    #[inline]
    fn choices_of(&self, slot: usize) -> Choices {
        self.geometry.choices((self.digest_in)(slot))
    }
}
