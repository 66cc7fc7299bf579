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
//! tag becomes hyphens, so that an address with a tag inside is still one token. An apostrophe that is
//! written as an entity becomes an apostrophe and padding, because it may be a letter.
//!
//! Which elements a text is in follows from the standard's rules, which also say what errors in a page
//! mean: `build` has them. The page itself is not rebuilt, so errors in it are preserved.

mod body;
mod build;
pub(super) mod entity;
mod names;
#[cfg(test)]
mod oracle;
mod scan;
mod stack;
mod table;
mod tree;

use std::borrow::Cow;
use std::ops::Range;

use super::template;
use super::words::joins;
use build::{Builder, Content};
use entity::{Entity, Fill};
use names::{Name, Names};
use scan::{Markup, Scanner, Tag};
use tree::{NodeId, Space};

/// The words of a page.
#[derive(Debug)]
pub(super) struct Mask {
    /// As long as the page; it has the same bytes where it shows a word.
    pub(super) text: String,
    /// The languages of the text: where each begins, and its number.
    pub(super) languages: Vec<(usize, usize)>,
}

/// Hides everything that is not text. `choose` gives the number of a language, from its tag or
/// without one; text is hidden if it has none.
pub(super) fn mask(
    html: &str,
    ignored_classes: &[&str],
    mut choose: impl FnMut(Option<&str>) -> Option<usize>,
) -> Mask {
    let markers = template::markers(html.as_bytes());
    let plain = without(html, &markers);
    let page = Page::read(&plain, ignored_classes);
    let views = page.views();
    let mut masker = Masker {
        mask: html.as_bytes().to_vec(),
        languages: Vec::new(),
        // The markup since the last text.
        markup: None,
    };
    for item in &page.items {
        match item.kind {
            Kind::Markup(separation) => {
                let (start, before) = masker.markup.unwrap_or((item.range.start, separation));
                masker.markup = Some((start, separation.max(before)));
            }
            Kind::Text { node, fill } => {
                let view = node.map(|node| &views[node as usize]).filter(|view| !view.hidden);
                let tag = |view: &View| view.language.clone().map(|range| &html[range]);
                let number = view.and_then(|view| choose(tag(view)));
                masker.text(item.range.clone(), fill, number);
            }
        }
    }
    masker.end_markup(html.len());
    markers.into_iter().for_each(|(range, fill)| masker.mask[range].fill(fill));
    // Markup and text begin and end at character boundaries.
    let text = String::from_utf8(masker.mask).unwrap_or_else(|_| " ".repeat(html.len()));
    Mask { text, languages: masker.languages }
}

/// The page with spaces instead of markers of templates, which may contain anything.
fn without<'h>(html: &'h str, markers: &[(Range<usize>, u8)]) -> Cow<'h, str> {
    if markers.is_empty() {
        return html.into();
    }
    let mut plain = html.as_bytes().to_vec();
    markers.iter().for_each(|(range, _)| plain[range.clone()].fill(b' '));
    // Markers begin and end with ASCII characters.
    String::from_utf8(plain).map_or(html.into(), Cow::Owned)
}

/// Where the soft hyphens of a page are: those of its text, not of its scripts, tags and comments.
pub(super) fn soft_hyphens(html: &str) -> Vec<Range<usize>> {
    const ENTITIES: [&str; 4] = ["&shy;", "&shy", "&#173;", "&#xad;"];
    let plain = without(html, &template::markers(html.as_bytes()));
    let page = Page::read(&plain, &[]);
    let mut removed = Vec::new();
    for item in &page.items {
        let text = &plain[item.range.clone()];
        match item.kind {
            Kind::Markup(_) => {}
            Kind::Text { fill: Some(_), .. } => {
                if ENTITIES.iter().any(|entity| text.eq_ignore_ascii_case(entity)) {
                    removed.push(item.range.clone());
                }
            }
            Kind::Text { fill: None, .. } => {
                let start = item.range.start;
                let found = text.match_indices('\u{ad}');
                removed.extend(found.map(|(at, found)| start + at..start + at + found.len()));
            }
        }
    }
    removed
}

/// A part of the page.
#[derive(Debug)]
struct Item {
    range: Range<usize>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Markup(Separation),
    Text {
        /// Where in the tree the text is; `None` if it is not shown.
        node: Option<NodeId>,
        /// What stands for the text in the mask, unless the text itself does.
        fill: Option<Fill>,
    },
}

/// Whether a word can continue after markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Separation {
    None,
    /// A new word begins.
    Word,
    /// A new line begins.
    Line,
}

impl Separation {
    fn of(name: Name) -> Self {
        match name {
            name if name.is_block() => Self::Line,
            // A note or an index beside a word.
            Name::SUP | Name::SUB => Self::Word,
            _ => Self::None,
        }
    }
}

/// What the elements around a text say about it.
#[derive(Debug, Clone, Default)]
struct View {
    hidden: bool,
    /// Whether the element itself or its class hides it, which nothing inside can change.
    opaque: bool,
    language: Option<Range<usize>>,
}

