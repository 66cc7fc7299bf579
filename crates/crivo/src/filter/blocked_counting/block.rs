//! One key in one block of 128 counters: which counters, are they above 0, move them. Scalar, and the
//! measure of all else.
//!
//! ```text
//!   pattern = digest · MULTIPLIER                                      mod 2^64
//!
//!    63       56 55       48                                7        0
//!   [- position 0|- position 1|            …               |- position 7]     a byte each
//!
//!   block of 8 words, counters of 4 bits       llll www      word w, counter l of its 16
//!   block of 16 words, counters of 8 bits      lll wwww      word w, counter l of its 8
//!
//!   after eight:  pattern = (pattern ⊕ pattern >> 32) · MULTIPLIER
//! ```
//!
//! Patterns are those of the [blocked filter](crate::filter::blocked), whose positions have nine bits
//! instead of seven. As bytes they need no shifts in [vector code](super::avx512).
//!
//! A block is `WORDS` words, 8 or 16, and its counters have `WORDS / 2` bits.

use crate::Digest;
use crate::filter::blocked::{first_pattern, next_pattern};
use crate::filter::packed_counters::Step;

/// Counters of a block.
pub(super) const COUNTERS: u64 = 128;

/// Positions in one pattern: one in each byte.
pub(super) const PER_PATTERN: u32 = 8;

/// By how much a pattern is shifted right, so that position `probe` comes to its low bits.
#[inline(always)]
const fn shift_of(probe: u32) -> u32 {
    u64::BITS - 8 * (probe + 1)
}

/// The word of a block, and the bit in it, where the counter at a position begins. What is above the
/// low seven bits of the position does not matter.
#[inline(always)]
const fn place<const WORDS: usize>(position: u64) -> (usize, u32) {
    let position = position % COUNTERS;
    let lane = position / WORDS as u64;
    (position as usize % WORDS, lane as u32 * bits::<WORDS>())
}

/// The bits of a counter.
const fn bits<const WORDS: usize>() -> u32 {
    WORDS as u32 / 2
}

/// The greatest value of a counter.
const fn greatest<const WORDS: usize>() -> u64 {
    (1 << bits::<WORDS>()) - 1
}

/// A word whose counters are all 1.
const fn each_one<const WORDS: usize>() -> u64 {
    u64::MAX / greatest::<WORDS>()
}

/// A word with the highest bit of each counter.
const fn highest_bits<const WORDS: usize>() -> u64 {
    each_one::<WORDS>() << (bits::<WORDS>() - 1)
}

/// 1 in the counters of the word that are saturated: below their highest bit only ones carry into it.
#[inline(always)]
const fn saturated<const WORDS: usize>(word: u64) -> u64 {
    let highest = highest_bits::<WORDS>();
    let carries = (word & !highest) + each_one::<WORDS>();
    (carries & word & highest) >> (bits::<WORDS>() - 1)
}

/// How many counters of the block are above 0.
pub(super) fn set_counters<const WORDS: usize>(block: &[u64]) -> u32 {
    let highest = highest_bits::<WORDS>();
    // Below the highest bit all but 0 carry into it.
    let above_zero = |word: &u64| (((word & !highest) + !highest) | word) & highest;
    block.iter().map(|word| above_zero(word).count_ones()).sum()
}

/// The positions of a key, k of them. They may repeat.
pub(super) fn positions(key: Digest, probes: u32) -> impl Iterator<Item = u64> {
    let patterns =
        std::iter::successors(Some(first_pattern(key)), |pattern| Some(next_pattern(*pattern)));
    let in_pattern =
        |pattern| (0..PER_PATTERN).map(move |probe| (pattern >> shift_of(probe)) % COUNTERS);
    patterns.flat_map(in_pattern).take(probes as usize)
}

