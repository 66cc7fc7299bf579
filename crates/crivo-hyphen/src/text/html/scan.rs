//! Reading markup: where it ends, and what its attributes say.

use std::ops::Range;

use super::names::{Name, Names};

/// Something in angle brackets.
#[derive(Debug)]
pub(super) enum Markup {
    Tag(Tag),
    /// A document type: whether it asks browsers to imitate old ones.
    Doctype {
        quirks: bool,
    },
    /// Text that is written without entities, in SVG and MathML.
    Verbatim(Range<usize>),
    /// A comment or an instruction.
    Comment,
}

/// A start tag or an end tag.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) name: Name,
    pub(super) closing: bool,
    pub(super) self_closing: bool,
    pub(super) attributes: Attributes,
}

/// What the attributes of a tag say. Of two attributes with one name the first one counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes {
    /// Where the value of `lang` is.
    pub(super) language: Option<Range<usize>>,
    /// Where the value of `xml:lang` is.
    pub(super) xml_language: Option<Range<usize>>,
    /// Whether a class says that the text must not be changed.
    pub(super) class: Option<bool>,
    /// Whether the text may be translated, and so be changed.
    pub(super) translate: Option<Option<bool>>,
    /// The same for equal attributes in any order; only for formatting elements.
    pub(super) digest: u64,
    /// Whether there is a `color`, `face` or `size`.
    pub(super) is_styled: bool,
    /// Whether `type` is `hidden`.
    pub(super) is_hidden_input: bool,
    /// Whether `encoding` says that the content is HTML.
    pub(super) is_html: bool,
    /// The values of `charset`, `http-equiv` and `content`.
    pub(super) charset: Option<Range<usize>>,
    pub(super) http_equiv: Option<Range<usize>>,
    pub(super) content: Option<Range<usize>>,
}

/// Which classes must not be changed, and how names are numbered.
#[derive(Debug)]
pub(super) struct Scanner<'h> {
    pub(super) html: &'h [u8],
    pub(super) names: Names,
    /// Classes whose text is not changed.
    pub(super) ignored_classes: &'h [&'h str],
}

