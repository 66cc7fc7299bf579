//! Patterns, as a file of TeX patterns lists them.

use std::collections::HashMap;
use std::path::Path;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::fold::{fold, plain_apostrophe};
use crate::{ParseError, ReadError, tex};

/// The patterns of a language, as its file lists them.
///
/// A pattern is a part of a word with digits between its letters: `hy3ph` means that the level
/// between `y` and `p` is at least 3. A dot matches an end of the word. See the [crate](crate)
/// documentation for the meaning of levels.
///
/// ```
/// use crivo_hyphen::Patterns;
///
/// let patterns = Patterns::parse("hy3ph he2n hena4 hen5at 1na n2at 1tio 2io o2n")?;
/// assert_eq!(patterns.count(), 9);
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    /// All letters, one pattern after another; a dot is an end of the word.
    letters: Vec<char>,
    /// All levels: a pattern of n letters has n + 1.
    levels: Vec<u8>,
    /// Where each pattern's letters end.
    ends: Vec<usize>,
}

/// One pattern: its letters, and the level of every gap, before the first letter, between any two,
/// and after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern<'p> {
    pub letters: &'p [char],
    pub levels: &'p [u8],
}

impl Patterns {
    /// Reads patterns separated by white space, or those in the `\patterns{…}` groups of TeX source.
    ///
    /// Letters are folded as in words: lower case and composed, with one kind of apostrophe. Of two
    /// patterns with the same letters the one that is composed in the text applies, or else the first.
    ///
    /// # Errors
    /// If a pattern is malformed: the error has its line and column and what was expected. If there
    /// are no patterns, or none has a level: then the text is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let patterns = Self::parse_some(text)?;
        if patterns.has_no_level() {
            let entries = tex::entries(text, "\\patterns")?;
            let nothing = tex::Entry::alone("");
            return Err(entries.first().unwrap_or(&nothing).error(0, EXPECTED));
        }
        Ok(patterns)
    }

    /// The same for a text that may have no patterns.
    pub(crate) fn parse_some(text: &str) -> Result<Self, ParseError> {
        let mut patterns = Self::default();
        let entries = tex::entries(text, "\\patterns")?;
        // Some files have other levels for letters that are written as two characters.
        let (composed, decomposed): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| is_nfc(&entry.text));
        for entry in composed.into_iter().chain(decomposed) {
            patterns.push(entry)?;
        }
        Ok(patterns)
    }

    fn has_no_level(&self) -> bool {
        self.levels.iter().all(|&level| level == 0)
    }

    /// All patterns of several files, of which `path` includes the others.
    pub(crate) fn of_files(parts: Vec<Self>, path: &Path) -> Result<Self, ReadError> {
        let mut patterns = Self::default();
        for part in parts {
            let before = patterns.letters.len();
            patterns.letters.extend(part.letters);
            patterns.levels.extend(part.levels);
            patterns.ends.extend(part.ends.into_iter().map(|end| before + end));
        }
        match patterns.has_no_level() {
            true => Err(ParseError::new(1, 1, "", EXPECTED).in_file(path).into()),
            false => Ok(patterns),
        }
    }

    /// Reads a file of patterns, and those that it includes. [`PatternFile`](crate::PatternFile) also
    /// reads its exceptions and minima.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or a pattern is malformed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::of_files(tex::read(path.as_ref(), Self::parse_some)?, path.as_ref())
    }

    /// The number of patterns.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The level of every gap of a word, found by looking up every part of the word among the
    /// patterns: the rules in their simplest form, for learning and for tests. An
    /// [`Automaton`](crate::Automaton) gives the same breaks many thousand times faster.
    ///
    /// A word of n letters has n + 1 gaps, including those before the first and after the last
    /// letter.
    ///
    /// ```
    /// use crivo_hyphen::Patterns;
    ///
    /// let patterns = Patterns::parse("hy3ph he2n hena4 hen5at 1na n2at 1tio 2io o2n")?;
    /// //                                              h  y  p  h  e  n  a  t  i  o  n
    /// assert_eq!(patterns.levels("hyphenation"), [0, 0, 3, 0, 0, 2, 5, 4, 2, 0, 2, 0]);
    /// # Ok::<(), crivo_hyphen::ParseError>(())
    /// ```
    pub fn levels(&self, word: &str) -> Vec<u8> {
        let dotted: Vec<char> = [".", &fold(word), "."].concat().chars().collect();
        let mut levels_of: HashMap<&[char], &[u8]> = HashMap::new();
        for pattern in self.iter() {
            levels_of.entry(pattern.letters).or_insert(pattern.levels);
        }
        // Levels of the word with its dots; the first and the last gap are outside the word.
        let mut levels = vec![0; dotted.len() + 1];
        for start in 0..dotted.len() {
            for end in start + 1..=dotted.len() {
                let found = levels_of.get(&dotted[start..end]).copied().unwrap_or(&[]);
                for (level, &other) in levels[start..].iter_mut().zip(found) {
                    *level = other.max(*level);
                }
            }
        }
        levels[1..dotted.len()].to_vec()
    }

    fn push(&mut self, entry: &tex::Entry<'_>) -> Result<(), ParseError> {
        let (first_letter, first_level) = (self.letters.len(), self.levels.len());
        let mut level = None;
        let mut after_end = false;
        // Words are composed before matching, so patterns must be as well; most files already are.
        let composed: Option<String> = (!entry.text.is_ascii()).then(|| entry.text.nfc().collect());
        for (index, c) in composed.as_deref().unwrap_or(&entry.text).chars().enumerate() {
            if let Some(digit) = c.to_digit(10) {
                if level.replace(digit as u8).is_some() {
                    return Err(entry.error(index, "a letter between two digits"));
                }
                continue;
            }
            let at_start = self.letters.len() == first_letter;
            if after_end || (c == '.' && at_start && level.is_some()) {
                return Err(entry.error(index.saturating_sub(1), DOT));
            }
            if c.is_control() || matches!(c, '^' | '\\' | '"' | '=' | ',' | ';' | ':') {
                return Err(entry.error(index, "a letter, a digit or a dot, in UTF-8"));
            }
            after_end = c == '.' && !at_start;
            // No word is divided before a mark, even if a pattern asks for it.
            let before = level.take().filter(|_| !is_combining_mark(c));
            self.levels.push(before.unwrap_or(0));
            self.letters.extend(c.to_lowercase().next().map(plain_apostrophe));
        }
        self.levels.push(level.unwrap_or(0));
        let letters = &self.letters[first_letter..];
        if letters.iter().all(|&letter| letter == '.') {
            return Err(entry.error(0, "at least one letter in a pattern"));
        }
        if after_end && level.is_some() {
            return Err(
                entry.error(entry.text.chars().count() - 1, "nothing after the closing dot")
            );
        }
        debug_assert_eq!(self.levels.len() - first_level, letters.len() + 1);
        self.ends.push(self.letters.len());
        Ok(())
    }

    /// The letters of all patterns, one after another.
    pub(crate) fn letters(&self) -> &[char] {
        &self.letters
    }

    /// All patterns, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Pattern<'_>> + '_ {
        let mut start = 0;
        self.ends.iter().enumerate().map(move |(index, &end)| {
            let letters = &self.letters[start..end];
            // Every earlier pattern has one level more than letters.
            let levels = &self.levels[start + index..end + index + 1];
            start = end;
            Pattern { letters, levels }
        })
    }
}

