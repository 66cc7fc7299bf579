//! The languages whose patterns are included.

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
    /// or a BCP 47 tag that contains it. Letter case does not matter, and `_` is read as `-`.
    ///
    /// Of the languages all of whose subtags are in the tag, it is the one with the most subtags;
    /// an unknown region or variant is ignored. If the tag does not name a variant, it means the
    /// usual one: `en` is American English, `de` the spelling of 1996, `no`
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
    /// assert_eq!(
    ///     Language::from_code("qqq").unwrap_err().to_string(),
    ///     "no language has the code \"qqq\""
    /// );
    /// ```
    ///
    /// # Errors
    /// If there is no such language: the error names the nearest one, if one is near.
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

    /// The minimum number of letters before and after a break.
    pub fn minima(self) -> (usize, usize) {
        self.facts().minima
    }

    /// The name of the patterns' licence; `data/README.md` in the source explains the names.
    pub fn licence(self) -> &'static str {
        self.facts().licence
    }

    /// Title, authors, copyright and licence of the patterns, from the head of their file. Most of
    /// the licences require this notice to be distributed with the patterns, and so with a program
    /// that contains them. Licence texts that a notice only refers to are in `data/licences` of the
    /// source.
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
    /// of TUGboat's list. If a word is in both, the later entry applies.
    pub fn exceptions(self) -> Vec<Exception> {
        exceptions_in(&self.packed_texts())
    }

    /// The automaton of the language with its exceptions folded in. It is built at the first call
    /// and shared afterwards.
    pub fn automaton(self) -> Arc<Automaton> {
        static AUTOMATA: [OnceLock<Arc<Automaton>>; LANGUAGES.len()] =
            [const { OnceLock::new() }; LANGUAGES.len()];
        Arc::clone(AUTOMATA[self as usize].get_or_init(|| Arc::new(self.build_automaton())))
    }

    /// A new automaton of the language, which is not shared.
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

/// There is no language with this code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no language has the code {code:?}{}", suggestion(*nearest))]
#[non_exhaustive]
pub struct UnknownLanguage {
    /// The requested code.
    pub code: String,
    /// The language with the most similar code or name, if one is similar.
    pub nearest: Option<Language>,
}

fn suggestion(nearest: Option<Language>) -> String {
    nearest.map_or_else(String::new, |language| {
        format!("; the nearest is {:?} ({})", language.code(), language.name())
    })
}

/// The language whose code or name has the same beginning, or else the smallest edit distance, if
/// at most a third of the letters differ.
fn nearest(wanted: &str) -> Option<Language> {
    let distance = |language: &Language| {
        let name = language.name().to_lowercase();
        let begins = !wanted.is_empty()
            && (language.code().split('-').next() == wanted.split('-').next()
                || name.starts_with(wanted));
        let code = edit_distance(wanted, language.code());
        (!begins, code.min(edit_distance(wanted, &name)))
    };
    let nearest = LANGUAGES.iter().copied().min_by_key(distance)?;
    let (differs, distance) = distance(&nearest);
    (!differs || 3 * distance <= wanted.chars().count()).then_some(nearest)
}

/// The Levenshtein distance.
fn edit_distance(one: &str, other: &str) -> usize {
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
