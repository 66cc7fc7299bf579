//! The input in chunks of whole records.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memchr_iter;

use super::csv::{header_fields, header_length, mark_length};
use super::json::JsonKeys;
use super::key::{KeyCheck, KeyParts, KeyPlan, Tally};
use super::layout::{KeySource, RecordEnd, RecordFormat, RecordLayout, Records};
use super::progress::InputProgress;
use super::source::{Input, InputReader};
use crate::error::Error;
use crate::human;
use crate::output;

/// How much is read at once: large enough to amortise the hand-over, small enough for the caches.
pub(super) const CHUNK_BYTES: usize = 1 << 17;

/// How much is read first: a short input does not need a whole chunk.
const FIRST_CHUNK_BYTES: usize = 1 << 16;

/// A CSV record longer than this is taken for an unclosed quote: otherwise the rest of a file, of any
/// size, would have to fit into memory.
const MAX_CSV_RECORD: usize = 1 << 30;

/// Some whole records, in the order of the input.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Used up to `end`. It never shrinks, so that it need not be cleared again.
    buffer: Vec<u8>,
    end: usize,
    /// How many of the bytes are a header.
    header: usize,
    /// Only the header of the first file is printed.
    shows_header: bool,
    layout: RecordLayout,
    /// The name of the file for messages.
    file: Arc<str>,
    /// Whether it is the first of its file.
    is_first: bool,
    /// What was noticed when its records were visited.
    tally: RefCell<Option<Tally>>,
}

impl Default for Chunk {
    fn default() -> Self {
        let records = Records::Terminated { end: RecordEnd::Line, delimiter: b'\t' };
        Self {
            buffer: Vec::new(),
            end: 0,
            header: 0,
            shows_header: false,
            layout: RecordLayout { records, key: KeyPlan::Record },
            file: "".into(),
            is_first: false,
            tally: RefCell::new(None),
        }
    }
}

impl Chunk {
    /// Visits every record, as a range of [`bytes`](Self::bytes), and its key.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(Range<usize>, &[u8])) {
        let start = self.header;
        let tally = self.layout.each(&self.buffer[start..self.end], |record, key| {
            visit(record.start + start..record.end + start, key);
        });
        self.tally.replace(Some(tally));
    }

    /// Adds what was noticed when its records were visited, if they have been since.
    pub(super) fn check_keys(&self, check: &mut KeyCheck) -> Result<(), Error> {
        let Some(tally) = self.tally.take() else { return Ok(()) };
        let (noun, header) = match self.layout.records {
            Records::Terminated { end: RecordEnd::Null, .. } => ("record", 0),
            Records::Terminated { .. } => ("line", 0),
            Records::Csv { has_header, .. } => ("record", u64::from(has_header)),
        };
        check.add(tally, self.is_first.then_some(header), |number| {
            format!("{}, {noun} {number}", self.file)
        })
    }

    /// The bytes that ranges of records refer to.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// The header to be printed before the records, or nothing.
    pub(crate) fn header(&self) -> &[u8] {
        &self.buffer[..if self.shows_header { self.header } else { 0 }]
    }

    /// The byte order mark and the header to be printed before the records, or nothing.
    pub(crate) fn mark_and_header(&self) -> (&[u8], &[u8]) {
        let header = self.header();
        header.split_at(mark_length(header))
    }

    /// The separator of its fields.
    pub(crate) fn delimiter(&self) -> u8 {
        match self.layout.records {
            Records::Terminated { delimiter, .. } | Records::Csv { delimiter, .. } => delimiter,
        }
    }

    /// Its memory in bytes.
    pub(super) fn size(&self) -> usize {
        self.buffer.len()
    }
}

/// Some of a chunk's records, with adjacent ones merged into one range.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Range<usize>>);

impl Pieces {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a record behind the others.
    #[inline]
    pub(crate) fn push(&mut self, record: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if last.end == record.start => last.end = record.end,
            _ => self.0.push(record),
        }
    }

    /// Their bytes, piece by piece.
    pub(crate) fn of<'c>(&self, chunk: &'c Chunk) -> impl Iterator<Item = &'c [u8]> {
        self.0.iter().map(|piece| &chunk.buffer[piece.clone()])
    }
}

/// Reads the inputs one after another.
#[derive(Debug)]
pub(crate) struct Chunks {
    waiting: VecDeque<Input>,
    current: Option<Current>,
    /// The bytes read after the last whole record.
    rest: Vec<u8>,
    format: RecordFormat,
    progress: InputProgress,
    /// How much to read next.
    chunk_bytes: usize,
    /// The first file's header.
    header: Option<CsvHeader>,
    /// Whether all files must have the same header.
    has_one_header: bool,
    /// [`MAX_CSV_RECORD`], except in tests.
    pub(super) max_csv_record: usize,
    /// A longer record is an error.
    max_record: usize,
}

