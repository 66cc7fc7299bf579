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
//! - Hyphens (`-`, U+2010, the non-breaking U+2011) separate words: *well* and *known* in
//!   *well-known* are hyphenated separately, so that no break is closer to a hyphen than the minima
//!   allow.
//! - Apostrophes (`'`, `’`) separate words as well, unless the patterns of the language contain them:
//!   French *aujourd'hui* is one word, English *don't* is two. If words joined by apostrophes are
//!   listed as one exception, the exception applies.
//! - Numbers of notes (*word²*) separate words.
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
mod encoding;
mod html;
mod insert;
mod languages;
mod markdown;
mod prose;
mod template;
#[cfg(test)]
mod tests;
#[cfg(feature = "textwrap")]
mod textwrap;
mod words;

use std::fmt;
use std::io::{self, Read, Write};
use std::iter::FusedIterator;
use std::ops::Range;

pub use self::encoding::{Encoding, EncodingError};
#[cfg(feature = "textwrap")]
pub use self::textwrap::{Splitter, word_splitter};

use crate::Hyphenator;
use languages::Choice;
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

/// Finds the hyphenator of a language by its tag: see [`Html::languages`].
pub type FindLanguage<'o> = dyn Fn(&str) -> Option<Hyphenator> + 'o;

/// A text without soft hyphens (U+00AD).
///
/// ```
/// use crivo_hyphen::text::remove_soft_hyphens;
///
/// assert_eq!(remove_soft_hyphens("hy\u{ad}phen"), "hyphen");
/// ```
pub fn remove_soft_hyphens(text: &str) -> String {
    text.replace('\u{ad}', "")
}

/// Bytes in an encoding without soft hyphens; without an encoding they must be UTF-8.
///
/// # Errors
/// If no encoding is given and the bytes are not UTF-8.
pub fn remove_soft_hyphens_from_bytes(
    bytes: &[u8],
    encoding: Option<Encoding>,
) -> Result<Vec<u8>, EncodingError> {
    if encoding.is_none() {
        bytes::check_utf8(bytes, 0)?;
    }
    let decoded = encoding.unwrap_or(Encoding::UTF_8).decode(bytes)?;
    let found = decoded.text.match_indices('\u{ad}').map(|(at, text)| at..at + text.len());
    Ok(without(bytes, &decoded, found))
}

/// An HTML page without the soft hyphens of its text, also those written as entities (`&shy;`). Scripts,
/// tags and comments are not changed. The encoding is that of [`Html::encoding`].
///
/// ```
/// use crivo_hyphen::text::remove_soft_hyphens_from_html;
///
/// let page = b"<p title='a&shy;b'>a&shy;b";
/// assert_eq!(remove_soft_hyphens_from_html(page, None)?, b"<p title='a&shy;b'>ab");
/// # Ok::<(), crivo_hyphen::text::EncodingError>(())
/// ```
///
/// # Errors
/// As [`Hyphenator::hyphenate_html_bytes`].
pub fn remove_soft_hyphens_from_html(
    page: &[u8],
    encoding: Option<Encoding>,
) -> Result<Vec<u8>, EncodingError> {
    let decoded = html_encoding(page, encoding)?.decode(page)?;
    Ok(without(page, &decoded, html::soft_hyphens(&decoded.text).into_iter()))
}

/// Bytes without ranges of their decoded text, which ascend.
fn without(
    bytes: &[u8],
    decoded: &encoding::Decoded<'_>,
    removed: impl Iterator<Item = Range<usize>>,
) -> Vec<u8> {
    let mut origin = decoded.origins();
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in removed {
        out.extend_from_slice(&bytes[copied..origin(range.start)]);
        copied = origin(range.end);
    }
    out.extend_from_slice(&bytes[copied..]);
    out
}

/// The encoding of a page: the given one, the one that it names, or UTF-8 if it is valid.
fn html_encoding(page: &[u8], given: Option<Encoding>) -> Result<Encoding, EncodingError> {
    match given {
        Some(encoding) => Ok(encoding),
        None => match Encoding::of_html(page)? {
            Some(encoding) => Ok(encoding),
            None => bytes::check_utf8(page, 0).map(|()| Encoding::UTF_8),
        },
    }
}

