//! The name of a table, and how it is used.

use std::time::Duration;

use scylla::client::session::Session as Client;
use scylla::statement::Consistency;

use super::{CHECK_INTERVAL, CassandraStoreError, OWNERS};

/// Which table, and how it is used.
///
/// ```
/// use crivo_store::cassandra::CassandraTable;
///
/// let users = CassandraTable::new("shop", "users"); // columns `key` and `value`
/// let carts = CassandraTable::new("shop", "carts").columns("id", "content").local_quorum("lisbon");
/// ```
#[derive(Debug, Clone)]
pub struct CassandraTable {
    pub(super) keyspace: String,
    pub(super) table: String,
    pub(super) key: String,
    pub(super) value: String,
    /// Where reads and writes are at `LOCAL_QUORUM`; `None` for `QUORUM`.
    pub(super) data_center: Option<String>,
    pub(super) takeover_wait: Duration,
}

impl CassandraTable {
    /// A table with the columns `key blob PRIMARY KEY` and `value blob`. The names are taken as they
    /// stand, with upper and lower case.
    pub fn new(keyspace: impl Into<String>, table: impl Into<String>) -> Self {
        Self {
            keyspace: keyspace.into(),
            table: table.into(),
            key: "key".to_owned(),
            value: "value".to_owned(),
            data_center: None,
            takeover_wait: CHECK_INTERVAL + Duration::from_secs(2),
        }
    }

    /// Other names of the two columns. Both are blobs, and the first is the whole primary key.
    pub fn columns(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), ..self }
    }

    /// Reads and writes at `LOCAL_QUORUM` in this data centre, by its name in the cluster.
    ///
    /// `LOCAL_QUORUM` counts the replicas where the node is that takes a statement. So all statements go to
    /// nodes of this data centre, whatever the client prefers; if none of them answers, neither does the
    /// store. Every owner and every reader of a table must name the same data centre: a scan in another one
    /// may miss what was acknowledged here. The owner's record is still read and changed for the whole
    /// cluster.
    pub fn local_quorum(self, data_center: impl Into<String>) -> Self {
        Self { data_center: Some(data_center.into()), ..self }
    }

    pub(super) fn consistency(&self) -> Consistency {
        match self.data_center {
            Some(_) => Consistency::LocalQuorum,
            None => Consistency::Quorum,
        }
    }

    /// How long a takeover from an owner that has not closed the store waits before it scans: by default
    /// [`CHECK_INTERVAL`] and the two seconds that a server gives a write.
    pub fn takeover_wait(self, wait: Duration) -> Self {
        Self { takeover_wait: wait, ..self }
    }

    /// Creates the table, if it is not there, and that of the owners' records, `crivo_store_owners`. The
    /// keyspace must be there. As all changes of a schema, do this from one client at a time.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub async fn create(&self, client: &Client) -> Result<(), CassandraStoreError> {
        let [key, value] = [&self.key, &self.value].map(|name| quoted(name));
        let data = format!(
            "CREATE TABLE IF NOT EXISTS {} ({key} blob PRIMARY KEY, {value} blob)",
            self.path(&self.table)
        );
        let owners = format!(
            "CREATE TABLE IF NOT EXISTS {} \
             (table_name text PRIMARY KEY, generation bigint, owner text, is_open boolean)",
            self.path(OWNERS)
        );
        for statement in [data, owners] {
            client.query_unpaged(statement, ()).await?;
        }
        Ok(())
    }

    /// A table of the keyspace.
    pub(super) fn path(&self, table: &str) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(table))
    }
}

/// A name in CQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let table = CassandraTable::new("Shop", "a\"b");
        assert_eq!(table.path(&table.table), "\"Shop\".\"a\"\"b\"");
    }
}
