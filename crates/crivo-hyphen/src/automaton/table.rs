//! The automaton's tables: where every letter leads from every state, and what levels it brings.

use super::levels::{Rows, Shape, pack};

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
}

impl Split {
    pub fn new(levels_count: usize) -> Self {
        Self { levels_bits: bits_of(levels_count) }
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
                (self & (((1 as $word) << split.levels_bits) - 1)) as usize
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

/// Cells of one width, row after row, and the levels that they number.
#[derive(Debug, Clone)]
pub(super) struct Table<C, L> {
    pub split: Split,
    pub cells: Vec<C>,
    pub shape: Shape,
    /// One window, or one run of rows, per number.
    pub levels: Vec<L>,
}

/// The tables in the narrowest form that holds them.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// Levels in windows of 64 bits: most languages.
    Small(Table<u32, u64>),
    /// Levels in windows of 128 bits: German, for example.
    Medium(Table<u32, u128>),
    /// More states than half a machine word can number, such as many thousand folded exceptions.
    Large(Table<u64, u128>),
    /// Patterns so long that no window holds their levels.
    Long(Table<u64, Rows>),
}

impl Tables {
    /// `fill` is told how a cell is split, and makes the cells; `max_next` is the greatest number
    /// that a cell must hold besides the levels.
    pub fn new(rows: Vec<Rows>, max_next: usize, fill: &impl Fill) -> Self {
        let shape = Shape::of(&rows);
        let split = Split::new(rows.len());
        let bits = shape.width * shape.gaps;
        if bits > 128 {
            return Self::Long(Table { split, cells: fill.cells(split), shape, levels: rows });
        }
        match (split.fits::<u32>(max_next), bits <= 64) {
            (true, true) => Self::Small(Table {
                split,
                cells: fill.cells(split),
                shape,
                levels: pack(shape, &rows),
            }),
            (true, false) => Self::Medium(Table {
                split,
                cells: fill.cells(split),
                shape,
                levels: pack(shape, &rows),
            }),
            (false, _) => Self::Large(Table {
                split,
                cells: fill.cells(split),
                shape,
                levels: pack(shape, &rows),
            }),
        }
    }

    pub fn size_in_bytes(&self) -> usize {
        fn size<C, L>(table: &Table<C, L>) -> usize {
            size_of_val(table.cells.as_slice()) + size_of_val(table.levels.as_slice())
        }
        match self {
            Self::Small(table) => size(table),
            Self::Medium(table) => size(table),
            Self::Large(table) => size(table),
            Self::Long(table) => size(table) + table.levels.iter().map(Vec::len).sum::<usize>(),
        }
    }
}

/// Makes cells of the width that turns out to do.
pub(super) trait Fill {
    fn cells<C: Cell>(&self, split: Split) -> Vec<C>;
}
