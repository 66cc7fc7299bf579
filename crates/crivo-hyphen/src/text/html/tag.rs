//! Reading markup: its end, and what it means for the text inside.

use std::ops::Range;

/// Something in angle brackets, including raw content that is not text.
pub(super) struct Markup {
    pub(super) end: usize,
    /// The tag, unless this is a comment, a declaration, or an element with raw content.
    pub(super) tag: Option<Tag>,
    separates: Option<bool>,
}

/// A start tag or an end tag.
pub(super) struct Tag {
    pub(super) name: Range<usize>,
    pub(super) closing: bool,
    pub(super) self_closing: bool,
    /// The value of the `lang` attribute.
    pub(super) language: Option<Range<usize>>,
    /// Whether an attribute says that the text must not be changed.
    opaque: bool,
}

impl Markup {
    /// The markup that begins at `at` with a less-than sign; `None` if it is text.
    pub(super) fn read(
        html: &[u8],
        at: usize,
        is_xml: bool,
        unclosed: &mut Unclosed,
    ) -> Option<Self> {
        let rest = &html[at + 1..];
        let until = |from: usize, end: &[u8]| {
            find(&html[from.min(html.len())..], end)
                .map_or(html.len(), |found| from + found + end.len())
        };
        let other = |end| Some(Markup { end, tag: None, separates: None });
        match rest {
            // The end may share its hyphens with the beginning: `<!-->` is a comment as well.
            [b'!', b'-', b'-', ..] => other(until(at + 2, b"-->")),
            _ if rest.starts_with(b"![CDATA[") => other(until(at, b"]]>")),
            [b'!' | b'?', ..] => other(until(at, b">")),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] | [b'a'..=b'z' | b'A'..=b'Z', ..] => {
                let Some((end, tag)) = Tag::read(html, at) else { return other(html.len()) };
                if is_xml && tag.self_closing {
                    return Some(Markup { end, tag: Some(tag), separates: None });
                }
                Some(Self::with_raw_text(html, end, tag, unclosed))
            }
            [b'/', ..] => other(until(at, b">")),
            _ => None,
        }
    }

    /// The content of some elements is not HTML: it ends at the end tag.
    fn with_raw_text(html: &[u8], end: usize, tag: Tag, unclosed: &mut Unclosed) -> Self {
        let name = &html[tag.name.clone()];
        let raw = RAW.iter().position(|raw| name.eq_ignore_ascii_case(raw.as_bytes()));
        let Some(raw) = raw.filter(|_| !tag.closing) else {
            return Markup { end, tag: Some(tag), separates: None };
        };
        let separates = Some(is_block(name));
        let end = match unclosed.find_end_tag(html, end, raw) {
            Some(end) => end,
            // XHTML that does not declare itself as such: the start tag closes the element.
            None if tag.self_closing => end,
            None => html.len(),
        };
        Markup { end, tag: None, separates }
    }

    /// Whether a word ends here in any case.
    pub(super) fn separates(&self, html: &[u8]) -> bool {
        self.separates.unwrap_or_else(|| self.tag.as_ref().is_some_and(|tag| tag.is_block(html)))
    }
}

impl Tag {
    /// The tag that begins at `at`, and where it ends; `None` if it does not end.
    fn read(html: &[u8], at: usize) -> Option<(usize, Self)> {
        let closing = html[at + 1] == b'/';
        let mut reader = Reader { html, at: at + 1 + usize::from(closing) };
        let name = reader.until(|byte| is_space(byte) || matches!(byte, b'/' | b'>'));
        let mut tag = Tag { name, closing, self_closing: false, language: None, opaque: false };
        loop {
            let gap = reader.until(|byte| !is_space(byte) && byte != b'/');
            if *html.get(reader.at)? == b'>' {
                // Only a slash in the gap counts: one before it belongs to an attribute's value.
                tag.self_closing = html[gap].last() == Some(&b'/');
                return Some((reader.at + 1, tag));
            }
            let (name, value) = reader.attribute();
            tag.apply_attribute(html, &html[name], value);
        }
    }

