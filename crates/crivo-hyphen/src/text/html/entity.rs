//! Characters written by name or number.

use crate::text::words::{PADDING, joins};

/// A character reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) struct Entity {
    pub(in crate::text) end: usize,
    pub(in crate::text) fill: Fill,
    /// Whether it is ASCII white space.
    pub(super) is_space: bool,
}

/// What stands for a character reference in the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) enum Fill {
    /// This byte, as often as there are bytes.
    ///
    /// - a letter, a digit, a soft hyphen, an unknown name: `0`, so that the word is not changed;
    /// - white space: a space; an ASCII character: itself; any other sign: a hyphen, which separates.
    Byte(u8),
    /// A sign that may join two words, and padding.
    Sign(&'static str),
}

impl Fill {
    pub(in crate::text) fn apply(self, mask: &mut [u8]) {
        match self {
            Self::Byte(byte) => mask.fill(byte),
            Self::Sign(sign) => {
                let (first, rest) = mask.split_at_mut(sign.len());
                first.copy_from_slice(sign.as_bytes());
                rest.fill(PADDING as u8);
            }
        }
    }
}

/// The entity that begins at `at` with an ampersand.
pub(in crate::text) fn read(html: &[u8], at: usize) -> Entity {
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
        return Entity { end, fill: Fill::Byte(b'&'), is_space: false };
    }
    if rest.get(length) != Some(&b';') {
        // Old pages omit the semicolon: it may be a letter, or a name such as AT&T.
        return Entity { end, fill: Fill::Byte(b'0'), is_space: false };
    }
    let character = if numeric { by_number(&name[1..]) } else { by_name(name) };
    let fill = match character {
        None => Fill::Byte(b'0'),
        // Both apostrophes are one letter where they are letters.
        Some('\'' | '\u{2019}') => Fill::Sign("'"),
        Some('\u{b7}') => Fill::Sign("\u{b7}"),
        Some(character) if character.is_whitespace() => Fill::Byte(b' '),
        Some(character) if joins(character) => Fill::Byte(b'0'),
        Some(character) => {
            let ascii = u8::try_from(character).ok().filter(u8::is_ascii);
            Fill::Byte(ascii.unwrap_or(b'-'))
        }
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
        b"rsquo" | b"rsquor" | b"CloseCurlyQuote" => '\u{2019}',
        b"middot" | b"centerdot" | b"CenterDot" => '\u{b7}',
        b"lsquo" | b"sbquo" | b"ldquo" | b"rdquo" | b"bdquo" | b"laquo" | b"raquo" | b"lsaquo"
        | b"rsaquo" => '\u{201c}',
        b"hellip" | b"bull" | b"sect" | b"para" | b"dagger" | b"Dagger" | b"copy" | b"reg"
        | b"trade" | b"iexcl" | b"iquest" | b"times" | b"rarr" | b"larr" => '\u{2022}',
        _ => return None,
    })
}
