//! The words of a filter, shared between threads.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::sync::atomic::AtomicU64;

use super::probe;
use crivo_core::Words;

/// Owned words that many threads read and change, each of them atomically.
///
/// Atomics in the words' own memory, not a vector of atomics beside it: so that a filter becomes
/// atomic, and plain again, without a copy, and keeps its cache lines and huge pages.
pub(super) struct AtomicWords {
    /// The first of `length` words of `words`.
    start: *mut u64,
    length: usize,
    /// Owns the memory, and is not looked at as long as `self` lives.
    words: Words,
}

// SAFETY: what is shared are words that are only accessed as atomics.
unsafe impl Send for AtomicWords {}
// SAFETY: as above.
unsafe impl Sync for AtomicWords {}

impl AtomicWords {
    pub(super) fn new(mut words: Words) -> Self {
        // Words that a file lends are copied here, so that these are our own.
        let slice = words.to_mut();
        Self { start: slice.as_mut_ptr(), length: slice.len(), words }
    }

    pub(super) fn into_words(self) -> Words {
        self.words
    }

    /// A copy of the words, each as it is now or was a moment ago.
    ///
    /// Without memory for the copy the program ends, as it does when a `Vec` is cloned.
    pub(super) fn to_words(&self) -> Words {
        let Ok(mut copy) = Words::zeroed(self.length) else {
            std::alloc::handle_alloc_error(Layout::for_value(self.as_slice()));
        };
        probe::copy(self.as_slice(), copy.to_mut());
        copy
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[AtomicU64] {
        // SAFETY: `start` is valid for reading and writing `length` words as long as `words`
        // lives, which moves with `self` while its memory stays; nothing else accesses that memory
        // while `self` is borrowed; and an `AtomicU64` has the size and alignment of these words,
        // which begin at a cache line.
        unsafe { std::slice::from_raw_parts(self.start.cast::<AtomicU64>(), self.length) }
    }
}
