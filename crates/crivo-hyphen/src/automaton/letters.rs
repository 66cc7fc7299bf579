//! Words that are not plain ASCII, letter by letter.

use unicode_normalization::char::{compose, is_combining_mark};

use super::alphabet::{Alphabet, Class, OTHER};
use crate::fold::Folded;

/// The letters of a word as the patterns see them, and where they stand in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Letters {
    pub classes: Vec<Class>,
    /// The offset of each letter in the word; none for a mark, before which no word is divided.
    pub origins: Vec<Option<usize>>,
}

impl Letters {
    pub(super) fn new(alphabet: &Alphabet, word: &str) -> Self {
        Self::unfolded(alphabet, word).unwrap_or_else(|| Self::folded(alphabet, word))
    }

    /// The letters of a word all of whose characters are known as they are.
    fn unfolded(alphabet: &Alphabet, word: &str) -> Option<Self> {
        let mut letters = Self::with_capacity(word.len());
        let mut before = '\0';
        for (offset, c) in word.char_indices() {
            let class = alphabet.class(c);
            let is_mark = alphabet.is_mark(class);
            if (class == OTHER && !c.is_ascii()) || (is_mark && compose(before, c).is_some()) {
                return None;
            }
            letters.push(class, (!is_mark).then_some(offset));
            before = c;
        }
        Some(letters)
    }

    /// The letters of any word. Marks that no pattern knows are passed over, so that a stress mark
    /// changes nothing.
    pub(super) fn folded(alphabet: &Alphabet, word: &str) -> Self {
        let mut letters = Self::with_capacity(word.len());
        let folded = Folded::new(word);
        for (c, &(_, origin)) in folded.text.chars().zip(&folded.letters) {
            let class = alphabet.class(c);
            if class != OTHER || !is_combining_mark(c) {
                letters.push(class, origin);
            }
        }
        letters
    }

    fn with_capacity(letters: usize) -> Self {
        Self { classes: Vec::with_capacity(letters), origins: Vec::with_capacity(letters) }
    }

    fn push(&mut self, class: Class, origin: Option<usize>) {
        self.classes.push(class);
        self.origins.push(origin);
    }
}
