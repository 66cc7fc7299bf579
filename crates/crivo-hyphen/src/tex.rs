//! The little of TeX's syntax that files of patterns and exceptions use.
//!
//! A file is either a plain list (entries between blanks), or TeX source in which the entries stand
//! in the groups of `\patterns{…}` or `\hyphenation{…}`; of the latter nothing but these groups is
//! read. A percent sign begins a comment that ends with its line.

use std::fs;
use std::path::Path;

use crate::{ParseError, ReadError};

/// An entry of a list, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'t> {
    pub text: &'t str,
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Entry<'_> {
    /// Says that this entry is wrong at its character `index`.
    pub fn error(&self, index: usize, expected: &'static str) -> ParseError {
        ParseError::new(self.line, self.column + index, self.text, expected)
    }
}

/// The entries of the groups of `command` (`\patterns`, `\hyphenation`); all entries of a text that
/// has no groups of either.
pub(crate) fn entries<'t>(text: &'t str, command: &str) -> Result<Vec<Entry<'t>>, ParseError> {
    let is_tex = tokens(text).any(|token| matches!(token.text, "\\patterns" | "\\hyphenation"));
    let mut found = Vec::new();
    if !is_tex {
        for token in tokens(text) {
            if token.text.starts_with(['{', '}', '\\']) {
                return Err(token.error(0, "an entry, or a group of \\patterns or \\hyphenation"));
            }
            found.push(token);
        }
        return Ok(found);
    }
    let mut tokens = tokens(text);
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

/// Cuts text into braces, commands (from a backslash on) and runs of other characters.
fn tokens(text: &str) -> impl Iterator<Item = Entry<'_>> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let line = line.split('%').next().unwrap_or(line);
        // The first line may carry a byte order mark.
        let mut rest = if index == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let mut column = 1;
        std::iter::from_fn(move || {
            let blank = rest.len() - rest.trim_start().len();
            column += rest[..blank].chars().count();
            rest = &rest[blank..];
            let first = rest.chars().next()?;
            let ends = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '\\');
            let length = match first {
                '{' | '}' => 1,
                _ => rest[first.len_utf8()..]
                    .find(ends)
                    .map_or(rest.len(), |end| first.len_utf8() + end),
            };
            let entry = Entry { text: &rest[..length], line: index + 1, column };
            column += entry.text.chars().count();
            rest = &rest[length..];
            Some(entry)
        })
    })
}

/// Reads a file of UTF-8 and parses it; an error names the file.
pub(crate) fn read<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<T, ReadError> {
    let bytes = fs::read(path).map_err(|source| ReadError::Io { file: path.into(), source })?;
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
    fn plain_lists_and_tex_groups_are_read_alike() {
        assert_eq!(texts("a1b  c2d % no\n\n.e3", "\\patterns"), ["a1b", "c2d", ".e3"]);
        let tex =
            "% \\patterns{no}\n\\message{x}\\patterns{% why\na1b\nc2d}\n\\hyphenation {ta-ble}";
        assert_eq!(texts(tex, "\\patterns"), ["a1b", "c2d"]);
        assert_eq!(texts(tex, "\\hyphenation"), ["ta-ble"]);
        assert!(texts("\\patterns{a1b}", "\\hyphenation").is_empty());
        assert!(texts("\u{feff}% only a comment", "\\patterns").is_empty());
    }

    #[test]
    fn errors_tell_the_place() {
        let place = |text| {
            let error = entries(text, "\\patterns").unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(place("a1b\n é {"), (2, 4));
        // Commands are passed over only in a file that has patterns or exceptions in a group.
        assert_eq!(place("a1b\n c2\\d"), (2, 4));
        assert_eq!(place("\\pattern{a1b}"), (1, 1));
        assert_eq!(place("x\n  \\patterns a1b"), (2, 13));
        assert_eq!(place("\\patterns{a1b\n c2d"), (1, 1));
        assert_eq!(place("\\patterns{a1b {c2d}}"), (1, 15));
    }
}
