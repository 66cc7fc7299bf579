//! A file as a set of lines: read more than once, and replaced in one step.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crivo_exchange::{ExchangeKey, Id, IdSet};
use memchr::memchr_iter;
use tempfile::NamedTempFile;

use crate::input::compression_of;
use crate::outcome::Error;

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// Visits every line, without its line feed. The last one may lack it.
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
    /// As it was when the exchange began.
    metadata: Metadata,
}

impl LineFile {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let metadata = fs::metadata(path).map_err(Error::reading(path))?;
        if !metadata.is_file() {
            return Err(Error::new(format_args!(
                "cannot read {}: it is read more than once, and must be a regular file",
                path.display()
            )));
        }
        // So that an error comes before anyone is kept waiting.
        let file = File::open(path).map_err(Error::reading(path))?;
        if let Some(compression) = compression_of(file).map_err(Error::reading(path))? {
            return Err(Error::new(format_args!(
                "{} is compressed by {compression}, and only plain lines can be compared and added \
                 to; decompress it first",
                path.display()
            )));
        }
        Ok(Self { path: path.to_owned(), metadata })
    }

    fn reader(&self) -> Result<File, Error> {
        File::open(&self.path).map_err(Error::reading(&self.path))
    }

    /// Visits every line.
    pub(super) fn each(&self, visit: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        each_line(self.reader()?, visit)
    }

    /// The ids of all lines. They are counted first, so that memory is asked for once.
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

    /// Adds lines at the end, in one step: whoever reads the file, and whatever fails, finds it as
    /// it was or as it will be.
    pub(super) fn append(&self, lines: impl Read) -> Result<(), Error> {
        let cannot = Error::changing(&self.path);
        // A link is followed: the file behind it is what changes.
        let path = fs::canonicalize(&self.path).map_err(&cannot)?;
        let now = fs::metadata(&path).map_err(&cannot)?;
        let modified = |metadata: &Metadata| metadata.modified().ok();
        if now.len() != self.metadata.len() || modified(&now) != modified(&self.metadata) {
            return Err(Error::new(format_args!(
                "{} has changed since the exchange began, and is left as it is; run it again",
                self.path.display()
            )));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut new = NamedTempFile::new_in(folder).map_err(&cannot)?;
        append_to(&mut new, self.reader()?, lines).map_err(&cannot)?;
        new.as_file().set_permissions(now.permissions()).map_err(&cannot)?;
        new.as_file().sync_all().map_err(&cannot)?;
        new.persist(&path).map_err(|error| cannot(error.error))?;
        Ok(())
    }
}

/// The old lines, then the new ones.
fn append_to(new: &mut NamedTempFile, mut old: File, mut lines: impl Read) -> io::Result<()> {
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

/// Lines that have come, in a temporary file, until it is known that they may be used.
#[derive(Debug)]
pub(super) struct Spool {
    file: BufWriter<File>,
}

impl Spool {
    pub(super) fn new() -> Result<Self, Error> {
        let file = tempfile::tempfile().map_err(cannot_spool)?;
        Ok(Self { file: BufWriter::new(file) })
    }

    pub(super) fn push(&mut self, line: &[u8]) -> Result<(), Error> {
        if line.contains(&b'\n') {
            return Err(Error::new(
                "the peer sent a line with a line feed in it; nothing is taken",
            ));
        }
        self.file.write_all(line).and_then(|()| self.file.write_all(b"\n")).map_err(cannot_spool)
    }

    /// All lines from the first on.
    pub(super) fn reader(&mut self) -> Result<&File, Error> {
        self.file.flush().map_err(cannot_spool)?;
        self.file.get_mut().rewind().map_err(cannot_spool)?;
        Ok(self.file.get_ref())
    }
}

fn cannot_spool(error: io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::new(format_args!("cannot keep lines in {}: {error}; set TMPDIR", folder.display()))
}
