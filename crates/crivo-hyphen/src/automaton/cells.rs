//! The cells of the automaton's table: where a letter leads from a state, and which levels it adds.

use super::alphabet::Class;

/// Rows begin at multiples of this many cells.
pub(super) const GRANULE: usize = 8;
const GRANULE_BITS: u32 = GRANULE.trailing_zeros();

/// Which row comes next and which levels a letter adds, in one machine word.
///
/// ```text
///   levels, low bits │ first cell of the next row … 000
///                                                   levels, high bits
/// ```
///
/// The next row is on the critical path, so it takes a single *and*. Its lowest bits are zero,
/// because rows begin at multiples of [`GRANULE`], and are used for the levels. A rotation joins the
/// two parts of the levels.
pub(super) trait Cell: Copy + Default {
    const BITS: u32;
    fn new(split: Split, levels: usize, next: usize) -> Self;
    fn levels(self, split: Split) -> usize;
    fn next(self, split: Split) -> usize;
}

/// The layout of the bits of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// The number of low bits that hold the next row.
    next_bits: u32,
    next_mask: u64,
    levels_mask: u64,
}

impl Split {
    /// A layout for next rows up to `max_next` and `levels_count` levels; `None` if the cell has too
    /// few bits.
    pub fn new<C: Cell>(levels_count: usize, max_next: usize) -> Option<Self> {
        // Not fewer than the low bits that the levels use.
        let next_bits = bits_of(max_next + 1).max(GRANULE_BITS + 1);
        let levels_bits = bits_of(levels_count);
        let fits = next_bits < C::BITS && levels_bits + next_bits <= C::BITS + GRANULE_BITS;
        fits.then(|| Self {
            next_bits,
            next_mask: ((1 << next_bits) - 1) & !(GRANULE as u64 - 1),
            levels_mask: u64::MAX >> (u64::BITS - (C::BITS - next_bits + GRANULE_BITS)),
        })
    }
}

/// The number of bits for numbers below `count`.
fn bits_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

macro_rules! cell {
    ($word:ty) => {
        impl Cell for $word {
            const BITS: u32 = <$word>::BITS;

            fn new(split: Split, levels: usize, next: usize) -> Self {
                (levels as $word).rotate_left(split.next_bits) | next as $word
            }

            #[inline(always)]
            fn levels(self, split: Split) -> usize {
                (self.rotate_right(split.next_bits) & split.levels_mask as $word) as usize
            }

            #[inline(always)]
            fn next(self, split: Split) -> usize {
                (self & split.next_mask as $word) as usize
            }
        }
    };
}

cell!(u32);
cell!(u64);

/// Cells of one width, row after row, and their layout.
#[derive(Debug, Clone)]
pub(super) struct Cells<C> {
    pub split: Split,
    pub cells: Vec<C>,
}

impl<C: Cell> Cells<C> {
    /// The levels that a letter adds, and the row that it leads to.
    #[inline(always)]
    pub fn step(&self, row: usize, class: Class) -> (usize, usize) {
        // Indexing by the row last keeps an addition off the critical path.
        let cell = self.cells[class as usize..][row];
        (cell.levels(self.split), cell.next(self.split))
    }

    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.cells.as_slice())
    }
}
