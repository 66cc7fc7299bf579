//! The page cache of the operating system.

use std::path::Path;

/// Asks the system to evict a file from the page cache. Does nothing where that is not supported.
pub(crate) fn evict(path: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(file) = std::fs::File::open(path) {
        // Written pages must be on disk before they can be evicted. A failure is visible in the
        // times: cold is then as fast as warm.
        let _ = file.sync_all();
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = path;
}
