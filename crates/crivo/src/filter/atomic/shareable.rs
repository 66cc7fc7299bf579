//! Which filters threads can fill together.

use crate::filter::blocked::{LINE_WORDS, each_place, line_of};
use crate::filter::bloom::{self, Probes};
use crate::filter::{Blocked, BlockedSpec, Bloom, BloomSpec, DynamicFilter, FilterSpec};
use crate::persist::{Metadata, Persist};
use crate::{Digest, KeyHasher};
use crivo_core::Words;

/// A filter of which an [`AtomicFilter`](super::AtomicFilter) can be made: [`Bloom`] or [`Blocked`].
///
/// Nothing else implements it.
///
/// ```
/// use crivo::filter::{AtomicFilter, Blocked, Bloom, Shareable};
///
/// fn shared<F: Shareable>(filter: F) -> AtomicFilter<F> {
///     filter.into()
/// }
///
/// let (bloom, blocked) = (shared(Bloom::new(100, 0.01)?), shared(Blocked::new(100, 0.01)?));
/// assert!(bloom.insert("ana") && blocked.insert("ana"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[expect(private_bounds, reason = "what is private here keeps others from implementing it")]
pub trait Shareable: DynamicFilter + Persist + Sealed {
    /// The specification of the filter.
    type Spec: FilterSpec<Filter = Self>;
}

impl Shareable for Bloom {
    type Spec = BloomSpec;
}

impl Shareable for Blocked {
    type Spec = BlockedSpec;
}

/// Where the bits of a key are.
pub(super) trait Places {
    /// Visits the k bits of a key: the word, below `word_count`, and the bit in it as a mask.
    fn each_place(key: Digest, probes: u32, word_count: usize, visit: impl FnMut(usize, u64));

    /// Visits a word of each cache line that the bits of a key are in.
    fn each_line(key: Digest, probes: u32, word_count: usize, visit: impl FnMut(usize));
}

/// What the filter of many threads must know of that of one.
pub(super) trait Sealed: Sized + Places {
    /// The name of the filter of many threads.
    const ATOMIC_NAME: &'static str;

    /// The filter without its words, and its words.
    fn into_words(self) -> (Shape, Words);

    /// The filter that was taken apart with `into_words`, and whose words may have changed.
    fn from_words(shape: Shape, words: Words) -> Self;

    /// How many words a block has, of a table of that many. All bits of a key are in one block.
    fn block_words(word_count: usize) -> usize;

    /// The FPR that theory gives for that many keys.
    fn fpr_at(word_count: u64, probes: u32, capacity: u64, key_count: u64) -> f64;
}

/// All of a filter but its words.
pub(in crate::filter) struct Shape {
    pub(in crate::filter) probes: u32,
    pub(in crate::filter) key_count: u64,
    pub(in crate::filter) capacity: u64,
    pub(in crate::filter) hasher: KeyHasher,
    pub(in crate::filter) metadata: Metadata,
}

impl Places for Bloom {
    #[inline(always)]
    fn each_place(key: Digest, probes: u32, word_count: usize, mut visit: impl FnMut(usize, u64)) {
        let mut key = Probes::new(key);
        for _ in 0..probes {
            let (word, position) = key.next(word_count);
            visit(word, bloom::bit(position));
        }
    }

    #[inline(always)]
    fn each_line(key: Digest, probes: u32, word_count: usize, mut visit: impl FnMut(usize)) {
        Self::each_place(key, probes, word_count, |word, _| visit(word));
    }
}

impl Sealed for Bloom {
    const ATOMIC_NAME: &'static str = "AtomicBloom";

    fn into_words(self) -> (Shape, Words) {
        self.into_words()
    }

    fn from_words(shape: Shape, words: Words) -> Self {
        Self::from_words(shape, words)
    }

    fn block_words(word_count: usize) -> usize {
        word_count
    }

    fn fpr_at(word_count: u64, probes: u32, capacity: u64, key_count: u64) -> f64 {
        BloomSpec { word_count, probes, capacity }.fpr_at(key_count)
    }
}

impl Places for Blocked {
    #[inline(always)]
    fn each_place(key: Digest, probes: u32, word_count: usize, mut visit: impl FnMut(usize, u64)) {
        let start = LINE_WORDS * line_of(key, word_count / LINE_WORDS);
        each_place(key, probes, |word, bit| visit(start + word, bit));
    }

    #[inline(always)]
    fn each_line(key: Digest, _: u32, word_count: usize, mut visit: impl FnMut(usize)) {
        visit(LINE_WORDS * line_of(key, word_count / LINE_WORDS));
    }
}

impl Sealed for Blocked {
    const ATOMIC_NAME: &'static str = "AtomicBlocked";

    fn into_words(self) -> (Shape, Words) {
        self.into_words()
    }

    fn from_words(shape: Shape, words: Words) -> Self {
        Self::from_words(shape, words)
    }

    fn block_words(_: usize) -> usize {
        LINE_WORDS
    }

    fn fpr_at(word_count: u64, probes: u32, capacity: u64, key_count: u64) -> f64 {
        let blocks = word_count / LINE_WORDS as u64;
        BlockedSpec { blocks, probes, capacity }.fpr_at(key_count)
    }
}
