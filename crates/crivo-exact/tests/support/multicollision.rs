//! Keys that MurmurHash3 x64-128 maps to one digest under every seed.
//!
//! Aumasson and Bernstein showed (2012) that a difference can pass through Murmur3's state without
//! meeting the seed. A block is two words, (k1, k2); the function mixes each on its own and then
//! updates its state (h1, h2), where all arithmetic is modulo 2^64:
//!
//! ```text
//!   h1 = (rotl(h1 ^ mix1(k1), 27) + h2) · 5 + constant
//!   h2 = (rotl(h2 ^ mix2(k2), 31) + h1) · 5 + constant
//! ```
//!
//! 1. Flip bit 36 of mix1(k1) and bit 32 of mix2(k2). The rotations bring both to bit 63, where an
//!    addition makes no carry and times 5 changes nothing. So h1 differs in bit 63 only; in h2 the
//!    difference of its own and that of h1 cancel.
//! 2. In the next block, flip bit 63 of mix1(k1): it cancels the difference of h1.
//!
//! The mixes are invertible, so such blocks are easily written down. Each pair of blocks may be
//! flipped or not: t pairs make 2^t keys of 32·t bytes.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// 2^`pairs` different keys with one digest, whatever the seed of Murmur3.
pub fn murmur3_multicollision(pairs: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..1u64 << pairs).map(move |flips| {
        (0..pairs)
            .flat_map(|pair| pair_of_blocks(pair, flips >> pair & 1))
            .flat_map(u64::to_le_bytes)
            .collect()
    })
}

/// Two blocks; with `flip` 0 or 1 they lead to the same state.
fn pair_of_blocks(pair: u32, flip: u64) -> [u64; 4] {
    // Any words will do, as long as both variants use the same.
    let word = |index: u64| (u64::from(pair) * 4 + index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [
        unmix1(word(0) ^ flip << 36),
        unmix2(word(1) ^ flip << 32),
        unmix1(word(2) ^ flip << 63),
        unmix2(word(3)),
    ]
}

/// The k1 that Murmur3 mixes to `mixed`.
fn unmix1(mixed: u64) -> u64 {
    mixed.wrapping_mul(inverse(C2)).rotate_right(31).wrapping_mul(inverse(C1))
}

/// The k2 that Murmur3 mixes to `mixed`.
fn unmix2(mixed: u64) -> u64 {
    mixed.wrapping_mul(inverse(C1)).rotate_right(33).wrapping_mul(inverse(C2))
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: x = `odd` is right in three
/// bits, and each step doubles them.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}
