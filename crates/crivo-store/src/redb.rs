//! Tables of [redb](https://docs.rs/redb), an embedded database: no server, and no async runtime.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crivo::{Digest, KeyHasher};
use redb::{
    AccessGuard, Database, Key, ReadOnlyTable, ReadableDatabase, ReadableTable, Table,
    TableDefinition, TableError, TableHandle, Value, WriteTransaction,
};

use crate::{Claim, Existed, OwnedStore, Owner, Session, Store};

/// Who owns a table, by the table's name: generation, owner, and whether it is open.
const OWNERS: TableDefinition<'_, &str, (u64, u128, bool)> =
    TableDefinition::new("crivo-store.owners");

/// The owners that are alive in this process. Those of other processes are not: redb lets one process
/// at a time open a database.
static LIVE: Mutex<BTreeSet<Owner>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<Owner>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

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
/// - The digest of a key is that of its bytes in the table.
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
    /// What this value has claimed, and not released.
    owned: Mutex<Vec<Owner>>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key + 'static, V: Value + 'static> RedbStore<K, V> {
    /// A table of this database, which need not exist yet.
    pub fn new(database: impl Into<Arc<Database>>, table: TableDefinition<'_, K, V>) -> Self {
        Self {
            database: database.into(),
            table: table.name().to_owned(),
            owned: Mutex::default(),
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

    /// The table as it is now; `None` if nobody has written to it yet.
    fn read(&self) -> Result<Option<ReadOnlyTable<K, V>>, RedbError> {
        match self.database.begin_read()?.open_table(self.definition()) {
            Ok(table) => Ok(Some(table)),
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
        self.check(&transaction, claim)?;
        let changed = change(&mut transaction.open_table(self.definition())?)?;
        transaction.commit()?;
        Ok(changed)
    }

    /// An error unless this claim is the current one.
    fn check(&self, transaction: &WriteTransaction, claim: &Claim) -> Result<(), RedbError> {
        let owners = transaction.open_table(OWNERS)?;
        let current = owners.get(&*self.table)?.map(|record| record.value());
        let Session { generation, owner } = claim.session;
        if current == Some((generation, owner.0, true)) {
            Ok(())
        } else {
            Err(RedbError::LostClaim { table: self.table.clone() })
        }
    }

    fn forget(&self, owner: Owner) {
        live().remove(&owner);
        self.owned.lock().unwrap_or_else(PoisonError::into_inner).retain(|own| *own != owner);
    }
}

impl<K: Key + 'static, V: Value + 'static> Store for RedbStore<K, V> {
    type Key<'k> = K::SelfType<'k>;
    type Value = AccessGuard<'static, V>;
    type Error = RedbError;

    #[inline]
    fn digest(hasher: &KeyHasher, key: &K::SelfType<'_>) -> Digest {
        hasher.digest(K::as_bytes(key).as_ref())
    }

    fn get(&self, key: &K::SelfType<'_>) -> Result<Option<Self::Value>, RedbError> {
        match self.read()? {
            Some(table) => Ok(table.get(key)?),
            None => Ok(None),
        }
    }

    fn get_batch(&self, keys: &[&K::SelfType<'_>]) -> Result<Vec<Option<Self::Value>>, RedbError> {
        let table = self.read()?;
        let get = |key: &&K::SelfType<'_>| match &table {
            Some(table) => Ok(table.get(*key)?),
            None => Ok(None),
        };
        keys.iter().map(get).collect()
    }

    fn scan(&self, mut visit: impl FnMut(&K::SelfType<'_>)) -> Result<(), RedbError> {
        let Some(table) = self.read()? else { return Ok(()) };
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
        let transaction = self.database.begin_write()?;
        let claim = {
            let mut owners = transaction.open_table(OWNERS)?;
            let last = owners.get(&*self.table)?.map(|record| record.value());
            let (generation, last_owner, is_open) = last.unwrap_or((0, 0, true));
            let last = Session { generation, owner: Owner(last_owner) };
            if is_open && !take_over && live().contains(&last.owner) {
                return Err(RedbError::Owned { table: self.table.clone() });
            }
            let session = Session { generation: generation + 1, owner };
            owners.insert(&*self.table, (session.generation, owner.0, true))?;
            Claim { session, closed: (!is_open).then_some(last) }
        };
        // So that it can be read.
        transaction.open_table(self.definition())?;
        // While the transaction is open nobody else can look for owners.
        live().insert(owner);
        self.owned.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
        transaction.commit()?;
        Ok(claim)
    }

    fn release(&self, claim: &Claim) -> Result<(), RedbError> {
        let Session { generation, owner } = claim.session;
        self.forget(owner);
        let transaction = self.database.begin_write()?;
        self.check(&transaction, claim)?;
        transaction.open_table(OWNERS)?.insert(&*self.table, (generation, owner.0, false))?;
        Ok(transaction.commit()?)
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

fn existed<V: Value>(previous: Option<AccessGuard<'_, V>>) -> Existed {
    if previous.is_some() { Existed::Yes } else { Existed::No }
}

impl<K, V> Drop for RedbStore<K, V> {
    fn drop(&mut self) {
        let owned = self.owned.get_mut().unwrap_or_else(PoisonError::into_inner);
        owned.iter().for_each(|owner| {
            live().remove(owner);
        });
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
