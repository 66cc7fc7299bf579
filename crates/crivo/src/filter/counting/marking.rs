//! A key marks k counters, or fewer where they coincide.

use super::CountingBloom;
use crate::Digest;
use crate::filter::batch;
use crate::filter::packed_counters::{self, CounterWidth};
use crate::filter::ranges::{Marked, Marking};
use crate::hash::Indices;
use crivo_core::memory::Cache;

#[derive(Clone, Copy)]
pub(in crate::filter) struct CounterMarking {
    count: u64,
    probes: u32,
    width: CounterWidth,
}

impl Marked for CountingBloom {
    type Marking = CounterMarking;
    // Counters are united one by one.
    const SHARED_BYTES: usize = 0;

    fn marking(&mut self) -> (CounterMarking, &mut [u64]) {
        let (count, probes, width) = (self.counter_count(), self.probes(), self.width());
        (CounterMarking { count, probes, width }, self.counters.words_mut())
    }

    fn add_key_count(&mut self, keys: u64) {
        self.key_count = self.key_count.saturating_add(keys);
    }
}

impl Marking for CounterMarking {
    /// A counter of the range.
    type Mark = u32;
    const QUICK_PASSES: bool = false;

    fn most_marks(&self) -> usize {
        self.probes as usize
    }

    #[inline(always)]
    fn marks(&self, key: Digest, range_bits: u32, mut put: impl FnMut(usize, u32)) {
        let range_bits = range_bits + (64 / self.width.bits()).trailing_zeros();
        let in_range = (1 << range_bits) - 1;
        let mut indexes = Indices::new(key, self.count);
        for i in 0..self.probes as usize {
            let Some(index) = indexes.next() else { break };
            // Every different counter is raised once.
            let mut is_new = true;
            for earlier in Indices::new(key, self.count).take(i) {
                is_new &= earlier != index;
            }
            if is_new {
                put((index >> range_bits) as usize, (index & in_range) as u32);
            }
        }
    }

    fn make(&self, marks: &[u32], _: usize, words: &mut [u64]) {
        match self.width {
            CounterWidth::Four => packed_counters::raise::<4>(words, marks),
            CounterWidth::Eight => packed_counters::raise::<8>(words, marks),
        }
    }

    #[inline(always)]
    fn fetch(&self, mark: u32, _: usize, words: &[u64]) {
        batch::fetch(words, (mark / (64 / self.width.bits())) as usize, Cache::First);
    }
}
