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
    let cannot = |why: &str| Err(Error::new(format_args!("cannot map {}: {why}", path.display())));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return cannot("it is a folder; name a file"),
        Ok(found) if !found.is_file() => {
            return cannot("it is not a regular file; leave out --no-verify to read it");
        }
        // What else is wrong is said below.
        _ => {}
    }
    // SAFETY: nobody is to change the file in place: see above, and the help of `--no-verify`.
    let mapped = unsafe { open.map::<AnyFilter>(path) }?;
    Ok(mapped.into_filter())
}
