//! All patterns matched at once, in one pass over the word.

mod alphabet;
mod build;
mod comb;
mod letters;
mod levels;
#[cfg(test)]
mod tests;
mod trie;

use std::fmt;

use crate::hyphenator::Limits;
use crate::{Breaks, Exception, Patterns};

use alphabet::{Alphabet, Class, DOT, END, NOT_ASCII};
use comb::Slot;
pub(crate) use letters::Letters;
use levels::{Rows, Shape, Window, Windows};

/// Patterns, and exceptions folded in, made ready for matching.
#[derive(Clone)]
pub struct Automaton {
    alphabet: Alphabet,
    /// The rows of all states, combed into each other.
    slots: Vec<Slot>,
    /// Where a letter leads from a state whose row has no slot for it, by the letter before it and
    /// the letter: `defaults[before * default_stride + letter]`.
    defaults: Vec<Slot>,
    /// The number of classes, or 0 where the alphabet is too large for pairs of letters.
    default_stride: usize,
    /// The row of the state in which a word begins.
    start: usize,
    windows: Windows,
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
    ///
    /// # Panics
    /// If the automaton would take more than two gigabytes.
    pub fn new(patterns: &Patterns) -> Self {
        Self::with_exceptions(patterns, [])
    }

    /// Patterns and exceptions; of two exceptions for one word the later one holds.
    ///
    /// An exception becomes a rule for the whole word, so that finding it costs nothing.
    ///
    /// # Panics
    /// If the automaton would take more than two gigabytes.
    pub fn with_exceptions<'e>(
        patterns: &Patterns,
        exceptions: impl IntoIterator<Item = &'e Exception>,
    ) -> Self {
        let exceptions: Vec<&Exception> = exceptions.into_iter().collect();
        build::build(patterns, &exceptions)
    }

    /// The memory that its tables take.
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
            + size_of_val(self.defaults.as_slice())
            + size_of_val(self.listed.as_slice())
            + self.windows.size_in_bytes()
            + self.alphabet.size_in_bytes()
    }

    /// The letters of a word, as far as the patterns can tell them apart.
    pub(crate) fn letters(&self, word: &str) -> Letters {
        Letters::new(&self.alphabet, word)
    }

    /// The breaks of a word, by exception or by patterns.
    #[inline]
    pub(crate) fn breaks_within(&self, word: &str, limits: &Limits) -> Breaks {
        let found = match &self.windows {
            Windows::Narrow(shape, windows) => {
                self.breaks_of_ascii(*shape, windows, word.as_bytes(), limits)
            }
            Windows::Wide(shape, windows) => {
                self.breaks_of_ascii(*shape, windows, word.as_bytes(), limits)
            }
            Windows::Long(_) => None,
        };
        found.unwrap_or_else(|| self.breaks_of_letters(word, limits))
    }

    /// The breaks of a word in ASCII, in which letters are bytes. `None` if it is not, or is long.
    #[inline]
    fn breaks_of_ascii<W: Window>(
        &self,
        shape: Shape,
        windows: &[W],
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
        let mut walk = Walk::new(self, shape, windows);
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
        let (odd, exception) = match &self.windows {
            Windows::Narrow(shape, windows) => self.walk(*shape, windows, &letters.classes),
            Windows::Wide(shape, windows) => self.walk(*shape, windows, &letters.classes),
            Windows::Long(rows) => self.walk_long(rows, &letters.classes),
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
    fn walk<W: Window>(
        &self,
        shape: Shape,
        windows: &[W],
        classes: &[Class],
    ) -> (Vec<bool>, usize) {
        let mut walk = Walk::new(self, shape, windows);
        let mut odd: Vec<bool> = classes.iter().map(|&class| walk.step(class)).collect();
        let exception = walk.finish(|is_odd| odd.push(is_odd));
        // The first gaps that leave the window lie before the word.
        odd.drain(..shape.gaps - 2);
        (odd, exception)
    }

    /// The same for patterns that no window holds.
    fn walk_long(&self, rows: &[Rows], classes: &[Class]) -> (Vec<bool>, usize) {
        let mut highest = vec![0; classes.len() + 2];
        let mut state = State { base: self.start, before: DOT };
        let mut exception = 0;
        for (index, &class) in classes.iter().chain([&END]).enumerate() {
            let slot = state.step(self, class);
            exception = slot.next();
            let gaps = highest[..index + 2].iter_mut().rev();
            gaps.zip(rows[slot.levels()].iter().rev())
                .for_each(|(highest, &ones)| *highest = ones.max(*highest));
        }
        (highest.iter().map(|ones| ones % 2 == 1).collect(), exception)
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

/// Where the automaton is.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The base of the row.
    base: usize,
    /// The letter just read.
    before: Class,
}

impl State {
    #[inline(always)]
    fn step(&mut self, automaton: &Automaton, class: Class) -> Slot {
        let own = automaton.slots[self.base + usize::from(class)];
        let default = usize::from(self.before) * automaton.default_stride + usize::from(class);
        let default = automaton.defaults[default];
        let slot = if own.label() == class { own } else { default };
        *self = State { base: slot.next(), before: class };
        slot
    }
}

/// A walk over the letters of a word, with the levels that may still change.
struct Walk<'a, W> {
    automaton: &'a Automaton,
    windows: &'a [W],
    shape: Shape,
    mask: u16,
    state: State,
    window: W,
}

impl<'a, W: Window> Walk<'a, W> {
    #[inline(always)]
    fn new(automaton: &'a Automaton, shape: Shape, windows: &'a [W]) -> Self {
        let mask = (1 << shape.width) - 1;
        let state = State { base: automaton.start, before: DOT };
        Self { automaton, windows, shape, mask, state, window: W::EMPTY }
    }

    /// Reads a letter, and tells whether the gap that leaves the window has an odd level.
    #[inline(always)]
    fn step(&mut self, class: Class) -> bool {
        let slot = self.state.step(self.automaton, class);
        self.window = self.window.or(self.windows[slot.levels()]);
        self.leave()
    }

    #[inline(always)]
    fn leave(&mut self) -> bool {
        let is_odd = self.window.is_odd(self.mask);
        self.window = self.window.shift(self.shape.width);
        is_odd
    }

    /// Reads the end of the word, and empties the window of all gaps of the word. Tells the number
    /// of the exception.
    #[inline(always)]
    fn finish(mut self, mut push: impl FnMut(bool)) -> usize {
        push(self.step(END));
        // For the end, a slot tells the exception where it tells the next row for letters.
        let exception = self.state.base;
        (3..self.shape.gaps).for_each(|_| push(self.leave()));
        exception
    }
}

impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Automaton")
            .field("classes", &self.alphabet.class_count())
            .field("slots", &self.slots.len())
            .field("exceptions", &(self.listed.len() - 1))
            .field("size_in_bytes", &self.size_in_bytes())
            .finish()
    }
}
