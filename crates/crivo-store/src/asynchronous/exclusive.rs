//! Data that one owner changes, with calls that are futures.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use crivo::{Digest, KeyHasher};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use super::{AsyncGuarded, AsyncOwnedStore, compute, rebuild, scan};
use crate::counters::Tally;
use crate::guard::{Guard, GuardOptions, GuardStatus, PutTicket};
use crate::guarded::{Mode, load, sealed, stamp};
use crate::{Claim, Existed, GuardSource, GuardedError, OpenOptions, Owner, Session};

/// How many puts and deletes of different keys can be under way at the same time.
const STRIPES: usize = 1024;

/// The mode of a store with one writer: see [`Exclusive`](crate::Exclusive).
#[derive(Debug)]
pub struct AsyncExclusive {
    guard: Arc<Guard>,
    claim: Claim,
    file: Option<PathBuf>,
    source: GuardSource,
    stripes: Stripes,
    rebuilds_itself: bool,
    /// The task of the last rebuild in the background.
    worker: Lock<Option<JoinHandle<()>>>,
}

/// A store with one writer.
///
/// These methods run in a tokio runtime.
impl<S: AsyncOwnedStore> AsyncGuarded<S, AsyncExclusive> {
    /// Claims the store, and puts a guard in front of it: the saved one if it is valid, or one from a
    /// scan.
    ///
    /// If the future is dropped before it has ended, the store may have an owner that nobody is: then the
    /// next one must [take over](OpenOptions::take_over). So it may after an error of the store.
    ///
    /// # Errors
    /// If the store has another owner, or cannot be read or written; or if the guard cannot be built.
    /// A guard that cannot be *read* is not an error: see [`guard_source`](Self::guard_source).
    pub async fn open(
        store: S,
        options: impl Into<OpenOptions>,
    ) -> Result<Self, GuardedError<S::Error>> {
        let OpenOptions { guard: options, file, take_over, rebuilds_itself } = options.into();
        let options = options.late_writes(S::LATE_WRITES);
        let owner = Owner::random().map_err(GuardedError::Random)?;
        let claim = store.claim(owner, take_over).await.map_err(GuardedError::Store)?;
        let loaded = {
            let (options, file) = (options.clone(), file.clone());
            compute(move || load(&options, file.as_deref(), claim.closed)).await
        };
        let (guard, source) = match loaded {
            Ok(guard) => (guard, GuardSource::File),
            Err(reason) => {
                tracing::info!(%reason, "the guard is built from a scan");
                match build(&store, options).await {
                    Ok(guard) => (guard, GuardSource::Scan(reason)),
                    Err(error) => {
                        // Nothing was written. If this fails too, the first error matters.
                        let _ = store.release(&claim).await;
                        return Err(error);
                    }
                }
            }
        };
        tracing::debug!(generation = claim.session.generation, ?source, "the store is open");
        let mode = AsyncExclusive {
            guard: Arc::new(guard),
            claim,
            file,
            source,
            stripes: Stripes::default(),
            rebuilds_itself,
            worker: Lock::new(None),
        };
        Ok(Self { store: Arc::new(store), mode, tally: Tally::default() })
    }

    /// Writes a value, and tells whether the key was there before.
    ///
    /// When it returns, every question finds the value. If the future is dropped before that, nobody
    /// knows whether the value was written, or will be; the guard is right in both cases.
    ///
    /// # Errors
    /// If the store cannot be written, or this owner no longer has it. In the first case the value may
    /// have been written or not.
    pub async fn put(&self, key: &S::Key, value: &S::NewValue) -> Result<Existed, S::Error> {
        let guard = &*self.mode.guard;
        let digest = guard.hasher().digest(key);
        let _locked = self.mode.stripes.lock(&[digest]).await;
        let ticket = guard.begin_put(digest);
        let answer = self.checked(self.store.put(&self.mode.claim, key, value).await);
        ticket.answered(&answer, S::is_refusal);
        self.rebuild_if_needed();
        answer
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
        let digests: Vec<_> = entries.iter().map(|(key, _)| hasher.digest(*key)).collect();
        let _locked = self.mode.stripes.lock(&digests).await;
        let tickets: Vec<_> = digests.iter().map(|&digest| guard.begin_put(digest)).collect();
        let answer = self.checked(self.store.put_batch(&self.mode.claim, entries).await);
        PutTicket::answered_all(tickets, &answer, S::is_batch_refusal);
        self.rebuild_if_needed();
        answer
    }

