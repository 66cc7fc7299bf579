//! Finding the breaks of a text, and copying it with separators there.

use std::ops::Range;

use super::words::Words;
use crate::{Breaks, Hyphenator};

/// A string or bytes that can be copied in parts.
pub(super) trait Source {
    /// The type of the output.
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
/// `mask` is at most as long as `source`, and has the same bytes where it shows a word. The rest of
/// `source` is copied.
pub(super) fn insert_separators<S: Source + ?Sized>(
    source: &S,
    mask: &str,
    separator: &str,
    hyphenator: &Hyphenator,
    out: &mut S::Out,
) {
    S::reserve(out, source.length() + source.length() / 4);
    let mut copied = 0;
    for_each_break(mask, hyphenator, |offset| {
        source.copy(copied..offset, out);
        S::separate(separator, out);
        copied = offset;
    });
    source.copy(copied..source.length(), out);
}

/// Calls `found` for every break of a text, in order.
pub(super) fn for_each_break(text: &str, hyphenator: &Hyphenator, mut found: impl FnMut(usize)) {
    let mut report = |word: Range<usize>, breaks: Breaks| {
        breaks.inside(&text[word.clone()]).for_each(|offset| found(word.start + offset));
    };
    let mut words = Words::new(text);
    // Up to here, words joined by apostrophes are known not to be listed as one word.
    let mut tried = 0;
    while let Some(word) = words.next() {
        if word.start >= tried
            && let Some((whole, after)) = joined(text, &word, &words)
        {
            tried = whole.end;
            if let Some(breaks) = hyphenator.listed(&text[whole.clone()]) {
                report(whole, breaks);
                words = after;
                continue;
            }
        }
        let breaks = hyphenator.breaks(&text[word.clone()]);
        report(word, breaks);
    }
}

/// A word and those that follow it after single apostrophes, as in `l'amour`, and an iterator over
/// the words after these.
fn joined<'t>(
    text: &'t str,
    word: &Range<usize>,
    words: &Words<'t>,
) -> Option<(Range<usize>, Words<'t>)> {
    if !text[word.end..].starts_with(is_apostrophe) {
        return None;
    }
    let (mut whole, mut after) = (word.clone(), words.clone());
    let mut ahead = words.clone();
    while let Some(next) = ahead.next() {
        let mut between = text[whole.end..next.start].chars();
        if !(between.next().is_some_and(is_apostrophe) && between.next().is_none()) {
            break;
        }
        whole.end = next.end;
        after = ahead.clone();
    }
    (whole.end > word.end).then_some((whole, after))
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}
