//! The complete table of an automaton, in one of several widths.

use super::alphabet::Class;
use super::cells::{Cell, Cells, Split};
use super::lanes::LANES;
use super::levels::Rows;
use super::walk::{Found, Machine, walk_long};

/// The table in the narrowest form that holds it.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// Nearly every included language.
    Narrow(Machine<u32>),
    /// More states than 32-bit cells can number, such as with many thousand folded exceptions.
    Wide(Machine<u64>),
    /// Patterns that are too long for a window.
    Long(Cells<u64>, Vec<Rows>),
}

impl Tables {
    /// `fill` makes the cells once their width is known; `max_next` is the largest number that a
    /// cell must hold besides the levels.
    pub fn new(rows: Vec<Rows>, max_next: usize, fill: &impl Fill) -> Self {
        let wide = || {
            let split = Split::new::<u64>(rows.len(), max_next);
            fill.cells(split.expect("64 bits hold two counts of what lies in memory"))
        };
        let fits_window = rows.iter().all(|levels| levels.len() <= LANES);
        match Split::new::<u32>(rows.len(), max_next) {
            _ if !fits_window => Self::Long(wide(), rows),
            Some(split) => Self::Narrow(Machine::new(fill.cells(split), &rows)),
            None => Self::Wide(Machine::new(wide(), &rows)),
        }
    }

    /// Walks over a word in ASCII from row `start` on; [`Found::UNREAD`] if the word is not ASCII or
    /// too long for a mask.
    #[inline]
    pub fn walk_ascii(&self, start: usize, classes: &[u8; 256], word: &[u8]) -> Found {
        match self {
            Self::Narrow(machine) => machine.walk_ascii(start, classes, word),
            Self::Wide(machine) => machine.walk_ascii(start, classes, word),
            Self::Long(..) => Found::UNREAD,
        }
    }

    /// Walks over any word: whether the gap before each letter has an odd level, and the number of
    /// the exception.
    pub fn walk(&self, start: usize, classes: &[Class]) -> (Vec<bool>, usize) {
        match self {
            Self::Narrow(machine) => machine.walk(start, classes),
            Self::Wide(machine) => machine.walk(start, classes),
            Self::Long(cells, rows) => walk_long(cells, rows, start, classes),
        }
    }

    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Narrow(machine) => machine.size_in_bytes(),
            Self::Wide(machine) => machine.size_in_bytes(),
            Self::Long(cells, rows) => {
                let levels: usize = rows.iter().map(|rows| size_of::<Rows>() + rows.len()).sum();
                cells.size_in_bytes() + levels
            }
        }
    }
}

/// Makes the cells, in whichever width is needed.
pub(super) trait Fill {
    fn cells<C: Cell>(&self, split: Split) -> Cells<C>;
}
