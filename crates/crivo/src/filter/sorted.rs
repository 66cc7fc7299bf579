//! What keys mark, sorted by ranges of a table.

#![allow(unsafe_code)] // Memory for marks that is not cleared before they are written.

use std::mem::MaybeUninit;

use super::batch::LINE_BYTES;
use crate::Digest;
use crivo_core::memory;

/// So few that the next place of each stays in the cache.
pub(super) const MAX_RANGES: usize = 1 << 10;

/// Marks are sorted until a range may have no room for about so many.
const MARKS_PER_STEP: usize = 64;

/// A range of a thread has at least so many marks, in the mean: then it needs hardly more room than for the mean, by
/// three tenths at most (two fifths, where a key has so many marks that they do not lie in a step).
const MIN_MEAN: usize = if cfg!(test) { 1 } else { 1 << 10 };

/// On how many threads, of these at most, and by how many ranges at most so many marks are sorted.
pub(super) fn limits(marks: usize, threads: usize) -> (usize, usize) {
    // There should be a range for each thread.
    let threads = threads.min((marks / MIN_MEAN).isqrt()).max(1);
    (threads, (marks / threads / MIN_MEAN).clamp(1, MAX_RANGES))
}

/// Which marks a key makes, and in which ranges.
pub(super) trait Sorting {
    type Mark: Copy;

    /// The most marks that a key makes.
    fn most_marks(&self) -> usize;

    /// Gives each mark of a key to `put`, with the number of its range.
    fn marks(&self, key: Digest, put: impl FnMut(usize, Self::Mark));
}

/// Marks by ranges.
pub(super) struct Sorted<M> {
    /// For each range as much room as for any other. The thread that will write there touches it first.
    marks: Vec<MaybeUninit<M>>,
    /// Where the marks of each range end: at its first place, and up to its end, marks were written.
    ends: Vec<usize>,
    room: usize,
    /// A round ends where there may be no room for the marks of so many items.
    min_step: usize,
}

impl<M: Copy> Sorted<M> {
    /// Room for at least `room` marks of each range; `None` if there is no memory for it.
    ///
    /// # Panics
    /// If there are more than [`MAX_RANGES`].
    pub(super) fn new(
        ranges: usize,
        room: usize,
        sorting: &impl Sorting<Mark = M>,
    ) -> Option<Self> {
        assert!(ranges <= MAX_RANGES);
        let most_marks = sorting.most_marks();
        let min_step = (MARKS_PER_STEP / most_marks).max(1);
        let room = room.checked_add(min_step * most_marks)?;
        // An odd number of cache lines: else the next places of many ranges would fall on the same few sets of
        // a cache, and drive each other out.
        let per_line = LINE_BYTES / size_of::<M>();
        let room = (room.div_ceil(per_line) | 1) * per_line;
        let length = ranges.checked_mul(room)?;
        let mut marks: Vec<MaybeUninit<M>> = memory::reserved(length)?;
        // SAFETY: there is room for so many, and any memory is what may not have been written.
        unsafe { marks.set_len(length) };
        let ends = memory::collected((0..ranges).map(|range| range * room)).ok()?;
        Some(Self { marks, ends, room, min_step })
    }

    /// Sorts the marks of the first items, until there may be no room for those of others; returns the
    /// items that are left.
    pub(super) fn fill<'a, T>(
        &mut self,
        mut items: &'a [T],
        digest_of: &impl Fn(&T) -> Digest,
        sorting: &impl Sorting<Mark = M>,
    ) -> &'a [T] {
        let marks = &mut self.marks[..];
        // On this thread's stack: lists of two threads may lie in the same cache line. A range that is not
        // there would be a panic.
        let mut ends = [usize::MAX; MAX_RANGES];
        let ranges = self.ends.len();
        for (range, end) in ends[..ranges].iter_mut().enumerate() {
            *end = range * self.room;
        }
        loop {
            // All marks of these items might lie in the fullest range.
            let used =
                ends[..ranges].iter().enumerate().map(|(range, end)| end - range * self.room);
            let step = (self.room - used.max().unwrap_or(0)) / sorting.most_marks();
            if items.is_empty() || step < self.min_step {
                break;
            }
            let (now, later) = items.split_at(step.min(items.len()));
            for item in now {
                sorting.marks(digest_of(item), |range, mark| {
                    let end = &mut ends[range % MAX_RANGES];
                    marks[*end].write(mark);
                    *end += 1;
                });
            }
            items = later;
        }
        self.ends.copy_from_slice(&ends[..ranges]);
        items
    }

    /// The most marks that a range may have.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// The marks of a range, in the order of their items.
    pub(super) fn of_range(&self, range: usize) -> &[M] {
        let marks = &self.marks[range * self.room..self.ends[range]];
        // SAFETY: the marks of a range were written from its first place to its end, one after the other, and
        // what may not have been written has the layout of what was.
        unsafe { std::slice::from_raw_parts(marks.as_ptr().cast(), marks.len()) }
    }
}