/// Options for HTML: see [`Hyphenator::hyphenate_html`].
#[derive(Clone, Copy)]
pub struct Html<'o> {
    /// The separator that is inserted into words: `&shy;`, the character U+00AD, or any other text.
    pub separator: &'o str,
    /// The language of the hyphenator, such as `en` or `en-us`, which is also that of text without a
    /// language. With `None`, the attributes `lang` and `xml:lang` are ignored.
    pub language: Option<&'o str>,
    /// Finds hyphenators for text in other languages, by the values of `lang`. It is called once for
    /// each value. Text in a language that it does not find is not changed.
    pub languages: Option<&'o FindLanguage<'o>>,
    /// Elements with one of these classes are not changed, as those with the class `nohyphen`.
    pub ignored_classes: &'o [&'o str],
    /// The encoding of a page in bytes. With `None`, it is the one that the page
    /// [names](Encoding::of_html), or UTF-8.
    pub encoding: Option<Encoding>,
}

impl Default for Html<'_> {
    /// `&shy;`, in every element.
    fn default() -> Self {
        Self {
            separator: "&shy;",
            language: None,
            languages: None,
            ignored_classes: &[],
            encoding: None,
        }
    }
}

impl fmt::Debug for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Html")
            .field("separator", &self.separator)
            .field("language", &self.language)
            .field("ignored_classes", &self.ignored_classes)
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}

