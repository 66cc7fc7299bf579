//! Replacing a file atomically: a reader finds the old file or the new one, whole.
//!
//! The new file is written beside the old one and then takes its name. Where the system can, it has
//! no name until it is complete, and disappears with a process that is killed. Elsewhere it is called
//! `.crivo-0.tmp`, or by the next free number, and is locked. What a killed process left behind is
//! not locked, and is removed by the next process that finds it.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};

mod anonymous;

/// Writes a file by `write`: into a temporary one in the same directory, which then takes the name.
///
/// On an error the old file, or none, is still there. The permissions of an old file are kept, and its
/// owner and group as far as the process may set them. A
/// symbolic link is followed. Something that is not a regular file (a pipe, a device) cannot be
/// replaced, and is written to directly.
///
/// ```
/// use std::io::Write;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("a.txt");
/// crivo_core::file::replace(&path, |file| file.write_all(b"new"))?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of `write` and of the system. The old file is still there.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    replace_with(path, None, write)
}

/// [`replace`], with these permissions instead of those of the old file.
///
/// ```
/// use std::io::Write;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("seen.crivo");
/// std::fs::write(&path, "old")?;
/// let mut permissions = std::fs::metadata(&path)?.permissions();
/// permissions.set_readonly(true);
/// crivo_core::file::replace_with_permissions(&path, permissions, |file| file.write_all(b"new"))?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// assert!(std::fs::metadata(&path)?.permissions().readonly());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of `write` and of the system. The old file is still there.
pub fn replace_with_permissions(
    path: &Path,
    permissions: Permissions,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    replace_with(path, Some(permissions), write)
}

fn replace_with(
    path: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // A link that leads nowhere is replaced itself, as if there were no file.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = match fs::metadata(&target) {
        Ok(old) if !old.is_file() => {
            return write(&mut OpenOptions::new().write(true).open(&target)?);
        }
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let permissions = permissions.or(old.as_ref().map(Metadata::permissions));
    let directory = directory_of(&target);
    let mut temporary = Temporary::create(directory, permissions.as_ref())?;
    write(&mut temporary.file)?;
    if let Some(old) = old {
        keep_owner(&temporary.file, &old);
    }
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    temporary.take_name(directory, &target)?;
    sync_directory(directory)
}

/// Writes a file by `write`, like [`replace`], unless there is a file of this name already. `write`
/// may also read what it has written.
///
/// ```
/// use std::io::{ErrorKind, Write};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("a.txt");
/// crivo_core::file::create_new(&path, |file| file.write_all(b"first"))?;
/// let second = crivo_core::file::create_new(&path, |file| file.write_all(b"second"));
/// assert_eq!(second.unwrap_err().kind(), ErrorKind::AlreadyExists);
/// assert_eq!(std::fs::read(&path)?, b"first");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of `write` and of the system; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a
/// file, which is unchanged.
pub fn create_new(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let directory = directory_of(path);
    let mut temporary = Temporary::create(directory, None)?;
    write(&mut temporary.file)?;
    temporary.file.sync_all()?;
    temporary.take_new_name(path)?;
    sync_directory(directory)
}

