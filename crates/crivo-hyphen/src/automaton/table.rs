//! The automaton's tables: where every letter leads from every state, and what levels it brings.

use super::alphabet::Class;
use super::levels::{Reach, Rows, most_ones};
use super::walk::Machine;

/// Rows begin at multiples of this many cells.
pub(super) const GRANULE: usize = 8;
const GRANULE_BITS: u32 = GRANULE.trailing_zeros();

/// Which row comes next and which levels a letter brings, in one machine word.
///
/// ```text
///   levels, low bits │ first cell of the next row … 000
///                                                   levels, high bits
/// ```
///
/// The next row is what the next letter waits for: one *and* tells it. Its lowest bits are zero,
/// since rows begin at multiples of [`GRANULE`], and lend themselves to the levels. A rotation
/// puts these together.
pub(super) trait Cell: Copy + Default {
    const BITS: u32;
    fn new(split: Split, levels: usize, next: usize) -> Self;
    fn levels(self, split: Split) -> usize;
    fn next(self, split: Split) -> usize;
}

/// Which bits of a cell are which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// Below them are those of the next row.
    next_bits: u32,
    next_mask: u64,
    levels_mask: u64,
}

impl Split {
    /// For cells that tell rows up to `max_next` and one of so many levels; none if they have too
    /// few bits for that.
    pub fn new<C: Cell>(levels_count: usize, max_next: usize) -> Option<Self> {
        // Not fewer than those that the levels borrow.
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

/// The bits of the numbers below `count`.
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

/// Cells of one width, row after row, and how they are split.
#[derive(Debug, Clone)]
pub(super) struct Cells<C> {
    pub split: Split,
    pub cells: Vec<C>,
}

impl<C: Cell> Cells<C> {
    /// The levels that a letter brings, and the row that it leads to.
    #[inline(always)]
    pub fn step(&self, row: usize, class: Class) -> (usize, usize) {
        // The row is what the letter waits for: used as it is, it costs no addition.
        let cell = self.cells[class as usize..][row];
        (cell.levels(self.split), cell.next(self.split))
    }

    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.cells.as_slice())
    }
}

/// The tables in the narrowest form that holds them.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// Nearly every language that comes with the library.
    Narrow(Machine<u32, 8>),
    /// Patterns with nine levels.
    High(Machine<u32, 16>),
    /// More states than half a machine word can number, such as many thousand folded exceptions.
    Wide(Machine<u64, 16>),
    /// Patterns so long that no window holds their levels.
    Long(Cells<u64>, Vec<Rows>),
}

impl Tables {
    /// `fill` makes the cells of the width that does; `max_next` is the greatest number that a cell
    /// must hold besides the levels.
    pub fn new(rows: Vec<Rows>, max_next: usize, fill: &impl Fill) -> Self {
        let wide = || {
            let split = Split::new::<u64>(rows.len(), max_next);
            fill.cells(split.expect("64 bits hold two counts of what lies in memory"))
        };
        match (Reach::of(&rows), Split::new::<u32>(rows.len(), max_next)) {
            (None, _) => Self::Long(wide(), rows),
            (Some(reach), None) => Self::Wide(Machine::new(wide(), reach, &rows)),
            (Some(reach), Some(split)) if most_ones(&rows) <= 8 => {
                Self::Narrow(Machine::new(fill.cells(split), reach, &rows))
            }
            (Some(reach), Some(split)) => Self::High(Machine::new(fill.cells(split), reach, &rows)),
        }
    }

    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Narrow(machine) => machine.size_in_bytes(),
            Self::High(machine) => machine.size_in_bytes(),
            Self::Wide(machine) => machine.size_in_bytes(),
            Self::Long(cells, rows) => {
                let levels: usize = rows.iter().map(|rows| size_of::<Rows>() + rows.len()).sum();
                cells.size_in_bytes() + levels
            }
        }
    }
}

/// Makes cells of the width that turns out to do.
pub(super) trait Fill {
    fn cells<C: Cell>(&self, split: Split) -> Cells<C>;
}
