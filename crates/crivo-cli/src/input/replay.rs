//! Inputs that can be read several times, even if they are pipes.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use crivo_core::spill::{SpillError, temporary_file};

use super::chunks::Chunks;
use super::layout::RecordFormat;
use super::progress::InputProgress;
use super::source::{Input, cannot_read, open_file};
use crate::error::Error;

/// Inputs that can be read several times, each time with the bytes that they had at first: what is
/// appended to a file meanwhile is not read.
#[derive(Debug)]
pub(crate) struct Replay {
    files: Vec<ReplayFile>,
}

#[derive(Debug)]
struct ReplayFile {
    path: PathBuf,
    /// The file itself, or a temporary one with the contents of a pipe.
    file: File,
    /// What the path meant at first; `None` for a temporary file.
    metadata: Option<Metadata>,
    /// How many bytes it had.
    length: u64,
}

/// Inputs that are read once: files with the bytes that they have now, pipes to their end.
#[derive(Debug)]
pub(crate) struct ReadOnce {
    inputs: VecDeque<Input>,
}

impl ReadOnce {
    /// Opens files.
    pub(crate) fn of(paths: &[PathBuf]) -> Result<Self, Error> {
        let input = |path: &PathBuf| {
            let input = Input::named(path);
            input.check()?;
            match ReplayFile::of_regular_file(path)? {
                Some(file) => file.input(),
                None => Ok(input),
            }
        };
        Ok(Self { inputs: paths.iter().map(input).collect::<Result<_, _>>()? })
    }

    pub(crate) fn chunks(self, format: RecordFormat, progress: InputProgress) -> Chunks {
        Chunks::of(self.inputs, format, progress)
    }
}

impl Replay {
    /// Opens files, and copies pipes to temporary files.
    pub(crate) fn of(paths: &[PathBuf]) -> Result<Self, Error> {
        // All must exist before any is copied.
        paths.iter().try_for_each(|path| Input::named(path).check())?;
        let files = paths.iter().map(|path| ReplayFile::open(path)).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// Reads from the beginning.
    pub(crate) fn chunks(
        &self,
        format: RecordFormat,
        progress: InputProgress,
    ) -> Result<Chunks, Error> {
        let inputs = self.files.iter().map(ReplayFile::input).collect::<Result<_, _>>()?;
        Ok(Chunks::of(inputs, format, progress))
    }

    /// Fails if a path now means another file.
    pub(crate) fn check_not_replaced(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(ReplayFile::check_not_replaced)
    }

    /// The error of inputs whose records are not what they were.
    pub(crate) fn changed(&self) -> Error {
        match &self.files[..] {
            [file] => file.changed("it was changed"),
            files => {
                let paths: Vec<_> =
                    files.iter().map(|file| file.path.display().to_string()).collect();
                changed(&paths.join(", "), "one of them was changed")
            }
        }
    }

    /// The paths, for a progress bar.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }
}

impl ReplayFile {
    /// A file; `None` for a pipe.
    fn of_regular_file(path: &Path) -> Result<Option<Self>, Error> {
        let input = Input::named(path);
        let is_regular = || fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        if !matches!(input, Input::File(_)) || !is_regular() {
            return Ok(None);
        }
        let failed = |error: io::Error| cannot_read(&input.name(), &error);
        let file = open_file(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let length = metadata.len();
        Ok(Some(Self { path: path.to_owned(), file, metadata: Some(metadata), length }))
    }

    fn open(path: &Path) -> Result<Self, Error> {
        if let Some(file) = Self::of_regular_file(path)? {
            return Ok(file);
        }
        let input = Input::named(path);
        let name = input.name();
        let failed = |error: io::Error| cannot_read(&name, &error);
        let path = path.to_owned();
        let progress = InputProgress::over(slice::from_ref(&path));
        let mut source = progress.watch(input.open().map_err(failed)?);
        let mut file = temporary_file()?;
        // `copy` does not say which side failed; a full disk is the likelier cause.
        let length = io::copy(&mut source, &mut file).map_err(SpillError::from)?;
        progress.finish();
        Ok(Self { path, file, metadata: None, length })
    }

    fn input(&self) -> Result<Input, Error> {
        self.check_not_replaced()?;
        let name = Input::named(&self.path).name();
        let file = self.file.try_clone().map_err(|error| cannot_read(&name, &error))?;
        Ok(Input::Snapshot { file, length: self.length, name })
    }

    fn check_not_replaced(&self) -> Result<(), Error> {
        let Some(then) = &self.metadata else { return Ok(()) };
        match fs::metadata(&self.path) {
            Ok(now) if is_same_file(then, &now) => Ok(()),
            _ => Err(self.changed("it was replaced")),
        }
    }

    fn changed(&self, how: &str) -> Error {
        changed(&self.path.display().to_string(), how)
    }
}

fn changed(name: &str, how: &str) -> Error {
    Error::new(format_args!(
        "cannot read {name} twice: {how} meanwhile; what was printed may be wrong; run the command \
         again"
    ))
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
