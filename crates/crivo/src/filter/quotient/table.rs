//! The table: where the run of a quotient lies, and how fingerprints go in and out.
//!
//! Everything rests on one count. Up to any slot s,
//!
//! ```text
//!   runs begun (quotients that occur)  −  runs ended  =  runs that still have keys to place
//! ```
//!
//! so that the run of a quotient ends at the bit of `runends` that has the same rank as the
//! quotient's bit in `occupieds`, and a slot is empty where all runs begun up to it have ended
//! before it. The offset of a block saves counting from the beginning of the table: it tells how
//! many slots from the first of the block on belong to quotients of earlier blocks.
//!
//! Nothing here trusts the words. Whatever they are, every loop goes forward and ends with the
//! table, and every index is checked or comes from a quotient in range.

use std::ops::{Deref, Range};

use super::bytes::{self, Position};
use super::fields::Fields;
use super::geometry::{BLOCK, QuotientGeometry};
use super::processor::{Best, Processor};
use super::shift;
use crate::BuildError;
use crivo_core::Words;
use crivo_core::memory::Cache;

/// Fingerprints in a sorted, packed order. The same fingerprints are always the same words.
///
/// The words are [`Words`], or a slice of them while they are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotientTable<W = Words> {
    pub(super) geometry: QuotientGeometry,
    pub(super) words: W,
    /// The instructions to use.
    pub(super) processor: Best,
}

/// The largest offset that a table can write down.
pub(super) const MAX_OFFSET: usize = u16::MAX as usize;

/// What [`QuotientTable::where_runs_have_ended`] looks for.
#[derive(Clone, Copy)]
enum Wanted {
    /// The first slot that is empty.
    Empty,
    /// The first slot that is empty, or in which the run of its own quotient begins.
    Undisplaced,
}

impl QuotientTable {
    /// An empty table.
    pub(super) fn new(geometry: QuotientGeometry) -> Result<Self, BuildError> {
        Ok(Self::of_words(geometry, Words::zeroed(geometry.words())?))
    }

    /// The table that these words are, as many as the geometry has.
    pub(super) fn of_words(geometry: QuotientGeometry, words: Words) -> Self {
        Self { geometry, words, processor: Best::detect() }
    }

    /// Fetches what a question about this fingerprint will read.
    #[inline(always)]
    pub(super) fn prefetch(&self, fingerprint: u64, cache: Cache) {
        let (quotient, _) = self.geometry.split(fingerprint);
        let block = quotient / BLOCK;
        let bit = quotient % BLOCK * self.geometry.remainder_bits() as usize;
        self.words.prefetch(self.geometry.occupieds_word(block), cache);
        self.words.prefetch(self.geometry.remainders_word(block) + bit / 64, cache);
        self.words.prefetch(self.geometry.offset_word(block), cache);
    }

    /// The table, to be changed.
    #[inline(always)]
    pub(super) fn to_mut(&mut self) -> QuotientTable<&mut [u64]> {
        let Self { geometry, processor, .. } = *self;
        QuotientTable { geometry, words: self.words.to_mut(), processor }
    }
}

/// Reading.
impl<W: Deref<Target = [u64]>> QuotientTable<W> {
    #[inline(always)]
    pub(super) fn occupieds(&self, block: usize) -> u64 {
        self.words[self.geometry.occupieds_word(block)]
    }

    #[inline(always)]
    pub(super) fn runends(&self, block: usize) -> u64 {
        self.words[self.geometry.runends_word(block)]
    }

    #[inline(always)]
    pub(super) fn offset(&self, block: usize) -> usize {
        let word = self.words[self.geometry.offset_word(block)];
        usize::from((word >> self.geometry.offset_shift(block)) as u16)
    }

    #[inline(always)]
    pub(super) fn is_run_end(&self, slot: usize) -> bool {
        self.runends(slot / BLOCK) >> (slot % BLOCK) & 1 == 1
    }

    #[inline(always)]
    fn is_occupied(&self, quotient: usize) -> bool {
        self.occupieds(quotient / BLOCK) >> (quotient % BLOCK) & 1 == 1
    }

