//! The hyphenator: patterns, exceptions and limits.

use std::fmt;
use std::sync::Arc;

use crate::fold::{Folded, fold};
use crate::limits::Limits;
use crate::{Automaton, BreakPoint, Breaks, Dictionary, Patterns};

/// Words with listed breaks, which take precedence over the patterns: a map, or a store on disk.
pub trait Exceptions: Send + Sync {
    /// The listed breaks of a [folded](crate::fold()) word, as byte offsets into it, or `None` if the
    /// word is not listed. A word with an empty set of breaks is never divided.
    fn find(&self, folded: &str) -> Option<Breaks>;
}

/// Finds where words of one language may be divided.
///
/// Cloning is cheap: clones share the automaton.
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
    /// Instead of the automaton, which is empty then.
    dictionary: Option<Arc<Dictionary>>,
    /// Whether the automaton decides alone.
    is_plain: bool,
    skips_capitalised: bool,
    limits: Limits,
}

impl Hyphenator {
    /// A hyphenator with the patterns, exceptions and minima of a language.
    ///
    /// The first hyphenator of a language builds the automaton, which takes some milliseconds; later
    /// ones share it.
    #[cfg(feature = "languages")]
    pub fn new(language: crate::Language) -> Self {
        let (left, right) = language.minima();
        Self::from_automaton(language.automaton()).with_default_minima(left, right)
    }

    /// A hyphenator with your own patterns and no exceptions. The minima are 2 letters before a break
    /// and 3 after it, as in TeX, unless set by [`with_minima`](Self::with_minima).
    pub fn from_patterns(patterns: &Patterns) -> Self {
        Self::from_automaton(Automaton::new(patterns))
    }

    /// A hyphenator with your own automaton, including its folded exceptions, and the minima of
    /// [`from_patterns`](Self::from_patterns).
    pub fn from_automaton(automaton: impl Into<Arc<Automaton>>) -> Self {
        let limits = Limits { left: 2, right: 3, min_word_length: 0, clip_exceptions: false };
        Self {
            automaton: automaton.into(),
            exceptions: Vec::new(),
            dictionary: None,
            is_plain: true,
            skips_capitalised: false,
            limits,
        }
    }

    /// A hyphenator with a dictionary of LibreOffice and its minima.
    pub fn from_dictionary(dictionary: impl Into<Arc<Dictionary>>) -> Self {
        let dictionary = dictionary.into();
        let (left, right) = dictionary.minima();
        let mut hyphenator = Self::from_patterns(&Patterns::default());
        hyphenator = hyphenator.with_default_minima(left, right);
        Self { dictionary: Some(dictionary), is_plain: false, ..hyphenator }
    }

    /// Minima that do not apply to exceptions.
    pub(crate) fn with_default_minima(mut self, left: usize, right: usize) -> Self {
        self.limits = Limits { left: left.max(1), right: right.max(1), ..self.limits };
        self
    }

    /// Requires at least `left` letters before a break and `right` letters after it, also in
    /// exceptions.
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

    /// Does not divide words of fewer letters.
    pub fn with_min_word_length(mut self, letters: usize) -> Self {
        self.limits.min_word_length = letters;
        self
    }

    /// Does not divide words of running text that begin with a capital letter, such as names.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let english = Hyphenator::new(Language::EnglishUs).skipping_capitalised();
    /// assert_eq!(english.hyphenate_text("Massachusetts hyphenation", "-"),
    ///     "Massachusetts hy-phen-a-tion");
    /// ```
    pub fn skipping_capitalised(mut self) -> Self {
        self.skips_capitalised = true;
        self
    }

    #[inline]
    pub(crate) fn skips_capitalised(&self) -> bool {
        self.skips_capitalised
    }

    /// Applies the minima of the language to exceptions, as TeX does. By default exceptions are used
    /// exactly as listed, as LuaTeX does, unless you [set minima](Self::with_minima).
    pub fn with_clipped_exceptions(mut self) -> Self {
        self.limits.clip_exceptions = true;
        self
    }

    /// Adds exceptions, which override those that were added or folded in before.
    pub fn with_exceptions(mut self, exceptions: impl Exceptions + 'static) -> Self {
        self.exceptions.push(Arc::new(exceptions));
        self.is_plain = false;
        self
    }

    /// The minimum number of letters before and after a break.
    pub fn minima(&self) -> (usize, usize) {
        (self.limits.left, self.limits.right)
    }

    /// Where `word` may be divided without a change of its spelling.
    ///
    /// The word is not split further: the functions for [text](crate::text) split at hyphens, and at
    /// apostrophes unless they [join](Self::joins_apostrophes). A string without letters has no
    /// breaks.
    #[inline]
    pub fn breaks(&self, word: &str) -> Breaks {
        match self.is_plain {
            true => self.automaton.breaks_within(word, &self.limits),
            false => self.breaks_of_all(word),
        }
    }