/// The parts of a page in order, and the tree of its elements.
struct Page<'h> {
    scanner: Scanner<'h>,
    builder: Builder,
    items: Vec<Item>,
    is_xml: bool,
}

impl<'h> Page<'h> {
    fn read(html: &'h str, ignored_classes: &'h [&'h str]) -> Self {
        let html = html.as_bytes();
        let mut page = Self {
            scanner: Scanner { html, names: Names::default(), ignored_classes },
            builder: Builder::new(),
            items: Vec::new(),
            is_xml: is_xml(html),
        };
        let mut at = 0;
        if html.starts_with(BYTE_ORDER_MARK) {
            at = BYTE_ORDER_MARK.len();
            page.push(0..at, Kind::Markup(Separation::None));
        }
        while at < html.len() {
            if page.builder.stack.steps > MIN_STEPS + STEPS_PER_BYTE * html.len() {
                // Hostile: no page needs that much work. The rest is not changed.
                page.push(at..html.len(), Kind::Text { node: None, fill: None });
                break;
            }
            at = page.step(at);
        }
        page
    }

    /// Reads what begins at `at`, and returns its end.
    fn step(&mut self, at: usize) -> usize {
        let html = self.scanner.html;
        match html[at] {
            b'<' => {
                let allows_verbatim = self.is_xml || self.builder.is_foreign();
                match self.scanner.read(at, allows_verbatim) {
                    Some((end, markup)) => self.markup(at..end, markup),
                    // A less-than sign in text.
                    None => self.text(at..at + 1, Some(Fill::Byte(b'<')), false),
                }
            }
            b'&' => {
                let Entity { end, fill, is_space } = entity::read(html, at);
                self.text(at..end, Some(fill), is_space)
            }
            _ => {
                let length = memchr::memchr2(b'<', b'&', &html[at..]);
                let end = length.map_or(html.len(), |length| at + length);
                let space = html[at..end].iter().position(|&byte| !scan::is_space(byte));
                let start = space.map_or(end, |length| at + length);
                if start > at {
                    self.text(at..start, None, true);
                }
                if end > start {
                    self.text(start..end, None, false);
                }
                end
            }
        }
    }

    fn text(&mut self, range: Range<usize>, fill: Option<Fill>, is_space: bool) -> usize {
        let end = range.end;
        let node = match self.is_xml {
            true if self.builder.stack.current_name().is_some_and(Name::is_raw) => {
                self.push(range, Kind::Markup(Separation::None));
                return end;
            }
            true => Some(self.builder.stack.add_text()),
            false => self.builder.text(is_space),
        };
        self.push(range, Kind::Text { node, fill });
        end
    }

    fn markup(&mut self, range: Range<usize>, markup: Markup) -> usize {
        let Range { start, end } = range;
        let mut separation = Separation::None;
        match markup {
            Markup::Comment => {}
            Markup::Doctype { quirks } => self.builder.doctype(quirks),
            Markup::Verbatim(text) => {
                self.builder.text(self.scanner.html[text].iter().all(|&byte| scan::is_space(byte)));
                self.push(range, Kind::Text { node: None, fill: None });
                return end;
            }
            Markup::Tag(tag) => {
                separation = Separation::of(tag.name);
                if self.is_xml {
                    self.xml_tag(&tag);
                } else {
                    let content = self.builder.tag(&tag);
                    let end = self.raw_end(end, content);
                    self.push(start..end, Kind::Markup(separation));
                    return end;
                }
            }
        }
        self.push(range, Kind::Markup(separation));
        end
    }

    /// The end of content that is not HTML, and of the end tag after it.
    fn raw_end(&mut self, start: usize, content: Content) -> usize {
        let html = self.scanner.html;
        let end = match content {
            Content::Html => return start,
            Content::Plain => None,
            Content::Script => scan::find_script_end(html, start),
            Content::Raw(name) => scan::find_end_tag(html, start, name.text().as_bytes()),
        };
        self.builder.stack.pop();
        let end_tag = end.and_then(|end| self.scanner.tag(end));
        end_tag.map_or(html.len(), |(end, _)| end)
    }

    /// In XML every element has an end tag, or a slash in its start tag.
    fn xml_tag(&mut self, tag: &Tag) {
        let stack = &mut self.builder.stack;
        match (tag.closing, stack.position(tag.name)) {
            (true, Some(position)) => stack.truncate(position),
            (true, None) => {}
            (false, _) => {
                let node = stack.open_in(Space::Html, tag);
                if let Some(element) = stack.tree.element_mut(node)
                    && let Some(range) = &tag.attributes.xml_language
                {
                    element.language = Some(range.clone());
                }
                if tag.self_closing {
                    stack.pop();
                }
            }
        }
    }

    fn push(&mut self, range: Range<usize>, kind: Kind) {
        self.items.push(Item { range, kind });
    }

    /// What the elements around each text say about it, by the number of its node.
    fn views(&self) -> Vec<View> {
        let tree = &self.builder.stack.tree;
        let hidden = View { hidden: true, opaque: true, language: None };
        let mut views = vec![hidden; tree.node_count()];
        tree.visit(View::default(), |node, above, element| {
            let Some(element) = element else {
                views[node as usize] = above.clone();
                return View::default();
            };
            let opaque = above.opaque || element.has_ignored_class || element.name.is_hidden();
            View {
                hidden: opaque || element.translate.map_or(above.hidden, |translate| !translate),
                opaque,
                language: element.language.clone().or_else(|| above.language.clone()),
            }
        });
        views
    }
}

/// How many open elements are looked at, in searches for the one that a tag closes, before a page
/// counts as hostile.
const MIN_STEPS: usize = 1 << 22;
const STEPS_PER_BYTE: usize = 64;

struct Masker {
    mask: Vec<u8>,
    languages: Vec<(usize, usize)>,
    markup: Option<(usize, Separation)>,
}

impl Masker {
    /// Shows a text, or something else instead of it, or hides it if its language has no number.
    fn text(&mut self, range: Range<usize>, fill: Option<Fill>, language: Option<usize>) {
        let start = range.start;
        match (language, fill) {
            (Some(number), fill) => {
                if self.languages.last().is_none_or(|&(_, last)| last != number) {
                    self.languages.push((start, number));
                }
                if let Some(fill) = fill {
                    fill.apply(&mut self.mask[range]);
                }
            }
            // White space is kept, so that hidden text joins only adjacent text.
            (None, _) => {
                let visible = self.mask[range].iter_mut();
                visible.filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b'0');
            }
        }
        self.end_markup(start);
    }