const EXPECTED: &str = "TeX patterns such as hy3ph";
const DOT: &str = "a dot only at an end of the pattern";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, Vec<u8>)> {
        let patterns = Patterns::parse(text).unwrap();
        let pairs = patterns.iter().map(|p| (p.letters.iter().collect(), p.levels.to_vec()));
        pairs.collect()
    }

    #[test]
    fn levels_are_those_between_letters() {
        let expected = [
            (String::from(".ach"), vec![0, 0, 0, 0, 4]),
            (String::from("bc."), vec![1, 0, 0, 0]),
            (String::from("héé"), vec![0, 0, 3, 2]),
        ];
        assert_eq!(parsed(".ach4 1bc.\nhé3e\u{301}2"), expected);
    }

    #[test]
    fn composed_patterns_take_precedence() {
        let patterns = Patterns::parse("ae\u{301}1 a1\u{e9} xe\u{301}1 2xe\u{301}").unwrap();
        assert_eq!(patterns.levels("a\u{e9}"), [0, 1, 0]);
        assert_eq!(patterns.levels("ae\u{301}"), [0, 1, 0]);
        assert_eq!(patterns.levels("x\u{e9}"), [0, 0, 1]);
    }

    #[test]
    fn errors_give_line_and_column() {
        let place = |text| {
            let error = Patterns::parse(text).unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(place("a1b a12b"), (1, 7));
        assert_eq!(place("a1b\n.a.b"), (2, 3));
        assert_eq!(place("1.a"), (1, 1));
        assert_eq!(place("ab.1"), (1, 4));
        assert_eq!(place(".."), (1, 1));
        assert_eq!(place("x 5"), (1, 3));
        assert_eq!(place("a^^e9"), (1, 2));
        // Not a file of patterns.
        assert_eq!(place(""), (1, 1));
        assert_eq!(place("% a comment\n"), (1, 1));
        assert_eq!(place("\n some words"), (2, 2));
        assert_eq!(place("\\hyphenation{ta-ble}"), (1, 1));
    }
}
