//! Markdown: a mask shows the words, as for HTML.
//!
//! Code, front matter, addresses, definitions of links and HTML tags are hidden. The text of a link is
//! shown only where it is not also the name of a definition, which a soft hyphen would change.

use std::ops::Range;

use super::html::entity::{self, Entity};
use super::template;

/// Hides everything that is not prose. The mask is as long as the text.
pub(super) fn mask(text: &str) -> String {
    let mut mask = text.as_bytes().to_vec();
    let mut fence: Option<Fence> = None;
    let mut prose = 0..0;
    let mut at = front_matter(text);
    hide(&mut mask, 0..at, b' ');
    prose.start = at;
    prose.end = at;
    let mut after_blank = true;
    let mut in_list = false;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n| at + n + 1);
        let line = &text[at..end];
        let content = line.trim_end_matches(['\n', '\r']);
        let blank = content.trim().is_empty();
        let quoted = unquoted(content);
        let indent = indentation(quoted);
        let hides = if let Some(open) = &fence {
            if open.is_closed_by(quoted) {
                fence = None;
            }
            true
        } else if let Some(open) = Fence::opened_by(quoted) {
            fence = Some(open);
            true
        } else {
            // Four spaces after a blank line are code, unless they continue an item of a list.
            (indent >= 4 && after_blank && !in_list && !blank) || is_definition(quoted)
        };
        if hides {
            inline(text, &mut mask, prose.clone());
            hide(&mut mask, at..at + content.len(), b' ');
            prose = end..end;
        } else if blank {
            inline(text, &mut mask, prose.clone());
            prose = end..end;
        } else {
            prose.end = end;
        }
        // Code goes on after its first line, and blank lines inside of it.
        after_blank = blank || (hides && fence.is_none() && indent >= 4);
        in_list = is_item(quoted) || (in_list && (blank || indent > 0));
        at = end;
    }
    inline(text, &mut mask, prose);
    for (range, fill) in template::markers(text.as_bytes()) {
        mask[range].fill(fill);
    }
    // Everything that is hidden begins and ends at ASCII characters.
    String::from_utf8(mask).unwrap_or_else(|_| " ".repeat(text.len()))
}

/// The maximum length of a code span, a tag or the address of a link.
const MAX_LENGTH: usize = 1 << 13;

/// A fence of a block of code: its character and length.
struct Fence {
    sign: u8,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start_matches(' ');
        let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = line.bytes().take_while(|&byte| byte == sign).count();
        let info = &line[length..];
        (length >= 3 && !(sign == b'`' && info.contains('`'))).then_some(Self { sign, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.bytes().all(|byte| byte == self.sign)
    }
}

/// The end of the metadata at the beginning of a file, between lines of `---` or `+++`.
fn front_matter(text: &str) -> usize {
    let text_start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut lines = text[text_start..].split_inclusive('\n');
    let Some(first) = lines.next() else { return 0 };
    let sign = first.trim_end();
    if !matches!(sign, "---" | "+++") {
        return 0;
    }
    let mut end = text_start + first.len();
    for line in lines {
        end += line.len();
        if line.trim_end() == sign || (sign == "---" && line.trim_end() == "...") {
            return end;
        }
    }
    0
}

/// A line without the signs of quotations.
fn unquoted(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = line.trim_start_matches(' ').strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// The number of columns before the text of a line.
fn indentation(line: &str) -> usize {
    let mut columns = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns = (columns / 4 + 1) * 4,
            _ => break,
        }
    }
    columns
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        1..=9 => line[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    mark.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Whether a line defines the address of a link or the text of a footnote: `[name]: address`.
fn is_definition(line: &str) -> bool {
    let line = line.trim_start();
    let Some(rest) = line.strip_prefix('[').filter(|rest| !rest.starts_with('^')) else {
        return false;
    };
    rest.split_once("]:").is_some_and(|(name, _)| !name.contains('[') && !name.is_empty())
}

/// Hides what is not prose in a paragraph.
fn inline(text: &str, mask: &mut [u8], range: Range<usize>) {
    let bytes = text.as_bytes();
    let end = range.end;
    let mut at = range.start;
    // Where brackets are open, and whether each belongs to an image.
    let mut brackets: Vec<usize> = Vec::new();
    while at < end {
        // Longer than this is no link and no tag, so that hostile text takes linear time.
        let rest = &bytes[at..end.min(at + MAX_LENGTH)];
        let next = match bytes[at] {
            b'\\' => (at + 2).min(end),
            b'`' => {
                let length = rest.iter().take_while(|&&byte| byte == b'`').count();
                match code_end(&rest[length..], length) {
                    Some(code) => hide(mask, at..at + length + code, b'0'),
                    None => at + length,
                }
            }
            b'<' => match tag_end(rest) {
                Some(length) => hide(mask, at..at + length, b'0'),
                None => at + 1,
            },
            b'&' if begins_entity(rest) => {
                let Entity { end, fill, .. } = entity::read(bytes, at);
                fill.apply(&mut mask[at..end]);
                end
            }
            b'[' => {
                brackets.push(at);
                at + 1
            }
            b']' => match brackets.pop() {
                Some(open) => close_bracket(bytes, mask, open, at, end),
                None => at + 1,
            },
            _ => at + 1,
        };
        at = next;
    }
}

/// The end of a link or of other text in brackets.
fn close_bracket(bytes: &[u8], mask: &mut [u8], open: usize, at: usize, end: usize) -> usize {
    let rest = &bytes[at + 1..end.min(at + MAX_LENGTH)];
    match rest.first() {
        Some(b'(') => match balanced(rest, b'(', b')') {
            Some(length) => hide(mask, at + 1..at + 1 + length, b'-'),
            None => at + 1,
        },
        Some(b'[') => match balanced(rest, b'[', b']') {
            // An empty pair of brackets: the text is the name.
            Some(2) => hide(mask, open..at + 3, b'0'),
            Some(length) => hide(mask, at + 1..at + 1 + length, b'-'),
            None => at + 1,
        },
        // The text may be the name of a definition.
        _ => {
            hide(mask, open + 1..at, b'0');
            at + 1
        }
    }
}

/// The length of a code span after its opening backticks.
fn code_end(rest: &[u8], length: usize) -> Option<usize> {
    let mut at = 0;
    while at < rest.len() {
        let ticks = rest[at..].iter().take_while(|&&byte| byte == b'`').count();
        if ticks == length {
            return Some(at + ticks);
        }
        at += ticks.max(1);
    }
    None
}

/// The length of a tag, a comment or an address in angle brackets.
fn tag_end(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"<!--") {
        return memchr::memmem::find(rest, b"-->").map(|at| at + 3);
    }
    let first = *rest.get(1)?;
    if !(first.is_ascii_alphabetic() || matches!(first, b'/' | b'!' | b'?')) {
        return None;
    }
    let mut quote = None;
    for (index, &byte) in rest.iter().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if matches!(byte, b'"' | b'\'') && rest[..index].ends_with(b"=") => {
                quote = Some(byte);
            }
            None if byte == b'>' => return Some(index + 1),
            None => {}
        }
    }
    None
}

