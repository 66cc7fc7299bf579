//! Running a command as a user who cannot read everything.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

const ROOT: u32 = 0;
const NOBODY: u32 = 65_534;

/// Runs a command in a directory of the test. Where tests run as root, who can read everything, the
/// command runs as another user; `None` if that user cannot execute it.
pub fn run_unprivileged(mut command: Command, directory: &Path) -> Option<Output> {
    if fs::metadata(directory).unwrap().uid() == ROOT {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY);
    }
    command.output().ok()
}
