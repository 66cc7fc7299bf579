//! Standard input among files.

#[cfg(unix)]
use std::fs::{File, Metadata};
use std::path::Path;

/// The name of standard input among files.
pub(super) const STANDARD_INPUT: &str = "-";

/// Whether a path means standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// The length of standard input if it is a regular file, otherwise 0.
pub(super) fn standard_input_length() -> u64 {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let file = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let metadata = file.and_then(|file| file.metadata());
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }
    #[cfg(not(unix))]
    0
}
