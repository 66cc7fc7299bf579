//! The memory of a filter: words that it owns, or that a file lends it.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use crate::BuildError;
use crate::memory::{Cache, ask_for_huge_pages, prefetch, zeros};

const LINE_BYTES: usize = 64;
const WORDS_PER_LINE: usize = LINE_BYTES / size_of::<u64>();

const HUGE_PAGE: usize = 1 << 21;

/// Tables of these sizes begin at a huge page. Anywhere else they would have no whole one, or only one of a few;
/// a larger table has most of its own wherever it begins.
const AT_HUGE_PAGE: Range<usize> =
    if cfg!(all(target_os = "linux", not(miri))) { HUGE_PAGE / 2..4 * HUGE_PAGE } else { 0..0 };

/// 64-bit words that begin at a cache line: owned, or borrowed from a mapped file.
///
/// Reading costs the same in both cases. The first change of borrowed words copies them, so that a
/// file is never written through its mapping.
///
/// ```
/// use crivo_core::Words;
///
/// let mut words = Words::zeroed(100)?;
/// words.to_mut()[7] |= 1 << 3;
/// assert_eq!(words[7], 8);
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
pub struct Words {
    /// Always at a multiple of 64 bytes, valid for `length` words as long as `owner` lives.
    start: *const u64,
    length: usize,
    owner: Owner,
}

#[cold]
#[inline(never)]
fn drop_out_of_line(owner: Owner) {
    drop(owner);
}

// A tag of its own is compared in one instruction; in the capacity of a vector it would take two.
#[repr(u8)]
enum Owner {
    /// `start` lies in this vector, which is changed through it alone.
    Own(#[expect(dead_code, reason = "it frees the memory")] Vec<u64>),
    /// `start` is the first word here.
    AtHugePage(#[expect(dead_code, reason = "it frees the memory")] HugePages),
    /// `start` lies in memory that this keeps alive and unchanged.
    Lent(Arc<dyn Any + Send + Sync>),
}

/// Memory of the global allocator, from a huge page on.
struct HugePages {
    start: *mut u64,
    layout: Layout,
}

impl HugePages {
    /// Room for `length` words, at least one, all 0. `None` if there is no memory for them.
    fn zeroed(length: usize) -> Option<Self> {
        let bytes = length.checked_mul(size_of::<u64>())?;
        // A page of which less than half is needed is not taken whole.
        let last = bytes % HUGE_PAGE;
        let room = if last < HUGE_PAGE / 2 { bytes } else { bytes - last + HUGE_PAGE };
        let layout = Layout::from_size_align(room, HUGE_PAGE).ok()?;
        // SAFETY: there is a word.
        let start = unsafe { alloc(layout) }.cast::<u64>();
        if start.is_null() {
            return None;
        }
        let pages = Self { start, layout };
        let memory = start.cast::<MaybeUninit<u8>>();
        // SAFETY: the memory is ours, as large as the layout, and may hold anything.
        ask_for_huge_pages(unsafe { std::slice::from_raw_parts_mut(memory, room) });
        // SAFETY: there is room for the words, and zeros are words.
        unsafe { start.write_bytes(0, length) };
        Some(pages)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout, and nobody else frees it.
        unsafe { dealloc(self.start.cast(), self.layout) };
    }
}

// SAFETY: it owns its memory.
unsafe impl Send for HugePages {}
// SAFETY: nothing can be done with a reference.
unsafe impl Sync for HugePages {}

// SAFETY: `start` points into `owner`, which is `Send` and `Sync`; `&Words` only reads.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `length` words, all 0, on huge pages if they are many: from 1 MiB on, with at most 1 MiB more of memory. From
    /// 8 MiB on, most systems clear pages when they are first needed.
    ///
    /// ```
    /// use crivo_core::Words;
    ///
    /// assert_eq!(Words::zeroed(3)?[..], [0, 0, 0]);
    /// assert!(Words::zeroed(usize::MAX).is_err());
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn zeroed(length: usize) -> Result<Self, BuildError> {
        if AT_HUGE_PAGE.contains(&length.saturating_mul(size_of::<u64>())) {
            // To begin there may take more addresses than there are.
            if let Some(pages) = HugePages::zeroed(length) {
                return Ok(Self { start: pages.start, length, owner: Owner::AtHugePage(pages) });
            }
        }
        // Allocators clear memory that begins at any word without touching it, and at a cache line only by
        // touching it. So there is room to begin later.
        let mut own = zeros(length.saturating_add(WORDS_PER_LINE))?;
        let skipped = own.as_ptr().addr().wrapping_neg() % LINE_BYTES;
        // The pointer must be one that may write: `to_mut` gives it away. Where words are aligned to less than
        // their size, a line need not begin at one of the vector's.
        let start = own.as_mut_ptr().wrapping_byte_add(skipped);
        Ok(Self { start, length, owner: Owner::Own(own) })
    }

    /// A copy of `words`.
    ///
    /// ```
    /// use crivo_core::Words;
    ///
    /// assert_eq!(Words::copied(&[1, 2])?[..], [1, 2]);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn copied(words: &[u64]) -> Result<Self, BuildError> {
        let mut copy = Self::zeroed(words.len())?;
        copy.to_mut().copy_from_slice(words);
        Ok(copy)
    }

