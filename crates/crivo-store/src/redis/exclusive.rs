//! One owner of the keys on one server.

use redis::Script;
use redis::aio::ConnectionLike;

use super::record::{Record, State};
use super::{RedisStore, RedisStoreError, SCRIPT_KEYS};
use crate::{AsyncOwnedStore, Claim, Existed, Owner, Session};

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

/// The scripts of an owner.
pub(super) struct Scripts {
    put: Script,
    delete: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self { put: Script::new(PUT), delete: Script::new(DELETE) }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisStore<C> {
    /// Whether the owner's record was `old`, and is `new` now. If the answer was lost, the record tells: nobody
    /// else would have this owner, and the store would be closed to all who do not take over.
    async fn claimed(&self, old: &str, new: Record) -> Result<bool, RedisStoreError> {
        match self.replace_record(old, new).await {
            Ok(is_replaced) => Ok(is_replaced),
            Err(error) => match self.record().await {
                Ok((_, Some(record))) if record == new => Ok(true),
                _ => Err(error.into()),
            },
        }
    }

    /// Runs a script on keys and their arguments, under a claim that is the current one.
    async fn change<'k>(
        &self,
        script: &Script,
        claim: &Claim,
        entries: impl Iterator<Item = (&'k [u8], Option<&'k [u8]>)>,
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let mut invocation = script.key(self.owner_key());
        invocation.arg(Record::new(claim.session, State::Open).to_string());
        for (key, argument) in entries {
            invocation.key(self.full_key(key));
            if let Some(argument) = argument {
                invocation.arg(argument);
            }
        }
        self.changed(&invocation).await
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> AsyncOwnedStore for RedisStore<C> {
    type NewValue = [u8];

    /// A command that timed out may still be on its way.
    const LATE_WRITES: bool = true;

    async fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, RedisStoreError> {
        loop {
            let (text, last) = self.record().await?;
            match last {
                Some(Record { session, state: State::Open }) if !take_over => {
                    return Err(RedisStoreError::Owned { owner: session.owner });
                }
                Some(Record { state: State::Shared, .. }) if !take_over => {
                    return Err(RedisStoreError::Shared);
                }
                _ => {}
            }
            let generation = self.next_generation(&text, last)?;
            let session = Session { generation, owner };
            if self.claimed(&text, Record::new(session, State::Open)).await? {
                let closed = last.filter(|last| last.state == State::Closed);
                return Ok(Claim { session, closed: closed.map(|last| last.session) });
            }
            // Another owner was faster.
        }
    }

    async fn release(&self, claim: &Claim) -> Result<(), RedisStoreError> {
        let open = Record::new(claim.session, State::Open).to_string();
        match self.replace_record(&open, Record::new(claim.session, State::Closed)).await? {
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
        let existed = AsyncOwnedStore::put_batch(self, claim, &[(key, value)]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&[u8], &[u8])],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        self.check_keys(entries.iter().map(|(key, _)| *key))?;
        let mut existed = Vec::with_capacity(entries.len());
        for (at, part) in entries.chunks(SCRIPT_KEYS).enumerate() {
            let changes = part.iter().map(|(key, value)| (*key, Some(*value)));
            let answer = self.change(&self.exclusive.put, claim, changes).await;
            // A later script may be refused, but the first was not.
            let of_all = |error: RedisStoreError| match at {
                0 => error.of_first_script(part.len()),
                _ => error,
            };
            existed.append(&mut answer.map_err(of_all)?);
        }
        Ok(existed)
    }

    async fn delete(&self, claim: &Claim, key: &[u8]) -> Result<Existed, RedisStoreError> {
        let existed = AsyncOwnedStore::delete_batch(self, claim, &[key]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[&[u8]],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        self.check_keys(keys.iter().copied())?;
        let mut existed = Vec::with_capacity(keys.len());
        for part in keys.chunks(SCRIPT_KEYS) {
            let part = part.iter().map(|key| (*key, None));
            existed.append(&mut self.change(&self.exclusive.delete, claim, part).await?);
        }
        Ok(existed)
    }

    fn is_lost_claim(error: &RedisStoreError) -> bool {
        matches!(error, RedisStoreError::LostClaim)
    }

    fn is_refusal(error: &RedisStoreError) -> bool {
        matches!(error, RedisStoreError::Refused(_) | RedisStoreError::ReservedKey { .. })
    }

    /// Both errors come before anything is written, or not at all.
    fn is_batch_refusal(error: &RedisStoreError) -> bool {
        Self::is_refusal(error)
    }
}
