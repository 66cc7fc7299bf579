//! What is read, in pieces of whole records.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use memchr::memchr_iter;

use super::layout::{self, Format, Layout};
use super::progress::Progress;
use super::source::{Input, Source};
use crate::outcome::Error;

/// How much is read at once: much against the cost of handing it over, little against the caches.
pub(super) const CHUNK_BYTES: usize = 1 << 17;

/// How much is read first: a short input is not worth the memory of a whole chunk.
const FIRST_CHUNK_BYTES: usize = 1 << 16;

/// A record of CSV that seems to be longer than this is a quote that was never closed: without an
/// end the rest of a file, however large, would have to fit into memory.
const LONGEST_CSV_RECORD: usize = 1 << 30;

/// Some whole records, in the order of the input.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Used up to `end`; the rest is there so that it need not be cleared again.
    buffer: Vec<u8>,
    end: usize,
    /// How many of the bytes are a header, which is no record.
    header: usize,
    /// Only the header of the first file is shown.
    shows_header: bool,
    layout: Layout,
}

impl Default for Chunk {
    fn default() -> Self {
        let layout = Layout::Terminated { terminator: b'\n', field: None };
        Self { buffer: Vec::new(), end: 0, header: 0, shows_header: false, layout }
    }
}

impl Chunk {
    /// Visits every record, as a range of [`bytes`](Self::bytes), and its key.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(Range<usize>, &[u8])) {
        let start = self.header;
        self.layout.each(&self.buffer[start..self.end], |record, key| {
            visit(record.start + start..record.end + start, key);
        });
    }

    /// What the ranges of records are about.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// A header that is to be printed before the records.
    pub(crate) fn header(&self) -> &[u8] {
        &self.buffer[..if self.shows_header { self.header } else { 0 }]
    }

    /// The memory that this takes.
    pub(super) fn size(&self) -> usize {
        self.buffer.len()
    }
}

/// Some of a chunk's records, neighbours in one piece.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Range<usize>>);

impl Pieces {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a record that follows those that are there.
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
    /// What was read behind the last whole record.
    rest: Vec<u8>,
    format: Format,
    progress: Progress,
    /// How much is to be read next.
    chunk_bytes: usize,
    /// The header that is shown, once there was one.
    header: Option<Header>,
    /// Whether all files must have the same header.
    has_one_header: bool,
    /// [`LONGEST_CSV_RECORD`], but in tests.
    pub(super) longest_csv_record: usize,
}

/// The input that is being read.
#[derive(Debug)]
struct Current {
    source: Source,
    layout: Layout,
    /// How many lines of CSV have been handed on.
    lines: u64,
}

impl Current {
    /// An error if these bytes end within quotes; nothing is to follow them.
    fn check_quotes(&self, bytes: &[u8]) -> Result<(), Error> {
        let Some(quote) = self.layout.unclosed_quote(bytes) else { return Ok(()) };
        let line = self.lines + memchr_iter(b'\n', &bytes[..quote]).count() as u64 + 1;
        Err(Error::new(format_args!(
            "{}, line {line}: a quote opens a field there and is never closed; close it, or leave \
             out --csv if quotes mean nothing in this file",
            self.source.name()
        )))
    }
}

/// The columns of a CSV file, and its name.
#[derive(Debug)]
struct Header {
    columns: Vec<Vec<u8>>,
    file: String,
}

impl Chunks {
    /// Opens the first input; the others follow in their turn, but must be there now.
    pub(crate) fn open(
        paths: &[PathBuf],
        format: Format,
        progress: Progress,
    ) -> Result<Self, Error> {
        let chunks = Self::open_in_turn(paths, format, progress);
        chunks.waiting.iter().try_for_each(Input::check)?;
        Ok(chunks)
    }

    /// Opens every input in its turn, for whoever may stop before the last.
    pub(crate) fn open_in_turn(paths: &[PathBuf], format: Format, progress: Progress) -> Self {
        Self::of(paths.iter().map(|path| Input::named(path)).collect(), format, progress)
    }

    pub(super) fn of(inputs: VecDeque<Input>, format: Format, progress: Progress) -> Self {
        Self {
            waiting: inputs,
            current: None,
            rest: Vec::new(),
            format,
            progress,
            chunk_bytes: FIRST_CHUNK_BYTES,
            header: None,
            has_one_header: false,
            longest_csv_record: LONGEST_CSV_RECORD,
        }
    }

    /// For records that are printed below one header: a CSV file with other columns than the first
    /// is an error.
    pub(crate) fn under_one_header(self) -> Self {
        Self { has_one_header: true, ..self }
    }

