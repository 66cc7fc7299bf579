//! Data that one owner changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crivo::{Digest, KeyHasher};

use super::{Guarded, Mode, scan, sealed};
use crate::counters::Tally;
use crate::guard::{Guard, GuardOptions, GuardStatus, LoadError, PutTicket};
use crate::{Claim, Existed, GuardedError, OwnedStore, Owner, Session};

/// How many puts and deletes of different keys can be under way at the same time.
const STRIPES: usize = 64;

/// The mode of a store with one writer.
///
/// A new generation and an owner are recorded in the store, before or with the first write: a second writer
/// through `crivo-store` is refused, or fences this one off if it takes over. The guard is saved when
/// the store is [closed](Guarded::close), and is valid only for the session that was closed. After a
/// crash, or without its file, it is rebuilt from a scan.
#[derive(Debug)]
pub struct Exclusive {
    guard: Arc<Guard>,
    claim: Claim,
    file: Option<PathBuf>,
    source: GuardSource,
    stripes: Stripes,
    rebuilds_itself: bool,
    /// The thread of the last rebuild in the background.
    worker: Mutex<Option<JoinHandle<()>>>,
}

/// Where the guard came from when the store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardSource {
    /// From its file.
    File,
    /// From a scan of the store.
    Scan(ScanReason),
}

/// Why the guard was built from a scan, and not read from its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanReason {
    /// No file was named in the options.
    NoFile,
    /// The last owner did not close the store, or there was none.
    NotClosed,
    /// The file was written for another session or another store, or with another kind or FPR.
    OtherGuard,
    /// The file is not there, cannot be read, or was made with another hash function: the message says why.
    Unreadable(String),
}

impl fmt::Display for ScanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("no file was named"),
            Self::NotClosed => f.write_str("the store was not closed, or never had an owner"),
            Self::OtherGuard => {
                f.write_str("the file is for another session, another store or other options")
            }
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

/// How to open a store for writing. [`GuardOptions`] alone will do: there is no file then, and the
/// guard is built from a scan at every start.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub(crate) guard: GuardOptions,
    pub(crate) file: Option<PathBuf>,
    pub(crate) take_over: bool,
    pub(crate) rebuilds_itself: bool,
}

impl From<GuardOptions> for OpenOptions {
    fn from(guard: GuardOptions) -> Self {
        Self { guard, file: None, take_over: false, rebuilds_itself: true }
    }
}

impl OpenOptions {
    /// Opens with such a guard, kept in memory only.
    pub fn new(guard: GuardOptions) -> Self {
        guard.into()
    }

    /// Saves the guard to this file when the store is closed, and reads it when the store is opened.
    ///
    /// Each table, or prefix, needs a file of its own: two that share one would overwrite it, and be scanned
    /// whenever they are opened.
    pub fn file(self, path: impl Into<PathBuf>) -> Self {
        Self { file: Some(path.into()), ..self }
    }

    /// Takes the store even if it has an owner that has not closed it.
    ///
    /// The old owner's writes are refused from then on; not so by Cassandra, where that owner stops writing
    /// within a second of the takeover, as the module `cassandra` says. It may answer *absent* for what the new owner
    /// writes until one of its own writes is refused; so take over only from an owner that is gone, or
    /// will write no more.
    pub fn take_over(self, take_over: bool) -> Self {
        Self { take_over, ..self }
    }

    /// Whether a guard that is full, or has many deleted keys, is rebuilt on a thread of its own: the
    /// default. Otherwise call [`Guarded::rebuild`] when [`Guarded::needs_rebuild`].
    pub fn rebuild_in_background(self, rebuilds_itself: bool) -> Self {
        Self { rebuilds_itself, ..self }
    }
}

