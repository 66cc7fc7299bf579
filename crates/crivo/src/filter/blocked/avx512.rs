//! The work of [`line`](super::line) with AVX-512.
//!
//! It is written in assembly, because the compiler inlines no function that needs instructions into
//! one that does without. Each query would pay for a call, for its constants, and for clearing the
//! registers that older instructions share: half as much again. Registers from 16 upwards are not
//! shared.
//!
//! # A query
//!
//! The line lies in one register, and every probe has a lane of its own.
//!
//! ```text
//!   pattern in every lane                       PPPPPPPP
//!   turned by 55, 46, 37 … : words to look at   w0 w1 w2 …    one permutation of the line
//!   turned by 58, 49, 40 … : bits in them       b0 b1 b2 …    each word turned by its own
//!   is there a lane without its lowest bit?     one test
//! ```
//!
//! # An insertion
//!
//! The probes' bits are made in the same lanes, and then brought to their words by permutations, two
//! probes at a time: a [table](PLACES) tells for a pair of words where each lane of the line takes its
//! bits from. If the two words are one, it takes the bits of both.
//!
//! ```text
//!   1 turned by b0 b1 b2 …                 A  B  C  D  E  F  G  0
//!   each with its neighbour's              AB AB CD CD EF EF G  G
//!
//!   probes 0 and 1 in words 5 and 2:       0  0  B  0  0  A  0  0
//!   probes 2 and 3, both in word 4:        0  0  0  0  CD 0  0  0
//! ```

#![allow(unsafe_code)] // Instructions that the compiler does not know to be there.

use std::arch::asm;
use std::mem::offset_of;

use super::avx512_batch;
use super::line::{LINE_WORDS, Line, PER_PATTERN, all_patterns, line_of, shift_of};
use crate::Digest;
use crate::filter::batch;

/// What each of eight lanes does with a pattern. All that an insertion looks up is at one address: a
/// register less, in loops that have none to spare.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lanes {
    /// By how much the pattern is turned to the right to bring the word to the low three bits. Lanes
    /// without a probe repeat the first.
    pub(super) to_word: [u64; LINE_WORDS],
    /// By how much, to bring the bit within the word to the low six.
    pub(super) to_bit: [u64; LINE_WORDS],
    /// 1 in lanes with a probe, 0 in others.
    has_probe: [u64; LINE_WORDS],
    /// The same for any number of probes.
    places: Places,
}

/// The lanes for 0 to 7 probes.
pub(super) static LANES: [Lanes; PER_PATTERN as usize + 1] = {
    let none = Lanes { to_word: [0; 8], to_bit: [0; 8], has_probe: [0; 8], places: PLACES };
    let mut all = [none; PER_PATTERN as usize + 1];
    let mut probes = 0;
    while probes < all.len() {
        let mut lane = 0;
        while lane < LINE_WORDS {
            let has_probe = lane < probes;
            let shift = shift_of(if has_probe { lane as u32 } else { 0 }) as u64;
            all[probes].to_word[lane] = shift;
            all[probes].to_bit[lane] = shift + 3;
            all[probes].has_probe[lane] = has_probe as u64;
            lane += 1;
        }
        probes += 1;
    }
    all
};

static LOWEST_BIT: u64 = 1;

/// Where in a pattern the words of a pair of probes are; of the last, which has no partner, one word.
static WORDS_OF_PAIR: [u64; 4] = {
    const fn word(probe: u32) -> u64 {
        7 << shift_of(probe)
    }
    [word(0) | word(1), word(2) | word(3), word(4) | word(5), word(6)]
};

type Places = [[[u8; LINE_WORDS]; 64]; 4];

/// For each pair of probes and each pair of words: where the eight words of the line take their bits
/// from. 0 to 7 are the lanes with one probe's bit, 8 to 15 those with a neighbour's as well. Lane 7
/// has no bit.
const PLACES: Places = {
    let mut places = [[[7; LINE_WORDS]; 64]; 4];
    let mut pair = 0;
    while pair < 4 {
        // The last probe's word comes alone, as if its partner, which has no bit, were before it and
        // in word 0.
        let (first, second) = if pair < 3 { (2 * pair, 2 * pair + 1) } else { (7, 6) };
        let mut words = 0;
        while words < 64 {
            let place = &mut places[pair][words];
            place[words / 8] = first as u8;
            place[words % 8] = if words / 8 == words % 8 { 8 + second } else { second } as u8;
            words += 1;
        }
        pair += 1;
    }
    places
};

/// [`line::contains`](super::line::contains).
///
/// # Safety
/// The processor must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    // SAFETY: the caller's promise.
    all_patterns(key, probes, |pattern, probes| unsafe { are_set(line, pattern, probes) })
}

