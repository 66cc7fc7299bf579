//! The positions of records and keys in bytes.
//!
//! A [`RecordFormat`] follows from the arguments; a [`RecordLayout`] is its meaning in one file whose
//! header has been read. Both ends of the pipeline use the same layout: the reader to find the end of
//! the last whole record, the worker to find every record and its key.

use std::ops::Range;

use memchr::memrchr;

use super::csv::{Capture, Scanner, mark_length};
use super::json::JsonPointer;
use super::key::{KeyChanges, KeyMaker, KeyPlan, Tally, nth_field};
use super::scan::each_end;

/// The format of all inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordFormat {
    pub(super) records: Records,
    pub(super) key: KeySource,
    pub(super) changes: KeyChanges,
    /// Whether most records may lack a part of their key.
    pub(super) may_lack_parts: bool,
    /// The end of a message about a record or file that has no such key.
    pub(super) advice: String,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Records {
    /// Bytes up to an end.
    Terminated {
        end: RecordEnd,
        /// The separator of fields.
        delimiter: u8,
    },
    /// Comma-separated values.
    Csv {
        /// The separator of fields.
        delimiter: u8,
        /// Whether the first record of a file has the names of its columns.
        has_header: bool,
    },
}

/// What is the key of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// The whole record.
    Record,
    /// The fields with these numbers, counted from 1.
    Fields(Vec<usize>),
    /// The fields in the columns with these names.
    Columns(Vec<String>),
    /// The values at these places of a record in JSON.
    Json(Vec<JsonPointer>),
}

impl RecordFormat {
    /// What records lack that lack a part of their key, in words.
    pub(super) fn lacked(&self) -> Option<String> {
        let several = |names: Vec<String>| names.join(" or ");
        let what = match (&self.key, self.records) {
            _ if self.may_lack_parts => return None,
            (KeySource::Record, _) => return None,
            (KeySource::Fields(numbers), Records::Terminated { delimiter, .. }) => {
                let fields = several(numbers.iter().map(usize::to_string).collect());
                format!("field {fields}: is the delimiter {}?", delimiter_name(delimiter))
            }
            (KeySource::Fields(numbers), Records::Csv { .. }) => {
                format!("field {}.", several(numbers.iter().map(usize::to_string).collect()))
            }
            (KeySource::Columns(names), _) => {
                let names = names.iter().map(|name| format!("{name:?}")).collect();
                format!("a field in column {}.", several(names))
            }
            (KeySource::Json(pointers), _) => {
                let names = pointers.iter().map(|pointer| pointer.as_str().to_owned()).collect();
                format!("a value at {}, or it is null.", several(names))
            }
        };
        Some(what)
    }
}

/// A delimiter for messages.
fn delimiter_name(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "a tab".to_owned(),
        b' ' => "a space".to_owned(),
        other => format!("'{}'", other.escape_ascii()),
    }
}

/// The positions of records and keys in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordLayout {
    pub(super) records: Records,
    pub(super) key: KeyPlan,
}

impl RecordLayout {
    /// The byte that ends a record.
    pub(super) fn terminator(&self) -> u8 {
        match self.records {
            Records::Terminated { end, .. } => end.terminator(),
            Records::Csv { .. } => b'\n',
        }
    }

    /// The length of the whole records at the beginning. The first `known` bytes contain no end of a
    /// record. `is_first` says whether they are the first of their file.
    pub(super) fn whole(&self, bytes: &[u8], known: usize, is_first: bool) -> usize {
        match self.records {
            Records::Terminated { end, .. } => {
                memrchr(end.terminator(), &bytes[known..]).map_or(0, |last| known + last + 1)
            }
            Records::Csv { delimiter, .. } => {
                let mut scanner = Scanner::new(delimiter);
                let mut end = if is_first { mark_length(bytes) } else { 0 };
                let start = end;
                while let Some(record) = scanner.next(bytes, end, Capture::Nothing) {
                    // A line feed may yet follow a carriage return.
                    let may_go_on = record.end == bytes.len() && bytes[record.end - 1] == b'\r';
                    if scanner.ran_out || may_go_on {
                        break;
                    }
                    end = record.end;
                }
                if end > start { end } else { 0 }
            }
        }
    }

