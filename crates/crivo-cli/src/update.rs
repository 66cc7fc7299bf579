//! Changing a filter file atomically, under a lock.
//!
//! ```text
//!   lock FILE ─▶ does FILE still name it? ─▶ read ─▶ change ─▶ write beside it ─▶ rename
//!      ▲                     │ no: another command has replaced it
//!      └─────────────────────┘
//! ```
//!
//! The lock is advisory: crivo processes that change a file wait for each other, readers need not.
//! The lock is on the file itself, which the rename replaces. A process that has waited for the old
//! file's lock must therefore check the name again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crivo::codec::LoadOptions;
use crivo::filter::AnyFilter;

use crate::error::{Error, os_message};
use crate::filter_file::{FilterFile, check_not_terminal, print_filter};
use crate::output;

/// Reads a filter, changes it, and writes it back, under a lock. `change` returns the number of keys
/// that it changed; if there are none, nothing is written. A filter from standard input is written to
/// standard output.
pub(crate) fn update(
    file: &FilterFile,
    options: LoadOptions,
    change: impl FnOnce(&mut AnyFilter) -> Result<u64, Error>,
) -> Result<(AnyFilter, u64), Error> {
    let FilterFile::File(path) = file else {
        let mut filter = file.load(&options)?;
        let changed = change(&mut filter)?;
        print_filter(&filter)?;
        return Ok((filter, changed));
    };
    let _lock = lock(path)?;
    let mut filter: AnyFilter = options.load(path)?;
    let changed = change(&mut filter)?;
    if changed > 0 {
        filter.save(path)?;
    }
    Ok((filter, changed))
}

/// Writes a filter to a new file, or replaces an old one under its lock; `-` is standard output.
pub(crate) fn replace(path: &Path, filter: &AnyFilter) -> Result<(), Error> {
    if is_standard_output(path) {
        return print_filter(filter);
    }
    let _lock = lock_if_present(path)?;
    Ok(filter.save(path)?)
}

/// Writes bytes to a new file, or replaces an old one under its lock; `-` is standard output.
#[cfg(feature = "formats")]
pub(crate) fn replace_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    use std::io::Write;

    if is_standard_output(path) {
        let mut out = output::data();
        return out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::output);
    }
    let _lock = lock_if_present(path)?;
    let written = crivo_core::file::replace(path, |file| file.write_all(bytes));
    written.map_err(Error::writing(path))
}

/// Whether a path means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an output in messages.
pub(crate) fn output_name(path: &Path) -> String {
    match is_standard_output(path) {
        true => "standard output".to_owned(),
        false => path.display().to_string(),
    }
}

/// Fails if a summary in JSON is asked for where a filter is written.
pub(crate) fn check_summary(path: &Path, is_json: bool) -> Result<(), Error> {
    match is_json && is_standard_output(path) {
        true => Err(Error::new(
            "the filter is written to standard output, and --json would be as well; leave one out",
        )),
        false => Ok(()),
    }
}

/// Fails early if the output could not be written after all the work, or is one of the inputs.
pub(crate) fn check_output(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if is_standard_output(path) {
        return check_not_terminal();
    }
    let cannot =
        |why: &str| Err(Error::new(format_args!("cannot write {}: {why}", path.display())));
    if path.is_dir() {
        return cannot("it is a directory; name a file");
    }
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
            return cannot(&format!("there is no directory {}", directory.display()));
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

/// Locks the file with this name, if there is one.
pub(crate) fn lock_if_present(path: &Path) -> Result<Option<File>, Error> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| lock(path)).transpose()
}

/// Locks the file with this name; waits while another process holds the lock.
fn lock(path: &Path) -> Result<File, Error> {
    loop {
        let file = open_to_lock(path).map_err(Error::changing(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                output::print_message(format_args!(
                    "{}: waiting for another crivo …",
                    path.display()
                ));
                file.lock().map_err(Error::changing(path))?;
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) => output::print_warning(format_args!(
                "{} cannot be locked ({}): do not run two changes at once",
                path.display(),
                os_message(&error)
            )),
        }
        if names_locked_file(&file, path).map_err(Error::changing(path))? {
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
    // Opened for writing: without write permission, a file must not be replaced either.
    OpenOptions::new().read(true).write(true).open(path)
}

/// Whether the path still names the locked file.
#[cfg(unix)]
fn names_locked_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
}

/// Where a locked file cannot be read or replaced, an empty file beside it is locked instead.
#[cfg(not(unix))]
fn open_to_lock(path: &Path) -> io::Result<File> {
    let mut name = fs::canonicalize(path)?.into_os_string();
    name.push(".lock");
    OpenOptions::new().write(true).create(true).truncate(false).open(name)
}

#[cfg(not(unix))]
fn names_locked_file(_: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}
