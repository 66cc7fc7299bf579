//! The memory of a filter: words that it owns, or that a file lends it.

#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::BuildError;
use crate::memory::{Cache, prefetch, zeroed};

/// A cache line of words; what alignment is counted in.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u64; WORDS_PER_LINE]);

const WORDS_PER_LINE: usize = 8;

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
    /// `start` is the first line of this vector, through which alone it is changed.
    Lines(Vec<Line>),
    /// `start` lies in memory that this keeps alive and unchanged.
    Lent(Arc<dyn Any + Send + Sync>),
}

// SAFETY: `start` points into `owner`, which is `Send` and `Sync`; `&Words` only reads.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `length` words, all 0, on huge pages if they are many.
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
        Ok(Self::of_lines(zeroed(length.div_ceil(WORDS_PER_LINE))?, length))
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

    fn of_lines(mut lines: Vec<Line>, length: usize) -> Self {
        debug_assert!(lines.len() * WORDS_PER_LINE >= length);
        // The pointer must be one that may write: `to_mut` gives it away.
        Self { start: lines.as_mut_ptr().cast(), length, owner: Owner::Lines(lines) }
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
        start.addr().is_multiple_of(align_of::<Line>()).then_some(())?;
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
        if whole.is_lent() && start.addr().is_multiple_of(align_of::<Line>()) {
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
        // SAFETY: the words are owned: `start` comes from a mutable borrow of the lines, which
        // hold at least `length` words without gaps, and a reader borrows `self`.
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
            Owner::Lines(lines) => Self::of_lines(lines.clone(), self.length),
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
        for length in [0, 1, 7, 8, 9, 1000] {
            let mut words = Words::zeroed(length).unwrap();
            assert_eq!(words.len(), length);
            assert!(words.as_ptr().addr().is_multiple_of(64));
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
