//! Keys of a single [Redis](https://redis.io) or [Valkey](https://valkey.io) server.
//!
//! # What breaks the promise
//!
//! - A write that bypasses `crivo-store`, as in every store.
//! - A server that loses a *delete* that it has acknowledged: after a restart without
//!   `appendfsync always`, or a failover to a replica that was behind, the deleted key is back, and a
//!   guard that removes keys has forgotten it. Open the store again after such an event, or choose a
//!   kind of filter that removes nothing.
//! - A client that sends a command again when its answer was lost. The clients of the crate `redis` for
//!   one server do not.
//!
//! Keys that expire or are evicted cost false positives until the next rebuild.
//!
//! Redis Cluster refuses the scripts, because a key and the owner's record are in different slots.

use std::fmt;

use redis::aio::ConnectionLike;
use redis::{FromRedisValue, RedisResult, Script, cmd};

use crate::{AsyncOwnedStore, AsyncStore, Claim, Existed, Owner, Session};

/// The key of the owner's record is this and the prefix.
const OWNER_KEY: &str = "crivo-store.owner:";

/// How many keys one script changes: other clients wait meanwhile.
const SCRIPT_KEYS: usize = 500;

/// About how many keys one step of a scan looks at.
const SCAN_COUNT: u64 = 1000;

/// Answers nothing if the owner's record is not the one that is expected.
const PUT: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local existed = {}
for i = 2, #KEYS do
    existed[i - 1] = redis.call('EXISTS', KEYS[i])
    redis.call('SET', KEYS[i], ARGV[i])
end
return existed";

const DELETE: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local existed = {}
for i = 2, #KEYS do
    existed[i - 1] = redis.call('DEL', KEYS[i])
end
return existed";

/// Replaces the owner's record, if it is the one that is expected.
const REPLACE_RECORD: &str = "
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1";

