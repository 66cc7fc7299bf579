//! One key in one line: which bits, are they set, set them. Scalar, and the measure of all else.
//!
//! ```text
//!   pattern = digest · MULTIPLIER                                      mod 2^64
//!
//!    63        55 54                                    9        1   0
//!   [ position 0 | position 1 |          …             | position 6 | - ]
//!     bbbbbb www                                 seven positions to a pattern
//!       │     └ which of the 8 words of the line
//!       └────── which of its 64 bits
//!
//!   after seven:  pattern = (pattern ⊕ pattern >> 32) · MULTIPLIER
//! ```
//!
//! Seven fields of one product are as good as seven independent positions. Double hashing,
//! a + i·b, would not be: in 512 bits it knows 2^18 patterns in all, so that an absent key shares
//! its pattern with one of the fifty keys of its line in one of 5,000 queries. Those collisions
//! alone would be twice the error that a rate of 1e-4 allows.
//!
//! The line itself is chosen by the digest's high bits. An odd multiplier is one-to-one on the low
//! bits, those that the choice of a line leaves free.

use crate::Digest;
use crate::hash::reduce;

/// Words in a line: 64 bytes, the cache line of most processors.
pub(in crate::filter) const LINE_WORDS: usize = 8;

/// Bits in a line.
pub(super) const LINE_BITS: usize = 512;

/// 512 bits at one cache line.
pub(super) type Line = [u64; LINE_WORDS];

/// Positions in one pattern: as many fields of `FIELD_BITS` as 64 bits hold.
pub(super) const PER_PATTERN: u32 = 7;

/// The bits of a position: log2 of `LINE_BITS`.
const FIELD_BITS: u32 = 9;

/// An odd number whose bits show no pattern: 2^64 over 1.2207…, the root of x⁴ = x + 1.
pub(super) const MULTIPLIER: u64 = 0xd1b5_4a32_d192_ed03;

/// Where the key's line is: below the number of lines, if there is any.
#[inline(always)]
pub(in crate::filter) fn line_of(key: Digest, line_count: usize) -> usize {
    reduce(key.get(), line_count as u64) as usize
}

/// The first seven positions of a key.
#[inline(always)]
pub(in crate::filter) const fn first_pattern(key: Digest) -> u64 {
    key.get().wrapping_mul(MULTIPLIER)
}

/// The seven positions after those of `pattern`.
#[inline(always)]
pub(in crate::filter) const fn next_pattern(pattern: u64) -> u64 {
    (pattern ^ (pattern >> 32)).wrapping_mul(MULTIPLIER)
}

/// By how much a pattern is shifted right, so that position `probe` comes to its low bits.
#[inline(always)]
pub(super) const fn shift_of(probe: u32) -> u32 {
    u64::BITS - FIELD_BITS * (probe + 1)
}

/// The word and the bit in it that the low bits of a shifted pattern stand for.
#[inline(always)]
const fn place(position: u64) -> (usize, u32) {
    (position as usize % LINE_WORDS, (position >> 3) as u32 % u64::BITS)
}

/// Gives `visit` the first positions of a pattern, 1 to 7 of them, each in the low nine bits of a
/// number.
#[inline(always)]
fn each_position(pattern: u64, probes: u32, mut visit: impl FnMut(u64)) {
    // Seven steps that the compiler lays out one after another: the way out is predicted.
    for probe in 0..PER_PATTERN {
        visit(pattern >> shift_of(probe));
        if probe + 1 == probes {
            return;
        }
    }
}

/// Asks pattern after pattern whether its first bits are set, as many as it is told: until one says
/// no or all k are looked at. A position may come twice.
#[inline(always)]
pub(super) fn all_patterns(
    key: Digest,
    probes: u32,
    mut are_set: impl FnMut(u64, u32) -> bool,
) -> bool {
    let mut pattern = first_pattern(key);
    let mut left = probes;
    while left > PER_PATTERN {
        if !are_set(pattern, PER_PATTERN) {
            return false;
        }
        left -= PER_PATTERN;
        pattern = next_pattern(pattern);
    }
    are_set(pattern, left)
}