    /// How many bytes there are to be read, as far as files tell: pipes do not, and compressed files
    /// tell too few.
    pub(crate) fn length(&self) -> u64 {
        self.waiting.iter().map(Input::length).sum()
    }

    /// Reads whole records into `chunk`: whether there were any.
    pub(super) fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        loop {
            let opens = self.current.is_none();
            if opens {
                let Some(input) = self.waiting.pop_front() else {
                    self.progress.finish();
                    return Ok(false);
                };
                let source = Source::open(input, &self.progress, &mut self.rest)?;
                // The column of a CSV file is found below, when its header is there.
                let layout = match self.format {
                    Format::Terminated { terminator, field } => {
                        Layout::Terminated { terminator, field }
                    }
                    Format::Csv { delimiter, .. } => Layout::Csv { delimiter, column: 0 },
                };
                self.current = Some(Current { source, layout, lines: 0 });
            }
            self.read_records(chunk)?;
            chunk.header = 0;
            chunk.shows_header = false;
            if opens {
                self.take_header(chunk)?;
            }
            if let Some(current) = &self.current {
                chunk.layout = current.layout;
            }
            if chunk.end == 0 {
                self.current = None;
                continue;
            }
            return Ok(true);
        }
    }

    /// Reads until there is a whole record, or the file ends.
    fn read_records(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let layout = current.layout;
        let is_csv = matches!(layout, Layout::Csv { .. });
        let buffer = &mut chunk.buffer;
        let mut end = self.rest.len();
        make_room(buffer, self.chunk_bytes.max(2 * end));
        self.chunk_bytes = CHUNK_BYTES.min(2 * self.chunk_bytes);
        buffer[..end].copy_from_slice(&self.rest);
        self.rest.clear();
        // Where it is worth looking for the end of a record of CSV again: a long one that comes in
        // small pieces must not be searched from its beginning for each of them.
        let mut searched = 0;
        let mut worthwhile = 0;
        loop {
            if end == buffer.len() {
                buffer.resize(2 * end, 0);
            }
            let count = current.source.read(&mut buffer[end..])?;
            if count == 0 {
                break;
            }
            end += count;
            if is_csv && end < worthwhile {
                continue;
            }
            let whole = layout.whole(&buffer[..end], searched);
            if whole > 0 {
                self.rest.extend_from_slice(&buffer[whole..end]);
                chunk.end = whole;
                if is_csv {
                    current.lines += memchr_iter(b'\n', &buffer[..whole]).count() as u64;
                }
                return Ok(());
            }
            searched = end;
            if end > CHUNK_BYTES {
                worthwhile = end + end / 4;
            }
            if end > self.longest_csv_record {
                current.check_quotes(&buffer[..end])?;
            }
        }
        current.check_quotes(&buffer[..end])?;
        // Another file's first record must not go on where this one's last has stopped.
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

    /// Sets the header apart from the records that follow it, and finds the column in it.
    fn take_header(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        let (Format::Csv { delimiter, column }, Some(Current { source, layout, .. })) =
            (&self.format, &mut self.current)
        else {
            return Ok(());
        };
        if chunk.end == 0 {
            return Ok(());
        }
        let delimiter = *delimiter;
        chunk.header = layout::first_record(chunk.bytes(), delimiter).end;
        chunk.shows_header = self.header.is_none();
        let columns = layout::header_fields(&chunk.bytes()[..chunk.header], delimiter);
        let Some(index) = columns.iter().position(|name| name == column.as_bytes()) else {
            return Err(Error::new(format_args!(
                "{} has no column {column:?}; its columns are: {}",
                source.name(),
                listed(&columns)
            )));
        };
        match &self.header {
            Some(first) if self.has_one_header && first.columns != columns => {
                return Err(Error::new(format_args!(
                    "{} has other columns than {}, and records of both cannot stand below one \
                     header; give each file by itself. They are: {}; and: {}",
                    source.name(),
                    first.file,
                    listed(&columns),
                    listed(&first.columns),
                )));
            }
            Some(_) => {}
            None => self.header = Some(Header { columns, file: source.name().to_owned() }),
        }
        *layout = Layout::Csv { delimiter, column: index };
        Ok(())
    }
}

/// Lets a buffer have at least this length. What it holds is of no use any more.
fn make_room(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        // Fresh memory is zero already; what is there need not be copied.
        *buffer = vec![0; length];
    }
}

/// Names of columns, for people.
fn listed(columns: &[Vec<u8>]) -> String {
    let names: Vec<_> = columns.iter().map(|name| String::from_utf8_lossy(name)).collect();
    names.join(", ")
}
