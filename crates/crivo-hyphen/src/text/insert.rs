//! Finding the breaks of a text, and copying it with separators there.

use std::ops::Range;

use super::words::Words;
use crate::{Breaks, Hyphenator};

/// The text with `separator` at the breaks of its words that `mask` shows.
///
/// `mask` is as long as `text`, and has the same bytes where it shows a word.
pub(super) fn insert_into_text<'h>(
    text: &str,
    mask: &str,
    separator: &str,
    hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut copied = 0;
    for_each_break(mask, hyphenator_at, |offset| {
        out.push_str(&text[copied..offset]);
        out.push_str(separator);
        copied = offset;
    });
    out.push_str(&text[copied..]);
    out
}

/// The same for bytes, appended to `out`; `origin` gives the offset in `bytes` for one in the mask.
pub(super) fn insert_into_bytes<'h>(
    bytes: &[u8],
    mask: &str,
    mut origin: impl FnMut(usize) -> usize,
    separator: &[u8],
    hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
    out: &mut Vec<u8>,
) {
    out.reserve(bytes.len() + bytes.len() / 4);
    let mut copied = 0;
    for_each_break(mask, hyphenator_at, |offset| {
        let offset = origin(offset);
        out.extend_from_slice(&bytes[copied..offset]);
        out.extend_from_slice(separator);
        copied = offset;
    });
    out.extend_from_slice(&bytes[copied..]);
}

/// Calls `found` for every break of a text, in order; `hyphenator_at` gives the hyphenator of the word
/// at an offset.
pub(super) fn for_each_break<'h>(
    text: &str,
    mut hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
    mut found: impl FnMut(usize),
) {
    let mut report = |word: Range<usize>, breaks: Breaks| {
        breaks.inside(&text[word.clone()]).for_each(|offset| found(word.start + offset));
    };
    let mut words = Words::new(text);
    // Up to here, words joined by apostrophes are known not to be listed as one word.
    let mut tried = 0;
    while let Some(word) = words.next() {
        let hyphenator = hyphenator_at(word.start);
        if word.start >= tried
            && let Some((whole, after)) = joined(text, &word, &words)
        {
            tried = whole.end;
            let breaks = match hyphenator.joins_apostrophes() {
                true => Some(hyphenator.breaks(&text[whole.clone()])),
                false => hyphenator.listed(&text[whole.clone()]),
            };
            if let Some(breaks) = breaks {
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