/// A store with one writer.
impl<S: OwnedStore> Guarded<S, Exclusive> {
    /// Claims the store, and puts a guard in front of it: the saved one if it is valid, or one from a
    /// scan.
    ///
    /// # Errors
    /// If the store has another owner, or cannot be read or written; or if the guard cannot be built.
    /// A guard that cannot be *read* is not an error: see [`guard_source`](Self::guard_source).
    pub fn open(store: S, options: impl Into<OpenOptions>) -> Result<Self, GuardedError<S::Error>> {
        let OpenOptions { guard: options, file, take_over, rebuilds_itself } = options.into();
        let options = options.late_writes(S::LATE_WRITES);
        let owner = Owner::random().map_err(GuardedError::Random)?;
        let claim = store.claim(owner, take_over).map_err(GuardedError::Store)?;
        let (guard, source) = match load(&options, file.as_deref(), claim.closed) {
            Ok(guard) => (guard, GuardSource::File),
            Err(reason) => {
                tracing::info!(%reason, "the guard is built from a scan");
                match build(&store, options) {
                    Ok(guard) => (guard, GuardSource::Scan(reason)),
                    Err(error) => {
                        // Nothing was written. If this fails too, the first error matters.
                        let _ = store.release(&claim);
                        return Err(error);
                    }
                }
            }
        };
        tracing::debug!(generation = claim.session.generation, ?source, "the store is open");
        let mode = Exclusive {
            guard: Arc::new(guard),
            claim,
            file,
            source,
            stripes: Stripes::default(),
            rebuilds_itself,
            worker: Mutex::new(None),
        };
        Ok(Self { store: Arc::new(store), mode, tally: Tally::default() })
    }

    /// Writes a value, and tells whether the key was there before.
    ///
    /// When it returns, the value is as durable as the store makes it, and every question finds it.
    ///
    /// # Errors
    /// If the store cannot be written, or this owner no longer has it. In the first case the value may
    /// have been written or not; the guard is right in both.
    pub fn put(&self, key: S::Key<'_>, value: S::NewValue<'_>) -> Result<Existed, S::Error> {
        let guard = &*self.mode.guard;
        let digest = S::digest(&guard.hasher(), &key);
        let _locked = self.mode.stripes.lock([digest]);
        let ticket = guard.begin_put(digest);
        let answer = self.checked(self.store.put(&self.mode.claim, &key, &value));
        ticket.answered(&answer, S::is_refusal);
        self.rebuild_if_needed();
        answer
    }

    /// Writes several values, in their order, and tells for each whether its key was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put). The store says whether a part of them may have been written.
    pub fn put_batch(
        &self,
        entries: &[(S::Key<'_>, S::NewValue<'_>)],
    ) -> Result<Vec<Existed>, S::Error> {
        let guard = &*self.mode.guard;
        let hasher = guard.hasher();
        let digests: Vec<_> = entries.iter().map(|(key, _)| S::digest(&hasher, key)).collect();
        let _locked = self.mode.stripes.lock(digests.iter().copied());
        let tickets: Vec<_> = digests.iter().map(|&digest| guard.begin_put(digest)).collect();
        let answer = self.checked(self.store.put_batch(&self.mode.claim, entries));
        PutTicket::answered_all(tickets, &answer, S::is_batch_refusal);
        self.rebuild_if_needed();
        answer
    }

