//! Several writers of the keys on one server, who announce every change of the set of keys.
//!
//! Each entry of the stream has one field. Its name is the number of the script that wrote it, which
//! nobody uses twice; its value is `+` and a key that was put and is new, `-` for a key that was deleted,
//! or `=` for a mark, whose number is the script's. A follower knows where it is by the entry that
//! it has read last. If that entry is still there, by its position *and* its number, then so is
//! everything that came after it: streams are trimmed from their beginning, and a server that was
//! restored, or a replica that has become the master, has lost its end. In all other cases the follower
//! has lost the stream, and scans the keys. So it does when it finds an entry that is not one of these:
//! nobody knows what was meant, and its next place in the stream is behind that entry.

use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{RedisResult, Script, ScriptInvocation, cmd};

use super::record::{Record, State};
use super::{RedisStore, RedisStoreError, SCRIPT_KEYS};
use crate::asynchronous::shared::{Announcement, AsyncSharedStore, Followed, Joined};
use crate::{Existed, Owner, Session};

/// How many entries are read at once.
const FOLLOW_COUNT: usize = 1000;

/// A change is announced before it is made: if a command fails, nothing is there that was not announced.
const PUT: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local existed = {}
for i = 3, #KEYS do
    local there = redis.call('EXISTS', KEYS[i])
    if there == 0 then
        redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', ARGV[2], '+' .. KEYS[i])
    end
    redis.call('SET', KEYS[i], ARGV[i + 1])
    existed[i - 2] = there
end
return existed";

const DELETE: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local existed = {}
for i = 3, #KEYS do
    local there = redis.call('EXISTS', KEYS[i])
    if there > 0 then
        redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', ARGV[2], '-')
        redis.call('DEL', KEYS[i])
    end
    existed[i - 2] = there
end
return existed";

const MARK: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', ARGV[2], '=')";

/// The scripts of those who share the keys.
pub(super) struct Scripts {
    put: Script,
    delete: Script,
    mark: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self { put: Script::new(PUT), delete: Script::new(DELETE), mark: Script::new(MARK) }
    }
}

/// An entry of the stream: its position, and names and values of its fields by turns.
type Entry = (String, Vec<Vec<u8>>);

/// The last entry of the stream that somebody has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPosition {
    id: String,
    /// Of the script that wrote it.
    number: Vec<u8>,
}

