//! All patterns matched at once, in one pass over the word.
//!
//! The plainest way tries every pattern at every letter:
//!
//! ```text
//! for start in word: for pattern in patterns:
//!     if word[start..] begins with pattern: raise the levels of the gaps
//! ```
//!
//! A tree of the patterns spares all but those that can match, but still starts afresh at every
//! letter. Aho and Corasick's automaton never looks back: its state is the longest end of what was
//! read that is the beginning of a pattern, and each letter leads to the next state.
//!
//! ```text
//! patterns   hen5at  n2at  1na            reading   h  e  n  a  t
//!                                         state     h  he hen hena henat
//! levels that state henat brings:                            n 5 a   t
//!   hen5at                n 5 a   t
//!   n2at                  n 2 a   t
//!   the highest of both   n 5 a   t
//! ```
//!
//! Three things make it fast.
//!
//! - Which patterns end in a state is known when the automaton is made, and so is the highest level
//!   of each gap behind it, over all of them: reading a letter brings one row of levels, however
//!   many patterns match.
//! - Levels are written such that the highest is found by *or* (see `levels`), for all gaps in one
//!   operation on a window that moves along with the word.
//! - A state is a row of a table with a cell for every letter; letters are numbered, and capitals
//!   have the numbers of small letters. A cell tells the next row and the levels in 32 bits. Leaves
//!   of the tree need no row (see `build`): English takes half a megabyte, Hungarian seven.
//!
//! Exceptions are rules for whole words: a dot, the letters, and the end lead to a cell that has the
//! number of the exception.

mod alphabet;
mod build;
mod letters;
mod levels;
mod table;
#[cfg(test)]
mod tests;
mod trie;

use std::fmt;

use crate::hyphenator::Limits;
use crate::{Breaks, Exception, Patterns};

use alphabet::{Alphabet, Class, END};
pub(crate) use letters::Letters;
use levels::{Rows, Shape, Window};
use table::{Cell, Cells, Tables};

/// Patterns, and exceptions folded in, made ready for matching.
#[derive(Clone)]
pub struct Automaton {
    alphabet: Alphabet,
    tables: Tables,
    /// The row of the state in which a word begins, in granules.
    start: usize,
    /// The breaks of exceptions, by their number; number 0 is none.
    listed: Vec<Listed>,
}

/// What a walk over a word of up to 64 letters finds.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Bit i: whether the gap before letter i has an odd level.
    odd: u64,
    /// The number of the exception, 0 for none.
    exception: usize,
}

/// A folded exception, counted in letters.
#[derive(Debug, Clone, Default)]
struct Listed {
    letters: usize,
    /// Letters before which the word may be divided.
    breaks: Breaks,
}

/// Words of up to this many letters have their breaks in one machine word.
const SHORT: usize = u64::BITS as usize;

impl Automaton {
    /// Patterns alone.
    pub fn new(patterns: &Patterns) -> Self {
        Self::with_exceptions(patterns, [])
    }