    /// Deletes a key, and tells whether it was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    pub async fn delete(&self, key: &S::Key) -> Result<Existed, S::Error> {
        let guard = &*self.mode.guard;
        let digest = guard.hasher().digest(key);
        let _locked = self.mode.stripes.lock(&[digest]).await;
        let ticket = guard.begin_delete(digest);
        let existed = self.checked(self.store.delete(&self.mode.claim, key).await)?;
        ticket.deleted(existed);
        self.rebuild_if_needed();
        Ok(existed)
    }

    /// Deletes several keys, and tells for each whether it was there before.
    ///
    /// # Errors
    /// As those of [`put_batch`](Self::put_batch).
    pub async fn delete_batch(&self, keys: &[&S::Key]) -> Result<Vec<Existed>, S::Error> {
        let guard = &*self.mode.guard;
        let hasher = guard.hasher();
        let digests: Vec<_> = keys.iter().map(|key| hasher.digest(*key)).collect();
        let _locked = self.mode.stripes.lock(&digests).await;
        let tickets: Vec<_> = digests.iter().map(|&digest| guard.begin_delete(digest)).collect();
        let existed = self.checked(self.store.delete_batch(&self.mode.claim, keys).await)?;
        for (ticket, &existed) in tickets.into_iter().zip(&existed) {
            ticket.deleted(existed);
        }
        self.rebuild_if_needed();
        Ok(existed)
    }

    /// Whether the guard is full, or has many deleted keys. By default it is rebuilt by itself.
    pub fn needs_rebuild(&self) -> bool {
        self.mode.guard.needs_rebuild()
    }

    /// Scans the store, and rebuilds the guard. Other tasks go on asking and writing. Returns `false` if
    /// a rebuild was running already.
    ///
    /// # Errors
    /// If the store cannot be read, or the guard cannot be built. The old guard stays.
    pub async fn rebuild(&self) -> Result<bool, GuardedError<S::Error>> {
        rebuild(&*self.store, &self.mode.guard).await
    }

    /// Saves the guard, if its file was named in the options, and gives the store up.
    ///
    /// Without this the guard is rebuilt from a scan at the next start, and the store keeps its owner: the
    /// next one must take over.
    ///
    /// A guard with [doubtful keys](GuardStatus::doubtful_count), whose writes got no answer, is not saved: a
    /// `tracing` event says so, and the next start scans.
    ///
    /// # Errors
    /// If the store cannot be written, or this owner no longer has it. If only the guard's file cannot
    /// be written, the store is closed all the same.
    pub async fn close(self) -> Result<(), GuardedError<S::Error>> {
        let Self { store, mode, .. } = self;
        let worker = mode.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            // A panic of the worker has been reported, and has left the old guard.
            let _ = worker.await;
        }
        let mut saved = Ok(());
        if let Some(file) = mode.file {
            // A guard of two filters becomes one; if that fails, it is not saved.
            if !mode.guard.report_doubts()
                && !mode.guard.can_be_saved()
                && let Err(error) = rebuild(&*store, &mode.guard).await
            {
                tracing::warn!(%error, "the guard could not be rebuilt, and is not saved");
            }
            if mode.guard.can_be_saved() {
                let guard = mode.guard;
                saved = compute(move || guard.save(&file, &stamp(mode.claim.session))).await;
            }
        }
        // Only now is the file valid.
        store.release(&mode.claim).await.map_err(GuardedError::Store)?;
        tracing::debug!(generation = mode.claim.session.generation, "the store is closed");
        saved.map_err(GuardedError::Save)
    }

    /// The session in which this owner has the store.
    pub fn session(&self) -> Session {
        self.mode.claim.session
    }

    /// Where the guard came from when the store was opened.
    pub fn guard_source(&self) -> &GuardSource {
        &self.mode.source
    }

    /// How large the guard is, how old, and how much of it is wasted.
    pub fn guard_status(&self) -> GuardStatus {
        self.mode.guard.status()
    }

    /// Passes an answer of the store on, and notices when another owner has taken over.
    fn checked<T>(&self, answer: Result<T, S::Error>) -> Result<T, S::Error> {
        answer.inspect_err(|error| {
            if S::is_lost_claim(error) {
                self.mode.guard.distrust();
            }
        })
    }

    fn rebuild_if_needed(&self) {
        if !self.mode.rebuilds_itself || !self.mode.guard.needs_rebuild() {
            return;
        }
        // Another task is at it if the lock is taken.
        let Ok(mut worker) = self.mode.worker.try_lock() else { return };
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        let (store, guard) = (self.store.clone(), self.mode.guard.clone());
        *worker = Some(tokio::spawn(async move {
            if let Err(error) = rebuild(&*store, &guard).await {
                tracing::warn!(%error, "the guard could not be rebuilt, and stays as it is");
            }
        }));
    }
}

async fn build<S: AsyncOwnedStore>(
    store: &S,
    options: GuardOptions,
) -> Result<Guard, GuardedError<S::Error>> {
    let digests = scan(store, options.hasher).await.map_err(GuardedError::Store)?;
    compute(move || Guard::build(options, digests)).await.map_err(GuardedError::Build)
}

impl Mode for AsyncExclusive {}

impl sealed::Sealed for AsyncExclusive {
    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.guard.hasher()
    }

    #[inline]
    fn admits(&self, digest: Digest) -> bool {
        self.guard.contains(digest)
    }

    #[inline]
    fn admits_later(&self, digest: Digest) -> impl FnOnce() -> bool {
        self.guard.contains_later(digest)
    }

    fn admits_batch(&self, digests: &[Digest], hits: &mut [bool]) {
        self.guard.contains_batch(digests, hits);
    }
}

/// Locks by digest: puts and deletes of one key do not overlap.
struct Stripes(Vec<Mutex<()>>);

impl Default for Stripes {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Mutex::default()).collect())
    }
}

impl Stripes {
    /// Locks those of these digests, in one order for all, so that no two tasks wait for each other.
    async fn lock(&self, digests: &[Digest]) -> Vec<MutexGuard<'_, ()>> {
        let stripe = |digest: &Digest| (digest.get() % STRIPES as u64) as usize;
        let mut stripes: Vec<usize> = digests.iter().map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let mut locked = Vec::with_capacity(stripes.len());
        for stripe in stripes {
            locked.push(self.0[stripe].lock().await);
        }
        locked
    }
}

impl fmt::Debug for Stripes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stripes")
    }
}
