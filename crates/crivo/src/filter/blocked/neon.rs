//! The work of [`line`](super::line) with NEON.
//!
//! One instruction looks up eight bytes in a table of 64, and a line is 64 bytes: every probe has
//! a lane of one byte.
//!
//! ```text
//!   pattern shifted by 55, 46, 37 …    bbb ccc www    in the low nine bits of each lane
//!   which byte of the line?            www bbb        words are little-endian
//!   which bit of the byte?             ccc            1 shifted by it
//!   which lanes have their bit?        one test
//! ```

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::aarch64::*;

use super::line::{self, Line, PER_PATTERN, all_patterns, line_of, shift_of};
use crate::Digest;
use crate::filter::batch;

/// By how much each of eight lanes shifts a pattern to bring its position to the low bits: to the
/// right is below 0. The eighth, which has no probe, is never asked.
static TO_POSITION: [i64; 8] = {
    let mut shifts = [0; 8];
    let mut probe = 0;
    while probe < PER_PATTERN {
        shifts[probe as usize] = -(shift_of(probe) as i64);
        probe += 1;
    }
    shifts
};

/// [`line::contains`].
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
    // SAFETY: a line is 64 bytes.
    let bytes = unsafe { vld1q_u8_x4(line.as_ptr().cast()) };
    all_patterns(key, probes, |pattern, probes| {
        let position = positions(pattern);
        // Above the six bits that are wanted, both have others: masks take them away.
        let bit = vshrn_n_u16::<3>(position);
        let byte = vsli_n_u8::<3>(vshr_n_u8::<3>(bit), vmovn_u16(position));
        let chosen = vqtbl4_u8(bytes, vand_u8(byte, vdup_n_u8(63)));
        let bit_in_byte = vreinterpret_s8_u8(vand_u8(bit, vdup_n_u8(7)));
        let is_set = vtst_u8(chosen, vshl_u8(vdup_n_u8(1), bit_in_byte));
        let unset = !vget_lane_u64::<0>(vreinterpret_u64_u8(is_set));
        // Lanes beyond the probes, of which there is at least one, are shifted out.
        unset << (u64::BITS - 8 * probes) == 0
    })
}

/// Eight lanes with a position in the low nine bits of each.
#[inline]
#[target_feature(enable = "neon")]
fn positions(pattern: u64) -> uint16x8_t {
    let fields = vdupq_n_u64(pattern);
    // SAFETY: eight words are 64 bytes.
    let shifts = unsafe { vld1q_s64_x4(TO_POSITION.as_ptr()) };
    let shifted = |shifts| vreinterpretq_u32_u64(vshlq_u64(fields, shifts));
    // The lowest quarter of each lane is all that is needed of it.
    let low = vuzp1q_u32(shifted(shifts.0), shifted(shifts.1));
    let high = vuzp1q_u32(shifted(shifts.2), shifted(shifts.3));
    vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high))
}

/// [`line::insert`], which the compiler turns into instructions on quarters of lines.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
    line::insert(line, key, probes);
}

/// [`batch::contains`].
#[target_feature(enable = "neon")]
pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
    batch::contains(lines, keys, hits, line_of, |line, key| contains(line, key, probes));
}
