//! The guard: a filter that holds every key of a store, at all times.
//!
//! A guard that holds a key too many costs a useless question to the store. One that holds a key too
//! few hides that key. So every step keeps one invariant:
//!
//! > For every key that is in the store, or that may still arrive there, the guard holds a copy.
//!
//! | | before the store is asked | when it has answered | if there is no answer |
//! |---|---|---|---|
//! | put | insert a copy | key was there, or the put was refused: remove the copy again | keep it: the key is *doubtful* |
//! | delete | note the epoch | key was there: remove a copy | keep it |
//!
//! - **Only the store tells whether a key is new.** If the guard says *present*, that may be the
//!   copy of another key. An insertion that is skipped because of it hides the key when the other is
//!   removed. A main filter that removes nothing has no such danger: there, copies are skipped.
//! - **A copy is removed only from the filter that has it.** A key in the overflow, or one whose guard
//!   was rebuilt in the meantime (the *epoch* differs), stays: what would be removed might be another
//!   key's copy.
//! - **A doubtful key stays for good**, in one copy that is never removed: its write may arrive at any
//!   time. The first 65,536 are listed, for rebuilds. More are in a filter of a fixed size beside the tables:
//!   with millions of them ever more questions pass, but the memory does not grow. (A copy that the tables
//!   could not take out is a few bits, until the next rebuild.)
//! - **A rebuild misses nothing.** Writes that are under way when it begins, doubtful keys, and keys
//!   that are put while the store is scanned (the *journal*) are added to what the scan finds.
//!
//! Puts and deletes of keys with the same digest must not overlap: callers of the guard lock by
//! digest. [`Guarded`](crate::Guarded) does all this for a [`Store`](crate::Store).
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo::filter::Kind;
//! use crivo_store::{Existed, Guard, GuardOptions};
//!
//! let guard = Guard::build(GuardOptions::new(Kind::Cuckoo, 0.001)?, vec![])?;
//! let ana = guard.hasher().digest("ana");
//! assert!(!guard.contains(ana)); // certainly not in the store
//!
//! let put = guard.begin_put(ana);
//! // … here the store is asked to write the key …
//! put.stored(Existed::No);
//! assert!(guard.contains(ana));
//!
//! let delete = guard.begin_delete(ana);
//! // … here the store is asked to delete the key …
//! delete.deleted(Existed::Yes);
//! assert!(!guard.contains(ana));
//! # Ok::<(), crivo::filter::SpecError>(())
//! ```

mod doubts;
mod lock;
mod options;
mod tables;
#[cfg(test)]
mod tests;

pub use options::GuardOptions;

use std::fmt;
use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use crivo::codec::{FileError, LoadOptions};
use crivo::filter::{AnyFilter, SpecError};
use crivo::{Digest, KeyHasher};

use crate::Existed;
use doubts::Doubts;
use lock::{Lock, Reading, Writing};
pub(crate) use tables::Tables;
use tables::{Multiset, Place};

/// A filter that holds every key of a store, and the protocol that keeps it so.
///
/// See [the module](self).
pub struct Guard {
    options: GuardOptions,
    /// Poisoned if a thread panicked while it changed the guard: then nothing is known about it, and
    /// every question passes.
    state: Lock<State>,
}

struct State {
    tables: Tables,
    /// About how many copies are of keys that are no longer in the store.
    stale: u64,
    /// Puts that have begun and have no answer yet.
    in_flight: Multiset,
    /// Keys whose write was given up, and may still arrive. The guard has a copy of each that is never
    /// removed.
    doubts: Doubts,
    /// `Some` while a rebuild runs.
    journal: Option<Journal>,
    /// How often the tables were replaced.
    epoch: u64,
    /// How many rebuilds have begun.
    rebuilds: u64,
    /// After a rebuild that failed the next one waits for more waste than this.
    retry_above: u64,
    built: Instant,
    trusted: bool,
}

/// What has happened since a rebuild began.
struct Journal {
    rebuild: u64,
    puts: Multiset,
    deletes: u64,
}

impl State {
    fn new(tables: Tables, stale: u64) -> Self {
        Self {
            tables,
            stale,
            in_flight: Multiset::default(),
            doubts: Doubts::default(),
            journal: None,
            epoch: 0,
            rebuilds: 0,
            retry_above: 0,
            built: Instant::now(),
            trusted: true,
        }
    }

    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.tables.contains(digest) || self.doubts.others_contain(digest)
    }

    fn waste(&self) -> u64 {
        self.stale.saturating_add(self.tables.overflow_count())
    }

    /// The journal of this rebuild, if it still runs.
    fn journal_of(&mut self, rebuild: u64) -> Option<&mut Journal> {
        self.journal.as_mut().filter(|journal| journal.rebuild == rebuild)
    }
}