    fn apply_attribute(&mut self, html: &[u8], name: &[u8], range: Range<usize>) {
        let value = &html[range.clone()];
        if name.eq_ignore_ascii_case(b"lang") || name.eq_ignore_ascii_case(b"xml:lang") {
            self.language = Some(range);
        } else if name.eq_ignore_ascii_case(b"translate") {
            self.opaque |= value.eq_ignore_ascii_case(b"no");
        } else if name.eq_ignore_ascii_case(b"class") {
            self.opaque |= value.split(|&byte| is_space(byte)).any(|class| class == b"nohyphen");
        }
    }

    pub(super) fn is_block(&self, html: &[u8]) -> bool {
        is_block(&html[self.name.clone()])
    }

    pub(super) fn is_void(&self, html: &[u8]) -> bool {
        is_one_of(&html[self.name.clone()], VOID)
    }

    /// Whether the element and its content are XML, not HTML.
    pub(super) fn is_xml(&self, html: &[u8]) -> bool {
        is_one_of(&html[self.name.clone()], XML)
    }

    /// Whether the text in the element must not be changed.
    pub(super) fn is_hidden(&self, html: &[u8]) -> bool {
        self.opaque || is_one_of(&html[self.name.clone()], HIDDEN)
    }
}

struct Reader<'h> {
    html: &'h [u8],
    at: usize,
}

impl Reader<'_> {
    fn until(&mut self, stop: impl Fn(u8) -> bool) -> Range<usize> {
        let start = self.at;
        let rest = &self.html[start..];
        self.at += rest.iter().position(|&byte| stop(byte)).unwrap_or(rest.len());
        start..self.at
    }

    /// The name and the value of an attribute; an empty value if it has none.
    fn attribute(&mut self) -> (Range<usize>, Range<usize>) {
        let start = self.at;
        // An equals sign at the beginning is part of the name.
        self.at += 1;
        self.until(|byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='));
        let name = start..self.at;
        self.until(|byte| !is_space(byte));
        if self.html.get(self.at) != Some(&b'=') {
            return (name, self.at..self.at);
        }
        self.at += 1;
        self.until(|byte| !is_space(byte));
        let value = match self.html.get(self.at) {
            Some(&quote @ (b'"' | b'\'')) => {
                self.at += 1;
                let value = self.until(|byte| byte == quote);
                self.at = self.html.len().min(self.at + 1);
                value
            }
            _ => self.until(|byte| is_space(byte) || byte == b'>'),
        };
        (name, value)
    }
}

/// Which of the [`RAW`] elements have no end tag in the rest of the page, by index in that list. They
/// are not searched again, or a hostile page would take quadratic time.
#[derive(Default)]
pub(super) struct Unclosed([bool; RAW.len()]);

impl Unclosed {
    /// The end of the next end tag of this element after `from`.
    fn find_end_tag(&mut self, html: &[u8], mut from: usize, raw: usize) -> Option<usize> {
        if self.0[raw] {
            return None;
        }
        let name = RAW[raw].as_bytes();
        while let Some(found) = find(&html[from..], b"</") {
            let start = from + found;
            from = start + 2;
            let after = from + name.len();
            let named = html.get(from..after).is_some_and(|found| found.eq_ignore_ascii_case(name));
            if named
                && html.get(after).is_none_or(|&byte| is_space(byte) || matches!(byte, b'/' | b'>'))
            {
                return Some(Tag::read(html, start).map_or(html.len(), |(end, _)| end));
            }
        }
        self.0[raw] = true;
        None
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Whether an element of this name is a block, so that no word continues across it.
pub(super) fn is_block(name: &[u8]) -> bool {
    is_one_of(name, BLOCK)
}

/// Whether an open element ends implicitly where an element of the other name begins.
pub(super) fn ends(open: &[u8], begun: &[u8]) -> bool {
    const GROUPS: [&[&str]; 5] = [&["li"], &["dt", "dd"], &["tr"], &["td", "th"], &["option"]];
    is_one_of(open, &["p"])
        || GROUPS.iter().any(|group| is_one_of(open, group) && is_one_of(begun, group))
}

/// Elements with raw content.
const RAW: &[&str] =
    &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"];

/// Elements whose text is not prose.
const HIDDEN: &[&str] =
    &["code", "pre", "kbd", "samp", "var", "tt", "listing", "option", "math", "svg"];

/// Elements whose content is XML.
const XML: &[&str] = &["math", "svg"];

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Block elements.
const BLOCK: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
    "xmp",
];