/// Whether an entity begins here. Without a semicolon it is none.
fn begins_entity(rest: &[u8]) -> bool {
    let name = rest[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#');
    let length = name.count();
    length > 0 && rest.get(length + 1) == Some(&b';')
}

/// The length of a text up to the bracket that closes its first one.
fn balanced(rest: &[u8], open: u8, close: u8) -> Option<usize> {
    let mut depth = 0;
    let mut escaped = false;
    for (index, &byte) in rest.iter().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(index + 1);
            }
        }
    }
    None
}

/// Replaces a range, except for white space, and returns its end.
fn hide(mask: &mut [u8], range: Range<usize>, with: u8) -> usize {
    let end = range.end;
    let hidden = mask[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace());
    hidden.for_each(|byte| *byte = with);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters that the mask shows; hidden ones are dots.
    fn shown(text: &str) -> String {
        let mask = mask(text);
        assert_eq!(mask.len(), text.len());
        let letters = mask.bytes().zip(text.bytes());
        letters
            .filter(|(_, byte)| byte.is_ascii_alphabetic())
            .map(|(mask, byte)| if mask == byte { char::from(byte) } else { '.' })
            .collect()
    }

    #[test]
    fn code_is_hidden() {
        assert_eq!(shown("a `b` ``c ` d`` e ` f"), "a...ef");
        assert_eq!(shown("a\n\n    b\n\n    c\n\nd"), "a..d");
        assert_eq!(shown("a\n    b\n"), "ab");
        assert_eq!(shown("- a\n\n    b\n"), "ab");
        assert_eq!(shown("```rs\nb\n~~~\n```\na\n~~~\nb"), "...a.");
        assert_eq!(shown("> ```\n> b\n> ```\n> a"), ".a");
    }

    #[test]
    fn front_matter_is_hidden() {
        assert_eq!(shown("---\na: b\n---\nc"), "..c");
        assert_eq!(shown("+++\na = b\n+++\nc"), "..c");
        assert_eq!(shown("a\n---\nb\n---\n"), "ab");
        assert_eq!(shown("---\nb\n"), "b");
    }

    #[test]
    fn names_and_addresses_of_links_are_hidden() {
        assert_eq!(shown("[a](b \"c\") d"), "a..d");
        assert_eq!(shown("[a][b] [c][] [d] e"), "a...e");
        assert_eq!(shown("![a](b) <c://d> <e f='g>h'> i"), "a.......i");
        assert_eq!(shown("[a]: b 'c'\nd"), "...d");
        assert_eq!(shown("[a [b] c](d) e"), "a.c.e");
        assert_eq!(shown("\\[a\\] \\`b\\` &c; d"), "ab.d");
    }

    #[test]
    fn templates_are_hidden() {
        assert_eq!(shown("a {{ b }} {% c %} <% d %> ${ e } f"), "a....f");
    }

    #[test]
    fn brackets_without_end_take_linear_time() {
        for sign in ["[", "](", "`", "<a ", "[](", "&a"] {
            assert_eq!(mask(&sign.repeat(20_000)).len(), sign.len() * 20_000);
        }
    }
}
