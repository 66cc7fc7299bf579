//! Stores whose calls are futures, as those of servers are (feature `async`, on tokio).
//!
//! [`AsyncGuarded`] is the twin of [`Guarded`](crate::Guarded): the same guard, the same modes, the same
//! promises. A future that is dropped before it has ended leaves its key in the guard.

mod exclusive;
pub mod shared;
mod store;
#[cfg(test)]
mod tests;

pub use exclusive::AsyncExclusive;
pub use shared::{AsyncSharedStore, Shared, SharedOptions};
pub use store::{AsyncOwnedStore, AsyncStore};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crivo::filter::AnyFilter;
use crivo::{Digest, KeyHasher};

use crate::counters::Tally;
use crate::guard::{Rebuild, Tables};
use crate::guarded::{Mode, passed, spread};
use crate::{Counters, Guard, GuardOptions, GuardedError, Snapshot};

/// A store behind a guard, with calls that are futures: absent keys are answered from memory, at once.
///
/// See [`Guarded`](crate::Guarded) for what the modes promise, and what breaks it.
pub struct AsyncGuarded<S, M = AsyncExclusive> {
    store: Arc<S>,
    mode: M,
    tally: Tally,
}

/// Questions, in every mode.
impl<S: AsyncStore, M: Mode> AsyncGuarded<S, M> {
    /// The value of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(&self, key: &S::Key) -> Result<Option<S::Value>, S::Error> {
        if self.stops(key) {
            return Ok(None);
        }
        self.count(self.store.get(key).await, Option::is_some)
    }

    /// Whether there is a value for the key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn contains(&self, key: &S::Key) -> Result<bool, S::Error> {
        if self.stops(key) {
            return Ok(false);
        }
        self.count(self.store.contains(key).await, |found| *found)
    }

    /// The values of several keys, in their order. The store is asked once, for those keys that the
    /// guard lets through.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the store does not answer each key once: see [`AsyncStore::get_batch`].
    pub async fn get_batch(&self, keys: &[&S::Key]) -> Result<Vec<Option<S::Value>>, S::Error> {
        let (passed, asked) = self.passed(keys);
        let answers = match asked.is_empty() {
            true => Ok(vec![]),
            false => self.store.get_batch(&asked).await,
        };
        spread(&self.tally, keys.len(), passed, answers, Option::is_some)
    }

    /// Whether there are values for several keys, in their order. The store is asked once, for those keys that
    /// the guard lets through.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use crivo::filter::Kind;
    /// use crivo_store::{AsyncGuarded, AsyncStore, GuardOptions};
    ///
    /// /// The squares of the first hundred numbers.
    /// struct Squares;
    ///
    /// impl AsyncStore for Squares {
    ///     type Key = u64;
    ///     type Value = u64;
    ///     type Error = Infallible;
    ///
    ///     async fn get(&self, key: &u64) -> Result<Option<u64>, Infallible> {
    ///         Ok((*key < 100).then(|| key * key))
    ///     }
    ///
    ///     async fn scan(&self, visit: impl FnMut(&u64) + Send) -> Result<(), Infallible> {
    ///         Vec::from_iter(0..100).iter().for_each(visit);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let squares = AsyncGuarded::snapshot(Squares, &GuardOptions::new(Kind::Fuse, 0.001)?).await?;
    /// assert_eq!(squares.contains_batch(&[&7, &1_000]).await?, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the store does not answer each key once: see [`AsyncStore::contains_batch`].
    pub async fn contains_batch(&self, keys: &[&S::Key]) -> Result<Vec<bool>, S::Error> {
        let (passed, asked) = self.passed(keys);
        let answers = match asked.is_empty() {
            true => Ok(vec![]),
            false => self.store.contains_batch(&asked).await,
        };
        spread(&self.tally, keys.len(), passed, answers, |found| *found)
    }

    /// How many questions there were, and how they ended.
    pub fn counters(&self) -> Counters {
        self.tally.counters()
    }

    /// The hash function of the guard.
    pub fn hasher(&self) -> KeyHasher {
        self.mode.hasher()
    }

    /// The store. What is written past the guard is hidden by it.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Those keys that the guard lets through, and their places.
    fn passed<'k>(&self, keys: &[&'k S::Key]) -> (Vec<usize>, Vec<&'k S::Key>) {
        let hasher = self.mode.hasher();
        let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(*key)).collect();
        let passed = passed(&self.mode, &self.tally, &digests);
        let asked = passed.iter().map(|&at| keys[at]).collect();
        (passed, asked)
    }

    fn stops(&self, key: &S::Key) -> bool {
        let stops = !self.mode.admits(self.mode.hasher().digest(key));
        self.tally.stopped(stops.into());
        stops
    }

    fn count<T>(
        &self,
        answer: Result<T, S::Error>,
        is_found: impl FnOnce(&T) -> bool,
    ) -> Result<T, S::Error> {
        match &answer {
            Ok(answer) => self.tally.answered(is_found(answer)),
            Err(_) => self.tally.failed(1),
        }
        answer
    }
}