    /// The breaks by added exceptions, a dictionary, or the automaton.
    #[inline(never)]
    fn breaks_of_all(&self, word: &str) -> Breaks {
        if let Some(listed) = self.added(word) {
            return listed;
        }
        if self.dictionary.is_none() {
            return self.automaton.breaks_within(word, &self.limits);
        }
        let points = self.dictionary_points(word);
        points.iter().filter(|point| point.change.is_none()).map(|point| point.offset).collect()
    }

    /// Where `word` may be divided, and how its spelling changes there. Only dictionaries of
    /// LibreOffice change it.
    ///
    /// ```
    /// use crivo_hyphen::{Dictionary, Hyphenator};
    ///
    /// let dictionary = Dictionary::parse(b"UTF-8\nc3k/k=,1,1\n")?;
    /// let german = Hyphenator::from_dictionary(dictionary);
    /// let points = german.break_points("Zucker");
    /// assert_eq!(points[0].offset, 3);
    /// let change = points[0].change.as_ref().expect("c becomes k");
    /// assert_eq!((change.replaced.clone(), &*change.before, &*change.after), (2..3, "k", ""));
    /// assert_eq!(german.hyphenate("Zucker", "-"), "Zuk-ker");
    /// # Ok::<(), crivo_hyphen::ParseError>(())
    /// ```
    pub fn break_points(&self, word: &str) -> Vec<BreakPoint> {
        if self.dictionary.is_some() && self.added(word).is_none() {
            return self.dictionary_points(word);
        }
        let breaks = self.breaks(word);
        breaks.inside(word).map(BreakPoint::plain).collect()
    }

    /// The breaks of the dictionary that the limits allow.
    fn dictionary_points(&self, word: &str) -> Vec<BreakPoint> {
        let Some(dictionary) = &self.dictionary else { return Vec::new() };
        let mut points = dictionary.break_points(word);
        let count = |text: &str| fold(text).chars().count();
        if self.limits.clip_exceptions {
            points.retain(|point| {
                let (before, after) = match &point.change {
                    None => (count(&word[..point.offset]), count(&word[point.offset..])),
                    Some(change) => (
                        count(&word[..change.replaced.start]) + count(&change.before),
                        count(&change.after) + count(&word[change.replaced.end..]),
                    ),
                };
                self.limits.left <= before && self.limits.right <= after
            });
        }
        if count(word) < self.limits.min_word_length {
            points.clear();
        }
        points
    }

    /// The breaks of a word that are written with this separator: all of them, unless some change the
    /// spelling, which a soft hyphen cannot express.
    #[inline]
    pub(crate) fn for_each_point(
        &self,
        word: &str,
        separator: &[u8],
        mut found: impl FnMut(BreakPoint),
    ) {
        if self.dictionary.is_some() && !is_soft(separator) {
            return self.break_points(word).into_iter().for_each(found);
        }
        let breaks = self.breaks(word);
        breaks.inside(word).for_each(|offset| found(BreakPoint::plain(offset)));
    }

    /// The word with `separator` at every break. A break that changes the spelling is written in that
    /// spelling, or left out if the separator is a soft hyphen (U+00AD or `&shy;`).
    pub fn hyphenate(&self, word: &str, separator: &str) -> String {
        let mut text = String::new();
        self.hyphenate_into(word, separator, &mut text);
        text
    }

    /// Appends the word to `text`, with `separator` at every break: [`hyphenate`](Self::hyphenate)
    /// without a new string.
    pub fn hyphenate_into(&self, word: &str, separator: &str, text: &mut String) {
        if self.dictionary.is_none() || is_soft(separator.as_bytes()) {
            return self.breaks(word).join_into(word, separator, text);
        }
        let mut copied = 0;
        for point in self.break_points(word) {
            let (range, before, after) = point.parts();
            if range.start >= copied {
                text.extend([&word[copied..range.start], before, separator, after]);
                copied = range.end;
            }
        }
        text.push_str(&word[copied..]);
    }

    /// Whether words with apostrophes inside are matched as one word, because the patterns contain
    /// apostrophes: as in Italian, French or Ukrainian.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let italian = Hyphenator::new(Language::Italian);
    /// assert!(italian.joins_apostrophes());
    /// assert_eq!(italian.hyphenate_text("dell’amore", "-"), "del-l’a-mo-re");
    /// ```
    pub fn joins_apostrophes(&self) -> bool {
        self.automaton.has_apostrophes() || self.dictionary.is_some()
    }

    /// Whether this sign between two letters is matched as a part of their word: an apostrophe, or the
    /// middle dot of Catalan.
    pub(crate) fn joins(&self, sign: char) -> bool {
        match sign {
            '\'' | '\u{2019}' => self.joins_apostrophes(),
            '\u{b7}' => {
                let dictionary = self.dictionary.as_ref();
                self.automaton.has_middle_dots()
                    || dictionary.is_some_and(|dictionary| dictionary.has_middle_dots())
            }
            _ => false,
        }
    }

    /// The breaks of a word that is an exception.
    pub(crate) fn listed(&self, word: &str) -> Option<Breaks> {
        self.added(word).or_else(|| self.automaton.listed_within(word, &self.limits))
    }

