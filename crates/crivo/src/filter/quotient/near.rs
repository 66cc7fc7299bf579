//! Questions and insertions where runs lie near their quotients: in a table that is not crowded.
//!
//! There a run nearly always ends in the block of its quotient, and few slots behind it. So the
//! remainders from the quotient's slot on are read and compared at once, before anything is known of
//! the run; only which of them count depends on the bitmaps:
//!
//! ```text
//!   starts       where a run may begin: at the offset, and behind every end of a run
//!   rank         how many quotients up to this one occur
//!   the run      from the rank-th bit of starts to before the next (the first ones may lie before
//!                the quotient: they are of another run, and not slots of this one)
//! ```
//!
//! Two bits of one word subtracted are all bits from the one to before the other. With the
//! instructions that scatter and gather bits that takes no loop, and no branch that depends on the
//! key. Whatever lies otherwise is not decided here.

use std::ops::Deref;

use super::bytes::{self, Position};
use super::geometry::BLOCK;
use super::processor::Processor;
use super::table::{QuotientTable, through};

/// What the block of a quotient tells, if no run of an earlier block fills it.
struct Near {
    occupieds: u64,
    ends: u64,
    /// Slots in which a run begins, if it is not empty.
    starts: u64,
    /// How many quotients up to this one occur.
    rank: usize,
}

impl<W: Deref<Target = [u64]>> QuotientTable<W> {
    #[inline(always)]
    fn near(&self, processor: impl Processor, block: usize, home: usize) -> Option<Near> {
        let (occupieds, ends, offset) =
            (self.occupieds(block), self.runends(block), self.offset(block));
        if offset >= BLOCK {
            return None;
        }
        let starts = (ends >> offset << 1 | 1) << offset;
        let rank = processor.count(occupieds << (63 - home));
        Some(Near { occupieds, ends, starts, rank })
    }

    /// Whether there is this fingerprint, if that can be told here. Its quotient occurs.
    #[inline(always)]
    pub(super) fn contains_near(
        &self,
        processor: impl Processor,
        fingerprint: u64,
    ) -> Option<bool> {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let (block, home) = (quotient / BLOCK, quotient % BLOCK);
        let fields = self.fields_from(block, home);
        let equal = processor.gather(fields.equal_to(remainder), fields.highs()) << home;
        let near = self.near(processor, block, home)?;
        // The rank is from 1 to 64. Of 64 quotients the last has no next start: it is not found.
        let rank = 1 << ((near.rank + 63) % BLOCK);
        let start = processor.scatter(rank, near.starts);
        let end = processor.scatter(rank << 1, near.starts);
        if end.wrapping_sub(1) >= self.reach(home) {
            return None;
        }
        Some(end.wrapping_sub(start) & equal != 0)
    }

    /// The bit of the slot behind those whose remainders are compared at once, from slot `home` on.
    #[inline(always)]
    fn reach(&self, home: usize) -> u64 {
        let behind = home + self.geometry.remainders_at_once();
        if behind < BLOCK { 1 << behind } else { u64::MAX }
    }
}

impl QuotientTable<&mut [u64]> {
    /// Adds a fingerprint, and tells whether it is new, if that can be done here.
    #[inline(always)]
    pub(super) fn insert_near(
        &mut self,
        processor: impl Processor,
        fingerprint: u64,
    ) -> Option<bool> {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let (block, home) = (quotient / BLOCK, quotient % BLOCK);
        let near = self.near(processor, block, home)?;
        // As many ends before the quotient's slot as quotients up to it: that is empty. It is worth a
        // branch, as little has to be known to write there, and the next insertion need not wait.
        if processor.count(near.starts & through(home)) > near.rank {
            self.set_occupied(quotient, true);
            self.set_run_end(quotient, true);
            self.set_remainder(quotient, remainder);
            return Some(true);
        }
        if near.rank == BLOCK {
            return None;
        }
        let end = processor.scatter(1 << near.rank, near.starts);
        if end.wrapping_sub(1) >= self.reach(home) {
            return None;
        }
        let fields = self.fields_from(block, home);
        let equal = processor.gather(fields.equal_to(remainder), fields.highs()) << home;
        let greater = processor.gather(fields.greater_than(remainder), fields.highs()) << home;
        let occurs = near.occupieds >> home & 1;
        let start = processor.scatter(1 << near.rank >> 1, near.starts);
        let run = end.wrapping_sub(start) & occurs.wrapping_neg();
        let end = end.trailing_zeros() as usize;
        let place = end - processor.count(greater & run);

        // A slot is empty if all runs that have begun up to it have ended before it.
        let (mut empty, mut rank) = (end, near.rank);
        loop {
            let begun = processor.count(near.occupieds << (63 - empty));
            if begun == rank {
                break;
            }
            rank = begun;
            empty = processor.select(near.starts, rank);
            if empty == BLOCK {
                return None;
            }
        }
        let bits = self.geometry.remainder_bits() as usize;
        let moved = (empty - place + 1) * bits;
        if moved > bytes::BITS as usize {
            return None;
        }
        // Twice the bits from `place` on up to the empty slot: one place farther. And the end of the
        // run, if the fingerprint is its last: a new one, or the one before it, one farther as well.
        let ends_moved = near.ends & (u64::MAX << place) & !(u64::MAX << empty);
        let end_bit = if place == end { (1 << place) >> occurs } else { 0 };
        let ends = near.ends.wrapping_add(ends_moved).wrapping_add(end_bit);
        let mask = !(u64::MAX << moved);
        let from = Position::new(self.geometry.remainders_word(block), place * bits);
        let remainders = bytes::read(self.words, from) << bits & mask | remainder;
        bytes::write(self.words, from, mask, remainders);
        let word = self.geometry.occupieds_word(block);
        self.words[word] = near.occupieds | 1 << home;
        self.words[word + 1] = ends;
        Some(equal & run == 0)
    }
}
