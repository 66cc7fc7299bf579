//! Exceptions on disk behind a guard: the order of steps in which no word is ever hidden.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{Cause, StoreError};
use super::gate::{Counters, Gate};
use super::guard::{Guard, Sentry};
use super::guard_file::{self, Rebuilt};
use super::store::{Stamp, Store};
use crate::{Breaks, Exception, Exceptions, fold};

/// Exceptions in a database on disk, behind a guard or none: lists of any size, and additions that
/// survive.
///
/// ```
/// use std::sync::Arc;
///
/// use crivo::codec::Kind;
/// use crivo_hyphen::exceptions::{Guard, StoredExceptions};
/// use crivo_hyphen::{Exception, Hyphenator, Language};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("words.redb");
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
/// # assert_eq!(words.rebuilt(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is promised
///
/// When [`insert`](Self::insert) returns, the words are on disk, and whoever asks finds them. A
/// batch is there as a whole or not at all. A process that is killed, at any moment, loses nothing
/// that was acknowledged. One process at a time can have the store open; its threads share it.
///
/// # Why the guard never hides a word
///
/// The guard must hold every word that the database has: *guard ⊇ database*, at all times. A guard
/// that holds more costs a lookup for nothing; one that holds less hides words. So
///
/// | | first | then | last |
/// |---|---|---|---|
/// | adding | into the transaction | into the guard | commit |
/// | removing | out of the transaction | commit | out of the guard |
///
/// **Threads.** A lock is held through the three steps, so that changes do not overtake each
/// other. Lookups do not take it: between two steps they find the guard ahead of the database by
/// some words, which are false positives. A rebuilt guard takes the place of the old one in one
/// step, before the commit of an addition, with the words of the transaction in it, or after the
/// commit of a removal. A lookup that begins after `insert` returned finds the word in the guard,
/// and in the database. A commit that fails may or may not have reached the disk; the guard holds
/// the words of both outcomes.
///
/// **Crashes.** The guard in memory dies with the process. Its file (the store's path with
/// `.guard`) is but a cache: it is written when the store is closed or
/// [`save_guard`](Self::save_guard) is called, in one step, with the store's generation, number of
/// words and fingerprint (the sum of their digests) as they are in the database at that moment,
/// while the lock is held. Every commit changes the generation. So whatever step the process was
/// killed after, the file is of the words in the database, or it is found to be stale (or damaged,
/// or missing), and the guard is built from the words.
pub struct StoredExceptions {
    store: Store,
    gate: Gate,
    rebuilt: Option<Rebuilt>,
    /// Held while words or the guard's file are changed. Inside: which words the file is for.
    saved: Mutex<Option<Stamp>>,
}

impl StoredExceptions {
    /// Opens a store, or makes an empty one, and puts a guard before it: the one that was saved
    /// beside it, or a new one.
    ///
    /// # Errors
    /// If the file cannot be read or written, is open already, or is not a store; or if the guard
    /// cannot be built. A guard that cannot be *read* is no error: see [`rebuilt`](Self::rebuilt).
    pub fn open(path: impl AsRef<Path>, guard: Option<Guard>) -> Result<Self, StoreError> {
        let store = Store::open(path.as_ref())?;
        let stamp = store.stamp()?;
        let (mut rebuilt, mut saved, mut sentry) = (None, None, None);
        if let Some(guard) = guard {
            match guard_file::read(store.path(), guard, stamp) {
                Ok(read) => (saved, sentry) = (Some(stamp), Some(read)),
                Err(reason) => {
                    let build = || Ok(Sentry::new(guard, store.digests()?)?);
                    sentry = Some(build().map_err(|cause: Cause| cause.at(store.path()))?);
                    rebuilt = Some(reason);
                }
            }
        }
        Ok(Self { store, gate: Gate::new(sentry), rebuilt, saved: Mutex::new(saved) })
    }

