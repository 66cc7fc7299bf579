//! The array of counters, and the loops over one key's places in it.
//!
//! ```text
//!   contains:  every counter of the key is above 0
//!   least:     the smallest counter of the key
//!   step:      every *different* counter of the key one up (or down), saturated ones excepted
//! ```
//!
//! This is the leaf with the unsafe code: loads and stores without bounds checks. They rest on one
//! invariant, which the constructors establish and nothing changes:
//!
//! > There are words for all `count` counters, and every index comes from [`Indices`], which
//! > answers less than `count`.

#![allow(unsafe_code)]

use crate::filter::packed_counters::{self, CounterWidth, Step, mask};
use crate::hash::Indices;
use crate::{BuildError, Digest};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// Up to this many probes a key's counters are remembered in two registers' worth of bytes.
const USUAL_PROBES: usize = 16;

/// As many as there can be.
const MAX_PROBES: usize = 256;

/// Probes that are looked at before an absent key is given up. Of a filter at its capacity half
/// of the counters are 0, so that seven of eight absent keys end here, and the branch is worth
/// the lines that it saves.
const FIRST_LOOK: u32 = 3;

/// Counters of four or eight bits, packed without gaps from the low end of each word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counters {
    words: Words,
    count: u64,
    probes: u32,
    width: CounterWidth,
}

impl Counters {
    /// How many words hold `count` counters.
    pub(super) fn word_count(count: u64, width: CounterWidth) -> u64 {
        count.div_ceil(u64::from(64 / width.bits()))
    }

    /// The counters in `words`, of which each key has `probes`. `None` if there are no counters,
    /// probes are not from 1 to 255, or the words are not just as many as it takes.
    pub(super) fn new(words: Words, count: u64, probes: u32, width: CounterWidth) -> Option<Self> {
        let fits = words.len() as u64 == Self::word_count(count, width);
        let valid = fits && count > 0 && (1..MAX_PROBES as u32).contains(&probes);
        valid.then_some(Self { words, count, probes, width })
    }

    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.words.to_mut()
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn probes(&self) -> u32 {
        self.probes
    }

    pub(super) fn width(&self) -> CounterWidth {
        self.width
    }

    /// The places of a key. They may repeat.
    #[inline(always)]
    pub(super) fn indexes(&self, key: Digest) -> std::iter::Take<Indices> {
        Indices::new(key, self.count).take(self.probes as usize)
    }

    /// Whether every counter of the key is above 0.
    #[inline(always)]
    pub(super) fn contains(&self, key: Digest) -> bool {
        match self.width {
            CounterWidth::Four => self.contains_in::<4>(key),
            CounterWidth::Eight => self.contains_in::<8>(key),
        }
    }

    /// The smallest counter of the key.
    #[inline(always)]
    pub(super) fn least(&self, key: Digest) -> u8 {
        match self.width {
            CounterWidth::Four => self.least_in::<4>(key),
            CounterWidth::Eight => self.least_in::<8>(key),
        }
    }

    /// Moves every different counter of the key, unless it is saturated. Downwards only when
    /// [`contains`](Self::contains) holds.
    #[inline(always)]
    pub(super) fn step(&mut self, key: Digest, step: Step) {
        let usual = self.probes as usize <= USUAL_PROBES;
        match (self.width, usual) {
            (CounterWidth::Four, true) => self.step_in::<4, USUAL_PROBES>(key, step),
            (CounterWidth::Eight, true) => self.step_in::<8, USUAL_PROBES>(key, step),
            (CounterWidth::Four, false) => self.step_in::<4, MAX_PROBES>(key, step),
            (CounterWidth::Eight, false) => self.step_in::<8, MAX_PROBES>(key, step),
        }
    }