    /// Patterns and exceptions; of two exceptions for one word the later one holds.
    ///
    /// An exception becomes a rule for the whole word, so that finding it costs nothing.
    pub fn with_exceptions<'e>(
        patterns: &Patterns,
        exceptions: impl IntoIterator<Item = &'e Exception>,
    ) -> Self {
        let exceptions: Vec<&Exception> = exceptions.into_iter().collect();
        build::build(patterns, &exceptions, 0)
    }

    /// The memory that its tables take.
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.listed.as_slice())
            + self.tables.size_in_bytes()
            + self.alphabet.size_in_bytes()
    }

    /// The letters of a word, as far as the patterns can tell them apart.
    pub(crate) fn letters(&self, word: &str) -> Letters {
        Letters::new(&self.alphabet, word)
    }

    /// The breaks of a word, by exception or by patterns.
    #[inline]
    pub(crate) fn breaks_within(&self, word: &str, limits: &Limits) -> Breaks {
        let letters = word.len();
        let found = match &self.tables {
            Tables::Narrow(cells, shape, windows) if letters <= shape.letters_at_once() => {
                self.walk_at_once(cells, *shape, windows, word.as_bytes())
            }
            Tables::Narrow(cells, shape, windows) => {
                self.walk_ascii(cells, *shape, windows, word.as_bytes())
            }
            Tables::Wide(cells, shape, windows) => {
                self.walk_ascii(cells, *shape, windows, word.as_bytes())
            }
            Tables::Long(..) => None,
        };
        match found {
            Some(found) if found.exception == 0 && letters >= limits.min_word_length => {
                Breaks::from_mask(found.odd & limits.mask(letters))
            }
            Some(found) => self.listed_or(found, letters, limits),
            None => self.breaks_of_letters(word, limits),
        }
    }

    /// The breaks of an ASCII word that may be an exception, or too short.
    #[inline(never)]
    fn listed_or(&self, found: Found, letters: usize, limits: &Limits) -> Breaks {
        match self.listed(found.exception, letters) {
            Some(listed) => listed.breaks_within(limits),
            None if letters < limits.min_word_length => Breaks::new(),
            None => Breaks::from_mask(found.odd & limits.mask(letters)),
        }
    }

    /// Walks over a word in ASCII, in which letters are bytes, and which is no longer than a window
    /// can hold. `None` if it is not ASCII.
    // A function of its own, so that the loop has all registers to itself.
    #[inline(never)]
    fn walk_at_once<C: Cell>(
        &self,
        cells: &Cells<C>,
        shape: Shape,
        windows: &[Window],
        word: &[u8],
    ) -> Option<Found> {
        let mut walk = Walk::new(self, cells, windows);
        let mut seen = 0;
        for &byte in word {
            seen |= byte;
            walk.step(self.alphabet.ascii[usize::from(byte)].into());
        }
        walk.step(END);
        let odd = shape.breaks(walk.window, word.len() + 1).mask();
        seen.is_ascii().then_some(Found { odd, exception: walk.row })
    }

    /// The same for words of up to 64 letters.
    #[inline(never)]
    fn walk_ascii<C: Cell>(
        &self,
        cells: &Cells<C>,
        shape: Shape,
        windows: &[Window],
        word: &[u8],
    ) -> Option<Found> {
        if word.len() > SHORT || !word.is_ascii() {
            return None;
        }
        let mut walk = Walk::new(self, cells, windows);
        let (mut odd, mut read) = (0, 0);
        for chunk in word.chunks(shape.letters_at_once()) {
            odd |= shape.close(&mut walk.window, read).mask();
            for &byte in chunk {
                walk.step(self.alphabet.ascii[usize::from(byte)].into());
            }
            read += chunk.len();
        }
        walk.step(END);
        odd |= shape.breaks(walk.window, read + 1).mask();
        Some(Found { odd, exception: walk.row })
    }

    /// The breaks of any word.
    #[inline(never)]
    fn breaks_of_letters(&self, word: &str, limits: &Limits) -> Breaks {
        let letters = self.letters(word);
        let count = letters.classes.len();
        if count < limits.min_word_length {
            return Breaks::new();
        }
        let (odd, exception) = match &self.tables {
            Tables::Narrow(cells, shape, windows) => {
                self.walk(cells, *shape, windows, &letters.classes)
            }
            Tables::Wide(cells, shape, windows) => {
                self.walk(cells, *shape, windows, &letters.classes)
            }
            Tables::Long(cells, rows) => self.walk_long(cells, rows, &letters.classes),
        };
        let mut breaks = Breaks::new();
        let mut add = |index: usize| breaks.extend(letters.origins[index]);
        match self.listed(exception, count).filter(|_| !letters.passed_over) {
            Some(listed) => listed.breaks_within(limits).iter().for_each(&mut add),
            None => {
                let allowed = limits.left..(count + 1).saturating_sub(limits.right);
                allowed.filter(|&index| odd[index]).for_each(&mut add);
            }
        }
        breaks
    }

    /// Whether the gap before each letter has an odd level, and the number of the exception.
    fn walk<C: Cell>(
        &self,
        cells: &Cells<C>,
        shape: Shape,
        windows: &[Window],
        classes: &[Class],
    ) -> (Vec<bool>, usize) {
        let mut walk = Walk::new(self, cells, windows);
        let mut odd = vec![false; classes.len() + 1];
        let mut read = 0;
        for chunk in classes.chunks(shape.letters_at_once()) {
            shape.close(&mut walk.window, read).add_to(&mut odd);
            chunk.iter().for_each(|&class| walk.step(class));
            read += chunk.len();
        }
        walk.step(END);
        shape.breaks(walk.window, read + 1).add_to(&mut odd);
        (odd, walk.row)
    }

    /// The same for patterns that no window holds.
    fn walk_long(
        &self,
        cells: &Cells<u64>,
        rows: &[Rows],
        classes: &[Class],
    ) -> (Vec<bool>, usize) {
        let mut highest = vec![0; classes.len() + 2];
        let mut row = self.start;
        for (index, &class) in classes.iter().chain([&END]).enumerate() {
            let levels;
            (levels, row) = cells.step(row, class);
            let gaps = highest[..index + 2].iter_mut().rev();
            gaps.zip(rows[levels].iter().rev())
                .for_each(|(highest, &ones)| *highest = ones.max(*highest));
        }
        (highest.iter().map(|ones| ones % 2 == 1).collect(), row)
    }

    /// The exception of this number, if there is one and it is one of the whole word: a word with
    /// a dot inside it may end like an exception.
    #[inline]
    fn listed(&self, number: usize, letters: usize) -> Option<&Listed> {
        (number != 0).then(|| &self.listed[number]).filter(|listed| listed.letters == letters)
    }
}

impl Listed {
    #[inline(never)]
    fn breaks_within(&self, limits: &Limits) -> Breaks {
        let allowed = |&index: &usize| limits.allow_listed(index, self.letters);
        self.breaks.iter().filter(allowed).collect()
    }
}

/// A walk over the letters of a word, with the levels that may still change.
struct Walk<'a, C> {
    cells: &'a Cells<C>,
    windows: &'a [Window],
    /// The row of the state, in granules; after the end of the word, the number of its exception.
    row: usize,
    window: Window,
}

impl<'a, C: Cell> Walk<'a, C> {
    #[inline(always)]
    fn new(automaton: &Automaton, cells: &'a Cells<C>, windows: &'a [Window]) -> Self {
        Self { cells, windows, row: automaton.start, window: Window::default() }
    }

    #[inline(always)]
    fn step(&mut self, class: Class) {
        let (levels, next) = self.cells.step(self.row, class);
        self.row = next;
        self.window = self.window.read(self.windows[levels]);
    }
}

impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Automaton")
            .field("classes", &self.alphabet.class_count())
            .field("exceptions", &(self.listed.len() - 1))
            .field("size_in_bytes", &self.size_in_bytes())
            .finish()
    }
}
