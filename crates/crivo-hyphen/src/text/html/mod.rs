//! HTML: a mask shows the words of a page and hides everything else.
//!
//! The mask is a copy of the page, of the same length, in which markup is replaced. Words are
//! searched in the mask, and the page is copied with separators at the breaks of the mask:
//!
//! ```text
//!   page  <p title="x">A <b>hyphen</b>ation&nbsp;test of <code>code</code>.</p>
//!   mask               A    hyphen0000ation      test of       0000-------.
//!                           └ one word ──────┘                 └ hidden
//! ```
//!
//! A tag between two letters, a hidden element, or a letter written as an entity becomes zeros: a
//! run of letters and digits is not a word, so parts of words are not changed. Between other signs a
//! tag becomes hyphens, so that an address with a tag inside is still one token. The page itself is
//! not parsed and rebuilt, so errors in it are preserved.

mod entity;
mod tag;

use std::ops::Range;

use super::words::joins;
use tag::{Markup, Tag, Unclosed};

/// Hides everything that is not text, and text in another language than `language`.
pub(super) fn mask(html: &[u8], language: Option<&str>) -> Vec<u8> {
    let mut masker = Masker {
        html,
        language,
        mask: html.to_vec(),
        open: Vec::new(),
        view: View { xml: is_xml(html), ..View::default() },
        markup: None,
        unclosed: Unclosed::default(),
    };
    let mut at = 0;
    while at < html.len() {
        at = masker.step(at);
    }
    masker.end_markup(html.len());
    masker.mask
}

/// Whether text is visible at a position of the page.
#[derive(Debug, Clone, Copy, Default)]
struct View {
    /// Inside `code` or a similar element: everything in it is hidden.
    hidden: bool,
    /// In another language, until a nested element changes it.
    foreign: bool,
    /// In XML, where a slash at the end of a start tag closes the element. In HTML it means nothing.
    xml: bool,
}

/// An element that is not closed yet.
struct Open {
    name: Range<usize>,
    /// The view before it, which is restored after it.
    before: View,
}

/// How many open elements are searched for the start tag of an end tag. Real pages are less deep,
/// and a hostile page must not take quadratic time.
const MAX_DEPTH: usize = 256;

struct Masker<'h> {
    html: &'h [u8],
    language: Option<&'h str>,
    mask: Vec<u8>,
    open: Vec<Open>,
    view: View,
    /// The markup since the last text: where it began, and whether a word can continue after it.
    markup: Option<(usize, bool)>,
    unclosed: Unclosed,
}

impl Masker<'_> {
    /// Masks the item that begins at `at`, and returns its end.
    fn step(&mut self, at: usize) -> usize {
        match self.html[at] {
            b'<' => match Markup::read(self.html, at, self.view.xml, &mut self.unclosed) {
                Some(markup) => self.markup(at, markup),
                // A less-than sign in text.
                None => self.text(at..at + 1, Some(b'<')),
            },
            b'&' => {
                let (end, fill) = entity::read(self.html, at);
                self.text(at..end, Some(fill))
            }
            _ => {
                let length = self.html[at..].iter().position(|byte| matches!(byte, b'<' | b'&'));
                let end = length.map_or(self.html.len(), |length| at + length);
                self.text(at..end, None)
            }
        }
    }

    /// Text, unchanged or filled with another byte.
    fn text(&mut self, range: Range<usize>, fill: Option<u8>) -> usize {
        let (start, end) = (range.start, range.end);
        if self.view.hidden || self.view.foreign {
            // White space is kept, so that hidden text joins only adjacent text.
            for byte in self.mask[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace()) {
                *byte = b'0';
            }
        } else if let Some(byte) = fill {
            self.mask[range].fill(byte);
        }
        self.end_markup(start);
        end
    }

    fn markup(&mut self, at: usize, markup: Markup) -> usize {
        let (start, transparent) = self.markup.unwrap_or((at, true));
        self.markup = Some((start, transparent && !markup.separates(self.html)));
        match &markup.tag {
            Some(tag) if tag.closing => self.close(tag),
            Some(tag) => self.open(tag),
            None => {}
        }
        markup.end
    }

    /// Masks the pending markup before `end`, according to whether it is inside a word.
    fn end_markup(&mut self, end: usize) {
        let Some((start, transparent)) = self.markup.take() else { return };
        let neighbours = last_character(&self.mask[..start])
            .zip(first_character(&self.mask[end..]))
            .filter(|_| transparent);
        self.mask[start..end].fill(match neighbours {
            Some((last, first)) if joins(last) && joins(first) => b'0',
            // Addresses are recognised by the whole token between white space.
            Some((last, first)) if !last.is_whitespace() && !first.is_whitespace() => b'-',
            _ => b' ',
        });
    }

    fn open(&mut self, tag: &Tag) {
        if tag.is_block(self.html) {
            self.close_implied(tag);
        }
        let xml = self.view.xml || tag.is_xml(self.html);
        if tag.is_void(self.html) || (xml && tag.self_closing) {
            return;
        }
        self.open.push(Open { name: tag.name.clone(), before: self.view });
        self.view.hidden |= tag.is_hidden(self.html);
        self.view.xml = xml;
        if let (Some(language), Some(theirs)) = (self.language, &tag.language) {
            let theirs = String::from_utf8_lossy(&self.html[theirs.clone()]);
            self.view.foreign = !theirs.is_empty() && !is_same_language(&theirs, language);
        }
    }

    fn close(&mut self, tag: &Tag) {
        let name = &self.html[tag.name.clone()];
        let position = self
            .open
            .iter()
            .rev()
            .take(MAX_DEPTH)
            .position(|open| self.html[open.name.clone()].eq_ignore_ascii_case(name));
        if let Some(position) = position {
            self.leave(self.open.len() - 1 - position);
        }
    }

    /// Paragraphs, items and cells end where the next one begins; their end tags may be omitted.
    fn close_implied(&mut self, tag: &Tag) {
        let nearest = self
            .open
            .iter()
            .rev()
            .take(MAX_DEPTH)
            .position(|open| tag::is_block(&self.html[open.name.clone()]));
        if let Some(position) = nearest {
            let index = self.open.len() - 1 - position;
            let open = &self.html[self.open[index].name.clone()];
            if tag::ends(open, &self.html[tag.name.clone()]) {
                self.leave(index);
            }
        }
    }

    fn leave(&mut self, index: usize) {
        self.view = self.open[index].before;
        self.open.truncate(index);
    }
}

/// Whether a page declares itself as XML: XHTML, as in electronic books.
fn is_xml(page: &[u8]) -> bool {
    let page = page.strip_prefix("\u{feff}".as_bytes()).unwrap_or(page);
    page.trim_ascii_start().starts_with(b"<?xml")
}

/// Whether two tags name the same language: variants of it, such as `en-GB` and `en-us`, or two tags
/// for the same patterns, such as `no` and `nb`.
fn is_same_language(one: &str, other: &str) -> bool {
    let primary = |tag: &str| tag.split(['-', '_']).next().map(str::to_ascii_lowercase);
    let is_variety = primary(one) == primary(other);
    #[cfg(feature = "languages")]
    let is_variety = is_variety || {
        let same = crate::Language::find(one);
        same.is_some() && same == crate::Language::find(other)
    };
    is_variety
}

fn first_character(bytes: &[u8]) -> Option<char> {
    bytes[..bytes.len().min(4)].utf8_chunks().next()?.valid().chars().next()
}

fn last_character(bytes: &[u8]) -> Option<char> {
    let start = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    first_character(&bytes[start..])
}