/// The number of a script: random, so that no two are the same.
fn new_number() -> Result<String, RedisStoreError> {
    Ok(Owner::random()?.to_string())
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisStore<C> {
    /// A script with a number of its own, under a session that is the current one.
    fn announced<'s>(
        &self,
        script: &'s Script,
        session: &Session,
        number: &str,
    ) -> ScriptInvocation<'s> {
        let mut invocation = script.key(self.owner_key());
        invocation.key(self.stream_key());
        invocation.arg(Record::new(*session, State::Shared).to_string());
        invocation.arg(number).arg(self.stream_length);
        invocation
    }

    /// Appends a mark to the stream, and returns its position, if the session is the current one.
    async fn mark(&self, session: &Session, number: Owner) -> RedisResult<Option<String>> {
        let mark = self.announced(&self.shared.mark, session, &number.to_string());
        mark.invoke_async(&mut self.connection.clone()).await
    }

    /// An entry that this crate has not written: the place in the stream is lost.
    fn foreign<T>(&self, entry: &str) -> Option<T> {
        let stream = self.stream_key().escape_ascii().to_string();
        tracing::warn!(
            stream,
            entry,
            "an entry of the stream of announcements is not crivo-store's"
        );
        None
    }

    /// The session of those who share the keys, which begins if there is none.
    async fn shared_session(&self, take_over: bool) -> Result<Session, RedisStoreError> {
        loop {
            let (text, last) = self.record().await?;
            match last {
                Some(Record { session, state: State::Shared }) => return Ok(session),
                Some(Record { session, state: State::Open }) if !take_over => {
                    return Err(RedisStoreError::Owned { owner: session.owner });
                }
                _ => {}
            }
            let generation = self.next_generation(&text, last)?;
            let session = Session { generation, owner: Owner::random()? };
            if self.replace_record(&text, Record::new(session, State::Shared)).await? {
                return Ok(session);
            }
            // Somebody else was faster.
        }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> AsyncSharedStore for RedisStore<C> {
    type NewValue = [u8];
    type Position = StreamPosition;

    async fn join(&self, take_over: bool) -> Result<Joined<StreamPosition>, RedisStoreError> {
        loop {
            let session = self.shared_session(take_over).await?;
            let number = Owner::random()?;
            if let Some(id) = self.mark(&session, number).await? {
                let position = StreamPosition { id, number: number.to_string().into_bytes() };
                return Ok(Joined { session, position });
            }
            // Somebody has taken over in the meantime.
        }
    }

    async fn scan_and_mark(
        &self,
        session: &Session,
        mark: Owner,
        visit: impl FnMut(&[u8]) + Send,
    ) -> Result<(), RedisStoreError> {
        let run_id = self.run_id().await?;
        self.scan_keys(visit).await?;
        self.mark(session, mark).await?.ok_or(RedisStoreError::LostClaim)?;
        self.check_run_id(&run_id).await
    }

    async fn wait(&self, after: &StreamPosition, at_most: Duration) -> Result<(), RedisStoreError> {
        let Some(connection) = &self.stream_connection else {
            tokio::time::sleep(at_most).await;
            return Ok(());
        };
        let mut command = cmd("XREAD");
        // 0 would mean: without end.
        let milliseconds = at_most.as_millis().clamp(1, u32::MAX.into()) as u64;
        command.arg("COUNT").arg(1).arg("BLOCK").arg(milliseconds);
        command.arg("STREAMS").arg(self.stream_key()).arg(&after.id);
        let _: redis::Value = command.query_async(&mut connection.clone()).await?;
        Ok(())
    }

    async fn follow(
        &self,
        session: &Session,
        after: &StreamPosition,
        mut visit: impl FnMut(Announcement<'_, [u8]>) + Send,
    ) -> Result<Option<Followed<StreamPosition>>, RedisStoreError> {
        let mut pipe = redis::pipe();
        pipe.atomic().cmd("GET").arg(self.owner_key());
        pipe.cmd("XRANGE").arg(self.stream_key()).arg(&after.id).arg("+");
        pipe.arg("COUNT").arg(FOLLOW_COUNT + 1);
        let (record, entries): (Option<String>, Vec<Entry>) =
            pipe.query_async(&mut self.connection.clone()).await?;
        if record != Some(Record::new(*session, State::Shared).to_string()) {
            return Ok(None);
        }
        let is_end = entries.len() <= FOLLOW_COUNT;
        let mut entries = entries.into_iter();
        let known = entries.next();
        if known.is_none_or(|(id, fields)| id != after.id || fields.first() != Some(&after.number))
        {
            return Ok(None);
        }
        let mut position = None;
        for (id, fields) in entries {
            let Ok([number, change]) = <[Vec<u8>; 2]>::try_from(fields) else {
                return Ok(self.foreign(&id));
            };
            match change.split_first() {
                Some((b'+', key)) if key.starts_with(&self.prefix) => {
                    visit(Announcement::Put(&key[self.prefix.len()..]));
                }
                Some((b'-', [])) => visit(Announcement::Delete),
                Some((b'=', [])) => {
                    let mark = str::from_utf8(&number).ok();
                    if let Some(mark) = mark.and_then(|mark| u128::from_str_radix(mark, 16).ok()) {
                        visit(Announcement::Mark(Owner(mark)));
                    }
                }
                _ => return Ok(self.foreign(&id)),
            }
            position = Some(StreamPosition { id, number });
        }
        Ok(Some(Followed { position: position.unwrap_or_else(|| after.clone()), is_end }))
    }

    async fn put_all(
        &self,
        session: &Session,
        entries: &[(&[u8], &[u8])],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        self.check_keys(entries.iter().map(|(key, _)| *key))?;
        let mut existed = Vec::with_capacity(entries.len());
        for part in entries.chunks(SCRIPT_KEYS) {
            let mut invocation = self.announced(&self.shared.put, session, &new_number()?);
            for (key, value) in part {
                invocation.key(self.full_key(key)).arg(*value);
            }
            existed.append(&mut self.changed(&invocation).await?);
        }
        Ok(existed)
    }

    async fn delete_all(
        &self,
        session: &Session,
        keys: &[&[u8]],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        self.check_keys(keys.iter().copied())?;
        let mut existed = Vec::with_capacity(keys.len());
        for part in keys.chunks(SCRIPT_KEYS) {
            let mut invocation = self.announced(&self.shared.delete, session, &new_number()?);
            for key in part {
                invocation.key(self.full_key(key));
            }
            existed.append(&mut self.changed(&invocation).await?);
        }
        Ok(existed)
    }
}
