//! The environment of an experiment: settings, lists, randomness, progress.

use std::fs;
use std::path::Path;

use crivo_core::Random;
use crivo_hyphen::Exception;

use crate::StudyError;
use crate::random::{RandomStrings, random_stream};
use crate::settings::{Options, Scale};
use crate::words::WordList;

/// Receives the progress of a study. All methods do nothing by default; `()` ignores everything.
pub trait Progress {
    /// An experiment starts: number `index`, from 0, of `total`.
    fn started(&self, name: &str, index: usize, total: usize) {
        let _ = (name, index, total);
    }

    /// `done` of `total` steps of the current experiment are done.
    fn step(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// The current experiment has ended, and its data is in the directory.
    fn finished(&self, name: &str) {
        let _ = name;
    }

    /// An experiment is skipped: its data for these settings exists.
    fn skipped(&self, name: &str, file: &Path) {
        let _ = (name, file);
    }
}

impl Progress for () {}

/// The prefix of scratch directories.
const SCRATCH: &str = ".crivo-scratch-";

/// Removes the scratch directories of a study that was killed. Failures are harmless.
pub(crate) fn remove_leftovers(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SCRATCH)) {
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// The environment of an experiment.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) options: &'a Options,
    pub(crate) words: &'a WordList,
    pub(crate) exceptions: Option<&'a [Exception]>,
    pub(crate) directory: &'a Path,
    pub(crate) progress: &'a dyn Progress,
}

impl<'a> Context<'a> {
    /// The value for the scale of the study.
    pub fn pick<T>(&self, tiny: T, quick: T, full: T) -> T {
        match self.options.scale {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The number of repetitions.
    pub fn repetitions(&self) -> u32 {
        self.options.repetitions()
    }

    /// The seed of all randomness.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// A separate stream of random numbers for every name.
    pub fn random(&self, name: &str) -> Random {
        random_stream(self.seed(), name)
    }

    /// Separate random strings for every name.
    pub fn strings(&self, name: &str) -> RandomStrings {
        RandomStrings::new(self.seed(), name)
    }

    /// The words.
    pub fn words(&self) -> &'a WordList {
        self.words
    }

    /// The user's exceptions to hyphenation, if there are any.
    pub fn exceptions(&self) -> Option<&'a [Exception]> {
        self.exceptions
    }

    /// A directory for temporary files, on the disk of the study, which is removed with its content
    /// when it is dropped.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn scratch(&self) -> Result<tempfile::TempDir, StudyError> {
        let refused = |error| StudyError::Write { path: self.directory.to_path_buf(), error };
        tempfile::Builder::new().prefix(SCRATCH).tempdir_in(self.directory).map_err(refused)
    }

    /// Reports the progress of the experiment.
    pub fn step(&self, done: u64, total: u64) {
        self.progress.step(done, total);
    }
}
