//! A key marks its line.

use super::line::{LINE_WORDS, Line, line_of};
use super::{Blocked, dispatch};
use crate::Digest;
use crate::filter::batch;
use crate::filter::ranges::{BYTES_IN_CACHE, Marked, Marking};
use crate::simd::Level;
use crivo_core::memory::Cache;

#[derive(Clone, Copy)]
pub(in crate::filter) struct LineMarking {
    lines: usize,
    probes: u32,
    level: Level,
}

impl Marked for Blocked {
    type Marking = LineMarking;
    const SHARED_BYTES: usize = BYTES_IN_CACHE;

    fn marking(&mut self) -> (LineMarking, &mut [u64]) {
        let Self { probes, level, .. } = *self;
        (LineMarking { lines: self.lines().len(), probes, level }, self.words.to_mut())
    }

    fn add_key_count(&mut self, keys: u64) {
        self.key_count = self.key_count.saturating_add(keys);
    }
}

impl Marking for LineMarking {
    type Mark = Digest;
    const QUICK_PASSES: bool = true;

    fn takes_long(&self) -> bool {
        self.probes > 7
    }

    fn most_marks(&self) -> usize {
        1
    }

    #[inline(always)]
    fn marks(&self, key: Digest, range_bits: u32, mut put: impl FnMut(usize, Digest)) {
        put((line_of(key, self.lines) * LINE_WORDS) >> range_bits, key);
    }

    fn make(&self, marks: &[Digest], first: usize, words: &mut [u64]) {
        let first = first / LINE_WORDS;
        let lines: &mut [Line] = words.as_chunks_mut().0;
        let place_of = |key| line_of(key, self.lines) - first;
        for &key in marks {
            dispatch::insert(self.level, &mut lines[place_of(key)], key, self.probes);
        }
    }

    #[inline(always)]
    fn fetch(&self, key: Digest, first: usize, words: &[u64]) {
        let lines: &[Line] = words.as_chunks().0;
        batch::fetch(lines, line_of(key, self.lines) - first / LINE_WORDS, Cache::First);
    }
}
