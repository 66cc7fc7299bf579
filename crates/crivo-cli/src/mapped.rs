//! A filter that answers from its file at once, without its being read.

// Mapping is unsafe by nature: somebody may change the file while it is mapped. The command does so
// only when asked to (`--no-verify`). Every crivo that writes a filter gives its name to a new file,
// and leaves the mapped one as it is; who overwrites it by other means gets wrong answers, or an end
// of the program.
#![allow(unsafe_code)]

use std::fs;
use std::path::Path;

use crivo::codec::Open;
use crivo::filter::AnyFilter;

use crate::outcome::Error;

/// Maps a filter. Only its header has been verified.
pub(crate) fn map(open: &Open, path: &Path) -> Result<AnyFilter, Error> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Error::new(format_args!(
            "cannot map {}: it is not a regular file; leave out --no-verify to read it",
            path.display()
        )));
    }
    // SAFETY: nobody is to change the file in place: see above, and the help of `--no-verify`.
    let mapped = unsafe { open.map::<AnyFilter>(path) }?;
    Ok(mapped.into_filter())
}
