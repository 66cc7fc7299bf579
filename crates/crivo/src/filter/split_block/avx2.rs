//! The work of [`block`](super::block) with AVX2: a block is one register, and each of its words a
//! lane.
//!
//! What is inlined into callers' loops is written in assembly, because the compiler inlines no function that needs instructions into
//! one that does without. The upper halves of the registers are cleared at the end, as processors before
//! AVX-512 want it; all sixteen registers are therefore named as changed.

#![allow(unsafe_code)] // Instructions that the compiler does not know to be there.

use std::arch::asm;
use std::arch::x86_64::*;

use super::block::{Block, SALTS, SHIFT, block_of};
use crate::Digest;
use crate::filter::batch;

static ONE: u32 = 1;

/// Assembly that begins with the bits of the key in ymm0, and may change all registers of AVX2.
macro_rules! with_mask {
    ($key:expr, [$($line:literal),*], { $($operands:tt)* }, $($option:ident),*) => {
        asm!(
            "vmovd xmm0, {lower:e}",
            "vpbroadcastd ymm0, xmm0",
            "vpmulld ymm0, ymm0, [rip + {salts}]",
            "vpbroadcastd ymm1, dword ptr [rip + {one}]",
            "vpsrld ymm0, ymm0, {shift}",
            "vpsllvd ymm0, ymm1, ymm0",
            $($line,)*
            lower = in(reg) $key.get() as u32,
            salts = sym SALTS,
            one = sym ONE,
            shift = const SHIFT,
            $($operands)*
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options($($option),*),
        )
    };
}

/// [`block::contains`](super::block::contains).
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
pub(super) unsafe fn contains(block: &Block, key: Digest) -> bool {
    let are_set: u8;
    // SAFETY: the processor has the instructions. They read the block, the salts and one number, and
    // change the registers that are named.
    unsafe {
        with_mask!(
            key,
            ["vmovdqu ymm1, [{block}]", "vptest ymm1, ymm0", "setc {are_set}", "vzeroupper"],
            { block = in(reg) block, are_set = lateout(reg_byte) are_set, },
            pure, readonly, nostack
        );
    }
    are_set != 0
}

/// [`block::insert`](super::block::insert).
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
pub(super) unsafe fn insert(block: &mut Block, key: Digest) {
    // SAFETY: the processor has the instructions. They read the salts and one number, read and write
    // the block, and change the registers that are named.
    unsafe {
        with_mask!(
            key,
            ["vpor ymm0, ymm0, [{block}]", "vmovdqu [{block}], ymm0", "vzeroupper"],
            { block = in(reg) block, },
            nostack, preserves_flags
        );
    }
}

/// [`batch::contains`], by intrinsics: in a function of its own the compiler keeps the constants in
/// registers, and clears them once.
#[target_feature(enable = "avx2")]
pub(super) fn contains_batch(blocks: &[Block], keys: &[Digest], hits: &mut [bool]) {
    let salts = salts();
    batch::contains(blocks, keys, hits, block_of, |block, key| {
        // SAFETY: the four words of a block are 32 bytes; they may lie anywhere.
        let words = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        _mm256_testc_si256(words, mask_of(key, salts)) == 1
    });
}

/// [`block::insert`](super::block::insert) for each key, into the block that `place_of` gives, likewise.
#[target_feature(enable = "avx2")]
pub(super) fn insert_all(
    blocks: &mut [Block],
    keys: &[Digest],
    place_of: impl Fn(Digest) -> usize,
) {
    let salts = salts();
    for &key in keys {
        let block = blocks[place_of(key)].as_mut_ptr().cast();
        // SAFETY: as above, to be read and written.
        unsafe {
            let words = _mm256_loadu_si256(block);
            _mm256_storeu_si256(block, _mm256_or_si256(words, mask_of(key, salts)));
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn salts() -> __m256i {
    // SAFETY: eight salts are 32 bytes; they may lie anywhere.
    unsafe { _mm256_loadu_si256(SALTS.0.as_ptr().cast()) }
}

/// The bits of a key.
#[inline]
#[target_feature(enable = "avx2")]
fn mask_of(key: Digest, salts: __m256i) -> __m256i {
    let products = _mm256_mullo_epi32(_mm256_set1_epi32(key.get() as i32), salts);
    let positions = _mm256_srli_epi32::<{ SHIFT as i32 }>(products);
    _mm256_sllv_epi32(_mm256_set1_epi32(1), positions)
}