impl Guard {
    /// A guard that holds the keys with these digests, which come from the options' hasher. Two keys
    /// with equal digests are two copies: do not remove duplicates.
    ///
    /// # Errors
    /// If the filter cannot be built: no memory, or an FPR that is too small for this many keys.
    pub fn build(options: GuardOptions, digests: Vec<Digest>) -> Result<Self, SpecError> {
        let tables = Tables::build(&options, digests)?;
        Ok(Self { options, state: Lock::new(State::new(tables, 0)) })
    }

    /// A guard from a filter that holds every key, of which about `stale` are no longer in the store.
    fn from_filter(
        options: GuardOptions,
        filter: AnyFilter,
        stale: u64,
    ) -> Result<Self, SpecError> {
        let tables = Tables::of(&options, filter)?;
        Ok(Self { options, state: Lock::new(State::new(tables, stale)) })
    }

    /// The hash function that makes digests for this guard.
    pub fn hasher(&self) -> KeyHasher {
        self.options.hasher
    }

    /// Whether the key with this digest may be in the store. `false` is certain.
    #[inline]
    pub fn contains(&self, digest: Digest) -> bool {
        match self.read() {
            Some(state) => state.contains(digest),
            None => true,
        }
    }

    /// Asks as [`contains`](Self::contains) does, when the answer is called. Its memory is fetched until
    /// then, and the guard does not change: the caller has other work to do, but writes nothing.
    #[inline]
    pub(crate) fn contains_later(&self, digest: Digest) -> impl FnOnce() -> bool {
        // Two locks would cost as much as all the rest.
        let state = self.read();
        if let Some(state) = &state {
            state.tables.prefetch(digest);
        }
        move || state.is_none_or(|state| state.contains(digest))
    }

    /// Answers for many keys at once: `hits[i]` for `digests[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn contains_batch(&self, digests: &[Digest], hits: &mut [bool]) {
        match self.read() {
            Some(state) => {
                state.tables.contains_batch(digests, hits);
                if state.doubts.has_others() {
                    for (digest, hit) in digests.iter().zip(hits) {
                        *hit = *hit || state.doubts.others_contain(*digest);
                    }
                }
            }
            None => hits.fill(true),
        }
    }

    /// To be called before a write is sent to the store. The key is in the guard when this returns.
    pub fn begin_put(&self, digest: Digest) -> PutTicket<'_> {
        let mut ticket = PutTicket {
            guard: self,
            digest,
            is_counted: false,
            copy: None,
            rebuild: None,
            is_settled: false,
        };
        let Some(mut state) = self.write() else { return ticket };
        let state = &mut *state;
        state.in_flight.add(digest);
        ticket.is_counted = true;
        if let Some(journal) = &mut state.journal {
            journal.puts.add(digest);
            ticket.rebuild = Some(journal.rebuild);
        }
        // A copy that is never removed will do for any number of keys with this digest.
        let has_lasting_copy =
            state.doubts.contains(digest) || !self.removes() && state.tables.contains(digest);
        if !has_lasting_copy {
            ticket.copy = Some((state.tables.insert(digest), state.epoch));
        }
        ticket
    }

    /// To be called before a delete is sent to the store.
    pub fn begin_delete(&self, digest: Digest) -> DeleteTicket<'_> {
        let epoch = self.read().map(|state| state.epoch);
        DeleteTicket { guard: self, digest, epoch }
    }

    /// A key was deleted, and stays in a guard that keeps keys.
    #[cfg(feature = "async")]
    pub(crate) fn count_deleted(&self) {
        let Some(mut state) = self.write() else { return };
        state.stale += 1;
        if let Some(journal) = &mut state.journal {
            journal.deletes += 1;
        }
    }

    /// Whether so much of the guard is wasted that it should be rebuilt: deleted keys, and keys in the
    /// overflow.
    pub fn needs_rebuild(&self) -> bool {
        self.read().is_some_and(|state| {
            let keys = state.tables.main().key_count();
            let limit = (keys / 4 + tables::MIN_CAPACITY / 4).max(state.retry_above);
            state.journal.is_none() && state.waste() > limit
        })
    }

    /// To be called before the store is scanned: from now on, what is put is noted for the new tables.
    /// `None` if a rebuild is running already.
    pub fn begin_rebuild(&self) -> Option<Rebuild<'_>> {
        let mut state = self.write()?;
        if state.journal.is_some() {
            return None;
        }
        state.rebuilds += 1;
        let rebuild = state.rebuilds;
        state.journal = Some(Journal { rebuild, puts: Multiset::default(), deletes: 0 });
        let pending = state.in_flight.iter().chain(state.doubts.listed()).collect();
        Some(Rebuild { guard: self, rebuild, pending })
    }

    /// Stops answering *absent*: from now on every question passes. For a guard that no longer knows
    /// all writes, because the store has another writer.
    pub fn distrust(&self) {
        let Some(mut state) = self.write() else { return };
        state.trusted = false;
        // Whoever hears of it may ask the guard.
        drop(state);
        tracing::warn!("the guard is no longer trusted: every question reaches the store");
    }

    /// How large the guard is, how old, and how much of it is wasted.
    pub fn status(&self) -> GuardStatus {
        // A guard that is not trusted still has its memory; a poisoned lock hides nothing here.
        let state = self.state.read_anyway();
        let trusted = state.trusted && !self.state.is_poisoned();
        GuardStatus {
            key_count: state.tables.main().key_count() + state.tables.overflow_count(),
            overflow_count: state.tables.overflow_count(),
            stale_count: state.stale,
            doubtful_count: state.doubts.count(),
            in_flight_count: state.in_flight.total(),
            size_in_bits: state.tables.size_in_bits() + state.doubts.size_in_bits(),
            expected_fpr: if trusted {
                let stopped =
                    (1.0 - state.tables.expected_fpr()) * (1.0 - state.doubts.expected_fpr());
                1.0 - stopped
            } else {
                1.0
            },
            age: state.built.elapsed(),
            rebuild_count: state.epoch,
            is_rebuilding: state.journal.is_some(),
            is_trusted: trusted,
        }
    }

    /// New tables for this guard.
    pub(crate) fn build_tables(&self, digests: Vec<Digest>) -> Result<Tables, SpecError> {
        Tables::build(&self.options, digests)
    }

    /// Whether the main filter gives keys back.
    fn removes(&self) -> bool {
        !self.options.keeps_keys && self.options.kind.capabilities().remove
    }

    /// The state, unless the guard cannot be trusted.
    #[inline]
    fn read(&self) -> Option<Reading<'_, State>> {
        self.state.read().filter(|state| state.trusted)
    }

    fn write(&self) -> Option<Writing<'_, State>> {
        self.state.write().filter(|state| state.trusted)
    }
}

