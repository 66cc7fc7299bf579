//! Errors of a study.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crivo::filter::{Full, FuseError, SpecError};
use crivo::{BuildError, ParameterError};
use crivo_exact::InsertError;
use crivo_hyphen::ReadError;
use crivo_hyphen::exceptions::StoreError;

/// Why a study failed. Files that were finished before are kept; none is incomplete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// There is no experiment of this name.
    #[error("there is no experiment {name:?}; {}", hint(nearest, names))]
    UnknownExperiment {
        /// The requested name.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<&'static str>,
        /// The names of all experiments.
        names: Vec<&'static str>,
    },
    /// A list is empty.
    #[error("{} has no words; give a file with one word per line", path.display())]
    NoWords {
        /// The file of the list.
        path: PathBuf,
    },
    /// The list of exceptions to hyphenation cannot be read.
    #[error(transparent)]
    Exceptions(#[from] ReadError),
    /// A file could not be read.
    #[error("{} cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file or directory could not be written.
    #[error("{} cannot be written: {error}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A data file is not what the study wrote.
    #[error("{} is not a valid data file: {reason}; remove it to measure again", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no data to report on.
    #[error("{} has no data of any experiment", path.display())]
    NothingMeasured {
        /// The directory that was searched.
        path: PathBuf,
    },
    /// The store of exceptions failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A structure could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A structure gave a wrong answer, which would invalidate the measurement.
    #[error("wrong answer: {0}")]
    WrongAnswer(String),
    /// The server of the experiment on Cassandra failed, or cannot be reached.
    #[error("Cassandra: {0}")]
    Cassandra(String),
    /// A plot could not be drawn.
    #[error("a plot cannot be drawn: {0}")]
    Drawing(String),
}

fn hint(nearest: &Option<&'static str>, names: &[&'static str]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => format!("there are {}", names.join(", ")),
    }
}

impl StudyError {
    /// A wrong answer, in words.
    pub(crate) fn wrong(what: impl fmt::Display) -> Self {
        Self::WrongAnswer(what.to_string())
    }
}

impl From<ParameterError> for StudyError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}

impl From<SpecError> for StudyError {
    fn from(error: SpecError) -> Self {
        Self::wrong(format_args!("a guard could not be built: {error}"))
    }
}

impl From<Full> for StudyError {
    fn from(full: Full) -> Self {
        Self::wrong(format_args!("a filter refused a key within its capacity: {full}"))
    }
}

impl From<InsertError> for StudyError {
    fn from(error: InsertError) -> Self {
        Self::wrong(format_args!("a dictionary refused a key: {error}"))
    }
}

impl From<FuseError> for StudyError {
    fn from(error: FuseError) -> Self {
        Self::wrong(format_args!("a static filter could not be built: {error}"))
    }
}
