//! Tables of [redb](https://docs.rs/redb), an embedded database: no server, and no async runtime.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crivo::{Digest, KeyHasher};
use redb::{
    AccessGuard, Database, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    Table, TableDefinition, TableError, TableHandle, Value, WriteTransaction,
};

use crate::{Claim, Existed, OwnedStore, Owner, Session, Store};

/// Who owns a table, by the table's name: generation, owner, and whether it is open.
const OWNERS: TableDefinition<'_, &str, (u64, u128, bool)> =
    TableDefinition::new("crivo-store.owners");

/// Who owns which table in this process: by the address of the database and the name of the table. There
/// are no owners in other processes, unless the database was opened in redb's mode for several.
static LIVE: Mutex<BTreeMap<(usize, String), Owner>> = Mutex::new(BTreeMap::new());

fn live() -> MutexGuard<'static, BTreeMap<(usize, String), Owner>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A table as it is during a transaction.
type Opened<K, V> = (ReadTransaction, ReadOnlyTable<K, V>);

/// A table of a redb database: keys and values of whatever types the table has.
///
/// It takes the caller's own database, alone or shared in an [`Arc`], and adds one table to it, which
/// says who owns which table (`crivo-store.owners`).
///
/// - A put or a delete is one transaction, which is on disk when it returns, and so is a batch: all of
///   it is stored, or nothing.
/// - redb lets one process at a time open a database. An owner in another process has therefore ended,
///   and is replaced without being asked. An owner in the same process, through the same database,
///   refuses a second one.
/// - Do not use a mode of redb that lets several processes have the file, as later versions have one for trial. An owner
///   that was replaced by another process writes no more, but answers *absent* for keys of that process until its
///   own next write is refused.
/// - The first change records the owner in its own transaction. Opening and closing a table without a
///   change writes nothing, and leaves the saved guard valid.
/// - The digest of a key is that of its bytes in the table. A type of key whose
///   [`compare`](redb::Key::compare) takes different bytes for equal, such as text without regard to case,
///   must not be used: what was put under one form would be hidden under the other. redb's own types compare
///   all of their bytes.
/// - redb has one write transaction at a time. Opening, putting, deleting and closing wait for one of your own, for
///   ever if it is of the same thread. A put cannot be part of your transaction; with a
///   [`Guard`](crate::Guard) alone you announce what you write yourself.
/// - What is written past the guard, also between two sessions, stays hidden: then call
///   [`rebuild`](crate::Guarded::rebuild), or delete the guard's file before you open the store.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo_store::redb::RedbStore;
/// use crivo_store::{GuardOptions, Guarded, Snapshot};
/// use redb::{Database, TableDefinition};
///
/// const SQUARES: TableDefinition<u64, u64> = TableDefinition::new("squares");
///
/// # let directory = tempfile::tempdir()?;
/// let database = Database::create(directory.path().join("squares.redb"))?;
/// let writing = database.begin_write()?;
/// for n in 0..100 {
///     writing.open_table(SQUARES)?.insert(n, n * n)?;
/// }
/// writing.commit()?;
///
/// // From now on nobody changes the table.
/// let options = GuardOptions::new(Kind::Fuse, 0.001)?;
/// let squares = Guarded::snapshot(RedbStore::new(database, SQUARES), &options)?;
/// assert_eq!(squares.get(7)?.map(|square| square.value()), Some(49));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RedbStore<K, V> {
    database: Arc<Database>,
    table: String,
    /// The last owner that has claimed the table through this value.
    claimed: Mutex<Option<Owner>>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key + 'static, V: Value + 'static> RedbStore<K, V> {
    /// A table of this database, which need not exist yet.
    pub fn new(database: impl Into<Arc<Database>>, table: TableDefinition<'_, K, V>) -> Self {
        Self {
            database: database.into(),
            table: table.name().to_owned(),
            claimed: Mutex::default(),
            types: PhantomData,
        }
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    fn definition(&self) -> TableDefinition<'_, K, V> {
        TableDefinition::new(&self.table)
    }

    /// A transaction, and the table in it; `None` if nobody has written to it yet.
    fn read(&self) -> Result<Option<Opened<K, V>>, RedbError> {
        let transaction = self.database.begin_read()?;
        match transaction.open_table(self.definition()) {
            Ok(table) => Ok(Some((transaction, table))),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the table in one transaction, under a claim that is the current one.
    fn change<T>(
        &self,
        claim: &Claim,
        change: impl FnOnce(&mut Table<'_, K, V>) -> Result<T, RedbError>,
    ) -> Result<T, RedbError> {
        let transaction = self.database.begin_write()?;
        if !self.is_recorded(claim)? {
            self.set_record(&transaction, claim.session, true)?;
        }
        let changed = change(&mut transaction.open_table(self.definition())?)?;
        transaction.commit()?;
        Ok(changed)
    }

    /// Whether something was written under this claim; an error unless it is the current one. While a transaction
    /// for writing is open it remains so.
    fn is_recorded(&self, claim: &Claim) -> Result<bool, RedbError> {
        let lost = || Err(RedbError::LostClaim { table: self.table.clone() });
        if live().get(&self.live_key()) != Some(&claim.session.owner) {
            return lost();
        }
        match self.record()? {
            Some(record) if record == (claim.session, true) => Ok(true),
            // In this process a claim comes after all that was recorded: this is the owner of another one.
            Some((last, _)) if last.generation >= claim.session.generation => lost(),
            _ => Ok(false),
        }
    }

    /// The last session that wrote, and whether it is open.
    fn record(&self) -> Result<Option<(Session, bool)>, RedbError> {
        let transaction = self.database.begin_read()?;
        let owners = match transaction.open_table(OWNERS) {
            Ok(owners) => owners,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(owners.get(&*self.table)?.map(|record| {
            let (generation, owner, is_open) = record.value();
            (Session { generation, owner: Owner(owner) }, is_open)
        }))
    }

    fn set_record(
        &self,
        transaction: &WriteTransaction,
        Session { generation, owner }: Session,
        is_open: bool,
    ) -> Result<(), RedbError> {
        let record = (generation, owner.0, is_open);
        transaction.open_table(OWNERS)?.insert(&*self.table, record)?;
        Ok(())
    }
}

impl<K: Key + 'static, V: Value + 'static> Store for RedbStore<K, V> {
    type Key<'k> = K::SelfType<'k>;
    type Value = RedbValue<V>;
    type Error = RedbError;

    #[inline]
    fn digest(hasher: &KeyHasher, key: &K::SelfType<'_>) -> Digest {
        hasher.digest(K::as_bytes(key).as_ref())
    }

    fn get(&self, key: &K::SelfType<'_>) -> Result<Option<Self::Value>, RedbError> {
        Ok(self.get_if(key, || true)?.flatten())
    }

    fn contains(&self, key: &K::SelfType<'_>) -> Result<bool, RedbError> {
        Ok(self.contains_if(key, || true)? == Some(true))
    }

    fn get_if(
        &self,
        key: &K::SelfType<'_>,
        admits: impl FnOnce() -> bool,
    ) -> Result<Option<Option<Self::Value>>, RedbError> {
        let opened = self.read()?;
        if !admits() {
            return Ok(None);
        }
        let Some((transaction, table)) = opened else { return Ok(Some(None)) };
        let found = table.get(key)?;
        Ok(Some(found.map(|value| RedbValue { value, _transaction: Arc::new(transaction) })))
    }

    fn contains_if(
        &self,
        key: &K::SelfType<'_>,
        admits: impl FnOnce() -> bool,
    ) -> Result<Option<bool>, RedbError> {
        let opened = self.read()?;
        if !admits() {
            return Ok(None);
        }
        let Some((_transaction, table)) = opened else { return Ok(Some(false)) };
        Ok(Some(table.get(key)?.is_some()))
    }

    fn get_batch(&self, keys: &[&K::SelfType<'_>]) -> Result<Vec<Option<Self::Value>>, RedbError> {
        let Some((transaction, table)) = self.read()? else {
            return Ok(keys.iter().map(|_| None).collect());
        };
        let transaction = Arc::new(transaction);
        let get = |key: &&K::SelfType<'_>| {
            let found = table.get(*key)?;
            Ok(found.map(|value| RedbValue { value, _transaction: transaction.clone() }))
        };
        keys.iter().map(get).collect()
    }

    fn contains_batch(&self, keys: &[&K::SelfType<'_>]) -> Result<Vec<bool>, RedbError> {
        let Some((_transaction, table)) = self.read()? else { return Ok(vec![false; keys.len()]) };
        keys.iter().map(|key| Ok(table.get(*key)?.is_some())).collect()
    }

    fn scan(&self, mut visit: impl FnMut(&K::SelfType<'_>)) -> Result<(), RedbError> {
        let Some((_transaction, table)) = self.read()? else { return Ok(()) };
        for entry in table.iter()? {
            visit(&entry?.0.value());
        }
        Ok(())
    }
}

impl<K: Key + 'static, V: Value + 'static> OwnedStore for RedbStore<K, V> {
    type NewValue<'v> = V::SelfType<'v>;

    /// A transaction that failed is never applied later.
    const LATE_WRITES: bool = false;

    fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, RedbError> {
        // So that nobody writes meanwhile: nothing is written here.
        let _transaction = self.database.begin_write()?;
        let last = self.record()?;
        let generation = last.map_or(0, |(last, _)| last.generation).checked_add(1);
        let damaged = || RedbError::DamagedRecord { table: self.table.clone() };
        let generation = generation.ok_or_else(damaged)?;
        let mut live = live();
        if live.contains_key(&self.live_key()) && !take_over {
            return Err(RedbError::Owned { table: self.table.clone() });
        }
        live.insert(self.live_key(), owner);
        *self.claimed.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
        Ok(Claim {
            session: Session { generation, owner },
            closed: last.and_then(|(last, is_open)| (!is_open).then_some(last)),
        })
    }

    fn release(&self, claim: &Claim) -> Result<(), RedbError> {
        let transaction = self.database.begin_write()?;
        self.is_recorded(claim)?;
        self.set_record(&transaction, claim.session, false)?;
        live().remove(&self.live_key());
        Ok(transaction.commit()?)
    }

    fn withdraw(&self, claim: &Claim) -> Result<bool, RedbError> {
        let _transaction = self.database.begin_write()?;
        let is_unused = !self.is_recorded(claim)?;
        if is_unused {
            live().remove(&self.live_key());
        }
        Ok(is_unused)
    }

    fn put(
        &self,
        claim: &Claim,
        key: &K::SelfType<'_>,
        value: &V::SelfType<'_>,
    ) -> Result<Existed, RedbError> {
        self.change(claim, |table| Ok(existed(table.insert(key, value)?)))
    }

    /// All or nothing.
    fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(K::SelfType<'_>, V::SelfType<'_>)],
    ) -> Result<Vec<Existed>, RedbError> {
        self.change(claim, |table| {
            entries.iter().map(|(key, value)| Ok(existed(table.insert(key, value)?))).collect()
        })
    }

    fn delete(&self, claim: &Claim, key: &K::SelfType<'_>) -> Result<Existed, RedbError> {
        self.change(claim, |table| Ok(existed(table.remove(key)?)))
    }

    /// All or nothing.
    fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[K::SelfType<'_>],
    ) -> Result<Vec<Existed>, RedbError> {
        self.change(claim, |table| keys.iter().map(|key| Ok(existed(table.remove(key)?))).collect())
    }

    fn is_lost_claim(error: &RedbError) -> bool {
        matches!(error, RedbError::LostClaim { .. })
    }
}

/// A value of a table. What it reads does not change while it is there.
pub struct RedbValue<V: Value + 'static> {
    // Dropped before its transaction, whose end lets writers use its pages again.
    value: AccessGuard<'static, V>,
    _transaction: Arc<ReadTransaction>,
}

impl<V: Value + 'static> RedbValue<V> {
    /// The value.
    ///
    /// ```
    /// use crivo_store::redb::RedbStore;
    /// use crivo_store::Store;
    /// use redb::{Database, TableDefinition};
    ///
    /// const SQUARES: TableDefinition<u64, u64> = TableDefinition::new("squares");
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let database = Database::create(directory.path().join("squares.redb"))?;
    /// let writing = database.begin_write()?;
    /// writing.open_table(SQUARES)?.insert(7, 49)?;
    /// writing.commit()?;
    ///
    /// let squares = RedbStore::new(database, SQUARES);
    /// assert_eq!(squares.get(&7)?.map(|square| square.value()), Some(49));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn value(&self) -> V::SelfType<'_> {
        self.value.value()
    }
}

impl<V: Value + 'static> fmt::Debug for RedbValue<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedbValue").field(&self.value()).finish()
    }
}