/// Whether the bits of a pattern's first probes, at most seven, are set.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn are_set(line: &Line, pattern: u64, probes: u32) -> bool {
    let unset: u32;
    // SAFETY: the processor has the instructions. They read the line, the lanes and one number, and
    // change the registers that are named.
    unsafe {
        asm!(
            "vpbroadcastq zmm16, {pattern}",
            "vprorvq zmm17, zmm16, [{lanes} + {to_word}]",
            "vprorvq zmm16, zmm16, [{lanes} + {to_bit}]",
            "vpermq zmm17, zmm17, [{line}]",
            "vprorvq zmm17, zmm17, zmm16",
            "vptestnmq k1, zmm17, qword ptr [rip + {lowest_bit}]{{1to8}}",
            "kmovw {unset:e}, k1",
            pattern = in(reg) pattern,
            line = in(reg) line,
            lanes = in(reg) &LANES[probes as usize % LANES.len()],
            to_word = const offset_of!(Lanes, to_word),
            to_bit = const offset_of!(Lanes, to_bit),
            lowest_bit = sym LOWEST_BIT,
            unset = lateout(reg) unset,
            out("zmm16") _, out("zmm17") _, out("k1") _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    unset == 0
}

/// [`line::insert`](super::line::insert).
///
/// # Safety
/// The processor must have AVX-512F and BMI2.
pub(super) unsafe fn insert(line: &mut Line, key: Digest, probes: u32) {
    all_patterns(key, probes, |pattern, probes| {
        // SAFETY: the caller's promise.
        unsafe { set(line, pattern, probes) };
        true
    });
}

/// Sets the bits of a pattern's first probes, at most seven.
///
/// # Safety
/// The processor must have AVX-512F and BMI2.
#[inline(always)]
pub(super) unsafe fn set(line: &mut Line, pattern: u64, probes: u32) {
    // SAFETY: the processor has the instructions. They read the lanes and their places, whose index
    // has the six bits that were asked for, read and write the line, and change the registers that are
    // named.
    unsafe {
        asm!(
            "vpbroadcastq zmm16, {pattern}",
            "vprorvq zmm16, zmm16, [{lanes} + {to_bit}]",
            "vmovdqa64 zmm17, [{lanes} + {has_probe}]",
            "vprolvq zmm16, zmm17, zmm16",
            "vpshufd zmm17, zmm16, 0x4e", // Neighbours change places.
            "vporq zmm17, zmm17, zmm16",
            "pext {words}, {pattern}, [rip + {words_of_pair}]",
            "vpmovzxbq zmm18, qword ptr [{lanes} + {places} + 8 * {words}]",
            "vpermi2q zmm18, zmm16, zmm17",
            "pext {words}, {pattern}, [rip + {words_of_pair} + 8]",
            "vpmovzxbq zmm19, qword ptr [{lanes} + {places} + 8 * {words} + 512]",
            "vpermi2q zmm19, zmm16, zmm17",
            "pext {words}, {pattern}, [rip + {words_of_pair} + 16]",
            "vpmovzxbq zmm20, qword ptr [{lanes} + {places} + 8 * {words} + 1024]",
            "vpermi2q zmm20, zmm16, zmm17",
            "vpternlogq zmm18, zmm19, zmm20, 0xfe", // The bits of any of the three.
            "cmp {probes:e}, 7",
            "jne 2f",
            "pext {words}, {pattern}, [rip + {words_of_pair} + 24]",
            "vpmovzxbq zmm19, qword ptr [{lanes} + {places} + 8 * {words} + 1536]",
            "vpermi2q zmm19, zmm16, zmm17",
            "vporq zmm18, zmm18, zmm19",
            "2:",
            "vporq zmm18, zmm18, [{line}]",
            "vmovdqu64 [{line}], zmm18",
            pattern = in(reg) pattern,
            probes = in(reg) probes,
            line = in(reg) line,
            lanes = in(reg) &LANES[probes as usize % LANES.len()],
            to_bit = const offset_of!(Lanes, to_bit),
            has_probe = const offset_of!(Lanes, has_probe),
            words_of_pair = sym WORDS_OF_PAIR,
            places = const offset_of!(Lanes, places),
            words = out(reg) _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _,
            options(nostack),
        );
    }
}

/// [`batch::contains`].
///
/// # Safety
/// The processor must have AVX-512F, AVX-512BW, AVX-512DQ and BMI2.
pub(super) unsafe fn contains_batch(
    lines: &[Line],
    probes: u32,
    keys: &[Digest],
    hits: &mut [bool],
) {
    // SAFETY: the caller's promise.
    unsafe {
        if probes <= PER_PATTERN && u32::try_from(lines.len()).is_ok() {
            avx512_batch::contains(lines, probes, keys, hits);
        } else {
            batch::contains(lines, keys, hits, line_of, |line, key| contains(line, key, probes));
        }
    }
}
