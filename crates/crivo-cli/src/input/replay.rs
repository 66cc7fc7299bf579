//! An input that can be read several times, even if it is a pipe.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::slice;

use crivo_core::spill::{SpillError, temporary_file};

use super::chunks::Chunks;
use super::layout::RecordFormat;
use super::progress::InputProgress;
use super::source::{Input, cannot_read, open_file};
use crate::error::Error;

/// An input that can be read several times, each time with the bytes that it had at first: what is
/// appended to the file meanwhile is not read.
#[derive(Debug)]
pub(crate) struct Replay {
    path: PathBuf,
    /// The file itself, or a temporary one with the contents of a pipe.
    file: File,
    /// What the path meant at first; `None` for a temporary file.
    metadata: Option<Metadata>,
    /// How many bytes it had.
    length: u64,
}

impl Replay {
    /// Opens a file, or copies a pipe to a temporary file.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let input = Input::named(path);
        input.check()?;
        let name = input.name();
        let failed = |error: io::Error| cannot_read(&name, &error);
        if let Input::File(file) = &input
            && fs::metadata(file).is_ok_and(|metadata| metadata.is_file())
        {
            let file = open_file(path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            let length = metadata.len();
            return Ok(Self { path: path.to_owned(), file, metadata: Some(metadata), length });
        }
        let path = path.to_owned();
        let progress = InputProgress::over(slice::from_ref(&path));
        let mut source = progress.watch(input.open().map_err(failed)?);
        let mut file = temporary_file()?;
        // `copy` does not say which side failed; a full disk is the likelier cause.
        let length = io::copy(&mut source, &mut file).map_err(SpillError::from)?;
        progress.finish();
        Ok(Self { path, file, metadata: None, length })
    }

    /// Reads from the beginning. The previous reader must have ended.
    pub(crate) fn chunks(
        &self,
        format: RecordFormat,
        progress: InputProgress,
    ) -> Result<Chunks, Error> {
        self.check_not_replaced()?;
        let name = Input::named(&self.path).name();
        let rewound = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        let file = rewound.map_err(|error| cannot_read(&name, &error))?;
        let input = Input::Snapshot { file, length: self.length, name };
        Ok(Chunks::of(VecDeque::from([input]), format, progress))
    }

    /// Fails if the path now means another file.
    pub(crate) fn check_not_replaced(&self) -> Result<(), Error> {
        let Some(then) = &self.metadata else { return Ok(()) };
        match fs::metadata(&self.path) {
            Ok(now) if is_same_file(then, &now) => Ok(()),
            _ => Err(self.changed("it was replaced")),
        }
    }

    /// The error of a file whose records are not what they were.
    pub(crate) fn changed(&self, how: &str) -> Error {
        Error::new(format_args!(
            "cannot compare {}: {how} while it was being read; what was printed may be wrong; run \
             the command again",
            self.path.display()
        ))
    }

    /// The path, for a progress bar.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
}
