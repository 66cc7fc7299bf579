//! Work on more data than memory holds: partition by digest, and spill to temporary files.
//!
//! Data that does not fit into memory goes to one of 64 files, chosen by bits of a digest. Equal keys
//! meet in the same file, and each file is small enough to be processed in memory. One that is not is
//! partitioned again, by other bits.
//!
//! ```text
//!   entries ──▶ memory, until it is full ──▶ 64 files by digest ──▶ one after another, in memory
//! ```
//!
//! [`Partitions`] are such files, [`Spool`] is a single one, and [`DigestCollector`] uses them to find
//! the distinct digests of an input. [`PartFile`] has any number of partitions in one file. All files are anonymous: they vanish with the process, however it
//! ends.

mod distinct;
mod files;
mod parts;

use std::io;
use std::path::PathBuf;

pub use distinct::{DigestCollector, DistinctDigests};
pub use files::{
    PARTITION_BITS, PARTITIONS, Partitions, SpilledEntries, Spool, SpoolReader, temporary_file,
};
pub use parts::PartFile;

/// A temporary file could not be created, written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot use a temporary file in {}: {cause}; {}", directory.display(), advice(cause))]
#[non_exhaustive]
pub struct SpillError {
    /// The directory of temporary files.
    pub directory: PathBuf,
    /// What the system says.
    pub cause: io::Error,
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "make that directory, or set TMPDIR to one that there is"
        }
        io::ErrorKind::PermissionDenied => "set TMPDIR to a directory that you may write to",
        _ => "make room, or set TMPDIR to a directory with more",
    }
}

impl From<io::Error> for SpillError {
    fn from(cause: io::Error) -> Self {
        Self { directory: std::env::temp_dir(), cause }
    }
}
