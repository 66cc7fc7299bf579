//! A file as a set of lines, which is read several times and replaced atomically.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crivo_core::file;
use crivo_core::spill::{Spool, SpoolReader};
use crivo_exchange::{ExchangeKey, Id, IdSet};
use memchr::memchr_iter;

use crate::error::Error;
use crate::input::{FileType, RecordEnd, file_type};

/// The size of read buffers in bytes.
const BUFFER: usize = 1 << 18;

/// Visits every line, without its line feed. The last line may lack one.
pub(super) fn each_line(
    reader: impl Read,
    mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let cannot = |error| Error::new(format_args!("cannot read lines: {error}"));
    let mut reader = BufReader::with_capacity(BUFFER, reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(cannot)? > 0 {
        visit(line.strip_suffix(b"\n").unwrap_or(&line))?;
        line.clear();
    }
    Ok(())
}

/// A regular file whose lines are a set.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    /// At the beginning of the exchange.
    metadata: Metadata,
    /// The end of a line.
    end: RecordEnd,
}

impl LineFile {
    pub(super) fn open(path: &Path, end: RecordEnd) -> Result<Self, Error> {
        let metadata = fs::metadata(path).map_err(Error::reading(path))?;
        if !metadata.is_file() {
            return Err(Error::new(format_args!(
                "cannot read {}: it is read several times and must be a regular file",
                path.display()
            )));
        }
        // Errors must come before a peer is kept waiting.
        let mut file = File::open(path).map_err(Error::reading(path))?;
        match file_type(&mut file).map_err(Error::reading(path))?.1 {
            None => Ok(Self { path: path.to_owned(), metadata, end }),
            Some(FileType::Compressed(compression)) => Err(Error::new(format_args!(
                "{} is compressed with {}, and only plain files can be synchronized; decompress it \
                 first",
                path.display(),
                compression.name()
            ))),
            Some(FileType::Foreign { what, .. }) => Err(Error::new(format_args!(
                "{} is {what}, and only files of lines can be synchronized",
                path.display()
            ))),
        }
    }

    fn reader(&self) -> Result<File, Error> {
        File::open(&self.path).map_err(Error::reading(&self.path))
    }

    /// Visits every line.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        each_line(self.reader()?, |line| visit(self.end.content(line)))
    }

    /// The ids of all lines. The lines are counted first, so that memory is allocated once.
    pub(super) fn ids(&self, key: ExchangeKey) -> Result<IdSet, Error> {
        let mut ids: Vec<Id> = Vec::with_capacity(self.count_lines()?);
        let mut bytes = 0;
        self.each(|line| {
            bytes += line.len() as u64;
            ids.push(key.id(line));
            Ok(())
        })?;
        Ok(IdSet::of_ids(key, ids, bytes))
    }

    fn count_lines(&self) -> Result<usize, Error> {
        let mut file = self.reader()?;
        let mut buffer = vec![0; BUFFER];
        let mut count = 1;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(count),
                Ok(length) => count += memchr_iter(b'\n', &buffer[..length]).count(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::reading(&self.path)(error)),
            }
        }
    }

    /// Appends lines atomically: readers see the old file or the new one, and an error changes
    /// nothing.
    pub(super) fn append(&self, lines: impl Read) -> Result<(), Error> {
        let cannot = Error::changing(&self.path);
        let now = fs::metadata(&self.path).map_err(&cannot)?;
        let modified = |metadata: &Metadata| metadata.modified().ok();
        if now.len() != self.metadata.len() || modified(&now) != modified(&self.metadata) {
            return Err(Error::new(format_args!(
                "{} has changed since the exchange began, and was not updated; run the command again",
                self.path.display()
            )));
        }
        let old = self.reader()?;
        file::replace(&self.path, |new| append_to(new, old, lines)).map_err(&cannot)
    }
}

/// Writes the old lines, then the new ones.
fn append_to(new: &mut File, mut old: File, mut lines: impl Read) -> io::Result<()> {
    io::copy(&mut old, new)?;
    if old.metadata()?.len() > 0 {
        let mut last = [0];
        old.seek(SeekFrom::End(-1))?;
        old.read_exact(&mut last)?;
        if last != *b"\n" {
            new.write_all(b"\n")?;
        }
    }
    io::copy(&mut lines, new).map(drop)
}

/// Received lines, in a temporary file until the exchange has succeeded.
#[derive(Debug, Default)]
pub(super) struct ReceivedLines(Spool);

impl ReceivedLines {
    pub(super) fn push(&mut self, line: &[u8]) -> Result<(), Error> {
        if line.contains(&b'\n') {
            return Err(Error::new(
                "the peer sent a line that contains a line feed; nothing was changed",
            ));
        }
        self.0.write(line)?;
        Ok(self.0.write(b"\n")?)
    }

    pub(super) fn into_reader(self) -> Result<SpoolReader, Error> {
        Ok(self.0.into_reader()?)
    }
}
