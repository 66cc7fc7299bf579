//! Setting and asking the bits of a key in words that threads share.
//!
//! Over any kind of word, so that the very same code runs in programs and under a model checker,
//! which tries every order in which threads can come.

use std::sync::atomic::{AtomicU64, Ordering};

use super::shareable::Places;
use crate::Digest;

/// A word that threads share.
pub(super) trait SharedWord {
    /// Sets these bits, and leaves the others as they are. Returns the bits as they were before.
    fn set_bits(&self, bits: u64) -> u64;

    /// The bits of now, or of a moment ago.
    fn bits(&self) -> u64;
}

macro_rules! shared_word {
    ($atomic:ty) => {
        impl $crate::filter::atomic::probe::SharedWord for $atomic {
            #[inline(always)]
            fn set_bits(&self, bits: u64) -> u64 {
                self.fetch_or(bits, Ordering::Relaxed)
            }

            #[inline(always)]
            fn bits(&self) -> u64 {
                self.load(Ordering::Relaxed)
            }
        }
    };
}

#[cfg(all(test, target_pointer_width = "64", not(miri)))]
pub(super) use shared_word;

shared_word!(AtomicU64);

/// Sets the bits of a key, and tells whether one of them was clear.
///
/// Where nobody uses the answer, the bits are set by instructions that do not fetch the old ones.
#[inline(always)]
pub(super) fn set<F: Places>(words: &[impl SharedWord], probes: u32, key: Digest) -> bool {
    let mut is_new = false;
    F::each_place(key, probes, words.len(), |word, bit| {
        is_new |= words[word].set_bits(bit) & bit == 0;
    });
    is_new
}

/// Whether all bits of a key are set.
#[inline(always)]
pub(super) fn contains<F: Places>(words: &[impl SharedWord], probes: u32, key: Digest) -> bool {
    let mut all = true;
    F::each_place(key, probes, words.len(), |word, bit| all &= words[word].bits() & bit != 0);
    all
}

/// Sets the bits of other words, one word after another.
pub(super) fn unite<W: SharedWord>(words: &[W], others: &[W]) {
    for (word, other) in words.iter().zip(others) {
        word.set_bits(other.bits());
    }
}

/// Copies the words, one after another.
pub(super) fn copy(words: &[impl SharedWord], copy: &mut [u64]) {
    for (copy, word) in copy.iter_mut().zip(words) {
        *copy = word.bits();
    }
}
