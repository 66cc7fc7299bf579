//! The subset of TeX's syntax that files of patterns and exceptions use.
//!
//! A file is either a plain list (entries separated by white space), or TeX source with the entries
//! in the groups of `\patterns{…}` or `\hyphenation{…}`; only these groups are read. A percent sign
//! starts a comment up to the end of the line. Macros with one argument (`\def\noun#1{#1o. #1on.}`)
//! are expanded, `\endinput` ends the file, and files named by `\input` are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{ParseError, ReadError};

/// An entry of a list, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'t> {
    pub text: Cow<'t, str>,
    pub line: usize,
    /// The text before it in its line; the column is only computed for an error.
    pub before: &'t str,
}

impl<'t> Entry<'t> {
    /// An entry without surrounding text.
    pub fn alone(text: &'t str) -> Self {
        Self { text: text.into(), line: 1, before: "" }
    }

    /// An error at character `index` of this entry.
    pub fn error(&self, index: usize, expected: &'static str) -> ParseError {
        let column = self.before.chars().count() + index + 1;
        ParseError::new(self.line, column, &*self.text, expected)
    }
}

/// The entries in the groups of `command` (`\patterns`, `\hyphenation`); all entries of a text that
/// has neither kind of group.
pub(crate) fn entries<'t>(text: &'t str, command: &str) -> Result<Vec<Entry<'t>>, ParseError> {
    let all = tokens(text);
    if !all.iter().any(|token| matches!(&*token.text, "\\patterns" | "\\hyphenation" | INPUT)) {
        return match all.iter().find(|token| token.text.starts_with(['{', '}', '\\'])) {
            Some(token) => {
                Err(token.error(0, "an entry, or a group of \\patterns or \\hyphenation"))
            }
            None => Ok(all),
        };
    }
    let mut found = Vec::with_capacity(all.len());
    let mut macros = HashMap::new();
    let mut tokens = all.into_iter();
    while let Some(token) = tokens.next() {
        if matches!(&*token.text, "\\def" | "\\edef") {
            let Some((name, body)) = definition(&mut tokens) else { continue };
            macros.insert(name, body);
        }
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
                Some(name) if macros.contains_key(&*name.text) => {
                    let argument: Vec<Entry<'_>> = tokens.by_ref().take(3).collect();
                    match &argument[..] {
                        [open, text, close] if open.text == "{" && close.text == "}" => {
                            let words = expand(&macros, &name.text, &text.text, 0);
                            let entry = |text: String| Entry { text: text.into(), ..name.clone() };
                            found.extend(words.into_iter().map(entry));
                        }
                        _ => return Err(name.error(0, "one argument in braces after the command")),
                    }
                }
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
            if text == "\\endinput" {
                return tokens;
            }
            tokens.push(Entry { text: text.into(), line: index + 1, before });
            rest = after.trim_start();
        }
    }
    tokens
}

const INPUT: &str = "\\input";

/// The name and the body of a macro, after `\def`: `\name#1{body}`.
fn definition<'t>(
    tokens: &mut impl Iterator<Item = Entry<'t>>,
) -> Option<(String, Vec<Cow<'t, str>>)> {
    let name = tokens.next()?.text.strip_suffix("#1")?.to_owned();
    let mut depth = 0;
    let mut body = Vec::new();
    for token in tokens.by_ref() {
        match &*token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        body.push(token.text);
        if depth == 0 {
            break;
        }
    }
    // Without the outer braces.
    let inner = body.len().checked_sub(1).filter(|&end| end >= 1)?;
    body.truncate(inner);
    body.remove(0);
    Some((name, body))
}

/// Macros in macros; a hostile file could nest them without end.
const MAX_DEPTH: usize = 8;

/// The words that a macro stands for.
fn expand(
    macros: &HashMap<String, Vec<Cow<'_, str>>>,
    name: &str,
    argument: &str,
    depth: usize,
) -> Vec<String> {
    let mut words = Vec::new();
    let mut body = macros[name].iter();
    while let Some(token) = body.next() {
        if depth < MAX_DEPTH && macros.contains_key(&**token) {
            let inner: Vec<_> = body.by_ref().take(3).collect();
            if let [_, inner, _] = inner[..] {
                let inner = inner.replace("#1", argument);
                words.extend(expand(macros, token, &inner, depth + 1));
            }
        } else {
            words.push(token.replace("#1", argument));
        }
    }
    words
}