    /// The 64 bits of a block's remainders from the one of `slot` on; those that would lie behind
    /// the block are noise.
    #[inline(always)]
    fn remainders_from(&self, slot: usize) -> u64 {
        let bit = slot % BLOCK * self.geometry.remainder_bits() as usize;
        let word = self.geometry.remainders_word(slot / BLOCK) + bit / 64;
        let shift = bit % 64;
        // Behind the last block there are the offsets, so that there is always a next word. The
        // shift by 64 that may be needed does not exist: hence two.
        self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift)
    }

    #[inline(always)]
    pub(super) fn remainder(&self, slot: usize) -> u64 {
        self.remainders_from(slot) & self.geometry.remainder_mask()
    }

    /// The slot of the `number`-th (from 1) end of a run from slot `from` on.
    #[inline(always)]
    fn nth_run_end(&self, processor: impl Processor, from: usize, number: usize) -> Option<usize> {
        let mut block = from / BLOCK;
        if block >= self.geometry.blocks() {
            return None;
        }
        let mut number = number;
        let mut ends = self.runends(block) & (u64::MAX << (from % BLOCK));
        loop {
            let end = processor.select(ends, number - 1);
            if end < 64 {
                return Some(block * BLOCK + end);
            }
            number -= processor.count(ends);
            block += 1;
            if block == self.geometry.blocks() {
                return None;
            }
            ends = self.runends(block);
        }
    }

    /// The slot behind those of all quotients up to this one; it may be at or before the quotient
    /// if none has keys near it.
    #[inline(always)]
    fn end_through(&self, processor: impl Processor, quotient: usize) -> Option<usize> {
        let block = quotient / BLOCK;
        let begun = processor.count(self.occupieds(block) << (63 - quotient % BLOCK));
        let from = block * BLOCK + self.offset(block);
        if begun == 0 {
            return Some(from);
        }
        self.nth_run_end(processor, from, begun).map(|last| last + 1)
    }

    /// The slots of the run that ends before `end`, the run of `quotient`.
    #[inline(always)]
    fn run_before(&self, quotient: usize, end: usize) -> Range<usize> {
        let last = end - 1;
        let mut block = last / BLOCK;
        let mut earlier = self.runends(block) & !(u64::MAX << (last % BLOCK));
        while earlier == 0 && block > quotient / BLOCK {
            block -= 1;
            earlier = self.runends(block);
        }
        let start = block * BLOCK + 64 - earlier.leading_zeros() as usize;
        start.max(quotient)..end
    }

    /// The slots of the run of a quotient.
    #[inline(always)]
    fn run(&self, processor: impl Processor, quotient: usize) -> Option<Range<usize>> {
        if !self.is_occupied(quotient) {
            return None;
        }
        let end = self.end_through(processor, quotient)?;
        // Only a table that contradicts itself has a run before its home.
        (end > quotient).then(|| self.run_before(quotient, end))
    }

    /// Whether the quotient of this fingerprint occurs: if not, it is not there.
    #[inline(always)]
    pub(super) fn may_contain(&self, fingerprint: u64) -> bool {
        let (block, bit) = self.geometry.block_and_bit(fingerprint);
        self.occupieds(block) >> bit & 1 == 1
    }

    /// Whether there is this fingerprint: of the slots of its run, does one hold its remainder?
    #[inline(always)]
    pub(super) fn contains(&self, processor: impl Processor, fingerprint: u64) -> bool {
        match self.contains_in_block(processor, fingerprint) {
            Some(contains) => contains,
            None => self.count(processor, fingerprint) > 0,
        }
    }

    /// Whether there is this fingerprint, if its run lies in the block of its quotient, and in no
    /// more remainders than can be compared at once.
    ///
    /// Nearly always it does. Then there is nothing to guess for the processor: no branch depends on
    /// whether the quotient occurs, how long the run is, or what it holds.
    #[inline(always)]
    fn contains_in_block(&self, processor: impl Processor, fingerprint: u64) -> Option<bool> {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let (block, home) = (quotient / BLOCK, quotient % BLOCK);
        let (occupieds, ends, offset) =
            (self.occupieds(block), self.runends(block), self.offset(block));
        let begun = processor.count(occupieds << (63 - home));
        let own_ends = if offset < BLOCK { ends & (u64::MAX << offset) } else { 0 };
        let last = processor.select(own_ends, begun.wrapping_sub(1));
        if last == BLOCK {
            return None;
        }
        // If the quotient does not occur this is another's run, or none; the answer will be no.
        let earlier = ends & !(u64::MAX << last);
        let first = home.max(offset);
        let start = (BLOCK - earlier.leading_zeros() as usize).max(first);
        let fields = (last + 1).saturating_sub(start);
        if fields > self.geometry.remainders_at_once() {
            return None;
        }
        let equal = self.fields_from(block, start).equal_to(remainder);
        let among_fields =
            equal & !(u64::MAX << (fields * self.geometry.remainder_bits() as usize));
        Some((occupieds >> home & 1 == 1) & (among_fields != 0))
    }

    /// The remainders from that of slot `slot` of a block on, as many as can be compared at once.
    #[inline(always)]
    pub(super) fn fields_from(&self, block: usize, slot: usize) -> Fields {
        let bits = self.geometry.remainder_bits();
        let from = Position::new(self.geometry.remainders_word(block), slot * bits as usize);
        Fields::new(bytes::read(&self.words, from), bits, self.geometry.ones())
    }

    /// How many copies of a fingerprint there are.
    #[inline(always)]
    pub(super) fn count(&self, processor: impl Processor, fingerprint: u64) -> u64 {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let run = self.run(processor, quotient).unwrap_or(0..0);
        run.filter(|&slot| self.remainder(slot) == remainder).count() as u64
    }

    /// The first slot from `end` on that is as wanted, `end` being behind all slots of quotients up
    /// to `quotient`, and behind that one itself. It may lie just behind the last slot.
    ///
    /// From a slot, with this many runs begun and not ended, nothing before the end of the last of
    /// them can be it; so go there, and count what has begun meanwhile.
    #[inline(always)]
    fn where_runs_have_ended(
        &self,
        processor: impl Processor,
        quotient: usize,
        end: usize,
        wanted: Wanted,
    ) -> Option<usize> {
        if end >= self.geometry.slots_in_blocks() {
            return Some(end);
        }
        // A run counts from its quotient on, if that should be empty, or else from the next slot:
        // then all bits are one place farther.
        let farther = match wanted {
            Wanted::Empty => 0,
            Wanted::Undisplaced => 1,
        };
        let counted = quotient + farther;
        let mut block = counted / BLOCK;
        let mut occupieds = self.occupieds(block);
        let mut to_begin = occupieds << farther & !through(counted % BLOCK);
        let mut next_block = |block: usize| {
            let carried = occupieds >> 1 >> (63 - farther);
            occupieds = self.occupieds(block);
            occupieds << farther | carried
        };
        let mut open = 0;
        while block < end / BLOCK {
            open += processor.count(to_begin);
            block += 1;
            to_begin = next_block(block);
        }
        let mut slot = end % BLOCK;
        loop {
            open += processor.count(to_begin & through(slot));
            if open == 0 {
                return Some(block * BLOCK + slot);
            }
            to_begin &= !through(slot);
            let ends = self.runends(block) & (u64::MAX << slot);
            let last = processor.select(ends, open - 1);
            if last < BLOCK - 1 {
                open = 0;
                slot = last + 1;
            } else {
                open = open - processor.count(ends) + processor.count(to_begin);
                block += 1;
                slot = 0;
                if block == self.geometry.blocks() {
                    return (open == 0).then_some(block * BLOCK);
                }
                to_begin = next_block(block);
            }
        }
    }
}

