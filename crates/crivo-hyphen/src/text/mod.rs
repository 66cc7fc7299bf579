//! Running text: finding the words in it, and leaving all else as it is.
//!
//! A hyphenator knows words; a text is words, and spaces, signs, addresses and numbers between
//! them. [`words_and_gaps`] tells which is which:
//!
//! ```
//! use crivo_hyphen::text::{Piece, words_and_gaps};
//!
//! let text = "Don't mail me@example.org: a well-known caf\u{e9} has 2nd-rate soft\u{ad}ware.";
//! let words: Vec<&str> = words_and_gaps(text)
//!     .filter_map(|piece| match piece {
//!         Piece::Word(word) => Some(word),
//!         Piece::Gap(_) => None,
//!     })
//!     .collect();
//! assert_eq!(words, ["Don", "t", "mail", "a", "well", "known", "caf\u{e9}", "has", "rate"]);
//!
//! let whole: String = words_and_gaps(text).map(|piece| piece.as_str()).collect();
//! assert_eq!(whole, text); // nothing is lost
//! ```
//!
//! and the methods of [`Hyphenator`] put a separator into the words:
//!
//! ```
//! use crivo_hyphen::{Hyphenator, Language};
//!
//! let english = Hyphenator::new(Language::EnglishUs);
//! let text = "Hyphenation, e.g. of this list: http://example.org/hyphenation (a test).";
//! assert_eq!(
//!     english.hyphenate_text(text, "-"),
//!     "Hy-phen-a-tion, e.g. of this list: http://example.org/hyphenation (a test)."
//! );
//! ```
//!
//! # What a word is
//!
//! - Letters with their combining marks, and joiners between them. Marks are never split off.
//! - Apostrophes (`'`, `’`) and hyphens (`-`, U+2010, the non-breaking U+2011) stand between
//!   words: of *well-known*, *well* and *known* are hyphenated each for itself, so that no break
//!   comes closer to a hyphen than the minima allow. But if words with apostrophes between them are
//!   an exception as a whole, as *aujourd'hui* may be, it holds.
//! - A run of letters with a soft hyphen in it is left alone: its author has decided.
//! - So is a run with a digit in it: *mp3*, *2nd*.
//! - So is whatever stands between white spaces and looks like an address, a path or code: with
//!   `@`, `\` or a backtick anywhere; a full stop, `_` or `=` between letters; `/` beside one; `#`,
//!   `$` or `<` before one; a colon before a digit, `/` or another colon, or after `mailto`, `urn`,
//!   `data`, `file` or `tel`. A break that is missing in *and/or* costs little; one in an address
//!   makes it useless.
//! - So is anything of more than 64 KiB without a white space of ASCII.
//!
//! # Speed
//!
//! A table tells the kind of every byte of ASCII; the tables of Unicode are asked only beyond the
//! letters of Latin and Cyrillic.

mod bytes;
mod html;
mod insert;
mod prose;
#[cfg(test)]
mod tests;
#[cfg(feature = "textwrap")]
mod textwrap;
mod words;

use std::io::{self, Read, Write};
use std::iter::FusedIterator;

#[cfg(feature = "textwrap")]
pub use self::textwrap::{Splitter, word_splitter};

use crate::Hyphenator;
use words::Words;

/// A word of a text, or what stands between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A word that may be hyphenated.
    Word(&'t str),
    /// All else: spaces, signs, and words to be left alone.
    Gap(&'t str),
}

impl<'t> Piece<'t> {
    /// The text of the piece.
    pub fn as_str(self) -> &'t str {
        match self {
            Self::Word(text) | Self::Gap(text) => text,
        }
    }
}

/// Cuts a text into words and gaps, which take turns. Put together again they are the text.
pub fn words_and_gaps(text: &str) -> WordsAndGaps<'_> {
    WordsAndGaps { text, words: Words::new(text), at: 0, word_end: 0 }
}

/// The words and gaps of a text: see [`words_and_gaps`].
#[derive(Debug, Clone)]
pub struct WordsAndGaps<'t> {
    text: &'t str,
    words: Words<'t>,
    at: usize,
    /// Where the word ends that begins at `at`, if one does.
    word_end: usize,
}

impl<'t> Iterator for WordsAndGaps<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let start = self.at;
        if start == self.text.len() {
            return None;
        }
        if self.word_end > start {
            self.at = self.word_end;
            return Some(Piece::Word(&self.text[start..self.at]));
        }
        let word = self.words.next().unwrap_or(self.text.len()..self.text.len());
        (self.at, self.word_end) = (word.start, word.end);
        if self.at == start { self.next() } else { Some(Piece::Gap(&self.text[start..self.at])) }
    }
}

