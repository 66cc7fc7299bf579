//! Walking over the letters of a word.

use super::alphabet::{Class, END};
use super::cells::{Cell, Cells, GRANULE};
use super::lanes::{LANES, Lanes};
use super::levels::{LongWindow, Rows, ShortWindow, Window, lanes_of};

/// The result of a walk over a word of up to 64 letters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Bit i: whether the gap before letter i has an odd level.
    pub odd: u64,
    /// The number of the exception, 0 for none.
    pub exception: usize,
}

impl Found {
    /// No result: the word is not ASCII, or longer than a mask. No exception has this number; without
    /// an `Option` the result fits two registers.
    pub const UNREAD: Self = Self { odd: 0, exception: usize::MAX };

    pub fn is_unread(self) -> bool {
        self.exception == Self::UNREAD.exception
    }
}

/// Words of up to this many letters have their breaks in one machine word.
const SHORT: usize = u64::BITS as usize;

/// Words of up to this many letters have all of their gaps in a [`ShortWindow`], also those before the
/// first letter and after the end.
const AT_ONCE: usize = ShortWindow::GAPS - 2;

/// How many letters are read into a [`LongWindow`] between two looks at its settled gaps: as many as it
/// has of them, less one for the end of the word.
const CHUNK: usize = LANES - 1;

/// The tables of an automaton whose levels fit a window.
#[derive(Debug, Clone)]
pub(super) struct Machine<C> {
    cells: Cells<C>,
    /// The levels, by their number.
    levels: Vec<Lanes>,
}

impl<C: Cell> Machine<C> {
    /// Rows have at most [`LANES`] levels.
    pub fn new(cells: Cells<C>, rows: &[Rows]) -> Self {
        Self { cells, levels: rows.iter().map(lanes_of).collect() }
    }

    pub fn size_in_bytes(&self) -> usize {
        self.cells.size_in_bytes() + size_of_val(self.levels.as_slice())
    }

    /// Walks over a word in ASCII, whose letters are bytes, from a row on.
    #[inline]
    pub fn walk_ascii(&self, start: usize, classes: &[u8; 256], word: &[u8]) -> Found {
        match word.len() <= AT_ONCE {
            true => self.walk_at_once(start, classes, word),
            false => self.walk_in_chunks(start, classes, word),
        }
    }

    // Not inlined, so that the loop has all registers.
    #[inline(never)]
    fn walk_at_once(&self, start: usize, classes: &[u8; 256], word: &[u8]) -> Found {
        let mut walk = Walk::<C, ShortWindow>::new(self, start);
        let seen = walk.read_bytes(classes, word);
        walk.step(END);
        walk.found(seen, walk.window.breaks(word.len() + 1).mask())
    }

    #[inline(never)]
    fn walk_in_chunks(&self, start: usize, classes: &[u8; 256], word: &[u8]) -> Found {
        if word.len() > SHORT {
            return Found::UNREAD;
        }
        let mut walk = Walk::<C, LongWindow>::new(self, start);
        let (mut odd, mut seen, mut read) = (0, 0, 0);
        for chunk in word.chunks(CHUNK) {
            odd |= walk.window.settled(read).mask();
            seen |= walk.read_bytes(classes, chunk);
            read += chunk.len();
        }
        walk.step(END);
        odd |= walk.window.breaks(read + 1).mask();
        walk.found(seen, odd)
    }

    /// Walks over a word of any letters and length: whether the gap before each letter has an odd
    /// level, and the number of the exception.
    pub fn walk(&self, start: usize, classes: &[Class]) -> (Vec<bool>, usize) {
        let mut walk = Walk::<C, LongWindow>::new(self, start);
        let mut odd = vec![false; classes.len() + 1];
        let mut read = 0;
        for chunk in classes.chunks(CHUNK) {
            walk.window.settled(read).add_to(&mut odd);
            chunk.iter().for_each(|&class| walk.step(class));
            read += chunk.len();
        }
        walk.step(END);
        walk.window.breaks(read + 1).add_to(&mut odd);
        (odd, walk.row / GRANULE)
    }
}

/// The state of a walk, with the levels that may still change.
struct Walk<'a, C, W> {
    machine: &'a Machine<C>,
    /// The row of the state; after the end of the word, the number of its exception, in granules.
    row: usize,
    window: W,
}

impl<'a, C: Cell, W: Window> Walk<'a, C, W> {
    #[inline(always)]
    fn new(machine: &'a Machine<C>, start: usize) -> Self {
        Self { machine, row: start, window: W::new() }
    }

    #[inline(always)]
    fn step(&mut self, class: Class) {
        let (levels, next) = self.machine.cells.step(self.row, class);
        self.row = next;
        self.window.read(self.machine.levels[levels]);
    }

    /// Reads ASCII letters, and returns the *or* of their bytes.
    #[inline(always)]
    fn read_bytes(&mut self, classes: &[u8; 256], letters: &[u8]) -> u8 {
        let mut seen = 0;
        for &byte in letters {
            seen |= byte;
            self.step(classes[usize::from(byte)].into());
        }
        seen
    }

    /// The end of a walk over bytes.
    #[inline(always)]
    fn found(&self, seen: u8, odd: u64) -> Found {
        match seen.is_ascii() {
            true => Found { odd, exception: self.row / GRANULE },
            false => Found::UNREAD,
        }
    }
}

/// [`Machine::walk`] for patterns that are too long for a window.
pub(super) fn walk_long(
    cells: &Cells<u64>,
    rows: &[Rows],
    start: usize,
    classes: &[Class],
) -> (Vec<bool>, usize) {
    let mut highest = vec![0; classes.len() + 2];
    let mut row = start;
    for (index, &class) in classes.iter().chain([&END]).enumerate() {
        let levels;
        (levels, row) = cells.step(row, class);
        let gaps = highest[..index + 2].iter_mut().rev();
        gaps.zip(rows[levels].iter().rev())
            .for_each(|(highest, &level)| *highest = level.max(*highest));
    }
    (highest.iter().map(|level| level % 2 == 1).collect(), row / GRANULE)
}
