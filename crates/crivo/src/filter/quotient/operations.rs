//! What a filter asks its table, each compiled once for every kind of processor.

use super::processor::{Processor, TableOperation};
use super::table::{NoPlace, NoSuch, QuotientTable};
use crate::Digest;
use crate::filter::batch;
use crivo_core::memory::Cache;

/// Whether there is this fingerprint, whose quotient occurs, near that in all likelihood.
pub(super) struct ContainsNear<'a>(pub(super) &'a QuotientTable, pub(super) u64);

impl TableOperation for ContainsNear<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> bool {
        let Self(table, fingerprint) = self;
        if P::SCATTERS
            && let Some(contains) = table.contains_near(processor, fingerprint)
        {
            return contains;
        }
        processor.call(Contains(table, fingerprint))
    }
}

/// Whether there is this fingerprint.
pub(super) struct Contains<'a>(pub(super) &'a QuotientTable, pub(super) u64);

impl TableOperation for Contains<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> bool {
        self.0.contains(processor, self.1)
    }
}

/// Whether there are the fingerprints of these digests.
pub(super) struct ContainsBatch<'a> {
    pub(super) table: &'a QuotientTable,
    pub(super) keys: &'a [Digest],
    pub(super) hits: &'a mut [bool],
}

impl TableOperation for ContainsBatch<'_> {
    type Answer = ();

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) {
        let fetch = |key: Digest| {
            let fingerprint = self.table.geometry.fingerprint(key.get());
            self.table.prefetch(fingerprint, Cache::Second);
            fingerprint
        };
        let look = |fingerprint| self.table.contains(processor, fingerprint);
        batch::fetch_and_look(self.keys, self.hits, fetch, look);
    }
}

/// How often there is this fingerprint.
pub(super) struct CountCopies<'a>(pub(super) &'a QuotientTable, pub(super) u64);

impl TableOperation for CountCopies<'_> {
    type Answer = u64;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> u64 {
        self.0.count(processor, self.1)
    }
}

/// Adds a fingerprint near its quotient, in all likelihood, and tells whether it is new.
pub(super) struct InsertNear<'a>(pub(super) &'a mut QuotientTable, pub(super) u64);

impl TableOperation for InsertNear<'_> {
    type Answer = Result<bool, NoPlace>;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> Result<bool, NoPlace> {
        let Self(table, fingerprint) = self;
        if P::SCATTERS
            && let Some(is_new) = table.to_mut().insert_near(processor, fingerprint)
        {
            return Ok(is_new);
        }
        processor.call(Insert(table, fingerprint))
    }
}

/// Adds a fingerprint, and tells whether it is new.
pub(super) struct Insert<'a>(pub(super) &'a mut QuotientTable, pub(super) u64);

impl TableOperation for Insert<'_> {
    type Answer = Result<bool, NoPlace>;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> Result<bool, NoPlace> {
        self.0.to_mut().insert(processor, self.1)
    }
}

/// Takes out a fingerprint.
pub(super) struct Remove<'a>(pub(super) &'a mut QuotientTable, pub(super) u64);

impl TableOperation for Remove<'_> {
    type Answer = Result<(), NoSuch>;

    #[inline(always)]
    fn run<P: Processor>(self, processor: P) -> Result<(), NoSuch> {
        self.0.to_mut().remove(processor, self.1)
    }
}
