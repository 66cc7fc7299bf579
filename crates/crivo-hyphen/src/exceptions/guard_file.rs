//! The file of a guard, next to its store: which words the filter holds, and the filter.
//!
//! ```text
//!   0   89 "crivo" "g" LF       magic
//!   8   u64  1                  version of this layout
//!  16   u64  generation         of the store
//!  24   u64  key count          of the store
//!  32   u64  fingerprint        of the store
//!  40   u64  FPR                of the guard, the bits of an f64
//!  48   u64  checksum           XXH3-64 of the preceding 48 bytes
//!  56   a crivo filter file     the filter, with its own checksums
//! ```
//!
//! All numbers are little-endian.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crivo::codec::CodecError;
use crivo::filter::AnyFilter;

use super::guard::{Guard, GuardFilter, HASHER};
use super::store::Stamp;

const MAGIC: [u8; 8] = *b"\x89crivog\n";
const VERSION: u64 = 1;
const LENGTH: usize = 56;

/// Why a guard was built from the words instead of being read from its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebuildReason {
    /// There is no file.
    Missing,
    /// The file cannot be read, or is damaged: the message says how.
    Damaged(String),
    /// The file holds a filter of another kind or FPR.
    OtherGuard,
    /// The file was written for other words: the store has changed since.
    Stale,
}

impl From<io::Error> for RebuildReason {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Damaged(error.to_string()),
        }
    }
}

/// The path of the guard's file.
pub(super) fn path(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".guard");
    path.into()
}

/// Reads the guard of a store, if it is the requested one and holds exactly the store's words.
pub(super) fn read(store: &Path, guard: Guard, stamp: Stamp) -> Result<GuardFilter, RebuildReason> {
    let mut file = File::open(path(store))?;
    let mut head = [0; LENGTH];
    file.read_exact(&mut head)?;
    let damaged = |what: &str| Err(RebuildReason::Damaged(what.to_owned()));
    if head[..8] != MAGIC {
        return damaged("not a guard file");
    }
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
    if number(48) != HASHER.digest(&head[..48]).get() {
        return damaged("wrong checksum");
    }
    if number(8) != VERSION {
        return damaged("unknown version");
    }
    if f64::from_bits(number(40)) != guard.fpr() {
        return Err(RebuildReason::OtherGuard);
    }
    let written_for =
        Stamp { generation: number(16), key_count: number(24), fingerprint: number(32) };
    if written_for != stamp {
        return Err(RebuildReason::Stale);
    }
    let filter = AnyFilter::read_from(&mut file).map_err(|error| match error {
        CodecError::Io(error) => RebuildReason::from(error),
        error => RebuildReason::Damaged(error.to_string()),
    })?;
    if filter.kind() != guard.kind() {
        return Err(RebuildReason::OtherGuard);
    }
    if filter.hasher() != HASHER || filter.key_count() < stamp.key_count {
        return damaged("the filter does not hold the words of the store");
    }
    if file.read(&mut [0])? != 0 {
        return damaged("unexpected bytes after the filter");
    }
    Ok(GuardFilter::from_filter(guard, filter, stamp.key_count))
}

/// Writes the guard of a store atomically: a reader finds the old file or the new one.
pub(super) fn write(store: &Path, filter: &GuardFilter, stamp: Stamp) -> io::Result<()> {
    let mut head = MAGIC.to_vec();
    let Stamp { generation, key_count, fingerprint } = stamp;
    let fpr = filter.guard().fpr().to_bits();
    for number in [VERSION, generation, key_count, fingerprint, fpr] {
        head.extend(number.to_le_bytes());
    }
    head.extend(HASHER.digest(&head).get().to_le_bytes());

    // The same users may read the store and its guard.
    let permissions = fs::metadata(store)?.permissions();
    crivo_core::file::replace_with_permissions(&path(store), permissions, |file| {
        file.write_all(&head)?;
        filter.filter().write_to(file)
    })
}