    /// Masks the pending markup before `end`, according to whether it is inside a word.
    fn end_markup(&mut self, end: usize) {
        let Some((start, separation)) = self.markup.take() else { return };
        let neighbours = last_character(&self.mask[..start])
            .zip(first_character(&self.mask[end..]))
            .filter(|_| separation < Separation::Line);
        let joined = separation == Separation::None;
        self.mask[start..end].fill(match neighbours {
            Some((last, first)) if joined && joins(last) && joins(first) => b'0',
            // Addresses are recognised by the whole token between white space.
            Some((last, first)) if !last.is_whitespace() && !first.is_whitespace() => b'-',
            _ => b' ',
        });
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Whether a page declares itself as XML: XHTML, as in electronic books.
fn is_xml(page: &[u8]) -> bool {
    let page = page.strip_prefix(BYTE_ORDER_MARK).unwrap_or(page);
    page.trim_ascii_start().starts_with(b"<?xml")
}

/// The name of the encoding in an XML declaration or a `meta` element of the head.
pub(super) fn declared_encoding(page: &[u8]) -> Option<String> {
    if is_xml(page) {
        let end = memchr::memchr(b'>', page)?;
        let declaration = String::from_utf8_lossy(&page[..end]).into_owned();
        let (_, value) = declaration.split_once("encoding")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        return Some(value[1..].split(quote).next()?.trim().to_owned());
    }
    let mut scanner = Scanner { html: page, names: Names::default(), ignored_classes: &[] };
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &page[at..]) {
        at += found;
        let Some((end, markup)) = scanner.read(at, false) else {
            at += 1;
            continue;
        };
        at = end;
        let Markup::Tag(tag) = markup else { continue };
        match tag.name {
            Name::BODY => return None,
            Name::META if !tag.closing => {}
            _ => continue,
        }
        let text = |range: &Range<usize>| String::from_utf8_lossy(&page[range.clone()]);
        if let Some(charset) = &tag.attributes.charset {
            return Some(text(charset).trim().to_owned());
        }
        let names_type = |range| text(range).eq_ignore_ascii_case("content-type");
        if tag.attributes.http_equiv.as_ref().is_some_and(names_type)
            && let Some(content) = &tag.attributes.content
            && let Some(label) = charset_of(&text(content))
        {
            return Some(label);
        }
    }
    None
}

/// The encoding in a value such as `text/html; charset=utf-8`.
fn charset_of(content: &str) -> Option<String> {
    let content = content.to_ascii_lowercase();
    let mut rest = &*content;
    loop {
        rest = &rest[rest.find("charset")? + "charset".len()..];
        let Some(value) = rest.trim_start().strip_prefix('=') else { continue };
        let value = value.trim_start();
        return match value.chars().next()? {
            quote @ ('"' | '\'') => Some(value[1..].split_once(quote)?.0.to_owned()),
            _ => {
                value.split(|c: char| c == ';' || c.is_ascii_whitespace()).next().map(str::to_owned)
            }
        };
    }
}

fn first_character(bytes: &[u8]) -> Option<char> {
    bytes[..bytes.len().min(4)].utf8_chunks().next()?.valid().chars().next()
}

fn last_character(bytes: &[u8]) -> Option<char> {
    let start = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    first_character(&bytes[start..])
}
