//! Many queries at once with AVX-512.
//!
//! A query by itself multiplies twice, for its line and for its pattern, and a batch that fetches lines
//! ahead would do the first twice. Here eight keys at a time are multiplied by vector instructions, some
//! groups ahead of the queries, and their lines are fetched one by one between the queries:
//!
//! ```text
//!   group g + 5     lines and patterns of eight keys      multiplied, kept
//!                   their lines                           one fetched with each query below
//!   group g         eight queries                         lines and patterns as kept
//! ```

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::offset_of;

use super::avx512::{self, LANES};
use super::line::{LINE_WORDS, Line, MULTIPLIER, first_pattern, line_of};
use crate::Digest;
use crivo_core::memory::{Cache, prefetch};

/// Keys that are multiplied at once.
const GROUP: usize = 8;

/// How many groups ahead that is done.
const AHEAD: usize = 5;

/// Groups under way: a power of two above `AHEAD`.
const KEPT: usize = 8;

/// log2 of the bytes of a line.
const LINE_BYTES_LOG: u32 = size_of::<Line>().ilog2();

/// [`line::contains`](super::line::contains) for each key and its line, with at most seven probes. There
/// are as many hits as keys.
///
/// # Panics
/// If there are no lines, or 2^32 or more.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,bmi2")]
pub(super) fn contains(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    let line_count = u32::try_from(lines.len()).expect("half a multiplication is enough");
    assert!(line_count > 0, "every key has a line");
    let lanes = &LANES[probes as usize % LANES.len()];
    let (to_word, to_bit) = (load(&lanes.to_word), load(&lanes.to_bit));
    let line_count = _mm512_set1_epi64(i64::from(line_count));
    let multiplier = _mm512_set1_epi64(MULTIPLIER.cast_signed());
    let whole_lines = _mm512_set1_epi64(!(size_of::<Line>() as i64 - 1));

    let (groups, rest) = keys.as_chunks::<GROUP>();
    let (hits, rest_hits) = hits.as_chunks_mut::<GROUP>();
    let mut kept = [Group { offsets: [0; GROUP], patterns: [0; GROUP] }; KEPT];
    // The digest times the number of lines, of which the upper 64 bits count: in two halves.
    let prepare = |kept: &mut Group, keys: &[Digest; GROUP]| {
        let keys = load(&keys.map(Digest::get));
        let low = _mm512_srli_epi64::<32>(low_product(keys, line_count));
        let high = low_product(_mm512_srli_epi64::<32>(keys), line_count);
        let sum = _mm512_srli_epi64::<{ 32 - LINE_BYTES_LOG }>(_mm512_add_epi64(low, high));
        store(&mut kept.offsets, _mm512_and_si512(sum, whole_lines));
        store(&mut kept.patterns, _mm512_mullo_epi64(keys, multiplier));
    };
    for (kept, keys) in kept.iter_mut().zip(groups.iter().take(AHEAD)) {
        prepare(kept, keys);
        for &offset in &kept.offsets {
            prefetch(lines.as_ptr().wrapping_byte_add(offset as usize), Cache::Second);
        }
    }
    for (g, hits) in hits.iter_mut().enumerate() {
        // Behind the last group there is no other, and what is kept of it stays what it was.
        if let Some(keys) = groups.get(g + AHEAD) {
            prepare(&mut kept[(g + AHEAD) % KEPT], keys);
        }
        // SAFETY: of a digest times the number of lines, the upper half is below that number, and the
        // offset is that of the line; the caller has the instructions.
        unsafe {
            ask(lines, &kept[g % KEPT], &kept[(g + AHEAD) % KEPT].offsets, to_word, to_bit, hits);
        }
    }
    for (&key, hit) in rest.iter().zip(rest_hits) {
        // SAFETY: the processor has AVX-512F.
        *hit = unsafe {
            avx512::are_set(&lines[line_of(key, lines.len())], first_pattern(key), probes)
        };
    }
}

/// Answers for a group, and fetches the lines of another.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,bmi2")]
unsafe fn ask(
    lines: &[Line],
    now: &Group,
    later: &[u64; GROUP],
    to_word: __m512i,
    to_bit: __m512i,
    hits: &mut [bool; GROUP],
) {
    macro_rules! question {
        ($at:literal, $mask:literal) => {
            concat!(
                "mov {offset}, [{later} + 8 * ",
                $at,
                "]\n",
                "prefetcht1 [{lines} + {offset}]\n",
                "mov {offset}, [{now} + 8 * ",
                $at,
                "]\n",
                "vpbroadcastq {pattern}, [{now} + {patterns} + 8 * ",
                $at,
                "]\n",
                "vprorvq {words:z}, {pattern}, {to_word}\n",
                "vprorvq {pattern}, {pattern}, {to_bit}\n",
                "vpermq {words:z}, {words:z}, [{lines} + {offset}]\n",
                "vprorvq {words:z}, {words:z}, {pattern}\n",
                "vptestnmq ",
                $mask,
                ", {words:z}, {one}\n",
            )
        };
    }
    let one = _mm512_set1_epi64(1);
    // SAFETY: the caller's promises. Nothing is written but the eight hits, each 0 or 1.
    unsafe {
        asm!(
            question!(0, "k1"),
            question!(1, "k2"),
            "kunpckbw k1, k2, k1",
            question!(2, "k3"),
            question!(3, "k2"),
            "kunpckbw k2, k2, k3",
            "kunpckwd k1, k2, k1",
            question!(4, "k2"),
            question!(5, "k3"),
            "kunpckbw k2, k3, k2",
            question!(6, "k3"),
            question!(7, "k4"),
            "kunpckbw k3, k4, k3",
            "kunpckwd k2, k3, k2",
            "kunpckdq k1, k2, k1",
            "kmovq {offset}, k1",
            "vmovq {words:x}, {offset}",
            "vpcmpeqb {words:x}, {words:x}, {zero:x}",
            "vpabsb {words:x}, {words:x}",
            "vmovq qword ptr [{hits}], {words:x}",
            lines = in(reg) lines.as_ptr(),
            now = in(reg) now,
            later = in(reg) later,
            patterns = const offset_of!(Group, patterns),
            to_word = in(zmm_reg) to_word,
            to_bit = in(zmm_reg) to_bit,
            one = in(zmm_reg) one,
            zero = in(xmm_reg) _mm_setzero_si128(),
            hits = in(reg) hits,
            offset = out(reg) _,
            words = out(xmm_reg) _,
            pattern = out(zmm_reg) _,
            out("k1") _, out("k2") _, out("k3") _, out("k4") _,
            options(nostack, preserves_flags),
        );
    }
}

/// What is kept of eight keys.
#[derive(Clone, Copy)]
#[repr(C)]
struct Group {
    /// Where the line begins, in bytes.
    offsets: [u64; GROUP],
    patterns: [u64; GROUP],
}

/// The products of the lower halves of eight words. Of the intrinsic the compiler makes multiplications of
/// whole words, which are three instructions each inside the processor.
#[inline]
#[target_feature(enable = "avx512f")]
fn low_product(a: __m512i, b: __m512i) -> __m512i {
    let product;
    // SAFETY: the caller has the instruction, which reads and writes registers.
    unsafe {
        asm!(
            "vpmuludq {product}, {a}, {b}",
            product = out(zmm_reg) product,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    product
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
