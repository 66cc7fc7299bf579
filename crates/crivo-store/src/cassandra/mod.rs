//! A table of an [Apache Cassandra](https://cassandra.apache.org) cluster, by the crate `scylla`.
//! ScyllaDB speaks the same protocol, but is not tested.
//!
//! # What the guard knows
//!
//! Cassandra writes without looking: an insertion or a deletion does not tell whether the key was there.
//! So both answer [`Existed::Unknown`], and a deleted key stays in the guard until a rebuild. Choose a kind
//! of filter that removes nothing, such as blocked or growing: others would take a copy for every write.
//!
//! Writes, questions and scans are at `QUORUM`, so that each sees every write that was acknowledged before
//! it; or at `LOCAL_QUORUM` in [one data centre](CassandraTable::local_quorum), the same for all. Each write carries a timestamp of this client, higher than that of its write before: later writes win,
//! on whatever way they arrive.
//!
//! # What a claim is worth here
//!
//! The owner's record changes by lightweight transactions, so that of two owners one is refused. But
//! Cassandra cannot make a write depend on a row of another table: a writer that was replaced is *not* kept
//! from writing by the server. Instead:
//!
//! - A writer reads the owner's record before a write, unless it has done so during the last
//!   [second](CHECK_INTERVAL). If it was replaced it writes no more, and its guard lets every question pass.
//! - Who takes over an open store waits [a while](CassandraTable::takeover_wait) before it scans.
//!
//! So a new guard holds what a replaced writer wrote, unless that writer was suspended for longer between its
//! look at the record and its write, or the cluster took longer to apply it. Take over when the other writer
//! is gone. Conditions on every write (`IF EXISTS`) would not change this, because they see one row alone;
//! they would tell whether a key was there, for four times the round trips.
//!
//! # What breaks the promise
//!
//! - A write that bypasses `crivo-store`, as in every store.
//! - A takeover from a writer that still writes: see above. The writer that was replaced answers *absent* for
//!   keys of the new one until it next writes.
//! - A write of a writer that has crashed or closed the store, if nobody acknowledged it and it reached less
//!   than a quorum: the scan of the next owner may miss it, and a repair may bring it to light later. What an
//!   owner gave up itself stays in its guard until it closes the store, and such a guard is not saved.
//! - Deleted keys that come back: after a node was down for longer than `gc_grace_seconds`, or in a table
//!   whose `read_repair` is not `BLOCKING` (the default).
//! - A clock that goes back between two owners by more than the time between them: their later writes lose.

mod error;
mod table;

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use scylla::client::session::Session as Client;
use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
use scylla::policies::retry::DefaultRetryPolicy;
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::{CqlValue, Row};
use tokio::sync::OnceCell;

pub use error::CassandraStoreError;
pub use table::CassandraTable;
use table::quoted;

use crate::{AsyncOwnedStore, AsyncStore, Claim, Existed, Owner, Session};

/// How long a writer relies on what it has read in the owner's record.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The table of the owners' records, in the keyspace of the data.
const OWNERS: &str = "crivo_store_owners";

/// How many keys of a batch are under way at the same time.
const IN_FLIGHT: usize = 64;

/// A scan asks for this many parts of the tokens, and for some of them at the same time.
const SCAN_RANGES: i128 = 32;
const SCANS_IN_FLIGHT: usize = 4;

/// How many keys an answer of a scan has.
const PAGE_SIZE: i32 = 5_000;

