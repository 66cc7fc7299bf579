//! Data that do not change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crivo::filter::{AnyFilter, Filter};
use crivo::{Digest, KeyHasher};

use super::{Guarded, Mode, scan, sealed};
use crate::counters::Tally;
use crate::guard::GuardOptions;
use crate::{GuardedError, Store};

/// The mode of data that do not change: a [`Guarded`] without `put`.
///
/// ```compile_fail,E0599
/// use crivo_store::redb::RedbStore;
/// use crivo_store::{Guarded, Snapshot};
///
/// fn write(numbers: &Guarded<RedbStore<u64, u64>, Snapshot>) {
///     numbers.put(1, 2); // there is no such method in this mode
/// }
/// ```
#[derive(Debug)]
pub struct Snapshot {
    filter: AnyFilter,
    since: Instant,
}

impl Snapshot {
    pub(crate) fn new(filter: AnyFilter) -> Self {
        Self { filter, since: Instant::now() }
    }

    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    pub(crate) fn filter(&self) -> &AnyFilter {
        &self.filter
    }
}

/// A store whose data do not change.
impl<S: Store> Guarded<S, Snapshot> {
    /// Scans the store, and builds a guard of its keys.
    ///
    /// # Errors
    /// If the store cannot be read, or the guard cannot be built.
    pub fn snapshot(store: S, options: &GuardOptions) -> Result<Self, GuardedError<S::Error>> {
        let digests = scan(&store, options.hasher).map_err(GuardedError::Store)?;
        let filter = options.build_filter(digests).map_err(GuardedError::Build)?;
        tracing::debug!(keys = filter.key_count(), "a guard was built from a scan");
        Ok(Self::with_filter(store, filter))
    }

    /// Puts a filter in front of the store, such as one from a `.crivo` file.
    ///
    /// The filter must hold every key of the store: a key that it does not hold is hidden. Its keys
    /// must be the bytes that the [store hashes](Store::digest), by the filter's own hasher.
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

impl Mode for Snapshot {}

impl sealed::Sealed for Snapshot {
    #[inline]
    fn hasher(&self) -> KeyHasher {
        self.filter.hasher()
    }

    #[inline]
    fn admits(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    #[inline]
    fn admits_later(&self, digest: Digest) -> impl FnOnce() -> bool {
        self.filter.prefetch_digest(digest);
        move || self.filter.contains_digest(digest)
    }

    fn admits_batch(&self, digests: &[Digest], hits: &mut [bool]) {
        self.filter.contains_batch(digests, hits);
    }
}