/// A store whose data do not change.
impl<S: AsyncStore> AsyncGuarded<S, Snapshot> {
    /// Scans the store, and builds a guard of its keys.
    ///
    /// # Errors
    /// If the store cannot be read, or the guard cannot be built.
    pub async fn snapshot(
        store: S,
        options: &GuardOptions,
    ) -> Result<Self, GuardedError<S::Error>> {
        let digests = scan(&store, options.hasher).await.map_err(GuardedError::Store)?;
        let options = options.clone();
        let built = compute(move || options.build_filter(digests)).await;
        Ok(Self::with_filter(store, built.map_err(GuardedError::Build)?))
    }

    /// Puts a filter in front of the store, such as one from a `.crivo` file.
    ///
    /// The filter must hold every key of the store: a key that it does not hold is hidden.
    pub fn with_filter(store: S, filter: AnyFilter) -> Self {
        Self { store: Arc::new(store), mode: Snapshot::new(filter), tally: Tally::default() }
    }

    /// The filter, for instance to save it for the next start.
    pub fn filter(&self) -> &AnyFilter {
        self.mode.filter()
    }

    /// The time since the filter was put in front of the store: built from a scan, or given.
    pub fn guard_age(&self) -> Duration {
        self.mode.age()
    }
}

impl<S, M: fmt::Debug> fmt::Debug for AsyncGuarded<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncGuarded")
            .field("mode", &self.mode)
            .field("counters", &self.tally.counters())
            .finish_non_exhaustive()
    }
}

/// The digests of all keys of a store.
async fn scan<S: AsyncStore>(store: &S, hasher: KeyHasher) -> Result<Vec<Digest>, S::Error> {
    let mut digests = Vec::new();
    store.scan(|key| digests.push(hasher.digest(key))).await?;
    Ok(digests)
}

/// Scans the store, and rebuilds the guard, unless a rebuild is running already.
async fn rebuild<S: AsyncStore>(
    store: &S,
    guard: &Arc<Guard>,
) -> Result<bool, GuardedError<S::Error>> {
    let Some(rebuild) = guard.begin_rebuild() else { return Ok(false) };
    let scanned = scan(store, guard.hasher()).await.map_err(GuardedError::Store)?;
    let keys = scanned.len();
    let (rebuild, tables) = build_tables(guard, rebuild, scanned).await?;
    rebuild.install(tables);
    tracing::debug!(keys, "the guard was rebuilt");
    Ok(true)
}

/// New tables from what a scan has found.
async fn build_tables<'g, E: std::error::Error>(
    guard: &Arc<Guard>,
    mut rebuild: Rebuild<'g>,
    scanned: Vec<Digest>,
) -> Result<(Rebuild<'g>, Tables), GuardedError<E>> {
    let digests = rebuild.with_pending(scanned);
    let guard = guard.clone();
    let tables = compute(move || guard.build_tables(digests)).await.map_err(GuardedError::Build)?;
    Ok((rebuild, tables))
}

/// Runs work of seconds where it keeps no other task waiting.
async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("the runtime has ended: {error}"),
        },
    }
}
