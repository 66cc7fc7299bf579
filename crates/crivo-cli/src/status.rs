//! How a command that did its work ends.

use std::process::ExitCode;

/// What a successful command reports to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Exit status 0.
    Success,
    /// There was no record to print (`query`; `diff` and `common` with `--quiet`), or no key to remove
    /// (`remove`). Exit status 1.
    NothingFound,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::SUCCESS,
            Status::NothingFound => Self::from(1),
        }
    }
}
