//! The work of [`block`](super::block) with AVX-512, for counters of four bits and up to eight probes.
//!
//! It is written in assembly, for the [blocked filter's reason](crate::filter::blocked): a function
//! that needs instructions is not inlined into one that does without. A block is one register.
//!
//! A query gives every probe a lane of its own:
//!
//! ```text
//!   the bytes of the pattern, one to a lane             llll www
//!   words to look at: their low three bits              one permutation of the block
//!   counters in them: four times the next four bits     each word shifted by its own
//!   is there a lane, of those with a probe, whose low four bits are 0?
//! ```
//!
//! A change collects the key's [ones](super::block::Ones) and adds or subtracts them, all counters at
//! once.

#![allow(unsafe_code)] // Instructions that the compiler does not know to be there.

use std::arch::asm;

use super::LINE_WORDS;
use super::block::{Ones, PER_PATTERN};
use crate::filter::packed_counters::Step;

type Line = [u64; LINE_WORDS];

static ONES: [u64; 256 + 15] = Ones::<LINE_WORDS>::TABLE;

/// What all lanes have in common, one word each.
static COUNTER_BITS: u64 = 0b1111 << 2;
static COUNTER: u64 = 0b1111;
static EACH_ONE: u64 = 0x1111_1111_1111_1111;
static HIGHEST_BITS: u64 = 0x8888_8888_8888_8888;

/// Whether the counters of a pattern's first probes, 1 to 8, are above 0.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn are_set(line: &Line, pattern: u64, probes: u32) -> bool {
    // The first probe is the highest byte, and in the highest lane.
    let lanes = (0xff00 >> probes) & 0xff;
    let zeros: u32;
    // SAFETY: the processor has the instructions. They read the line and two numbers, and change the
    // registers that are named.
    unsafe {
        asm!(
            "vmovq xmm16, {pattern}",
            "vpmovzxbq zmm16, xmm16",
            "vpermq zmm17, zmm16, [{line}]",
            "vpsrlq zmm16, zmm16, 1",
            "vpandq zmm16, zmm16, qword ptr [rip + {counter_bits}]{{1to8}}",
            "vpsrlvq zmm17, zmm17, zmm16",
            "vptestnmq k1, zmm17, qword ptr [rip + {counter}]{{1to8}}",
            "kmovw {zeros:e}, k1",
            pattern = in(reg) pattern,
            line = in(reg) line,
            counter_bits = sym COUNTER_BITS,
            counter = sym COUNTER,
            zeros = lateout(reg) zeros,
            out("zmm16") _, out("zmm17") _, out("k1") _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    debug_assert!((1..=PER_PATTERN).contains(&probes));
    zeros & lanes == 0
}

/// Moves the different counters of a pattern's first probes, 1 to 8, unless they are saturated.
/// Downwards only when [`are_set`] holds.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn step(line: &mut Line, pattern: u64, probes: u32, step: Step) {
    debug_assert!((1..=PER_PATTERN).contains(&probes));
    macro_rules! step {
        ($add_or_subtract:literal) => {
            asm!(
                "vpxorq zmm16, zmm16, zmm16",
                "2:",
                "rol {starts}, 8",
                "movzx {start:e}, {starts:l}",
                "vporq zmm16, zmm16, [{ones} + 8 * {start}]",
                "dec {probes:e}",
                "jnz 2b",
                "vmovdqu64 zmm17, [{line}]",
                "vpbroadcastq zmm18, qword ptr [rip + {highest_bits}]",
                "vpandnq zmm19, zmm18, zmm17",
                "vpaddq zmm19, zmm19, qword ptr [rip + {each_one}]{{1to8}}",
                "vpternlogq zmm19, zmm17, zmm18, 0x80", // The bits of all three.
                "vpsrlq zmm19, zmm19, 3",
                "vpandnq zmm16, zmm19, zmm16",
                concat!($add_or_subtract, " zmm17, zmm17, zmm16"),
                "vmovdqu64 [{line}], zmm17",
                starts = inout(reg) !pattern => _,
                start = out(reg) _,
                probes = inout(reg) probes => _,
                ones = in(reg) &ONES,
                line = in(reg) line,
                highest_bits = sym HIGHEST_BITS,
                each_one = sym EACH_ONE,
                out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
                options(nostack),
            )
        };
    }
    // SAFETY: the processor has the instructions. They read the table, in which eight words begin at
    // every byte, and two numbers, read and write the line, and change the registers that are named.
    unsafe {
        match step {
            Step::Up => step!("vpaddq"),
            Step::Down => step!("vpsubq"),
        }
    }
}
