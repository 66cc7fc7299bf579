//! Errors of a study.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crivo::filter::{Full, FuseError};
use crivo::{BuildError, ParameterError};
use crivo_exact::InsertError;
use crivo_hyphen::ReadError;
use crivo_hyphen::exceptions::{GuardError, StoreError};

/// Why a study failed. Files that were finished before are kept; none is incomplete.
#[derive(Debug)]
#[non_exhaustive]
pub enum StudyError {
    /// There is no experiment of this name.
    UnknownExperiment {
        /// The requested name.
        name: String,
        /// The most similar name, if there is one.
        nearest: Option<&'static str>,
    },
    /// A list is empty.
    NoWords {
        /// The file of the list.
        path: PathBuf,
    },
    /// The list of exceptions to hyphenation cannot be read.
    Exceptions(ReadError),
    /// A file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file or directory could not be written.
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A data file is not what the study wrote.
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no data to report on.
    NothingMeasured {
        /// The directory that was searched.
        path: PathBuf,
    },
    /// The store of exceptions failed.
    Store(StoreError),
    /// A structure could not be built.
    Build(BuildError),
    /// A structure gave a wrong answer, which would invalidate the measurement.
    WrongAnswer(String),
    /// A plot could not be drawn.
    Drawing(String),
}

impl StudyError {
    /// A wrong answer, in words.
    pub(crate) fn wrong(what: impl fmt::Display) -> Self {
        Self::WrongAnswer(what.to_string())
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownExperiment { name, nearest: Some(nearest) } => {
                write!(f, "there is no experiment {name:?}; did you mean {nearest:?}?")
            }
            Self::UnknownExperiment { name, nearest: None } => {
                let names: Vec<_> = crate::experiments::names().collect();
                write!(f, "there is no experiment {name:?}; there are {}", names.join(", "))
            }
            Self::NoWords { path } => {
                write!(f, "{} has no words; give a file with one word per line", path.display())
            }
            Self::Read { path, error } => write!(f, "{} cannot be read: {error}", path.display()),
            Self::Write { path, error } => {
                write!(f, "{} cannot be written: {error}", path.display())
            }
            Self::Data { path, reason } => write!(
                f,
                "{} is not a valid data file: {reason}; remove it to measure again",
                path.display()
            ),
            Self::NothingMeasured { path } => {
                write!(f, "{} has no data of any experiment", path.display())
            }
            Self::Exceptions(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Build(error) => error.fmt(f),
            Self::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            Self::Drawing(what) => write!(f, "a plot cannot be drawn: {what}"),
        }
    }
}

impl std::error::Error for StudyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { error, .. } | Self::Write { error, .. } => Some(error),
            Self::Build(error) => Some(error),
            Self::Exceptions(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for StudyError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl From<ParameterError> for StudyError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}

impl From<StoreError> for StudyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<GuardError> for StudyError {
    fn from(error: GuardError) -> Self {
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
