//! The subset of TeX's syntax that files of patterns and exceptions use.
//!
//! A file is either a plain list (entries separated by white space), or TeX source with the entries
//! in the groups of `\patterns{…}` or `\hyphenation{…}`; only these groups are read. A percent sign
//! starts a comment up to the end of the line.

use std::fs;
use std::path::Path;

use crate::{ParseError, ReadError};

/// An entry of a list, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'t> {
    pub text: &'t str,
    pub line: usize,
    /// The text before it in its line; the column is only computed for an error.
    pub before: &'t str,
}

impl<'t> Entry<'t> {
    /// An entry without surrounding text.
    pub fn alone(text: &'t str) -> Self {
        Self { text, line: 1, before: "" }
    }

    /// An error at character `index` of this entry.
    pub fn error(&self, index: usize, expected: &'static str) -> ParseError {
        let column = self.before.chars().count() + index + 1;
        ParseError::new(self.line, column, self.text, expected)
    }
}

/// The entries in the groups of `command` (`\patterns`, `\hyphenation`); all entries of a text that
/// has neither kind of group.
pub(crate) fn entries<'t>(text: &'t str, command: &str) -> Result<Vec<Entry<'t>>, ParseError> {
    let all = tokens(text);
    if !all.iter().any(|token| matches!(token.text, "\\patterns" | "\\hyphenation")) {
        return match all.iter().find(|token| token.text.starts_with(['{', '}', '\\'])) {
            Some(token) => {
                Err(token.error(0, "an entry, or a group of \\patterns or \\hyphenation"))
            }
            None => Ok(all),
        };
    }
    let mut found = Vec::with_capacity(all.len());
    let mut tokens = all.into_iter();
    while let Some(token) = tokens.next() {
        if token.text != command {
            continue;
        }
        match tokens.next() {
            Some(brace) if brace.text == "{" => {}
            Some(other) => return Err(other.error(0, "an opening brace after the command")),
            None => return Err(token.error(0, "an opening brace after the command")),
        }
        loop {
            match tokens.next() {
                None => return Err(token.error(0, "a closing brace for this group")),
                Some(brace) if brace.text == "}" => break,
                Some(entry) if entry.text.starts_with(['{', '\\']) => {
                    return Err(entry.error(0, "an entry or a closing brace"));
                }
                Some(entry) => found.push(entry),
            }
        }
    }
    Ok(found)
}

/// Splits text into braces, commands (starting with a backslash) and runs of other characters.
fn tokens(text: &str) -> Vec<Entry<'_>> {
    // The first line may begin with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let end = memchr::memchr(b'%', line.as_bytes()).unwrap_or(line.len());
        let mut rest = line[..end].trim_start();
        while let Some(first) = rest.chars().next() {
            let ends = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '\\');
            let length = match first {
                '{' | '}' => 1,
                _ => rest[first.len_utf8()..]
                    .find(ends)
                    .map_or(rest.len(), |end| first.len_utf8() + end),
            };
            let (text, after) = rest.split_at(length);
            let before = &line[..end - rest.len()];
            tokens.push(Entry { text, line: index + 1, before });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Reads and parses a file in UTF-8; an error names the file.
pub(crate) fn read<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<T, ReadError> {
    let bytes = fs::read(path).map_err(|error| ReadError::Io { file: path.into(), error })?;
    let parsed = match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = valid.matches('\n').count() + 1;
            let column = valid.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
            let byte = bytes[error.valid_up_to()];
            Err(ParseError::new(line, column, format!("byte {byte:#04x}"), "text in UTF-8"))
        }
    };
    parsed.map_err(|error| error.in_file(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'t>(text: &'t str, command: &str) -> Vec<&'t str> {
        entries(text, command).unwrap().into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn plain_lists_and_tex_groups_are_read() {
        assert_eq!(texts("a1b  c2d % no\n\n.e3", "\\patterns"), ["a1b", "c2d", ".e3"]);
        let tex =
            "% \\patterns{no}\n\\message{x}\\patterns{% why\na1b\nc2d}\n\\hyphenation {ta-ble}";
        assert_eq!(texts(tex, "\\patterns"), ["a1b", "c2d"]);
        assert_eq!(texts(tex, "\\hyphenation"), ["ta-ble"]);
        assert!(texts("\\patterns{a1b}", "\\hyphenation").is_empty());
        assert!(texts("\u{feff}% only a comment", "\\patterns").is_empty());
    }

    #[test]
    fn errors_give_line_and_column() {
        let place = |text| {
            let error = entries(text, "\\patterns").unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(place("a1b\n é {"), (2, 4));
        // Other commands are ignored only in a file that has a group of patterns or exceptions.
        assert_eq!(place("a1b\n c2\\d"), (2, 4));
        assert_eq!(place("\\pattern{a1b}"), (1, 1));
        assert_eq!(place("x\n  \\patterns a1b"), (2, 13));
        assert_eq!(place("\\patterns{a1b\n c2d"), (1, 1));
        assert_eq!(place("\\patterns{a1b {c2d}}"), (1, 15));
    }
}
