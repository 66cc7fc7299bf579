//! The work of [`line`](super::line) with AVX-512.
//!
//! A query: the line lies in one register, and every probe has a lane of its own.
//!
//! ```text
//!   pattern in every lane                       PPPPPPPP
//!   shifted by 55, 46, 37 … : words to look at  w0 w1 w2 …    one permutation of the line
//!   shifted by 58, 49, 40 … : bits in them      b0 b1 b2 …    1 rotated by them
//!   is there a lane without its bit?            one test
//! ```
//!
//! An insertion: the line lies in one register, and lines with one bit are added to it. They are
//! made without a table: 1 shifted by the position's bit, in the lane that is its word.

#![allow(unsafe_code)] // Intrinsics that read and write memory through pointers.

use std::arch::x86_64::*;

use super::batch;
use super::line::{Line, PER_PATTERN, all_patterns, first_pattern, next_pattern, shift_of};
use crate::Digest;

/// What each of eight lanes does with a pattern. The eighth, which has no probe, is never asked.
#[repr(C, align(64))]
struct Lanes {
    /// By how much the pattern is shifted to the right to bring the position to the low bits.
    to_position: [u64; 8],
    /// By how much to bring the bit within the word there.
    to_bit: [u64; 8],
}

static LANES: Lanes = {
    let mut lanes = Lanes { to_position: [0; 8], to_bit: [0; 8] };
    let mut probe = 0;
    while probe < PER_PATTERN {
        let shift = shift_of(probe) as u64;
        lanes.to_position[probe as usize] = shift;
        lanes.to_bit[probe as usize] = shift + 3;
        probe += 1;
    }
    lanes
};

/// [`line::contains`](super::line::contains).
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    let words = load(line);
    all_patterns(key, probes, |pattern, probes| {
        let fields = _mm512_set1_epi64(pattern.cast_signed());
        // Rotated, not shifted: a rotation has no counts that are too large, against which the
        // compiler would guard. The permutation looks at the low three bits of a lane, the second
        // rotation at the low six.
        let word = _mm512_rorv_epi64(fields, load(&LANES.to_position));
        let bit = _mm512_rorv_epi64(fields, load(&LANES.to_bit));
        let chosen = _mm512_permutexvar_epi64(word, words);
        let mask = _mm512_rolv_epi64(_mm512_set1_epi64(1), bit);
        // Lanes beyond the probes are left out of the answer.
        _bzhi_u32(_mm512_testn_epi64_mask(chosen, mask).into(), probes) == 0
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u64; 8]) -> __m512i {
    // SAFETY: eight words are 64 bytes; they may lie anywhere.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// [`line::insert`](super::line::insert).
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
    let mut words = load(line);
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

/// [`batch::contains`].
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    batch::contains(lines, keys, hits, |line, key| contains(line, key, probes));
}
