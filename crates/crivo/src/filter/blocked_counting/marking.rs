//! A key marks its block.

use super::{BlockedCounting, LINE_WORDS, TWO_LINES, block, dispatch};
use crate::Digest;
use crate::filter::batch;
use crate::filter::blocked::line_of;
use crate::filter::packed_counters::{CounterWidth, Step};
use crate::filter::ranges::{Marked, Marking};
use crate::simd::Level;
use crivo_core::memory::Cache;

#[derive(Clone, Copy)]
pub(in crate::filter) struct CounterBlockMarking {
    blocks: usize,
    block_words: usize,
    probes: u32,
    width: CounterWidth,
    level: Level,
}

impl Marked for BlockedCounting {
    type Marking = CounterBlockMarking;
    // Counters are united one by one.
    const SHARED_BYTES: usize = 0;

    fn marking(&mut self) -> (CounterBlockMarking, &mut [u64]) {
        let Self { probes, width, level, .. } = *self;
        let block_words = self.block_words();
        let blocks = self.words.len() / block_words;
        let marking = CounterBlockMarking { blocks, block_words, probes, width, level };
        (marking, self.words.to_mut())
    }

    fn add_key_count(&mut self, keys: u64) {
        self.key_count = self.key_count.saturating_add(keys);
    }
}

impl CounterBlockMarking {
    #[inline(always)]
    fn each_block<const WORDS: usize>(
        &self,
        marks: &[u64],
        first: usize,
        words: &mut [u64],
        raise: impl Fn(&mut [u64; WORDS], Digest),
    ) {
        let blocks: &mut [[u64; WORDS]] = words.as_chunks_mut().0;
        for key in marks.iter().map(|&mark| Digest::new(mark)) {
            raise(&mut blocks[line_of(key, self.blocks) - first / WORDS], key);
        }
    }
}

impl Marking for CounterBlockMarking {
    /// A digest.
    type Mark = u64;
    const QUICK_PASSES: bool = false;

    fn most_marks(&self) -> usize {
        1
    }

    #[inline(always)]
    fn marks(&self, key: Digest, range_bits: u32, mut put: impl FnMut(usize, u64)) {
        put((line_of(key, self.blocks) * self.block_words) >> range_bits, key.get());
    }

    fn make(&self, marks: &[u64], first: usize, words: &mut [u64]) {
        let Self { probes, level, .. } = *self;
        match self.width {
            CounterWidth::Four => {
                self.each_block::<LINE_WORDS>(marks, first, words, |line, key| {
                    dispatch::step(level, line, key, probes, Step::Up);
                });
            }
            CounterWidth::Eight => {
                self.each_block::<TWO_LINES>(marks, first, words, |block, key| {
                    block::step(block, key, probes, Step::Up);
                });
            }
        }
    }

    #[inline(always)]
    fn fetch(&self, mark: u64, first: usize, words: &[u64]) {
        let place = line_of(Digest::new(mark), self.blocks) - first / self.block_words;
        match self.width {
            CounterWidth::Four => {
                batch::fetch(words.as_chunks::<LINE_WORDS>().0, place, Cache::First);
            }
            CounterWidth::Eight => {
                batch::fetch(words.as_chunks::<TWO_LINES>().0, place, Cache::First);
            }
        }
    }
}
