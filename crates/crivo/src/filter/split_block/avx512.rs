//! A query as in [`block`](super::block) with AVX-512VL. Insertions and batches are not faster by it than by
//! [AVX2](super::avx2).
//!
//! It is written in assembly, because the compiler inlines no function that needs instructions into
//! one that does without. Registers from 16 upwards share nothing with older instructions, so that
//! nothing has to be cleared.

#![allow(unsafe_code)] // Instructions that the compiler does not know to be there.

use std::arch::asm;

use super::block::{Block, SALTS, SHIFT};
use crate::Digest;

static ONE: u32 = 1;

/// [`block::contains`](super::block::contains).
///
/// # Safety
/// The processor must have AVX-512VL.
#[inline(always)]
pub(super) unsafe fn contains(block: &Block, key: Digest) -> bool {
    let unset: u32;
    // SAFETY: the processor has the instructions. They read the block, the salts and one number, and
    // change the registers that are named.
    unsafe {
        asm!(
            "vpbroadcastd ymm16, {lower:e}",
            "vpmulld ymm16, ymm16, [rip + {salts}]",
            "vpbroadcastd ymm17, dword ptr [rip + {one}]",
            "vpsrld ymm16, ymm16, {shift}",
            "vpsllvd ymm16, ymm17, ymm16",
            "vptestnmd k1, ymm16, [{block}]",
            "kmovw {unset:e}, k1",
            lower = in(reg) key.get() as u32,
            salts = sym SALTS,
            one = sym ONE,
            shift = const SHIFT,
            block = in(reg) block,
            unset = lateout(reg) unset,
            out("ymm16") _, out("ymm17") _, out("k1") _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    unset == 0
}