    /// The position of a quote that is never closed, if there is one.
    pub(super) fn unclosed_quote(&self, bytes: &[u8], is_first: bool) -> Option<usize> {
        let Records::Csv { delimiter, .. } = self.records else { return None };
        let mut scanner = Scanner::new(delimiter);
        let mut end = if is_first { mark_length(bytes) } else { 0 };
        while let Some(record) = scanner.next(bytes, end, Capture::Nothing) {
            end = record.end;
        }
        scanner.unclosed_quote
    }

    /// Visits every record and its key. The bytes are whole records, except that the last record of
    /// a file may lack its terminator.
    #[inline]
    pub(super) fn each(&self, bytes: &[u8], mut visit: impl FnMut(Range<usize>, &[u8])) -> Tally {
        let mut tally = Tally::default();
        match self.records {
            // A loop for each plan: whole lines are by far the most common keys, and the shortest loop.
            Records::Terminated { end, delimiter } => match &self.key {
                KeyPlan::Record => {
                    each_record(end, bytes, |record, content| visit(record, content));
                }
                KeyPlan::Field(index) => each_record(end, bytes, |record, content| {
                    let field = nth_field(content, *index, delimiter);
                    let key = field.unwrap_or_else(|| tally.add_missing());
                    tally.records += 1;
                    visit(record, key);
                }),
                KeyPlan::Made(recipe) => {
                    let mut maker = KeyMaker::default();
                    each_record(end, bytes, |record, content| {
                        if let Some(key) = maker.of_line(recipe, content, delimiter, &mut tally) {
                            tally.records += 1;
                            visit(record, key);
                        }
                    });
                }
            },
            Records::Csv { delimiter, .. } => {
                let mut maker = KeyMaker::default();
                let mut scanner = Scanner::new(delimiter);
                let capture = match &self.key {
                    KeyPlan::Record => Capture::Nothing,
                    KeyPlan::Field(index) => Capture::Field(*index),
                    KeyPlan::Made(_) => Capture::All,
                };
                let mut end = 0;
                while let Some(record) = scanner.next(bytes, end, capture) {
                    end = record.end;
                    let key = match &self.key {
                        KeyPlan::Record => without_line_end(&bytes[record.clone()]),
                        KeyPlan::Field(index) if *index < scanner.field_count() => {
                            scanner.captured()
                        }
                        KeyPlan::Field(_) => tally.add_missing(),
                        KeyPlan::Made(recipe) => {
                            let content = without_line_end(&bytes[record.clone()]);
                            match maker.of_csv(recipe, content, &scanner, &mut tally) {
                                Some(key) => key,
                                None => break,
                            }
                        }
                    };
                    tally.records += 1;
                    visit(record, key);
                }
            }
        }
        tally
    }
}

/// Visits every record that has an end, with its content.
#[inline]
fn each_record(end: RecordEnd, bytes: &[u8], mut visit: impl FnMut(Range<usize>, &[u8])) {
    let mut start = 0;
    each_end(end.terminator(), bytes, |content_end| {
        let content = end.content(&bytes[start..content_end]);
        let next = bytes.len().min(content_end + 1);
        visit(start..next, content);
        start = next;
    });
}

/// A record of CSV without its line end.
fn without_line_end(record: &[u8]) -> &[u8] {
    let length = record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    &record[..length]
}

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordEnd {
    /// A line feed, and a carriage return before it.
    Line,
    /// A line feed alone.
    LineFeed,
    /// A NUL byte.
    Null,
}

impl RecordEnd {
    /// The last byte of a record.
    pub(super) fn terminator(self) -> u8 {
        match self {
            Self::Line | Self::LineFeed => b'\n',
            Self::Null => 0,
        }
    }

    /// A record that lacks its last byte, without the rest of its end.
    #[inline]
    pub(crate) fn content(self, record: &[u8]) -> &[u8] {
        match record {
            [content @ .., b'\r'] if self == Self::Line => content,
            _ => record,
        }
    }
}

/// Parses the number of a field.
pub(crate) fn parse_field(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        Ok(_) => Err("fields are counted from 1".to_owned()),
        Err(_) => Err("a field is named by its number, counted from 1".to_owned()),
    }
}

/// Parses a delimiter: one byte, or an escape sequence.
pub(crate) fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        br"\t" => Ok(b'\t'),
        br"\0" => Ok(0),
        br"\\" => Ok(b'\\'),
        _ => Err(r"a delimiter is one byte, or \t for a tab".to_owned()),
    }
}
