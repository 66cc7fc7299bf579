//! The tags of a table: one byte a slot, compared sixteen at a time.

// Sixteen tags are read at once, from any slot.
#![allow(unsafe_code)]

use super::group::Group;
use crivo::Digest;

/// The tag of an empty slot.
pub(super) const EMPTY: u8 = 0;

/// The tag of a digest: its low eight bits, of which 0 and 1 are one. Slots are chosen by the high
/// bits.
#[inline]
pub(super) fn tag_of(digest: Digest) -> u8 {
    (digest.get() as u8).max(1)
}

/// Tags beyond the last slot, so that a group of 16 can be read from any slot.
pub(super) const MIRROR: usize = 16;

/// The tags of a table, without its entries.
#[derive(Clone, Copy)]
pub(super) struct Tags<'a> {
    tags: &'a [u8],
    /// The tags less `MIRROR`: no more than that.
    slot_count: usize,
}

impl<'a> Tags<'a> {
    /// These tags, of which the last `MIRROR` belong to no slot of their own.
    #[inline]
    pub(super) fn new(tags: &'a [u8]) -> Self {
        let slot_count = tags.len().checked_sub(MIRROR).expect("a mirror is always there");
        Self { tags, slot_count }
    }

    /// The tags of eight neighbours, the first in the lowest byte.
    #[inline]
    pub(super) fn eight(self, slot: usize) -> u64 {
        // SAFETY: eight bytes can be read wherever sixteen can.
        u64::from_le(unsafe { self.sixteen_at(slot).cast::<u64>().read_unaligned() })
    }

    /// The tags of the buckets that begin at `first` and at `second`, whose slots are the lanes with a
    /// bit in `lanes`: the low eight are those from `first` on.
    #[inline(always)]
    pub(super) fn two_buckets(self, first: usize, second: usize, lanes: u32) -> TwoBuckets {
        // One branch for both.
        assert!(first.max(second) <= self.slot_count);
        TwoBuckets { tags: Group::new(self.eight(first), self.eight(second)), first, second, lanes }
    }

    /// The first empty slot from `start` on, round the end. There must be one, and no fewer than
    /// sixteen slots.
    #[inline]
    pub(super) fn first_empty(self, mut start: usize) -> usize {
        // In a table that has just grown it is most often the first.
        if self.tags[start] == EMPTY {
            return start;
        }
        let count = self.slot_count;
        let round_the_end = |slot| if slot < count { slot } else { slot - count };
        loop {
            let empty = self.sixteen(start).matches(EMPTY);
            if empty != 0 {
                return round_the_end(start + empty.trailing_zeros() as usize);
            }
            start = round_the_end(start + 16);
        }
    }

    /// The tags of sixteen neighbours; past the end they go on at the first slot.
    #[inline]
    pub(super) fn sixteen(self, slot: usize) -> Group {
        // SAFETY: `sixteen_at` points to sixteen readable bytes.
        let tags = u128::from_le(unsafe { self.sixteen_at(slot).cast::<u128>().read_unaligned() });
        Group::new(tags as u64, (tags >> 64) as u64)
    }

    /// Where the tags from `slot` on are, of which sixteen can be read.
    #[inline]
    fn sixteen_at(self, slot: usize) -> *const u8 {
        assert!(slot <= self.slot_count);
        // SAFETY: `MIRROR` = 16 tags are there from `slot_count` on.
        unsafe { self.tags.as_ptr().add(slot) }
    }
}

/// The tags of two buckets of at most eight slots.
#[derive(Clone, Copy)]
pub(super) struct TwoBuckets {
    tags: Group,
    first: usize,
    second: usize,
    lanes: u32,
}

impl TwoBuckets {
    /// A bit for every lane with this tag.
    #[inline(always)]
    pub(super) fn matches(self, tag: u8) -> u32 {
        self.tags.matches(tag) & self.lanes
    }

    /// The slot of a lane.
    #[inline(always)]
    pub(super) fn slot(self, lane: usize) -> usize {
        if lane < 8 { self.first + lane } else { self.second + lane - 8 }
    }

    /// An empty slot of the emptier bucket.
    #[inline(always)]
    pub(super) fn empty_slot(self) -> Option<usize> {
        let empty = self.matches(EMPTY);
        let first = Vacancy::new(self.first, empty & 0xff);
        first.max(Vacancy::new(self.second, empty >> 8)).slot()
    }
}

/// How empty a bucket is, and an empty slot of it. A new entry goes to the emptiest of its buckets:
/// keeping them level makes for fewer evictions later.
///
/// Which bucket that is is a coin toss: a maximum of numbers that carry the slot with them needs no
/// branch to be guessed wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vacancy(u64);

impl Vacancy {
    /// Of no bucket.
    pub(super) const NONE: Self = Self(0);

    /// Of the bucket that begins at `first`, with a bit for each empty slot.
    #[inline(always)]
    pub(super) fn new(first: usize, empty: u32) -> Self {
        let slot = first + empty.trailing_zeros() as usize;
        Self(u64::from(empty.count_ones()) << 56 | slot as u64)
    }

    /// An empty slot, if there is one.
    #[inline(always)]
    pub(super) fn slot(self) -> Option<usize> {
        (self.0 >> 56 > 0).then_some((self.0 & (u64::MAX >> 8)) as usize)
    }
}
