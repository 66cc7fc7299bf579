//! Why a command failed, in a sentence for the user.

use std::path::Path;
use std::{fmt, io};

use crivo::codec::{CodecError, DecodeError, FileError};
use crivo::filter::{Full, SpecError};
use crivo::{BuildError, ParameterError};
use crivo_core::spill::SpillError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What went wrong and what to do about it. Exit status 2.
    #[error("{0}")]
    Message(String),
    /// The reader of the output has closed it, as `head` does. This is no error: exit status 0.
    #[error("the output was closed by its reader")]
    BrokenPipe,
}

impl Error {
    /// What went wrong and what to do about it.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::Message(message.to_string())
    }

    /// For `map_err`: a file could not be read.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        Self::at("read", path)
    }

    /// For `map_err`: a file could not be written.
    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        Self::at("write", path)
    }

    /// For `map_err`: a file could not be changed.
    pub(crate) fn changing(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        Self::at("change", path)
    }

    /// For `map_err`: what was read under this name is not what it should be.
    pub(crate) fn decoding(name: &str) -> impl Fn(DecodeError) -> Self + '_ {
        move |error| Self::new(format_args!("cannot read {name}: {error}{}", advice(&error)))
    }

    fn at<'a>(action: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |error| {
            Self::new(format_args!("cannot {action} {}: {}", path.display(), os_message(&error)))
        }
    }

    /// For `map_err`: standard output could not be written. If the input that was being copied
    /// there could not be read, the error wraps one of ours, which is returned as it is.
    pub(crate) fn output(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(ours) => return ours,
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::new(format_args!("cannot write to standard output: {}", os_message(&error)))
        }
    }
}

/// The system's message for an error, without its number.
pub(crate) fn os_message(error: &io::Error) -> String {
    without_number(error, error.to_string())
}

/// A message about an error, without the system's number for it.
fn without_number(error: &io::Error, message: String) -> String {
    match error.raw_os_error() {
        Some(number) => message.replace(&format!(" (os error {number})"), ""),
        None => message,
    }
}

/// Errors of the library whose message is shown to the user unchanged.
macro_rules! from_library_error {
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

from_library_error!(BuildError, Full, ParameterError, SpecError);

impl From<SpillError> for Error {
    fn from(error: SpillError) -> Self {
        Self::Message(without_number(&error.cause, error.to_string()))
    }
}

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
                    "cannot {} {}: it is a directory; name a file",
                    error.action,
                    error.path.display()
                )
            }
            CodecError::Io(cause) => without_number(cause, error.to_string()),
            _ => error.to_string(),
        })
    }
}

/// What the user can do about it.
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
        | DecodeError::Inconsistent(_) => "; fetch the file again, or rebuild it",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::codec::Header;

    #[test]
    fn a_broken_pipe_is_distinguished_from_a_full_disk() {
        let broken = Error::output(io::ErrorKind::BrokenPipe.into());
        assert!(matches!(broken, Error::BrokenPipe));
        let full = Error::output(io::Error::from_raw_os_error(28)).to_string();
        assert!(full.starts_with("cannot write to standard output: "), "{full}");
        assert!(!full.contains("os error"), "{full}");
    }

    #[test]
    fn messages_of_the_system_lose_their_numbers() {
        let missing = Header::load("no/such.crivo").unwrap_err();
        assert!(missing.to_string().contains("os error"), "{missing}");
        let message = Error::from(missing).to_string();
        assert!(message.starts_with("cannot read no/such.crivo: "), "{message}");
        assert!(
            message.ends_with("; is the path right?") && !message.contains("os error"),
            "{message}"
        );
    }
}
