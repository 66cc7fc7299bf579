//! The bit table, and the k positions of a key in it.
//!
//! What it does, before any thought of speed:
//!
//! ```text
//!   for each of the first k points of the digest (see `hash::Indices`):
//!       word = ⌊point · words / 2^64⌋                    the high bits choose the word,
//!       bit  = point mod 64                              the low bits choose the bit in it
//!       … set it, or look at it …
//! ```
//!
//! *Why no branch.* Half of the bits of a full filter are set, hence a query that stops at the
//! first clear bit ends at a place that no processor can predict, and a wrong guess costs more
//! than all of the probes. Where the table lies in the processor's own caches, a query therefore
//! looks at all k bits. In larger tables each probe may wait for main memory, and there it stops
//! once, after the third: seven of eight absent keys are rejected by then.

#![allow(unsafe_code)]

use crate::hash::{Points, reduce};
use crate::{BuildError, Digest};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// Up to this many words (2 MiB) a table is taken to lie in a cache of the core.
const CACHED_WORDS: usize = 1 << 18;

/// After how many probes a query of a larger table stops if it can.
const FIRST_PROBES: u32 = 3;

/// How many keys a batch fetches ahead.
const KEYS_AHEAD: usize = 32;

/// The endless sequence of a key's positions.
#[derive(Clone, Copy)]
pub(in crate::filter) struct Probes(Points);

impl Probes {
    #[inline(always)]
    pub(in crate::filter) fn new(key: Digest) -> Self {
        Self(Points::new(key))
    }

    /// The next word, below `word_count` unless that is 0, and a number whose low six bits are the
    /// bit in it.
    #[inline(always)]
    pub(in crate::filter) fn next(&mut self, word_count: usize) -> (usize, u64) {
        let point = self.0.advance();
        (reduce(point, word_count as u64) as usize, point)
    }
}

/// The mask of the bit that the low six bits of `position` name.
#[inline(always)]
pub(in crate::filter) fn bit(position: u64) -> u64 {
    1 << (position & 63)
}

/// At least one word of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitTable {
    /// Never empty: what every unchecked access below rests on.
    words: Words,
}

