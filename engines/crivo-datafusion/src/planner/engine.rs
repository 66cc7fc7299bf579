//! What the engine behind a session does with joins.

use datafusion::catalog::Session;
use datafusion::common::JoinType;

use super::safety::Side;

/// The engine of a session: DataFusion in this process, or a cluster of Ballista.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    is_cluster: bool,
    /// Whether it plans again while the query runs.
    ///
    /// In Ballista 55 an outer join whose other side turns out to be empty never ends then. A filter can
    /// leave a side empty that has rows without it, so that outer joins get none, nor does what is below
    /// them.
    pub(super) is_adaptive: bool,
    /// The size up to which it sends a side of a join to every partition of the other one.
    broadcast_bytes: usize,
}

impl Engine {
    pub(super) fn of(session: &dyn Session) -> Self {
        const CLUSTER: &str = "ballista";
        const ADAPTIVE_PLANNER: &str = "ballista.planner.adaptive.enabled";
        const THRESHOLD: &str = "ballista.optimizer.broadcast_join_threshold_bytes";
        let options = session.config_options();
        let own_threshold = options.optimizer.hash_join_single_partition_threshold;
        // All options together are hundreds, and each would be written out.
        let extension = options.extensions.iter().find(|(prefix, _)| *prefix == CLUSTER);
        let Some((_, extension)) = extension else {
            return Self { is_cluster: false, is_adaptive: false, broadcast_bytes: own_threshold };
        };
        let entries = extension.entries();
        let value = |key: &str| entries.iter().find(|it| it.key == key)?.value.as_deref();
        let is_adaptive = value(ADAPTIVE_PLANNER) == Some("true");
        let threshold = value(THRESHOLD).and_then(|it| it.parse().ok()).unwrap_or(own_threshold);
        let broadcast_bytes = match () {
            () if is_adaptive => threshold,
            // The planner that plans once does it for hash joins alone, by the engine's own threshold.
            () if options.optimizer.prefer_hash_join => own_threshold.min(threshold),
            () => 0,
        };
        Self { is_cluster: true, is_adaptive, broadcast_bytes }
    }

    /// The size up to which this side of a join of this type is sent to every partition of the other one.
    pub(super) fn broadcast_bytes(&self, join: JoinType, side: Side) -> usize {
        let join = match side {
            Side::Left => join,
            Side::Right => join.swap(),
        };
        // Each process would emit the rows of its copy whose match is elsewhere.
        let emits_copies = !matches!(
            join,
            JoinType::Inner
                | JoinType::Right
                | JoinType::RightSemi
                | JoinType::RightAnti
                | JoinType::RightMark
        );
        if self.is_cluster && emits_copies { 0 } else { self.broadcast_bytes }
    }
}
