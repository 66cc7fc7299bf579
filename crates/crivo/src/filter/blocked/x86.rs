//! The work of [`line`](super::line) with AVX-512 and AVX2.
//!
//! A query with AVX-512: the line lies in one register, and every probe has a lane of its own.
//!
//! ```text
//!   pattern in every lane                       PPPPPPPP
//!   shifted by 55, 46, 37 … : words to look at  w0 w1 w2 …    one permutation of the line
//!   shifted by 58, 49, 40 … : bits in them      b0 b1 b2 …    1 rotated by them
//!   is there a lane without its bit?            one test
//! ```
//!
//! AVX2 cannot permute 64-bit lanes by a variable, but eight 32-bit lanes it can: the lower halves
//! of the eight words lie in one register, the upper halves in another; both are permuted, and the
//! highest bit of the position says which of the two a lane takes.
//!
//! Insertion with AVX-512: the line lies in one register, and lines with one bit are added to it.
//! They are made without a table: 1 shifted by the position's bit, in the lane that is its word.

#![allow(unsafe_code)] // Intrinsics that read and write memory through pointers.

use std::arch::x86_64::*;

use super::batch;
use super::line::{self, Line, PER_PATTERN};
use super::line::{first_pattern, next_pattern, shift_of};
use crate::Digest;

/// What each of eight lanes does with a pattern. Lanes without a probe repeat the first.
#[repr(C, align(64))]
struct Lanes {
    /// By how much the pattern is shifted to the right to bring the position to the low bits.
    to_position: [u64; 8],
    /// By how much to bring the bit within the word there.
    to_bit: [u64; 8],
}

impl Lanes {
    const fn new(probes: usize) -> Self {
        let zeros = [0; 8];
        let mut lanes = Self { to_position: zeros, to_bit: zeros };
        let mut lane = 0;
        while lane < 8 {
            let shift = shift_of(if lane < probes { lane as u32 } else { 0 }) as u64;
            lanes.to_position[lane] = shift;
            lanes.to_bit[lane] = shift + 3;
            lane += 1;
        }
        lanes
    }

    /// The lanes for 1 to 7 probes.
    #[inline(always)]
    fn of(probes: u32) -> &'static Self {
        static LANES: [Lanes; 8] = {
            let mut lanes = [const { Lanes::new(0) }; 8];
            let mut probes = 0;
            while probes < 8 {
                lanes[probes] = Lanes::new(probes);
                probes += 1;
            }
            lanes
        };
        &LANES[probes as usize % 8]
    }
}

