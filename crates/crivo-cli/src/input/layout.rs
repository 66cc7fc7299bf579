//! The positions of records and keys in bytes.
//!
//! A [`RecordFormat`] follows from the arguments; a [`RecordLayout`] is its meaning in one file whose
//! header has been read. Both ends of the pipeline use the same layout: the reader to find the end of
//! the last whole record, the worker to find every record and its key.

use std::ops::Range;

use csv_core::ReadFieldResult;
use memchr::{memchr, memrchr};

use super::scan::each_end;

/// The format of all inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// Records that end with certain bytes.
    Terminated {
        /// Those bytes.
        end: RecordEnd,
        /// The number of the key's field, from 1, and the delimiter; `None` if the whole record is
        /// the key.
        field: Option<(usize, u8)>,
    },
    /// Comma-separated values with a header.
    Csv {
        /// The separator of fields.
        delimiter: u8,
        /// The name of the key's column.
        column: String,
    },
}

/// The positions of records and keys in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordLayout {
    /// As [`RecordFormat::Terminated`].
    Terminated { end: RecordEnd, field: Option<(usize, u8)> },
    /// As [`RecordFormat::Csv`], with the column's index, from 0.
    Csv { delimiter: u8, column: usize },
}

impl RecordLayout {
    /// The byte that ends a record.
    pub(super) fn terminator(&self) -> u8 {
        match self {
            Self::Terminated { end, .. } => end.terminator(),
            Self::Csv { .. } => b'\n',
        }
    }

    /// The length of the whole records at the beginning. The first `known` bytes contain no end of a
    /// record. `is_first` says whether they are the first of their file.
    pub(super) fn whole(&self, bytes: &[u8], known: usize, is_first: bool) -> usize {
        match *self {
            Self::Terminated { end, .. } => {
                memrchr(end.terminator(), &bytes[known..]).map_or(0, |last| known + last + 1)
            }
            Self::Csv { delimiter, .. } => {
                let mut scanner = Scanner::new(delimiter);
                let mut end = if is_first { mark_length(bytes) } else { 0 };
                let start = end;
                while let Some(record) = scanner.next(bytes, end, None) {
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
        let Self::Csv { delimiter, .. } = *self else { return None };
        let mut scanner = Scanner::new(delimiter);
        let mut end = if is_first { mark_length(bytes) } else { 0 };
        while let Some(record) = scanner.next(bytes, end, None) {
            end = record.end;
        }
        scanner.unclosed_quote
    }

    /// Visits every record and its key. The bytes are whole records, except that the last record of
    /// a file may lack its terminator.
    #[inline]
    pub(super) fn each(&self, bytes: &[u8], mut visit: impl FnMut(Range<usize>, &[u8])) {
        match *self {
            Self::Terminated { end: record_end, field } => {
                let mut start = 0;
                each_end(record_end.terminator(), bytes, |content_end| {
                    let content = record_end.content(&bytes[start..content_end]);
                    let key = match field {
                        None => content,
                        Some((number, delimiter)) => nth_field(content, number, delimiter),
                    };
                    let end = bytes.len().min(content_end + 1);
                    visit(start..end, key);
                    start = end;
                });
            }
            Self::Csv { delimiter, column } => {
                let mut scanner = Scanner::new(delimiter);
                let mut end = 0;
                while let Some(record) = scanner.next(bytes, end, Some(column)) {
                    end = record.end;
                    visit(record, &scanner.key);
                }
            }
        }
    }
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

/// The field with this number, counted from 1; empty if there are fewer.
fn nth_field(content: &[u8], number: usize, delimiter: u8) -> &[u8] {
    let mut rest = content;
    for _ in 1..number {
        match memchr(delimiter, rest) {
            Some(end) => rest = &rest[end + 1..],
            None => return &[],
        }
    }
    &rest[..memchr(delimiter, rest).unwrap_or(rest.len())]
}

/// The UTF-8 byte order mark, which some programs put before text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The length of the byte order mark at the beginning of a file, if there is one.
fn mark_length(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// The fields of a header, unquoted.
pub(super) fn header_fields(header: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let header = &header[mark_length(header)..];
    let mut scanner = Scanner::new(delimiter);
    scanner.next(header, 0, None);
    let field_count = scanner.field_count;
    let field = |index| {
        scanner.next(header, 0, Some(index));
        scanner.key.clone()
    };
    (0..field_count).map(field).collect()
}

/// The length of the first record of a CSV file, its header, with what stands before it.
pub(super) fn header_length(bytes: &[u8], delimiter: u8) -> usize {
    let header = Scanner::new(delimiter).next(bytes, mark_length(bytes), None);
    header.map_or(0, |header| header.end)
}

/// Finds the records of CSV bytes, one by one.
struct Scanner {
    csv: csv_core::Reader,
    /// The requested field, unquoted; empty if the record has fewer fields.
    key: Vec<u8>,
    /// How many fields the last record has.
    field_count: usize,
    /// Whether the bytes ended before the last record did.
    ran_out: bool,
    /// The position of the quote within which they ended.
    unclosed_quote: Option<usize>,
}

impl Scanner {
    fn new(delimiter: u8) -> Self {
        let mut csv = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        // The parser strips a byte order mark from the beginning of its input, but a chunk need not
        // begin at the beginning of a file. A blank line before it is ignored and prevents that.
        csv.read_field(b"\n", &mut [0]);
        Self { csv, key: Vec::new(), field_count: 0, ran_out: false, unclosed_quote: None }
    }

    /// The next record from `start` on, with its line end; blank lines are skipped.
    fn next(&mut self, bytes: &[u8], start: usize, column: Option<usize>) -> Option<Range<usize>> {
        let start = start + bytes[start..].iter().position(|b| !matches!(b, b'\r' | b'\n'))?;
        self.csv.reset();
        self.csv.read_field(b"\n", &mut [0]);
        self.key.clear();
        self.field_count = 0;
        self.unclosed_quote = None;
        let mut end = start;
        let mut field_start = start;
        let mut piece = [0; 256];
        loop {
            // A line feed after the last byte ends the record, unless it is within quotes.
            self.ran_out = end == bytes.len();
            let next = if self.ran_out { b"\n" } else { &bytes[end..] };
            let (result, taken, given) = self.csv.read_field(next, &mut piece);
            if column == Some(self.field_count) {
                self.key.extend_from_slice(&piece[..given]);
            }
            if !self.ran_out {
                end += taken;
            }
            match result {
                ReadFieldResult::Field { record_end } => {
                    self.field_count += 1;
                    field_start = end;
                    if record_end {
                        break;
                    }
                }
                ReadFieldResult::InputEmpty if self.ran_out => {
                    self.unclosed_quote = Some(field_start);
                    break;
                }
                ReadFieldResult::OutputFull | ReadFieldResult::InputEmpty => {}
                ReadFieldResult::End => break,
            }
        }
        if bytes[end - 1] == b'\r' && bytes.get(end) == Some(&b'\n') {
            end += 1;
        }
        Some(start..end)
    }
}

/// Parses the number of a field.
pub(super) fn parse_field(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        Ok(_) => Err("fields are counted from 1".to_owned()),
        Err(_) => Err("a field is named by its number, counted from 1".to_owned()),
    }
}

/// Parses a delimiter: one byte, or an escape sequence.
pub(super) fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        br"\t" => Ok(b'\t'),
        br"\0" => Ok(0),
        br"\\" => Ok(b'\\'),
        _ => Err(r"a delimiter is one byte, or \t for a tab".to_owned()),
    }
}
