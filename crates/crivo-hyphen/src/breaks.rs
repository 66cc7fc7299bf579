//! The result of hyphenating a word: the places where it may be divided.

use std::fmt;

const WORD: usize = u64::BITS as usize;

/// The places where a word may be divided, as byte offsets: a set of small numbers.
///
/// Offset `i` is the gap before byte `i`, as in [`str::split_at`]. The first 64 offsets are bits of
/// one machine word, so the breaks of nearly every word need no allocation.
///
/// ```
/// use crivo_hyphen::Breaks;
///
/// let breaks: Breaks = [2, 6, 7].into_iter().collect();
/// assert_eq!(breaks.iter().collect::<Vec<_>>(), [2, 6, 7]);
/// assert_eq!(breaks.join("hyphenation", "-"), "hy-phen-a-tion");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Breaks {
    first: u64,
    /// Offsets from 64 up, if there are any; its last word is never zero, so that equal sets
    /// compare equal.
    #[allow(clippy::box_collection, reason = "with a one-word field the type fits two registers")]
    rest: Option<Box<Vec<u64>>>,
}

impl Breaks {
    /// No breaks.
    pub const fn new() -> Self {
        Breaks { first: 0, rest: None }
    }

    /// Breaks below offset 64, one bit each.
    pub const fn from_mask(mask: u64) -> Self {
        Breaks { first: mask, rest: None }
    }

    /// Adds a break before byte `offset`.
    pub fn insert(&mut self, offset: usize) {
        if offset < WORD {
            self.first |= 1 << offset;
            return;
        }
        let index = offset / WORD - 1;
        let rest = self.rest.get_or_insert_default();
        if index >= rest.len() {
            rest.resize(index + 1, 0);
        }
        rest[index] |= 1 << (offset % WORD);
    }

    /// Whether the word may be divided before byte `offset`.
    pub fn contains(&self, offset: usize) -> bool {
        let word = match (offset / WORD).checked_sub(1) {
            None => self.first,
            Some(index) => self.rest().get(index).copied().unwrap_or(0),
        };
        word >> (offset % WORD) & 1 == 1
    }

    /// The number of breaks.
    pub fn count(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are no breaks.
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.is_none()
    }

    /// The offsets in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let (mut word, mut base, mut rest) = (self.first, 0, self.rest().iter());
        std::iter::from_fn(move || {
            while word == 0 {
                word = *rest.next()?;
                base += WORD;
            }
            let offset = base + word.trailing_zeros() as usize;
            word &= word - 1;
            Some(offset)
        })
    }

    /// The parts of `word` between its breaks. Offsets that are not character boundaries of `word`
    /// are ignored.
    pub fn split<'w>(&self, word: &'w str) -> impl Iterator<Item = &'w str> {
        let mut start = 0;
        self.inside(word).chain([word.len()]).map(move |end| {
            let piece = &word[start..end];
            start = end;
            piece
        })
    }

    /// The word with `separator` at every break.
    pub fn join(&self, word: &str, separator: &str) -> String {
        let mut joined = String::new();
        self.join_into(word, separator, &mut joined);
        joined
    }

    /// Appends the word to `text`, with `separator` at every break: [`join`](Self::join) without a
    /// new string.
    pub fn join_into(&self, word: &str, separator: &str, text: &mut String) {
        text.reserve(word.len() + self.count() * separator.len());
        let mut pieces = self.split(word);
        text.push_str(pieces.next().unwrap_or(""));
        for piece in pieces {
            text.push_str(separator);
            text.push_str(piece);
        }
    }

    /// The breaks inside the word and between two of its characters. An implementation of
    /// `Exceptions` may return others.
    pub(crate) fn inside(&self, word: &str) -> impl Iterator<Item = usize> {
        let inside = |&offset: &usize| 0 < offset && offset < word.len();
        self.iter().filter(inside).filter(|&offset| word.is_char_boundary(offset))
    }

    #[inline]
    fn rest(&self) -> &[u64] {
        self.rest.as_ref().map_or(&[], |rest| rest)
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.rest().iter().copied())
    }
}

impl fmt::Debug for Breaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Extend<usize> for Breaks {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, offsets: I) {
        offsets.into_iter().for_each(|offset| self.insert(offset));
    }
}

impl FromIterator<usize> for Breaks {
    fn from_iter<I: IntoIterator<Item = usize>>(offsets: I) -> Self {
        let mut breaks = Breaks::new();
        breaks.extend(offsets);
        breaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_beyond_the_first_word_are_kept() {
        let offsets = [1, 63, 64, 65, 127, 128, 1000];
        let breaks: Breaks = offsets.into_iter().collect();
        assert_eq!(breaks.iter().collect::<Vec<_>>(), offsets);
        assert_eq!(breaks.count(), offsets.len());
        assert!(offsets.into_iter().all(|offset| breaks.contains(offset)));
        assert!(![0, 2, 66, 999, 1001, 5000].into_iter().any(|offset| breaks.contains(offset)));
    }

    #[test]
    fn pieces_never_cut_a_character_nor_reach_beyond_the_word() {
        let breaks: Breaks = [0, 1, 2, 3, 9].into_iter().collect();
        assert_eq!(breaks.join("\u{e9}t\u{e9}", "-"), "\u{e9}-t-\u{e9}");
        assert_eq!(breaks.join("", "-"), "");
    }
}