    /// Asks the processor to fetch all counters of the key.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: Digest, cache: Cache) {
        let per_word = u64::from(64 / self.width.bits());
        for index in self.indexes(key) {
            self.words.prefetch((index / per_word) as usize, cache);
        }
    }

    #[inline(always)]
    fn contains_in<const BITS: u32>(&self, key: Digest) -> bool {
        let mut indexes = Indices::new(key, self.count);
        let mut none_is_zero = |probes: u32| {
            let mut below_one = 0u64;
            for index in indexes.by_ref().take(probes as usize) {
                // SAFETY: `Indices` answers less than `count`.
                let value = unsafe { self.get_unchecked::<BITS>(index) };
                // Only 0 borrows, up to the highest bit.
                below_one |= value.wrapping_sub(1);
            }
            below_one >> 63 == 0
        };
        let first = self.probes.min(FIRST_LOOK);
        none_is_zero(first) && none_is_zero(self.probes - first)
    }

    #[inline(always)]
    fn least_in<const BITS: u32>(&self, key: Digest) -> u8 {
        let mut least = u64::from(u8::MAX);
        for index in self.indexes(key) {
            // SAFETY: `Indices` answers less than `count`.
            least = least.min(unsafe { self.get_unchecked::<BITS>(index) });
        }
        least as u8
    }

    /// Reads all counters before it writes the first: two places that coincide see the same old
    /// value and write the same new one, so that the counter moves once.
    #[inline(always)]
    fn step_in<const BITS: u32, const ROOM: usize>(&mut self, key: Digest, step: Step) {
        let mut new = [0u8; ROOM];
        for (new, index) in new.iter_mut().zip(self.indexes(key)) {
            // SAFETY: `Indices` answers less than `count`.
            let old = unsafe { self.get_unchecked::<BITS>(index) };
            let moves = u64::from(old != mask::<BITS>());
            let value = match step {
                Step::Up => old + moves,
                Step::Down => old - moves,
            };
            *new = value as u8;
        }
        let indexes = self.indexes(key);
        let words = self.words.to_mut();
        for (new, index) in new.iter().zip(indexes) {
            let (word, shift) = place::<BITS>(index);
            debug_assert!(word < words.len());
            // SAFETY: `Indices` answers less than `count`, and there are words for that many.
            let word = unsafe { words.get_unchecked_mut(word) };
            *word = (*word & !(mask::<BITS>() << shift)) | (u64::from(*new) << shift);
        }
    }

    /// The counter at `index`.
    ///
    /// # Safety
    /// `index` is below `count`.
    #[inline(always)]
    unsafe fn get_unchecked<const BITS: u32>(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let (word, shift) = place::<BITS>(index);
        // SAFETY: there are words for `count` counters.
        (unsafe { self.words.get_unchecked(word) } >> shift) & mask::<BITS>()
    }

    /// Every counter, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = u8> {
        packed_counters::values(&self.words, self.width).take(self.count as usize)
    }

    /// Adds the counters of `other` one by one; a sum that is too large saturates. Both have the
    /// same dimensions.
    ///
    /// # Errors
    /// If they are a mapped file's, and there is no memory for a copy.
    pub(super) fn add(&mut self, other: &Self) -> Result<(), BuildError> {
        debug_assert_eq!((self.count, self.width), (other.count, other.width));
        packed_counters::add(self.words.try_to_mut()?, &other.words, self.width);
        Ok(())
    }

    /// Sets every counter to 0.
    pub(super) fn clear(&mut self) {
        self.words.to_mut().fill(0);
    }
}

/// The word of a counter, and the bit where it begins.
#[inline(always)]
const fn place<const BITS: u32>(index: u64) -> (usize, u32) {
    let per_word = (64 / BITS) as u64;
    ((index / per_word) as usize, (index % per_word) as u32 * BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_fit_are_refused() {
        let words = |length| Words::zeroed(length).unwrap();
        let four = CounterWidth::Four;
        assert!(Counters::new(words(2), 17, 7, four).is_some());
        assert!(Counters::new(words(2), 16, 7, four).is_none());
        assert!(Counters::new(words(2), 33, 7, four).is_none());
        assert!(Counters::new(words(0), 0, 7, four).is_none());
        assert!(Counters::new(words(2), 17, 0, four).is_none());
        assert!(Counters::new(words(2), 17, 255, four).is_some());
        assert!(Counters::new(words(2), 17, 256, four).is_none());
        assert!(Counters::new(words(2), 9, 7, CounterWidth::Eight).is_some());
    }
}
