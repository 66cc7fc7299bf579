//! Exceptions on disk behind a guard, and why the guard never hides a word.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{StoreError, StoreErrorKind};
use super::gate::{Counters, Gate};
use super::guard::{Guard, GuardFilter};
use super::guard_file::{self, RebuildReason};
use super::store::{Stamp, Store};
use crate::{Breaks, Exception, Exceptions, fold};

/// Exceptions in a database on disk, behind an optional guard: lists of any size, and additions that
/// persist.
///
/// ```
/// use std::sync::Arc;
///
/// use crivo::filter::Kind;
/// use crivo_hyphen::exceptions::{Guard, StoredExceptions};
/// use crivo_hyphen::{Exception, Hyphenator, Language};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("words.redb");
/// let guard = Some(Guard::new(Kind::Cuckoo, 0.01)?);
/// let words = Arc::new(StoredExceptions::open(&path, guard)?);
/// let english = Hyphenator::new(Language::EnglishUs).with_exceptions(Arc::clone(&words));
/// assert_eq!(english.hyphenate("Nosotros", "-"), "Nosotros");
///
/// words.insert([Exception::parse("no-so-tros")?])?; // on disk, and in the guard
/// assert_eq!(english.hyphenate("Nosotros", "-"), "No-so-tros");
/// # drop(english);
/// # drop(words);
/// # let words = StoredExceptions::open(&path, guard)?;
/// # assert_eq!(words.get("nosotros")?.unwrap().join("nosotros", "-"), "no-so-tros");
/// # assert_eq!(words.rebuild_reason(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Guarantees
///
/// When [`insert`](Self::insert) returns, the words are on disk and every lookup finds them. A batch
/// is stored completely or not at all. A process that is killed at any moment loses nothing that was
/// acknowledged. One process at a time can have the store open; its threads share it.
///
/// # Why the guard never hides a word
///
/// The guard must hold every word of the database at all times: *guard ⊇ database*. A guard that
/// holds more words costs useless lookups; one that holds fewer hides words. Hence the order of
/// steps:
///
/// | | first | then | last |
/// |---|---|---|---|
/// | insert | write to the transaction | insert into the guard | commit |
/// | remove | remove in the transaction | commit | remove from the guard |
///
/// **Threads.** A lock is held during the three steps, so changes are serialised. Lookups do not
/// take it: between two steps they may find words in the guard that are not in the database, which
/// are false positives. A rebuilt guard replaces the old one in one step: before the commit of an
/// insertion, with the words of the transaction in it, or after the commit of a removal. A lookup
/// that begins after `insert` returned finds the word in the guard and in the database. A commit
/// that fails may or may not have reached the disk; the guard holds the words of both cases.
///
/// **Crashes.** The guard in memory is lost with the process. Its file (the store's path with
/// `.guard` appended) is only a cache. It is written atomically when the store is closed or
/// [`save_guard`](Self::save_guard) is called, with the store's generation, number of words and
/// fingerprint (the sum of their digests) at that moment, while the lock is held. Every commit
/// changes the generation. So at whatever step a process is killed, the file either matches the
/// words in the database, or it is recognised as stale, damaged or missing, and the guard is rebuilt
/// from the words.
pub struct StoredExceptions {
    store: Store,
    gate: Gate,
    rebuild_reason: Option<RebuildReason>,
    /// Locked while words or the guard's file are changed. The value says which words the file is for.
    saved: Mutex<Option<Stamp>>,
}

impl StoredExceptions {
    /// Opens a store, or creates an empty one, and puts a guard in front of it: the guard that was
    /// saved next to the store, or a new one.
    ///
    /// # Errors
    /// If the file cannot be read or written, is already open, or is not a store; or if the guard
    /// cannot be built. A guard that cannot be *read* is not an error: see
    /// [`rebuild_reason`](Self::rebuild_reason).
    pub fn open(path: impl AsRef<Path>, guard: Option<Guard>) -> Result<Self, StoreError> {
        let store = Store::open(path.as_ref())?;
        let stamp = store.stamp()?;
        let (mut rebuild_reason, mut saved, mut filter) = (None, None, None);
        if let Some(guard) = guard {
            match guard_file::read(store.path(), guard, stamp) {
                Ok(read) => (saved, filter) = (Some(stamp), Some(read)),
                Err(reason) => {
                    let build = || Ok(GuardFilter::new(guard, store.digests()?)?);
                    filter = Some(build().map_err(|kind: StoreErrorKind| kind.at(store.path()))?);
                    rebuild_reason = Some(reason);
                }
            }
        }
        Ok(Self { store, gate: Gate::new(filter), rebuild_reason, saved: Mutex::new(saved) })
    }