/// The name of the entry in the metadata of a guard's file.
const ENTRY: &str = "crivo-store.guard";

/// The file of a guard: its main filter, with an entry that says of which keys.
impl Guard {
    /// Whether all that the guard knows is in its main filter. Doubtful keys are not: the file would
    /// not tell which copies must stay.
    pub(crate) fn can_be_saved(&self) -> bool {
        self.read()
            .is_some_and(|state| state.tables.overflow_count() == 0 && state.doubts.is_empty())
    }

    /// Tells by an event that the guard is not saved, if there are doubtful keys; returns whether there are. No
    /// rebuild changes that: their writes may arrive after its scan.
    pub(crate) fn report_doubts(&self) -> bool {
        let has_doubts = self.read().is_some_and(|state| !state.doubts.is_empty());
        if has_doubts {
            tracing::warn!(
                doubtful = self.status().doubtful_count,
                "the guard is not saved, because writes without an answer may still arrive; the next \
                 start scans the store"
            );
        }
        has_doubts
    }

    /// Saves the guard, if [it can be](Self::can_be_saved), for the data that `stamp` stands for.
    pub(crate) fn save(&self, path: &Path, stamp: &str) -> Result<(), FileError> {
        let Some(mut state) = self.write() else { return Ok(()) };
        let value = format!("{stamp} {} {}", self.options.fpr, state.stale);
        let main = state.tables.main_mut();
        // There are no other entries, and this one is short.
        main.metadata_mut().set(ENTRY, &value).expect("a short entry has room");
        main.save(path)
    }

    /// The guard that was saved for the same data with the same options: `None` if it was another.
    pub(crate) fn load(
        options: &GuardOptions,
        path: &Path,
        stamp: &str,
    ) -> Result<Option<Self>, LoadError> {
        let mut filter: AnyFilter = LoadOptions::new().hasher(options.hasher).load(path)?;
        let expected = format!("{stamp} {} ", options.fpr);
        let stale = filter.metadata().get(ENTRY).and_then(|entry| entry.strip_prefix(&expected));
        let Some(stale) = stale.and_then(|stale| stale.parse().ok()) else { return Ok(None) };
        if filter.kind() != options.kind {
            return Ok(None);
        }
        // Others may have added entries, which are not the guard's, and would take the room of its own.
        filter.metadata_mut().clear();
        Ok(Some(Self::from_filter(options.clone(), filter, stale)?))
    }
}

