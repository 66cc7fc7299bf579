//! What a guard needs of a store whose calls are futures.

use std::error::Error;

use crivo::Key;

use crate::{Claim, Existed, Owner};

/// A store that can be asked, with calls that are futures: the twin of [`Store`](crate::Store).
pub trait AsyncStore: Send + Sync + 'static {
    /// A key. Its digest is that of its bytes, which must not change while a saved guard may be read.
    type Key: Key + Sync + ?Sized;
    /// A value, as the store returns it.
    type Value: Send;
    /// Why the store could not answer.
    type Error: Error + Send + Sync + 'static;

    /// The value of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get(
        &self,
        key: &Self::Key,
    ) -> impl Future<Output = Result<Option<Self::Value>, Self::Error>> + Send;

    /// Whether there is a value for the key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn contains(&self, key: &Self::Key) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        async move { Ok(self.get(key).await?.is_some()) }
    }

    /// The values of several keys, in their order: an answer for each, also for a key that is asked for twice.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get_batch(
        &self,
        keys: &[&Self::Key],
    ) -> impl Future<Output = Result<Vec<Option<Self::Value>>, Self::Error>> + Send {
        async move {
            let mut values = Vec::with_capacity(keys.len());
            for key in keys {
                values.push(self.get(key).await?);
            }
            Ok(values)
        }
    }

    /// Whether there are values for several keys, in their order: an answer for each, also for a key that is
    /// asked for twice. By default the values are read, as [`get_batch`](Self::get_batch) does.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn contains_batch(
        &self,
        keys: &[&Self::Key],
    ) -> impl Future<Output = Result<Vec<bool>, Self::Error>> + Send {
        async move { Ok(self.get_batch(keys).await?.iter().map(Option::is_some).collect()) }
    }

    /// Calls `visit` for each key: at least for those that are there from the beginning of the scan to
    /// its end. A key that is visited twice costs memory until the next rebuild.
    ///
    /// # Errors
    /// If the store cannot be read. Then the scan was incomplete.
    fn scan(
        &self,
        visit: impl FnMut(&Self::Key) + Send,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A store that one writer at a time can own, with calls that are futures: the twin of
/// [`OwnedStore`](crate::OwnedStore), which says what each method promises.
///
/// A future may be dropped before it has ended. Then the write may be applied later, or never, but at
/// most once.
pub trait AsyncOwnedStore: AsyncStore {
    /// A value, as callers give it.
    type NewValue: Sync + ?Sized;

    /// Whether a write that failed or was given up may still be applied later.
    const LATE_WRITES: bool;

    /// Records a new generation and this owner, durably, before any write.
    ///
    /// # Errors
    /// If the store has another owner, unless `take_over` says to take it anyway; or if it cannot be
    /// written.
    fn claim(
        &self,
        owner: Owner,
        take_over: bool,
    ) -> impl Future<Output = Result<Claim, Self::Error>> + Send;

    /// Records that the owner has closed the store. Nothing is written under this claim afterwards,
    /// also not by writes that were given up. A store that cannot promise this must say so, as that of
    /// Cassandra does: there a write that was given up may arrive later, and be hidden from the next owner.
    ///
    /// # Errors
    /// If the claim is no longer the current one, or the store cannot be written.
    fn release(&self, claim: &Claim) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Writes a value, and tells whether the key was there before.
    ///
    /// # Errors
    /// If the claim is no longer the current one: then nothing was written. If the store fails: then it
    /// may have been written, or will be.
    fn put(
        &self,
        claim: &Claim,
        key: &Self::Key,
        value: &Self::NewValue,
    ) -> impl Future<Output = Result<Existed, Self::Error>> + Send;

    /// Writes several values, in their order: an answer for each.
    ///
    /// # Errors
    /// As those of [`put`](Self::put); a part of them may have been written.
    fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&Self::Key, &Self::NewValue)],
    ) -> impl Future<Output = Result<Vec<Existed>, Self::Error>> + Send {
        async move {
            let mut existed = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                existed.push(self.put(claim, key, value).await?);
            }
            Ok(existed)
        }
    }

    /// Deletes a key, and tells whether it was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    fn delete(
        &self,
        claim: &Claim,
        key: &Self::Key,
    ) -> impl Future<Output = Result<Existed, Self::Error>> + Send;

    /// Deletes several keys, in their order: an answer for each.
    ///
    /// # Errors
    /// As those of [`put`](Self::put); a part of them may have been deleted.
    fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[&Self::Key],
    ) -> impl Future<Output = Result<Vec<Existed>, Self::Error>> + Send {
        async move {
            let mut existed = Vec::with_capacity(keys.len());
            for key in keys {
                existed.push(self.delete(claim, key).await?);
            }
            Ok(existed)
        }
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
