//! Keys of [Redis](https://redis.io) or [Valkey](https://valkey.io): on one server ([`RedisStore`]),
//! or in a cluster (`ClusterStore`, feature `redis-cluster`). The tests run on Redis; Valkey has the same
//! commands, but is not tested.
//!
//! # What breaks the promise
//!
//! - A write that bypasses `crivo-store`, as in every store. So does a write through a store whose prefix
//!   overlaps: the key `b` of the prefix `user:a` is the key `ab` of the prefix `user:`. End prefixes with
//!   a character that they have nowhere else.
//! - For one owner: a server that loses a *delete* that it has acknowledged. After a restart without
//!   `appendfsync always`, or a failover to a replica that was behind, the deleted key is back, and a
//!   guard that removes keys has forgotten it. Open the store again after such an event, or choose a
//!   kind of filter that removes nothing. Those who [share](crate::Shared) the keys notice, and scan
//!   them.
//! - For one owner: a server that has lost the owner's record, as after `FLUSHALL` or a restart without
//!   persistence. A second owner is not refused there, and the first one does not know of its keys until one of its
//!   own writes is refused.
//! - For those who share the keys: a server that was replaced by another, and still answers some of them.
//! - A client that sends a command again when its answer was lost. The clients of the crate `redis` for
//!   one server do not.
//!
//! Keys that expire or are evicted cost false positives until the next rebuild.
//!
//! `RedisStore` refuses a node of a cluster: a scan of one node would miss the keys of the others.

#[cfg(feature = "redis-cluster")]
mod cluster;
mod exclusive;
mod record;
mod shared;

#[cfg(feature = "redis-cluster")]
pub use cluster::ClusterStore;
pub use shared::StreamPosition;

use std::fmt;

use redis::aio::ConnectionLike;
use redis::{FromRedisValue, RedisResult, Script, ScriptInvocation, cmd};

use crate::{AsyncStore, Existed, Owner};
use record::Record;

/// The key of the owner's record is this and the prefix.
const OWNER_KEY: &str = "crivo-store.owner:";

/// The key of the stream of announcements is this and the prefix.
const STREAM_KEY: &str = "crivo-store.stream:";

/// How long the stream is, if nobody says.
const STREAM_LENGTH: u64 = 100_000;

/// How many keys one script changes: other clients wait meanwhile.
const SCRIPT_KEYS: usize = 500;

/// About how many keys one step of a scan looks at.
const SCAN_COUNT: u64 = 1000;

/// Replaces the owner's record, if it is the one that is expected. A stream belongs to one record.
const REPLACE_RECORD: &str = "
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('DEL', KEYS[2])
return 1";

