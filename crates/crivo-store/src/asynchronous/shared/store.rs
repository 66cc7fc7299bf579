//! What a guard needs of a store that several writers share.

use std::time::Duration;

use crate::{AsyncStore, Existed, Owner, Session};

/// A store that several writers share: they announce every change of the set of keys on a stream, in the
/// same step as the change.
pub trait AsyncSharedStore: AsyncStore {
    /// A value, as callers give it.
    type NewValue: Sync + ?Sized;
    /// A place in the stream: the last entry that was read.
    type Position: Send + Sync + 'static;

    /// Joins those who share the store, or begins to share it, and returns the end of the stream.
    ///
    /// # Errors
    /// If one owner has the store, unless `take_over` says to take it anyway; or if it cannot be written.
    fn join(
        &self,
        take_over: bool,
    ) -> impl Future<Output = Result<Joined<Self::Position>, Self::Error>> + Send;

    /// Waits until something may have been announced after this position, or until the time is over.
    ///
    /// # Errors
    /// If the store does not answer.
    fn wait(
        &self,
        after: &Self::Position,
        at_most: Duration,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Calls `visit` for what was announced after this position, in its order, without waiting. `None` if
    /// the stream is lost: the session is no longer the current one, or the stream no longer has
    /// everything that came after the position.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn follow(
        &self,
        session: &Session,
        after: &Self::Position,
        visit: impl FnMut(Announcement<'_, Self::Key>) + Send,
    ) -> impl Future<Output = Result<Option<Followed<Self::Position>>, Self::Error>> + Send;

    /// Scans as [`AsyncStore::scan`] does, and announces this mark when all keys were visited.
    ///
    /// The mark stands for what the scan has seen. A store that forgets a delete has a key again which the
    /// scan did not find; but then it has forgotten the mark too, which came later.
    ///
    /// # Errors
    /// If the session is no longer the current one; if the store cannot be read or written; or if it may
    /// have forgotten something between the beginning of the scan and the mark.
    fn scan_and_mark(
        &self,
        session: &Session,
        mark: Owner,
        visit: impl FnMut(&Self::Key) + Send,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Writes and announces values, in their order, and tells for each whether its key was there before.
    ///
    /// # Errors
    /// If the session is no longer the current one, or the store fails. A part of them may have been
    /// written, or will be; all that is written is announced.
    fn put_all(
        &self,
        session: &Session,
        entries: &[(&Self::Key, &Self::NewValue)],
    ) -> impl Future<Output = Result<Vec<Existed>, Self::Error>> + Send;

    /// Deletes keys, announces that, and tells for each whether it was there before.
    ///
    /// # Errors
    /// As those of [`put_all`](Self::put_all).
    fn delete_all(
        &self,
        session: &Session,
        keys: &[&Self::Key],
    ) -> impl Future<Output = Result<Vec<Existed>, Self::Error>> + Send;
}

/// What somebody who joins must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined<P> {
    /// Of those who share the store.
    pub session: Session,
    /// The end of the stream.
    pub position: P,
}

/// A change of the set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement<'k, K: ?Sized> {
    /// This key is in the store, and was not there before.
    Put(&'k K),
    /// A key was deleted.
    Delete,
    /// Somebody has joined, or has scanned the store.
    Mark(Owner),
}

/// How far a stream was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed<P> {
    /// The last entry that was read.
    pub position: P,
    /// Whether that was the last one of the stream.
    pub is_end: bool,
}
