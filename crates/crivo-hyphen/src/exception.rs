//! A word with listed breaks, because the patterns get it wrong.

use std::path::Path;

use unicode_normalization::char::is_combining_mark;

use crate::fold::{Folded, fold};
use crate::{Breaks, ParseError, ReadError, tex};

/// A word and its listed breaks, such as `ta-ble`.
///
/// The word is stored [folded](crate::fold()), so that it matches in every letter case and with
/// either apostrophe, `'` or `’`.
///
/// ```
/// use crivo_hyphen::Exception;
///
/// let exception = Exception::parse("Mass-a-chu-setts")?;
/// assert_eq!(exception.word(), "massachusetts");
/// assert_eq!(exception.breaks().iter().collect::<Vec<_>>(), [4, 5, 8]);
/// assert_eq!(exception.to_string(), "mass-a-chu-setts");
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    word: String,
    breaks: Breaks,
}

impl Exception {
    /// A word with its breaks: offsets into the folded word.
    ///
    /// Offsets that are not strictly inside the word, or that would split a letter or separate it
    /// from its marks, are dropped.
    pub fn new(word: &str, breaks: &Breaks) -> Self {
        let word = fold(word).into_owned();
        let inner = |&offset: &usize| {
            let rest = word.get(offset..).filter(|rest| 0 < offset && !rest.is_empty());
            rest.is_some_and(|rest| !rest.starts_with(is_combining_mark))
        };
        let breaks = breaks.iter().filter(inner).collect();
        Self { word, breaks }
    }

    /// Reads one entry of an exception list: a word with a hyphen at every break.
    ///
    /// # Errors
    /// If a part between hyphens has no letter or begins with a mark, or if there is anything but
    /// letters, marks, joiners, apostrophes and hyphens.
    pub fn parse(entry: &str) -> Result<Self, ParseError> {
        Self::from_entry(&tex::Entry::alone(entry))
    }

    /// Reads a list of exceptions: words separated by white space, or the `\hyphenation{…}` groups of
    /// TeX source.
    ///
    /// # Errors
    /// If an entry is malformed: the error has its line and column.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ParseError> {
        tex::entries(text, "\\hyphenation")?.iter().map(Self::from_entry).collect()
    }

    /// Reads a file of exceptions.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or an entry is malformed.
    pub fn read_list(path: impl AsRef<Path>) -> Result<Vec<Self>, ReadError> {
        Ok(tex::read(path.as_ref(), Self::parse_list)?.into_iter().flatten().collect())
    }

    fn from_entry(entry: &tex::Entry<'_>) -> Result<Self, ParseError> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for piece in entry.text.split('-') {
            let wrong = |c: char| !(c.is_alphabetic() || is_joiner(c));
            if let Some(index) = piece.chars().position(wrong) {
                return Err(entry.error(start + index, "letters and hyphens only"));
            }
            if piece.starts_with(is_combining_mark) {
                return Err(entry.error(start, "a letter before the mark"));
            }
            if !piece.contains(|c: char| c.is_alphabetic() && !is_combining_mark(c)) {
                return Err(entry.error(start, "a letter on either side of every hyphen"));
            }
            pieces.push(piece);
            start += piece.chars().count() + 1;
        }
        let plain = pieces.concat();
        let mut end = 0;
        let ends = pieces[..pieces.len() - 1].iter().map(|piece| {
            end += piece.len();
            end
        });
        if plain.is_ascii() {
            let breaks = ends.collect();
            return Ok(Self { word: plain.to_ascii_lowercase(), breaks });
        }
        // The word is folded as a whole: a sigma at the end of a part is not at the word's end.
        let folded = Folded::new(&plain);
        let starts = folded.starts();
        let start_at = |end| starts.binary_search_by_key(&end, |start| start.0).ok();
        let breaks = ends.filter_map(|end| Some(starts[start_at(end)?].1)).collect();
        Ok(Self { word: folded.text, breaks })
    }

    /// The word, folded.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Where the word may be divided: byte offsets into [`word`](Self::word).
    pub fn breaks(&self) -> &Breaks {
        &self.breaks
    }
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.breaks.join(&self.word, "-"))
    }
}

/// Whether a character that is not a letter may be inside a word.
fn is_joiner(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{200c}' | '\u{200d}') || is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_a_round_trip() {
        for entry in ["ta-ble", "process", "as-so-ciate", "öl-baum", "l'a-mour"] {
            assert_eq!(Exception::parse(entry).unwrap().to_string(), entry);
        }
    }

    #[test]
    fn breaks_are_those_of_the_folded_word() {
        // Capital sharp s is three bytes long, its small letter two; the decomposed é three and two.
        assert_eq!(Exception::parse("STRA\u{1e9e}-E").unwrap().to_string(), "straß-e");
        assert_eq!(Exception::parse("e\u{301}t-e\u{301}").unwrap().to_string(), "ét-é");
    }

    #[test]
    fn impossible_breaks_are_dropped() {
        // x and its mark, é, a: three letters in 1 + 2, 2 and 1 bytes.
        let breaks: Breaks = (0..9).collect();
        let exception = Exception::new("x\u{302}éa", &breaks);
        assert_eq!(exception.breaks().iter().collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn errors_give_line_and_column() {
        let place = |text| {
            let error = Exception::parse_list(text).unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(place("ta-ble\n -ta"), (2, 2));
        assert_eq!(place("ta-"), (1, 4));
        assert_eq!(place("ta--ble"), (1, 4));
        assert_eq!(place("ta-ble a=b"), (1, 9));
        assert_eq!(place("'"), (1, 1));
        assert_eq!(place("'-'"), (1, 1));
        assert_eq!(place("ta-'-ble"), (1, 4));
        assert_eq!(place("\u{302}yab"), (1, 1));
        assert_eq!(place("x-\u{302}yab"), (1, 3));
        assert_eq!(place("\\hyphenation{ta-ble\né;a}"), (2, 2));
    }
}
