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

use alphabet::{Alphabet, Class, END, NOT_ASCII};
pub(crate) use letters::Letters;
use levels::{Rows, Window};
use table::{Cell, GRANULE, Table, Tables};

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
        build::build(patterns, &exceptions)
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
        let found = match &self.tables {
            Tables::Small(table) => self.breaks_of_ascii(table, word.as_bytes(), limits),
            Tables::Medium(table) => self.breaks_of_ascii(table, word.as_bytes(), limits),
            Tables::Large(table) => self.breaks_of_ascii(table, word.as_bytes(), limits),
            Tables::Long(_) => None,
        };
        found.unwrap_or_else(|| self.breaks_of_letters(word, limits))
    }

    /// The breaks of a word in ASCII, in which letters are bytes. `None` if it is not, or is long.
    #[inline]
    fn breaks_of_ascii<C: Cell, W: Window>(
        &self,
        table: &Table<C, W>,
        word: &[u8],
        limits: &Limits,
    ) -> Option<Breaks> {
        let letters = word.len();
        if letters > SHORT {
            return None;
        }
        if letters < limits.min_word_length.max(2) {
            return Some(Breaks::new());
        }
        let mut walk = Walk::new(table, self.start);
        // Breaks enter from above; when all have, that before letter i is bit i once the word's
        // length is taken off.
        let mut breaks = 0u64;
        let mut push = |is_break: bool| breaks = breaks >> 1 | u64::from(is_break) << 63;
        for &byte in word {
            let class = self.alphabet.ascii[usize::from(byte)];
            if class == NOT_ASCII {
                return None;
            }
            push(walk.step(Class::from(class)));
        }
        let exception = walk.finish(push);
        if let Some(listed) = self.listed(exception, letters) {
            return Some(listed.breaks_within(limits));
        }
        Some(Breaks::from_mask(breaks >> (SHORT - letters) & limits.mask(letters)))
    }

    /// The breaks of any word.
    #[cold]
    fn breaks_of_letters(&self, word: &str, limits: &Limits) -> Breaks {
        let letters = self.letters(word);
        let count = letters.classes.len();
        if count < limits.min_word_length {
            return Breaks::new();
        }
        let (odd, exception) = match &self.tables {
            Tables::Small(table) => self.walk(table, &letters.classes),
            Tables::Medium(table) => self.walk(table, &letters.classes),
            Tables::Large(table) => self.walk(table, &letters.classes),
            Tables::Long(table) => self.walk_long(table, &letters.classes),
        };
        let mut breaks = Breaks::new();
        let mut add = |index: usize| breaks.extend(letters.origins[index]);
        match self.listed(exception, count) {
            Some(listed) => listed.breaks_within(limits).iter().for_each(&mut add),
            None => {
                let allowed = limits.left..(count + 1).saturating_sub(limits.right);
                allowed.filter(|&index| odd[index]).for_each(&mut add);
            }
        }
        breaks
    }

    /// Whether each letter's gap before it has an odd level, and the number of the exception.
    fn walk<C: Cell, W: Window>(
        &self,
        table: &Table<C, W>,
        classes: &[Class],
    ) -> (Vec<bool>, usize) {
        let mut walk = Walk::new(table, self.start);
        let mut odd: Vec<bool> = classes.iter().map(|&class| walk.step(class)).collect();
        let exception = walk.finish(|is_odd| odd.push(is_odd));
        // The first gaps that leave the window lie before the word.
        odd.drain(..table.shape.gaps - 2);
        (odd, exception)
    }

    /// The same for patterns that no window holds.
    fn walk_long(&self, table: &Table<u64, Rows>, classes: &[Class]) -> (Vec<bool>, usize) {
        let mut highest = vec![0; classes.len() + 2];
        let mut row = self.start;
        for (index, &class) in classes.iter().chain([&END]).enumerate() {
            let cell = table.cells[row * GRANULE + class as usize];
            row = cell.next(table.split);
            let gaps = highest[..index + 2].iter_mut().rev();
            gaps.zip(table.levels[cell.levels(table.split)].iter().rev())
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
    fn breaks_within(&self, limits: &Limits) -> Breaks {
        let allowed = |&index: &usize| limits.allow_listed(index, self.letters);
        self.breaks.iter().filter(allowed).collect()
    }
}

/// A walk over the letters of a word, with the levels that may still change.
struct Walk<'a, C, W> {
    table: &'a Table<C, W>,
    /// The row of the state, in granules.
    row: usize,
    window: W,
}

impl<'a, C: Cell, W: Window> Walk<'a, C, W> {
    #[inline(always)]
    fn new(table: &'a Table<C, W>, start: usize) -> Self {
        Self { table, row: start, window: W::EMPTY }
    }

    /// Reads a letter, and tells whether the gap that leaves the window has an odd level.
    #[inline(always)]
    fn step(&mut self, class: Class) -> bool {
        let cell = self.table.cells[self.row * GRANULE + class as usize];
        self.row = cell.next(self.table.split);
        self.window = self.window.or(self.table.levels[cell.levels(self.table.split)]);
        self.leave()
    }

    #[inline(always)]
    fn leave(&mut self) -> bool {
        let width = self.table.shape.width;
        let is_odd = self.window.is_odd((1 << width) - 1);
        self.window = self.window.shift(width);
        is_odd
    }

    /// Reads the end of the word, and empties the window of all gaps of the word. Tells the number
    /// of the exception.
    #[inline(always)]
    fn finish(mut self, mut push: impl FnMut(bool)) -> usize {
        push(self.step(END));
        (3..self.table.shape.gaps).for_each(|_| push(self.leave()));
        // For the end, a cell tells the exception where it tells the next row for letters.
        self.row
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
