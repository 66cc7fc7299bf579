//! Words that are not plain ASCII, letter by letter.

use unicode_normalization::char::{canonical_combining_class, compose, is_combining_mark};

use super::alphabet::{Alphabet, Class, OTHER};
use crate::fold::Folded;

/// The letters of a word as the patterns see them, and where they stand in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Letters {
    pub classes: Vec<Class>,
    /// The offset of each letter in the word; none for a mark, before which no word is divided.
    pub origins: Vec<Option<usize>>,
    /// Whether marks were passed over. Such a word is no exception, wherever exceptions are kept:
    /// its folded form has the marks.
    pub passed_over: bool,
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
            if (class == OTHER && !c.is_ascii()) || (is_mark && may_move(before, c)) {
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
            } else {
                letters.passed_over = true;
            }
        }
        letters
    }

    fn with_capacity(letters: usize) -> Self {
        Self {
            classes: Vec::with_capacity(letters),
            origins: Vec::with_capacity(letters),
            passed_over: false,
        }
    }

    fn push(&mut self, class: Class, origin: Option<usize>) {
        self.classes.push(class);
        self.origins.push(origin);
    }
}

/// Whether folding may compose a mark with the character before it, or let them change places.
fn may_move(before: char, mark: char) -> bool {
    compose(before, mark).is_some()
        || (canonical_combining_class(mark) != 0 && is_combining_mark(before))
}