impl Scanner<'_> {
    /// The markup that begins at `at` with a less-than sign, and its end; `None` if it is text.
    /// `allows_verbatim` is whether `<![CDATA[` begins text.
    pub(super) fn read(&mut self, at: usize, allows_verbatim: bool) -> Option<(usize, Markup)> {
        let html = self.html;
        let rest = &html[at + 1..];
        let until = |from: usize, end: &[u8]| {
            let from = from.min(html.len());
            let found = memchr::memmem::find(&html[from..], end);
            found.map_or(html.len(), |found| from + found + end.len())
        };
        match rest {
            [b'!', b'-', b'-', ..] => Some((comment_end(html, at + 4), Markup::Comment)),
            _ if allows_verbatim && rest.starts_with(b"![CDATA[") => {
                let start = at + b"<![CDATA[".len();
                let end = until(start, b"]]>");
                let text = start..if html[..end].ends_with(b"]]>") { end - 3 } else { end };
                Some((end, Markup::Verbatim(text.start..text.end.max(text.start))))
            }
            [b'!', ..] if has_prefix(&rest[1..], b"doctype") => {
                let end = until(at, b">");
                Some((end, Markup::Doctype { quirks: is_quirky(&html[at + 9..end]) }))
            }
            [b'!' | b'?', ..] => Some((until(at, b">"), Markup::Comment)),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] | [b'a'..=b'z' | b'A'..=b'Z', ..] => {
                Some(match self.tag(at) {
                    Some((end, tag)) => (end, Markup::Tag(tag)),
                    None => (html.len(), Markup::Comment),
                })
            }
            [b'/'] | [] => None,
            [b'/', ..] => Some((until(at, b">"), Markup::Comment)),
            _ => None,
        }
    }

    /// The tag that begins at `at`, and where it ends; `None` if it does not end.
    pub(super) fn tag(&mut self, at: usize) -> Option<(usize, Tag)> {
        let html = self.html;
        let closing = html[at + 1] == b'/';
        let mut reader = Reader { html, at: at + 1 + usize::from(closing) };
        let name = reader.until(|byte| is_space(byte) || matches!(byte, b'/' | b'>'));
        let name = self.names.find(&html[name]);
        let mut attributes = Attributes::default();
        let mut seen: Vec<&[u8]> = Vec::new();
        loop {
            let gap = reader.until(|byte| !is_space(byte) && byte != b'/');
            if *html.get(reader.at)? == b'>' {
                // Only a slash in the gap counts: one before it belongs to an attribute's value.
                let self_closing = html[gap].last() == Some(&b'/');
                return Some((reader.at + 1, Tag { name, closing, self_closing, attributes }));
            }
            let (attribute, value) = reader.attribute();
            let attribute = &html[attribute];
            if name.is_formatting() {
                if seen.iter().any(|other| other.eq_ignore_ascii_case(attribute)) {
                    continue;
                }
                seen.push(attribute);
                attributes.digest =
                    attributes.digest.wrapping_add(digest(attribute, &html[value.clone()]));
            }
            self.apply(&mut attributes, attribute, value);
        }
    }

    fn apply(&self, attributes: &mut Attributes, name: &[u8], range: Range<usize>) {
        let value = &self.html[range.clone()];
        match &*name.to_ascii_lowercase() {
            b"lang" => attributes.language = attributes.language.take().or(Some(range)),
            b"xml:lang" => attributes.xml_language = attributes.xml_language.take().or(Some(range)),
            b"class" if attributes.class.is_none() => {
                let ignored = |class: &[u8]| {
                    class == b"nohyphen"
                        || self.ignored_classes.iter().any(|other| other.as_bytes() == class)
                };
                attributes.class = Some(value.split(|&byte| is_space(byte)).any(ignored));
            }
            b"translate" if attributes.translate.is_none() => {
                attributes.translate = Some(match &*value.to_ascii_lowercase() {
                    b"no" => Some(false),
                    b"yes" | b"" => Some(true),
                    _ => None,
                });
            }
            b"color" | b"face" | b"size" => attributes.is_styled = true,
            b"type" => attributes.is_hidden_input |= value.eq_ignore_ascii_case(b"hidden"),
            b"encoding" => {
                attributes.is_html |= value.eq_ignore_ascii_case(b"text/html")
                    || value.eq_ignore_ascii_case(b"application/xhtml+xml");
            }
            b"charset" => attributes.charset = attributes.charset.take().or(Some(range)),
            b"http-equiv" => attributes.http_equiv = attributes.http_equiv.take().or(Some(range)),
            b"content" => attributes.content = attributes.content.take().or(Some(range)),
            _ => {}
        }
    }
}

/// The end of a comment whose content begins at `start`.
fn comment_end(html: &[u8], start: usize) -> usize {
    let content = &html[start.min(html.len())..];
    // `<!-->` and `<!--->` are comments as well.
    for short in [&b">"[..], b"->"] {
        if content.starts_with(short) {
            return start + short.len();
        }
    }
    let ends = memchr::memmem::find_iter(content, b"--");
    let end = ends.map(|at| at + 2).find_map(|at| match &content[at..] {
        [b'>', ..] => Some(at + 1),
        [b'!', b'>', ..] => Some(at + 2),
        // Three hyphens in a row: the next pair overlaps with this one.
        [b'-', ..] => {
            let hyphens = content[at..].iter().take_while(|&&byte| byte == b'-').count();
            match &content[at + hyphens..] {
                [b'>', ..] => Some(at + hyphens + 1),
                [b'!', b'>', ..] => Some(at + hyphens + 2),
                _ => None,
            }
        }
        _ => None,
    });
    end.map_or(html.len(), |end| start + end)
}

