//! The hyphenator: a language's rules, its exceptions, and the caller's wishes.

use std::fmt;
use std::sync::Arc;

use crate::fold::{Folded, fold};
use crate::{Automaton, Breaks, Patterns};

/// Words whose breaks are known, asked before the patterns: a map, a store on disk behind a filter.
pub trait Exceptions: Send + Sync {
    /// The listed breaks of a [folded](crate::fold()) word, as byte offsets into it, or `None` for
    /// a word that is not listed. `Some` of no breaks at all is a word never to be divided.
    fn find(&self, folded: &str) -> Option<Breaks>;
}

/// Finds where words of one language may be divided.
///
/// A clone is cheap: it shares the automaton.
///
/// ```
/// use crivo_hyphen::{Hyphenator, Language};
///
/// let english = Hyphenator::new(Language::EnglishUs);
/// assert_eq!(english.hyphenate("hyphenation", "-"), "hy-phen-a-tion");
/// assert_eq!(english.hyphenate("MASSACHUSETTS", "-"), "MASS-A-CHU-SETTS");
/// assert_eq!(english.hyphenate("42", "-"), "42");
/// ```
#[derive(Clone)]
pub struct Hyphenator {
    automaton: Arc<Automaton>,
    exceptions: Vec<Arc<dyn Exceptions>>,
    limits: Limits,
}

/// What the caller asks of every break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Letters before a break, at least 1.
    pub left: usize,
    /// Letters after a break, at least 1.
    pub right: usize,
    /// Letters of a word that is divided at all.
    pub min_word_length: usize,
    /// Whether the first two hold for exceptions, too.
    pub clip_exceptions: bool,
}

impl Hyphenator {
    /// The rules, exceptions and minima of a language.
    ///
    /// The first hyphenator of a language builds its automaton, which takes some milliseconds;
    /// later ones share it.
    #[cfg(feature = "languages")]
    pub fn new(language: crate::Language) -> Self {
        let (left, right) = language.minima();
        let mut hyphenator = Self::from_automaton(language.automaton());
        hyphenator.limits = Limits { left, right, ..hyphenator.limits };
        hyphenator
    }

    /// Patterns of the caller's own, without exceptions. The minima are 2 letters before a break
    /// and 3 after it, as in TeX, unless [`with_minima`](Self::with_minima) says otherwise.
    pub fn from_patterns(patterns: &Patterns) -> Self {
        Self::from_automaton(Automaton::new(patterns))
    }

    /// An automaton of the caller's own, with the exceptions folded into it and the minima of
    /// [`from_patterns`](Self::from_patterns).
    pub fn from_automaton(automaton: impl Into<Arc<Automaton>>) -> Self {
        let limits = Limits { left: 2, right: 3, min_word_length: 0, clip_exceptions: false };
        Self { automaton: automaton.into(), exceptions: Vec::new(), limits }
    }

    /// Asks for at least `left` letters before a break and `right` after it, also of exceptions.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let careful = Hyphenator::new(Language::EnglishUs).with_minima(3, 4);
    /// assert_eq!(careful.hyphenate("hyphenation", "-"), "hyphen-a-tion");
    /// ```
    pub fn with_minima(mut self, left: usize, right: usize) -> Self {
        let (left, right) = (left.max(1), right.max(1));
        self.limits = Limits { left, right, clip_exceptions: true, ..self.limits };
        self
    }

    /// Leaves words of fewer letters undivided.
    pub fn with_min_word_length(mut self, letters: usize) -> Self {
        self.limits.min_word_length = letters;
        self
    }

    /// Holds exceptions to the minima of the language, as TeX does. Otherwise they are used exactly
    /// as listed, unless the caller [sets minima](Self::with_minima).
    pub fn with_clipped_exceptions(mut self) -> Self {
        self.limits.clip_exceptions = true;
        self
    }

    /// Adds exceptions, which override all that were added or folded in before.
    pub fn with_exceptions(mut self, exceptions: impl Exceptions + 'static) -> Self {
        self.exceptions.push(Arc::new(exceptions));
        self
    }

    /// How many letters must stand before a break and after it.
    pub fn minima(&self) -> (usize, usize) {
        (self.limits.left, self.limits.right)
    }

    /// Where `word` may be divided.
    ///
    /// The word is taken as one string: it is for the text layer to cut words at hyphens and
    /// apostrophes first. What has no letters has no breaks.
    pub fn breaks(&self, word: &str) -> Breaks {
        if !self.exceptions.is_empty()
            && let Some(listed) = self.listed(word)
        {
            return listed;
        }
        self.automaton.breaks_within(word, &self.limits)
    }

    /// The word with `separator` at every break.
    pub fn hyphenate(&self, word: &str, separator: &str) -> String {
        self.breaks(word).join(word, separator)
    }

    /// Appends the word to `text`, with `separator` at every break: [`hyphenate`](Self::hyphenate)
    /// without a new string.
    pub fn hyphenate_into(&self, word: &str, separator: &str, text: &mut String) {
        self.breaks(word).join_into(word, separator, text);
    }

    /// The breaks that an exception lists, the latest list first.
    fn listed(&self, word: &str) -> Option<Breaks> {
        let folded = fold(word);
        let breaks = self.exceptions.iter().rev().find_map(|list| list.find(&folded))?;
        let plain = word.is_ascii();
        // Folding keeps the length of ASCII; of other words it tells where the letters came from.
        let origins = (!plain).then(|| Folded::new(word));
        let letters = origins.as_ref().map_or(word.len(), |folded| folded.letters.len());
        if letters < self.limits.min_word_length {
            return Some(Breaks::new());
        }
        let kept = |offset: usize| match &origins {
            None => self.limits.allow_listed(offset, letters).then_some(offset),
            Some(folded) => {
                let index = folded.index_of(offset)?;
                folded.letters[index].1.filter(|_| self.limits.allow_listed(index, letters))
            }
        };
        Some(breaks.iter().filter_map(kept).collect())
    }
}

impl Limits {
    /// The gaps of a word of so many letters, at most 64, that the minima allow, as bits.
    #[inline]
    pub fn mask(&self, letters: usize) -> u64 {
        match letters.checked_sub(self.right) {
            Some(last) if self.left <= last && last < 64 => {
                (u64::MAX << self.left) & (u64::MAX >> (63 - last))
            }
            _ => 0,
        }
    }

    /// Whether an exception of so many letters may be divided before letter `index`.
    pub fn allow_listed(&self, index: usize, letters: usize) -> bool {
        let inside = 0 < index && index < letters;
        let allowed = self.left <= index && index + self.right <= letters;
        inside && (allowed || !self.clip_exceptions)
    }
}

impl fmt::Debug for Hyphenator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hyphenator")
            .field("automaton", &self.automaton)
            .field("exceptions", &self.exceptions.len())
            .field("limits", &self.limits)
            .finish()
    }
}