/// Why a guard's file could not be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum LoadError {
    File(#[from] FileError),
    Build(#[from] SpecError),
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("options", &self.options)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// A put that has begun. Dropped without an answer, its key stays in the guard: nobody knows whether
/// the write has arrived, or will.
#[derive(Debug)]
#[must_use = "a put without an answer leaves its key in doubt"]
pub struct PutTicket<'g> {
    guard: &'g Guard,
    digest: Digest,
    /// Whether it is among those under way. Not if it began when the guard was no longer trusted.
    is_counted: bool,
    /// Where this put inserted a copy, and in which epoch.
    copy: Option<(Place, u64)>,
    /// In whose journal it is.
    rebuild: Option<u64>,
    is_settled: bool,
}

impl PutTicket<'_> {
    /// The store has confirmed the write, and tells whether the key was there before it.
    ///
    /// [`Existed::Yes`] must be certain. A client that sends a write again after a lost answer may see
    /// its own first attempt: then it is [`Existed::Unknown`].
    pub fn stored(self, existed: Existed) {
        // A key that was there had its copy before: this one is a second.
        self.settle(existed == Existed::Yes);
    }

    /// The store has refused the write, for certain: nothing was written, and never will be. If that is
    /// not certain, drop the ticket.
    ///
    /// ```
    /// use crivo::filter::Kind;
    /// use crivo_store::{Guard, GuardOptions};
    ///
    /// let guard = Guard::build(GuardOptions::new(Kind::Cuckoo, 0.001)?, vec![])?;
    /// let ana = guard.hasher().digest("ana");
    /// guard.begin_put(ana).refused();
    /// assert!(!guard.contains(ana));
    /// # Ok::<(), crivo::filter::SpecError>(())
    /// ```
    pub fn refused(self) {
        self.settle(true);
    }

    /// Tells the put what the store has answered. An error that is not a refusal leaves its key in doubt.
    pub(crate) fn answered<E>(
        self,
        answer: &Result<Existed, E>,
        is_refusal: impl FnOnce(&E) -> bool,
    ) {
        match answer {
            Ok(existed) => self.stored(*existed),
            Err(error) if is_refusal(error) => self.refused(),
            Err(_) => {}
        }
    }

    /// Tells the puts of a batch what the store has answered. An error that does not refuse all of them leaves
    /// their keys in doubt.
    pub(crate) fn answered_all<E>(
        tickets: Vec<Self>,
        answer: &Result<Vec<Existed>, E>,
        is_refusal: impl FnOnce(&E) -> bool,
    ) {
        match answer {
            Ok(existed) => {
                for (ticket, &existed) in tickets.into_iter().zip(existed) {
                    ticket.stored(existed);
                }
            }
            Err(error) if is_refusal(error) => tickets.into_iter().for_each(Self::refused),
            Err(_) => {}
        }
    }

    /// The fate of the write is known. A copy that no key needs is taken out where that is possible.
    fn settle(mut self, has_spare_copy: bool) {
        self.is_settled = true;
        let Some(mut state) = self.landed() else { return };
        if has_spare_copy {
            self.take_copy(&mut state);
        }
    }

    /// The put is under way no longer; also where the guard is not trusted any more. The state, unless that is so.
    fn landed(&self) -> Option<Writing<'_, State>> {
        if !self.is_counted {
            return None;
        }
        let mut state = self.guard.state.write()?;
        state.in_flight.take(self.digest);
        state.trusted.then_some(state)
    }

    /// Takes the copy of this put out, where that is possible.
    fn take_copy(&self, state: &mut State) {
        let removed = match self.copy {
            Some((Place::Main, epoch)) => {
                epoch == state.epoch
                    && self.guard.removes()
                    && state.tables.remove_from_main(self.digest)
            }
            Some((Place::Overflow, _)) => false,
            None => true,
        };
        state.stale += u64::from(!removed);
        // If the key is there, it was when the rebuild began, or an earlier entry of the journal has it.
        if let Some(journal) = self.rebuild.and_then(|rebuild| state.journal_of(rebuild)) {
            journal.puts.take(self.digest);
        }
    }
}

impl Drop for PutTicket<'_> {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let Some(mut state) = self.landed() else { return };
        let options = &self.guard.options;
        if !options.late_writes {
            state.stale += u64::from(self.copy.is_some());
            return;
        }
        match state.doubts.add(self.digest, options.fpr, options.hasher) {
            Ok(true) => {}
            // The filter of the doubts has the key now.
            Ok(false) => self.take_copy(&mut state),
            Err(error) => {
                state.trusted = false;
                // Whoever hears of it may ask the guard.
                drop(state);
                tracing::warn!(%error, "no room for doubtful keys: every question reaches the store");
            }
        }
    }
}

