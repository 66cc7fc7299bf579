//! Files that are written completely or not at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::StudyError;

/// Replaces a file atomically.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    crivo_core::file::replace(path, |file| file.write_all(bytes))
        .map_err(|error| StudyError::Write { path: path.to_path_buf(), error })
}

/// Creates the directory if needed, and checks that it can be written to.
pub(crate) fn prepare_directory(path: &Path) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    fs::create_dir_all(path).map_err(failed)?;
    tempfile::tempfile_in(path).map_err(failed)?;
    Ok(())
}
