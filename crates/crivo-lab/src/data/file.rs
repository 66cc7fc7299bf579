//! Files that appear whole or not at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::StudyError;

/// Writes beside `path`, then renames.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut options = tempfile::Builder::new();
    // As any new file: a temporary one would be for the owner's eyes only.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        options.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = options.prefix(".crivo-").tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|refused| failed(refused.error))?;
    Ok(())
}

/// Makes the folder if it is not there, and finds out whether it can be written to.
pub(crate) fn prepare_folder(path: &Path) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    fs::create_dir_all(path).map_err(failed)?;
    tempfile::tempfile_in(path).map_err(failed)?;
    Ok(())
}