/// The keys with one prefix on a Redis or Valkey server: bytes to bytes.
///
/// It takes the caller's own connection, with its credentials, TLS and time-outs: one that can be
/// cloned. A program that runs for long should take `redis::aio::ConnectionManager` (`Client::get_connection_manager`),
/// which connects again after the server has restarted; a `MultiplexedConnection` is dead then, and every question
/// that reaches the store is an error. The retries of its configuration are those of connecting: a command whose
/// answer was lost is an error, and is not sent again.
///
/// Values are strings. A key of another type under the prefix is counted as present, and its value cannot be
/// read.
///
/// It adds two keys. `crivo-store.owner:` and the
/// prefix says who may write: writes are scripts that check it, so that an owner that was replaced cannot
/// write. `crivo-store.stream:` and the prefix has the announcements of those who
/// [share](crate::Shared) the keys.
///
/// Redis cannot tell whether an owner is alive. After a crash the next owner must
/// [take over](crate::OpenOptions::take_over).
///
/// ```no_run
/// use crivo::filter::Kind;
/// use crivo_store::redis::RedisStore;
/// use crivo_store::{AsyncGuarded, GuardOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let connection = client.get_connection_manager().await?;
/// let store = RedisStore::new(connection, "user:");
/// let users = AsyncGuarded::open(store, GuardOptions::new(Kind::Cuckoo, 0.001)?).await?;
/// users.put(b"ana", b"1").await?;
/// assert!(!users.contains(b"rui").await?); // the server was not asked
/// users.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct RedisStore<C> {
    connection: C,
    prefix: Vec<u8>,
    /// Where this store waits for announcements.
    stream_connection: Option<C>,
    stream_length: u64,
    replace_record: Script,
    exclusive: exclusive::Scripts,
    shared: shared::Scripts,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisStore<C> {
    /// The keys that begin with this prefix. In questions and answers the prefix is left out.
    pub fn new(connection: C, prefix: impl Into<Vec<u8>>) -> Self {
        Self {
            connection,
            prefix: prefix.into(),
            stream_connection: None,
            stream_length: STREAM_LENGTH,
            replace_record: Script::new(REPLACE_RECORD),
            exclusive: exclusive::Scripts::new(),
            shared: shared::Scripts::new(),
        }
    }

    /// A second connection to the same server, on which a [shared](crate::Shared) store waits for what
    /// others announce. Nothing else can use it meanwhile. Without it, the stream is read a few times
    /// within the staleness that is allowed.
    pub fn stream_connection(self, connection: C) -> Self {
        Self { stream_connection: Some(connection), ..self }
    }

    /// About how many announcements the server keeps: 100,000 by default. Each takes the length of a key
    /// and about 60 bytes. A follower that falls behind by more scans the keys.
    pub fn stream_length(self, entries: u64) -> Self {
        Self { stream_length: entries.max(1), ..self }
    }

    /// The name of a key, which others may have taken: see [`is_own`](Self::is_own).
    fn full_key(&self, key: &[u8]) -> Vec<u8> {
        [&*self.prefix, key].concat()
    }

    /// Whether this is the name of the owner's record or of the stream. With a prefix such as the empty one,
    /// a key could have it.
    fn is_own(&self, name: &[u8]) -> bool {
        let own = |first: &str| {
            name.strip_prefix(first.as_bytes()).is_some_and(|rest| rest == self.prefix)
        };
        own(OWNER_KEY) || own(STREAM_KEY)
    }

    /// An error if one of these keys would overwrite the owner's record or the stream.
    fn check_keys<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
    ) -> Result<(), RedisStoreError> {
        match keys.into_iter().find(|key| self.is_own(&self.full_key(key))) {
            Some(key) => Err(RedisStoreError::ReservedKey { key: key.escape_ascii().to_string() }),
            None => Ok(()),
        }
    }

    fn owner_key(&self) -> Vec<u8> {
        [OWNER_KEY.as_bytes(), &*self.prefix].concat()
    }

    fn stream_key(&self) -> Vec<u8> {
        [STREAM_KEY.as_bytes(), &*self.prefix].concat()
    }

    async fn query<T: FromRedisValue>(&self, command: &redis::Cmd) -> RedisResult<T> {
        command.query_async(&mut self.connection.clone()).await
    }

    /// Runs a script that answers for each key whether it was there, or nothing if the record has changed.
    async fn changed(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let counts: Option<Vec<u64>> = script.invoke_async(&mut self.connection.clone()).await?;
        let counts = counts.ok_or(RedisStoreError::LostClaim)?;
        Ok(counts.into_iter().map(self::existed).collect())
    }

    /// The owner's record, as text and as what it says.
    async fn record(&self) -> Result<(String, Option<Record>), RedisStoreError> {
        let key = self.owner_key();
        parsed(&key, self.query(cmd("GET").arg(&key)).await?)
    }

    /// The generation after that of the owner's record.
    fn next_generation(&self, text: &str, last: Option<Record>) -> Result<u64, RedisStoreError> {
        Record::next_generation(last, 0).ok_or_else(|| damaged(&self.owner_key(), text))
    }

    /// Whether the owner's record was `old`, and is `new` now.
    async fn replace_record(&self, old: &str, new: Record) -> RedisResult<bool> {
        let mut invocation = self.replace_record.key(self.owner_key());
        invocation.key(self.stream_key()).arg(old).arg(new.to_string());
        invocation.invoke_async(&mut self.connection.clone()).await
    }

    async fn scan_keys(&self, mut visit: impl FnMut(&[u8]) + Send) -> Result<(), RedisStoreError> {
        let pattern = prefix_pattern(&self.prefix);
        let mut cursor = 0u64;
        loop {
            let mut command = cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
            let (next, keys): (u64, Vec<Vec<u8>>) = self.query(&command).await?;
            for key in keys.iter().filter(|key| !self.is_own(key)) {
                if let Some(key) = key.strip_prefix(&*self.prefix) {
                    visit(key);
                }
            }
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Whether the same process answers as before.
    async fn check_run_id(&self, run_id: &str) -> Result<(), RedisStoreError> {
        match self.run_id().await? == run_id {
            true => Ok(()),
            false => Err(RedisStoreError::Interrupted),
        }
    }

    /// Which process answers: another number after each start.
    async fn run_id(&self) -> Result<String, RedisStoreError> {
        let info: redis::Value = self.query(cmd("INFO").arg("server")).await?;
        // The client of a cluster asks all masters.
        if matches!(info, redis::Value::Map(_)) {
            return Err(RedisStoreError::Cluster);
        }
        let info: String = redis::from_redis_value(info).map_err(redis::RedisError::from)?;
        if ["redis_mode:cluster", "server_mode:cluster"].iter().any(|mode| info.contains(mode)) {
            return Err(RedisStoreError::Cluster);
        }
        Ok(run_id(&info)?.to_owned())
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> AsyncStore for RedisStore<C> {
    type Key = [u8];
    type Value = Vec<u8>;
    type Error = RedisStoreError;

    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RedisStoreError> {
        let name = self.full_key(key);
        if self.is_own(&name) {
            return Ok(None);
        }
        Ok(self.query(cmd("GET").arg(name)).await?)
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, RedisStoreError> {
        let name = self.full_key(key);
        Ok(!self.is_own(&name) && self.query(cmd("EXISTS").arg(name)).await?)
    }

    async fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, RedisStoreError> {
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.full_key(key)).collect();
        let mut values = values_of(&self.connection, &names).await?;
        for (value, _) in values.iter_mut().zip(&names).filter(|(_, name)| self.is_own(name)) {
            *value = None;
        }
        Ok(values)
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Vec<bool>, RedisStoreError> {
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.full_key(key)).collect();
        let mut found = Vec::with_capacity(names.len());
        for part in names.chunks(SCRIPT_KEYS) {
            // A single command would only count those that are there.
            let mut pipe = redis::pipe();
            part.iter().for_each(|name| {
                pipe.cmd("EXISTS").arg(name);
            });
            let part: Vec<bool> = pipe.query_async(&mut self.connection.clone()).await?;
            found.extend(part);
        }
        for (found, _) in found.iter_mut().zip(&names).filter(|(_, name)| self.is_own(name)) {
            *found = false;
        }
        Ok(found)
    }

    async fn scan(&self, visit: impl FnMut(&[u8]) + Send) -> Result<(), RedisStoreError> {
        // A cursor means nothing to a server that was started in the meantime.
        let run_id = self.run_id().await?;
        self.scan_keys(visit).await?;
        self.check_run_id(&run_id).await
    }
}

/// The values of these names. The client of a cluster asks every master for its part.
async fn values_of<C: ConnectionLike + Clone>(
    connection: &C,
    names: &[Vec<u8>],
) -> RedisResult<Vec<Option<Vec<u8>>>> {
    let mut values = Vec::with_capacity(names.len());
    for part in names.chunks(SCRIPT_KEYS) {
        let part: Vec<Option<Vec<u8>>> =
            cmd("MGET").arg(part).query_async(&mut connection.clone()).await?;
        values.extend(part);
    }
    Ok(values)
}

/// What a script counted before it changed a key.
fn existed(count: u64) -> Existed {
    if count > 0 { Existed::Yes } else { Existed::No }
}

/// The owner's record of this key, as text and as what it says.
fn parsed(key: &[u8], text: Option<String>) -> Result<(String, Option<Record>), RedisStoreError> {
    let Some(text) = text else { return Ok((String::new(), None)) };
    match Record::parse(&text) {
        Some(record) => Ok((text, Some(record))),
        None => Err(damaged(key, &text)),
    }
}

fn damaged(key: &[u8], record: &str) -> RedisStoreError {
    let key = key.escape_ascii().to_string();
    RedisStoreError::DamagedRecord { key, record: record.to_owned() }
}

/// Which process has answered to `INFO`. Without it a restart in the middle of a scan would go unnoticed, and keys
/// would be missed.
fn run_id(info: &str) -> Result<&str, RedisStoreError> {
    info_field(info, "run_id").filter(|id| !id.is_empty()).ok_or(RedisStoreError::NoRunId)
}

/// A field of the answer to `INFO`.
fn info_field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// A pattern that matches what begins with these bytes.
fn prefix_pattern(prefix: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(prefix.len() + 1);
    for &byte in prefix {
        if b"*?[]\\^-".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

impl<C> fmt::Debug for RedisStore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix.escape_ascii().to_string();
        f.debug_struct("RedisStore").field("prefix", &prefix).finish_non_exhaustive()
    }
}

impl From<redis::RedisError> for RedisStoreError {
    fn from(error: redis::RedisError) -> Self {
        Self::Server(error)
    }
}

/// Why keys on a Redis server could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisStoreError {
    /// The server or the connection failed. A write may have been applied, or will be.
    #[error(
        "the server has not done it, or its answer was lost; a write may have been applied: {0}"
    )]
    Server(redis::RedisError),
    /// The server has refused to write, as when it has no memory left, or is a replica now; or it has refused
    /// the connection. Nothing was written.
    #[error("the server has refused the write: {0}")]
    Refused(redis::RedisError),
    /// The keys have an owner that has not closed the store.
    #[error("the keys are owned by {owner}, who has not closed the store; take over if it is gone")]
    Owned {
        /// Who owns them.
        owner: Owner,
    },
    /// The keys are shared by several writers.
    #[error("the keys are shared by several writers; share them too, or take over if all are gone")]
    Shared,
    /// Another owner has taken over, or the owner's record is gone, as after `FLUSHALL`. Nothing was
    /// written; of a batch, a part may have been written before. Those who share the keys join again by
    /// themselves as soon as they can.
    #[error(
        "the keys have another owner, or none, and nothing was written, except perhaps a part of a batch; \
         an owner must open the store again; those who share it join again by themselves when they can, \
         and may then repeat the write"
    )]
    LostClaim,
    /// The owner's record is not one that this crate writes.
    #[error(
        "the owner's record, the key \"{key}\", is damaged: {record:?}; \
         when no program writes to the store, delete that key and open the store again"
    )]
    DamagedRecord {
        /// The name of its key, where bytes that are not text are escaped.
        key: String,
        /// What was found.
        record: String,
    },
    /// A server was started again or replaced by another, or slots of a cluster have moved, while the keys
    /// were scanned.
    #[error(
        "servers were restarted or replaced, or slots moved, while the keys were scanned; try again"
    )]
    Interrupted,
    /// The server does not tell its `run_id`, by which a restart in the middle of a scan is noticed.
    #[error(
        "the server does not tell its run_id, without which a scan could miss keys; connect to a server \
         whose INFO tells it, past any proxy that leaves it out"
    )]
    NoRunId,
    /// The server is a node of a Redis Cluster, and has only a part of the keys: see `ClusterStore`.
    #[error(
        "the server is a node of a Redis Cluster, and has only a part of the keys; \
         use ClusterStore, of the feature `redis-cluster`"
    )]
    Cluster,
    /// The masters of a cluster do not serve all slots.
    #[error(
        "the masters of the cluster serve {served} slots of 16384; \
         try again when every slot has a master, as CLUSTER INFO tells"
    )]
    MissingSlots {
        /// How many they serve.
        served: u32,
    },
    /// A prefix for a cluster has a brace.
    #[error(
        "the prefix \"{prefix}\" has a brace, which would decide about slots; \
         choose one without {{ and }}"
    )]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// With this prefix, the key has the name of the owner's record or of the stream. Nothing was written.
    #[error(
        "with this prefix, the key \"{key}\" has the name of a key of crivo-store's own; \
         nothing was written: choose another prefix or key"
    )]
    ReservedKey {
        /// The key.
        key: String,
    },
    /// The system has no random numbers.
    #[error(
        "the system has no random numbers: {0}; \
         let the program have them (getrandom, or /dev/urandom), and try again"
    )]
    Random(getrandom::Error),
}