/// A table of a Cassandra cluster: bytes to bytes.
///
/// It takes the caller's own client, with its credentials, TLS and time-outs. The cluster must use
/// Murmur3Partitioner, the default.
///
/// Cassandra cannot tell whether an owner is alive. After a crash the next owner must
/// [take over](crate::OpenOptions::take_over).
///
/// ```no_run
/// use std::sync::Arc;
///
/// use crivo::filter::Kind;
/// use crivo_store::cassandra::{CassandraStore, CassandraTable};
/// use crivo_store::{AsyncGuarded, GuardOptions};
/// use scylla::client::session_builder::SessionBuilder;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Arc::new(SessionBuilder::new().known_node("127.0.0.1").build().await?);
/// let table = CassandraTable::new("shop", "users");
/// table.create(&client).await?;
/// let store = CassandraStore::new(client, table).await?;
/// let users = AsyncGuarded::open(store, GuardOptions::new(Kind::Blocked, 0.001)?).await?;
/// users.put(b"ana", b"1").await?;
/// assert!(!users.contains(b"rui").await?); // the cluster was not asked
/// users.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct CassandraStore {
    client: Arc<Client>,
    table: CassandraTable,
    get: PreparedStatement,
    contains: PreparedStatement,
    put: PreparedStatement,
    delete: PreparedStatement,
    scan: PreparedStatement,
    /// Only writers need the table of owners.
    owners: OnceCell<OwnerStatements>,
    /// Of the last write.
    timestamp: AtomicI64,
    /// The claim that was last seen in the owner's record, and when that was asked for.
    checked: Mutex<Option<(Session, Instant)>>,
}

struct OwnerStatements {
    /// At `QUORUM`, as claims are committed: it sees every claim that has succeeded, from whatever data
    /// centre.
    read: PreparedStatement,
    /// Sees also what is being decided.
    read_latest: PreparedStatement,
    insert: PreparedStatement,
    replace: PreparedStatement,
}

/// What is in the owner's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    session: Session,
    is_open: bool,
}

impl CassandraStore {
    /// Prepares the statements.
    ///
    /// # Errors
    /// If the table is not there, or has other columns, or the cluster does not answer.
    pub async fn new(
        client: Arc<Client>,
        table: CassandraTable,
    ) -> Result<Self, CassandraStoreError> {
        let [key, value] = [&table.key, &table.value].map(|name| quoted(name));
        let path = table.path(&table.table);
        let policy =
            table.data_center.as_deref().map(|name| nodes_of(&client, name)).transpose()?;
        let prepare = async |text: String| {
            let mut statement = prepare(&client, text, table.consistency()).await?;
            statement.set_load_balancing_policy(policy.clone());
            Ok::<_, CassandraStoreError>(statement)
        };
        let get = prepare(format!("SELECT {value} FROM {path} WHERE {key} = ?")).await?;
        let contains = prepare(format!("SELECT {key} FROM {path} WHERE {key} = ?")).await?;
        let put = format!("INSERT INTO {path} ({key}, {value}) VALUES (?, ?) USING TIMESTAMP ?");
        let put = prepare(put).await?;
        let delete = format!("DELETE FROM {path} USING TIMESTAMP ? WHERE {key} = ?");
        let delete = prepare(delete).await?;
        let token = format!("token({key})");
        let scan = format!("SELECT {key} FROM {path} WHERE {token} >= ? AND {token} <= ?");
        let mut scan = prepare(scan).await?;
        scan.set_page_size(PAGE_SIZE);
        Ok(Self {
            client,
            table,
            get,
            contains,
            put,
            delete,
            scan,
            owners: OnceCell::new(),
            timestamp: AtomicI64::new(0),
            checked: Mutex::new(None),
        })
    }

    async fn owners(&self) -> Result<&OwnerStatements, CassandraStoreError> {
        let prepare_all = || async {
            let path = self.table.path(OWNERS);
            let read =
                format!("SELECT generation, owner, is_open FROM {path} WHERE table_name = ?");
            let read = prepare(&self.client, read, Consistency::Quorum).await?;
            let mut read_latest = read.clone();
            read_latest.set_consistency(Consistency::Serial);
            let insert = format!(
                "INSERT INTO {path} (generation, owner, is_open, table_name) \
                 VALUES (?, ?, ?, ?) IF NOT EXISTS"
            );
            let replace = format!(
                "UPDATE {path} SET generation = ?, owner = ?, is_open = ? WHERE table_name = ? \
                 IF generation = ? AND owner = ? AND is_open = ?"
            );
            // Decided for the whole cluster. A second attempt would find the first.
            let transaction = async |text: String| {
                let mut statement = prepare(&self.client, text, Consistency::Quorum).await?;
                statement.set_is_idempotent(false);
                statement.set_serial_consistency(Some(SerialConsistency::Serial));
                Ok::<_, CassandraStoreError>(statement)
            };
            let (insert, replace) = (transaction(insert).await?, transaction(replace).await?);
            Ok(OwnerStatements { read, read_latest, insert, replace })
        };
        self.owners.get_or_try_init(prepare_all).await
    }

