//! The work of [`block`](super::block) with AVX2: a block is one register, and each of its words a
//! lane.

#![allow(unsafe_code)] // Intrinsics that read memory through pointers.

use std::arch::x86_64::*;

use super::block::{Block, SALTS, SHIFT, block_of};
use crate::Digest;
use crate::filter::batch;

/// The bits of the key.
#[inline]
#[target_feature(enable = "avx2")]
fn mask_of(key: Digest) -> __m256i {
    // SAFETY: eight salts are 32 bytes; they may lie anywhere.
    let salts = unsafe { _mm256_loadu_si256(SALTS.as_ptr().cast()) };
    let products = _mm256_mullo_epi32(_mm256_set1_epi32(key.get() as i32), salts);
    let positions = _mm256_srli_epi32::<{ SHIFT as i32 }>(products);
    _mm256_sllv_epi32(_mm256_set1_epi32(1), positions)
}

/// [`block::contains`](super::block::contains).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn contains(block: &Block, key: Digest) -> bool {
    // SAFETY: four words are 32 bytes; they may lie anywhere.
    let words = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
    _mm256_testc_si256(words, mask_of(key)) == 1
}

/// [`block::insert`](super::block::insert).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn insert(block: &mut Block, key: Digest) {
    let words = block.as_mut_ptr().cast();
    // SAFETY: four words are 32 bytes, to be read and written; they may lie anywhere.
    unsafe {
        let set = _mm256_or_si256(_mm256_loadu_si256(words), mask_of(key));
        _mm256_storeu_si256(words, set);
    }
}

/// [`batch::contains`].
#[target_feature(enable = "avx2")]
pub(super) fn contains_batch(blocks: &[Block], keys: &[Digest], hits: &mut [bool]) {
    batch::contains(blocks, keys, hits, block_of, |block, key| contains(block, key));
}
