//! How large a table is, and where its parts lie.

use super::bytes;
use crate::ParameterError;
use crate::hash::reduce;
use crivo_core::check::{check_positive, check_range};

/// Slots that share one word of each bitmap.
pub(super) const BLOCK: usize = 64;

/// The largest load: 19 of 20 slots.
const MAX_LOAD: f64 = 0.95;

/// Words of a block before its remainders: which quotients occur, and where runs end.
const BITMAPS: usize = 2;

/// Offsets in a word.
pub(super) const OFFSETS_PER_WORD: usize = 4;

/// Quotients below `slots`, remainders of `remainder_bits` bits, and what follows from the two.
///
/// ```text
///   words   | block 0                                | block 1 | … | offsets, four a word |
///           | occupieds | runends | r words: 64·r bits |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuotientGeometry {
    slots: u64,
    remainder_bits: u32,
    /// One more than the largest fingerprint: slots · 2^r.
    range: u64,
    /// 95% of the slots, rounded down.
    capacity: u64,
    /// Blocks, those of the overflow area included.
    blocks: usize,
    /// Three quarters of the slots.
    crowded: u64,
    /// By how many bits a fingerprint is longer than the number of its block.
    block_shift: u32,
    /// Words of a block.
    block_words: usize,
    /// Words of all blocks: where the offsets begin.
    offsets: usize,
    /// How many whole remainders one access reaches.
    at_once: usize,
    /// A one at the lowest bit of each of them.
    ones: u64,
}

impl QuotientGeometry {
    /// The table for quotients below `slots` and remainders of `remainder_bits` bits.
    pub(super) fn new(slots: u64, remainder_bits: u32) -> Result<Self, ParameterError> {
        check_range("remainder bits", remainder_bits, 1..=62, "from 1 to 62")?;
        check_positive("slots", slots)?;
        let range = slots.checked_mul(1 << remainder_bits).filter(|&range| range <= 1 << 63);
        let range = range.ok_or_else(|| {
            ParameterError::new("slots", slots, "at most 2^63 with all remainders")
        })?;
        let blocks = (slots + overflow_slots(slots)).div_ceil(BLOCK as u64);
        // In 128 bits, and far below: `range` has bounded both factors.
        let words = u128::from(blocks) * (BITMAPS as u128 + u128::from(remainder_bits) + 1);
        // With 64-bit addresses `range` has seen to this; with fewer the words may be too many.
        if words > (isize::MAX as usize / size_of::<u64>()) as u128 {
            let allowed = "such that this machine can address the table";
            return Err(ParameterError::new("slots", slots, allowed));
        }
        let at_once = bytes::BITS / remainder_bits;
        let ones = (0..at_once).fold(0, |ones, field| ones | 1 << (field * remainder_bits));
        let capacity = slots - slots.div_ceil(20);
        let (blocks, at_once) = (blocks as usize, at_once as usize);
        let block_words = BITMAPS + remainder_bits as usize;
        Ok(Self {
            slots,
            remainder_bits,
            range,
            capacity,
            crowded: slots / 4 * 3,
            blocks,
            // Where 64 quotients with their remainders have more bits, there is a single block.
            block_shift: (remainder_bits + BLOCK.ilog2()).min(63),
            block_words,
            offsets: blocks * block_words,
            at_once,
            ones,
        })
    }

    /// The fewest slots of which `keys` keys fill no more than 95%.
    pub(super) fn slots_for(keys: u64) -> Result<u64, ParameterError> {
        check_positive("n", keys)?;
        keys.checked_add(keys.div_ceil(19))
            .ok_or_else(|| ParameterError::new("n", keys, "95% of at most 2^64 slots"))
    }

    /// The fewest slots of which `keys` keys fill no more than this share.
    pub(super) fn slots_at_load(keys: u64, load: f64) -> Result<u64, ParameterError> {
        if !(load > 0.0 && load <= MAX_LOAD) {
            return Err(ParameterError::of_real("load", load, "above 0 and at most 0.95"));
        }
        // What is beyond all numbers is the largest, which no table has.
        Ok((keys as f64 / load).ceil() as u64)
    }

    #[inline(always)]
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// With more keys than these, more than one run in twenty ends in another block than that of its
    /// quotient, or too far from it to be compared at once.
    #[inline(always)]
    pub(super) fn crowded(&self) -> u64 {
        self.crowded
    }

    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    #[inline(always)]
    pub(super) fn remainder_bits(&self) -> u32 {
        self.remainder_bits
    }

    pub(super) fn range(&self) -> u64 {
        self.range
    }

    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Slots of all blocks: quotients, overflow area, and what rounding added.
    #[inline(always)]
    pub(super) fn slots_in_blocks(&self) -> usize {
        self.blocks * BLOCK
    }

    pub(super) fn words(&self) -> usize {
        self.offset_word(self.blocks.next_multiple_of(OFFSETS_PER_WORD))
    }

    /// The fingerprint of 64 random bits.
    #[inline(always)]
    pub(super) fn fingerprint(&self, digest: u64) -> u64 {
        reduce(digest, self.range)
    }

    /// Quotient and remainder of a fingerprint.
    #[inline(always)]
    pub(super) fn split(&self, fingerprint: u64) -> (usize, u64) {
        let quotient = fingerprint >> self.remainder_bits;
        (quotient as usize, fingerprint & self.remainder_mask())
    }

    /// The block of a fingerprint, and the bit of its quotient there.
    ///
    /// The same as by [`split`](Self::split), a moment earlier.
    #[inline(always)]
    pub(super) fn block_and_bit(&self, fingerprint: u64) -> (usize, u32) {
        let bit = (fingerprint >> self.remainder_bits) as u32 % BLOCK as u32;
        ((fingerprint >> self.block_shift) as usize, bit)
    }