/// Where the counter at a position is among the counters of the block, counted from the low end of
/// its first word.
pub(super) fn index_of<const WORDS: usize>(position: u64) -> u64 {
    let (word, bit) = place::<WORDS>(position);
    word as u64 * COUNTERS / WORDS as u64 + u64::from(bit / bits::<WORDS>())
}

/// Whether all counters of the key are above 0; k is at least 1.
#[inline(always)]
pub(super) fn contains<const WORDS: usize>(block: &[u64; WORDS], key: Digest, probes: u32) -> bool {
    let mut pattern = first_pattern(key);
    let mut left = probes;
    // Not a branch per probe: in a block that is half full nobody could predict it. Only 0 borrows,
    // up to the highest bit.
    let mut below_one = 0u64;
    loop {
        // Eight steps that the compiler lays out one after another: the way out is predicted.
        for probe in 0..PER_PATTERN {
            let (word, bit) = place::<WORDS>(pattern >> shift_of(probe));
            let value = (block[word] >> bit) & greatest::<WORDS>();
            below_one |= value.wrapping_sub(1);
            left -= 1;
            if left == 0 {
                return below_one >> 63 == 0;
            }
        }
        pattern = next_pattern(pattern);
    }
}

/// The smallest counter of the key.
pub(super) fn least<const WORDS: usize>(block: &[u64; WORDS], key: Digest, probes: u32) -> u8 {
    let value = |position| {
        let (word, bit) = place::<WORDS>(position);
        ((block[word] >> bit) & greatest::<WORDS>()) as u8
    };
    positions(key, probes).map(value).fold(u8::MAX, u8::min)
}

/// Moves every different counter of the key by one, unless it is saturated; k is at least 1. Downwards
/// only when all of them are above 0.
///
/// ```text
///   ones = a block with 1 in each counter of the key       positions that coincide are one
///   block = block ± (ones without the saturated)           no counter overflows into the next
/// ```
///
/// Each position comes as a block of its own out of a [table](Ones).
#[inline(always)]
pub(super) fn step<const WORDS: usize>(
    block: &mut [u64; WORDS],
    key: Digest,
    probes: u32,
    step: Step,
) {
    let mut ones = [0; WORDS];
    let mut pattern = first_pattern(key);
    let mut left = probes;
    'all: loop {
        for probe in 0..PER_PATTERN {
            let start = (!pattern >> shift_of(probe)) as usize % 256;
            for (all, one) in ones.iter_mut().zip(&Ones::<WORDS>::TABLE[start..start + WORDS]) {
                *all |= one;
            }
            left -= 1;
            if left == 0 {
                break 'all;
            }
        }
        pattern = next_pattern(pattern);
    }
    for (word, ones) in block.iter_mut().zip(ones) {
        let moving = ones & !saturated::<WORDS>(*word);
        *word = match step {
            Step::Up => *word + moving,
            Step::Down => *word - moving,
        };
    }
}

/// The blocks in which one counter is 1 and the others are 0, overlapping.
pub(super) struct Ones<const WORDS: usize>;

impl<const WORDS: usize> Ones<WORDS> {
    /// That of the byte b of a pattern begins at the word 255 − b.
    ///
    /// ```text
    ///   0 0 0 0 0 0 0 2^60   0 0 0 0 0 0 0 2^56   …   0 0 0 0 0 0 0 2^0   0 0 0 0 0 0 0
    ///   └──── byte 255 ────┘               the last counter of word 7
    ///     └──── byte 254 ──────┘           the last counter of word 6
    /// ```
    ///
    /// As many words as a block has, from any start, hold just one that is not 0: the later the start,
    /// the earlier the word. The highest bit of a byte means nothing, so that all comes twice.
    pub(super) const TABLE: [u64; 256 + 15] = {
        let mut words = [0; 256 + 15];
        let mut row = 0;
        while row < 256 / WORDS {
            words[255 - WORDS * row] = 1 << place::<WORDS>((row * WORDS) as u64).1;
            row += 1;
        }
        words
    };
}
