//! An input that is read several times, also if it is a pipe.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::slice;

use super::chunks::Chunks;
use super::layout::Format;
use super::progress::Progress;
use super::source::{Input, cannot_read};
use crate::outcome::Error;
use crate::spill;

/// An input that can be read again and again.
#[derive(Debug)]
pub(crate) struct Replay {
    path: PathBuf,
    /// What came out of a pipe, in a temporary file.
    spooled: Option<File>,
}

impl Replay {
    /// A file as it is; a pipe after it has been read into a temporary file.
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
        let progress = Progress::over(slice::from_ref(&path));
        let mut source = progress.watch(input.open().map_err(|error| cannot_read(&name, &error))?);
        let mut file = spill::temporary()?;
        // Which of the two failed cannot be told; that the disk is full is the likelier.
        io::copy(&mut source, &mut file).map_err(spill::temporary_error)?;
        progress.finish();
        Ok(Self { path, spooled: Some(file) })
    }

    /// Reads from the beginning.
    pub(crate) fn chunks(&self, format: Format, progress: Progress) -> Result<Chunks, Error> {
        let input = match &self.spooled {
            None => Input::named(&self.path),
            Some(file) => {
                let name = self.path.display().to_string();
                let rewound = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
                let file = rewound.map_err(spill::temporary_error)?;
                Input::Spooled { file, name }
            }
        };
        Ok(Chunks::of(VecDeque::from([input]), format, progress))
    }

    /// For a bar.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