    /// Words that lie in the memory of `owner`: `words` is asked for them once.
    ///
    /// `None` if they do not begin at a multiple of 64 bytes.
    ///
    /// # Safety
    /// What `words` answers must stay where it is, unchanged, as long as any clone of `owner` lives,
    /// even if the `Arc` is moved.
    pub unsafe fn lent<T: Any + Send + Sync>(
        owner: Arc<T>,
        words: impl FnOnce(&T) -> &[u64],
    ) -> Option<Self> {
        let slice = words(&owner);
        let (start, length) = (slice.as_ptr(), slice.len());
        start.addr().is_multiple_of(LINE_BYTES).then_some(())?;
        Some(Self { start, length, owner: Owner::Lent(owner) })
    }

    /// Some of the words: borrowed, if they are so themselves and the range begins at a multiple of
    /// 64 bytes, and else copied.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use crivo_core::Words;
    ///
    /// let whole = Arc::new(Words::copied(&[1, 2, 3])?);
    /// assert_eq!(Words::part_of(&whole, 1..3)?[..], [2, 3]);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for a copy.
    ///
    /// # Panics
    /// If the range is not within the words.
    pub fn part_of(whole: &Arc<Self>, range: Range<usize>) -> Result<Self, BuildError> {
        let part = &whole[range];
        let (start, length) = (part.as_ptr(), part.len());
        if whole.is_lent() && start.addr().is_multiple_of(LINE_BYTES) {
            // The part keeps the whole alive, and words with two owners cannot be changed.
            return Ok(Self { start, length, owner: Owner::Lent(Arc::clone(whole) as _) });
        }
        Self::copied(part)
    }

    /// The words, to be changed; borrowed words are copied first.
    ///
    /// Without memory for the copy the program ends, as it does when a `Vec` grows; see
    /// [`try_to_mut`](Self::try_to_mut).
    ///
    /// ```
    /// use crivo_core::Words;
    ///
    /// let mut words = Words::zeroed(2)?;
    /// words.to_mut()[1] = 7;
    /// assert_eq!(words[..], [0, 7]);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    #[inline]
    pub fn to_mut(&mut self) -> &mut [u64] {
        if self.is_lent() {
            // Nobody is told where `self` is, and the length stays, so that a caller's loop can keep them in
            // registers.
            let Self { start, owner, length: _ } = Self::copied_or_end(self);
            self.start = start;
            drop_out_of_line(std::mem::replace(&mut self.owner, owner));
        }
        self.owned()
    }

    /// The words, to be changed; borrowed words are copied first.
    ///
    /// ```
    /// use crivo_core::Words;
    ///
    /// let mut words = Words::zeroed(2)?;
    /// words.try_to_mut()?[1] = 7;
    /// assert_eq!(words[..], [0, 7]);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for the copy.
    pub fn try_to_mut(&mut self) -> Result<&mut [u64], BuildError> {
        if self.is_lent() {
            *self = Self::copied(self)?;
        }
        Ok(self.owned())
    }

    /// The words, which must not be borrowed.
    #[inline(always)]
    fn owned(&mut self) -> &mut [u64] {
        debug_assert!(!self.is_lent());
        // SAFETY: the words are owned: `start` comes from a mutable borrow of the vector, which has room for
        // `length` words behind it, or from the allocator, and a reader borrows `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast_mut(), self.length) }
    }

    #[cold]
    #[inline(never)]
    fn copied_or_end(words: &[u64]) -> Self {
        Self::copied(words).unwrap_or_else(|_| {
            std::alloc::handle_alloc_error(std::alloc::Layout::for_value(words))
        })
    }

    /// Whether the words have another owner.
    ///
    /// ```
    /// use crivo_core::Words;
    ///
    /// assert!(!Words::zeroed(2)?.is_lent());
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    #[inline]
    pub fn is_lent(&self) -> bool {
        matches!(self.owner, Owner::Lent(_))
    }

