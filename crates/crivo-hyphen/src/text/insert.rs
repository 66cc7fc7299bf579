//! Copying a text with separators in its words.

use std::ops::Range;

use super::words::Words;
use crate::Breaks;

/// Text, or bytes that may not be text: what can be copied piece by piece.
pub(super) trait Source {
    /// Where the pieces go.
    type Out;

    fn length(&self) -> usize;
    fn reserve(out: &mut Self::Out, bytes: usize);
    fn copy(&self, range: Range<usize>, out: &mut Self::Out);
    fn separate(separator: &str, out: &mut Self::Out);
}

impl Source for str {
    type Out = String;

    fn length(&self) -> usize {
        self.len()
    }

    fn reserve(out: &mut String, bytes: usize) {
        out.reserve(bytes);
    }

    fn copy(&self, range: Range<usize>, out: &mut String) {
        out.push_str(&self[range]);
    }

    fn separate(separator: &str, out: &mut String) {
        out.push_str(separator);
    }
}

impl Source for [u8] {
    type Out = Vec<u8>;

    fn length(&self) -> usize {
        self.len()
    }

    fn reserve(out: &mut Vec<u8>, bytes: usize) {
        out.reserve(bytes);
    }

    fn copy(&self, range: Range<usize>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self[range]);
    }

    fn separate(separator: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(separator.as_bytes());
    }
}

/// Appends `source` to `out`, with `separator` at the breaks of the words that `mask` shows.
///
/// `mask` is at most as long as `source`, and where it shows a word it has the same bytes. What is
/// behind it in `source` is copied.
pub(super) fn insert_separators<S: Source + ?Sized>(
    source: &S,
    mask: &str,
    separator: &str,
    breaks: impl Fn(&str) -> Breaks,
    out: &mut S::Out,
) {
    S::reserve(out, source.length() + source.length() / 4);
    let mut copied = 0;
    for range in Words::new(mask) {
        let word = &mask[range.clone()];
        let found = breaks(word);
        if found.is_empty() {
            continue;
        }
        for offset in inner_offsets(&found, word) {
            let end = range.start + offset;
            source.copy(copied..end, out);
            S::separate(separator, out);
            copied = end;
        }
    }
    source.copy(copied..source.length(), out);
}

/// The breaks that lie inside the word and between two of its characters. A dictionary of the
/// user's own may answer with others.
pub(super) fn inner_offsets(breaks: &Breaks, word: &str) -> impl Iterator<Item = usize> {
    let inside = |&offset: &usize| 0 < offset && offset < word.len();
    breaks.iter().filter(inside).filter(|&offset| word.is_char_boundary(offset))
}
