//! The file of a guard, beside its store: which words the filter holds, and the filter.
//!
//! ```text
//!   0   89 "crivo" "g" LF       what it is
//!   8   u64  1                  the version of this layout
//!  16   u64  generation         of the store
//!  24   u64  key count          of the store
//!  32   u64  fingerprint        of the store
//!  40   u64  rate               that the guard was asked for, the bits of an f64
//!  48   u64  checksum           XXH3-64 of the 48 bytes before
//!  56   a file of crivo's       the filter, with checksums of its own
//! ```
//!
//! All numbers are little-endian.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crivo::codec::{CodecError, Save};
use crivo::filter::{AnyFilter, Filter};

use super::guard::{Guard, HASHER, Sentry};
use super::store::Stamp;

const MAGIC: [u8; 8] = *b"\x89crivog\n";
const VERSION: u64 = 1;
const LENGTH: usize = 56;

/// Why the guard had to be built from the words, and was not read from its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rebuilt {
    /// There is no file.
    Missing,
    /// It cannot be read, or is damaged: how.
    Damaged(String),
    /// It is a filter of another kind or rate.
    OtherGuard,
    /// It was written for other words: the store has changed since.
    Stale,
}

impl From<io::Error> for Rebuilt {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Damaged(error.to_string()),
        }
    }
}

/// The file of the guard of a store.
pub(super) fn path(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".guard");
    path.into()
}

/// Reads the guard of a store, if it is the right one and holds just the store's words.
pub(super) fn read(store: &Path, guard: Guard, stamp: Stamp) -> Result<Sentry, Rebuilt> {
    let mut file = File::open(path(store))?;
    let mut head = [0; LENGTH];
    file.read_exact(&mut head)?;
    let damaged = |what: &str| Err(Rebuilt::Damaged(what.to_owned()));
    if head[..8] != MAGIC {
        return damaged("this is not the file of a guard");
    }
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
    if number(48) != HASHER.digest(&head[..48]).get() {
        return damaged("the checksum is wrong");
    }
    if number(8) != VERSION {
        return damaged("the version is unknown");
    }
    if f64::from_bits(number(40)) != guard.rate() {
        return Err(Rebuilt::OtherGuard);
    }
    let theirs = Stamp { generation: number(16), key_count: number(24), fingerprint: number(32) };
    if theirs != stamp {
        return Err(Rebuilt::Stale);
    }
    let filter = AnyFilter::read_from(&mut file).map_err(|error| match error {
        CodecError::Io(error) => Rebuilt::from(error),
        error => Rebuilt::Damaged(error.to_string()),
    })?;
    if filter.kind() != guard.kind() {
        return Err(Rebuilt::OtherGuard);
    }
    if filter.hasher() != HASHER || filter.key_count() < stamp.key_count {
        return damaged("the filter is not of these words");
    }
    if file.read(&mut [0])? != 0 {
        return damaged("there are bytes behind the filter");
    }
    Ok(Sentry::from_filter(guard, filter, stamp.key_count))
}

/// Writes the guard of a store, in one step: there is the old file or the new one, whole.
pub(super) fn write(store: &Path, sentry: &Sentry, stamp: Stamp) -> io::Result<()> {
    let mut head = MAGIC.to_vec();
    let Stamp { generation, key_count, fingerprint } = stamp;
    let rate = sentry.guard().rate().to_bits();
    for number in [VERSION, generation, key_count, fingerprint, rate] {
        head.extend(number.to_le_bytes());
    }
    head.extend(HASHER.digest(&head).get().to_le_bytes());

    let path = path(store);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Whoever may read the store may read its guard.
    let permissions = fs::metadata(store)?.permissions();
    let mut file = tempfile::Builder::new()
        .prefix(".crivo-")
        .suffix(".tmp")
        .permissions(permissions)
        .tempfile_in(folder)?;
    file.write_all(&head)?;
    sentry.filter().write_to(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
