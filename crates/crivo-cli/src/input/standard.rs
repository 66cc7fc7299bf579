//! Standard input among files.

#[cfg(unix)]
use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::path::Path;

use crate::signals;

/// The name of standard input among files.
pub(super) const STANDARD_INPUT: &str = "-";

/// Whether a path means standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// The length of standard input if it is a regular file, otherwise 0.
pub(super) fn standard_input_length() -> u64 {
    #[cfg(unix)]
    {
        let metadata = metadata_of(&io::stdin());
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }
    #[cfg(not(unix))]
    0
}

/// Standard input, unless it is closed or is also the output.
pub(crate) fn open_standard_input() -> io::Result<io::Stdin> {
    if signals::lacks_standard_input() {
        return Err(io::Error::other("it is closed"));
    }
    #[cfg(unix)]
    if let Ok(metadata) = metadata_of(&io::stdin()) {
        check_not_output(&metadata)?;
    }
    Ok(io::stdin())
}

/// Fails if a file with this metadata is also standard output: what is printed would be read again,
/// until the disk is full.
pub(super) fn check_not_output(input: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_output =
            |output: Metadata| (input.dev(), input.ino()) == (output.dev(), output.ino());
        if input.is_file() && metadata_of(&io::stdout()).is_ok_and(is_output) {
            return Err(io::Error::other("it is also the output; write to another file"));
        }
    }
    #[cfg(not(unix))]
    let _ = input;
    Ok(())
}

#[cfg(unix)]
fn metadata_of(stream: &impl std::os::fd::AsFd) -> io::Result<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned()?).metadata()
}
