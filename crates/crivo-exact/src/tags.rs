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
    /// From how many places sixteen tags can be read: one for each slot, and one behind the last.
    starts: usize,
}

impl<'a> Tags<'a> {
    /// These tags, of which the last `MIRROR` belong to no slot of their own.
    #[inline]
    pub(super) fn new(tags: &'a [u8]) -> Self {
        Self { tags, starts: tags.len().saturating_sub(MIRROR - 1) }
    }

    #[inline]
    fn slot_count(self) -> usize {
        self.starts.saturating_sub(1)
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
        TwoBuckets { tags: Group::new(self.eight(first), self.eight(second)), first, second, lanes }
    }

    /// The same for two buckets of eight, given by their numbers. All their lanes are slots.
    #[inline(always)]
    pub(super) fn two_of_eight(self, first: usize, second: usize) -> TwoBuckets {
        let buckets = self.slot_count() / 8;
        assert!(first < buckets && second < buckets, "no such bucket");
        // SAFETY: the eight tags from 8·bucket on are there, since `bucket` is below an eighth of
        // the slots.
        let eight = |bucket| unsafe {
            u64::from_le(self.tags.as_ptr().add(8 * bucket).cast::<u64>().read_unaligned())
        };
        let tags = Group::new(eight(first), eight(second));
        TwoBuckets { tags, first: 8 * first, second: 8 * second, lanes: 0xffff }
    }

    /// The first empty slot from `start` on, round the end. There must be one, and no fewer than
    /// sixteen slots.
    #[inline]
    pub(super) fn first_empty(self, mut start: usize) -> usize {
        // In a table that has just grown it is most often the first.
        if self.tags[start] == EMPTY {
            return start;
        }
        let count = self.slot_count();
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
        assert!(slot < self.starts);
        // SAFETY: `starts` is 0, or the last place before which `MIRROR` = 16 tags are left.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_buckets_of_eight_are_read_as_any_two_buckets() {
        let tags: Vec<u8> = (0..40 + MIRROR as u8).map(|i| i % 5).collect();
        let tags = Tags::new(&tags);
        for (first, second) in (0..5).flat_map(|first| (0..5).map(move |second| (first, second))) {
            let short = tags.two_of_eight(first, second);
            let long = tags.two_buckets(8 * first, 8 * second, 0xffff);
            for tag in 0..6 {
                assert_eq!(short.matches(tag), long.matches(tag));
            }
            assert_eq!(short.empty_slot(), long.empty_slot());
            assert_eq!((short.slot(3), short.slot(11)), (8 * first + 3, 8 * second + 3));
        }
    }

    #[test]
    #[should_panic(expected = "no such bucket")]
    fn a_bucket_that_reaches_beyond_the_last_slot_is_refused() {
        // Room for sixteen tags from slot 8 on, which are not all slots.
        Tags::new(&[0; 15 + MIRROR]).two_of_eight(0, 1);
    }

    #[test]
    #[should_panic(expected = "slot < self.starts")]
    fn tags_without_a_mirror_are_never_read() {
        Tags::new(&[0; MIRROR - 1]).sixteen(0);
    }
}