    /// Deletes a key, and tells whether it was there before.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    pub fn delete(&self, key: S::Key<'_>) -> Result<Existed, S::Error> {
        let guard = &*self.mode.guard;
        let digest = S::digest(&guard.hasher(), &key);
        let _locked = self.mode.stripes.lock([digest]);
        let ticket = guard.begin_delete(digest);
        let existed = self.checked(self.store.delete(&self.mode.claim, &key))?;
        ticket.deleted(existed);
        self.rebuild_if_needed();
        Ok(existed)
    }

    /// Deletes several keys, and tells for each whether it was there before.
    ///
    /// # Errors
    /// As those of [`put_batch`](Self::put_batch).
    pub fn delete_batch(&self, keys: &[S::Key<'_>]) -> Result<Vec<Existed>, S::Error> {
        let guard = &*self.mode.guard;
        let hasher = guard.hasher();
        let digests: Vec<_> = keys.iter().map(|key| S::digest(&hasher, key)).collect();
        let _locked = self.mode.stripes.lock(digests.iter().copied());
        let tickets: Vec<_> = digests.iter().map(|&digest| guard.begin_delete(digest)).collect();
        let existed = self.checked(self.store.delete_batch(&self.mode.claim, keys))?;
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

    /// Scans the store, and rebuilds the guard. Other threads go on asking and writing. Returns `false`
    /// if a rebuild was running already.
    ///
    /// # Errors
    /// If the store cannot be read, or the guard cannot be built. The old guard stays.
    pub fn rebuild(&self) -> Result<bool, GuardedError<S::Error>> {
        rebuild(&*self.store, &self.mode.guard)
    }

    /// Saves the guard, if its file was named in the options, and gives the store up.
    ///
    /// Without this the guard is rebuilt from a scan at the next start.
    ///
    /// A guard with [doubtful keys](GuardStatus::doubtful_count), whose writes got no answer, is not saved: a
    /// `tracing` event says so, and the next start scans.
    ///
    /// # Errors
    /// If the store cannot be written, or this owner no longer has it. If only the guard's file cannot
    /// be written, the store is closed all the same.
    pub fn close(self) -> Result<(), GuardedError<S::Error>> {
        let Self { store, mode, .. } = self;
        mode.join_worker();
        let is_saved =
            matches!(mode.source, GuardSource::File | GuardSource::Scan(ScanReason::NoFile));
        // If nothing was written, the guard's file is still that of the last session.
        if is_saved && store.withdraw(&mode.claim).map_err(GuardedError::Store)? {
            return Ok(());
        }
        let mut saved = Ok(());
        if let Some(file) = &mode.file {
            // A guard of two filters becomes one; if that fails, it is not saved.
            if !mode.guard.report_doubts()
                && !mode.guard.can_be_saved()
                && let Err(error) = rebuild(&*store, &mode.guard)
            {
                tracing::warn!(%error, "the guard could not be rebuilt, and is not saved");
            }
            if mode.guard.can_be_saved() {
                saved = mode.guard.save(file, &stamp(mode.claim.session));
            }
        }
        // Only now is the file valid.
        store.release(&mode.claim).map_err(GuardedError::Store)?;
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
        // Another thread is at it if the lock is taken.
        let Ok(mut worker) = self.mode.worker.try_lock() else { return };
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        let (store, guard) = (self.store.clone(), self.mode.guard.clone());
        let work = move || {
            if let Err(error) = rebuild(&*store, &guard) {
                tracing::warn!(%error, "the guard could not be rebuilt, and stays as it is");
            }
        };
        match thread::Builder::new().name("crivo-store rebuild".to_owned()).spawn(work) {
            Ok(started) => *worker = Some(started),
            Err(error) => tracing::warn!(%error, "no thread to rebuild the guard"),
        }
    }
}

/// What a guard's file says about the data that it is for.
pub(crate) fn stamp(session: Session) -> String {
    format!("{} {}", session.generation, session.owner)
}

/// The saved guard, if it is valid for the session that was closed.
pub(crate) fn load(
    options: &GuardOptions,
    file: Option<&Path>,
    closed: Option<Session>,
) -> Result<Guard, ScanReason> {
    let file = file.ok_or(ScanReason::NoFile)?;
    let closed = closed.ok_or(ScanReason::NotClosed)?;
    match Guard::load(options, file, &stamp(closed)) {
        Ok(Some(guard)) => Ok(guard),
        Ok(None) => Err(ScanReason::OtherGuard),
        Err(LoadError::File(error)) => Err(ScanReason::Unreadable(error.to_string())),
        Err(LoadError::Build(error)) => Err(ScanReason::Unreadable(error.to_string())),
    }
}

fn build<S: OwnedStore>(store: &S, options: GuardOptions) -> Result<Guard, GuardedError<S::Error>> {
    let digests = scan(store, options.hasher).map_err(GuardedError::Store)?;
    Guard::build(options, digests).map_err(GuardedError::Build)
}

fn rebuild<S: OwnedStore>(store: &S, guard: &Guard) -> Result<bool, GuardedError<S::Error>> {
    let Some(rebuild) = guard.begin_rebuild() else { return Ok(false) };
    let digests = scan(store, guard.hasher()).map_err(GuardedError::Store)?;
    let keys = digests.len();
    rebuild.finish(digests).map_err(GuardedError::Build)?;
    tracing::debug!(keys, "the guard was rebuilt");
    Ok(true)
}

impl Exclusive {
    /// Waits for a rebuild in the background.
    fn join_worker(&self) {
        // A panic of the worker has been reported, and has left the old guard.
        let _ = lock(&self.worker).take().map(JoinHandle::join);
    }
}

/// A rebuild in the background has the store too: when the guarded store is gone, the store is.
impl Drop for Exclusive {
    fn drop(&mut self) {
        self.join_worker();
    }
}

impl Mode for Exclusive {}

impl sealed::Sealed for Exclusive {
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
struct Stripes([Mutex<()>; STRIPES]);

impl Default for Stripes {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Stripes {
    /// Locks those of these digests, in one order for all, so that no two threads wait for each other.
    fn lock(&self, digests: impl IntoIterator<Item = Digest>) -> Vec<MutexGuard<'_, ()>> {
        let stripe = |digest: Digest| (digest.get() % STRIPES as u64) as usize;
        let mut stripes: Vec<usize> = digests.into_iter().map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().map(|stripe| lock(&self.0[stripe])).collect()
    }
}

impl fmt::Debug for Stripes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stripes")
    }
}

/// What these locks protect is consistent also after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
