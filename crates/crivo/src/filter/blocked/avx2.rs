//! The work of [`line`](super::line) with AVX2.
//!
//! AVX2 cannot permute 64-bit lanes by a variable, but eight 32-bit lanes it can: the lower halves
//! of the eight words lie in one register, the upper halves in another; both are permuted, and the
//! highest bit of the position says which of the two a lane takes. Every probe has a lane of its
//! own.

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::x86_64::*;

use super::line::{self, Line, all_patterns, line_of, shift_of};
use crate::Digest;
use crate::filter::batch;

/// By how much each of eight lanes shifts a pattern to the right, to bring its position to the low
/// bits: in two halves, for 0 to 7 probes. Lanes without a probe repeat the first.
static TO_POSITION: [[[u64; 4]; 2]; 8] = {
    let mut shifts = [[[0; 4]; 2]; 8];
    let mut probes = 0;
    while probes < 8 {
        let mut lane = 0;
        while lane < 8 {
            let probe = if lane < probes { lane as u32 } else { 0 };
            shifts[probes][lane / 4][lane % 4] = shift_of(probe) as u64;
            lane += 1;
        }
        probes += 1;
    }
    shifts
};

/// [`line::contains`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    let [first, second, third, fourth] = line.as_chunks().0 else {
        unreachable!("a line has eight words")
    };
    let (outer, inner) = (load_pairs(first, third), load_pairs(second, fourth));
    let lower = _mm256_shuffle_ps::<0b10_00_10_00>(outer, inner);
    let upper = _mm256_shuffle_ps::<0b11_01_11_01>(outer, inner);
    all_patterns(key, probes, |pattern, probes| {
        let fields = _mm256_set1_epi64x(pattern.cast_signed());
        let [first, second] = &TO_POSITION[probes as usize % 8];
        let first = _mm256_castsi256_ps(_mm256_srlv_epi64(fields, load(first)));
        let second = _mm256_castsi256_ps(_mm256_srlv_epi64(fields, load(second)));
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
fn load(lanes: &[u64; 4]) -> __m256i {
    // SAFETY: four words are 32 bytes; they may lie anywhere.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_pairs(low: &[u64; 2], high: &[u64; 2]) -> __m256 {
    // SAFETY: two words are 16 bytes; they may lie anywhere.
    unsafe { _mm256_loadu2_m128(high.as_ptr().cast(), low.as_ptr().cast()) }
}

/// [`line::insert`], which the compiler turns into instructions on half lines.
#[target_feature(enable = "avx2")]
pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
    line::insert(line, key, probes);
}

/// [`batch::contains`].
#[target_feature(enable = "avx2")]
pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    batch::contains(lines, keys, hits, line_of, |line, key| contains(line, key, probes));
}
