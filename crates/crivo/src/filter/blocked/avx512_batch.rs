//! Many queries at once with AVX-512.
//!
//! A query by itself multiplies twice, for its line and for its pattern, and a batch that fetches lines
//! ahead would do the first twice. Here eight keys at a time are multiplied by vector instructions, some
//! groups ahead of the queries, and their lines are fetched one by one between the queries:
//!
//! ```text
//!   group g + 3     lines and patterns of eight keys      multiplied, kept
//!                   their lines                           one fetched with each query below
//!   group g         eight queries                         lines and patterns as kept
//! ```

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::x86_64::*;

use super::avx512::{self, LANES};
use super::line::{LINE_WORDS, Line, MULTIPLIER, first_pattern, line_of};
use crate::Digest;
use crivo_core::memory::prefetch;

/// Keys that are multiplied at once.
const GROUP: usize = 8;

/// How many groups ahead that is done.
const AHEAD: usize = 3;

/// Groups under way: a power of two above `AHEAD`.
const KEPT: usize = 4;

/// [`line::contains`](super::line::contains) for each key and its line, with at most seven probes. There
/// are as many hits as keys.
///
/// # Panics
/// If there are no lines, or 2^32 or more.
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
pub(super) fn contains(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    assert!((1..=u32::MAX as usize).contains(&lines.len()), "half a multiplication is enough");
    let lanes = &LANES[probes as usize % LANES.len()];
    let (to_word, to_bit) = (load(&lanes.to_word), load(&lanes.to_bit));
    let one = _mm512_set1_epi64(1);
    let line_count = _mm512_set1_epi64(lines.len() as i64);
    let multiplier = _mm512_set1_epi64(MULTIPLIER.cast_signed());

    let (groups, rest) = keys.as_chunks::<GROUP>();
    let (hits, rest_hits) = hits.as_chunks_mut::<GROUP>();
    let mut kept = [Group { lines: [0; GROUP], patterns: [0; GROUP] }; KEPT];
    // The digest times the number of lines, of which the upper 64 bits count: in two halves.
    let prepare = |kept: &mut Group, keys: &[Digest; GROUP]| {
        let keys = load(&keys.map(Digest::get));
        let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(keys, line_count));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(keys), line_count);
        store(&mut kept.lines, _mm512_srli_epi64::<32>(_mm512_add_epi64(low, high)));
        store(&mut kept.patterns, _mm512_mullo_epi64(keys, multiplier));
    };
    for (kept, keys) in kept.iter_mut().zip(groups.iter().take(AHEAD)) {
        prepare(kept, keys);
        kept.lines.iter().for_each(|&line| prefetch(lines.as_ptr().wrapping_add(line as usize)));
    }
    for (g, hits) in hits.iter_mut().enumerate() {
        // Behind the last group there is no other, and what is kept of it stays what it was.
        if let Some(keys) = groups.get(g + AHEAD) {
            prepare(&mut kept[(g + AHEAD) % KEPT], keys);
        }
        let (now, later) = (&kept[g % KEPT], &kept[(g + AHEAD) % KEPT]);
        for (i, hit) in hits.iter_mut().enumerate() {
            prefetch(lines.as_ptr().wrapping_add(later.lines[i] as usize));
            // SAFETY: of a digest times the number of lines, the upper half is below that number.
            let line = unsafe { lines.get_unchecked(now.lines[i] as usize) };
            let pattern = _mm512_set1_epi64(now.patterns[i].cast_signed());
            let words = _mm512_permutexvar_epi64(_mm512_rorv_epi64(pattern, to_word), load(line));
            let bits = _mm512_rorv_epi64(words, _mm512_rorv_epi64(pattern, to_bit));
            *hit = _mm512_testn_epi64_mask(bits, one) == 0;
        }
    }
    for (&key, hit) in rest.iter().zip(rest_hits) {
        // SAFETY: the processor has AVX-512F.
        *hit = unsafe {
            avx512::are_set(&lines[line_of(key, lines.len())], first_pattern(key), probes)
        };
    }
}

/// What is kept of eight keys.
#[derive(Clone, Copy)]
struct Group {
    lines: [u64; GROUP],
    patterns: [u64; GROUP],
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; LINE_WORDS]) -> __m512i {
    // SAFETY: eight words are 64 bytes; they may lie anywhere.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u64; LINE_WORDS], value: __m512i) {
    // SAFETY: eight words are 64 bytes; they may lie anywhere.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) };
}
