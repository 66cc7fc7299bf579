//! A filter file, changed in one step: whoever reads it, and whatever fails, finds it whole.
//!
//! ```text
//!   lock FILE ─▶ is it still the file of that name? ─▶ read ─▶ change ─▶ write beside it ─▶ rename
//!      ▲                     │ no: another command has replaced it
//!      └─────────────────────┘
//! ```
//!
//! The lock is advisory: commands of ours wait for each other, readers need not. It is on the file
//! itself, which the rename replaces; whoever waited for the old file's lock therefore looks again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crivo::codec::{Open, Save};
use crivo::filter::AnyFilter;

use crate::outcome::{Error, plain};
use crate::output;

/// Reads a filter, changes it, and writes it back, alone. `change` answers how many keys it has
/// changed; if none, nothing is written.
pub(crate) fn update(
    path: &Path,
    open: Open,
    change: impl FnOnce(&mut AnyFilter) -> Result<u64, Error>,
) -> Result<(AnyFilter, u64), Error> {
    let _lock = lock(path)?;
    let mut filter: AnyFilter = open.load(path)?;
    let changed = change(&mut filter)?;
    if changed > 0 {
        filter.save(path)?;
    }
    Ok((filter, changed))
}

/// Writes a filter to a new file, or in the place of an old one, which nobody is changing then.
pub(crate) fn replace(path: &Path, filter: &AnyFilter) -> Result<(), Error> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let _lock = is_file.then(|| lock(path)).transpose()?;
    Ok(filter.save(path)?)
}

/// An early error if a file could not be written later, after much work, or if it is one of those
/// that are to be read and kept.
pub(crate) fn check_output(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let cannot =
        |why: &str| Err(Error::new(format_args!("cannot write {}: {why}", path.display())));
    if path.is_dir() {
        return cannot("it is a folder; name a file");
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            return cannot(&format!("there is no folder {}", folder.display()));
        }
        _ => {}
    }
    let is_output = |input: &PathBuf| match (fs::canonicalize(input), fs::canonicalize(path)) {
        (Ok(input), Ok(output)) => input == output,
        _ => false,
    };
    match inputs.iter().any(is_output) {
        true => cannot("it is also the input, which would be lost; name another file"),
        false => Ok(()),
    }
}

/// Waits until nobody else changes the file of this name.
fn lock(path: &Path) -> Result<File, Error> {
    loop {
        let file = open_to_lock(path).map_err(Error::changing(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                output::say(format_args!("{}: waiting for another crivo …", path.display()));
                file.lock().map_err(Error::changing(path))?;
            }
            // Some network file systems know no locks.
            Err(TryLockError::Error(error)) => output::warn(format_args!(
                "{} cannot be locked ({}): do not change it twice at once",
                path.display(),
                plain(&error)
            )),
        }
        if is_still(&file, path).map_err(Error::changing(path))? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn open_to_lock(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // To be written, so that who may not write to the file cannot replace it either.
    OpenOptions::new().read(true).write(true).open(path)
}

/// Whether the file that was locked still has the name.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
}

/// Where a locked file can be neither read nor replaced, an empty file beside it is locked.
#[cfg(not(unix))]
fn open_to_lock(path: &Path) -> io::Result<File> {
    let mut name = fs::canonicalize(path)?.into_os_string();
    name.push(".lock");
    OpenOptions::new().write(true).create(true).truncate(false).open(name)
}

#[cfg(not(unix))]
fn is_still(_: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}
