//! What is read, in pieces of whole records.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use super::layout::{self, Format, Layout};
use super::progress::Progress;
use super::source::{Input, Source};
use crate::outcome::Error;

/// How much is read at once: much against the cost of handing it over, little against the caches.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

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

    /// Appends records to `output`, neighbours in one piece.
    pub(crate) fn copy_records(
        &self,
        records: impl IntoIterator<Item = Range<usize>>,
        output: &mut Vec<u8>,
    ) {
        let mut piece = 0..0;
        for record in records {
            if record.start == piece.end {
                piece.end = record.end;
            } else {
                output.extend_from_slice(&self.buffer[piece]);
                piece = record;
            }
        }
        output.extend_from_slice(&self.buffer[piece]);
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

/// Reads the inputs one after another.
#[derive(Debug)]
pub(crate) struct Chunks {
    waiting: VecDeque<Input>,
    current: Option<(Source, Layout)>,
    /// What was read behind the last whole record.
    rest: Vec<u8>,
    format: Format,
    progress: Progress,
    /// Whether a header has been shown.
    has_header: bool,
}

impl Chunks {
    /// Opens the first input; the others follow in their turn, but must be there now.
    pub(crate) fn open(
        paths: &[PathBuf],
        format: Format,
        progress: Progress,
    ) -> Result<Self, Error> {
        let inputs = paths.iter().map(|path| Input::named(path)).collect::<Result<_, _>>()?;
        Ok(Self::of(inputs, format, progress))
    }

    pub(super) fn of(inputs: VecDeque<Input>, format: Format, progress: Progress) -> Self {
        let rest = Vec::new();
        Self { waiting: inputs, current: None, rest, format, progress, has_header: false }
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
                self.current = Some((source, layout));
            }
            self.read_records(chunk)?;
            chunk.header = 0;
            chunk.shows_header = false;
            if opens {
                self.take_header(chunk)?;
            }
            if let Some((_, layout)) = self.current {
                chunk.layout = layout;
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
        let Some((source, layout)) = &mut self.current else { return Ok(()) };
        let buffer = &mut chunk.buffer;
        let mut end = self.rest.len();
        buffer.resize(buffer.len().max(CHUNK_BYTES).max(2 * end), 0);
        buffer[..end].copy_from_slice(&self.rest);
        self.rest.clear();
        // Where it is worth looking for the end of a record again: a long one that comes in small
        // pieces must not be searched from its beginning for each of them.
        let mut searched = 0;
        let mut worthwhile = 0;
        loop {
            if end == buffer.len() {
                buffer.resize(2 * end, 0);
            }
            let count = source.read(&mut buffer[end..])?;
            if count == 0 {
                break;
            }
            end += count;
            if end < worthwhile {
                continue;
            }
            let whole = layout.whole(&buffer[..end], searched);
            if whole > 0 {
                self.rest.extend_from_slice(&buffer[whole..end]);
                chunk.end = whole;
                return Ok(());
            }
            searched = end;
            if end > CHUNK_BYTES {
                worthwhile = end + end / 4;
            }
        }
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
        let (Format::Csv { delimiter, column }, Some((source, layout))) =
            (&self.format, &mut self.current)
        else {
            return Ok(());
        };
        if chunk.end == 0 {
            return Ok(());
        }
        chunk.header = layout::first_record(chunk.bytes(), *delimiter).end;
        chunk.shows_header = !self.has_header;
        self.has_header = true;
        let names = layout::header_fields(&chunk.bytes()[..chunk.header], *delimiter);
        let Some(index) = names.iter().position(|name| name == column.as_bytes()) else {
            let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            return Err(Error::new(format_args!(
                "{} has no column {column:?}; its columns are: {}",
                source.name(),
                names.join(", ")
            )));
        };
        *layout = Layout::Csv { delimiter: *delimiter, column: index };
        Ok(())
    }
}
