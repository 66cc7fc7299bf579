//! The languages whose patterns come with the library.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use crate::{Automaton, Exception, Patterns};

pub use table::Language;
use table::{EQUIVALENTS, FACTS, Facts, LANGUAGES};

impl Language {
    /// All languages.
    pub fn all() -> impl ExactSizeIterator<Item = Language> {
        LANGUAGES.iter().copied()
    }

    /// The language of a tag such as `de`, `en-GB`, `pt_BR` or `de-CH-1901`: its [code](Self::code),
    /// or any tag of BCP 47 that says no less. Capital letters and underscores do not matter.
    ///
    /// Of the languages all of whose subtags are in the tag, it is the one with the most; a region
    /// or a variety that is not known is passed over. A language with several varieties is the usual
    /// one if the tag does not tell: `en` is American English, `de` the spelling of 1996, `no`
    /// Bokmål, `el` monotonic, `sr` Serbo-Croatian in Cyrillic script.
    ///
    /// ```
    /// use crivo_hyphen::Language;
    ///
    /// assert_eq!(Language::from_code("en_US"), Ok(Language::EnglishUs));
    /// assert_eq!(Language::from_code("en"), Ok(Language::EnglishUs));
    /// assert_eq!(Language::from_code("en-AU"), Ok(Language::EnglishGb));
    /// assert_eq!(Language::from_code("de-AT-1901"), Ok(Language::German1901));
    /// assert_eq!(
    ///     Language::from_code("german").unwrap_err().to_string(),
    ///     "no language has the code \"german\"; the nearest is \"de-1996\" (German, spelling of 1996)"
    /// );
    /// ```
    ///
    /// # Errors
    /// If there is no such language: the error names the nearest one.
    pub fn from_code(code: &str) -> Result<Self, UnknownLanguage> {
        Self::find(code).ok_or_else(|| UnknownLanguage {
            code: code.to_string(),
            nearest: nearest(&normalized(code)),
        })
    }

    /// The language of a tag, if there is one.
    pub(crate) fn find(tag: &str) -> Option<Self> {
        let tag = normalized(tag);
        let subtags: Vec<&str> = tag.split('-').collect();
        let (first, others) = subtags.split_first()?;
        let says = |tag: &str| {
            let mut wanted = tag.split('-');
            wanted.next() == Some(first) && wanted.all(|subtag| others.contains(&subtag))
        };
        let codes = Self::all().map(|language| (language.code(), language));
        let found = codes.chain(EQUIVALENTS.iter().copied()).filter(|(tag, _)| says(tag));
        found.max_by_key(|(tag, _)| tag.split('-').count()).map(|(_, language)| language)
    }

    /// The code of the language: hyph-utf8's, which follows BCP 47.
    pub fn code(self) -> &'static str {
        self.facts().code
    }

    /// The name of the language.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// How many letters stand at least before a break and after it.
    pub fn minima(self) -> (usize, usize) {
        self.facts().minima
    }

    /// The licence of the patterns: its name, as `data/README.md` of the source explains it.
    pub fn licence(self) -> &'static str {
        self.facts().licence
    }

    /// Title, authors, copyright and licence of the patterns, as the head of their file states them:
    /// what most of the licences ask to be handed on with the patterns, and so with a program that
    /// has them in it. Texts of licences that it only names are in `data/licences` of the source.
    ///
    /// ```
    /// use crivo_hyphen::Language;
    ///
    /// assert!(Language::French.notice().contains("Permission is hereby granted"));
    /// ```
    pub fn notice(self) -> &'static str {
        self.facts().notice
    }

    /// Whether a list of exceptions comes with the patterns.
    pub fn has_exceptions(self) -> bool {
        self.facts().has_exceptions
    }

    /// The patterns of the language.
    pub fn patterns(self) -> Patterns {
        patterns_in(&self.packed_texts())
    }

    /// The exceptions of the language: those of the pattern file, then, for American English, those
    /// of TUGboat's list. Where a word stands in both, the later entry holds.
    pub fn exceptions(self) -> Vec<Exception> {
        exceptions_in(&self.packed_texts())
    }

    /// The automaton of the language with its exceptions folded in. It is built when it is first
    /// asked for, and then kept.
    pub fn automaton(self) -> Arc<Automaton> {
        static AUTOMATA: [OnceLock<Arc<Automaton>>; LANGUAGES.len()] =
            [const { OnceLock::new() }; LANGUAGES.len()];
        Arc::clone(AUTOMATA[self as usize].get_or_init(|| Arc::new(self.build_automaton())))
    }

    /// A new automaton of the language, which is not kept.
    pub fn build_automaton(self) -> Automaton {
        let texts = self.packed_texts();
        Automaton::with_exceptions(&patterns_in(&texts), &exceptions_in(&texts))
    }

    /// The source files, unpacked: the patterns first, then lists of exceptions, each after a zero
    /// byte.
    fn packed_texts(self) -> String {
        // A test compares the unpacked data of every language with the source files.
        let bytes = miniz_oxide::inflate::decompress_to_vec(self.facts().packed)
            .expect("packed data are whole");
        String::from_utf8(bytes).expect("packed data are text")
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }
}

// A test parses the data of every language.
fn patterns_in(texts: &str) -> Patterns {
    let text = texts.split('\0').next().unwrap_or("");
    Patterns::parse(text).expect("packed patterns are well-formed")
}

fn exceptions_in(texts: &str) -> Vec<Exception> {
    let parse = |text| Exception::parse_list(text).expect("packed exceptions are well-formed");
    texts.split('\0').skip(1).flat_map(parse).collect()
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(code: &str) -> Result<Self, UnknownLanguage> {
        Self::from_code(code)
    }
}

fn normalized(tag: &str) -> String {
    tag.to_ascii_lowercase().replace('_', "-")
}

/// A code that no language has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownLanguage {
    /// The code that was given.
    pub code: String,
    /// The language whose code or name is most like it.
    pub nearest: Language,
}

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, nearest } = self;
        let (nearest, name) = (nearest.code(), nearest.name());
        write!(f, "no language has the code {code:?}; the nearest is {nearest:?} ({name})")
    }
}

impl std::error::Error for UnknownLanguage {}

/// The language whose code, or else whose name, begins alike or can be typed with the fewest
/// changes.
fn nearest(wanted: &str) -> Language {
    let distance = |language: &Language| {
        let name = language.name().to_lowercase();
        let begins = !wanted.is_empty()
            && (language.code().split('-').next() == wanted.split('-').next()
                || name.starts_with(wanted));
        let changes = changes(wanted, language.code()).min(changes(wanted, &name));
        (!begins, changes)
    };
    LANGUAGES.iter().copied().min_by_key(distance).unwrap_or(Language::EnglishUs)
}

/// Levenshtein's distance.
fn changes(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