    /// The word at `index`, which is assumed to exist.
    ///
    /// # Safety
    /// `index` is below the length.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, index: usize) -> u64 {
        debug_assert!(index < self.length);
        // SAFETY: as the caller promises.
        unsafe { *self.start.add(index) }
    }

    /// Asks the processor to fetch the cache line of the word at `index` (any number at all).
    ///
    /// ```
    /// use crivo_core::Words;
    /// use crivo_core::memory::Cache;
    ///
    /// let words = Words::zeroed(2)?;
    /// words.prefetch(1, Cache::First);
    /// words.prefetch(usize::MAX, Cache::Second); // it is only advice
    /// assert_eq!(words[1], 0);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn prefetch(&self, index: usize, cache: Cache) {
        prefetch(self.start.wrapping_add(index), cache);
    }
}

impl std::ops::Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: `start` is valid for `length` words while `owner` lives, which is at least as
        // long as `self`; they do not change while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Clone for Words {
    /// Owned words are copied; borrowed words are borrowed once more.
    fn clone(&self) -> Self {
        match &self.owner {
            Owner::Own(_) | Owner::AtHugePage(_) => Self::copied_or_end(self),
            Owner::Lent(owner) => Self {
                start: self.start,
                length: self.length,
                owner: Owner::Lent(Arc::clone(owner)),
            },
        }
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words {}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.is_lent() { "lent" } else { "owned" };
        write!(f, "{} {whose} words", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_at_a_cache_line_and_are_zero() {
        begin_at_a_cache_line_and_are_zero([0, 1, 7, 8, 9, 1000]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn many_words_begin_at_a_huge_page_and_are_zero() {
        // On both sides of half a huge page, of one and a half, and of four.
        let many = [1 << 17, 3 << 17, 1 << 20];
        begin_at_a_cache_line_and_are_zero(many.into_iter().flat_map(|n| n - 1..=n + 1));
    }

    fn begin_at_a_cache_line_and_are_zero(lengths: impl IntoIterator<Item = usize>) {
        for length in lengths {
            let mut words = Words::zeroed(length).unwrap();
            assert_eq!(words.len(), length);
            assert!(words.as_ptr().addr().is_multiple_of(64));
            let is_at_huge_page = words.as_ptr().addr().is_multiple_of(HUGE_PAGE);
            assert!(is_at_huge_page || !AT_HUGE_PAGE.contains(&(8 * length)), "{length}");
            assert!(words.iter().all(|&word| word == 0));
            words.to_mut().fill(5);
            let copy = words.clone();
            words.to_mut().fill(6);
            assert!(copy.iter().all(|&word| word == 5) && words.iter().all(|&word| word == 6));
        }
    }

    #[test]
    fn lent_words_are_copied_before_they_change() {
        let owner = Arc::new(Words::copied(&[1, 2, 3]).unwrap());
        // SAFETY: the inner words are never changed, and stay where they are when the Arc moves.
        let lent = unsafe { Words::lent(Arc::clone(&owner), |owner| owner) };
        let mut lent = lent.expect("words begin at a cache line");
        assert!(lent.is_lent());
        assert_eq!(*lent, [1, 2, 3]);
        let again = lent.clone();
        lent.to_mut()[0] = 9;
        assert_eq!((*lent).to_vec(), [9, 2, 3]);
        assert_eq!((*again).to_vec(), [1, 2, 3]);
        drop(owner);
        assert_eq!((*again).to_vec(), [1, 2, 3]);
    }

    #[test]
    fn parts_of_lent_words_are_lent_and_others_copied() {
        let owner = Arc::new(Words::copied(&[7; 20]).unwrap());
        // SAFETY: as above.
        let lent = unsafe { Words::lent(Arc::clone(&owner), |owner| owner) };
        let lent = Arc::new(lent.expect("words begin at a cache line"));
        for (whole, range, is_lent) in
            [(&owner, 8..12, false), (&lent, 8..12, true), (&lent, 9..12, false)]
        {
            let part = Words::part_of(whole, range.clone()).unwrap();
            assert_eq!((part.len(), part.is_lent()), (range.len(), is_lent));
            assert!(part.iter().all(|&word| word == 7));
        }
    }

    #[test]
    fn words_that_lie_askew_are_not_lent() {
        let owner = Arc::new(Words::copied(&[1, 2, 3]).unwrap());
        // SAFETY: as above.
        assert!(unsafe { Words::lent(owner, |owner| &owner[1..]) }.is_none());
    }

    #[test]
    fn too_many_words_are_an_error() {
        assert!(matches!(Words::zeroed(usize::MAX / 8), Err(BuildError::OutOfMemory { .. })));
    }
}
