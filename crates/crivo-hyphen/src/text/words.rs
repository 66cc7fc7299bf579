//! Finding the words of a text: a first pass over the bytes finds the end of a token, a second one
//! splits it into words.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::prose;
use crate::fold::WORD_JOINER;

/// Longer tokens are not prose and are not changed. This bounds the buffer of a stream.
pub(super) const MAX_TOKEN_LENGTH: usize = 1 << 16;

/// Fills the rest of an entity in a mask, after a sign that may join two words. Browsers pass it over in
/// pages as well.
pub(super) const PADDING: char = '\0';

/// Classes of bytes: one bit each, so that the classes of a token can be combined.
mod class {
    pub(super) const LETTER: u8 = 1;
    pub(super) const DIGIT: u8 = 2;
    pub(super) const SPACE: u8 = 4;
    /// A sign that prose has only at the ends of words, and addresses and code have inside.
    pub(super) const SIGN: u8 = 8;
    /// A part of a character beyond ASCII.
    pub(super) const WIDE: u8 = 16;
    /// A sign that may end a token of prose; together with [`SIGN`], one that must not be inside.
    pub(super) const CLOSE: u8 = 32;

    pub(super) static OF_BYTE: [u8; 256] = table();

    const fn table() -> [u8; 256] {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = match byte as u8 {
                b'a'..=b'z' | b'A'..=b'Z' => LETTER,
                b'0'..=b'9' => DIGIT,
                b' ' | b'\t'..=b'\r' => SPACE,
                b'.' | b':' => SIGN | CLOSE,
                b'@' | b'\\' | b'`' | b'_' | b'=' | b'#' | b'$' | b'<' | b'/' => SIGN,
                b',' | b';' | b'!' | b'?' | b')' | b'"' | b'\'' => CLOSE,
                0x80..=0xff => WIDE,
                _ => 0,
            };
            byte += 1;
        }
        table
    }
}

use class::{CLOSE, DIGIT, LETTER, OF_BYTE, SIGN, SPACE, WIDE};

/// Whether a byte is ASCII white space, which ends a token.
pub(super) fn is_space(byte: u8) -> bool {
    OF_BYTE[usize::from(byte)] == SPACE
}

/// The role of a character beyond ASCII in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It can begin a word.
    Letter,
    /// It belongs to the letter before: a combining mark, a joiner.
    Mark,
    /// A digit, or a soft hyphen: a word that contains it is not changed.
    Bar,
    /// It separates words.
    Separator,
}

fn role(character: char) -> Role {
    match character {
        // The letters of most texts, without a search in the Unicode tables.
        '\u{d7}' | '\u{f7}' => Role::Separator,
        '\u{c0}'..='\u{24f}' | '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => Role::Letter,
        '\u{ad}' | char::REPLACEMENT_CHARACTER => Role::Bar,
        '\u{200c}' | '\u{200d}' | WORD_JOINER => Role::Mark,
        // The number of a note, which is not part of the word.
        '\u{b2}'
        | '\u{b3}'
        | '\u{b9}'
        | '\u{2070}'
        | '\u{2074}'..='\u{2079}'
        | '\u{2080}'..='\u{2089}' => Role::Separator,
        // Marks first: many vowel signs are both, and none can begin a word.
        _ if is_combining_mark(character) => Role::Mark,
        _ if character.is_alphabetic() => Role::Letter,
        _ if character.is_numeric() => Role::Bar,
        _ => Role::Separator,
    }
}

/// Whether a character belongs to a run of letters, even if the run must not be changed.
pub(super) fn joins(character: char) -> bool {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        _ => role(character) != Role::Separator,
    }
}

