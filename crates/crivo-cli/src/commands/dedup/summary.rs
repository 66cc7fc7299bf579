//! What `crivo dedup` reports.

use serde::Serialize;

/// The numbers of records.
#[derive(Debug, Default, Serialize)]
pub(super) struct DedupSummary {
    /// All records.
    pub(super) records: u64,
    /// Records that were not printed.
    pub(super) dropped: u64,
    /// The expected number of dropped records that were new.
    pub(super) expected_wrongly_dropped: f64,
}
