//! Data that several writers change, who announce what they write.
//!
//! ```text
//!   writer ── put ──► server: write the value, announce its key ──► stream ──► every follower's guard
//!     └── its own guard, before the write is sent
//! ```
//!
//! A guard is right if it has the keys of a scan, and every key that was announced since some moment
//! before that scan. So a follower notes the end of the stream, scans, and hears what is announced
//! meanwhile and afterwards. It knows how old its knowledge is: the moment before it asked the server for
//! what is new, and got all of it.

mod follower;
mod store;
#[cfg(test)]
mod tests;

pub use store::{Announcement, AsyncSharedStore, Followed, Joined};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crivo::{Digest, KeyHasher};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::AsyncGuarded;
use crate::counters::Tally;
use crate::guard::{Guard, GuardOptions, GuardStatus};
use crate::guarded::{Mode, sealed};
use crate::{Existed, GuardedError, Session};
use follower::Follower;

/// How old the knowledge of a guard may be, if nobody says.
const STALENESS: Duration = Duration::from_secs(1);

/// The mode of a store that several writers share.
///
/// # The promise
///
/// *Absent* was right at some moment that is at most the [staleness](SharedOptions::staleness) before the
/// question: a key that has been in the store for longer is found. What this value has put itself is found
/// at once.
///
/// A guard that cannot keep the promise lets every question through to the store: while it scans, when the
/// server does not answer, and when it has lost the stream, because it fell too far behind, or because the
/// server has lost data (a restart, a failover, `FLUSHALL`). It catches up by itself.
///
/// Keys that were deleted stay in the guard until it is rebuilt, which happens by itself.
///
/// # What breaks it
///
/// - A writer that does not share the store by `crivo-store`: nobody hears of what it writes.
/// - Two servers that answer for one, as after a failover to a replica while the old master goes on: those
///   who ask the old one do not hear of what the new one is told.
///
/// - A machine that is suspended: while it sleeps, the clock of the staleness stands still on some systems
///   (Linux is one), so that for that time after it wakes up, *absent* may be as old as its sleep.
///
/// A store is shared, or has one owner ([`AsyncExclusive`](super::AsyncExclusive)): each refuses the other,
/// or takes over and refuses its writes. Nobody knows when the last one who shared a store is gone, so the
/// next owner must [take over](crate::OpenOptions::take_over).
#[derive(Debug)]
pub struct Shared {
    guard: Arc<Guard>,
    news: Arc<News>,
    task: JoinHandle<()>,
}

/// How to share a store. [`GuardOptions`] alone will do.
///
/// ```
/// use std::time::Duration;
///
/// use crivo::filter::Kind;
/// use crivo_store::{GuardOptions, SharedOptions};
///
/// let guard = GuardOptions::new(Kind::Blocked, 0.001)?;
/// let options = SharedOptions::new(guard).staleness(Duration::from_millis(200));
/// # let _ = options;
/// # Ok::<(), crivo::filter::SpecError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SharedOptions {
    guard: GuardOptions,
    staleness: Duration,
    take_over: bool,
}

impl From<GuardOptions> for SharedOptions {
    fn from(guard: GuardOptions) -> Self {
        Self { guard, staleness: STALENESS, take_over: false }
    }
}

impl SharedOptions {
    /// Shares with such a guard. Keys stay in it until it is rebuilt, also in kinds that could remove them.
    pub fn new(guard: GuardOptions) -> Self {
        guard.into()
    }

    /// How old an *absent* may be: a second by default. The server is asked for news a quarter of
    /// that time after its last answer, and at least four times a second if it answers at once. With a
    /// staleness of a few round trips the guard is often too old, and lets questions pass.
    pub fn staleness(self, staleness: Duration) -> Self {
        Self { staleness, ..self }
    }

    /// Shares the store even if it has an owner that has not closed it, whose writes are refused from then
    /// on.
    pub fn take_over(self, take_over: bool) -> Self {
        Self { take_over, ..self }
    }
}

/// What a follower knows.
#[derive(Debug)]
struct News {
    session: RwLock<Session>,
    start: Instant,
    /// The moment up to which the guard has every key: nanoseconds after `start`, and one more. 0 if the
    /// guard does not have every key.
    current: AtomicU64,
    staleness: Duration,
}