/// Gives a new file the owner and the group of the old one, as far as this process may: root may
/// always, others may choose among their own groups.
fn keep_owner(new: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let is_ours =
            new.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
        if !is_ours && fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
            // Without the right to give it away, the group may still be ours.
            let _ = fchown(new, None, Some(old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (new, old);
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// A new file, which is removed again unless it took another name.
#[derive(Debug)]
struct Temporary {
    /// Locked, so that others know it to be in use.
    file: File,
    /// Its name, if it has one.
    path: Option<PathBuf>,
}

impl Temporary {
    fn create(directory: &Path, permissions: Option<&Permissions>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        // From the beginning no more open to others than the file that it will replace.
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(permissions.mode());
        }
        #[cfg(not(unix))]
        let _ = permissions;
        match anonymous::create(directory, &options) {
            Some(file) => {
                lock(&file);
                Ok(Self { file, path: None })
            }
            None => Self::named(directory, options.create_new(true)),
        }
    }

    fn named(directory: &Path, options: &OpenOptions) -> io::Result<Self> {
        let (file, path) = with_free_name(directory, |path| {
            let file = options.open(path)?;
            lock(&file);
            // Before it was locked, another process may have removed it as a leftover.
            match is_named(&file, path) {
                true => Ok(file),
                false => Err(io::ErrorKind::AlreadyExists.into()),
            }
        })?;
        Ok(Self { file, path: Some(path) })
    }

    /// Becomes the file of this name, whatever was there.
    fn take_name(mut self, directory: &Path, target: &Path) -> io::Result<()> {
        // No system gives a nameless file a name that is taken; renaming does.
        let path = match self.path.take() {
            Some(path) => path,
            None => with_free_name(directory, |path| anonymous::link(&self.file, path))?.1,
        };
        let renamed = fs::rename(&path, target);
        match renamed {
            // The next process that locks the file must not wait for us.
            Ok(()) => drop(self.file.unlock()),
            Err(_) => self.path = Some(path),
        }
        renamed
    }

    /// Becomes the file of this name, if there is none yet.
    fn take_new_name(self, target: &Path) -> io::Result<()> {
        match &self.path {
            // The temporary name is removed on drop.
            Some(path) => fs::hard_link(path, target)?,
            None => anonymous::link(&self.file, target)?,
        }
        drop(self.file.unlock());
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nothing can be done if that fails too; the first error is the one that matters.
            let _ = fs::remove_file(path);
        }
    }
}

/// Calls `make` with one name after another until there is no file of that name: what it made, and
/// the name. Leftovers are removed on the way.
fn with_free_name<T>(
    directory: &Path,
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    let mut number = 0u64;
    loop {
        let path = directory.join(format!(".crivo-{number}.tmp"));
        match make(&path) {
            Ok(made) => return Ok((made, path)),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        if !remove_leftover(&path) {
            number += 1;
        }
    }
}

/// Removes a temporary file that no process has locked, and returns whether it did.
fn remove_leftover(path: &Path) -> bool {
    // Opening something else could block, or follow a link.
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let Ok(file) = File::open(path) else { return false };
    // The lock is held while the file is removed, so that a new one of that name is never taken for it.
    file.try_lock().is_ok() && is_named(&file, path) && fs::remove_file(path).is_ok()
}

fn lock(file: &File) {
    // Some file systems have no locks. Then a leftover cannot be told from a file in use, and none
    // is removed.
    let _ = file.try_lock();
}

/// Whether this is the name of the file.
fn is_named(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (file.metadata(), fs::symlink_metadata(path)) {
            (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Makes the new name outlast a loss of power, on systems where directories can be asked for that.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    // A directory may be open to writing and not to reading, and not every file system can do this.
    let Ok(directory) = File::open(directory) else { return Ok(()) };
    match directory.sync_all() {
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

    /// A directory that is removed at the end of its test.
    struct Directory(tempfile::TempDir);

    impl Directory {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn file(&self, name: &str) -> PathBuf {
            self.path().join(name)
        }

        /// The names in it, in order.
        fn names(&self) -> Vec<String> {
            let mut names: Vec<_> = fs::read_dir(self.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = Directory::new();
        let path = directory.file("a");
        let fail = |file: &mut File| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk is full"))
        };
        assert_eq!(replace(&path, fail).unwrap_err().to_string(), "the disk is full");
        assert!(directory.names().is_empty());
        replace(&path, |file| file.write_all(b"old")).unwrap();
        replace(&path, fail).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(directory.names(), ["a"]);
    }

    #[test]
    fn a_file_without_a_directory_in_its_path_is_beside_us() {
        let nothing = replace(Path::new("no-such-file"), |_| Err(io::Error::other("stop")));
        assert_eq!(nothing.unwrap_err().to_string(), "stop");
    }

    /// A file as a file system that knows no nameless ones makes it.
    fn named(directory: &Directory) -> Temporary {
        Temporary::named(directory.path(), OpenOptions::new().write(true).create_new(true)).unwrap()
    }

    #[test]
    fn a_leftover_of_a_killed_process_is_removed() {
        let directory = Directory::new();
        fs::write(directory.file(".crivo-0.tmp"), b"left behind").unwrap();
        let path = directory.file("a");
        replace(&path, |file| file.write_all(b"new")).unwrap();
        let mut other = named(&directory);
        other.file.write_all(b"newer").unwrap();
        other.take_name(directory.path(), &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(directory.names(), ["a"]);
    }

    #[test]
    fn what_others_are_writing_is_left_alone() {
        let directory = Directory::new();
        let others = [named(&directory), named(&directory)];
        fs::create_dir(directory.file(".crivo-2.tmp")).unwrap();
        let path = directory.file("a");
        replace(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(directory.names(), [".crivo-0.tmp", ".crivo-1.tmp", ".crivo-2.tmp", "a"]);
        drop(others);
        assert_eq!(directory.names(), [".crivo-2.tmp", "a"]);
    }

    /// As it is on the usual file systems; on others there is nothing to see.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_not_whole_has_no_name() {
        let directory = Directory::new();
        let temporary = Temporary::create(directory.path(), None).unwrap();
        assert_eq!(temporary.path.is_none(), directory.names().is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "makes a hard link")]
    fn a_file_is_created_only_if_there_is_none() {
        let directory = Directory::new();
        let path = directory.file("a");
        create_new(&path, |_| Err(io::Error::other("stop"))).unwrap_err();
        assert!(directory.names().is_empty());
        create_new(&path, |file| file.write_all(b"first")).unwrap();
        let mut other = named(&directory);
        other.file.write_all(b"second").unwrap();
        let error = other.take_new_name(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        fs::remove_file(&path).unwrap();
        named(&directory).take_new_name(&path).unwrap();
        assert_eq!(directory.names(), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_links_are_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = Directory::new();
        let (path, link) = (directory.file("a"), directory.file("link"));
        replace(&path, |file| file.write_all(b"old")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let private = fs::Permissions::from_mode(0o600);
        replace_with_permissions(&path, private, |file| file.write_all(b"private")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_not_replaced() {
        let full = replace(Path::new("/dev/full"), |file| file.write_all(b"no room"));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
}
