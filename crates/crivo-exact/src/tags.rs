//! The tags of a table: one byte a slot, compared sixteen at a time.

// Sixteen tags are read at once, from any slot.
#![allow(unsafe_code)]

use super::group::{Copies, Group};
use crivo::Digest;

/// The tag of an empty slot.
pub(super) const EMPTY: u8 = 0;

/// What empty slots are found with.
pub(super) static COPIES_OF_EMPTY: Copies = Copies::new(EMPTY);

/// The tag of a digest: eight of its low bits, of which 0 and 1 are one. Slots are chosen by the high
/// bits.
#[inline]
pub(super) fn tag_of(digest: Digest) -> u8 {
    tag_bits(digest).max(1)
}

/// The tag of a digest sixteen times over. To look them up takes fewer instructions than to make
/// them, and a mask for an offset where rows have sixteen bytes and the tag leaves out four bits.
#[inline(always)]
pub(super) fn copies_of_tag(digest: Digest) -> &'static Copies {
    static COPIES: [Copies; 256] = {
        let mut copies = [Copies::new(1); 256];
        let mut tag = 1;
        while tag < copies.len() {
            copies[tag] = Copies::new(tag as u8);
            tag += 1;
        }
        copies
    };
    &COPIES[usize::from(tag_bits(digest))]
}

#[inline(always)]
fn tag_bits(digest: Digest) -> u8 {
    (digest.get() >> 4) as u8
}

/// The first two digits of `hash / 2^64` in base `range`: two numbers below `range`, or 0 if that is 0.
///
/// The second costs one multiplication, and shares no bit of the hash with the first.
#[inline(always)]
pub(super) fn two_digits(hash: u64, range: usize) -> (usize, usize) {
    // Below `range` · 2^64, as is the other product: both high halves are below `range`.
    let first = u128::from(hash) * range as u128;
    let second = u128::from(first as u64) * range as u128;
    ((first >> 64) as usize, (second >> 64) as usize)
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
        assert!(tags.len() >= MIRROR, "tags have a mirror");
        Self { tags, starts: tags.len() - (MIRROR - 1) }
    }

    #[inline]
    fn slot_count(self) -> usize {
        self.starts - 1
    }

    /// The tags of eight neighbours, the first in the lowest byte.
    #[inline]
    pub(super) fn eight(self, slot: usize) -> u64 {
        // SAFETY: eight bytes can be read wherever sixteen can.
        u64::from_le(unsafe { self.sixteen_at(slot).cast::<u64>().read_unaligned() })
    }

    /// The tags of two buckets, given by their numbers, of at most eight slots each.
    #[inline]
    pub(super) fn two_buckets(self, first: usize, second: usize, bucket_size: usize) -> TwoBuckets {
        let tags = Group::new(self.eight(bucket_size * first), self.eight(bucket_size * second));
        TwoBuckets { tags, first, second, bucket_size }
    }

    /// The tags of the two buckets of eight that a digest means. All their lanes are slots.
    #[inline(always)]
    pub(super) fn two_of_eight(self, digest: Digest) -> TwoBuckets {
        let (first, second) = two_digits(digest.get(), self.slot_count() / 8);
        // SAFETY: both buckets are below an eighth of the slots, so that the eight tags of each are
        // there. If that is none, both are bucket 0, in whose place there are `MIRROR` tags.
        let eight = |bucket| unsafe {
            u64::from_le(self.tags.as_ptr().add(8 * bucket).cast::<u64>().read_unaligned())
        };
        let tags = Group::new(eight(first), eight(second));
        TwoBuckets { tags, first, second, bucket_size: 8 }
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
            let empty = self.sixteen(start).matches(&COPIES_OF_EMPTY);
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
        // SAFETY: from the last place before `starts` on, `MIRROR` = 16 tags are left.
        unsafe { self.tags.as_ptr().add(slot) }
    }
}

/// The tags of two buckets of at most eight slots. The lanes from 0 on are those of the first, from 8
/// on of the second.
#[derive(Clone, Copy)]
pub(super) struct TwoBuckets {
    tags: Group,
    first: usize,
    second: usize,
    bucket_size: usize,
}

impl TwoBuckets {
    /// A bit for every lane with this tag that is a slot.
    #[inline(always)]
    pub(super) fn matches(self, copies: &Copies) -> u32 {
        let lanes = (1 << self.bucket_size) - 1;
        self.tags.matches(copies) & (lanes | lanes << 8)
    }

    /// The slot of the first of these lanes, of which there is one.
    ///
    /// Which of the buckets it is in is a coin toss, and is not branched on.
    #[inline(always)]
    pub(super) fn first_slot(self, lanes: u32) -> usize {
        let bucket = if lanes & 0xff != 0 { self.first } else { self.second };
        self.bucket_size * bucket + (lanes.trailing_zeros() % 8) as usize
    }

    /// An empty slot of the emptier bucket.
    #[inline(always)]
    pub(super) fn empty_slot(self) -> Option<usize> {
        let empty = self.matches(&COPIES_OF_EMPTY);
        let first = Vacancy::new(self.bucket_size * self.first, empty & 0xff);
        first.max(Vacancy::new(self.bucket_size * self.second, empty >> 8)).slot()
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
        for slots in [0, 7, 8, 40, 47] {
            let tags: Vec<u8> = (0..slots + MIRROR).map(|i| (i % 5) as u8).collect();
            let tags = Tags::new(&tags);
            for digest in (0..200).map(|i| Digest::new(i).remix()) {
                let (first, second) = two_digits(digest.get(), slots / 8);
                assert!(slots < 8 || first.max(second) < slots / 8);
                let short = tags.two_of_eight(digest);
                let long = tags.two_buckets(first, second, 8);
                for copies in (0..6).map(Copies::new) {
                    assert_eq!(short.matches(&copies), long.matches(&copies));
                }
                assert_eq!(short.empty_slot(), long.empty_slot());
                assert_eq!(short.first_slot(0xfff8), 8 * first + 3);
                assert_eq!(short.first_slot(0xf800), 8 * second + 3);
            }
        }
    }

    #[test]
    fn lanes_beyond_a_bucket_match_nothing() {
        let buckets = Tags::new(&[7; 9 + MIRROR]).two_buckets(0, 2, 3);
        assert_eq!(buckets.matches(&Copies::new(7)), 0b111_0000_0111);
        assert_eq!((buckets.first_slot(0b110), buckets.first_slot(0x200)), (1, 7));
    }

    #[test]
    fn digits_of_extreme_hashes_are_below_their_base() {
        for range in [1, 2, 3, 1 << 20, usize::MAX >> 1, usize::MAX] {
            for hash in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                let (first, second) = two_digits(hash, range);
                assert!(first < range && second < range);
            }
        }
        assert_eq!(two_digits(u64::MAX, 0), (0, 0));
        // A third and a ninth: 0.11 in base 3.
        assert_eq!(two_digits((u64::MAX / 9) * 4 + 4, 3), (1, 1));
    }

    #[test]
    fn copies_are_of_the_tag_which_is_never_empty() {
        for bits in 0..0x2000 {
            let tag = tag_of(Digest::new(bits));
            assert!(tag != EMPTY);
            assert_eq!(*copies_of_tag(Digest::new(bits)), Copies::new(tag));
        }
    }

    #[test]
    #[should_panic(expected = "tags have a mirror")]
    fn tags_without_a_mirror_are_refused() {
        Tags::new(&[0; MIRROR - 1]);
    }
}