/// The keys with one prefix on a Redis or Valkey server: bytes to bytes.
///
/// It takes the caller's own connection, with its credentials, TLS and time-outs: one that can be
/// cloned, such as `redis::aio::MultiplexedConnection`. It adds one key, `crivo-store.owner:` and the
/// prefix, which says who owns the keys. Writes are scripts that check it, so that an owner that was
/// replaced cannot write.
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
/// let connection = client.get_multiplexed_async_connection().await?;
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
    put: Script,
    delete: Script,
    replace_record: Script,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisStore<C> {
    /// The keys that begin with this prefix. In questions and answers the prefix is left out.
    pub fn new(connection: C, prefix: impl Into<Vec<u8>>) -> Self {
        Self {
            connection,
            prefix: prefix.into(),
            put: Script::new(PUT),
            delete: Script::new(DELETE),
            replace_record: Script::new(REPLACE_RECORD),
        }
    }

    fn full_key(&self, key: &[u8]) -> Vec<u8> {
        [&*self.prefix, key].concat()
    }

    fn owner_key(&self) -> Vec<u8> {
        [OWNER_KEY.as_bytes(), &*self.prefix].concat()
    }

    async fn query<T: FromRedisValue>(&self, command: &redis::Cmd) -> RedisResult<T> {
        command.query_async(&mut self.connection.clone()).await
    }

    /// Runs a script on keys and their arguments, under a claim that is the current one.
    async fn change<'k>(
        &self,
        script: &Script,
        claim: &Claim,
        entries: impl Iterator<Item = (&'k [u8], Option<&'k [u8]>)>,
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let mut invocation = script.key(self.owner_key());
        invocation.arg(record(claim.session, true));
        for (key, argument) in entries {
            invocation.key(self.full_key(key));
            if let Some(argument) = argument {
                invocation.arg(argument);
            }
        }
        let existed: Option<Vec<u64>> =
            invocation.invoke_async(&mut self.connection.clone()).await?;
        let existed = existed.ok_or(RedisStoreError::LostClaim)?;
        let existed = existed.into_iter();
        Ok(existed.map(|count| if count > 0 { Existed::Yes } else { Existed::No }).collect())
    }

    /// Whether the owner's record was `old`, and is `new` now.
    async fn replace_record(&self, old: &str, new: &str) -> RedisResult<bool> {
        let mut invocation = self.replace_record.key(self.owner_key());
        invocation.arg(old).arg(new);
        invocation.invoke_async(&mut self.connection.clone()).await
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> AsyncStore for RedisStore<C> {
    type Key = [u8];
    type Value = Vec<u8>;
    type Error = RedisStoreError;

    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RedisStoreError> {
        Ok(self.query(cmd("GET").arg(self.full_key(key))).await?)
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, RedisStoreError> {
        Ok(self.query(cmd("EXISTS").arg(self.full_key(key))).await?)
    }

    async fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, RedisStoreError> {
        let mut values = Vec::with_capacity(keys.len());
        for part in keys.chunks(SCRIPT_KEYS) {
            let mut command = cmd("MGET");
            for key in part {
                command.arg(self.full_key(key));
            }
            let part: Vec<Option<Vec<u8>>> = self.query(&command).await?;
            values.extend(part);
        }
        Ok(values)
    }

    async fn scan(&self, mut visit: impl FnMut(&[u8]) + Send) -> Result<(), RedisStoreError> {
        let pattern = prefix_pattern(&self.prefix);
        let owner_key = self.owner_key();
        let mut cursor = 0u64;
        loop {
            let mut command = cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
            let (next, keys): (u64, Vec<Vec<u8>>) = self.query(&command).await?;
            for key in keys.iter().filter(|key| **key != owner_key) {
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
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> AsyncOwnedStore for RedisStore<C> {
    type NewValue = [u8];

    /// A command that timed out may still be on its way.
    const LATE_WRITES: bool = true;

    async fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, RedisStoreError> {
        loop {
            let old: Option<String> = self.query(cmd("GET").arg(self.owner_key())).await?;
            let old = old.unwrap_or_default();
            let (last, is_open) = match &*old {
                "" => (None, false),
                text => {
                    let (last, is_open) = parse_record(text)
                        .ok_or_else(|| RedisStoreError::DamagedRecord { record: old.clone() })?;
                    (Some(last), is_open)
                }
            };
            if let (Some(last), true, false) = (last, is_open, take_over) {
                return Err(RedisStoreError::Owned { owner: last.owner });
            }
            let generation = last.map_or(0, |last| last.generation) + 1;
            let session = Session { generation, owner };
            if self.replace_record(&old, &record(session, true)).await? {
                return Ok(Claim { session, closed: last.filter(|_| !is_open) });
            }
            // Another owner was faster.
        }
    }

    async fn release(&self, claim: &Claim) -> Result<(), RedisStoreError> {
        let (open, closed) = (record(claim.session, true), record(claim.session, false));
        match self.replace_record(&open, &closed).await? {
            true => Ok(()),
            false => Err(RedisStoreError::LostClaim),
        }
    }

    async fn put(
        &self,
        claim: &Claim,
        key: &[u8],
        value: &[u8],
    ) -> Result<Existed, RedisStoreError> {
        let existed = self.put_batch(claim, &[(key, value)]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&[u8], &[u8])],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let mut existed = Vec::with_capacity(entries.len());
        for part in entries.chunks(SCRIPT_KEYS) {
            let part = part.iter().map(|(key, value)| (*key, Some(*value)));
            existed.append(&mut self.change(&self.put, claim, part).await?);
        }
        Ok(existed)
    }

    async fn delete(&self, claim: &Claim, key: &[u8]) -> Result<Existed, RedisStoreError> {
        let existed = self.delete_batch(claim, &[key]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[&[u8]],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let mut existed = Vec::with_capacity(keys.len());
        for part in keys.chunks(SCRIPT_KEYS) {
            let part = part.iter().map(|key| (*key, None));
            existed.append(&mut self.change(&self.delete, claim, part).await?);
        }
        Ok(existed)
    }

    fn is_lost_claim(error: &RedisStoreError) -> bool {
        matches!(error, RedisStoreError::LostClaim)
    }
}

/// The owner's record: generation, owner, `open` or `closed`.
fn record(session: Session, is_open: bool) -> String {
    let state = if is_open { "open" } else { "closed" };
    format!("{} {} {state}", session.generation, session.owner)
}

/// The session of a record, and whether it is open.
fn parse_record(record: &str) -> Option<(Session, bool)> {
    let (generation, rest) = record.split_once(' ')?;
    let (owner, state) = rest.split_once(' ')?;
    let owner = Owner(u128::from_str_radix(owner, 16).ok()?);
    let is_open = match state {
        "open" => true,
        "closed" => false,
        _ => return None,
    };
    Some((Session { generation: generation.parse().ok()?, owner }, is_open))
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

/// Why keys on a Redis server could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisStoreError {
    /// The server or the connection failed. A write may have been applied, or will be.
    #[error(transparent)]
    Server(#[from] redis::RedisError),
    /// The keys have an owner that has not closed the store.
    #[error("the keys are owned by {owner}, who has not closed the store; take over if it is gone")]
    Owned {
        /// Who owns them.
        owner: Owner,
    },
    /// Another owner has taken over. Nothing was written.
    #[error("another owner has taken over the keys; open the store again to write to it")]
    LostClaim,
    /// The owner's record is not one that this crate writes.
    #[error("the owner's record is damaged: {record:?}")]
    DamagedRecord {
        /// What was found.
        record: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_are_written() {
        let session = Session { generation: 7, owner: Owner(0xabc) };
        assert_eq!(record(session, true), format!("7 {:032x} open", 0xabc));
        for is_open in [false, true] {
            assert_eq!(parse_record(&record(session, is_open)), Some((session, is_open)));
        }
        for damaged in ["", "7", "7 abc", "x abc open", "7 abc half", "7 xyz open"] {
            assert_eq!(parse_record(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_pattern_has_no_meaning_but_its_bytes() {
        assert_eq!(prefix_pattern(b"a*[b]\\:"), b"a\\*\\[b\\]\\\\:*");
    }
}
