//! Folding: the form in which words and patterns are compared.
//!
//! A word is folded to lower case and to composed letters (Unicode's form NFC), so that `Été`,
//! `ÉTÉ`, and an `é` typed as a letter and an accent are the same word. Folding can change the
//! length of a word in bytes (`ẞ` has three bytes and `ß` two, and a letter and its accent become
//! one character), so every letter keeps its original offset.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The word in lower case and with composed letters: the key under which exceptions are looked up.
///
/// ```
/// use crivo_hyphen::fold;
///
/// assert_eq!(fold("Massachusetts"), "massachusetts");
/// assert_eq!(fold("E\u{301}te\u{301}"), "\u{e9}t\u{e9}");
/// assert_eq!(fold("ΟΔΟΣ"), "οδος");
/// assert_eq!(fold("İstanbul"), "istanbul");
/// ```
///
/// Folding works letter by letter and is the same in all languages, which has two limits. The
/// capital of `ß` is often written `SS`, which stays two letters: `STRASSE` becomes `strasse`, not
/// `straße` (the capital `ẞ` becomes `ß`). And `I` becomes `i` in Turkish as well, where its lower
/// case is `ı`.
pub fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            false => Cow::Borrowed(word),
            true => Cow::Owned(word.to_ascii_lowercase()),
        };
    }
    Cow::Owned(Folded::new(word).text)
}

/// A folded word with the original offsets of its letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folded {
    /// The word in lower case, composed.
    pub text: String,
    /// For each character of `text`: its offset there, and its original offset in the word. Marks
    /// have none, because no word is divided before a mark.
    pub letters: Vec<(usize, Option<usize>)>,
}

impl Folded {
    pub fn new(word: &str) -> Self {
        // Composed first: the capital I with a dot is one letter, however it is written.
        let mut composed = String::with_capacity(word.len());
        // For each letter with its marks: where it begins in `composed`, and in the word.
        let mut clusters = Vec::new();
        let mut start = 0;
        let is_start = |&(offset, c): &(usize, char)| offset > 0 && !is_combining_mark(c);
        let ends = word.char_indices().filter(is_start).map(|(offset, _)| offset);
        for end in ends.chain([word.len()]) {
            clusters.push((composed.len(), start));
            composed.extend(word[start..end].nfc());
            start = end;
        }
        // Lower-casing the whole word at once gets a final sigma right.
        let lower = composed.to_lowercase();
        let mut lower = lower.chars();
        let mut folded = Self { text: String::with_capacity(word.len()), letters: Vec::new() };
        let mut cluster = String::new();
        for (index, &(start, origin)) in clusters.iter().enumerate() {
            let end = clusters.get(index + 1).map_or(composed.len(), |next| next.0);
            cluster.clear();
            for c in composed[start..end].chars() {
                // The dotted capital I becomes two characters; the second one, a mark, is dropped:
                // it is in no pattern.
                let count = c.to_lowercase().count();
                cluster.extend(lower.by_ref().take(count).take(1));
                (1..count).for_each(|_| {
                    lower.next();
                });
            }
            folded.push_composed(&cluster, origin);
        }
        folded
    }

    /// Adds a letter with its marks, which may compose.
    fn push_composed(&mut self, cluster: &str, origin: usize) {
        for (index, c) in cluster.nfc().enumerate() {
            let origin = (index == 0 && !is_combining_mark(c)).then_some(origin);
            self.letters.push((self.text.len(), origin));
            self.text.push(c);
        }
    }

    /// The offset of each letter in the word, in order, with its offset in the folded text.
    pub fn starts(&self) -> Vec<(usize, usize)> {
        self.letters.iter().filter_map(|&(folded, origin)| Some((origin?, folded))).collect()
    }

    /// The index of the character that begins at byte `offset` of the folded text.
    pub fn index_of(&self, offset: usize) -> Option<usize> {
        self.letters.binary_search_by_key(&offset, |&(folded, _)| folded).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_keep_their_original_offset() {
        // İ is two bytes, its small letter one; ẞ three and two; a + ring above three and two.
        let folded = Folded::new("İẞa\u{30a}x");
        assert_eq!(folded.text, "ißåx");
        let origins: Vec<_> = folded.letters.iter().map(|letter| letter.1).collect();
        assert_eq!(origins, [Some(0), Some(2), Some(5), Some(8)]);
        assert_eq!(folded.index_of(5), Some(3));
        assert_eq!(folded.starts(), [(0, 0), (2, 1), (5, 3), (8, 5)]);
        assert_eq!(folded.index_of(2), None);
    }

    #[test]
    fn marks_that_do_not_compose_have_no_origin() {
        let folded = Folded::new("x\u{302}y");
        assert_eq!(folded.letters, [(0, Some(0)), (1, None), (3, Some(3))]);
        assert_eq!(Folded::new("\u{301}a").letters, [(0, None), (2, Some(2))]);
    }

    #[test]
    fn canonically_equal_words_fold_alike() {
        for (one, other) in [
            ("I\u{307}I", "\u{130}I"),
            ("I\u{323}\u{307}", "\u{130}\u{323}"),
            ("J\u{30c}", "\u{1f0}"),
            ("x\u{302}\u{323}", "x\u{323}\u{302}"),
            ("ΟΔΟ\u{301}Σ", "ΟΔΌΣ"),
        ] {
            assert_eq!(fold(one), fold(other));
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for word in ["ΟΔΟΣ", "Straße", "STRAẞE", "İI", "E\u{301}te\u{301}", "\u{9df}", "\u{212a}"]
        {
            let once = fold(word).into_owned();
            assert_eq!(fold(&once), once);
        }
    }
}
