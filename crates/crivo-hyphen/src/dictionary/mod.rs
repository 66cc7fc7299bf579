//! Dictionaries of LibreOffice: `hyph_*.dic`.
//!
//! They are patterns with four additions: a declared encoding, minima, a first level of patterns that
//! finds the parts of compound words, and breaks that change the spelling.
//!
//! ```text
//!   UTF-8                      the encoding
//!   LEFTHYPHENMIN 2            letters before the first break
//!   COMPOUNDRIGHTHYPHENMIN 2   letters after a break in a part of a compound word
//!   1-1                        first level: parts of compound words
//!   NEXTLEVEL
//!   1ba                        second level: breaks in the parts
//!   s3sz/sz=,1,1               "ssz" becomes "sz-sz": from the first letter on, one is replaced
//! ```
//!
//! Files are prepared so that the longest pattern at a place says everything that shorter ones would
//! say: only that one is applied, which differs from TeX.

mod level;
mod parse;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use unicode_normalization::char::is_combining_mark;

use crate::fold::{Folded, plain_apostrophe};
use crate::{ParseError, ReadError};

use level::{Gap, Level};

/// A dictionary of LibreOffice.
///
/// ```
/// use crivo_hyphen::{Dictionary, Hyphenator};
///
/// let text = "UTF-8\n1to\ns3sz/sz=,1,1\nn3ny/ny=,1,1\n";
/// let hungarian = Hyphenator::from_dictionary(Dictionary::parse(text.as_bytes())?);
/// assert_eq!(hungarian.hyphenate("asszonnyal", "-"), "asz-szony-nyal");
/// // A soft hyphen is not visible at other places, where the spelling must not change.
/// assert_eq!(hungarian.hyphenate("asszonnyalto", "\u{ad}"), "asszonnyal\u{ad}to");
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dictionary {
    /// The patterns for parts of compound words, if they are not in use by default.
    compounds: Level,
    parts: Level,
    minima: (usize, usize),
    compound_minima: (usize, usize),
    /// No break is beside one of these.
    unbroken: Vec<Vec<char>>,
    /// Whether letters beyond ASCII are several bytes.
    is_utf8: bool,
}

/// A place where a word may be divided, and how its spelling changes there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakPoint {
    /// The offset in bytes.
    pub offset: usize,
    /// The change of the spelling, if there is one.
    pub change: Option<SpellingChange>,
}

/// Letters around a break that are written differently if the word is divided there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpellingChange {
    /// The bytes of the word that are replaced.
    pub replaced: Range<usize>,
    /// What is written before the break.
    pub before: String,
    /// What is written after it.
    pub after: String,
}

impl BreakPoint {
    /// A break that does not change the spelling.
    pub(crate) fn plain(offset: usize) -> Self {
        Self { offset, change: None }
    }

    /// The bytes that are replaced at the break, what is written before it, and what after it.
    pub(crate) fn parts(&self) -> (Range<usize>, &str, &str) {
        match &self.change {
            None => (self.offset..self.offset, "", ""),
            Some(change) => (change.replaced.clone(), &change.before, &change.after),
        }
    }
}

