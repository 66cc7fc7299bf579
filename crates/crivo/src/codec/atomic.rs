//! Replacing a file, so that whoever reads it finds the old one or the new one, whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file by `write`: into a temporary one in the same folder, which then takes the name.
///
/// On an error the old file, or none, is still there. The permissions of an old file are kept. A
/// symbolic link is followed. Something that is not a regular file (a pipe, a device) cannot be
/// replaced, and is written to as it is.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // A link that leads nowhere is replaced itself, as if there were no file.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = match fs::metadata(&target) {
        Ok(old) if !old.is_file() => {
            return write(&mut OpenOptions::new().write(true).open(&target)?);
        }
        Ok(old) => Some(old.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut temporary = Temporary::create(folder, old.as_ref())?;
    write(&mut temporary.file)?;
    if let Some(permissions) = old {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, &target)?;
    temporary.renamed = true;
    sync_folder(folder)
}

/// A new file, which is removed again unless it was renamed.
struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(folder: &Path, permissions: Option<&fs::Permissions>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // From the beginning no more open to others than the file that it will replace.
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(permissions.mode());
        }
        #[cfg(not(unix))]
        let _ = permissions;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".crivo-{}-{count}.tmp", process::id()));
            match options.open(&path) {
                Ok(file) => return Ok(Self { file, path, renamed: false }),
                // What a process of the same number left behind when it was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing can be done if that fails too; the first error is the one that matters.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the new name outlast a loss of power, on systems where folders can be asked for that.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    // A folder may be open to writing and not to reading, and not every file system can do this.
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::codec::mock::Folder;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new("atomic-failure");
        let path = folder.file("a");
        let fail = |file: &mut File| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk is full"))
        };
        assert_eq!(replace(&path, fail).unwrap_err().to_string(), "the disk is full");
        assert!(folder.names().is_empty());
        replace(&path, |file| file.write_all(b"old")).unwrap();
        replace(&path, fail).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.names(), ["a"]);
    }

    #[test]
    fn a_file_without_a_folder_in_its_path_is_beside_us() {
        let nothing = replace(Path::new("no-such-file"), |_| Err(io::Error::other("stop")));
        assert_eq!(nothing.unwrap_err().to_string(), "stop");
    }

    #[test]
    fn a_leftover_of_a_killed_process_is_not_in_the_way() {
        let folder = Folder::new("atomic-leftover");
        let taken = Temporary::create(&folder.path, None).unwrap();
        let name = taken.path.file_name().unwrap().to_str().unwrap().to_owned();
        let count: u64 = name.rsplit(['-', '.']).nth(1).unwrap().parse().unwrap();
        // Other tests count as well: whatever number is next, it is taken.
        for next in count + 1..count + 100 {
            let path = folder.path.join(format!(".crivo-{}-{next}.tmp", process::id()));
            fs::write(path, b"left behind").unwrap();
        }
        replace(&folder.file("a"), |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(folder.file("a")).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_links_are_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("atomic-mode");
        let (path, link) = (folder.file("a"), folder.file("link"));
        replace(&path, |file| file.write_all(b"old")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_not_replaced() {
        let full = replace(Path::new("/dev/full"), |file| file.write_all(b"no room"));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
}
