//! The automaton's tables: where every letter leads from every state, and what levels it brings.

use super::alphabet::Class;
use super::levels::{Rows, Shape, Window};

/// Rows begin at multiples of this many cells, so that a cell can tell the next row in fewer bits.
pub(super) const GRANULE: usize = 8;

/// Which levels a letter brings and which row comes next, in one machine word: the number of the
/// levels in the low bits, above it the first cell of the next row in granules.
pub(super) trait Cell: Copy + Default {
    const BITS: u32;
    fn new(split: Split, levels: usize, next: usize) -> Self;
    fn levels(self, split: Split) -> usize;
    fn next(self, split: Split) -> usize;
}

/// How many low bits of a cell tell the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    levels_bits: u32,
    /// As many ones.
    levels_mask: usize,
}

impl Split {
    pub fn new(levels_count: usize) -> Self {
        let levels_bits = bits_of(levels_count);
        Self { levels_bits, levels_mask: (1 << levels_bits) - 1 }
    }

    /// Whether a cell has bits enough for everything up to `next`.
    pub fn fits<C: Cell>(self, next: usize) -> bool {
        self.levels_bits + bits_of(next + 1) <= C::BITS
    }
}

/// The bits of the numbers below `count`.
fn bits_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

macro_rules! cell {
    ($word:ty) => {
        impl Cell for $word {
            const BITS: u32 = <$word>::BITS;

            fn new(split: Split, levels: usize, next: usize) -> Self {
                (next as $word) << split.levels_bits | levels as $word
            }

            #[inline(always)]
            fn levels(self, split: Split) -> usize {
                self as usize & split.levels_mask
            }

            #[inline(always)]
            fn next(self, split: Split) -> usize {
                (self >> split.levels_bits) as usize
            }
        }
    };
}

cell!(u32);
cell!(u64);

/// Cells of one width, row after row, and how they are split.
#[derive(Debug, Clone)]
pub(super) struct Cells<C> {
    pub split: Split,
    pub cells: Vec<C>,
}

impl<C: Cell> Cells<C> {
    /// What a letter leads to.
    #[inline(always)]
    pub fn step(&self, row: usize, class: Class) -> (usize, usize) {
        let cell = self.cells[row * GRANULE + class as usize];
        (cell.levels(self.split), cell.next(self.split))
    }
}

/// The tables in the narrowest form that holds them.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// Every language that comes with the library.
    Narrow(Cells<u32>, Shape, Vec<Window>),
    /// More states than half a machine word can number, such as many thousand folded exceptions.
    Wide(Cells<u64>, Shape, Vec<Window>),
    /// Patterns so long that no window holds their levels.
    Long(Cells<u64>, Vec<Rows>),
}

impl Tables {
    /// `fill` makes the cells of the width that does; `max_next` is the greatest number that a cell
    /// must hold besides the levels.
    pub fn new(rows: Vec<Rows>, max_next: usize, fill: &impl Fill) -> Self {
        let split = Split::new(rows.len());
        let Some(shape) = Shape::of(&rows) else {
            return Self::Long(Cells { split, cells: fill.cells(split) }, rows);
        };
        let windows = rows.iter().map(|rows| shape.window(rows)).collect();
        match split.fits::<u32>(max_next) {
            true => Self::Narrow(Cells { split, cells: fill.cells(split) }, shape, windows),
            false => Self::Wide(Cells { split, cells: fill.cells(split) }, shape, windows),
        }
    }

    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Narrow(cells, _, windows) => {
                size_of_val(cells.cells.as_slice()) + size_of_val(windows.as_slice())
            }
            Self::Wide(cells, _, windows) => {
                size_of_val(cells.cells.as_slice()) + size_of_val(windows.as_slice())
            }
            Self::Long(cells, rows) => {
                let levels: usize = rows.iter().map(|rows| size_of::<Rows>() + rows.len()).sum();
                size_of_val(cells.cells.as_slice()) + levels
            }
        }
    }
}

/// Makes cells of the width that turns out to do.
pub(super) trait Fill {
    fn cells<C: Cell>(&self, split: Split) -> Vec<C>;
}
