//! The languages inside of a page.

use std::collections::HashMap;

use super::Html;
use crate::Hyphenator;

/// Chooses a hyphenator for each language of a page.
pub(super) struct Choice<'c> {
    options: &'c Html<'c>,
    main: &'c Hyphenator,
    /// Hyphenators of other languages, by number from 1 on.
    others: Vec<Hyphenator>,
    /// The number of each tag that was asked for.
    numbers: HashMap<String, Option<usize>>,
    skipped: Vec<String>,
}

impl<'c> Choice<'c> {
    pub(super) fn new(main: &'c Hyphenator, options: &'c Html<'c>) -> Self {
        let (others, numbers, skipped) = Default::default();
        Self { options, main, others, numbers, skipped }
    }

    /// The number of the hyphenator for text with this language tag.
    pub(super) fn number(&mut self, tag: Option<&str>) -> Option<usize> {
        let (Some(tag), Some(language)) = (tag, self.options.language) else { return Some(0) };
        if let Some(&number) = self.numbers.get(tag) {
            return number;
        }
        let number = if is_same_language(tag, language) {
            Some(0)
        } else if let Some(other) = self.options.languages.and_then(|find| find(tag)) {
            self.others.push(other);
            Some(self.others.len())
        } else if is_variety(tag, language) {
            Some(0)
        } else {
            self.skipped.push(tag.to_owned());
            None
        };
        self.numbers.insert(tag.to_owned(), number);
        number
    }

    /// A function from ascending offsets to the hyphenators there; `languages` are the offsets where
    /// each begins, and their numbers.
    pub(super) fn at<'a>(
        &'a self,
        languages: &'a [(usize, usize)],
    ) -> impl FnMut(usize) -> &'a Hyphenator {
        let mut next = 0;
        let mut hyphenator = self.main;
        move |offset| {
            while let Some(&(_, number)) = languages.get(next).filter(|run| run.0 <= offset) {
                hyphenator = match number {
                    0 => self.main,
                    number => &self.others[number - 1],
                };
                next += 1;
            }
            hyphenator
        }
    }

    /// The tags of text that is not changed.
    pub(super) fn into_skipped(self) -> Vec<String> {
        self.skipped
    }
}

/// Whether a tag means the language of the hyphenator: all that it says is said of it as well, or
/// both mean the same patterns, such as `no` and `nb`.
fn is_same_language(tag: &str, language: &str) -> bool {
    let subtags =
        |tag: &str| -> Vec<String> { tag.split(['-', '_']).map(str::to_ascii_lowercase).collect() };
    let (wanted, known) = (subtags(tag), subtags(language));
    let is_same = wanted[0] == known[0] && wanted.iter().all(|subtag| known.contains(subtag));
    #[cfg(feature = "languages")]
    let is_same = is_same || {
        let same = crate::Language::find(tag);
        same.is_some() && same == crate::Language::find(language)
    };
    is_same
}

/// Whether two tags name varieties of a language, such as `en-GB` and `en-us`.
fn is_variety(one: &str, other: &str) -> bool {
    let primary = |tag: &str| tag.split(['-', '_']).next().map(str::to_ascii_lowercase);
    !one.is_empty() && primary(one) == primary(other)
}