/// The codes of errors by which a server, and no proxy before it, says that it will not run a command. In a
/// script they come from its first write: one that has written is not stopped for such a reason.
const REFUSALS: [&str; 9] = [
    "BUSY",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOAUTH",
    "NOPERM",
    "NOREPLICAS",
    "OOM",
    "READONLY",
];

impl RedisStoreError {
    /// What an error of the first script of a put means, which writes so many keys.
    fn of_first_script(self, keys: usize) -> Self {
        let Self::Server(error) = self else { return self };
        let is_refusal = error.code().is_some_and(|code| {
            // A user may have the right to write some of several keys.
            REFUSALS.contains(&code) && (keys == 1 || code != "NOPERM")
        });
        // Without a connection nothing was sent.
        match is_refusal || error.is_connection_refusal() {
            true => Self::Refused(error),
            false => Self::Server(error),
        }
    }
}

impl From<getrandom::Error> for RedisStoreError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use redis::{RedisFuture, Value};

    use super::*;
    use crate::{AsyncOwnedStore, Session};

    /// A connection with these answers to the next commands.
    #[derive(Clone)]
    struct Answers(Arc<Mutex<VecDeque<RedisResult<Value>>>>);

    impl Answers {
        fn new(answers: impl IntoIterator<Item = RedisResult<Value>>) -> Self {
            Self(Arc::new(Mutex::new(answers.into_iter().collect())))
        }
    }

    impl ConnectionLike for Answers {
        fn req_packed_command<'a>(&'a mut self, _: &'a redis::Cmd) -> RedisFuture<'a, Value> {
            let answer = self.0.lock().unwrap().pop_front().unwrap();
            Box::pin(async { answer })
        }

        fn req_packed_commands<'a>(
            &'a mut self,
            _: &'a redis::Pipeline,
            _: usize,
            _: usize,
        ) -> RedisFuture<'a, Vec<Value>> {
            unreachable!("no pipeline is sent")
        }

        fn get_db(&self) -> i64 {
            0
        }
    }

    fn text(text: &str) -> RedisResult<Value> {
        Ok(Value::BulkString(text.as_bytes().to_vec()))
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_server_without_a_run_id_is_not_scanned() {
        for info in
            ["# Server\r\nredis_mode:standalone\r\n", "run_id:\r\nredis_mode:standalone\r\n", ""]
        {
            let end = Value::Array(vec![Value::BulkString(b"0".to_vec()), Value::Array(vec![])]);
            let store = RedisStore::new(Answers::new([text(info), Ok(end), text(info)]), "t:");
            let error = block_on(store.scan(|_| ())).unwrap_err();
            assert!(matches!(error, RedisStoreError::NoRunId), "{info:?}: {error}");
            assert!(error.to_string().contains("INFO"), "{error}");
        }
    }

    #[test]
    fn a_claim_whose_answer_was_lost_is_one_if_the_record_says_so() {
        let owner = Owner(0xabc);
        let lost =
            || Err(redis::RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)));
        let claim = |before: &str, after| {
            let answers = Answers::new([text(before), lost(), after]);
            block_on(RedisStore::new(answers, "t:").claim(owner, false))
        };
        let claimed = claim("7 def closed", text("8 abc open")).unwrap();
        assert_eq!(claimed.session, Session { generation: 8, owner });
        assert_eq!(claimed.closed, Some(Session { generation: 7, owner: Owner(0xdef) }));
        // It has not arrived yet, somebody else was faster, or the record cannot be read either.
        for after in
            [text("7 def closed"), text("8 def open"), text("9 abc open"), text("mine"), lost()]
        {
            let error = claim("7 def closed", after).unwrap_err();
            assert!(matches!(error, RedisStoreError::Server(_)), "{error}");
        }
    }

    #[test]
    fn a_pattern_has_no_meaning_but_its_bytes() {
        assert_eq!(prefix_pattern(b"a*[b]\\:"), b"a\\*\\[b\\]\\\\:*");
    }

    #[test]
    fn a_field_of_info_is_found_by_its_whole_name() {
        let info = "# Server\r\nrun_id_old:1\r\nrun_id:abc\r\n";
        assert_eq!(info_field(info, "run_id"), Some("abc"));
        assert_eq!(info_field(info, "id"), None);
    }
}
