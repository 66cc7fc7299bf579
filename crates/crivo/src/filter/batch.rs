//! Many queries at once: the block of each key is fetched before it is needed.

use crate::Digest;
use crivo_core::memory::prefetch;

/// Bytes that are fetched at a time, on most processors.
const LINE_BYTES: usize = 64;

/// How many keys ahead a block is fetched: what a processor can have under way at a time, and some.
const AHEAD: usize = 24;

/// Fetches a block.
#[inline(always)]
pub(super) fn fetch<Block>(blocks: &[Block], block: usize) {
    let block = blocks.as_ptr().wrapping_add(block).cast::<u8>();
    for offset in (0..size_of::<Block>()).step_by(LINE_BYTES) {
        prefetch(block.wrapping_add(offset));
    }
}

/// Answers `contains` for every key and the block that `block_of` gives, of the number of blocks; there
/// are as many hits as keys.
#[inline(always)]
pub(super) fn contains<Block>(
    blocks: &[Block],
    keys: &[Digest],
    hits: &mut [bool],
    block_of: impl Fn(Digest, usize) -> usize,
    contains: impl Fn(&Block, Digest) -> bool,
) {
    let fetch = |&key: &Digest| fetch(blocks, block_of(key, blocks.len()));
    keys.iter().take(AHEAD).for_each(fetch);
    for (i, (&key, hit)) in keys.iter().zip(hits).enumerate() {
        keys.get(i + AHEAD).into_iter().for_each(fetch);
        *hit = contains(&blocks[block_of(key, blocks.len())], key);
    }
}