fn existed<V: Value>(previous: Option<AccessGuard<'_, V>>) -> Existed {
    if previous.is_some() { Existed::Yes } else { Existed::No }
}

impl<K, V> RedbStore<K, V> {
    fn live_key(&self) -> (usize, String) {
        (Arc::as_ptr(&self.database) as usize, self.table.clone())
    }
}

impl<K, V> Drop for RedbStore<K, V> {
    fn drop(&mut self) {
        let claimed = *self.claimed.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut live = live();
        let key = self.live_key();
        if claimed.is_some() && live.get(&key) == claimed.as_ref() {
            live.remove(&key);
        }
    }
}

impl<K, V> fmt::Debug for RedbStore<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStore").field("table", &self.table).finish_non_exhaustive()
    }
}

/// Why a table of a redb database could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedbError {
    /// The database failed. What was to be written may have been written only if the error came from
    /// the commit.
    #[error(transparent)]
    Database(Box<redb::Error>),
    /// The table has an owner in this process.
    #[error("the table {table:?} has an owner in this process; close it there, or take over")]
    Owned {
        /// The name of the table.
        table: String,
    },
    /// Another owner has taken the table over. Nothing was written.
    #[error("another owner has taken over the table {table:?}; open it again to write to it")]
    LostClaim {
        /// The name of the table.
        table: String,
    },
    /// The owner's record is not one that this crate writes.
    #[error(
        "the owner's record of the table {table:?} is damaged: it has the last generation that there is; \
         remove its entry from the table crivo-store.owners, and open the store again"
    )]
    DamagedRecord {
        /// The name of the table.
        table: String,
    },
}

macro_rules! from_database_errors {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for RedbError {
            fn from(error: redb::$error) -> Self {
                Self::Database(Box::new(error.into()))
            }
        }
    )*};
}

from_database_errors! { CommitError StorageError TableError TransactionError }
