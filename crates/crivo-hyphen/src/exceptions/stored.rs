//! Exceptions on disk behind a guard.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crivo_store::{
    Claim, Counters, Existed, GuardOptions, GuardSource, GuardStatus, Guarded, GuardedError,
    OpenOptions, OwnedStore, Owner, ScanReason, Store, Tally,
};
use redb::{ReadOnlyTable, ReadableDatabase, ReadableTableMetadata};

use super::error::{StoreError, StoreErrorKind};
use super::store::{self, MAX_WORD_LENGTH, WORDS, Words};
use crate::{Breaks, Exception, Exceptions, fold};

/// Exceptions in a database on disk, behind an optional guard: lists of any size, and additions that
/// persist.
///
/// ```
/// use std::sync::Arc;
///
/// use crivo::filter::Kind;
/// use crivo_hyphen::exceptions::{GuardOptions, StoredExceptions};
/// use crivo_hyphen::{Exception, Hyphenator, Language};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("words.redb");
/// let guard = GuardOptions::new(Kind::Cuckoo, 0.01)?;
/// let words = Arc::new(StoredExceptions::open(&path, Some(guard.clone()))?);
/// let english = Hyphenator::new(Language::EnglishUs).with_exceptions(Arc::clone(&words));
/// assert_eq!(english.hyphenate("Nosotros", "-"), "Nosotros");
///
/// words.insert([Exception::parse("no-so-tros")?])?; // on disk, and in the guard
/// assert_eq!(english.hyphenate("Nosotros", "-"), "No-so-tros");
/// # drop(english);
/// # drop(words);
/// # let words = StoredExceptions::open(&path, Some(guard))?;
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
/// # The guard
///
/// The guard holds every word of the database at all times, so that it never hides one: a word enters
/// it before its insertion is committed, and leaves it after its removal was. [`crivo_store::guard`]
/// has the rules.
///
/// Its file, the store's path with `.guard` appended, is a cache. It is written when the store is
/// closed, and the database then says for which session it is valid. After a crash, or after a change
/// without a guard, it is not used, and the guard is rebuilt from the words.
pub struct StoredExceptions {
    path: PathBuf,
    /// Asked if there is no guard.
    plain: Plain,
    /// `None` without a guard.
    guarded: Option<Guarded<Words>>,
}

impl StoredExceptions {
    /// Opens a store, or creates an empty one, and puts a guard in front of it: the guard that was
    /// saved next to the store, or a new one.
    ///
    /// # Errors
    /// If the file cannot be read or written, is already open, or is not a store; or if the guard
    /// cannot be built. A guard that cannot be *read* is not an error: see
    /// [`rebuild_reason`](Self::rebuild_reason).
    pub fn open(path: impl AsRef<Path>, guard: Option<GuardOptions>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let open = || {
            let database = Arc::new(store::open(path)?);
            let plain = Plain::new(Words::new(database.clone(), WORDS));
            let open_guarded = |guard| {
                // Changes rebuild the guard themselves: no threads in the background.
                let options =
                    OpenOptions::new(guard).file(guard_file(path)).rebuild_in_background(false);
                Guarded::open(Words::new(database, WORDS), options)
            };
            Ok(Self { path: path.to_owned(), plain, guarded: guard.map(open_guarded).transpose()? })
        };
        open().map_err(|kind: StoreErrorKind| kind.at(path))
    }

    /// Adds exceptions, or replaces the breaks of words that are present, all or none. Returns the
    /// number of words that were not present before.
    ///
    /// Each call waits for the disk: add many words in one call.
    ///
    /// # Errors
    /// If the database cannot be written, or a word is longer than a mebibyte: then nothing has
    /// changed.
    pub fn insert(
        &self,
        exceptions: impl IntoIterator<Item = Exception>,
    ) -> Result<u64, StoreError> {
        let insert = || {
            let mut encoded = Vec::new();
            for exception in exceptions {
                let length = exception.word().len();
                if length > MAX_WORD_LENGTH {
                    return Err(StoreErrorKind::WordTooLong { length, limit: MAX_WORD_LENGTH });
                }
                let breaks = store::encode(exception.breaks());
                encoded.push((exception, breaks));
            }
            let entries: Vec<(&str, &[u8])> =
                encoded.iter().map(|(exception, breaks)| (exception.word(), &**breaks)).collect();
            let existed = match &self.guarded {
                Some(guarded) => guarded.put_batch(&entries)?,
                None => self.plain.words.put_batch(&self.plain.claim()?, &entries)?,
            };
            self.rebuild_guard_if_needed();
            Ok(count(&existed, Existed::No))
        };
        insert().map_err(|kind| kind.at(&self.path))
    }

    /// Removes words, in any letter case, all or none. Returns the number of words that were present.
    ///
    /// # Errors
    /// If the database cannot be written: then nothing has changed.
    pub fn remove<W: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<u64, StoreError> {
        let remove = || {
            let folded: Vec<String> =
                words.into_iter().map(|word| fold(word.as_ref()).into_owned()).collect();
            let keys: Vec<&str> = folded.iter().map(|word| &**word).collect();
            let existed = match &self.guarded {
                Some(guarded) => guarded.delete_batch(&keys)?,
                None => self.plain.words.delete_batch(&self.plain.claim()?, &keys)?,
            };
            self.rebuild_guard_if_needed();
            Ok(count(&existed, Existed::Yes))
        };
        remove().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// The listed breaks of a word in any letter case, as offsets into the [folded](fold()) word.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn get(&self, word: &str) -> Result<Option<Breaks>, StoreError> {
        self.look_up(&fold(word)).map_err(|kind| kind.at(&self.path))
    }

