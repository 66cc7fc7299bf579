//! Exceptions in a map.

use std::collections::HashMap;

use crate::{Breaks, Exception, Exceptions, fold};

/// Exceptions in a map in memory. Of two exceptions for one word, the later one applies.
///
/// ```
/// use crivo_hyphen::exceptions::MemoryExceptions;
/// use crivo_hyphen::{Exception, Hyphenator, Language};
///
/// let words = MemoryExceptions::new(Exception::parse_list("gno-mon Cri-vo")?);
/// let english = Hyphenator::new(Language::EnglishUs).with_exceptions(words);
/// assert_eq!(english.hyphenate("CRIVO", "-"), "CRI-VO");
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryExceptions {
    words: HashMap<Box<str>, Breaks>,
}

impl MemoryExceptions {
    /// A map of these exceptions.
    pub fn new(exceptions: impl IntoIterator<Item = Exception>) -> Self {
        exceptions.into_iter().collect()
    }

    /// Adds exceptions, or replaces the breaks of words that are present. Returns the number of
    /// words that were not present before.
    pub fn insert(&mut self, exceptions: impl IntoIterator<Item = Exception>) -> u64 {
        exceptions.into_iter().map(|exception| u64::from(self.insert_one(&exception))).sum()
    }

    /// Removes words, in any letter case. Returns the number of words that were present.
    pub fn remove<W: AsRef<str>>(&mut self, words: impl IntoIterator<Item = W>) -> u64 {
        words.into_iter().map(|word| u64::from(self.remove_folded(&fold(word.as_ref())))).sum()
    }

    /// The listed breaks of a word in any letter case, as offsets into the [folded](fold()) word.
    pub fn get(&self, word: &str) -> Option<Breaks> {
        self.find(&fold(word))
    }

    /// All exceptions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Exception> + '_ {
        self.words.iter().map(|(word, breaks)| Exception::new(word, breaks))
    }

    /// The number of words.
    pub fn key_count(&self) -> u64 {
        self.words.len() as u64
    }

    /// Adds one exception: whether its word was not present before.
    pub(super) fn insert_one(&mut self, exception: &Exception) -> bool {
        self.words.insert(exception.word().into(), exception.breaks().clone()).is_none()
    }

    /// Removes one folded word: whether it was present.
    pub(super) fn remove_folded(&mut self, folded: &str) -> bool {
        self.words.remove(folded).is_some()
    }

    /// The folded words.
    #[cfg(feature = "guard")]
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.keys().map(|word| &**word)
    }
}

impl Exceptions for MemoryExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        self.words.get(folded).cloned()
    }
}

impl FromIterator<Exception> for MemoryExceptions {
    fn from_iter<I: IntoIterator<Item = Exception>>(exceptions: I) -> Self {
        let mut words = Self::default();
        words.insert(exceptions);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_and_apply_in_every_letter_case() {
        let mut words = MemoryExceptions::default();
        let list = |text| Exception::parse_list(text).unwrap();
        assert_eq!(words.insert(list("ta-ble chair Tabl-e")), 2);
        assert_eq!(words.insert(list("tab-le new")), 1);
        assert_eq!(words.get("TABLE").unwrap().join("TABLE", "-"), "TAB-LE");
        assert_eq!(words.remove(["TABLE", "table", "absent"]), 1);
        assert_eq!((words.get("table"), words.key_count()), (None, 2));
        assert_eq!(words.iter().collect::<MemoryExceptions>(), words);
    }
}