    async fn execute(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<QueryResult, CassandraStoreError> {
        Ok(self.client.execute_unpaged(statement, values).await?)
    }

    /// The owner's record, if there ever was an owner.
    async fn record(
        &self,
        statement: &PreparedStatement,
    ) -> Result<Option<Record>, CassandraStoreError> {
        let rows = rows(self.execute(statement, (&self.table.table,)).await?)?;
        let row = rows.maybe_first_row::<(i64, &str, bool)>().map_err(unreadable)?;
        let Some((generation, owner, is_open)) = row else { return Ok(None) };
        let damaged = || CassandraStoreError::DamagedRecord {
            table: self.table.table.clone(),
            generation,
            owner: owner.to_owned(),
        };
        if generation == i64::MAX {
            // The next one would have none.
            return Err(damaged());
        }
        let session = Session {
            generation: u64::try_from(generation).map_err(|_| damaged())?,
            owner: Owner(u128::from_str_radix(owner, 16).map_err(|_| damaged())?),
        };
        Ok(Some(Record { session, is_open }))
    }

    /// Whether the owner's record was `old`, and is `new` now.
    async fn replace_record(
        &self,
        old: Option<Record>,
        new: Record,
    ) -> Result<bool, CassandraStoreError> {
        let statements = self.owners().await?;
        let columns = |record: Record| {
            let Session { generation, owner } = record.session;
            (generation as i64, owner.to_string(), record.is_open)
        };
        let (generation, owner, is_open) = columns(new);
        let table = &self.table.table;
        let result = match old.map(columns) {
            None => self.execute(&statements.insert, (generation, owner, is_open, table)).await?,
            Some(old) => {
                let values = (generation, owner, is_open, table, old.0, old.1, old.2);
                self.execute(&statements.replace, values).await?
            }
        };
        // The first column tells; others are there if it says no.
        let rows = rows(result)?;
        let row: Row = rows.first_row().map_err(unreadable)?;
        Ok(matches!(row.columns.first(), Some(Some(CqlValue::Boolean(true)))))
    }

    /// Whether the owner's record was `old`, and is `new` now. If the answer was lost, the record tells: nobody
    /// else would have this owner, and the table would be closed to all who do not take over.
    async fn claimed(&self, old: Option<Record>, new: Record) -> Result<bool, CassandraStoreError> {
        match self.replace_record(old, new).await {
            Ok(is_replaced) => Ok(is_replaced),
            Err(error) => match self.record(&self.owners().await?.read_latest).await {
                Ok(Some(record)) if record == new => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Whether this claim is the current one, or was within [`CHECK_INTERVAL`].
    async fn check(&self, claim: &Claim) -> Result<(), CassandraStoreError> {
        let now = Instant::now();
        let session = claim.session;
        let is_recent = |(checked, at): &(Session, Instant)| {
            *checked == session && now.duration_since(*at) < CHECK_INTERVAL
        };
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().as_ref().is_some_and(is_recent) {
            return Ok(());
        }
        let statements = self.owners().await?;
        if self.record(&statements.read).await? != Some(Record { session, is_open: true }) {
            return Err(CassandraStoreError::LostClaim);
        }
        *checked() = Some((session, now));
        Ok(())
    }

    /// The time in microseconds, or more: higher than all that this store gave before.
    fn next_timestamp(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = since.as_micros() as i64;
        let next = |last: i64| now.max(last + 1);
        match self
            .timestamp
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)))
        {
            Ok(last) | Err(last) => next(last),
        }
    }

    async fn put_at(
        &self,
        key: &[u8],
        value: &[u8],
        timestamp: i64,
    ) -> Result<Existed, CassandraStoreError> {
        self.execute(&self.put, (key, value, timestamp)).await?;
        Ok(Existed::Unknown)
    }

    async fn delete_at(&self, key: &[u8], timestamp: i64) -> Result<Existed, CassandraStoreError> {
        check_length(key)?;
        self.execute(&self.delete, (timestamp, key)).await?;
        Ok(Existed::Unknown)
    }

    /// A part of the keys with tokens in a range, and how to go on.
    async fn page(
        &self,
        range: (i64, i64),
        state: PagingState,
    ) -> Result<((i64, i64), QueryResult, PagingStateResponse), CassandraStoreError> {
        let (result, next) = self.client.execute_single_page(&self.scan, range, state).await?;
        Ok((range, result, next))
    }
}

/// A statement that may be sent again: reads, and writes that carry their timestamp. The retries keep
/// the consistency, whatever the policy of the client.
async fn prepare(
    client: &Client,
    text: String,
    consistency: Consistency,
) -> Result<PreparedStatement, CassandraStoreError> {
    let mut statement = client.prepare(text).await?;
    statement.set_consistency(consistency);
    statement.set_is_idempotent(true);
    statement.set_retry_policy(Some(Arc::new(DefaultRetryPolicy::new())));
    Ok(statement)
}

/// Sends statements to the nodes of a data centre alone.
fn nodes_of(
    client: &Client,
    data_center: &str,
) -> Result<Arc<dyn LoadBalancingPolicy>, CassandraStoreError> {
    let cluster = client.get_cluster_state();
    let known = cluster.get_nodes_info().iter().filter_map(|node| node.datacenter.clone());
    let known: BTreeSet<String> = known.collect();
    if !known.contains(data_center) {
        let name = data_center.to_owned();
        return Err(CassandraStoreError::UnknownDataCenter {
            name,
            known: known.into_iter().collect(),
        });
    }
    let policy = DefaultPolicy::builder().prefer_datacenter(data_center.to_owned());
    // The default, but everything depends on it.
    Ok(policy.permit_dc_failover(false).build())
}

/// The longest partition key that Cassandra has. The shortest has a byte.
const MAX_KEY_LENGTH: usize = 65_535;

fn check_length(key: &[u8]) -> Result<(), CassandraStoreError> {
    match key.len() {
        1..=MAX_KEY_LENGTH => Ok(()),
        length => Err(CassandraStoreError::KeyLength { length }),
    }
}

/// The tokens of all keys, in ranges that include both ends.
fn token_ranges() -> VecDeque<(i64, i64)> {
    let bound = |part: i128| i128::from(i64::MIN) + (part << 64) / SCAN_RANGES;
    (0..SCAN_RANGES).map(|part| (bound(part) as i64, (bound(part + 1) - 1) as i64)).collect()
}

fn rows(result: QueryResult) -> Result<QueryRowsResult, CassandraStoreError> {
    result.into_rows_result().map_err(unreadable)
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> CassandraStoreError {
    CassandraStoreError::Answer(Box::new(error))
}

/// Questions of a batch that are under way, and the answers that have come, in their order.
struct Batch<F: Future> {
    under_way: FuturesOrdered<F>,
    answers: Vec<F::Output>,
}

impl<T, E, F: Future<Output = Result<T, E>>> Batch<F> {
    fn new() -> Self {
        Self { under_way: FuturesOrdered::new(), answers: Vec::new() }
    }

    /// Adds one, and waits while too many are under way.
    async fn push(&mut self, question: F) {
        self.under_way.push_back(question);
        if self.under_way.len() >= IN_FLIGHT {
            self.answers.extend(self.under_way.next().await);
        }
    }

    /// All answers, or the first error.
    async fn finish(mut self) -> Result<Vec<T>, E> {
        while let Some(answer) = self.under_way.next().await {
            self.answers.push(answer);
        }
        self.answers.into_iter().collect()
    }
}

impl AsyncStore for CassandraStore {
    type Key = [u8];
    type Value = Vec<u8>;
    type Error = CassandraStoreError;

    /// The value; empty bytes for a row whose value is null.
    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CassandraStoreError> {
        if check_length(key).is_err() {
            return Ok(None);
        }
        let rows = rows(self.execute(&self.get, (key,)).await?)?;
        let row = rows.maybe_first_row::<(Option<&[u8]>,)>().map_err(unreadable)?;
        Ok(row.map(|(value,)| value.unwrap_or_default().to_vec()))
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, CassandraStoreError> {
        if check_length(key).is_err() {
            return Ok(false);
        }
        Ok(rows(self.execute(&self.contains, (key,)).await?)?.rows_num() > 0)
    }

    async fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, CassandraStoreError> {
        let mut batch = Batch::new();
        for key in keys {
            batch.push(self.get(key)).await;
        }
        batch.finish().await
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Vec<bool>, CassandraStoreError> {
        let mut batch = Batch::new();
        for key in keys {
            batch.push(self.contains(key)).await;
        }
        batch.finish().await
    }

    async fn scan(&self, mut visit: impl FnMut(&[u8]) + Send) -> Result<(), CassandraStoreError> {
        let mut ranges = token_ranges();
        let mut pages = FuturesUnordered::new();
        loop {
            while pages.len() < SCANS_IN_FLIGHT
                && let Some(range) = ranges.pop_front()
            {
                pages.push(self.page(range, PagingState::start()));
            }
            let Some(page) = pages.next().await else { return Ok(()) };
            let (range, result, next) = page?;
            let rows = rows(result)?;
            for row in rows.rows::<(&[u8],)>().map_err(unreadable)? {
                visit(row.map_err(unreadable)?.0);
            }
            if let ControlFlow::Continue(state) = next.into_paging_control_flow() {
                pages.push(self.page(range, state));
            }
        }
    }
}

impl AsyncOwnedStore for CassandraStore {
    type NewValue = [u8];

    /// A node that was down gets its writes when it is back.
    const LATE_WRITES: bool = true;

    async fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, CassandraStoreError> {
        let statements = self.owners().await?;
        loop {
            let old = self.record(&statements.read_latest).await?;
            let is_open = old.is_some_and(|old| old.is_open);
            let last = old.map(|old| old.session);
            if let (Some(last), true, false) = (last, is_open, take_over) {
                return Err(CassandraStoreError::Owned { owner: last.owner });
            }
            let generation = last.map_or(0, |last| last.generation) + 1;
            let session = Session { generation, owner };
            if self.claimed(old, Record { session, is_open: true }).await? {
                if is_open {
                    // The last writer may not have noticed yet.
                    tokio::time::sleep(self.table.takeover_wait).await;
                }
                return Ok(Claim { session, closed: last.filter(|_| !is_open) });
            }
            // Another owner was faster.
        }
    }

    async fn release(&self, claim: &Claim) -> Result<(), CassandraStoreError> {
        let [open, closed] =
            [true, false].map(|is_open| Record { session: claim.session, is_open });
        match self.replace_record(Some(open), closed).await? {
            true => Ok(()),
            false => Err(CassandraStoreError::LostClaim),
        }
    }

    async fn put(
        &self,
        claim: &Claim,
        key: &[u8],
        value: &[u8],
    ) -> Result<Existed, CassandraStoreError> {
        check_length(key)?;
        self.check(claim).await.map_err(CassandraStoreError::before_all)?;
        self.put_at(key, value, self.next_timestamp()).await
    }

    async fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&[u8], &[u8])],
    ) -> Result<Vec<Existed>, CassandraStoreError> {
        // What can be refused is refused before anything is sent.
        entries.iter().try_for_each(|(key, _)| check_length(key))?;
        self.check(claim).await.map_err(CassandraStoreError::before_all)?;
        let mut batch = Batch::new();
        for (key, value) in entries {
            self.check(claim).await?;
            // Timestamps are in the order of the entries, whatever arrives first.
            batch.push(self.put_at(key, value, self.next_timestamp())).await;
        }
        batch.finish().await
    }

    async fn delete(&self, claim: &Claim, key: &[u8]) -> Result<Existed, CassandraStoreError> {
        self.check(claim).await?;
        self.delete_at(key, self.next_timestamp()).await
    }

    async fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[&[u8]],
    ) -> Result<Vec<Existed>, CassandraStoreError> {
        let mut batch = Batch::new();
        for key in keys {
            self.check(claim).await?;
            batch.push(self.delete_at(key, self.next_timestamp())).await;
        }
        batch.finish().await
    }