    /// All exceptions, ordered by the bytes of their words: a snapshot of this moment.
    ///
    /// # Errors
    /// If the database cannot be read, now or during the iteration.
    pub fn iter(
        &self,
    ) -> Result<impl Iterator<Item = Result<Exception, StoreError>> + '_, StoreError> {
        let open = || Ok(self.table()?.range::<&str>(..)?);
        let range = open().map_err(|kind: StoreErrorKind| kind.at(&self.path))?;
        Ok(range.map(|entry| {
            let read = || {
                let (word, breaks) = entry?;
                Ok(Exception::new(word.value(), &store::decode(breaks.value())?))
            };
            read().map_err(|kind: StoreErrorKind| kind.at(&self.path))
        }))
    }

    /// The number of words.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn key_count(&self) -> Result<u64, StoreError> {
        let read = || Ok(self.table()?.len()?);
        read().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// How many lookups there were since the store was opened, and how they ended. Without a guard all
    /// of them reach the database, as if the guard had an FPR of 1.
    pub fn counters(&self) -> Counters {
        self.guarded.as_ref().map_or_else(|| self.plain.tally.counters(), Guarded::counters)
    }

    /// How large the guard is, how old, and how much of it is wasted; `None` without a guard.
    pub fn guard_status(&self) -> Option<GuardStatus> {
        self.guarded.as_ref().map(Guarded::guard_status)
    }

    /// Why the guard was rebuilt when the store was opened; `None` if it was read from its file, or
    /// if there is no guard.
    pub fn rebuild_reason(&self) -> Option<&ScanReason> {
        match self.guarded.as_ref()?.guard_source() {
            GuardSource::Scan(reason) => Some(reason),
            GuardSource::File => None,
        }
    }

    /// Writes the guard to its file next to the store, and closes the store. Dropping it does the
    /// same, but cannot report an error.
    ///
    /// # Errors
    /// If the file of the guard, or the record that it is valid, cannot be written. No word is lost:
    /// the guard will be rebuilt.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.save_guard().map_err(|kind| kind.at(&self.path))
    }

    fn save_guard(&mut self) -> Result<(), StoreErrorKind> {
        let Some(guarded) = self.guarded.take() else { return Ok(()) };
        let shared = share_permissions(&self.path);
        guarded.close()?;
        shared
    }

    fn look_up(&self, folded: &str) -> Result<Option<Breaks>, StoreErrorKind> {
        let found = match &self.guarded {
            Some(guarded) => guarded.get(folded)?,
            None => self.plain.get(folded)?,
        };
        found.map(|breaks| store::decode(breaks.value())).transpose()
    }

    fn table(&self) -> Result<ReadOnlyTable<&'static str, &'static [u8]>, StoreErrorKind> {
        Ok(self.plain.words.database().begin_read()?.open_table(WORDS)?)
    }

    fn rebuild_guard_if_needed(&self) {
        if let Some(guarded) = self.guarded.as_ref().filter(|guarded| guarded.needs_rebuild()) {
            // The words are written. If the guard cannot be rebuilt, the old one stays, which holds
            // all of them.
            let _ = guarded.rebuild();
        }
    }
}

/// The words without a guard.
struct Plain {
    words: Words,
    /// From the first change on. Nobody releases it, so that a guard that was saved before is not
    /// used again.
    claim: Mutex<Option<Claim>>,
    tally: Tally,
}

impl Plain {
    fn new(words: Words) -> Self {
        Self { words, claim: Mutex::default(), tally: Tally::default() }
    }

    fn claim(&self) -> Result<Claim, StoreErrorKind> {
        // A claim is there or not, also after a panic.
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = *claim {
            return Ok(claim);
        }
        let owner = Owner::random().map_err(GuardedError::Random)?;
        Ok(*claim.insert(self.words.claim(owner, false)?))
    }

    fn get(&self, folded: &str) -> Result<Option<<Words as Store>::Value>, StoreErrorKind> {
        let answer = self.words.get(&folded);
        match &answer {
            Ok(found) => self.tally.answered(found.is_some()),
            Err(_) => self.tally.failed(1),
        }
        Ok(answer?)
    }
}

fn count(answers: &[Existed], answer: Existed) -> u64 {
    answers.iter().filter(|&&given| given == answer).count() as u64
}

/// The path of the guard's file.
pub(super) fn guard_file(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".guard");
    path.into()
}

/// Lets the same users read the guard as the store: a file keeps its permissions when it is replaced.
fn share_permissions(store: &Path) -> Result<(), StoreErrorKind> {
    let file = guard_file(store);
    if !file.try_exists()? {
        let permissions = fs::metadata(store)?.permissions();
        crivo_core::file::replace_with_permissions(&file, permissions, |_| Ok(()))?;
    }
    Ok(())
}

/// If the database fails, the word is treated as not listed, and counted in [`Counters::failures`]:
/// the text can still be hyphenated.
impl Exceptions for StoredExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        self.look_up(folded).unwrap_or_default()
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
            .field("path", &self.path)
            .field("guard", &self.guard_status())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
