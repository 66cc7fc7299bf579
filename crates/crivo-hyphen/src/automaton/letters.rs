//! The letters of words that are not ASCII.

use unicode_normalization::char::{canonical_combining_class, compose, is_combining_mark};

use super::alphabet::{Alphabet, Class, OTHER, Role};
use crate::Breaks;
use crate::fold::Folded;
use crate::limits::Limits;

/// The letters of a word, and their offsets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Letters {
    pub classes: Vec<Class>,
    /// The offset of each letter in the word; `None` for a mark, because no word is divided before it.
    pub origins: Vec<Option<usize>>,
    /// Whether marks were skipped that occur in no pattern, such as a stress mark.
    pub skipped_marks: bool,
}

impl Letters {
    /// The letters as patterns see them. Marks that occur in no pattern are skipped, so that a stress
    /// mark changes nothing.
    pub(super) fn new(alphabet: &Alphabet, word: &str) -> Self {
        Self::unfolded(alphabet, word).unwrap_or_else(|| Self::folded(alphabet, word))
    }

    /// The letters and all marks, as exceptions see them: an additional mark makes another word.
    pub(super) fn with_all_marks(alphabet: &Alphabet, word: &str) -> Self {
        Self::filtered(alphabet, word, |_, _| true)
    }

    /// The letters of a word, if all of its characters have a class without folding.
    fn unfolded(alphabet: &Alphabet, word: &str) -> Option<Self> {
        let mut letters = Self::with_capacity(word.len());
        let mut before = '\0';
        for (offset, c) in word.char_indices() {
            let class = alphabet.class(c);
            let is_mark = match alphabet.role(class) {
                Role::Letter if class == OTHER && !c.is_ascii() => return None,
                Role::ListedMark => return None,
                Role::Mark if may_move(before, c) => return None,
                role => role == Role::Mark,
            };
            letters.push(class, (!is_mark).then_some(offset));
            before = c;
        }
        Some(letters)
    }

    /// The letters of any word.
    pub(super) fn folded(alphabet: &Alphabet, word: &str) -> Self {
        Self::filtered(alphabet, word, |c, class| match alphabet.role(class) {
            Role::Letter => class != OTHER || !is_combining_mark(c),
            Role::Mark => true,
            Role::ListedMark => false,
        })
    }

    fn filtered(alphabet: &Alphabet, word: &str, keep: impl Fn(char, Class) -> bool) -> Self {
        let mut letters = Self::with_capacity(word.len());
        let folded = Folded::new(word);
        for (c, &(_, origin)) in folded.text.chars().zip(&folded.letters) {
            let class = alphabet.class(c);
            match keep(c, class) {
                true => letters.push(class, origin),
                false => letters.skipped_marks = true,
            }
        }
        letters
    }

    fn with_capacity(letters: usize) -> Self {
        Self {
            classes: Vec::with_capacity(letters),
            origins: Vec::with_capacity(letters),
            skipped_marks: false,
        }
    }

    fn push(&mut self, class: Class, origin: Option<usize>) {
        self.classes.push(class);
        self.origins.push(origin);
    }

    /// Those breaks of an exception, as offsets into the word, that are before a letter and that the
    /// limits allow.
    pub fn allowed(&self, breaks: &Breaks, limits: &Limits) -> Breaks {
        let count = self.origins.len();
        let allowed = |&(index, origin): &(usize, usize)| {
            breaks.contains(origin) && limits.allow_listed(index, count)
        };
        let starts = self.origins.iter().enumerate();
        let starts = starts.filter_map(|(index, &origin)| Some((index, origin?)));
        starts.filter(allowed).map(|(_, origin)| origin).collect()
    }
}

/// Whether folding may compose a mark with the preceding character, or reorder the two.
fn may_move(before: char, mark: char) -> bool {
    compose(before, mark).is_some()
        || (canonical_combining_class(mark) != 0 && is_combining_mark(before))
}