/// The minima that a file of hyph-utf8 states in the comment at its beginning: those for typesetting,
/// or else those that its patterns were made with.
pub(crate) fn minima(text: &str) -> Option<(usize, usize)> {
    let comments = text.lines().map_while(|line| line.strip_prefix('%'));
    let mut lines = comments.skip_while(|line| line.trim() != "hyphenmins:").skip(1);
    let mut found: HashMap<&str, [Option<usize>; 2]> = HashMap::new();
    let mut section = "";
    let is_inside = |line: &&str| line.starts_with("  ");
    for line in lines.by_ref().take_while(is_inside) {
        let Some((key, value)) = line.trim().split_once(':') else { break };
        let value = value.trim().parse().ok();
        match key {
            "left" => found.entry(section).or_default()[0] = value,
            "right" => found.entry(section).or_default()[1] = value,
            other => section = other,
        }
    }
    let both = |section| match found.get(section) {
        Some(&[Some(left), Some(right)]) => Some((left, right)),
        _ => None,
    };
    both("typesetting").or_else(|| both("generation"))
}

/// Reads a file in UTF-8 and those that it includes, and parses their texts, the included ones first;
/// an error names the file.
pub(crate) fn read<T>(
    path: &Path,
    mut parse: impl FnMut(&str) -> Result<T, ParseError>,
) -> Result<Vec<T>, ReadError> {
    let mut parsed = Vec::new();
    read_into(path, &mut parse, &mut parsed, 0)?;
    Ok(parsed)
}

fn read_into<T>(
    path: &Path,
    parse: &mut impl FnMut(&str) -> Result<T, ParseError>,
    parsed: &mut Vec<T>,
    depth: usize,
) -> Result<(), ReadError> {
    let bytes = fs::read(path).map_err(|error| ReadError::Io { file: path.into(), error })?;
    if let Ok(text) = std::str::from_utf8(&bytes)
        && depth < MAX_DEPTH
    {
        for name in included(text) {
            read_into(&path.with_file_name(name), parse, parsed, depth + 1)?;
        }
    }
    let result = match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = valid.matches('\n').count() + 1;
            let column = valid.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
            let byte = bytes[error.valid_up_to()];
            Err(ParseError::new(line, column, format!("byte {byte:#04x}"), "text in UTF-8"))
        }
    };
    parsed.push(result.map_err(|error| error.in_file(path))?);
    Ok(())
}

/// The files that a file includes.
fn included(text: &str) -> Vec<PathBuf> {
    if !text.contains(INPUT) {
        return Vec::new();
    }
    let tokens = tokens(text);
    let pairs = tokens.windows(2).filter(|pair| pair[0].text == INPUT);
    pairs.map(|pair| PathBuf::from(&*pair[1].text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, command: &str) -> Vec<String> {
        entries(text, command).unwrap().into_iter().map(|entry| entry.text.into_owned()).collect()
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
    fn macros_are_expanded() {
        let tex =
            "\\def\\adj#1{#1a. #1e.}\\edef\\nom#1{\\adj{#1} #1o.}\n\\patterns{x1y \\nom{1b2} z\n}";
        assert_eq!(texts(tex, "\\patterns"), ["x1y", "1b2a.", "1b2e.", "1b2o.", "z"]);
        assert!(entries("\\def\\a#1{#1}\\patterns{\\a b}", "\\patterns").is_err());
        // One that contains itself ends.
        let endless = "\\def\\a#1{\\a{#1} #1}\\patterns{\\a{b1}}";
        assert!(entries(endless, "\\patterns").is_ok());
    }

    #[test]
    fn minima_are_those_for_typesetting() {
        let head =
            "% title: x\n% hyphenmins:\n%     generation:\n%         left: 1\n%         right: 2\n";
        assert_eq!(minima(head), Some((1, 2)));
        let more =
            "%     typesetting:\n%         left: 3\n%         right: 4\n% texlive:\n%   left: 9\n";
        assert_eq!(minima(&(head.to_owned() + more)), Some((3, 4)));
        assert_eq!(minima("% hyphenmins:\n%   typesetting:\n%     left: 1\n"), None);
        assert_eq!(minima("\\patterns{a1b}"), None);
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
