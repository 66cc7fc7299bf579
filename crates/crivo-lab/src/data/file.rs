//! Files that are written completely or not at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::StudyError;

/// Writes a temporary file next to `path`, then renames it.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut options = tempfile::Builder::new();
    // With the permissions of any new file; those of a temporary file are for the owner only.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        options.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = options.prefix(".crivo-").tempfile_in(directory).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|refused| failed(refused.error))?;
    Ok(())
}

/// Creates the directory if needed, and checks that it can be written to.
pub(crate) fn prepare_directory(path: &Path) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    fs::create_dir_all(path).map_err(failed)?;
    tempfile::tempfile_in(path).map_err(failed)?;
    Ok(())
}
