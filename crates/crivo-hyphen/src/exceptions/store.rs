//! The database of exceptions.

use std::fs::File;
use std::io;
use std::path::Path;

use crivo_store::redb::RedbStore;
use redb::{Database, ReadableDatabase, TableDefinition, TableHandle};

use super::error::StoreErrorKind;
use crate::Breaks;

/// The folded words, each with its breaks: the distances between them as varints.
pub(super) const WORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("words");
/// Facts about the whole store, by name.
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");

/// The name of the format's number in `STATE`.
const FORMAT: &str = "format";
/// Who may write, and for which words a guard was saved, is in the table of `crivo-store`.
const FORMAT_2: u64 = 2;
/// Has these facts in `STATE` instead.
const FORMAT_1: u64 = 1;
const FACTS_OF_FORMAT_1: [&str; 2] = ["generation", "fingerprint"];

/// The table of words.
pub(super) type Words = RedbStore<&'static str, &'static [u8]>;

/// Opens a database, or creates an empty one.
pub(super) fn open(path: &Path) -> Result<Database, StoreErrorKind> {
    if !path.try_exists()? {
        create(path)?;
    }
    let database = Database::open(path)?;
    match format(&database)? {
        FORMAT_2 => {}
        FORMAT_1 => convert(&database)?,
        other => return Err(StoreErrorKind::UnknownFormat(other)),
    }
    Ok(database)
}

fn format(database: &Database) -> Result<u64, StoreErrorKind> {
    let transaction = database.begin_read()?;
    let mut tables = transaction.list_tables()?;
    if !tables.any(|table| table.name() == STATE.name()) {
        return Err(StoreErrorKind::NotAStore);
    }
    Ok(transaction.open_table(STATE)?.get(FORMAT)?.ok_or(StoreErrorKind::NotAStore)?.value())
}

/// Makes the newest format of the first one. From then on programs that know only the first refuse
/// the database: they would change words without a record that the guard is no longer valid.
fn convert(database: &Database) -> Result<(), StoreErrorKind> {
    let transaction = database.begin_write()?;
    {
        let mut state = transaction.open_table(STATE)?;
        state.insert(FORMAT, FORMAT_2)?;
        for fact in FACTS_OF_FORMAT_1 {
            state.remove(fact)?;
        }
    }
    Ok(transaction.commit()?)
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
    transaction.open_table(WORDS)?;
    transaction.open_table(STATE)?.insert(FORMAT, FORMAT_2)?;
    Ok(transaction.commit()?)
}

/// The breaks as they are in the table.
pub(super) fn encode(breaks: &Breaks) -> Vec<u8> {
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
pub(super) const MAX_WORD_LENGTH: usize = 1 << 20;

/// The breaks of an entry in the table.
pub(super) fn decode(bytes: &[u8]) -> Result<Breaks, StoreErrorKind> {
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