impl Dictionary {
    /// Reads the content of a file, in the encoding that its first line names.
    ///
    /// # Errors
    /// If the encoding is unknown, or there are no patterns.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        parse::parse(bytes)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, its encoding is unknown, or it has no patterns.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|error| ReadError::Io { file: path.to_owned(), error })?;
        Self::parse(&bytes).map_err(|error| error.in_file(path).into())
    }

    /// The minimum number of letters before and after a break.
    pub fn minima(&self) -> (usize, usize) {
        self.minima
    }

    /// Whether patterns contain the middle dot, as in Catalan.
    pub(crate) fn has_middle_dots(&self) -> bool {
        self.parts.has_letter('\u{b7}')
    }

    /// The places where a word may be divided, in ascending order.
    pub fn break_points(&self, word: &str) -> Vec<BreakPoint> {
        let (letters, origins) = self.letters(word);
        let origin = |index: usize| match origins.get(index) {
            Some(&origin) => origin,
            None => Some(word.len()),
        };
        let mut gaps = self.gaps(&letters, true, true);
        clip_start(&letters, &mut gaps, self.minima.0);
        self.clip_end(&letters, &mut gaps, self.minima.1);
        self.clear_unbroken(&letters, &mut gaps);
        let found = gaps.iter().enumerate().filter(|(_, gap)| gap.level % 2 == 1);
        let point = |(index, gap): (usize, &Gap)| {
            let offset = origin(index).filter(|&offset| 0 < offset && offset < word.len())?;
            let Some(change) = &gap.change else { return Some(BreakPoint::plain(offset)) };
            let replaced = origin(change.start)?..origin(change.start + change.length)?;
            let text = word.get(replaced.clone())?;
            let (before, after) = change.text.split_once('=')?;
            let before = with_case_of(word, text, before, true);
            let after = with_case_of(word, text, after, false);
            Some(BreakPoint { offset, change: Some(SpellingChange { replaced, before, after }) })
        };
        found.filter_map(point).collect()
    }

    /// The letters of a word and their offsets. Patterns are not composed, and may have ligatures: a word
    /// is folded only if it has characters beyond ASCII that they do not have.
    fn letters(&self, word: &str) -> (Vec<char>, Vec<Option<usize>>) {
        let known = word.char_indices().map(|(offset, c)| {
            let mut lower = c.to_lowercase().map(plain_apostrophe);
            let is_known = |letter: &char| letter.is_ascii() || self.parts.has_letter(*letter);
            let letter = lower.next().filter(is_known)?;
            let origin = (!is_combining_mark(c)).then_some(offset);
            lower.next().is_none().then_some((letter, origin))
        });
        known.collect::<Option<Vec<_>>>().map_or_else(
            || {
                let folded = Folded::new(word);
                let origins = folded.letters.iter().map(|&(_, origin)| origin).collect();
                (folded.text.chars().collect(), origins)
            },
            |known| known.into_iter().unzip(),
        )
    }

    /// The gaps of a word: gap i is before letter i. `begins` and `ends` are whether the word begins
    /// and ends here, or only a part of it.
    fn gaps(&self, word: &[char], begins: bool, ends: bool) -> Vec<Gap> {
        let mut gaps = self.compounds.gaps(word);
        let mut begin = 0;
        for end in 1..=word.len() {
            let is_boundary = gaps[end].level % 2 == 1;
            let is_last = begin > 0 && end == word.len();
            if !(is_boundary || is_last) {
                continue;
            }
            if end - begin > 1 {
                let mut part = word[begin..end].to_vec();
                // A part in its own spelling, such as "schiff" in "Schiffahrt".
                if let Some(change) = gaps[end].change.as_ref().filter(|_| is_boundary)
                    && let Some((before, _)) = change.text.split_once('=')
                {
                    part.truncate(change.start.saturating_sub(begin));
                    part.extend(before.chars());
                }
                let inner = self.gaps(&part, begins && begin == 0, ends && !is_boundary);
                for (index, gap) in inner.into_iter().enumerate().take(end - begin).skip(1) {
                    gaps[begin + index] = gap.moved(begin);
                }
            }
            begin = end;
        }
        if begin == 0 {
            gaps = self.parts.gaps(word);
            if !begins {
                clip_start(word, &mut gaps, self.compound_minima.0);
            }
            if !ends {
                self.clip_end(word, &mut gaps, self.compound_minima.1);
            }
        }
        gaps
    }

    fn clear_unbroken(&self, word: &[char], gaps: &mut [Gap]) {
        for sign in &self.unbroken {
            for start in (0..word.len()).filter(|&start| word[start..].starts_with(sign)) {
                gaps[start] = Gap::default();
                gaps[start + sign.len()] = Gap::default();
            }
        }
    }

    /// Removes breaks with fewer than `min` letters after them, counted in the changed spelling.
    ///
    /// As in libhyphen, which leaves out the first byte of a word, a break after a first letter of one
    /// byte stays.
    fn clip_end(&self, word: &[char], gaps: &mut [Gap], min: usize) {
        let is_wide = self.is_utf8 && word.first().is_some_and(|letter| !letter.is_ascii());
        let first = (word.len() + 1).saturating_sub(min).max(if is_wide { 1 } else { 2 });
        for gap in gaps.iter_mut().take(word.len() + 1).skip(first) {
            let kept = gap.change.as_ref().is_some_and(|change| {
                let after = change.text.split('=').nth(1).unwrap_or_default();
                let rest = word.len().saturating_sub(change.start + change.length);
                rest + after.chars().count() >= min
            });
            if !kept {
                *gap = Gap::default();
            }
        }
    }
}

/// Removes breaks with fewer than `min` letters before them, counted in the changed spelling.
fn clip_start(word: &[char], gaps: &mut [Gap], min: usize) {
    for (index, gap) in gaps.iter_mut().enumerate().take(min.min(word.len())) {
        let kept = gap.change.as_ref().is_some_and(|change| {
            let before = change.text.split('=').next().unwrap_or_default();
            change.start + before.chars().count() >= min
        });
        if index > 0 && !kept {
            *gap = Gap::default();
        }
    }
}

/// A changed spelling with the letter case of what it replaces in a word.
fn with_case_of(word: &str, replaced: &str, changed: &str, is_first: bool) -> String {
    let is_small = |c: char| c.is_alphabetic() && !c.is_uppercase();
    let is_capital = replaced.starts_with(char::is_uppercase);
    if is_capital && !word.contains(is_small) {
        return changed.to_uppercase();
    }
    let mut rest = changed.chars();
    match rest.next() {
        Some(first) if is_capital && is_first => {
            first.to_uppercase().collect::<String>() + rest.as_str()
        }
        _ => changed.to_owned(),
    }
}
