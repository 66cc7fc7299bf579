//! How a command ends: what it found, or why it could not do its work.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use crivo::codec::{CodecError, DecodeError, FileError};
use crivo::filter::{Full, PlanError};
use crivo::{BuildError, ParameterError};
use crivo_hyphen::{ReadError, UnknownLanguage};

/// What a command that did its work found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is done: exit status 0.
    Done,
    /// There was nothing: `query` printed no record, `remove` removed no key. Exit status 1.
    Nothing,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Nothing => Self::from(1),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Error {
    /// What was wrong and what to do, in a sentence for a person. Exit status 2.
    Message(String),
    /// Whoever read the output has had enough, as `head` has: no error. Exit status 0.
    BrokenPipe,
}

impl Error {
    /// What was wrong and what to do.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::Message(message.to_string())
    }

    /// For `map_err`: a file could not be read.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(format_args!("cannot read {}: {}", path.display(), plain(&error)))
    }

    /// For `map_err`: a file could not be written.
    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(format_args!("cannot write {}: {}", path.display(), plain(&error)))
    }

    /// For `map_err`: a file could not be changed.
    pub(crate) fn changing(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(format_args!("cannot change {}: {}", path.display(), plain(&error)))
    }

    /// For `map_err`: standard output could not be written to, or what was to be copied there could
    /// not be read, which is an error of ours within the other.
    pub(crate) fn output(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(ours) => return ours,
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::new(format_args!("cannot write to standard output: {}", plain(&error)))
        }
    }
}

/// The system's words for an error, without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    without_number(error, error.to_string())
}

/// Words about an error, without the number that the system has for it.
fn without_number(error: &io::Error, words: String) -> String {
    match error.raw_os_error() {
        Some(number) => words.replace(&format!(" (os error {number})"), ""),
        None => words,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => f.write_str(message),
            Self::BrokenPipe => f.write_str("nobody reads the output any more"),
        }
    }
}

impl std::error::Error for Error {}

/// The library's errors say what was wrong and what to do; a person reads them as they are.
macro_rules! said_by_the_library {
    ($($error:ty),*) => {
        $(
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Self::new(error)
                }
            }
        )*
    };
}

said_by_the_library!(BuildError, Full, ParameterError, PlanError, ReadError, UnknownLanguage);

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(format_args!("{error}{}", advice(&error)))
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::new(match &error.cause {
            CodecError::Decode(cause) => format!("{error}{}", advice(cause)),
            CodecError::Io(cause) if cause.kind() == io::ErrorKind::IsADirectory => {
                format!(
                    "cannot {} {}: it is a folder; name a file",
                    error.action,
                    error.path.display()
                )
            }
            CodecError::Io(cause) => without_number(cause, error.to_string()),
            _ => error.to_string(),
        })
    }
}

/// What helps.
fn advice(error: &DecodeError) -> &'static str {
    match error {
        DecodeError::KeyNeeded => ": --key-file FILE",
        DecodeError::NotCrivo => "; `crivo build` makes one of keys",
        DecodeError::Truncated { .. }
        | DecodeError::TrailingBytes
        | DecodeError::PayloadLength { .. }
        | DecodeError::HeaderChecksum
        | DecodeError::PayloadChecksum
        | DecodeError::Parameter(_)
        | DecodeError::Inconsistent(_) => "; fetch the file again, or build it anew",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::codec::Header;

    #[test]
    fn a_broken_pipe_is_told_from_a_full_disk() {
        let broken = Error::output(io::ErrorKind::BrokenPipe.into());
        assert!(matches!(broken, Error::BrokenPipe));
        let full = Error::output(io::Error::from_raw_os_error(28)).to_string();
        assert!(full.starts_with("cannot write to standard output: "), "{full}");
        assert!(!full.contains("os error"), "{full}");
    }

    #[test]
    fn the_system_is_quoted_without_its_numbers() {
        let missing = Header::load("no/such.crivo").unwrap_err();
        assert!(missing.to_string().contains("os error"), "{missing}");
        let words = Error::from(missing).to_string();
        assert!(words.starts_with("cannot read no/such.crivo: "), "{words}");
        assert!(words.ends_with("; is the path right?") && !words.contains("os error"), "{words}");
    }
}
