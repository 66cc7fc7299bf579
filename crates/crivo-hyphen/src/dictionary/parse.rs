//! Reading the text of a dictionary.

use super::Dictionary;
use super::level::{Change, Level, Rule};
use crate::ParseError;
use crate::fold::plain_apostrophe;
use crate::text::Encoding;

/// What a level of the file says.
#[derive(Default)]
struct Section {
    patterns: Vec<(Vec<char>, Rule)>,
    left: usize,
    right: usize,
    compound_left: usize,
    compound_right: usize,
    unbroken: Vec<Vec<char>>,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Dictionary, ParseError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let label = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
    let fail = |label: &str| ParseError::new(1, 1, label, "the name of an encoding");
    let encoding = Encoding::from_label(&label).map_err(|_| fail(&label))?;
    let text = encoding.decode(bytes).map_err(|_| fail(&label))?.text;
    let is_utf8 = encoding == Encoding::UTF_8;
    let mut sections = vec![Section::default()];
    for line in text.lines().skip(1) {
        let line = line.trim_end_matches('\r');
        if line.starts_with("NEXTLEVEL") {
            if sections.len() == 2 {
                break;
            }
            sections.push(Section::default());
        } else if !line.starts_with('%')
            && let Some(section) = sections.last_mut()
        {
            section.read(line);
        }
    }
    let last = sections.pop().unwrap_or_default();
    let dictionary = match sections.pop() {
        Some(first) => Dictionary {
            compounds: Level::new(first.patterns),
            parts: Level::new(last.patterns),
            minima: (or(first.left, 2), or(first.right, 2)),
            compound_minima: (first.compound_left, first.compound_right),
            unbroken: first.unbroken,
            is_utf8,
        },
        None => Dictionary {
            compounds: default_compounds(),
            parts: Level::new(last.patterns),
            minima: (or(last.left, 2), or(last.right, 2)),
            compound_minima: (
                or(last.compound_left, or(last.left, 3)),
                or(last.compound_right, or(last.right, 3)),
            ),
            unbroken: ["'", "-", "\u{2013}"].map(|sign| sign.chars().collect()).to_vec(),
            is_utf8,
        },
    };
    match dictionary.parts.is_empty() {
        true => Err(ParseError::new(2, 1, "", "patterns of a dictionary")),
        false => Ok(dictionary),
    }
}

fn or(value: usize, default: usize) -> usize {
    if value == 0 { default } else { value }
}

/// Without a first level, words are divided at hyphens and apostrophes.
fn default_compounds() -> Level {
    let signs = ["1-1", "1'1", "1\u{2013}1"];
    Level::new(signs.iter().filter_map(|sign| pattern(sign)))
}

impl Section {
    fn read(&mut self, line: &str) {
        let number = |value: &str| value.trim().parse().unwrap_or(0);
        if let Some(value) = line.strip_prefix("LEFTHYPHENMIN") {
            self.left = number(value);
        } else if let Some(value) = line.strip_prefix("RIGHTHYPHENMIN") {
            self.right = number(value);
        } else if let Some(value) = line.strip_prefix("COMPOUNDLEFTHYPHENMIN") {
            self.compound_left = number(value);
        } else if let Some(value) = line.strip_prefix("COMPOUNDRIGHTHYPHENMIN") {
            self.compound_right = number(value);
        } else if let Some(value) = line.strip_prefix("NOHYPHEN") {
            let signs = value.trim().split(',').filter(|sign| !sign.is_empty());
            self.unbroken =
                signs.map(|sign| sign.chars().map(plain_apostrophe).collect()).collect();
        } else {
            self.patterns.extend(pattern(line));
        }
    }
}

/// A pattern with its change: `pat1tern/change,start,length`.
fn pattern(line: &str) -> Option<(Vec<char>, Rule)> {
    let (pattern, change) = match line.split_once('/') {
        Some((pattern, change)) => (pattern, Some(change)),
        None => (line, None),
    };
    let mut letters = Vec::new();
    let mut levels = vec![0];
    for c in pattern.chars().take_while(|&c| c > ' ') {
        match c.to_digit(10) {
            Some(digit) => *levels.last_mut()? = digit as u8,
            None => {
                letters.push(plain_apostrophe(c));
                levels.push(0);
            }
        }
    }
    if letters.is_empty() {
        return None;
    }
    let whole = letters.len() - usize::from(letters[0] == '.');
    let change = change.map(|change| {
        let mut fields = change.split(',');
        let text = fields.next().unwrap_or_default().trim_end().to_owned();
        let number = |field: Option<&str>| field.and_then(|field| field.trim().parse().ok());
        let start: usize = number(fields.next()).unwrap_or(1);
        let length = number(fields.next()).filter(|&length| length > 0).unwrap_or(whole);
        Change { start: start.saturating_sub(1), length, text }
    });
    Some((letters, Rule { levels, change }))
}