impl BitTable {
    /// `bits` bits, rounded up to whole words, all clear.
    pub(super) fn zeroed(bits: u64) -> Result<Self, BuildError> {
        // A length beyond the address space is more than any allocator has.
        let word_count = usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX);
        Ok(Self { words: Words::zeroed(word_count.max(1))? })
    }

    /// The table that these words are; `None` without words.
    pub(super) fn from_words(words: Words) -> Option<Self> {
        (!words.is_empty()).then_some(Self { words })
    }

    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    pub(super) fn into_words(self) -> Words {
        self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.words.to_mut()
    }

    /// The words, to be changed.
    ///
    /// # Errors
    /// If they are a mapped file's, and there is no memory for a copy.
    pub(super) fn try_words_mut(&mut self) -> Result<&mut [u64], BuildError> {
        self.words.try_to_mut()
    }

    /// Whether `probes` further bits of a key are all set. Every one of them is looked at.
    #[inline(always)]
    fn all_set(&self, key: &mut Probes, probes: u32) -> bool {
        let mut all = 1;
        for _ in 0..probes {
            let (word, position) = key.next(self.words.len());
            // SAFETY: `reduce` answers less than the number of words, which is not 0.
            let word = unsafe { self.words.get_unchecked(word) };
            // Without the hint this becomes a chain of branches, or of shifts by a variable.
            all = std::hint::select_unpredictable(word & bit(position) != 0, all, 0);
        }
        all != 0
    }

    /// Whether the first `probes` bits of `key` are all set.
    #[inline(always)]
    pub(super) fn contains(&self, key: Digest, probes: u32) -> bool {
        let mut key = Probes::new(key);
        if self.words.len() <= CACHED_WORDS {
            return self.all_set(&mut key, probes);
        }
        let first = probes.min(FIRST_PROBES);
        self.all_set(&mut key, first) && self.all_set(&mut key, probes - first)
    }

    /// `contains` for many keys. In a table beyond the caches the loads of many keys are under way
    /// at the same time, in two rounds: the second is only for keys that survive the first.
    pub(super) fn contains_batch(&self, keys: &[Digest], probes: u32, hits: &mut [bool]) {
        if self.words.len() <= CACHED_WORDS {
            for (key, hit) in keys.iter().zip(hits) {
                *hit = self.contains(*key, probes);
            }
            return;
        }
        let first = probes.min(FIRST_PROBES);
        for (keys, hits) in keys.chunks(KEYS_AHEAD).zip(hits.chunks_mut(KEYS_AHEAD)) {
            let mut after_first = [Probes::new(Digest::new(0)); KEYS_AHEAD];
            for key in keys {
                self.prefetch(Probes::new(*key), first, Cache::Second);
            }
            for ((key, hit), after) in keys.iter().zip(&mut *hits).zip(&mut after_first) {
                let mut key = Probes::new(*key);
                *hit = self.all_set(&mut key, first);
                *after = key;
                if *hit {
                    self.prefetch(key, probes - first, Cache::Second);
                }
            }
            for (hit, key) in hits.iter_mut().zip(&mut after_first) {
                *hit = *hit && self.all_set(key, probes - first);
            }
        }
    }

    /// Fetches the words of a key.
    #[inline(always)]
    pub(super) fn prefetch(&self, mut key: Probes, probes: u32, cache: Cache) {
        for _ in 0..probes {
            self.words.prefetch(key.next(self.words.len()).0, cache);
        }
    }

    /// Sets the first `probes` bits of `key`.
    #[inline(always)]
    pub(super) fn insert(&mut self, key: Digest, probes: u32) {
        // SAFETY: a table has words.
        unsafe { set_bits(self.words.to_mut(), key, probes) };
    }

    /// `insert` for many keys; answers how many there were. The table's address and size stay in
    /// registers, which saves a tenth of the time.
    #[inline]
    pub(super) fn insert_all(&mut self, keys: impl Iterator<Item = Digest>, probes: u32) -> u64 {
        let words = self.words.to_mut();
        let mut count = 0;
        for key in keys {
            // SAFETY: a table has words.
            unsafe { set_bits(words, key, probes) };
            count += 1;
        }
        count
    }

    /// How many bits are set.
    pub(super) fn count_set_bits(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Sets the first `probes` bits of `key`.
///
/// # Safety
/// There is a word at least.
#[inline(always)]
unsafe fn set_bits(words: &mut [u64], key: Digest, probes: u32) {
    let mut key = Probes::new(key);
    for _ in 0..probes {
        let (word, position) = key.next(words.len());
        debug_assert!(word < words.len());
        // SAFETY: `reduce` answers less than the number of words, which is not 0.
        let word = unsafe { words.get_unchecked_mut(word) };
        *word |= bit(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;

    #[test]
    fn positions_are_what_the_pseudocode_says() {
        let digest = KeyHasher::default().digest("ana");
        for word_count in [1usize, 3, 1_000, usize::MAX >> 24] {
            let mut probes = Probes::new(digest);
            let mut position = digest.get();
            for _ in 0..255 {
                let word = (u128::from(position) * word_count as u128) >> 64;
                let (found, low_bits) = probes.next(word_count);
                assert_eq!((found as u128, low_bits % 64), (word, position % 64));
                assert!(found < word_count);
                position = position
                    .rotate_left(39)
                    .wrapping_add(digest.get().wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn every_path_gives_the_same_answers() {
        // Half of the bits set, as in a full filter, in a table just within the caches and one
        // just beyond.
        for word_count in [CACHED_WORDS, CACHED_WORDS + 1] {
            let mut table = BitTable::zeroed(64 * word_count as u64).unwrap();
            for (i, word) in (0u64..).zip(table.words_mut()) {
                *word = Digest::new(i).remix().get();
            }
            let hasher = KeyHasher::default();
            let keys: Vec<Digest> = (0..1_000u64).map(|key| hasher.digest(&key)).collect();
            for probes in [1, 2, 3, 4, 7] {
                let plain = |key: &Digest| {
                    let mut key = Probes::new(*key);
                    (0..probes).all(|_| {
                        let (word, position) = key.next(word_count);
                        table.words()[word] & bit(position) != 0
                    })
                };
                let expected: Vec<bool> = keys.iter().map(plain).collect();
                let single: Vec<bool> =
                    keys.iter().map(|key| table.contains(*key, probes)).collect();
                let mut batch = vec![false; keys.len()];
                table.contains_batch(&keys, probes, &mut batch);
                assert_eq!(single, expected);
                assert_eq!(batch, expected);
                assert!(expected.contains(&true) && expected.contains(&false));
            }
        }
    }

    #[test]
    fn a_table_has_a_word_at_least() {
        assert_eq!(BitTable::zeroed(0).unwrap().words().len(), 1);
        assert!(BitTable::from_words(Words::zeroed(0).unwrap()).is_none());
    }
}
