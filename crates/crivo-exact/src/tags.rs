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
pub(super) struct Tags<'a>(&'a [u8]);

impl<'a> Tags<'a> {
    /// These tags, of which the last `MIRROR` belong to no slot of their own.
    #[inline]
    pub(super) fn new(tags: &'a [u8]) -> Self {
        Self(tags)
    }

    #[inline]
    fn slot_count(self) -> usize {
        self.0.len() - MIRROR
    }

    /// The tags of eight neighbours, the first in the lowest byte.
    #[inline]
    pub(super) fn eight(self, slot: usize) -> u64 {
        // SAFETY: eight bytes can be read wherever sixteen can.
        u64::from_le(unsafe { self.sixteen_at(slot).cast::<u64>().read_unaligned() })
    }

    /// The first empty slot from `start` on, round the end. There must be one, and no fewer than
    /// sixteen slots.
    #[inline]
    pub(super) fn first_empty(self, mut start: usize) -> usize {
        // In a table that has just grown it is most often the first.
        if self.0[start] == EMPTY {
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
        assert!(self.0.len().checked_sub(MIRROR).is_some_and(|last| slot <= last));
        // SAFETY: `MIRROR` = 16 tags are there from `slot` on.
        unsafe { self.0.as_ptr().add(slot) }
    }
}
