//! One key in one line: which bits, are they set, set them. Scalar, and the measure of all else.
//!
//! ```text
//!   pattern = digest · MULTIPLIER                                      mod 2^64
//!
//!    63      55 54      46                          9       1   0
//!   [ position 0 | position 1 |  …                | position 6 | - ]    seven to a pattern
//!      │      └ bits 0–5: which bit of the word
//!      └─────── bits 6–8: which word of the line
//!
//!   after seven:  pattern = (pattern ⊕ pattern >> 32) · MULTIPLIER
//! ```
//!
//! Seven fields of one product are as good as seven independent positions. Double hashing,
//! a + i·b, would not be: in 512 bits it knows 2^18 patterns in all, so that one of a line's fifty
//! keys shares its pattern with an absent key every five thousand queries, and at a rate of 1e-4
//! those collisions alone are more than twice the error that was promised.
//!
//! The line is chosen by the digest's high bits. The multiplication is odd, hence one-to-one on
//! the low bits, those that the choice of the line leaves free.

use crate::Digest;

/// Words in a line: 64 bytes, the cache line of most processors.
pub(super) const LINE_WORDS: usize = 8;

/// Bits in a line.
pub(super) const LINE_BITS: u32 = 512;

/// 512 bits at one cache line.
pub(super) type Line = [u64; LINE_WORDS];

/// Positions in one pattern: as many fields of 9 bits as 64 bits hold.
pub(super) const PER_PATTERN: u32 = 7;

/// The bits of a field: log2 of `LINE_BITS`.
pub(super) const FIELD_BITS: u32 = 9;

/// An odd number whose bits show no pattern: 2^64 over 1.2207…, the root of x⁴ = x + 1.
const MULTIPLIER: u64 = 0xd1b5_4a32_d192_ed03;

/// The seven positions at the beginning of every key's sequence.
#[inline(always)]
pub(super) const fn first_pattern(key: Digest) -> u64 {
    key.get().wrapping_mul(MULTIPLIER)
}

/// The seven positions after those of `pattern`.
#[inline(always)]
pub(super) const fn next_pattern(pattern: u64) -> u64 {
    (pattern ^ (pattern >> 32)).wrapping_mul(MULTIPLIER)
}

/// Gives `visit` the word and the bit in it, k times; a bit may come twice.
#[inline(always)]
fn each_position(key: Digest, probes: u32, mut visit: impl FnMut(usize, u32)) {
    let mut pattern = first_pattern(key);
    let mut left = probes;
    loop {
        let mut fields = pattern;
        for _ in 0..left.min(PER_PATTERN) {
            fields = fields.rotate_left(FIELD_BITS);
            visit((fields >> 6) as usize % LINE_WORDS, fields as u32 % u64::BITS);
        }
        if left <= PER_PATTERN {
            return;
        }
        left -= PER_PATTERN;
        pattern = next_pattern(pattern);
    }
}

/// Whether all k bits of the key are set.
#[inline(always)]
pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    // Not a branch per probe: in a line that is half full nobody could predict it.
    let mut all = 1;
    each_position(key, probes, |word, bit| all &= line[word] >> bit);
    all == 1
}

/// Sets the k bits of the key.
#[inline(always)]
pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
    each_position(key, probes, |word, bit| line[word] |= 1 << bit);
}

/// How many bits are set.
pub(super) fn set_bits(line: &Line) -> u32 {
    line.iter().map(|word| word.count_ones()).sum()
}
