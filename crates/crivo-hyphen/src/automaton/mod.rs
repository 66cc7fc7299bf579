//! All patterns matched at once, in one pass over the word.
//!
//! The simplest way tries every pattern at every letter:
//!
//! ```text
//! for start in word: for pattern in patterns:
//!     if word[start..] begins with pattern: raise the levels of the gaps
//! ```
//!
//! A trie of the patterns skips those that cannot match, but still restarts at every letter. Aho and
//! Corasick's automaton never goes back: its state is the longest suffix of the letters read so far
//! that is the beginning of a pattern, and each letter leads to the next state.
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
//! Three things make it fast:
//!
//! - The patterns that end in a state are known when the automaton is built, and so is the maximum
//!   level of each preceding gap over all of them: a letter adds one row of levels, however many
//!   patterns match.
//! - The levels of sixteen gaps are in one vector register, a window that moves along the word: one
//!   instruction moves it, one takes the maximum of all gaps (see `levels`).
//! - A state is a row of a table with a cell for every letter; letters are numbered, and upper-case
//!   letters have the numbers of lower-case ones. A cell holds the next row and the levels in 32 bits
//!   (see `cells`), so each letter costs one dependent memory access. Leaves of the trie need no row
//!   (see `build`): the patterns of English take half a megabyte, those of Hungarian seven.
//!
//! Exceptions are rules for whole words: a dot, the letters, and the end lead to a cell with the
//! number of the exception.

mod alphabet;
mod build;
mod cells;
mod lanes;
mod letters;
mod levels;
mod tables;
#[cfg(test)]
mod tests;
mod trie;
mod walk;

use std::fmt;

use crate::limits::Limits;
use crate::{Breaks, Exception, Patterns};

use alphabet::Alphabet;
pub(crate) use letters::Letters;
use tables::Tables;
use walk::Found;

/// Patterns, and folded exceptions, compiled for matching.
#[derive(Clone)]
pub struct Automaton {
    alphabet: Alphabet,
    tables: Tables,
    /// The row of the initial state.
    start: usize,
    /// The breaks of exceptions, by number; number 0 means none.
    listed: Vec<Listed>,
    /// Whether patterns contain apostrophes, so that they belong to words.
    has_apostrophes: bool,
    /// The same for the middle dot.
    has_middle_dots: bool,
}

/// A folded exception, with positions counted in letters.
#[derive(Debug, Clone, Default)]
struct Listed {
    letters: usize,
    /// Letters before which the word may be divided.
    breaks: Breaks,
}

impl Automaton {
    /// Compiles patterns without exceptions.
    pub fn new(patterns: &Patterns) -> Self {
        Self::with_exceptions(patterns, [])
    }

    /// Compiles patterns and exceptions; of two exceptions for one word the later one applies.
    ///
    /// An exception becomes a rule for the whole word, so finding it costs nothing.
    pub fn with_exceptions<'e>(
        patterns: &Patterns,
        exceptions: impl IntoIterator<Item = &'e Exception>,
    ) -> Self {
        let exceptions: Vec<&Exception> = exceptions.into_iter().collect();
        build::build(patterns, &exceptions, 0)
    }

    /// The memory of the tables in bytes.
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.listed.as_slice())
            + self.tables.size_in_bytes()
            + self.alphabet.size_in_bytes()
    }

    /// Whether words with apostrophes inside are matched as one word.
    pub(crate) fn has_apostrophes(&self) -> bool {
        self.has_apostrophes
    }

    /// Whether words with middle dots inside are matched as one word.
    pub(crate) fn has_middle_dots(&self) -> bool {
        self.has_middle_dots
    }

    /// The letters of a word, as far as the patterns distinguish them.
    pub(crate) fn letters(&self, word: &str) -> Letters {
        Letters::new(&self.alphabet, word)
    }

    /// The breaks of a word, by exception or by patterns.
    #[inline]
    pub(crate) fn breaks_within(&self, word: &str, limits: &Limits) -> Breaks {
        let found = self.walk_ascii(word);
        match found.exception == 0 && word.len() >= limits.min_word_length {
            true => Breaks::from_mask(found.odd & limits.mask(word.len())),
            false => self.listed_or_found(found, word, limits).unwrap_or_else(|breaks| breaks),
        }
    }

    /// The breaks of a word that is an exception.
    pub(crate) fn listed_within(&self, word: &str, limits: &Limits) -> Option<Breaks> {
        match self.walk_ascii(word) {
            Found { exception: 0, .. } => None,
            found => self.listed_or_found(found, word, limits).ok(),
        }
    }

    #[inline]
    fn walk_ascii(&self, word: &str) -> Found {
        self.tables.walk_ascii(self.start, &self.alphabet.ascii, word.as_bytes())
    }

    /// The breaks of an exception as `Ok`, or those of the patterns as `Err`.
    #[inline(never)]
    fn listed_or_found(&self, found: Found, word: &str, limits: &Limits) -> Result<Breaks, Breaks> {
        if found.is_unread() {
            return self.listed_or_walked(word, limits);
        }
        match self.listed(found.exception, word.len()) {
            Some(listed) => Ok(listed.breaks_within(limits)),
            None if word.len() < limits.min_word_length => Err(Breaks::new()),
            None => Err(Breaks::from_mask(found.odd & limits.mask(word.len()))),
        }
    }

    /// The same for any word.
    fn listed_or_walked(&self, word: &str, limits: &Limits) -> Result<Breaks, Breaks> {
        let letters = self.letters(word);
        let count = letters.classes.len();
        let (odd, mut exception) = self.tables.walk(self.start, &letters.classes);
        let mut whole = None;
        if letters.skipped_marks {
            let letters = Letters::with_all_marks(&self.alphabet, word);
            exception = self.tables.walk(self.start, &letters.classes).1;
            whole = Some(letters);
        }
        let whole = whole.as_ref().unwrap_or(&letters);
        if let Some(listed) = self.listed(exception, whole.classes.len()) {
            let offsets = listed.breaks.iter().filter_map(|index| whole.origins[index]);
            return Ok(letters.allowed(&offsets.collect(), limits));
        }
        if count < limits.min_word_length {
            return Err(Breaks::new());
        }
        let allowed = limits.left..(count + 1).saturating_sub(limits.right);
        let odd = allowed.filter(|&index| odd[index]);
        Err(odd.filter_map(|index| letters.origins[index]).collect())
    }

    /// The exception of this number, if there is one and it covers the whole word: a word with a dot
    /// inside may end like an exception.
    #[inline]
    fn listed(&self, number: usize, letters: usize) -> Option<&Listed> {
        (number != 0).then(|| &self.listed[number]).filter(|listed| listed.letters == letters)
    }
}

impl Listed {
    /// The breaks of a word whose letters are bytes.
    fn breaks_within(&self, limits: &Limits) -> Breaks {
        let allowed = |&index: &usize| limits.allow_listed(index, self.letters);
        self.breaks.iter().filter(allowed).collect()
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