/// Writing.
impl QuotientTable<&mut [u64]> {
    #[inline(always)]
    pub(super) fn set_occupied(&mut self, quotient: usize, yes: bool) {
        let word = self.geometry.occupieds_word(quotient / BLOCK);
        set_bit(&mut self.words[word], quotient % BLOCK, yes);
    }

    #[inline(always)]
    pub(super) fn set_run_end(&mut self, slot: usize, yes: bool) {
        let word = self.geometry.runends_word(slot / BLOCK);
        set_bit(&mut self.words[word], slot % BLOCK, yes);
    }

    #[inline(always)]
    pub(super) fn set_remainder(&mut self, slot: usize, remainder: u64) {
        let bit = slot % BLOCK * self.geometry.remainder_bits() as usize;
        let word = self.geometry.remainders_word(slot / BLOCK) + bit / 64;
        let shift = bit % 64;
        let mask = u128::from(self.geometry.remainder_mask()) << shift;
        let value = u128::from(remainder) << shift;
        let words = &mut *self.words;
        words[word] = words[word] & !(mask as u64) | value as u64;
        // Not where the remainder ends with the word: the next may be of another kind.
        if mask >> 64 != 0 {
            words[word + 1] = words[word + 1] & !((mask >> 64) as u64) | (value >> 64) as u64;
        }
    }

    /// Puts an offset in place of one that is 0.
    pub(super) fn set_offset(&mut self, block: usize, offset: u16) {
        let word = self.geometry.offset_word(block);
        self.words[word] |= u64::from(offset) << self.geometry.offset_shift(block);
    }

