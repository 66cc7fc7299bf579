//! What a guard needs of a store.

use std::error::Error;

use crivo::{Digest, KeyHasher};

/// Whether a key was in the store before it was written or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existed {
    /// It was there.
    Yes,
    /// It was not there.
    No,
    /// The store does not tell, or not with certainty.
    Unknown,
}

/// A store that can be asked, with calls that block.
pub trait Store: Send + Sync + 'static {
    /// A key, as callers give it.
    type Key<'k>;
    /// A value, as the store returns it.
    type Value;
    /// Why the store could not answer.
    type Error: Error + Send + Sync + 'static;

    /// The digest of a key: of bytes that are the same whenever the store takes two keys for one.
    ///
    /// It must not change while a saved guard may be read: a guard of other digests would hide every key. If it has
    /// to, delete the guards' files, or name others.
    fn digest(hasher: &KeyHasher, key: &Self::Key<'_>) -> Digest;

    /// The value of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get(&self, key: &Self::Key<'_>) -> Result<Option<Self::Value>, Self::Error>;

    /// Whether there is a value for the key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn contains(&self, key: &Self::Key<'_>) -> Result<bool, Self::Error> {
        Ok(self.get(key)?.is_some())
    }

    /// The value of a key, if `admits` says that it may be there; `None` if it says no.
    ///
    /// A store that has work to do before it looks for any key, such as beginning a transaction, does that
    /// before it calls `admits`. The memory of the guard arrives meanwhile, and the guard is locked: until it has
    /// called `admits`, the store must not use the guard in any way, not even print it, nor wait for whoever does.
    /// So that work must be short: until it is done every change of the guard waits, and all other questions wait
    /// behind that change. A store that asks a server calls `admits` first.
    ///
    /// [`Guarded`](crate::Guarded) asks in this way while keys are found, and would rather not begin such work
    /// for keys that are not there.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get_if(
        &self,
        key: &Self::Key<'_>,
        admits: impl FnOnce() -> bool,
    ) -> Result<Option<Option<Self::Value>>, Self::Error> {
        if admits() { self.get(key).map(Some) } else { Ok(None) }
    }

    /// Whether there is a value for the key, if `admits` says that it may be there: see
    /// [`get_if`](Self::get_if).
    ///
    /// # Errors
    /// If the store cannot be read.
    fn contains_if(
        &self,
        key: &Self::Key<'_>,
        admits: impl FnOnce() -> bool,
    ) -> Result<Option<bool>, Self::Error> {
        if admits() { self.contains(key).map(Some) } else { Ok(None) }
    }

    /// The values of several keys, in their order: an answer for each, also for a key that is asked for twice.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get_batch(&self, keys: &[&Self::Key<'_>]) -> Result<Vec<Option<Self::Value>>, Self::Error> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Whether there are values for several keys, in their order: an answer for each, also for a key that is
    /// asked for twice. By default the values are read, as [`get_batch`](Self::get_batch) does.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn contains_batch(&self, keys: &[&Self::Key<'_>]) -> Result<Vec<bool>, Self::Error> {
        Ok(self.get_batch(keys)?.iter().map(Option::is_some).collect())
    }

    /// Calls `visit` once for each key: at least for those that are there from the beginning of the
    /// scan to its end.
    ///
    /// # Errors
    /// If the store cannot be read. Then the scan was incomplete.
    fn scan(&self, visit: impl FnMut(&Self::Key<'_>)) -> Result<(), Self::Error>;
}

/// A store that one writer at a time can own.
///
/// Ownership is a record in the store: a generation, the owner's number, and whether it is open.
///
/// ```text
///            claim by a                release by a             claim by b
///   (none) ────────────► 1, a, open ───────────────► 1, a, closed ───────────► 2, b, open
///                             └──────────── claim by b, after a crash or a takeover ──┘
/// ```
///
/// The saved guard of owner *a* is valid only for a record that says *closed by a*.
pub trait OwnedStore: Store {
    /// A value, as callers give it.
    type NewValue<'v>;

    /// Whether a write that failed or was given up may still be applied later. Not where every call
    /// returns after it has succeeded or failed for good, as in an embedded database.
    const LATE_WRITES: bool;

    /// Records a new generation and this owner, durably, before any write or together with the first.
    ///
    /// # Errors
    /// If the store has another owner, unless `take_over` says to take it anyway; or if it cannot be
    /// written.
    fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, Self::Error>;

    /// Records that the owner has closed the store. Nothing is written under this claim afterwards.
    ///
    /// # Errors
    /// If the claim is no longer the current one, or the store cannot be written.
    fn release(&self, claim: &Claim) -> Result<(), Self::Error>;

    /// Gives a claim up that has left no record, because nothing was written under it: the session
    /// before it is still the last one. Returns `false` where there is a record: then the claim must be
    /// [released](Self::release).
    ///
    /// # Errors
    /// As those of [`release`](Self::release).
    fn withdraw(&self, claim: &Claim) -> Result<bool, Self::Error> {
        let _ = claim;
        Ok(false)
    }

    /// Writes a value, durably, and tells whether the key was there before.
    ///
    /// It is applied at most once. If the client may send it twice, so that it finds its own first
    /// attempt, the answer is [`Existed::Unknown`].
    ///
    /// # Errors
    /// If the claim is no longer the current one: then nothing was written. If the store fails: then it
    /// may have been written.
    fn put(
        &self,
        claim: &Claim,
        key: &Self::Key<'_>,
        value: &Self::NewValue<'_>,
    ) -> Result<Existed, Self::Error>;

    /// Writes several values, in their order: an answer for each.
    ///
    /// # Errors
    /// As those of [`put`](Self::put); a part of them may have been written.
    fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(Self::Key<'_>, Self::NewValue<'_>)],
    ) -> Result<Vec<Existed>, Self::Error> {
        entries.iter().map(|(key, value)| self.put(claim, key, value)).collect()
    }

    /// Deletes a key, durably, and tells whether it was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    fn delete(&self, claim: &Claim, key: &Self::Key<'_>) -> Result<Existed, Self::Error>;

    /// Deletes several keys, in their order: an answer for each.
    ///
    /// # Errors
    /// As those of [`put`](Self::put); a part of them may have been deleted.
    fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[Self::Key<'_>],
    ) -> Result<Vec<Existed>, Self::Error> {
        keys.iter().map(|key| self.delete(claim, key)).collect()
    }

    /// Whether this error says that the claim is no longer the current one.
    fn is_lost_claim(error: &Self::Error) -> bool;

    /// Whether this error of [`put`](Self::put) says for certain that nothing was written, and never will be.
    /// Otherwise, which is the default, the key stays in the guard.
    fn is_refusal(error: &Self::Error) -> bool {
        let _ = error;
        false
    }

    /// Whether this error of [`put_batch`](Self::put_batch) says for certain that nothing of the batch was
    /// written, and never will be. Otherwise, which is the default, its keys stay in the guard.
    fn is_batch_refusal(error: &Self::Error) -> bool {
        let _ = error;
        false
    }
}

/// The number of an owner: random, so that no two are the same, not even in copies of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub u128);

impl Owner {
    /// A new owner.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A time during which a store has one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// One more than that of the session before.
    pub generation: u64,
    /// Who owns the store.
    pub owner: Owner,
}

/// The right to write to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The session that has begun.
    pub session: Session,
    /// The session before it, if that was closed: no write has come since.
    pub closed: Option<Session>,
}
