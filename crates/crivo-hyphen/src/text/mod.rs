//! Running text: finding the words in it, and leaving everything else unchanged.
//!
//! A text consists of words, and of spaces, punctuation, addresses and numbers between them.
//! [`words_and_gaps`] separates the two:
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
//! The methods of [`Hyphenator`] insert a separator into the words:
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
//! # What is a word?
//!
//! - A word consists of letters with their combining marks, and joiners between them. Marks are never
//!   separated from their letters.
//! - Apostrophes (`'`, `’`) and hyphens (`-`, U+2010, the non-breaking U+2011) separate words: *well*
//!   and *known* in *well-known* are hyphenated separately, so that no break is closer to a hyphen
//!   than the minima allow. But if words joined by apostrophes are listed as one exception, such as
//!   *aujourd'hui*, the exception applies.
//! - A run of letters that contains a soft hyphen is not changed: its author has decided.
//! - A run of letters and digits is not changed: *mp3*, *2nd*.
//! - A token between white space that looks like an address, a path or code is not changed: with
//!   `@`, `\` or a backtick anywhere; a full stop, `_` or `=` between letters; `/` next to a letter;
//!   `#`, `$` or `<` before a letter; a colon before a digit, `/` or another colon, or after
//!   `mailto`, `urn`, `data`, `file` or `tel`. A missing break in *and/or* costs little; a break in an
//!   address makes it useless.
//! - A token of more than 64 KiB without ASCII white space is not changed.
//!
//! # Speed
//!
//! A table classifies every ASCII byte; the Unicode tables are needed only for letters beyond Latin
//! and Cyrillic.

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

/// A word of a text, or the text between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A word that may be hyphenated.
    Word(&'t str),
    /// Everything else: spaces, punctuation, and words that must not be changed.
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

/// Splits a text into alternating words and gaps. Concatenated they are the text.
pub fn words_and_gaps(text: &str) -> WordsAndGaps<'_> {
    WordsAndGaps { text, words: Words::new(text), at: 0, word_end: 0 }
}

/// The words and gaps of a text: see [`words_and_gaps`].
#[derive(Debug, Clone)]
pub struct WordsAndGaps<'t> {
    text: &'t str,
    words: Words<'t>,
    at: usize,
    /// The end of the word that begins at `at`, if there is one.
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

/// Options for HTML: see [`Hyphenator::hyphenate_html`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Html<'o> {
    /// The separator that is inserted into words: `&shy;`, the character U+00AD, or any other text.
    pub separator: &'o str,
    /// The language of the hyphenator, such as `en` or `en-us`. Elements whose `lang` attribute names
    /// another language are not changed. With `None`, `lang` is ignored. Variants of a language count
    /// as the same language, and so do two names for the same patterns, such as `nb` and `no`.
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
/// The module [`text`](crate::text) defines what a word is.
impl Hyphenator {
    /// The text with `separator` at every break of its words. Nothing else changes: without the
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

    /// [`hyphenate_text`](Self::hyphenate_text) for bytes that may not be valid UTF-8. A token with
    /// invalid bytes is copied unchanged.
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

    /// [`hyphenate_bytes`](Self::hyphenate_bytes) from a reader to a writer, in less than a megabyte
    /// of memory plus the separators of 256 KiB of text. The reader and the writer need no buffers.
    ///
    /// # Errors
    /// Errors of the reader and the writer.
    pub fn hyphenate_stream(
        &self,
        reader: impl Read,
        writer: impl Write,
        separator: &str,
    ) -> io::Result<()> {
        bytes::hyphenate_stream(reader, writer, separator, self)
    }

    /// Hyphenates the text of an HTML page. Everything else is unchanged: tags and attributes,
    /// comments, declarations, entities, addresses, and the text in
    ///
    /// - `code`, `pre`, `kbd`, `samp`, `var`, `tt`, `option`, `math`, `svg`,
    /// - `script`, `style`, `textarea`, `title` and other elements that hold no HTML,
    /// - elements with `translate="no"` or with the class `nohyphen`,
    /// - elements in another language than [`Html::language`].
    ///
    /// A word with a letter written as an entity (`caf&eacute;`) or with a tag inside
    /// (`<b>B</b>eginning`) is not changed. Errors in the page are preserved.
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
        // Markup and text begin and end at character boundaries, so the mask is valid UTF-8.
        match String::from_utf8(mask) {
            Ok(mask) => {
                insert::insert_separators(page, &mask, options.separator, self, &mut out);
            }
            Err(_) => out.push_str(page),
        }
        out
    }

    /// [`hyphenate_html`](Self::hyphenate_html) for bytes that may not be valid UTF-8: see
    /// [`hyphenate_bytes`](Self::hyphenate_bytes).
    pub fn hyphenate_html_bytes(&self, page: &[u8], options: &Html<'_>) -> Vec<u8> {
        let mask = html::mask(page, options.language);
        let mut out = Vec::new();
        bytes::hyphenate_bytes(page, &mask, options.separator, self, &mut out);
        out
    }
}