impl FusedIterator for WordsAndGaps<'_> {}

/// How to hyphenate a page of HTML: see [`Hyphenator::hyphenate_html`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Html<'o> {
    /// What is put into words: `&shy;`, the character U+00AD itself, or anything else.
    pub separator: &'o str,
    /// The language of the hyphenator, such as `en` or `en-us`. Elements whose `lang` names
    /// another one are left alone; without it, `lang` is not looked at. Varieties of a language are
    /// one, and so are two names for the same patterns, such as `nb` and `no`.
    pub language: Option<&'o str>,
}

impl Default for Html<'_> {
    /// `&shy;`, in every element.
    fn default() -> Self {
        Self { separator: "&shy;", language: None }
    }
}

/// # Running text
///
/// What a word is, [`text`](crate::text) tells.
impl Hyphenator {
    /// The text with `separator` at every break of its words. All else is as it was: without the
    /// separators it is the same text.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let english = Hyphenator::new(Language::EnglishUs);
    /// assert_eq!(english.hyphenate_text("The  MASSACHUSETTS 1st-class!", "\u{ad}"),
    ///     "The  MASS\u{ad}A\u{ad}CHU\u{ad}SETTS 1st-class!");
    /// ```
    pub fn hyphenate_text(&self, text: &str, separator: &str) -> String {
        let mut out = String::new();
        insert::insert_separators(text, text, separator, self, &mut out);
        out
    }

    /// [`hyphenate_text`](Self::hyphenate_text) for bytes that may not be text. Where they are not
    /// UTF-8 they are copied as they are, together with the letters around them up to a white
    /// space.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let english = Hyphenator::new(Language::EnglishUs);
    /// let latin1 = english.hyphenate_bytes(b"hyphenation in caf\xe9terias", "-");
    /// assert_eq!(latin1, b"hy-phen-a-tion in caf\xe9terias");
    /// ```
    pub fn hyphenate_bytes(&self, bytes: &[u8], separator: &str) -> Vec<u8> {
        let mut out = Vec::new();
        bytes::hyphenate_bytes(bytes, bytes, separator, self, &mut out);
        out
    }

    /// [`hyphenate_bytes`](Self::hyphenate_bytes) from a stream to another, in less than a
    /// megabyte of memory plus the separators of some 256 KiB of text, whatever comes. No buffers
    /// around the streams are needed.
    ///
    /// # Errors
    /// Those of the streams.
    pub fn hyphenate_stream(
        &self,
        reader: impl Read,
        writer: impl Write,
        separator: &str,
    ) -> io::Result<()> {
        bytes::hyphenate_stream(reader, writer, separator, self)
    }

    /// Hyphenates the text of a page of HTML, and leaves all else as it is: tags and attributes,
    /// comments, declarations, entities, addresses, and the text in
    ///
    /// - `code`, `pre`, `kbd`, `samp`, `var`, `tt`, `option`, `math`, `svg`,
    /// - `script`, `style`, `textarea`, `title` and other elements that hold no HTML,
    /// - elements with `translate="no"` or with `nohyphen` among their classes,
    /// - elements in another language than [`Html::language`].
    ///
    /// A word with a letter written as an entity (`caf&eacute;`) or with a tag in it
    /// (`<b>B</b>eginning`) is left alone. Whatever is wrong with the page stays as it was.
    ///
    /// ```
    /// use crivo_hyphen::text::Html;
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let english = Hyphenator::new(Language::EnglishUs);
    /// let page = "<p title=\"hyphenation\">Hyphenation <code>hyphenation</code>";
    /// assert_eq!(
    ///     english.hyphenate_html(page, &Html::default()),
    ///     "<p title=\"hyphenation\">Hy&shy;phen&shy;a&shy;tion <code>hyphenation</code>"
    /// );
    /// ```
    pub fn hyphenate_html(&self, page: &str, options: &Html<'_>) -> String {
        let mask = html::mask(page.as_bytes(), options.language);
        let mut out = String::new();
        // Markup and text begin and end at characters of their own, so that the mask is text.
        match String::from_utf8(mask) {
            Ok(mask) => {
                insert::insert_separators(page, &mask, options.separator, self, &mut out);
            }
            Err(_) => out.push_str(page),
        }
        out
    }

    /// [`hyphenate_html`](Self::hyphenate_html) for bytes that may not be text: see
    /// [`hyphenate_bytes`](Self::hyphenate_bytes).
    pub fn hyphenate_html_bytes(&self, page: &[u8], options: &Html<'_>) -> Vec<u8> {
        let mask = html::mask(page, options.language);
        let mut out = Vec::new();
        bytes::hyphenate_bytes(page, &mask, options.separator, self, &mut out);
        out
    }
}