/// Asks pattern after pattern whether its bits are set, until one says no or all k are looked at.
#[inline(always)]
fn all_patterns(key: Digest, probes: u32, are_set: impl Fn(u64, u32) -> bool) -> bool {
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

/// [`line::contains`].
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn contains_avx512(line: &Line, key: Digest, probes: u32) -> bool {
    let words = load_avx512(line);
    all_patterns(key, probes, |pattern, probes| {
        let fields = _mm512_set1_epi64(pattern.cast_signed());
        // Rotated, not shifted: a rotation has no counts that are too large, against which the
        // compiler would guard. The permutation looks at the low three bits of a lane, the second
        // rotation at the low six.
        let lanes = Lanes::of(PER_PATTERN);
        let word = _mm512_rorv_epi64(fields, load_avx512(&lanes.to_position));
        let bit = _mm512_rorv_epi64(fields, load_avx512(&lanes.to_bit));
        let chosen = _mm512_permutexvar_epi64(word, words);
        let mask = _mm512_rolv_epi64(_mm512_set1_epi64(1), bit);
        // Lanes beyond the probes are left out of the answer.
        _bzhi_u32(_mm512_testn_epi64_mask(chosen, mask).into(), probes) == 0
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_avx512(lanes: &[u64; 8]) -> __m512i {
    // SAFETY: eight words are 64 bytes; they may lie anywhere.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// [`line::contains`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn contains_avx2(line: &Line, key: Digest, probes: u32) -> bool {
    let [first, second, third, fourth] = line.as_chunks().0 else {
        unreachable!("a line has eight words")
    };
    let (outer, inner) = (load_pairs(first, third), load_pairs(second, fourth));
    let lower = _mm256_shuffle_ps::<0b10_00_10_00>(outer, inner);
    let upper = _mm256_shuffle_ps::<0b11_01_11_01>(outer, inner);
    all_patterns(key, probes, |pattern, probes| {
        let fields = _mm256_set1_epi64x(pattern.cast_signed());
        let [first, second] = Lanes::of(probes).to_position.as_chunks().0 else {
            unreachable!("there are eight lanes")
        };
        let first = _mm256_castsi256_ps(_mm256_srlv_epi64(fields, load_avx2(first)));
        let second = _mm256_castsi256_ps(_mm256_srlv_epi64(fields, load_avx2(second)));
        // The low half of each lane is all that is needed of it.
        let position = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(first, second));
        // The permutations look at the low three bits of a lane, the blend at the sign, to which
        // the highest of nine bits is brought.
        let lower = _mm256_permutevar8x32_ps(lower, position);
        let upper = _mm256_permutevar8x32_ps(upper, position);
        let is_upper = _mm256_castsi256_ps(_mm256_slli_epi32::<{ 31 - 8 }>(position));
        let chosen = _mm256_castps_si256(_mm256_blendv_ps(lower, upper, is_upper));
        let bit = _mm256_and_si256(_mm256_srli_epi32::<3>(position), _mm256_set1_epi32(31));
        let mask = _mm256_sllv_epi32(_mm256_set1_epi32(1), bit);
        _mm256_testc_si256(chosen, mask) == 1
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_avx2(lanes: &[u64; 4]) -> __m256i {
    // SAFETY: four words are 32 bytes; they may lie anywhere.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_pairs(low: &[u64; 2], high: &[u64; 2]) -> __m256 {
    // SAFETY: two words are 16 bytes; they may lie anywhere.
    unsafe { _mm256_loadu2_m128(high.as_ptr().cast(), low.as_ptr().cast()) }
}

/// [`line::insert`].
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn insert_avx512(line: &mut Line, key: Digest, probes: u32) {
    let mut words = load_avx512(line);
    let mut pattern = first_pattern(key);
    let mut left = probes;
    'all: loop {
        let fields = _mm512_set1_epi64(pattern.cast_signed());
        /// Sets one bit, and leaves when it was the last.
        macro_rules! set {
            ($($probe:literal)*) => {$(
                let turned = _mm512_ror_epi64::<{ shift_of($probe) as i32 + 3 }>(fields);
                words = _mm512_or_si512(words, one_bit(turned));
                left -= 1;
                if left == 0 {
                    break 'all;
                }
            )*};
        }
        set!(0 1 2 3 4 5 6);
        pattern = next_pattern(pattern);
    }
    // SAFETY: a line is 64 bytes.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), words) };
}

/// The line with one bit: its six low bits are the bit and its three high bits the word.
#[inline]
#[target_feature(enable = "avx512f")]
fn one_bit(turned: __m512i) -> __m512i {
    const WORD: u32 = 61;
    let kept = _mm512_set1_epi64((7 << WORD | 63_u64).cast_signed());
    let lane = _mm512_slli_epi64::<WORD>(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    // (turned & kept) ^ lane: below 64 in the lane of the word alone, and a shift by more gives 0.
    let shift = _mm512_ternarylogic_epi64::<0x6a>(turned, kept, lane);
    _mm512_sllv_epi64(_mm512_set1_epi64(1), shift)
}

/// [`line::insert`], which the compiler turns into instructions on half lines.
#[target_feature(enable = "avx2")]
pub(super) fn insert_avx2(line: &mut Line, key: Digest, probes: u32) {
    line::insert(line, key, probes);
}

/// [`batch::contains`].
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn batch_avx512(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    batch::contains(lines, keys, hits, |line, key| contains_avx512(line, key, probes));
}

/// [`batch::contains`].
#[target_feature(enable = "avx2")]
pub(super) fn batch_avx2(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    batch::contains(lines, keys, hits, |line, key| contains_avx2(line, key, probes));
}
