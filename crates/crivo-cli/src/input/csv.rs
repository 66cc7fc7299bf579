//! Records of comma-separated values.

use std::ops::Range;

use csv_core::ReadFieldResult;

/// The UTF-8 byte order mark, which some programs put before text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The length of the byte order mark at the beginning of a file, if there is one.
pub(super) fn mark_length(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// The fields of a header, unquoted.
pub(super) fn header_fields(header: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let header = &header[mark_length(header)..];
    let mut scanner = Scanner::new(delimiter);
    scanner.next(header, 0, Capture::All);
    (0..scanner.field_count()).map(|index| scanner.field(index).to_vec()).collect()
}

/// The length of the first record of a CSV file, its header, with what stands before it.
pub(super) fn header_length(bytes: &[u8], delimiter: u8) -> usize {
    let header = Scanner::new(delimiter).next(bytes, mark_length(bytes), Capture::Nothing);
    header.map_or(0, |header| header.end)
}

/// Which fields of a record are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    Nothing,
    /// The field with this number, counted from 0.
    Field(usize),
    All,
}

/// Finds the records of CSV bytes, one by one.
pub(super) struct Scanner {
    csv: csv_core::Reader,
    /// What was captured of the last record, unquoted, one field behind another.
    text: Vec<u8>,
    /// Where each field ends in the text, if all were captured.
    ends: Vec<usize>,
    field_count: usize,
    /// Whether the bytes ended before the last record did.
    pub(super) ran_out: bool,
    /// The position of the quote within which they ended.
    pub(super) unclosed_quote: Option<usize>,
}

impl Scanner {
    pub(super) fn new(delimiter: u8) -> Self {
        let csv = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Self {
            csv,
            text: Vec::new(),
            ends: Vec::new(),
            field_count: 0,
            ran_out: false,
            unclosed_quote: None,
        }
    }

    /// How many fields the last record has.
    pub(super) fn field_count(&self) -> usize {
        self.field_count
    }

    /// The field of the last record that was captured.
    pub(super) fn captured(&self) -> &[u8] {
        &self.text
    }

    /// A field of the last record, all of which were captured, counted from 0.
    pub(super) fn field(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// The next record from `start` on, with its line end; blank lines are skipped.
    pub(super) fn next(
        &mut self,
        bytes: &[u8],
        start: usize,
        capture: Capture,
    ) -> Option<Range<usize>> {
        let start = start + bytes[start..].iter().position(|b| !matches!(b, b'\r' | b'\n'))?;
        self.csv.reset();
        // The parser strips a byte order mark from the beginning of its input, but a chunk need not
        // begin at the beginning of a file. A blank line before it is ignored and prevents that.
        self.csv.read_field(b"\n", &mut [0]);
        self.text.clear();
        self.ends.clear();
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
            if capture == Capture::All || capture == Capture::Field(self.field_count) {
                self.text.extend_from_slice(&piece[..given]);
            }
            if !self.ran_out {
                end += taken;
            }
            match result {
                ReadFieldResult::Field { record_end } => {
                    self.field_count += 1;
                    if capture == Capture::All {
                        self.ends.push(self.text.len());
                    }
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