/// The ranges of the words in a text, in order.
#[derive(Debug, Clone)]
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
    /// The end of the prose that is being searched.
    prose_end: usize,
    /// The end of the token that is being searched: a run of bytes without ASCII white space.
    token_end: usize,
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, prose_end: 0, token_end: 0 }
    }

    /// The next word, if its token is of the simplest form: ASCII letters, at most one sign at the
    /// end, white space. Most words are, and need no second pass.
    fn next_plain(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.at..];
        let start = self.at + rest.iter().position(|&byte| !is_space(byte))?;
        let is_letter = |byte: u8| OF_BYTE[usize::from(byte)] == LETTER;
        let token = &bytes[start..];
        let length = token.iter().position(|&byte| !is_letter(byte)).unwrap_or(token.len());
        let ends = |at: usize| token.get(at).is_none_or(|&byte| is_space(byte));
        let closes =
            |at: usize| token.get(at).is_some_and(|&byte| OF_BYTE[usize::from(byte)] & CLOSE != 0);
        let end = match length {
            1..MAX_TOKEN_LENGTH if ends(length) => length,
            1..MAX_TOKEN_LENGTH if closes(length) && ends(length + 1) => length + 1,
            _ => return None,
        };
        self.at = start + end;
        Some(start..start + length)
    }

    /// Advances to the next stretch of prose: a token, or a part of one.
    fn next_prose(&mut self) -> Option<()> {
        loop {
            if self.at < self.token_end {
                self.next_part();
                if self.at < self.prose_end {
                    return Some(());
                }
                continue;
            }
            let bytes = self.text.as_bytes();
            self.at += bytes[self.at..].iter().position(|&byte| !is_space(byte))?;
            let mut seen = 0;
            let length = bytes[self.at..]
                .iter()
                .position(|&byte| {
                    let class = OF_BYTE[usize::from(byte)];
                    seen |= class;
                    class == SPACE
                })
                .unwrap_or(bytes.len() - self.at);
            let end = self.at + length;
            if length > MAX_TOKEN_LENGTH || seen & (LETTER | WIDE) == 0 {
                self.at = end;
            } else if seen & SIGN == 0 {
                (self.prose_end, self.token_end) = (end, end);
                return Some(());
            } else if seen & WIDE == 0 {
                if prose::is_prose(&self.text[self.at..end]) {
                    (self.prose_end, self.token_end) = (end, end);
                    return Some(());
                }
                self.at = end;
            } else {
                // There may be white space beyond ASCII: each part is checked separately.
                self.token_end = end;
            }
        }
    }

    /// The next part between white space beyond ASCII, which is skipped if it is not prose.
    fn next_part(&mut self) {
        let rest = &self.text[self.at..self.token_end];
        let part = rest.trim_start();
        self.at = self.token_end - part.len();
        let end = part.find(char::is_whitespace).map_or(self.token_end, |length| self.at + length);
        if prose::is_prose(&self.text[self.at..end]) {
            self.prose_end = end;
        } else {
            self.at = end;
        }
    }

    /// The next run of letters in the prose, and whether it may be changed.
    fn next_run(&mut self) -> Option<(Range<usize>, bool)> {
        let prose = &self.text.as_bytes()[..self.prose_end];
        let mut at = self.at;
        let (start, mut free) = loop {
            let Some(&byte) = prose.get(at) else {
                self.at = at;
                return None;
            };
            match OF_BYTE[usize::from(byte)] {
                LETTER => break (at, true),
                DIGIT => break (at, false),
                WIDE => {
                    let character = self.character(at);
                    match role(character) {
                        Role::Letter => break (at, true),
                        Role::Bar => break (at, false),
                        Role::Mark | Role::Separator => at += character.len_utf8(),
                    }
                }
                _ => at += 1,
            }
        };
        while let Some(&byte) = prose.get(at) {
            match OF_BYTE[usize::from(byte)] {
                LETTER => at += 1,
                DIGIT => (at, free) = (at + 1, false),
                WIDE => {
                    let character = self.character(at);
                    match role(character) {
                        Role::Letter | Role::Mark => {}
                        Role::Bar => free = false,
                        Role::Separator => break,
                    }
                    at += character.len_utf8();
                }
                _ => break,
            }
        }
        self.at = at;
        Some((start..at, free))
    }

    fn character(&self, at: usize) -> char {
        // There is a byte at `at`, and it begins a character.
        self.text[at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            while let Some((run, free)) = self.next_run() {
                if free {
                    return Some(run);
                }
            }
            if self.at >= self.token_end
                && let Some(word) = self.next_plain()
            {
                return Some(word);
            }
            self.next_prose()?;
        }
    }
}