    /// The breaks of an added exception; later lists take precedence.
    #[inline(never)]
    fn added(&self, word: &str) -> Option<Breaks> {
        let find = |folded: &str| self.exceptions.iter().rev().find_map(|list| list.find(folded));
        if word.is_ascii() {
            // Folding keeps every letter in its place.
            let breaks = find(&fold(word))?;
            let allowed = |&index: &usize| self.limits.allow_listed(index, word.len());
            return Some(breaks.iter().filter(allowed).collect());
        }
        let folded = Folded::new(word);
        let breaks = find(&folded.text)?;
        let origin = |offset| folded.letters[folded.index_of(offset)?].1;
        let origins = breaks.iter().filter_map(origin).collect();
        Some(self.automaton.letters(word).allowed(&origins, &self.limits))
    }
}

/// Whether a separator is invisible where the word is not divided, also in other encodings.
fn is_soft(separator: &[u8]) -> bool {
    matches!(separator, b"\xc2\xad" | b"\xad" | b"&shy;" | b"&#173;" | b"&#xad;" | b"&#xAD;")
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::Exception;

    struct List(HashMap<String, Breaks>);

    impl List {
        fn new(text: &str) -> Self {
            let list = Exception::parse_list(text).unwrap();
            Self(list.iter().map(|e| (e.word().to_string(), e.breaks().clone())).collect())
        }
    }

    impl Exceptions for List {
        fn find(&self, folded: &str) -> Option<Breaks> {
            self.0.get(folded).cloned()
        }
    }

    /// Divides before every letter.
    fn eager() -> Hyphenator {
        let patterns = Patterns::parse("1a 1b 1c 1d 1é").unwrap();
        Hyphenator::from_patterns(&patterns)
    }

    #[test]
    fn minima_apply_to_patterns_and_on_request_to_exceptions() {
        let plain = eager();
        assert_eq!(plain.hyphenate("abcdab", "-"), "ab-c-dab");
        assert_eq!(plain.clone().with_minima(1, 1).hyphenate("abcda", "-"), "a-b-c-d-a");
        assert_eq!(plain.clone().with_minima(0, 9).hyphenate("abcda", "-"), "abcda");
        let listed = plain.with_exceptions(List::new("a-bcdab-a"));
        assert_eq!(listed.hyphenate("abcdaba", "-"), "a-bcdab-a");
        assert_eq!(listed.clone().with_clipped_exceptions().hyphenate("abcdaba", "-"), "abcdaba");
        assert_eq!(listed.clone().with_minima(1, 3).hyphenate("abcdaba", "-"), "a-bcdaba");
        let boundless = listed.clone().with_minima(1, usize::MAX);
        assert_eq!(boundless.hyphenate("abcdaba", "-"), "abcdaba");
        assert_eq!(boundless.hyphenate("éabcd", "-"), "éabcd");
        assert_eq!(listed.with_min_word_length(8).hyphenate("abcdaba", "-"), "abcdaba");
    }

    #[test]
    fn short_words_can_stay_undivided() {
        let hyphenator = eager().with_minima(1, 1).with_min_word_length(4);
        assert_eq!(hyphenator.hyphenate("abc", "-"), "abc");
        assert_eq!(hyphenator.hyphenate("abcd", "-"), "a-b-c-d");
        // Letters are counted, not bytes.
        assert_eq!(hyphenator.hyphenate("éé", "-"), "éé");
        assert_eq!(
            hyphenator.hyphenate("e\u{301}a\u{302}\u{323}b", "-"),
            "e\u{301}a\u{302}\u{323}b"
        );
    }

    #[test]
    fn later_lists_override_earlier_ones() {
        let automaton = {
            let patterns = Patterns::parse("1a 1b").unwrap();
            let folded = Exception::parse_list("abab baba bbbb").unwrap();
            Automaton::with_exceptions(&patterns, &folded)
        };
        let hyphenator = Hyphenator::from_automaton(automaton)
            .with_exceptions(List::new("ba-ba bb-bb"))
            .with_exceptions(List::new("bbb-b"));
        let words = ["abab", "baba", "bbbb", "BBBB", "aaaaa"];
        let divided = words.map(|word| hyphenator.hyphenate(word, "-"));
        assert_eq!(divided, ["abab", "ba-ba", "bbb-b", "BBB-B", "aa-aaa"].map(String::from));
    }

    #[test]
    fn exceptions_are_found_in_every_case_and_form() {
        let hyphenator = eager().with_exceptions(List::new("é-té straß-e"));
        for (word, expected) in [
            ("ÉTÉ", "É-TÉ"),
            ("e\u{301}te\u{301}", "e\u{301}-te\u{301}"),
            ("E\u{301}TÉ", "E\u{301}-TÉ"),
            ("STRA\u{1e9e}E", "STRA\u{1e9e}-E"),
        ] {
            assert_eq!(hyphenator.hyphenate(word, "-"), expected);
        }
    }

    #[test]
    fn text_that_is_not_a_word_is_returned_unchanged() {
        for text in
            ["", " ", "-", "42", "3.14", "a", "é", "\u{301}", "\u{ad}", "…", "\u{1f980}\u{1f980}"]
        {
            assert_eq!(eager().hyphenate(text, "-"), text);
        }
    }
}