/// The input that is being read.
#[derive(Debug)]
struct Current {
    source: InputReader,
    layout: RecordLayout,
    /// How many lines of CSV are in earlier chunks.
    lines: u64,
    /// Whether nothing of it has been read.
    is_first: bool,
}

impl Current {
    /// Fails if these bytes, which are the last, end within quotes.
    fn check_quotes(&self, bytes: &[u8]) -> Result<(), Error> {
        let Some(quote) = self.layout.unclosed_quote(bytes, self.is_first) else { return Ok(()) };
        let line = self.lines + memchr_iter(b'\n', &bytes[..quote]).count() as u64 + 1;
        Err(Error::new(format_args!(
            "{}, line {line}: a quote opens a field there and is never closed; close it, or leave \
             out --csv if quotes have no meaning in this file",
            self.source.name()
        )))
    }
}

/// The columns of a CSV file, and its name.
#[derive(Debug)]
struct CsvHeader {
    columns: Vec<Vec<u8>>,
    file: Arc<str>,
}

impl Chunks {
    /// All inputs must exist now; each is opened when it is read.
    pub(crate) fn open(
        paths: &[PathBuf],
        format: RecordFormat,
        progress: InputProgress,
    ) -> Result<Self, Error> {
        let chunks = Self::open_in_turn(paths, format, progress);
        chunks.waiting.iter().try_for_each(Input::check)?;
        Ok(chunks)
    }

    /// Inputs need not exist until they are read, for callers that may stop before the last.
    pub(crate) fn open_in_turn(
        paths: &[PathBuf],
        format: RecordFormat,
        progress: InputProgress,
    ) -> Self {
        Self::of(paths.iter().map(|path| Input::named(path)).collect(), format, progress)
    }

    pub(super) fn of(
        inputs: VecDeque<Input>,
        format: RecordFormat,
        progress: InputProgress,
    ) -> Self {
        Self {
            waiting: inputs,
            current: None,
            rest: Vec::new(),
            format,
            progress,
            chunk_bytes: FIRST_CHUNK_BYTES,
            header: None,
            has_one_header: false,
            max_csv_record: MAX_CSV_RECORD,
            max_record: usize::MAX,
        }
    }

    /// For records whose length is limited: one that is longer by more than what is read at once is
    /// an error, before all of it is in memory.
    pub(crate) fn with_max_record(self, bytes: usize) -> Self {
        Self { max_record: bytes, ..self }
    }

    /// For records that are printed under one header: a CSV file whose columns differ from the
    /// first file's is an error.
    pub(crate) fn under_one_header(self) -> Self {
        Self { has_one_header: true, ..self }
    }

    /// The check of the keys of all chunks.
    pub(super) fn key_check(&self) -> KeyCheck {
        KeyCheck::new(self.format.lacked(), self.format.advice.clone())
    }

    /// The total length of the files in bytes. Pipes count as 0, and compressed files by their
    /// compressed length.
    pub(crate) fn length(&self) -> u64 {
        self.waiting.iter().map(Input::length).sum()
    }

