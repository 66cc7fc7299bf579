//! The work of [`block`] with AVX2, for counters of four bits.
//!
//! As in the [blocked filter](crate::filter::blocked), the lower halves of the eight words lie in one
//! register and the upper halves in another, because AVX2 can permute 32-bit lanes only. Every probe
//! has a lane of its own.

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::x86_64::*;

use super::LINE_WORDS;
use super::block::{self, PER_PATTERN};
use crate::Digest;
use crate::filter::packed_counters::Step;

/// Whether the counters of a pattern's first probes, 1 to 8, are above 0.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn are_set(line: &[u64; LINE_WORDS], pattern: u64, probes: u32) -> bool {
    debug_assert!((1..=PER_PATTERN).contains(&probes));
    let [first, second, third, fourth] = line.as_chunks().0 else {
        unreachable!("a line has eight words")
    };
    let (outer, inner) = (load_pairs(first, third), load_pairs(second, fourth));
    let lower = _mm256_shuffle_ps::<0b10_00_10_00>(outer, inner);
    let upper = _mm256_shuffle_ps::<0b11_01_11_01>(outer, inner);
    let position = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(pattern.cast_signed()));
    // The permutations look at the low three bits of a lane, the blend at the sign, to which the
    // highest of seven bits is brought. The three between them tell the counter.
    let lower = _mm256_permutevar8x32_ps(lower, position);
    let upper = _mm256_permutevar8x32_ps(upper, position);
    let is_upper = _mm256_castsi256_ps(_mm256_slli_epi32::<{ 31 - 6 }>(position));
    let chosen = _mm256_castps_si256(_mm256_blendv_ps(lower, upper, is_upper));
    let bit = _mm256_and_si256(_mm256_srli_epi32::<1>(position), _mm256_set1_epi32(0b111 << 2));
    let counter = _mm256_and_si256(_mm256_srlv_epi32(chosen, bit), _mm256_set1_epi32(0b1111));
    let zeros = _mm256_cmpeq_epi32(counter, _mm256_setzero_si256());
    let zeros = _mm256_movemask_ps(_mm256_castsi256_ps(zeros));
    // The first probe is the highest byte, and in the highest lane.
    zeros & ((0xff00 >> probes) & 0xff) == 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_pairs(low: &[u64; 2], high: &[u64; 2]) -> __m256 {
    // SAFETY: two words are 16 bytes; they may lie anywhere.
    unsafe { _mm256_loadu2_m128(high.as_ptr().cast(), low.as_ptr().cast()) }
}

/// [`block::step`], which the compiler turns into instructions on half lines.
#[target_feature(enable = "avx2")]
pub(super) fn step(line: &mut [u64; LINE_WORDS], key: Digest, probes: u32, step: Step) {
    block::step(line, key, probes, step);
}
