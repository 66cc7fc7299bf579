//! A connection to the server, and a keyspace of this experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crivo::filter::Kind;
use crivo_store::cassandra::{CassandraStore, CassandraTable};
use crivo_store::{AsyncGuarded, AsyncStore, GuardOptions};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Statement;
use tokio::runtime::Runtime;

use super::failed;
use super::keys::Keys;
use crate::StudyError;

/// A busy machine answers late.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How often a trace is asked for until it is there.
const TRACE_ATTEMPTS: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// How many keys are written or asked for in one call.
pub(super) const BATCH: usize = 4096;

/// The settings of the server that matter for its times.
const SETTINGS: [&str; 8] = [
    "concurrent_reads",
    "disk_access_mode",
    "file_cache_size",
    "key_cache_size",
    "memtable_heap_space",
    "native_transport_max_threads",
    "partitioner",
    "row_cache_size",
];

/// After this time the server writes to SSTables what is in memory, where it is asked to.
const FLUSH_PERIOD: Duration = Duration::from_millis(500);

pub(super) struct Server {
    pub(super) runtime: Runtime,
    pub(super) client: Arc<Session>,
    pub(super) keyspace: String,
}

impl Server {
    pub(super) fn connect(address: &str, keyspace: &str) -> Result<Self, StudyError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let profile = ExecutionProfile::builder().request_timeout(Some(TIMEOUT)).build();
        let builder = SessionBuilder::new()
            .known_node(address)
            .connection_timeout(TIMEOUT)
            .schema_agreement_timeout(TIMEOUT)
            .tracing_info_fetch_attempts(TRACE_ATTEMPTS)
            .tracing_info_fetch_interval(Duration::from_millis(100))
            .default_execution_profile_handle(profile.into_handle());
        let client = Arc::new(runtime.block_on(builder.build()).map_err(failed)?);
        Ok(Self { runtime, client, keyspace: keyspace.to_string() })
    }

    pub(super) fn execute(&self, statement: String) -> Result<(), StudyError> {
        self.runtime.block_on(self.client.query_unpaged(statement, ())).map(drop).map_err(failed)
    }

    pub(super) fn create_keyspace(&self) -> Result<(), StudyError> {
        self.drop_keyspace()?;
        self.execute(format!(
            "CREATE KEYSPACE {} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
            self.keyspace
        ))
    }

    pub(super) fn drop_keyspace(&self) -> Result<(), StudyError> {
        self.execute(format!("DROP KEYSPACE IF EXISTS {}", self.keyspace))
    }

    /// The version of the server.
    pub(super) fn version(&self) -> Result<String, StudyError> {
        let question = "SELECT release_version FROM system.local";
        let result =
            self.runtime.block_on(self.client.query_unpaged(question, ())).map_err(failed)?;
        let rows = result.into_rows_result().map_err(failed)?;
        let (version,) = rows.first_row::<(String,)>().map_err(failed)?;
        Ok(version)
    }

    /// The settings of the server that matter for its times, and its Java.
    pub(super) fn settings(&self) -> Result<BTreeMap<String, String>, StudyError> {
        let mut settings = self.pairs("system_views.settings")?;
        settings.retain(|name, _| SETTINGS.contains(&name.as_str()));
        let properties = self.pairs("system_views.system_properties")?;
        settings.extend(properties.into_iter().filter(|(name, _)| name == "java.version"));
        Ok(settings)
    }

    /// The names and values of a virtual table.
    fn pairs(&self, table: &str) -> Result<BTreeMap<String, String>, StudyError> {
        let question = format!("SELECT name, value FROM {table}");
        let result =
            self.runtime.block_on(self.client.query_unpaged(question, ())).map_err(failed)?;
        let rows = result.into_rows_result().map_err(failed)?;
        let pairs = rows.rows::<(String, Option<String>)>().map_err(failed)?;
        let pair = |row: Result<(String, Option<String>), _>| {
            let (name, value) = row.map_err(failed)?;
            Ok((name, value.unwrap_or_default()))
        };
        pairs.map(pair).collect()
    }

    /// Has what is in memory of these tables written to SSTables. CQL can only have that done after a time.
    pub(super) fn flush<'t>(
        &self,
        tables: impl Iterator<Item = &'t str> + Clone,
    ) -> Result<(), StudyError> {
        for period in [FLUSH_PERIOD, Duration::ZERO] {
            for table in tables.clone() {
                let (keyspace, period) = (&self.keyspace, period.as_millis());
                self.execute(format!(
                    "ALTER TABLE {keyspace}.{table} WITH memtable_flush_period_in_ms = {period}"
                ))?;
            }
            // Every period the server looks whether one has passed.
            std::thread::sleep(3 * period);
        }
        Ok(())
    }

    /// How many SSTables of a table a question for this key meets, by a trace of it; 0 if that does not tell.
    pub(super) fn sstables(&self, table: &str, key: &[u8]) -> Result<u64, StudyError> {
        let question = format!("SELECT value FROM {}.{table} WHERE key = ?", self.keyspace);
        let mut statement = Statement::new(question);
        statement.set_tracing(true);
        self.runtime.block_on(async {
            let result = self.client.query_unpaged(statement, (key,)).await.map_err(failed)?;
            let Some(id) = result.tracing_id() else { return Ok(0) };
            // Traces are written later, and some servers have none.
            let Ok(trace) = self.client.get_tracing_info(&id).await else { return Ok(0) };
            let activities = trace.events.iter().filter_map(|event| event.activity.as_deref());
            Ok(count_sstables(activities))
        })
    }

    fn table(&self, name: &str) -> CassandraTable {
        CassandraTable::new(&self.keyspace, name)
    }

    pub(super) fn create_table(&self, name: &str) -> Result<(), StudyError> {
        self.runtime.block_on(self.table(name).create(&self.client)).map_err(failed)
    }

    pub(super) fn store(&self, name: &str) -> Result<CassandraStore, StudyError> {
        let store = CassandraStore::new(self.client.clone(), self.table(name));
        self.runtime.block_on(store).map_err(failed)
    }

    /// A table that this program writes.
    pub(super) fn writer(&self, name: &str) -> Result<AsyncGuarded<CassandraStore>, StudyError> {
        let options = GuardOptions::new(Kind::Growing, 0.01).map_err(failed)?;
        self.runtime.block_on(AsyncGuarded::open(self.store(name)?, options)).map_err(failed)
    }

    pub(super) fn write<'k>(
        &self,
        writer: &AsyncGuarded<CassandraStore>,
        keys: impl Iterator<Item = &'k Vec<u8>>,
    ) -> Result<(), StudyError> {
        let value = [7; 64];
        let entries: Vec<(&[u8], &[u8])> =
            keys.map(|key| (key.as_slice(), value.as_slice())).collect();
        for part in entries.chunks(BATCH) {
            self.runtime.block_on(writer.put_batch(part)).map_err(failed)?;
        }
        Ok(())
    }

    /// Asks for many keys, several at a time, and returns how many were there.
    pub(super) fn count(&self, store: &CassandraStore, keys: &[&[u8]]) -> Result<u64, StudyError> {
        let mut found = 0;
        for part in keys.chunks(BATCH) {
            let answers = self.runtime.block_on(store.get_batch(part)).map_err(failed)?;
            found += answers.iter().flatten().count() as u64;
        }
        Ok(found)
    }

    /// Asks a table until the server's code is compiled.
    pub(super) fn warm_up(&self, table: &str, keys: &Keys) -> Result<(), StudyError> {
        let store = self.store(table)?;
        for asked in [&keys.absent, &keys.present] {
            let asked: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
            self.count(&store, &asked)?;
        }
        Ok(())
    }
}

/// The SSTables that the events of a trace name: `Bloom filter allows skipping sstable 3`.
fn count_sstables<'a>(activities: impl Iterator<Item = &'a str>) -> u64 {
    let named = activities.filter_map(|activity| {
        let (_, name) = activity.rsplit_once(" sstable ")?;
        // Not “acquiring sstable references”.
        name.contains(|letter: char| letter.is_ascii_digit()).then_some(name)
    });
    named.collect::<BTreeSet<_>>().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sstables_are_counted_by_their_names_in_a_trace() {
        let trace = [
            "Executing single-partition query on guarded",
            "Acquiring sstable references",
            "Bloom filter allows skipping sstable 3",
            "Bloom filter allows skipping sstable 4",
            "Partition index lookup complete (bloom filter false positive) for sstable 5",
            "Bloom filter allows skipping sstable 3",
        ];
        assert_eq!(count_sstables(trace.into_iter()), 3);
        assert_eq!(count_sstables(std::iter::empty()), 0);
    }
}
