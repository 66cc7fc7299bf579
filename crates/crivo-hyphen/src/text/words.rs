//! Finding the words of a text: one look at every byte to see where a token ends, and a second one
//! to cut words from it.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::prose;

/// Tokens longer than this are no prose, and are left alone; so a stream needs no larger buffer.
pub(super) const LONGEST_TOKEN: usize = 1 << 16;

/// What a byte tells: one bit each, so that a token's bytes can be added up.
mod class {
    pub(super) const LETTER: u8 = 1;
    pub(super) const DIGIT: u8 = 2;
    pub(super) const SPACE: u8 = 4;
    /// A sign that prose has only at the edges of words, and addresses and code have inside.
    pub(super) const SIGN: u8 = 8;
    /// A part of a character beyond ASCII.
    pub(super) const WIDE: u8 = 16;

    pub(super) static OF_BYTE: [u8; 256] = table();

    const fn table() -> [u8; 256] {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = match byte as u8 {
                b'a'..=b'z' | b'A'..=b'Z' => LETTER,
                b'0'..=b'9' => DIGIT,
                b' ' | b'\t'..=b'\r' => SPACE,
                b'@' | b'\\' | b'`' | b'_' | b'.' | b'=' | b'#' | b'$' | b'<' | b':' | b'/' => SIGN,
                0x80..=0xff => WIDE,
                _ => 0,
            };
            byte += 1;
        }
        table
    }
}

use class::{DIGIT, LETTER, OF_BYTE, SIGN, SPACE, WIDE};

/// Whether a byte is one of ASCII's white space. Tokens of bytes end there.
pub(super) fn is_space(byte: u8) -> bool {
    OF_BYTE[usize::from(byte)] == SPACE
}

/// What a character beyond ASCII is to a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It can begin a word.
    Letter,
    /// It goes with the letter before: a combining mark, a joiner.
    Mark,
    /// A digit, or a soft hyphen of the author's: no word with it is touched.
    Bar,
    /// It stands between words.
    Separator,
}

fn role(character: char) -> Role {
    match character {
        // The letters of most texts, without a search in the tables of Unicode.
        '\u{d7}' | '\u{f7}' => Role::Separator,
        '\u{c0}'..='\u{24f}' | '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => Role::Letter,
        '\u{ad}' => Role::Bar,
        '\u{200c}' | '\u{200d}' => Role::Mark,
        // Marks first: many vowel signs are both, and none can begin a word.
        _ if is_combining_mark(character) => Role::Mark,
        _ if character.is_alphabetic() => Role::Letter,
        _ if character.is_numeric() => Role::Bar,
        _ => Role::Separator,
    }
}

/// Whether a character belongs to a run of letters, be it one that is left alone.
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
    /// Where the prose ends in which the next word is looked for.
    prose_end: usize,
    /// Where the run of bytes without ASCII white space ends that is being looked at.
    token_end: usize,
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, prose_end: 0, token_end: 0 }
    }

    /// Goes to the next stretch of prose: nothing between white spaces, or a part of that.
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
            if length > LONGEST_TOKEN || seen & (LETTER | WIDE) == 0 {
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
                // There may be white space beyond ASCII: each part is judged for itself.
                self.token_end = end;
            }
        }
    }

    /// The next part between white spaces beyond ASCII: prose, or passed over.
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

    /// The next run of letters in the prose, and whether it may be touched.
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
        // There is a byte at this place, and all before it were taken by whole characters.
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
            self.next_prose()?;
        }
    }
}