/// A delete that has begun. Dropped without an answer, it leaves the key in the guard.
#[derive(Debug)]
#[must_use = "a delete without an answer leaves its key in the guard"]
pub struct DeleteTicket<'g> {
    guard: &'g Guard,
    digest: Digest,
    /// When it began; `None` if the guard was not trusted.
    epoch: Option<u64>,
}

impl DeleteTicket<'_> {
    /// The store has confirmed that the key is not there, and tells whether it was there before.
    pub fn deleted(self, existed: Existed) {
        if existed == Existed::No {
            return;
        }
        let Some(mut state) = self.guard.write() else { return };
        let state = &mut *state;
        if let Some(journal) = &mut state.journal {
            journal.deletes += 1;
        }
        let has_copy_in_main = existed == Existed::Yes
            && self.epoch == Some(state.epoch)
            && self.guard.removes()
            && !state.doubts.contains(self.digest)
            && !state.tables.overflow_contains(self.digest);
        let removed = has_copy_in_main && state.tables.remove_from_main(self.digest);
        state.stale += u64::from(!removed);
    }
}

/// A rebuild that has begun. Dropped, it leaves the guard as it is.
#[derive(Debug)]
#[must_use = "a rebuild is finished with the keys of a scan"]
pub struct Rebuild<'g> {
    guard: &'g Guard,
    rebuild: u64,
    /// Keys that the scan may miss: under way, or doubtful.
    pending: Vec<Digest>,
}

impl Rebuild<'_> {
    /// Builds new tables from what the scan found, and puts them in the place of the old ones.
    ///
    /// The scan must have begun after [`Guard::begin_rebuild`], and have found every key that was in
    /// the store from its beginning to its end. Questions, puts and deletes go on meanwhile; they wait
    /// only while the keys that were put during the rebuild are added.
    ///
    /// # Errors
    /// If the filter cannot be built. The old guard stays.
    pub fn finish(mut self, scanned: Vec<Digest>) -> Result<(), SpecError> {
        let digests = self.with_pending(scanned);
        let tables = self.guard.build_tables(digests)?;
        self.install(tables);
        Ok(())
    }

    /// What the scan found, and what it may have missed.
    pub(crate) fn with_pending(&mut self, mut scanned: Vec<Digest>) -> Vec<Digest> {
        scanned.append(&mut self.pending);
        scanned
    }

    /// Adds what was put in the meantime, and puts the tables in the place of the old ones.
    pub(crate) fn install(self, mut tables: Tables) {
        let Some(mut state) = self.guard.write() else { return };
        let Some(journal) = state.journal.take() else { return };
        for digest in journal.puts.iter() {
            if self.guard.removes() || !tables.contains(digest) {
                tables.insert(digest);
            }
        }
        let old = mem::replace(&mut state.tables, tables);
        state.stale = journal.deletes;
        state.epoch += 1;
        state.retry_above = 0;
        state.built = Instant::now();
        // Nobody waits while the memory of the old ones is given back.
        drop(state);
        drop((old, journal));
    }
}

impl Drop for Rebuild<'_> {
    fn drop(&mut self) {
        let Some(mut state) = self.guard.write() else { return };
        if state.journal_of(self.rebuild).is_some() {
            state.journal = None;
            state.retry_above = state.waste().saturating_mul(2);
        }
    }
}

/// How large a guard is, how old, and how much of it is wasted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GuardStatus {
    /// How many copies there are, of keys that are in the store and of others.
    pub key_count: u64,
    /// How many of them are in the overflow.
    pub overflow_count: u64,
    /// About how many of them are of keys that are no longer in the store.
    pub stale_count: u64,
    /// Keys whose write was given up and may still arrive: beyond 65,536, about how many.
    pub doubtful_count: u64,
    /// Puts that have no answer yet.
    pub in_flight_count: u64,
    /// The memory of the filters.
    pub size_in_bits: u64,
    /// The FPR that theory gives, leaving out questions for keys that were deleted.
    pub expected_fpr: f64,
    /// The time since the guard was built, loaded or rebuilt.
    pub age: Duration,
    /// How often it was rebuilt.
    pub rebuild_count: u64,
    /// Whether a rebuild is running.
    pub is_rebuilding: bool,
    /// `false` if every question passes: see [`Guard::distrust`].
    pub is_trusted: bool,
}
