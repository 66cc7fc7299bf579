//! Finding the breaks of a text, and copying it with separators there.

use std::borrow::Cow;
use std::ops::Range;

use super::words::{PADDING, Words};
use crate::{BreakPoint, Hyphenator};

/// The text with `separator` at the breaks of its words that `mask` shows.
///
/// `mask` is as long as `text`, and has the same bytes where it shows a word, or a sign with padding for
/// an entity that may join two words.
pub(super) fn insert_into_text<'h>(
    text: &str,
    mask: &str,
    separator: &str,
    hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut copied = 0;
    for_each_point(mask, separator.as_bytes(), hyphenator_at, |start, point| {
        let (range, before, after) = point.parts();
        if let Some(kept) = text.get(copied..start + range.start) {
            out.push_str(kept);
            out.push_str(before);
            out.push_str(separator);
            out.push_str(after);
            copied = start + range.end;
        }
    });
    out.push_str(&text[copied..]);
    out
}

/// The same for bytes, appended to `out`; `origin` gives the offset in `bytes` for one in the mask, and
/// `encode` writes text in the encoding of the bytes.
pub(super) fn insert_into_bytes<'h>(
    bytes: &[u8],
    mask: &str,
    mut origin: impl FnMut(usize) -> usize,
    separator: &[u8],
    encode: impl Fn(&str) -> Option<Vec<u8>>,
    hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
    out: &mut Vec<u8>,
) {
    out.reserve(bytes.len() + bytes.len() / 4);
    let mut copied = 0;
    for_each_point(mask, separator, hyphenator_at, |start, point| {
        let (range, before, after) = point.parts();
        let (first, last) = (origin(start + range.start), origin(start + range.end));
        let Some(kept) = bytes.get(copied..first) else { return };
        if point.change.is_none() {
            out.extend_from_slice(kept);
            out.extend_from_slice(separator);
            copied = last;
        } else if let Some((before, after)) = encode(before).zip(encode(after)) {
            out.extend([kept, &before, separator, &after].into_iter().flatten());
            copied = last;
        }
    });
    out.extend_from_slice(&bytes[copied..]);
}

/// Calls `found` for every break of a text that is written with this separator, in order, with the
/// offset of its word; `hyphenator_at` gives the hyphenator of the word at an offset.
pub(super) fn for_each_point<'h>(
    text: &str,
    separator: &[u8],
    mut hyphenator_at: impl FnMut(usize) -> &'h Hyphenator,
    mut found: impl FnMut(usize, BreakPoint),
) {
    let mut words = Words::new(text);
    // Up to here, words joined by apostrophes are known not to be listed as one word.
    let mut tried = 0;
    while let Some(word) = words.next() {
        let hyphenator = hyphenator_at(word.start);
        if hyphenator.skips_capitalised() && text[word.start..].starts_with(char::is_uppercase) {
            continue;
        }
        // Most words are followed by something else.
        let sign = text[word.end..].chars().next().filter(|&sign| may_join(sign));
        if sign.is_some_and(|sign| hyphenator.joins(sign))
            && let Some((whole, after)) = joined(text, &word, &words, |sign| hyphenator.joins(sign))
        {
            let joined = Joined::new(&text[whole.clone()]);
            let report = |point| found(whole.start, joined.in_text(point));
            hyphenator.for_each_point(&joined.word, separator, report);
            words = after;
            continue;
        }
        if sign.is_some()
            && word.start >= tried
            && let Some((whole, after)) = joined(text, &word, &words, is_apostrophe)
        {
            tried = whole.end;
            let joined = Joined::new(&text[whole.clone()]);
            if let Some(breaks) = hyphenator.listed(&joined.word) {
                let points = breaks.inside(&joined.word).map(BreakPoint::plain);
                points.for_each(|point| found(whole.start, joined.in_text(point)));
                words = after;
                continue;
            }
        }
        hyphenator.for_each_point(&text[word.clone()], separator, |point| found(word.start, point));
    }
}

/// Words that signs join to one.
struct Joined<'t> {
    /// Without padding.
    word: Cow<'t, str>,
    /// The offset in the text for each in `word`; empty if they are the same.
    origins: Vec<usize>,
}

impl<'t> Joined<'t> {
    fn new(text: &'t str) -> Self {
        if !text.contains(PADDING) {
            return Self { word: text.into(), origins: Vec::new() };
        }
        let (mut word, mut origins) = (String::with_capacity(text.len()), Vec::new());
        for (at, letter) in text.char_indices().filter(|&(_, letter)| letter != PADDING) {
            word.push(letter);
            origins.extend(at..at + letter.len_utf8());
        }
        origins.push(text.len());
        Self { word: word.into(), origins }
    }

    /// A break of the word as one of the text.
    fn in_text(&self, mut point: BreakPoint) -> BreakPoint {
        let origin = |offset: usize| self.origins.get(offset).copied().unwrap_or(offset);
        point.offset = origin(point.offset);
        if let Some(change) = &mut point.change {
            change.replaced = origin(change.replaced.start)..origin(change.replaced.end);
        }
        point
    }
}

/// A word and those that follow it after single signs that join, as in `l'amour`, and an iterator over
/// the words after these.
fn joined<'t>(
    text: &'t str,
    word: &Range<usize>,
    words: &Words<'t>,
    joins: impl Fn(char) -> bool,
) -> Option<(Range<usize>, Words<'t>)> {
    if !text[word.end..].starts_with(&joins) {
        return None;
    }
    let (mut whole, mut after) = (word.clone(), words.clone());
    let mut ahead = words.clone();
    while let Some(next) = ahead.next() {
        let mut between = text[whole.end..next.start].chars();
        if !(between.next().is_some_and(&joins) && between.all(|c| c == PADDING)) {
            break;
        }
        whole.end = next.end;
        after = ahead.clone();
    }
    (whole.end > word.end).then_some((whole, after))
}

/// Whether a sign between two words may make them one.
fn may_join(sign: char) -> bool {
    is_apostrophe(sign) || sign == '\u{b7}'
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}