/// Whether a document type, without `<!doctype` and with its end, asks for quirks mode.
fn is_quirky(declaration: &[u8]) -> bool {
    let text = String::from_utf8_lossy(declaration).to_ascii_lowercase();
    let text = text.trim_end_matches('>').trim();
    let (name, ids) =
        text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()));
    if name != "html" {
        return true;
    }
    let ids = ids.trim_start();
    if ids.is_empty() {
        return false;
    }
    let quoted = |text: &str| -> Option<(String, String)> {
        let text = text.trim_start();
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (id, rest) = text[1..].split_once(quote)?;
        Some((id.to_owned(), rest.to_owned()))
    };
    if let Some(system) = ids.strip_prefix("system") {
        return quoted(system).is_none_or(|(system, _)| system == QUIRKY_SYSTEM);
    }
    let Some((public, rest)) = ids.strip_prefix("public").and_then(quoted) else { return true };
    let system = quoted(&rest).map(|(system, _)| system);
    if !rest.trim().is_empty() && system.is_none() {
        return true;
    }
    QUIRKY_PUBLIC.contains(&&*public)
        || QUIRKY_PREFIXES.iter().any(|prefix| public.starts_with(prefix))
        || system.as_deref() == Some(QUIRKY_SYSTEM)
        || (system.is_none()
            && ["-//w3c//dtd html 4.01 frameset//", "-//w3c//dtd html 4.01 transitional//"]
                .iter()
                .any(|prefix| public.starts_with(prefix)))
}

const QUIRKY_SYSTEM: &str = "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd";

const QUIRKY_PUBLIC: &[&str] =
    &["-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html"];

/// Document types of pages that were written for browsers of their time.
const QUIRKY_PREFIXES: &[&str] = &[
    "+//silmaril//dtd html pro v0r11 19970101//",
    "-//as//dtd html 3.0 aswedit + extensions//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
    "-//ietf//dtd html ",
    "-//ietf//dtd html//",
    "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer ",
    "-//netscape comm. corp.//dtd ",
    "-//o'reilly and associates//dtd html ",
    "-//spyglass//dtd html 2.0 extended//",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
    "-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
    "-//sun microsystems corp.//dtd hotjava ",
    "-//w3c//dtd html 3 1995-03-24//",
    "-//w3c//dtd html 3.2",
    "-//w3c//dtd html 4.0 frameset//",
    "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental ",
    "-//w3c//dtd w3 html ",
    "-//w3o//dtd w3 html 3.0//",
    "-//webtechs//dtd mozilla html",
];

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

/// A number for a name and a value.
fn digest(name: &[u8], value: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let name = name.iter().map(u8::to_ascii_lowercase);
    for byte in name.chain([b'=']).chain(value.iter().copied()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

fn has_prefix(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether HTML takes a byte for white space; the vertical tab is none.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// The next end tag of a raw element, from `from` on: where it begins.
pub(super) fn find_end_tag(html: &[u8], mut from: usize, name: &[u8]) -> Option<usize> {
    while let Some(found) = memchr::memmem::find(&html[from..], b"</") {
        let start = from + found;
        from = start + 2;
        if is_named(&html[from..], name) {
            return Some(start);
        }
    }
    None
}

/// The end tag of a script, from `from` on: where it begins. After `<!--` and `<script`, the next
/// `</script` is part of the script, unless `-->` comes before.
pub(super) fn find_script_end(html: &[u8], mut from: usize) -> Option<usize> {
    #[derive(PartialEq)]
    enum State {
        Plain,
        Escaped,
        Double,
    }
    let mut state = State::Plain;
    loop {
        let at = from + memchr::memchr2(b'<', b'-', &html[from..])?;
        let rest = &html[at..];
        from = at + 1;
        match &state {
            State::Plain if rest.starts_with(b"<!--") => {
                state = State::Escaped;
                // The hyphens may belong to the end as well, as in `<!-->`.
                from = at + 2;
            }
            State::Plain | State::Escaped
                if rest.starts_with(b"</") && is_named(&rest[2..], b"script") =>
            {
                return Some(at);
            }
            State::Escaped if is_named(&rest[1..], b"script") && rest[0] == b'<' => {
                state = State::Double;
            }
            State::Double if rest.starts_with(b"</") && is_named(&rest[2..], b"script") => {
                state = State::Escaped;
            }
            State::Escaped | State::Double if rest.starts_with(b"-->") => state = State::Plain,
            _ => {}
        }
    }
}

/// Whether a tag of this name begins here, after its less-than sign or slash.
fn is_named(rest: &[u8], name: &[u8]) -> bool {
    has_prefix(rest, name)
        && rest.get(name.len()).is_some_and(|&byte| is_space(byte) || matches!(byte, b'/' | b'>'))
}
