//! A memory-mapped filter, which is queried without being read first.

// Mapping is unsafe because another process may change the file while it is mapped. The command maps
// only on request (`--no-verify`). crivo itself never writes to an existing filter file: it gives the
// name to a new file and leaves the mapped one unchanged. A program that overwrites the file in place
// causes wrong answers or a crash.
#![allow(unsafe_code)]

use std::fs;
use std::path::Path;

use crivo::codec::LoadOptions;
use crivo::filter::AnyFilter;

use crate::error::Error;

/// Maps a filter. Only its header has been verified.
pub(crate) fn map(options: &LoadOptions, path: &Path) -> Result<AnyFilter, Error> {
    let cannot = |why: &str| Err(Error::new(format_args!("cannot map {}: {why}", path.display())));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return cannot("it is a directory; name a file"),
        Ok(found) if !found.is_file() => {
            return cannot("it is not a regular file; leave out --no-verify to read it");
        }
        // Other errors are reported below.
        _ => {}
    }
    // SAFETY: the user has promised that the file is not changed in place: see above, and the help of
    // `--no-verify`.
    let mapped = unsafe { options.map::<AnyFilter>(path) }?;
    Ok(mapped.into_filter())
}