/// A hyphenated page, from [`Hyphenator::hyphenate_html_bytes`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlPage {
    /// The page with separators.
    pub bytes: Vec<u8>,
    /// The languages of text that was not changed because there is no hyphenator for them, as the
    /// page writes them.
    pub skipped_languages: Vec<String>,
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
        insert::insert_into_text(text, text, separator, |_| self)
    }

    /// [`hyphenate_text`](Self::hyphenate_text) for bytes that may not be valid UTF-8. A word with
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
        let separator = separator.as_bytes();
        // UTF-8 has no characters that could not be decoded or encoded.
        match bytes::hyphenate_bytes(bytes, separator, Encoding::UTF_8, self, &mut out) {
            Ok(()) => out,
            Err(_) => bytes.to_vec(),
        }
    }

    /// [`hyphenate_text`](Self::hyphenate_text) from a reader to a writer, in less than a megabyte of
    /// memory plus the separators of 256 KiB of text. The reader and the writer need no buffers: the
    /// writer is flushed after every read.
    ///
    /// Bytes that are invalid in the given encoding are copied, with their words. Without an encoding
    /// the text must be UTF-8.
    ///
    /// ```
    /// use crivo_hyphen::text::Encoding;
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let french = Hyphenator::new(Language::French);
    /// let latin1 = Encoding::from_label("latin1")?;
    /// let mut out = Vec::new();
    /// french.hyphenate_stream(&b"un \xe9l\xe9phant"[..], &mut out, "\u{ad}", Some(latin1))?;
    /// assert_eq!(out, b"un \xe9l\xe9\xadphant");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the reader and the writer. An [`EncodingError`] of the kind
    /// [`InvalidData`](io::ErrorKind::InvalidData) if the text is not UTF-8 and no encoding is given,
    /// or if the encoding lacks the separator.
    pub fn hyphenate_stream(
        &self,
        reader: impl Read,
        writer: impl Write,
        separator: &str,
        encoding: Option<Encoding>,
    ) -> io::Result<()> {
        bytes::hyphenate_stream(reader, writer, separator, encoding, self)
    }

    /// Hyphenates the prose of a Markdown text. Code, front matter, HTML tags, addresses and names of
    /// links, and markers of templates (as in [`hyphenate_html`](Self::hyphenate_html)) are unchanged.
    ///
    /// ```
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let english = Hyphenator::new(Language::EnglishUs);
    /// assert_eq!(
    ///     english.hyphenate_markdown("*Hyphenation*, `hyphenation`, [writing](hyphenation.md)", "-"),
    ///     "*Hy-phen-a-tion*, `hyphenation`, [writ-ing](hyphenation.md)"
    /// );
    /// ```
    pub fn hyphenate_markdown(&self, text: &str, separator: &str) -> String {
        insert::insert_into_text(text, &markdown::mask(text), separator, |_| self)
    }

    /// [`hyphenate_markdown`](Self::hyphenate_markdown) for bytes in an encoding; without an encoding
    /// they must be UTF-8.
    ///
    /// # Errors
    /// If no encoding is given and the bytes are not UTF-8, or the encoding lacks the separator.
    pub fn hyphenate_markdown_bytes(
        &self,
        bytes: &[u8],
        separator: &str,
        encoding: Option<Encoding>,
    ) -> Result<Vec<u8>, EncodingError> {
        if encoding.is_none() {
            bytes::check_utf8(bytes, 0)?;
        }
        let encoding = encoding.unwrap_or(Encoding::UTF_8);
        let separator = encoding.encode(separator)?;
        let decoded = encoding.decode(bytes)?;
        let mask = markdown::mask(&decoded.text);
        let mut out = Vec::new();
        insert::insert_into_bytes(
            bytes,
            &mask,
            decoded.origins(),
            &separator,
            |text| encoding.encode(text).ok(),
            |_| self,
            &mut out,
        );
        Ok(out)
    }

    /// Hyphenates the text of an HTML page. Everything else is unchanged: tags and attributes,
    /// comments, declarations, entities, addresses, and the text in
    ///
    /// - `code`, `pre`, `kbd`, `samp`, `var`, `tt`, `option`, `math`, `svg`,
    /// - `script`, `style`, `textarea`, `title` and other elements that hold no HTML,
    /// - elements with `translate="no"` or with the class `nohyphen`,
    /// - elements in another language than [`Html::language`], unless [`Html::languages`] finds it,
    /// - markers of templates: `{{ … }}`, `{% … %}`, `<% … %>`, `${ … }`.
    ///
    /// Which elements a text is in is decided by the rules of the HTML standard, also in pages with
    /// errors. A word with a letter written as an entity (`caf&eacute;`) or with a tag inside
    /// (`<b>B</b>eginning`) is not changed; an apostrophe may be an entity (`l&rsquo;amour`). Errors in
    /// the page are preserved.
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
    ///
    /// let languages = |tag: &str| Some(Hyphenator::new(Language::from_code(tag).ok()?));
    /// let options =
    ///     Html { language: Some("en"), languages: Some(&languages), ..Html::default() };
    /// assert_eq!(
    ///     english.hyphenate_html("<p>Writing <i lang=fr>ordinateur</i>, <i lang=x>writing</i>", &options),
    ///     "<p>Writ&shy;ing <i lang=fr>or&shy;di&shy;na&shy;teur</i>, <i lang=x>writing</i>"
    /// );
    /// ```
    pub fn hyphenate_html(&self, page: &str, options: &Html<'_>) -> String {
        let mut choice = Choice::new(self, options);
        let mask = html::mask(page, options.ignored_classes, |tag| choice.number(tag));
        insert::insert_into_text(page, &mask.text, options.separator, choice.at(&mask.languages))
    }

    /// [`hyphenate_html`](Self::hyphenate_html) for bytes in any encoding in which a byte of ASCII
    /// always is that character. Characters that are invalid in the encoding are copied, with their
    /// words. Also tells which languages were skipped.
    ///
    /// ```
    /// use crivo_hyphen::text::Html;
    /// use crivo_hyphen::{Hyphenator, Language};
    ///
    /// let french = Hyphenator::new(Language::French);
    /// let page = b"<meta charset=iso-8859-1><p>un \xe9l\xe9phant";
    /// let page = french.hyphenate_html_bytes(page, &Html::default())?;
    /// assert_eq!(page.bytes, b"<meta charset=iso-8859-1><p>un \xe9l\xe9&shy;phant");
    /// # Ok::<(), crivo_hyphen::text::EncodingError>(())
    /// ```
    ///
    /// # Errors
    /// If the encoding that the page names is unknown or has ambiguous bytes; if it names none and is
    /// not UTF-8; if the encoding lacks the separator.
    pub fn hyphenate_html_bytes(
        &self,
        page: &[u8],
        options: &Html<'_>,
    ) -> Result<HtmlPage, EncodingError> {
        let encoding = html_encoding(page, options.encoding)?;
        let separator = encoding.encode(options.separator)?;
        let decoded = encoding.decode(page)?;
        let mut choice = Choice::new(self, options);
        let mask = html::mask(&decoded.text, options.ignored_classes, |tag| choice.number(tag));
        let mut bytes = Vec::new();
        let hyphenator_at = choice.at(&mask.languages);
        insert::insert_into_bytes(
            page,
            &mask.text,
            decoded.origins(),
            &separator,
            |text| encoding.encode(text).ok(),
            hyphenator_at,
            &mut bytes,
        );
        Ok(HtmlPage { bytes, skipped_languages: choice.into_skipped() })
    }
}