    /// Adds exceptions, or replaces the breaks of words that are present, all or none. Returns the
    /// number of words that were not present before.
    ///
    /// Each call waits for the disk: add many words in one call.
    ///
    /// # Errors
    /// If the database cannot be written, a word is longer than a mebibyte, or the guard had to be
    /// rebuilt and could not be: then nothing has changed.
    pub fn insert(
        &self,
        exceptions: impl IntoIterator<Item = Exception>,
    ) -> Result<u64, StoreError> {
        let _changing = self.lock();
        self.store.insert(exceptions, |new, words| {
            self.gate.change(|filter| filter.insert(new, || words.digests()))
        })
    }

    /// Removes words, in any letter case, all or none. Returns the number of words that were present.
    ///
    /// # Errors
    /// If the database cannot be written: then nothing has changed.
    pub fn remove<W: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<u64, StoreError> {
        let _changing = self.lock();
        let removed = self.store.remove(words)?;
        // The words are removed. A guard that still has them costs false positives only, and the
        // next removal tries again.
        let _ = self.gate.change(|filter| filter.remove(&removed, || self.store.digests()));
        Ok(removed.len() as u64)
    }

    /// The listed breaks of a word in any letter case, as offsets into the [folded](fold()) word.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn get(&self, word: &str) -> Result<Option<Breaks>, StoreError> {
        let folded = fold(word);
        self.gate.look_up(&folded, || self.store.get(&folded))
    }

    /// All exceptions, ordered by the bytes of their words: a snapshot of this moment.
    ///
    /// # Errors
    /// If the database cannot be read, now or during the iteration.
    pub fn iter(
        &self,
    ) -> Result<impl Iterator<Item = Result<Exception, StoreError>> + '_, StoreError> {
        self.store.iter()
    }

    /// The number of words.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn key_count(&self) -> Result<u64, StoreError> {
        Ok(self.store.stamp()?.key_count)
    }

    /// The number of changes since the store was created.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.store.stamp()?.generation)
    }

    /// How many lookups there were since the store was opened, and how they ended.
    pub fn counters(&self) -> Counters {
        self.gate.counters()
    }

    /// The guard, if there is one.
    pub fn guard(&self) -> Option<Guard> {
        self.gate.guard()
    }

    /// The memory of the guard in bits; 0 without a guard.
    pub fn guard_size_in_bits(&self) -> u64 {
        self.gate.guard_size_in_bits()
    }

    /// Why the guard was rebuilt when the store was opened; `None` if it was read from its file, or
    /// if there is no guard.
    pub fn rebuild_reason(&self) -> Option<&RebuildReason> {
        self.rebuild_reason.as_ref()
    }

    /// Writes the guard to its file next to the store, unless the file is up to date. Closing the
    /// store does this as well, but cannot report an error.
    ///
    /// # Errors
    /// If the file cannot be written. Nothing is lost: the guard will be rebuilt.
    pub fn save_guard(&self) -> Result<(), StoreError> {
        let mut saved = self.lock();
        let stamp = self.store.stamp()?;
        if *saved == Some(stamp) {
            return Ok(());
        }
        if let Some(written) =
            self.gate.read(|filter| guard_file::write(self.store.path(), filter, stamp))
        {
            written.map_err(|error| StoreErrorKind::from(error).at(self.store.path()))?;
            *saved = Some(stamp);
        }
        Ok(())
    }

    /// A thread that panicked while it held the lock left a consistent state: its transaction was
    /// rolled back or committed, and a guard that it was changing is not consulted again.
    fn lock(&self) -> MutexGuard<'_, Option<Stamp>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If the database fails, the word is treated as not listed, and counted in [`Counters::failures`]:
/// the text can still be hyphenated.
impl Exceptions for StoredExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        self.gate.look_up(folded, || self.store.get(folded)).unwrap_or_default()
    }
}

impl Drop for StoredExceptions {
    fn drop(&mut self) {
        // Without the file the guard is rebuilt at the next start; nothing else is lost.
        let _ = self.save_guard();
    }
}

impl fmt::Debug for StoredExceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredExceptions")
            .field("path", &self.store.path())
            .field("guard", &self.guard())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
