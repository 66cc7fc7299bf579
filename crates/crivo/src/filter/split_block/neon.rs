//! The work of [`block`](super::block) with NEON: a block is two registers, and each of its words a
//! lane.

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::aarch64::*;

use super::block::{Block, SALTS, SHIFT, block_of};
use crate::Digest;
use crate::filter::batch;

/// The bits of the key.
#[inline]
#[target_feature(enable = "neon")]
fn mask_of(key: Digest) -> uint32x4x2_t {
    // SAFETY: eight salts are two registers.
    let salts = unsafe { vld1q_u32_x2(SALTS.0.as_ptr()) };
    let bits = |salts| {
        let positions = vshrq_n_u32::<{ SHIFT as i32 }>(vmulq_n_u32(salts, key.get() as u32));
        vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(positions))
    };
    uint32x4x2_t(bits(salts.0), bits(salts.1))
}

/// [`block::contains`](super::block::contains).
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn contains(block: &Block, key: Digest) -> bool {
    // SAFETY: a block is two registers.
    let words = unsafe { vld1q_u32_x2(block.as_ptr().cast()) };
    let mask = mask_of(key);
    let unset = vorrq_u32(vbicq_u32(mask.0, words.0), vbicq_u32(mask.1, words.1));
    vmaxvq_u32(unset) == 0
}

/// [`block::insert`](super::block::insert).
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn insert(block: &mut Block, key: Digest) {
    let words = block.as_mut_ptr().cast();
    let mask = mask_of(key);
    // SAFETY: a block is two registers, to be read and written.
    unsafe {
        let old = vld1q_u32_x2(words);
        let set = uint32x4x2_t(vorrq_u32(old.0, mask.0), vorrq_u32(old.1, mask.1));
        vst1q_u32_x2(words, set);
    }
}

/// [`batch::contains`].
#[target_feature(enable = "neon")]
pub(super) fn contains_batch(blocks: &[Block], keys: &[Digest], hits: &mut [bool]) {
    batch::contains(blocks, keys, hits, block_of, |block, key| contains(block, key));
}

/// [`insert`] for each key, into the block that `place_of` gives.
#[target_feature(enable = "neon")]
pub(super) fn insert_all(
    blocks: &mut [Block],
    keys: &[Digest],
    place_of: impl Fn(Digest) -> usize,
) {
    keys.iter().for_each(|&key| insert(&mut blocks[place_of(key)], key));
}
