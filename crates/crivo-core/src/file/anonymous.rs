//! Files without a name: they disappear with the process unless they are given one.

// The standard library can open such a file, but not give it a name.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A file in this directory that has no name; `None` where the system or the file system has none.
#[cfg(target_os = "linux")]
pub(super) fn create(directory: &Path, options: &OpenOptions) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = options.clone().custom_flags(libc::O_TMPFILE).open(directory).ok()?;
    // Without /proc it could never be given a name.
    own_path(&file).metadata().is_ok().then_some(file)
}

/// Gives a file that has none this name.
///
/// # Errors
/// If the name is taken, or the file system does not let it.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let c_string = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (own, path) = (c_string(&own_path(file))?, c_string(path)?);
    // SAFETY: both are strings that end with a zero byte, and outlive the call.
    let status = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            own.as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Under what path an open file without a name is found.
#[cfg(target_os = "linux")]
fn own_path(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn create(_: &Path, _: &OpenOptions) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