    /// The fingerprint with this quotient and remainder.
    pub(super) fn join(&self, quotient: usize, remainder: u64) -> u64 {
        (quotient as u64) << self.remainder_bits | remainder
    }

    #[inline(always)]
    pub(super) fn remainder_mask(&self) -> u64 {
        (1 << self.remainder_bits) - 1
    }

    /// How many remainders can be compared at once.
    #[inline(always)]
    pub(super) fn remainders_at_once(&self) -> usize {
        self.at_once
    }

    /// A one at the lowest bit of each of as many remainders.
    #[inline(always)]
    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    /// The first word of a block.
    #[inline(always)]
    fn block_word(&self, block: usize) -> usize {
        block * self.block_words
    }

    /// The word that tells which quotients of a block occur.
    #[inline(always)]
    pub(super) fn occupieds_word(&self, block: usize) -> usize {
        self.block_word(block)
    }

    /// The word that tells in which slots of a block a run ends.
    #[inline(always)]
    pub(super) fn runends_word(&self, block: usize) -> usize {
        self.block_word(block) + 1
    }

    /// The first word of a block's remainders, of which there are as many as a remainder has bits.
    #[inline(always)]
    pub(super) fn remainders_word(&self, block: usize) -> usize {
        self.block_word(block) + BITMAPS
    }

    /// The word with the offset of a block.
    #[inline(always)]
    pub(super) fn offset_word(&self, block: usize) -> usize {
        self.offsets + block / OFFSETS_PER_WORD
    }

    /// By how many bits the offset of a block is shifted in its word.
    #[inline(always)]
    pub(super) fn offset_shift(&self, block: usize) -> usize {
        block % OFFSETS_PER_WORD * 16
    }
}

/// Slots behind the last quotient, so that a filter with as many keys as it is made for has no
/// place for the last of them with a chance of 10^−9.
///
/// Keys run over the end by x slots if, for some k, the last k quotients have k + x keys. Their
/// number is a random walk, whose steps have the variance 1, and that is known to be 5% of the
/// slots behind at the beginning of the table: a Brownian bridge, for which the chance is
///
/// ```text
///   e^(−2x·(x + s/20)/s)      s slots;      10^−9 at x = (√(1/100 + 8·ln 10^9/s) − 1/10)·s/4
/// ```
///
/// which grows to 208 slots for large s. More than all keys cannot run over.
fn overflow_slots(slots: u64) -> u64 {
    let s = slots as f64;
    let x = ((0.01 + 8.0 * 1e9f64.ln() / s).sqrt() - 0.1) * s / 4.0;
    // The root loses its digits where s is large; there x has long come to its limit.
    (x.min(10.0 * 1e9f64.ln()).ceil() as u64).min(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn as_many_slots_as_the_load_asks_for_and_no_more() {
        // The last two are large on machines whose addresses are.
        let addresses = isize::MAX as u64;
        for keys in (1..2000).chain([1 << 20, addresses / 1000, (addresses >> 13) + 1]) {
            let slots = QuotientGeometry::slots_for(keys).unwrap();
            let capacity = |slots| QuotientGeometry::new(slots, 1).unwrap().capacity();
            assert!(capacity(slots) >= keys && slots * 95 / 100 >= keys, "{keys}");
            assert!(slots == 1 || capacity(slots - 1) < keys, "{keys}");
        }
        assert!(QuotientGeometry::slots_for(0).is_err());
        assert!(QuotientGeometry::slots_for(u64::MAX).is_err());
    }

    #[test]
    fn the_overflow_area_is_small_where_the_table_is() {
        let areas: Vec<u64> =
            [1, 2, 20, 100, 1000, 10_000, 1_000_000, 1 << 40, 1 << 62].map(overflow_slots).to_vec();
        assert_eq!(areas, [1, 2, 14, 30, 80, 158, 207, 208, 208]);
    }

    #[test]
    fn parts_lie_side_by_side() {
        for (slots, bits) in
            [(1, 1), (64, 7), (1000, 13), (1 << (usize::BITS / 2 + 1), 30), (1, 62)]
        {
            let geometry = QuotientGeometry::new(slots, bits).unwrap();
            let last = geometry.blocks() - 1;
            assert_eq!(geometry.occupieds_word(0), 0);
            assert_eq!(geometry.runends_word(last), geometry.occupieds_word(last) + 1);
            let remainders = geometry.remainders_word(last);
            assert_eq!(remainders + bits as usize, geometry.offset_word(0));
            assert_eq!(geometry.words(), geometry.offset_word(last) + 1);
            assert!(geometry.slots_in_blocks() as u64 > slots);
            assert_eq!(geometry.fingerprint(u64::MAX), (slots << bits) - 1);
        }
    }

    #[test]
    fn impossible_sizes_are_named() {
        let parameter = |slots, bits| {
            QuotientGeometry::new(slots, bits).map(|_| ()).map_err(|error| error.parameter)
        };
        assert_eq!(parameter(0, 5), Err("slots"));
        for bits in [0, 63, 64, u32::MAX] {
            assert_eq!(parameter(100, bits), Err("remainder bits"));
        }
        for (slots, bits) in [(u64::MAX, 1), (1 << 63, 1), (1 << 60, 4), (3, 62)] {
            assert_eq!(parameter(slots, bits), Err("slots"));
        }
        assert!(QuotientGeometry::new(2, 62).is_ok());
        let beyond_32_bits = QuotientGeometry::new(1 << 40, 5);
        if cfg!(target_pointer_width = "32") {
            let said = beyond_32_bits.unwrap_err().to_string();
            assert!(
                said.ends_with("must be such that this machine can address the table"),
                "{said}"
            );
        } else {
            assert!(beyond_32_bits.is_ok());
        }
    }
}
