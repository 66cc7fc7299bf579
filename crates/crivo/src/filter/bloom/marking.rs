//! A key marks k bits.

use super::{Bloom, Probes};
use crate::Digest;
use crate::filter::batch;
use crate::filter::ranges::{BYTES_IN_CACHE, Marked, Marking};
use crivo_core::memory::Cache;

#[derive(Clone, Copy)]
pub(in crate::filter) struct BitMarking {
    word_count: usize,
    probes: u32,
}

impl Marked for Bloom {
    type Marking = BitMarking;
    /// To sort many marks takes longer than to set bits whose memory is fetched ahead.
    const SHARED_BYTES: usize = 3 * BYTES_IN_CACHE;

    fn marking(&mut self) -> (BitMarking, &mut [u64]) {
        let probes = self.probes;
        let words = self.table.words_mut();
        (BitMarking { word_count: words.len(), probes }, words)
    }

    fn add_key_count(&mut self, keys: u64) {
        self.key_count = self.key_count.saturating_add(keys);
    }
}

impl Marking for BitMarking {
    /// A bit of the range.
    type Mark = u32;
    const QUICK_PASSES: bool = false;

    fn most_marks(&self) -> usize {
        self.probes as usize
    }

    #[inline(always)]
    fn marks(&self, key: Digest, range_bits: u32, mut put: impl FnMut(usize, u32)) {
        let mut key = Probes::new(key);
        let in_range = (1 << range_bits) - 1;
        for _ in 0..self.probes {
            let (word, position) = key.next(self.word_count);
            put(word >> range_bits, ((word & in_range) << 6) as u32 | (position & 63) as u32);
        }
    }

    fn make(&self, marks: &[u32], _: usize, words: &mut [u64]) {
        for mark in marks {
            words[(mark >> 6) as usize] |= 1 << (mark & 63);
        }
    }

    #[inline(always)]
    fn fetch(&self, mark: u32, _: usize, words: &[u64]) {
        batch::fetch(words, (mark >> 6) as usize, Cache::First);
    }
}
