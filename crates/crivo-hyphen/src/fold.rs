//! Folding: the form in which words and patterns are compared.
//!
//! A word is folded to lower case and to composed letters (Unicode's form NFC), so that `Été`,
//! `ÉTÉ`, and an `é` typed as a letter and an accent are the same word. Ligatures become their
//! letters, and every apostrophe the one of ASCII. Folding can change the length of a word in bytes
//! (`ẞ` has three bytes and `ß` two, and a letter and its accent become one character), so every
//! letter keeps its original offset.

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
/// assert_eq!(fold("oﬃce"), "office");
/// assert_eq!(fold("l’été"), "l'été");
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
    /// have none, because no word is divided before a mark; nor is one inside a ligature or after a
    /// word joiner.
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
            composed.extend(word[start..end].nfc().map(plain_apostrophe));
            start = end;
        }
        // Lower-casing the whole word at once gets a final sigma right.
        let lower = composed.to_lowercase();
        let mut lower = lower.chars();
        let mut folded = Self { text: String::with_capacity(word.len()), letters: Vec::new() };
        let mut cluster = String::new();
        let mut is_joined = false;
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
            if cluster.starts_with(WORD_JOINER) {
                is_joined = true;
                continue;
            }
            folded.push_composed(&cluster, (!is_joined).then_some(origin));
            is_joined = false;
        }
        folded
    }

    /// Adds a letter with its marks, which may compose.
    fn push_composed(&mut self, cluster: &str, origin: Option<usize>) {
        for (index, c) in cluster.nfc().enumerate() {
            let origin = origin.filter(|_| index == 0 && !is_combining_mark(c));
            match letters_of(c) {
                None => self.push(c, origin),
                Some(letters) => {
                    let origins = [origin].into_iter().chain(std::iter::repeat(None));
                    letters.chars().zip(origins).for_each(|(c, origin)| self.push(c, origin));
                }
            }
        }
    }

    fn push(&mut self, c: char, origin: Option<usize>) {
        self.letters.push((self.text.len(), origin));
        self.text.push(c);
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

/// An invisible character between two letters where a word must not be divided.
pub(crate) const WORD_JOINER: char = '\u{2060}';

/// All apostrophes are the same letter.
pub(crate) fn plain_apostrophe(c: char) -> char {
    match c {
        '\u{2019}' | '\u{2bc}' => '\'',
        other => other,
    }
}

/// The letters of a ligature.
fn letters_of(ligature: char) -> Option<&'static str> {
    Some(match ligature {
        'ĳ' => "ij",
        'ŉ' => "'n",
        'ǆ' => "dž",
        'ǉ' => "lj",
        'ǌ' => "nj",
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => return None,
    })
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
    fn no_break_is_inside_a_ligature_or_beside_a_word_joiner() {
        let folded = Folded::new("oﬃce");
        assert_eq!(folded.text, "office");
        assert_eq!(folded.starts(), [(0, 0), (1, 1), (4, 4), (5, 5)]);
        let folded = Folded::new("a\u{2060}bc");
        assert_eq!((&*folded.text, folded.starts()), ("abc", vec![(0, 0), (5, 2)]));
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
        for word in [
            "oﬃce",
            "Ĳ",
            "l’a",
            "a\u{2060}b",
            "ΟΔΟΣ",
            "Straße",
            "STRAẞE",
            "İI",
            "E\u{301}te\u{301}",
            "\u{9df}",
            "\u{212a}",
        ] {
            let once = fold(word).into_owned();
            assert_eq!(fold(&once), once);
        }
    }
}