    /// Adds a fingerprint, unless there is no place for it; tells whether it is new.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        processor: impl Processor,
        fingerprint: u64,
    ) -> Result<bool, NoPlace> {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let end = self.end_through(processor, quotient).ok_or(NoPlace)?;
        if end <= quotient {
            self.set_occupied(quotient, true);
            self.set_run_end(quotient, true);
            self.set_remainder(quotient, remainder);
            return Ok(true);
        }
        let empty = self
            .where_runs_have_ended(processor, quotient, end, Wanted::Empty)
            .filter(|&empty| empty < self.geometry.slots_in_blocks())
            .ok_or(NoPlace)?;
        // The quotients before the first slot of each of these blocks get one slot more of it.
        let pushed = quotient / BLOCK + 1..empty / BLOCK + 1;
        if pushed.clone().any(|block| self.offset(block) == MAX_OFFSET) {
            return Err(NoPlace);
        }
        let occupied = self.is_occupied(quotient);
        let mut place = end;
        let mut is_new = true;
        if occupied {
            let start = self.run_before(quotient, end).start;
            while place > start && self.remainder(place - 1) > remainder {
                place -= 1;
            }
            // Runs are in order: an equal one lies just before.
            is_new = place == start || self.remainder(place - 1) != remainder;
            if place == end {
                self.set_run_end(end - 1, false);
            }
        } else {
            self.set_occupied(quotient, true);
        }
        for block in pushed {
            let word = self.geometry.offset_word(block);
            self.words[word] += 1 << self.geometry.offset_shift(block);
        }
        self.push_right(place, empty, remainder, place == end);
        Ok(is_new)
    }

    /// Takes out one copy of a fingerprint, if there is one.
    #[inline(always)]
    pub(super) fn remove(
        &mut self,
        processor: impl Processor,
        fingerprint: u64,
    ) -> Result<(), NoSuch> {
        let (quotient, remainder) = self.geometry.split(fingerprint);
        let run = self.run(processor, quotient).ok_or(NoSuch)?;
        let place = run.clone().find(|&slot| self.remainder(slot) == remainder).ok_or(NoSuch)?;
        let stays = self
            .where_runs_have_ended(processor, quotient, run.end, Wanted::Undisplaced)
            .ok_or(NoSuch)?;
        let pulled = quotient / BLOCK + 1..(stays - 1) / BLOCK + 1;
        if pulled.clone().any(|block| self.offset(block) == 0) {
            // Only in a table that contradicts itself.
            return Err(NoSuch);
        }
        for block in pulled {
            let word = self.geometry.offset_word(block);
            self.words[word] -= 1 << self.geometry.offset_shift(block);
        }
        self.pull_left(place, stays - 1);
        if run.len() == 1 {
            self.set_occupied(quotient, false);
        } else if place + 1 == run.end {
            self.set_run_end(place - 1, true);
        }
        Ok(())
    }

    /// Moves the slots from `first` to before `empty` one to the right, and fills the first.
    #[inline(always)]
    fn push_right(&mut self, first: usize, empty: usize, remainder: u64, run_end: bool) {
        let (mut remainder, mut run_end) = (remainder, run_end);
        for block in first / BLOCK..=empty / BLOCK {
            let low = if block == first / BLOCK { first % BLOCK } else { 0 };
            let high = if block == empty / BLOCK { empty % BLOCK } else { BLOCK - 1 };
            let last = block * BLOCK + high;
            let pushed_out = (self.remainder(last), self.is_run_end(last));
            let (bits, ends, remainders) = self.block_to_change(block);
            shift::up(remainders, low * bits, (high + 1) * bits, bits as u32);
            shift::up(ends, low, high + 1, 1);
            self.set_remainder(block * BLOCK + low, remainder);
            self.set_run_end(block * BLOCK + low, run_end);
            (remainder, run_end) = pushed_out;
        }
    }

    /// Moves the slots behind `first` up to `last` one to the left, and empties the last.
    #[inline(always)]
    fn pull_left(&mut self, first: usize, last: usize) {
        let (mut remainder, mut run_end) = (0, false);
        for block in (first / BLOCK..=last / BLOCK).rev() {
            let low = if block == first / BLOCK { first % BLOCK } else { 0 };
            let high = if block == last / BLOCK { last % BLOCK } else { BLOCK - 1 };
            let start = block * BLOCK + low;
            let pulled_out = (self.remainder(start), self.is_run_end(start));
            let (bits, ends, remainders) = self.block_to_change(block);
            shift::down(remainders, low * bits, (high + 1) * bits, bits as u32);
            shift::down(ends, low, high + 1, 1);
            self.set_remainder(block * BLOCK + high, remainder);
            self.set_run_end(block * BLOCK + high, run_end);
            (remainder, run_end) = pulled_out;
        }
    }

    /// The bits of a remainder, the word with the ends of a block's runs, and its remainders.
    #[inline(always)]
    fn block_to_change(&mut self, block: usize) -> (usize, &mut [u64], &mut [u64]) {
        let bits = self.geometry.remainder_bits() as usize;
        let start = self.geometry.runends_word(block);
        let (ends, remainders) = self.words[start..start + 1 + bits].split_at_mut(1);
        (bits, ends, remainders)
    }
}

/// There is no place for the fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoPlace;

/// There is no such fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoSuch;

/// The bits up to this one.
#[inline(always)]
pub(super) fn through(bit: usize) -> u64 {
    u64::MAX >> (63 - bit)
}

#[inline(always)]
fn set_bit(word: &mut u64, bit: usize, yes: bool) {
    *word = *word & !(1 << bit) | u64::from(yes) << bit;
}
