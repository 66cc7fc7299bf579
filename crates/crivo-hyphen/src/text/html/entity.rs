//! Characters written by name or number.

use crate::text::words::joins;

/// A character reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entity {
    pub(super) end: usize,
    /// The byte that replaces each of its bytes in the mask.
    ///
    /// - a letter, a digit, a soft hyphen, an unknown name: `0`, so that the word is not changed;
    /// - white space: a space; an ASCII character: itself; any other sign: a hyphen, which separates.
    pub(super) fill: u8,
    /// Whether it is ASCII white space.
    pub(super) is_space: bool,
}

/// The entity that begins at `at` with an ampersand.
pub(super) fn read(html: &[u8], at: usize) -> Entity {
    let rest = &html[at + 1..];
    let numeric = rest.first() == Some(&b'#');
    let length = usize::from(numeric)
        + rest[usize::from(numeric)..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
    let name = &rest[..length];
    let end = at + 1 + length;
    if length == 0 {
        return Entity { end, fill: b'&', is_space: false };
    }
    if rest.get(length) != Some(&b';') {
        // Old pages omit the semicolon: it may be a letter, or a name such as AT&T.
        return Entity { end, fill: b'0', is_space: false };
    }
    let character = if numeric { by_number(&name[1..]) } else { by_name(name) };
    let fill = match character {
        None => b'0',
        Some(character) if character.is_whitespace() => b' ',
        Some(character) if joins(character) => b'0',
        Some(character) => u8::try_from(character).ok().filter(u8::is_ascii).unwrap_or(b'-'),
    };
    let is_space = character.is_some_and(|character| character.is_ascii_whitespace());
    Entity { end: end + 1, fill, is_space }
}

fn by_number(digits: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok()?;
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    char::from_u32(number.ok()?)
}

/// The signs that separate words. Any other name is treated as a letter.
fn by_name(name: &[u8]) -> Option<char> {
    Some(match name {
        b"Tab" | b"NewLine" => '\n',
        b"nbsp" | b"ensp" | b"emsp" | b"thinsp" | b"hairsp" | b"numsp" | b"puncsp" => '\u{a0}',
        b"amp" | b"AMP" => '&',
        b"lt" | b"LT" => '<',
        b"gt" | b"GT" => '>',
        b"quot" | b"QUOT" => '"',
        b"apos" => '\'',
        b"hyphen" | b"dash" | b"ndash" | b"mdash" | b"horbar" | b"minus" => '\u{2010}',
        b"rsquo" => '\u{2019}',
        b"lsquo" | b"sbquo" | b"ldquo" | b"rdquo" | b"bdquo" | b"laquo" | b"raquo" | b"lsaquo"
        | b"rsaquo" => '\u{201c}',
        b"hellip" | b"bull" | b"middot" | b"sect" | b"para" | b"dagger" | b"Dagger" | b"copy"
        | b"reg" | b"trade" | b"iexcl" | b"iquest" | b"times" | b"rarr" | b"larr" => '\u{2022}',
        _ => return None,
    })
}