    /// Adds exceptions, or gives words other breaks, all or none of them. Tells how many words
    /// were not there before.
    ///
    /// Each call waits for the disk: add many words in one call.
    ///
    /// # Errors
    /// If the database cannot be written, a word has more than a mebibyte, or the guard had to be
    /// rebuilt and could not: then nothing has changed.
    pub fn insert(
        &self,
        exceptions: impl IntoIterator<Item = Exception>,
    ) -> Result<u64, StoreError> {
        let _changing = self.lock();
        self.store.insert(exceptions, |new, words| {
            self.gate.change(|sentry| sentry.insert(new, || words.digests()))
        })
    }

    /// Takes words out, whatever their case, all or none of them. Tells how many were there.
    ///
    /// # Errors
    /// If the database cannot be written: then nothing has changed.
    pub fn remove<W: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<u64, StoreError> {
        let _changing = self.lock();
        let removed = self.store.remove(words)?;
        // The words are gone; a guard that does not know it yet asks for nothing, and may try
        // again.
        let _ = self.gate.change(|sentry| sentry.remove(&removed, || self.store.digests()));
        Ok(removed.len() as u64)
    }

    /// The listed breaks of a word, whatever its case: offsets into the [folded](fold()) word.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn get(&self, word: &str) -> Result<Option<Breaks>, StoreError> {
        let folded = fold(word);
        self.gate.look_up(&folded, || self.store.get(&folded))
    }

    /// All exceptions, ordered by their words' bytes, as they were when the iterator was made.
    ///
    /// # Errors
    /// If the database cannot be read, at the beginning or on the way.
    pub fn iter(
        &self,
    ) -> Result<impl Iterator<Item = Result<Exception, StoreError>> + '_, StoreError> {
        self.store.iter()
    }

    /// How many words there are.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn key_count(&self) -> Result<u64, StoreError> {
        Ok(self.store.stamp()?.key_count)
    }

    /// How many changes there were since the store was made.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.store.stamp()?.generation)
    }

    /// What happened to the words that were asked for since the store was opened.
    pub fn counters(&self) -> Counters {
        self.gate.counters()
    }

    /// The guard, if there is one.
    pub fn guard(&self) -> Option<Guard> {
        self.gate.guard()
    }

    /// The memory of the guard in bits; 0 without one.
    pub fn guard_size_in_bits(&self) -> u64 {
        self.gate.guard_size_in_bits()
    }

    /// Why the guard was built anew when the store was opened; `None` if it was read from its file,
    /// or if there is no guard.
    pub fn rebuilt(&self) -> Option<&Rebuilt> {
        self.rebuilt.as_ref()
    }

    /// Writes the guard beside the store, unless it is there already. Closing does that, too, but
    /// cannot tell if it fails.
    ///
    /// # Errors
    /// If the file cannot be written. Nothing is lost: the guard will be built anew.
    pub fn save_guard(&self) -> Result<(), StoreError> {
        let mut saved = self.lock();
        let stamp = self.store.stamp()?;
        if *saved == Some(stamp) {
            return Ok(());
        }
        if let Some(written) =
            self.gate.ask(|sentry| guard_file::write(self.store.path(), sentry, stamp))
        {
            written.map_err(|error| Cause::from(error).at(self.store.path()))?;
            *saved = Some(stamp);
        }
        Ok(())
    }

    /// A thread that died with the lock left nothing behind that the next one could stumble over:
    /// its transaction was undone or committed, and a guard it was changing is not asked again.
    fn lock(&self) -> MutexGuard<'_, Option<Stamp>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failure of the database is no reason not to set a text: the word is then treated as not
/// listed, and counted in [`Counters::failures`].
impl Exceptions for StoredExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        self.gate.look_up(folded, || self.store.get(folded)).unwrap_or_default()
    }
}

impl Drop for StoredExceptions {
    fn drop(&mut self) {
        // Without the file the guard is built anew, which is all that is lost.
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