/// Visits the k bits of the key, one by one: the word of the line, and the bit in it as a mask. A bit
/// may come twice.
#[inline(always)]
pub(in crate::filter) fn each_place(key: Digest, probes: u32, mut visit: impl FnMut(usize, u64)) {
    all_patterns(key, probes, |pattern, probes| {
        each_position(pattern, probes, |position| {
            let (word, bit) = place(position);
            visit(word, 1 << bit);
        });
        true
    });
}

/// Whether all k bits of the key are set; k is at least 1.
#[inline(always)]
pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    all_patterns(key, probes, |pattern, probes| {
        // Not a branch per probe: in a line that is half full nobody could predict it.
        let mut all = 1;
        each_position(pattern, probes, |position| {
            let (word, bit) = place(position);
            all &= line[word] >> bit;
        });
        all == 1
    })
}

/// Sets the k bits of the key; k is at least 1.
///
/// ```text
///   for each position:  line[word] |= 1 << bit
/// ```
///
/// would read words that it has just written, and wait for them. So the whole line is kept in
/// registers, and each bit comes as a line of its own out of a [table](BIT_LINES).
#[inline(always)]
pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
    let mut all = *line;
    let mut pattern = first_pattern(key);
    let mut left = probes;
    // No closure: one that is not inlined would send the line through memory.
    'all: loop {
        for probe in 0..PER_PATTERN {
            let start = (!pattern >> shift_of(probe)) as usize % LINE_BITS;
            for (word, bit) in all.iter_mut().zip(&BIT_LINES[start..start + LINE_WORDS]) {
                *word |= bit;
            }
            left -= 1;
            if left == 0 {
                break 'all;
            }
        }
        pattern = next_pattern(pattern);
    }
    *line = all;
}

/// The 512 lines with one bit set, overlapping: that of position p begins at the word 511 − p.
///
/// ```text
///   0 0 0 0 0 0 0 2^63   0 0 0 0 0 0 0 2^62   …   0 0 0 0 0 0 0 2^0   0 0 0 0 0 0 0
///   └──── position 511 ┘               bit 63 of word 7, the last
///     └──── position 510 ──┘           bit 63 of word 6
/// ```
///
/// Eight words from any start hold just one that is not 0: the later the start, the earlier the
/// word. That is why the starts count downwards as the words count upwards.
pub(super) static BIT_LINES: [u64; LINE_BITS + LINE_WORDS - 1] = {
    let mut words = [0; LINE_BITS + LINE_WORDS - 1];
    let mut row = 0;
    while row < 64 {
        words[row * LINE_WORDS + LINE_WORDS - 1] = 1 << (63 - row);
        row += 1;
    }
    words
};

/// How many bits are set.
pub(super) fn set_bits(line: &Line) -> u32 {
    line.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
pub(super) mod oracle {
    use super::*;

    /// [`insert`](super::insert) as one would write it down.
    pub(in super::super) fn insert(line: &mut Line, key: Digest, probes: u32) {
        for (word, bit) in places(key, probes) {
            line[word] |= 1 << bit;
        }
    }

    /// [`contains`](super::contains) as one would write it down.
    pub(in super::super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
        places(key, probes).iter().all(|&(word, bit)| line[word] >> bit & 1 == 1)
    }

    /// The k bits of a key: word and bit.
    pub(in super::super) fn places(key: Digest, probes: u32) -> Vec<(usize, u32)> {
        let mut patterns = vec![first_pattern(key)];
        while patterns.len() < 40 {
            patterns.push(next_pattern(patterns[patterns.len() - 1]));
        }
        let position = |i: u32| {
            let fields = patterns[(i / 7) as usize] << (9 * (i % 7)) >> 55;
            ((fields & 7) as usize, (fields >> 3) as u32)
        };
        (0..probes).map(position).collect()
    }
}
