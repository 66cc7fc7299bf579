//! A key marks its block.

use super::block::{BLOCK_WORDS, Block, block_of};
use super::{SplitBlock, dispatch};
use crate::Digest;
use crate::filter::batch;
use crate::filter::ranges::{BYTES_IN_CACHE, Marked, Marking};
use crate::simd::Level;
use crivo_core::memory::Cache;

#[derive(Clone, Copy)]
pub(in crate::filter) struct BlockMarking {
    blocks: usize,
    level: Level,
}

impl Marked for SplitBlock {
    type Marking = BlockMarking;
    const SHARED_BYTES: usize = BYTES_IN_CACHE;

    fn marking(&mut self) -> (BlockMarking, &mut [u64]) {
        (BlockMarking { blocks: self.table().len(), level: self.level }, self.words.to_mut())
    }

    fn add_key_count(&mut self, keys: u64) {
        self.key_count = self.key_count.saturating_add(keys);
    }
}

impl Marking for BlockMarking {
    type Mark = Digest;
    const QUICK_PASSES: bool = true;

    fn most_marks(&self) -> usize {
        1
    }

    #[inline(always)]
    fn marks(&self, key: Digest, range_bits: u32, mut put: impl FnMut(usize, Digest)) {
        put((block_of(key, self.blocks) * BLOCK_WORDS) >> range_bits, key);
    }

    fn make(&self, marks: &[Digest], first: usize, words: &mut [u64]) {
        let first = first / BLOCK_WORDS;
        let blocks: &mut [Block] = words.as_chunks_mut().0;
        let place_of = |key| block_of(key, self.blocks) - first;
        dispatch::insert_all(self.level, blocks, marks, place_of);
    }

    #[inline(always)]
    fn fetch(&self, key: Digest, first: usize, words: &[u64]) {
        let blocks: &[Block] = words.as_chunks().0;
        batch::fetch(blocks, block_of(key, self.blocks) - first / BLOCK_WORDS, Cache::First);
    }
}