    fn is_lost_claim(error: &CassandraStoreError) -> bool {
        matches!(error, CassandraStoreError::LostClaim)
    }

    fn is_refusal(error: &CassandraStoreError) -> bool {
        matches!(error, CassandraStoreError::Unchecked(_) | CassandraStoreError::KeyLength { .. })
    }

    /// Both errors come before anything is sent.
    fn is_batch_refusal(error: &CassandraStoreError) -> bool {
        Self::is_refusal(error)
    }
}

impl fmt::Debug for CassandraStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassandraStore").field("table", &self.table).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use scylla::client::session_builder::SessionBuilder;

    use super::*;

    #[test]
    fn ranges_have_every_token_once() {
        let ranges = token_ranges();
        assert_eq!(ranges.front().unwrap().0, i64::MIN);
        assert_eq!(ranges.back().unwrap().1, i64::MAX);
        for (one, next) in ranges.iter().zip(ranges.iter().skip(1)) {
            assert_eq!(one.1 + 1, next.0);
        }
    }

    /// `LOCAL_QUORUM` is that of one data centre, and the owner's record is that of all.
    #[test]
    fn statements_at_local_quorum_stay_in_one_data_centre() {
        let Ok(address) = std::env::var("CRIVO_TEST_CASSANDRA") else {
            // Macros write into what is shown of failed tests alone.
            let message = "skipped: CRIVO_TEST_CASSANDRA names no server\n";
            std::io::stderr().write_all(message.as_bytes()).unwrap();
            return;
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = SessionBuilder::new().known_node(address).build().await.unwrap();
            let client = Arc::new(client);
            let keyspace = format!("crivo_test_{}", Owner::random().unwrap());
            let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
            let create = format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}");
            client.query_unpaged(create, ()).await.unwrap();
            let table = CassandraTable::new(&keyspace, "keys");
            table.create(&client).await.unwrap();

            let elsewhere = table.clone().local_quorum("no such centre");
            let error = CassandraStore::new(client.clone(), elsewhere).await.unwrap_err();
            assert!(error.to_string().contains("datacenter1"), "{error}");

            let here = table.clone().local_quorum("datacenter1");
            let store = CassandraStore::new(client.clone(), here).await.unwrap();
            for statement in [&store.get, &store.contains, &store.put, &store.delete, &store.scan] {
                assert_eq!(statement.get_consistency(), Some(Consistency::LocalQuorum));
                let policy = format!("{:?}", statement.get_load_balancing_policy().unwrap());
                assert!(policy.contains("datacenter1"), "{policy}");
                assert!(policy.contains("permit_dc_failover: false"), "{policy}");
            }
            let owners = store.owners().await.unwrap();
            assert_eq!(owners.read.get_consistency(), Some(Consistency::Quorum));

            let claim = store.claim(Owner(1), false).await.unwrap();
            store.put(&claim, b"ana", b"1").await.unwrap();
            assert!(store.contains(b"ana").await.unwrap());
            store.release(&claim).await.unwrap();
            client.query_unpaged(format!("DROP KEYSPACE {keyspace}"), ()).await.unwrap();
        });
    }

    #[test]
    fn keys_have_at_least_a_byte_and_at_most_65535() {
        for (length, fits) in [(0, false), (1, true), (65_535, true), (65_536, false)] {
            assert_eq!(check_length(&vec![0; length]).is_ok(), fits, "{length}");
        }
    }
}
