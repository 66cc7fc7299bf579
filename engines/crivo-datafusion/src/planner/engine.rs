//! What the engine behind a session does with joins.

use datafusion::catalog::Session;
use datafusion::common::JoinType;

use super::options::CrivoOptions;
use super::safety::Side;

/// What exchanging and joining a byte costs where joins hash their rows, and where they sort them.
const HASHED_COST: f64 = 1.5;
const SORTED_COST: f64 = 6.0;

/// What the steps of a query cost in time; reading a byte of a table costs 1, about a nanosecond.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// Sorting a byte of a row into a partition, writing, sending and reading it, and joining it.
    pub(super) exchange: f64,
    /// Planning and starting the query for the keys of a filter, however few they are.
    pub(super) job: f64,
}

/// The engine of a session: DataFusion in this process, or a cluster of Ballista.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    /// Whether a scheduler optimises plans again.
    pub(super) is_cluster: bool,
    /// Whether it plans again while the query runs.
    ///
    /// In Ballista 55 an outer join whose other side turns out to be empty never ends then. A filter can
    /// leave a side empty that has rows without it, so that outer joins get none, nor does what is below
    /// them.
    pub(super) is_adaptive: bool,
    /// The size up to which it sends a side of a join to every partition of the other one.
    broadcast_bytes: usize,
    pub(super) costs: Costs,
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
            let costs = Costs { exchange: HASHED_COST, job: 0.0 };
            let broadcast_bytes = own_threshold;
            return Self { is_cluster: false, is_adaptive: false, broadcast_bytes, costs };
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
        let own = options.extensions.get::<CrivoOptions>();
        let milliseconds = own.map_or(0, |it| it.key_query_milliseconds) as f64;
        let sorts = !is_adaptive && !options.optimizer.prefer_hash_join;
        let exchange = if sorts { SORTED_COST } else { HASHED_COST };
        let costs = Costs { exchange, job: 1e6 * milliseconds };
        Self { is_cluster: true, is_adaptive, broadcast_bytes, costs }
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
