//! The default family: folded multiplications, chosen for speed in filters.
//!
//! `docs/format.md` has the definition. In short, with fold(x, y) the two halves of the product of 64
//! by 64 bits, xored, and t a bijection of the seed:
//!
//! ```text
//!   up to 8 bytes:    h = fold(word ⊕ t, constant ⊕ 2 · length)         one multiplication
//!   up to 16 bytes:   h = fold(first word ⊕ constant, last word ⊕ t ⊕ length)
//!   longer:           h = length · constant + a fold of each 16 bytes
//!   digest = (h ⊕ h >> 32) · constant
//! ```
//!
//! One fold alone is not enough: its high bits, which choose a block or a quotient, are too regular for
//! counters and their like. Shifting and multiplying once more repairs that for all kinds of filters,
//! and costs as little latency as any second step.

use crivo_core::opaque;

/// The digits of π behind the point, in base 2^64. Numbers 6 and 8 are odd, and are multiplied with.
const PI: [u64; 9] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6c,
    0xc0ac_29b7_c97c_50dd,
    0x3f84_d5b5_b547_0917,
    0x9216_d5d9_8979_fb1b,
];

/// What longer keys are read in.
const BLOCK: usize = 64;

/// What the seed becomes before it meets a key. Seeds are often small, and keys, too.
pub(super) const fn start(seed: u64) -> u64 {
    crivo_core::mix::mix(seed)
}

/// The digest of `bytes` by the seed with this [`start`].
#[inline(always)]
pub(super) fn digest(bytes: &[u8], start: u64) -> u64 {
    finish(folded(bytes, start))
}

/// [`digest`], for loops that do nothing else.
///
/// There the compiler would multiply two digests at once by the vector instructions of the oldest
/// processors, which takes longer than two multiplications. In loops that do more, this would be in the
/// way of other things that it does.
#[inline(always)]
pub(super) fn digest_in_a_register(bytes: &[u8], start: u64) -> u64 {
    finish(opaque(folded(bytes, start)))
}

/// The digest before its last step.
#[inline(always)]
fn folded(bytes: &[u8], start: u64) -> u64 {
    let length = bytes.len();
    match length {
        0..=8 => {
            let word = match length {
                0 => 0,
                // All of up to three bytes; bytes that are read twice do no harm.
                1..=3 => {
                    let byte = |at: usize| u64::from(bytes[at]);
                    byte(0) | byte(length / 2) << 8 | byte(length - 1) << 16
                }
                _ => half(bytes, 0) | half(bytes, length - 4) << 32,
            };
            fold(word ^ start, PI[8] ^ (length as u64) << 1)
        }
        9..=16 => fold(word(bytes, 0) ^ PI[0], word(bytes, length - 8) ^ start ^ length as u64),
        17..=32 => {
            let ends = pair(bytes, 0, 0, start).wrapping_add(pair(bytes, length - 16, 3, start));
            of_length(length).wrapping_add(ends)
        }
        _ => longer(bytes, start),
    }
}

/// Of more than 32 bytes. Out of line, so that callers' loops stay small.
#[inline(never)]
fn longer(bytes: &[u8], start: u64) -> u64 {
    let length = bytes.len();
    let Some(last) = bytes.last_chunk::<BLOCK>().filter(|_| length > BLOCK) else {
        return [(0, 0), (16, 1), (length - 32, 2), (length - 16, 3)]
            .into_iter()
            .fold(of_length(length), |h, (at, i)| h.wrapping_add(pair(bytes, at, i, start)));
    };
    let mut lanes = [start; 4];
    let mut rest = bytes;
    while rest.len() > BLOCK
        && let Some((block, behind)) = rest.split_first_chunk::<BLOCK>()
    {
        lanes = block_of(block, lanes);
        rest = behind;
    }
    block_of(last, lanes).into_iter().fold(of_length(length), u64::wrapping_add)
}

/// A fold of each of the four pairs of a block.
#[inline(always)]
fn block_of(block: &[u8; BLOCK], lanes: [u64; 4]) -> [u64; 4] {
    std::array::from_fn(|i| pair(block, 16 * i, i, lanes[i]))
}

/// A fold of the 16 bytes from `at` on.
#[inline(always)]
fn pair(bytes: &[u8], at: usize, constant: usize, lane: u64) -> u64 {
    fold(word(bytes, at) ^ PI[constant], word(bytes, at + 8) ^ lane)
}

/// Keys that differ only in their length, as those of zeros, begin with different sums.
#[inline(always)]
fn of_length(length: usize) -> u64 {
    PI[6].wrapping_mul(length as u64)
}

/// The low and the high half of the product, xored.
#[inline(always)]
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn finish(h: u64) -> u64 {
    (h ^ h >> 32).wrapping_mul(PI[6])
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn half(bytes: &[u8], at: usize) -> u64 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(half))
}