impl News {
    fn session(&self) -> Session {
        *self.session.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_session(&self, session: Session) {
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// The guard has every key that was there at this moment.
    fn set_current(&self, moment: Instant) {
        let nanoseconds = moment.saturating_duration_since(self.start).as_nanos() as u64;
        self.current.store(nanoseconds + 1, Ordering::Release);
    }

    /// The guard may lack keys.
    fn lose(&self) {
        self.current.store(0, Ordering::Release);
    }

    /// How old the guard's knowledge is.
    #[inline]
    fn age(&self) -> Option<Duration> {
        let current = self.current.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.start.elapsed().saturating_sub(Duration::from_nanos(current)))
    }

    #[inline]
    fn is_current(&self) -> bool {
        self.age().is_some_and(|age| age < self.staleness)
    }
}

/// A store that several writers share.
///
/// These methods run in a tokio runtime that has timers.
impl<S: AsyncSharedStore> AsyncGuarded<S, Shared> {
    /// Joins those who share the store, and puts a guard from a scan in front of it.
    ///
    /// # Errors
    /// If the store has an owner, or cannot be read or written; or if the guard cannot be built.
    ///
    /// # Panics
    /// If a method of the store panics.
    pub async fn share(
        store: S,
        options: impl Into<SharedOptions>,
    ) -> Result<Self, GuardedError<S::Error>> {
        let SharedOptions { guard: options, staleness, take_over } = options.into();
        // The stream tells of a write that arrives late.
        let options = options.late_writes(false).keep_keys();
        let guard = Arc::new(Guard::build(options, Vec::new()).map_err(GuardedError::Build)?);
        let joined = store.join(take_over).await.map_err(GuardedError::Store)?;
        let store = Arc::new(store);
        let news = Arc::new(News {
            session: RwLock::new(joined.session),
            start: Instant::now(),
            current: AtomicU64::new(0),
            staleness,
        });
        let (ready, is_ready) = oneshot::channel();
        let follower = Follower::new(store.clone(), guard.clone(), news.clone());
        let task = tokio::spawn(follower.run(joined, ready));
        // Dropped here, it ends the task.
        let mode = Shared { guard, news, task };
        is_ready.await.expect("a follower answers before it ends")?;
        Ok(Self { store, mode, tally: Tally::default() })
    }

    /// Writes a value, and tells whether the key was there before.
    ///
    /// When it returns, this value finds the key at once, and others within their staleness.
    ///
    /// # Errors
    /// If the store cannot be written, or one owner has taken it. In the first case the value may have
    /// been written or not.
    pub async fn put(&self, key: &S::Key, value: &S::NewValue) -> Result<Existed, S::Error> {
        let existed = self.put_batch(&[(key, value)]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    /// Writes several values, in their order, and tells for each whether its key was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put); a part of them may have been written.
    pub async fn put_batch(
        &self,
        entries: &[(&S::Key, &S::NewValue)],
    ) -> Result<Vec<Existed>, S::Error> {
        let guard = &*self.mode.guard;
        let hasher = guard.hasher();
        let tickets: Vec<_> =
            entries.iter().map(|(key, _)| guard.begin_put(hasher.digest(*key))).collect();
        let existed = self.store.put_all(&self.mode.news.session(), entries).await?;
        // That a key was there means that somebody has announced it, not that this guard has heard of it.
        tickets.into_iter().for_each(|ticket| ticket.stored(Existed::Unknown));
        Ok(existed)
    }

    /// Deletes a key, and tells whether it was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    pub async fn delete(&self, key: &S::Key) -> Result<Existed, S::Error> {
        let existed = self.delete_batch(&[key]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    /// Deletes several keys, and tells for each whether it was there before.
    ///
    /// # Errors
    /// As those of [`put_batch`](Self::put_batch).
    pub async fn delete_batch(&self, keys: &[&S::Key]) -> Result<Vec<Existed>, S::Error> {
        self.store.delete_all(&self.mode.news.session(), keys).await
    }

    /// The session of those who share the store. Another begins if the store loses its data.
    pub fn session(&self) -> Session {
        self.mode.news.session()
    }

    /// How old the knowledge of the guard is; `None` if it lacks keys.
    pub fn staleness(&self) -> Option<Duration> {
        self.mode.news.age()
    }

    /// Whether the guard answers: it has every key, and its knowledge is not too old. Otherwise every
    /// question passes.
    pub fn is_current(&self) -> bool {
        self.mode.news.is_current()
    }

    /// How large the guard is, how old, and how much of it is wasted.
    pub fn guard_status(&self) -> GuardStatus {
        let status = self.mode.guard.status();
        if self.is_current() {
            return status;
        }
        GuardStatus { is_trusted: false, expected_fpr: 1.0, ..status }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Mode for Shared {}

impl sealed::Sealed for Shared {
    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.guard.hasher()
    }

    #[inline]
    fn admits(&self, digest: Digest) -> bool {
        !self.news.is_current() || self.guard.contains(digest)
    }

    #[inline]
    fn admits_later(&self, digest: Digest) -> impl FnOnce() -> bool {
        let contains = self.guard.contains_later(digest);
        move || !self.news.is_current() || contains()
    }

    fn admits_batch(&self, digests: &[Digest], hits: &mut [bool]) {
        match self.news.is_current() {
            true => self.guard.contains_batch(digests, hits),
            false => hits.fill(true),
        }
    }
}
