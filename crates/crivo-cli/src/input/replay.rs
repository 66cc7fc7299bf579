//! An input that can be read several times, even if it is a pipe.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::slice;

use crivo_core::spill::{SpillError, temporary_file};

use super::chunks::Chunks;
use super::layout::RecordFormat;
use super::progress::InputProgress;
use super::source::{Input, cannot_read};
use crate::error::Error;

/// An input that can be read several times.
#[derive(Debug)]
pub(crate) struct Replay {
    path: PathBuf,
    /// The contents of a pipe, in a temporary file.
    spooled: Option<File>,
}

impl Replay {
    /// Opens a file, or copies a pipe to a temporary file.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let input = Input::named(path);
        input.check()?;
        let path = path.to_owned();
        if let Input::File(path) = &input
            && fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        {
            return Ok(Self { path: path.clone(), spooled: None });
        }
        let name = input.name();
        let progress = InputProgress::over(slice::from_ref(&path));
        let mut source = progress.watch(input.open().map_err(|error| cannot_read(&name, &error))?);
        let mut file = temporary_file()?;
        // `copy` does not say which side failed; a full disk is the likelier cause.
        io::copy(&mut source, &mut file).map_err(SpillError::from)?;
        progress.finish();
        Ok(Self { path, spooled: Some(file) })
    }

    /// Reads from the beginning.
    pub(crate) fn chunks(
        &self,
        format: RecordFormat,
        progress: InputProgress,
    ) -> Result<Chunks, Error> {
        let input = match &self.spooled {
            None => Input::named(&self.path),
            Some(file) => {
                let name = self.path.display().to_string();
                let rewound = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
                let file = rewound.map_err(SpillError::from)?;
                Input::Spooled { file, name }
            }
        };
        Ok(Chunks::of(VecDeque::from([input]), format, progress))
    }

    /// The path, for a progress bar.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
