//! Exceptions on disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crivo::Digest;
use redb::{
    Database, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition, TableHandle,
};

use super::error::{StoreError, StoreErrorKind};
use super::guard::HASHER;
use crate::{Breaks, Exception, fold};

/// The folded words, each with its breaks: the distances between them as varints.
const WORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("words");
/// Facts about the whole store, by name.
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");

const FORMAT: &str = "format";
const GENERATION: &str = "generation";
const FINGERPRINT: &str = "fingerprint";
/// The only format so far.
const FORMAT_1: u64 = 1;

/// The database of exceptions, without a guard; [`StoredExceptions`] is the public type.
///
/// [`StoredExceptions`]: super::StoredExceptions
pub(super) struct Store {
    path: PathBuf,
    database: Database,
}

/// Identifies the set of words in a store, so that a guard's file can be checked against it.
///
/// The generation alone is not enough: a copy of the store reaches the same number by other
/// changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The number of changes so far.
    pub(super) generation: u64,
    pub(super) key_count: u64,
    /// The sum of the words' digests, which does not depend on their order.
    pub(super) fingerprint: u64,
}

impl Store {
    /// Opens a store, or creates an empty one.
    pub(super) fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let at = |kind: StoreErrorKind| kind.at(path);
        if !path.try_exists().map_err(|error| at(error.into()))? {
            create(path).map_err(at)?;
        }
        let database = Database::open(path).map_err(|error| at(error.into()))?;
        let store = Self { path: path.to_owned(), database };
        store.check_format().map_err(at)?;
        Ok(store)
    }

    /// Adds exceptions in one transaction, and returns the number of new words. Before the commit,
    /// `before_commit` is called with the digests of the new words, and all words after the change.
    pub(super) fn insert(
        &self,
        exceptions: impl IntoIterator<Item = Exception>,
        before_commit: impl FnOnce(&[Digest], &Words<'_>) -> Result<(), StoreErrorKind>,
    ) -> Result<u64, StoreError> {
        let change = || {
            let mut new = Vec::new();
            let transaction = self.database.begin_write()?;
            {
                let mut words = transaction.open_table(WORDS)?;
                for exception in exceptions {
                    let length = exception.word().len();
                    if length > MAX_WORD_LENGTH {
                        return Err(StoreErrorKind::WordTooLong { length, limit: MAX_WORD_LENGTH });
                    }
                    let value = encode(exception.breaks());
                    if words.insert(exception.word(), &*value)?.is_none() {
                        new.push(HASHER.digest(exception.word()));
                    }
                }
                let mut state = transaction.open_table(STATE)?;
                let sum = new.iter().fold(0, |sum: u64, digest| sum.wrapping_add(digest.get()));
                advance(&mut state, |fingerprint| fingerprint.wrapping_add(sum))?;
                before_commit(&new, &Words(&words))?;
            }
            transaction.commit()?;
            Ok(new.len() as u64)
        };
        change().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// Removes words in one transaction, and returns the digests of those that were present.
    pub(super) fn remove<W: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Vec<Digest>, StoreError> {
        let change = || {
            let mut removed = Vec::new();
            let transaction = self.database.begin_write()?;
            {
                let mut table = transaction.open_table(WORDS)?;
                for word in words {
                    let word = fold(word.as_ref());
                    if table.remove(&*word)?.is_some() {
                        removed.push(HASHER.digest(&*word));
                    }
                }
                let mut state = transaction.open_table(STATE)?;
                let sum = removed.iter().fold(0, |sum: u64, digest| sum.wrapping_add(digest.get()));
                advance(&mut state, |fingerprint| fingerprint.wrapping_sub(sum))?;
            }
            transaction.commit()?;
            Ok(removed)
        };
        change().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// The breaks of a folded word.
    pub(super) fn get(&self, folded: &str) -> Result<Option<Breaks>, StoreError> {
        let read = || match self.words()?.get(folded)? {
            Some(value) => decode(value.value()).map(Some),
            None => Ok(None),
        };
        read().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// All exceptions, ordered by their words' bytes, as they were when the iterator was made.
    pub(super) fn iter(
        &self,
    ) -> Result<impl Iterator<Item = Result<Exception, StoreError>> + '_, StoreError> {
        let open = || Ok(self.words()?.range::<&str>(..)?);
        let range = open().map_err(|kind: StoreErrorKind| kind.at(&self.path))?;
        Ok(range.map(|entry| {
            let read = || {
                let (word, value) = entry?;
                Ok(Exception::new(word.value(), &decode(value.value())?))
            };
            read().map_err(|kind: StoreErrorKind| kind.at(&self.path))
        }))
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn stamp(&self) -> Result<Stamp, StoreError> {
        let read = || {
            let transaction = self.database.begin_read()?;
            let state = transaction.open_table(STATE)?;
            Ok(Stamp {
                generation: value_of(&state, GENERATION)?,
                key_count: transaction.open_table(WORDS)?.len()?,
                fingerprint: value_of(&state, FINGERPRINT)?,
            })
        };
        read().map_err(|kind: StoreErrorKind| kind.at(&self.path))
    }

    /// The digests of all words.
    pub(super) fn digests(&self) -> Result<Vec<Digest>, StoreErrorKind> {
        Words(&self.words()?).digests()
    }

    fn words(&self) -> Result<ReadOnlyTable<&'static str, &'static [u8]>, StoreErrorKind> {
        Ok(self.database.begin_read()?.open_table(WORDS)?)
    }

    fn check_format(&self) -> Result<(), StoreErrorKind> {
        let transaction = self.database.begin_read()?;
        let mut tables = transaction.list_tables()?;
        if !tables.any(|table| table.name() == STATE.name()) {
            return Err(StoreErrorKind::NotAStore);
        }
        match value_of(&transaction.open_table(STATE)?, FORMAT)? {
            FORMAT_1 => Ok(()),
            other => Err(StoreErrorKind::UnknownFormat(other)),
        }
    }
}

/// All words of a store, inside or outside a transaction.
pub(super) struct Words<'t>(&'t dyn AllWords);

impl Words<'_> {
    pub(super) fn digests(&self) -> Result<Vec<Digest>, StoreErrorKind> {
        self.0.digests()
    }
}

trait AllWords {
    fn digests(&self) -> Result<Vec<Digest>, StoreErrorKind>;
}

impl<T: ReadableTable<&'static str, &'static [u8]>> AllWords for T {
    fn digests(&self) -> Result<Vec<Digest>, StoreErrorKind> {
        let mut digests = Vec::new();
        for entry in self.iter()? {
            digests.push(HASHER.digest(entry?.0.value()));
        }
        Ok(digests)
    }
}

/// Creates an empty store atomically: a process that is killed meanwhile leaves no incomplete
/// database, which could not be opened later.
fn create(path: &Path) -> Result<(), StoreErrorKind> {
    let mut refused = None;
    let created = crivo_core::file::create_new(path, |file| {
        write_empty(file.try_clone()?).map_err(|error| {
            refused = Some(error);
            io::Error::other("the database was not written")
        })
    });
    match created {
        // Another process has created it meanwhile, which is just as good.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(refused.unwrap_or(error.into())),
        Ok(()) => Ok(()),
    }
}

/// Writes an empty database.
fn write_empty(file: File) -> Result<(), StoreErrorKind> {
    let database = Database::builder().create_file(file)?;
    let transaction = database.begin_write()?;
    {
        transaction.open_table(WORDS)?;
        let mut state = transaction.open_table(STATE)?;
        for (name, value) in [(FORMAT, FORMAT_1), (GENERATION, 0), (FINGERPRINT, 0)] {
            state.insert(name, value)?;
        }
    }
    Ok(transaction.commit()?)
}

/// Records a change: the next generation and the new fingerprint.
fn advance(
    state: &mut redb::Table<'_, &'static str, u64>,
    change: impl FnOnce(u64) -> u64,
) -> Result<(), StoreErrorKind> {
    let generation = value_of(state, GENERATION)?;
    let fingerprint = value_of(state, FINGERPRINT)?;
    state.insert(GENERATION, generation.wrapping_add(1))?;
    state.insert(FINGERPRINT, change(fingerprint))?;
    Ok(())
}

fn value_of(
    state: &impl ReadableTable<&'static str, u64>,
    name: &str,
) -> Result<u64, StoreErrorKind> {
    Ok(state.get(name)?.ok_or(StoreErrorKind::NotAStore)?.value())
}

fn encode(breaks: &Breaks) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = 0;
    for offset in breaks.iter() {
        let mut gap = offset - last;
        last = offset;
        while gap >= 0x80 {
            bytes.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        bytes.push(gap as u8);
    }
    bytes
}

/// The maximum length of a word in bytes. It also limits the memory that damaged breaks can
/// request.
const MAX_WORD_LENGTH: usize = 1 << 20;

fn decode(bytes: &[u8]) -> Result<Breaks, StoreErrorKind> {
    let mut breaks = Breaks::new();
    let (mut offset, mut gap, mut shift) = (0usize, 0usize, 0);
    for &byte in bytes {
        gap |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if gap > MAX_WORD_LENGTH || shift > 28 {
            return Err(StoreErrorKind::DamagedEntry);
        }
        if byte < 0x80 {
            offset += gap;
            if offset > MAX_WORD_LENGTH {
                return Err(StoreErrorKind::DamagedEntry);
            }
            breaks.insert(offset);
            (gap, shift) = (0, 0);
        }
    }
    if shift == 0 { Ok(breaks) } else { Err(StoreErrorKind::DamagedEntry) }
}