    /// Reads whole records into `chunk`. Returns whether there were any.
    pub(super) fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        loop {
            let opens = self.current.is_none();
            if opens {
                let Some(input) = self.waiting.pop_front() else {
                    self.progress.finish();
                    return Ok(false);
                };
                let source = InputReader::open(input, &self.progress, &mut self.rest)?;
                let parts = match &self.format.key {
                    KeySource::Fields(numbers) => {
                        KeyParts::Fields(numbers.iter().map(|number| number - 1).collect())
                    }
                    KeySource::Json(pointers) => KeyParts::Json(JsonKeys::new(pointers.clone())),
                    // Columns are found below, when the header has been read.
                    KeySource::Record | KeySource::Columns(_) => KeyParts::Record,
                };
                let key = KeyPlan::new(parts, &self.format.changes);
                let layout = RecordLayout { records: self.format.records, key };
                self.current = Some(Current { source, layout, lines: 0, is_first: true });
            }
            self.read_records(chunk)?;
            chunk.header = 0;
            chunk.shows_header = false;
            if opens {
                self.take_header(chunk)?;
            }
            if let Some(current) = &self.current {
                chunk.layout.clone_from(&current.layout);
                chunk.file = current.source.name();
            }
            chunk.is_first = opens;
            chunk.tally.take();
            if chunk.end == 0 {
                self.current = None;
                continue;
            }
            return Ok(true);
        }
    }

    /// Reads until there is a whole record or the file ends.
    fn read_records(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let layout = &current.layout;
        let is_csv = matches!(layout.records, Records::Csv { .. });
        let buffer = &mut chunk.buffer;
        let mut end = self.rest.len();
        make_room(buffer, self.chunk_bytes.max(2 * end));
        self.chunk_bytes = CHUNK_BYTES.min(2 * self.chunk_bytes);
        buffer[..end].copy_from_slice(&self.rest);
        self.rest.clear();
        // A long CSV record that arrives in small pieces must not be scanned from its beginning for
        // each of them: the next scan waits until there are a quarter more bytes.
        let mut searched = 0;
        let mut next_scan = 0;
        loop {
            if end == buffer.len() {
                buffer.resize(2 * end, 0);
            }
            let count = current.source.read(&mut buffer[end..])?;
            if count == 0 {
                break;
            }
            end += count;
            if is_csv && end < next_scan {
                continue;
            }
            let whole = layout.whole(&buffer[..end], searched, current.is_first);
            if whole > 0 {
                self.rest.extend_from_slice(&buffer[whole..end]);
                chunk.end = whole;
                current.is_first = false;
                if is_csv {
                    current.lines += memchr_iter(b'\n', &buffer[..whole]).count() as u64;
                }
                return Ok(());
            }
            searched = end;
            if end > CHUNK_BYTES {
                next_scan = end + end / 4;
            }
            if end > self.max_csv_record {
                current.check_quotes(&buffer[..end])?;
            }
            if end > self.max_record {
                return Err(too_long(&current.source.name(), self.max_record));
            }
        }
        current.check_quotes(&buffer[..end])?;
        // The next file's first record must not continue this file's last.
        let lacks_end = end > 0 && buffer[end - 1] != layout.terminator();
        if lacks_end && !self.waiting.is_empty() {
            if end == buffer.len() {
                buffer.push(0);
            }
            buffer[end] = layout.terminator();
            end += 1;
        }
        chunk.end = end;
        Ok(())
    }

    /// Separates the header from the records, and finds the columns in it.
    fn take_header(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        let (Records::Csv { delimiter, has_header }, Some(Current { source, layout, .. })) =
            (self.format.records, &mut self.current)
        else {
            return Ok(());
        };
        if chunk.end == 0 {
            return Ok(());
        }
        chunk.shows_header = self.header.is_none();
        if !has_header {
            chunk.header = mark_length(chunk.bytes());
            let header = CsvHeader { columns: Vec::new(), file: source.name() };
            self.header.get_or_insert(header);
            return Ok(());
        }
        chunk.header = header_length(chunk.bytes(), delimiter);
        let columns = header_fields(&chunk.bytes()[..chunk.header], delimiter);
        if let KeySource::Columns(names) = &self.format.key {
            let advice = &self.format.advice;
            let find = |name: &String| find_column(name, &columns, &source.name(), advice);
            let indices = names.iter().map(find);
            let parts = KeyParts::Fields(indices.collect::<Result<_, _>>()?);
            layout.key = KeyPlan::new(parts, &self.format.changes);
        }
        match &self.header {
            Some(first) if self.has_one_header && first.columns != columns => {
                return Err(Error::new(format_args!(
                    "the columns of {} differ from those of {}, and their records cannot be printed \
                     under one header; process the files separately. They are: {}; and: {}",
                    source.name(),
                    first.file,
                    listed(&columns),
                    listed(&first.columns),
                )));
            }
            Some(_) => {}
            None => self.header = Some(CsvHeader { columns, file: source.name() }),
        }
        Ok(())
    }
}

/// The number of the column with this name, counted from 0.
fn find_column(name: &str, columns: &[Vec<u8>], file: &str, advice: &str) -> Result<usize, Error> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| *column == name.as_bytes());
    let Some((index, _)) = found.next() else {
        return Err(Error::new(format_args!(
            "{file} has no column {name:?}; its columns are: {}{advice}",
            listed(columns)
        )));
    };
    if found.next().is_some() {
        output::print_warning(format_args!(
            "{file} has several columns {name:?}; the first is used"
        ));
    }
    Ok(index)
}

/// Gives a buffer at least this length. Its contents are lost.
fn make_room(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        // New memory is zero already, and the old contents need not be copied.
        *buffer = vec![0; length];
    }
}

/// The error of a line that is longer than `--max-line`.
pub(crate) fn too_long(file: &str, max: usize) -> Error {
    let max = human::bytes(max as u64);
    Error::new(format_args!("{file} has a line of more than {max}; raise --max-line to allow it"))
}

/// The names of columns, for messages.
fn listed(columns: &[Vec<u8>]) -> String {
    let names: Vec<_> = columns.iter().map(|name| String::from_utf8_lossy(name)).collect();
    names.join(", ")
}
