//! The options of a session: `SET crivo.runtime_filters = true`.

use datafusion::common::config::ConfigExtension;
use datafusion::common::extensions_options;

use crate::functions::{DEFAULT_FPR, MAX_FEW};

extensions_options! {
    /// The options of runtime filters, under the prefix `crivo`.
    pub struct CrivoOptions {
        /// Whether joins get runtime filters where the predicted gain is clear.
        pub runtime_filters: bool, default = false

        /// For tests: whether every join gets a filter on every side where that is safe, whatever the
        /// predicted gain.
        pub force: bool, default = false

        /// The false-positive rate of the filters; lower where many rows are asked for few keys, so that
        /// a larger filter is fewer bytes than the false positives. Exactly this with `force`.
        pub fpr: f64, default = DEFAULT_FPR

        /// So few keys become an `IN` list instead of a filter; at most 20.
        pub max_in_list: usize, default = MAX_FEW

        /// A larger filter is not used. All filters of a query together have at most four times this
        /// size, and their copies in its plan at most sixteen times: the plan is one message to each
        /// executor.
        pub max_filter_bytes: usize, default = 2 * 1024 * 1024

        /// A filter is used only if at most this share of the rows is predicted to pass.
        pub max_pass_share: f64, default = 0.5

        /// A side with fewer rows gets no filter.
        pub min_probe_rows: usize, default = 100_000

        /// The milliseconds that a cluster takes to plan and start the query for the keys of a filter,
        /// however few they are: a filter is predicted to save more.
        pub key_query_milliseconds: usize, default = 10
    }
}

impl ConfigExtension for CrivoOptions {
    const PREFIX: &'static str = "crivo";
}

impl CrivoOptions {
    /// The size of all filters of a query together.
    pub(super) fn max_total_bytes(&self) -> usize {
        self.max_filter_bytes.saturating_mul(4)
    }

    /// The size of all their copies in a plan, by default half of the largest message of a cluster.
    pub(super) fn max_plan_bytes(&self) -> usize {
        self.max_filter_bytes.saturating_mul(16)
    }
}
