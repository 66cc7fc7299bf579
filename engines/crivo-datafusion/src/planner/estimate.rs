//! What a filter is predicted to save.
//!
//! ```text
//! domain   the rows of the largest table of the build side: how many keys there could be
//! pass     the rows of the build side, or its distinct keys once they are counted, / domain
//! saved    exchanged: bytes of the probe side · (1 - pass)
//! cost     read: the columns of the tables of the build side that its keys need
//!          exchanged: its rows, for joins and groups of its own; and the digests of its keys
//! ```
//!
//! A byte that is exchanged is sorted into a partition, written, sent and read: it costs
//! [`EXCHANGE_COST`] times as much as one that is read from a table. A join against a whole table passes
//! everything, and is left alone.
//!
//! The false-positive rate follows from the same sizes: halving it makes the filter larger by 1.44 bits
//! for each key, wherever it is sent, and halves the false positives among the rows.

use std::f64::consts::LN_2;
use std::sync::Arc;

use crivo::Digest;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::catalog::Session;
use datafusion::common::{ColumnStatistics, Result, Statistics};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, StatisticsArgs, StatisticsContext};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use super::options::CrivoOptions;
use super::safety::plans_adaptively;

/// What exchanging a byte costs, where reading it from a table costs 1.
const EXCHANGE_COST: f64 = 4.0;

/// The gain is clear if this many times the cost is saved.
const CLEAR_GAIN: f64 = 1.5;

/// A lower false-positive rate is not chosen: the size of the filter would grow for next to no rows.
const MIN_FPR: f64 = 1e-4;

/// What statistics say about a side of a join.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    /// The rows of its result.
    pub(super) rows: Option<usize>,
    /// The bytes of its result.
    bytes: Option<usize>,
    /// The rows of its largest table.
    largest_table_rows: Option<usize>,
}

impl Estimate {
    /// Plans `plan` in this process, without executing it.
    pub(super) async fn of(plan: &LogicalPlan, session: &dyn Session) -> Result<Self> {
        let planner = DefaultPhysicalPlanner::default();
        let physical = planner.create_physical_plan(plan, session).await?;
        let statistics = statistics_of(&physical)?;
        let inputs = Inputs::of(&physical);
        let table_rows: Option<Vec<usize>> = inputs
            .tables
            .iter()
            .map(|table| Ok(statistics_of(table)?.num_rows.get_value().copied()))
            .collect::<Result<_>>()?;
        Ok(Self {
            rows: statistics.num_rows.get_value().copied(),
            bytes: result_bytes(&statistics, &physical.schema()),
            largest_table_rows: table_rows.and_then(|rows| rows.into_iter().max()),
        })
    }

    /// Whether a filter of this build side still pays, now that its distinct keys are counted.
    pub(super) fn still_pays(
        &self,
        keys: usize,
        options: &CrivoOptions,
        broadcast_bytes: usize,
    ) -> bool {
        // As many bytes for each key as were predicted for each row.
        let bytes = match (self.bytes, self.rows) {
            (Some(bytes), Some(rows)) => bytes as f64 / rows.max(1) as f64 * keys as f64,
            _ => f64::INFINITY,
        };
        let is_broadcast = broadcast_bytes > 0 && bytes <= broadcast_bytes as f64;
        !is_broadcast && self.pass_share(keys).is_some_and(|pass| pass <= options.max_pass_share)
    }

    /// The share of the keys that this build side has, if it has this number.
    fn pass_share(&self, keys: usize) -> Option<f64> {
        let domain = self.largest_table_rows?.max(1);
        Some((keys as f64 / domain as f64).min(1.0))
    }
}

/// What the evaluation of the keys of a build side costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyCost {
    /// The bytes of the columns that it reads, of all its tables.
    table_bytes: Option<usize>,
    /// The bytes of the rows that it exchanges between partitions, as far as they are known.
    exchanged_bytes: usize,
}

impl KeyCost {
    /// Of a plan whose result is the keys, which is planned in this process, but not executed.
    pub(super) async fn of(keys: &LogicalPlan, session: &dyn Session) -> Result<Self> {
        let planner = DefaultPhysicalPlanner::default();
        let physical = planner.create_physical_plan(keys, session).await?;
        let inputs = Inputs::of(&physical);
        let mut table_bytes = Some(0usize);
        for table in &inputs.tables {
            let statistics = statistics_of(table)?;
            let bytes = scanned_bytes(&statistics, &table.schema());
            table_bytes = table_bytes.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
        }
        let mut exchanged_bytes = 0usize;
        for input in &inputs.exchanged {
            let statistics = statistics_of(input)?;
            let bytes = result_bytes(&statistics, &input.schema()).unwrap_or(0);
            exchanged_bytes = exchanged_bytes.saturating_add(bytes);
        }
        Ok(Self { table_bytes, exchanged_bytes })
    }
}

/// Why a side gets no filter, whatever the other one is, or `None`.
pub(super) fn objection_to_probe(probe: &Estimate, options: &CrivoOptions) -> Option<&'static str> {
    match probe.rows {
        None => Some("there are no statistics"),
        Some(rows) if rows < options.min_probe_rows => Some("there are few rows to remove"),
        Some(_) => None,
    }
}

/// Why no filter is made of a side, whatever its keys cost and the other one is, or `None`.
pub(super) fn objection_to_build(
    build: &Estimate,
    options: &CrivoOptions,
    broadcast_bytes: usize,
) -> Option<&'static str> {
    if build.bytes.is_some_and(|bytes| bytes <= broadcast_bytes) {
        return Some("the side is small enough to be sent to every partition");
    }
    match build.rows.and_then(|rows| build.pass_share(rows)) {
        None => Some("there are no statistics"),
        Some(pass) if pass > options.max_pass_share => Some("most rows would pass"),
        Some(_) => None,
    }
}

/// Why the keys are not worth what they cost, or `None` if the predicted gain is clear.
pub(super) fn objection_to_cost(
    build: &Estimate,
    probe: &Estimate,
    keys: &KeyCost,
) -> Option<&'static str> {
    let (Some(build_rows), Some(probe_bytes), Some(table_bytes)) =
        (build.rows, probe.bytes, keys.table_bytes)
    else {
        return Some("there are no statistics");
    };
    let digest_bytes = build_rows.saturating_mul(size_of::<Digest>());
    let exchanged = keys.exchanged_bytes.saturating_add(digest_bytes);
    let pass = build.pass_share(build_rows).unwrap_or(1.0);
    let saved = EXCHANGE_COST * probe_bytes as f64 * (1.0 - pass);
    let cost = table_bytes as f64 + EXCHANGE_COST * exchanged as f64;
    (saved < CLEAR_GAIN * cost)
        .then_some("evaluating the keys of the other side costs more than it saves")
}

/// The false-positive rate at which the filter, sent to `copies` places, and the rows that pass by
/// mistake are the fewest bytes together; at most that of the options.
pub(super) fn best_fpr(
    build: &Estimate,
    probe: &Estimate,
    options: &CrivoOptions,
    copies: usize,
) -> f64 {
    let (Some(keys), Some(probe_bytes)) = (build.rows, probe.bytes) else { return options.fpr };
    // The derivative of keys · ln(1 / fpr) / ln² 2 / 8 · copies + fpr · probe_bytes is 0 there.
    let bytes_of_a_key = 1.0 / (8.0 * LN_2 * LN_2);
    let best = keys as f64 * bytes_of_a_key * copies as f64 / probe_bytes.max(1) as f64;
    best.max(MIN_FPR).min(options.fpr)
}

/// The size up to which the engine sends a build side to every partition of the other one.
pub(super) fn broadcast_bytes(session: &dyn Session) -> usize {
    const BALLISTA: &str = "ballista.optimizer.broadcast_join_threshold_bytes";
    let options = session.config_options();
    let entries = options.entries();
    let of_cluster = entries.iter().find(|entry| entry.key == BALLISTA);
    let of_engine = options.optimizer.hash_join_single_partition_threshold;
    match of_cluster.and_then(|entry| entry.value.as_ref()?.parse().ok()) {
        None => of_engine,
        Some(threshold) if plans_adaptively(session) => threshold,
        // The planner that plans once does it for hash joins alone, by the engine's own threshold.
        Some(threshold) if options.optimizer.prefer_hash_join => of_engine.min(threshold),
        Some(_) => 0,
    }
}

/// What a plan reads and exchanges.
#[derive(Default)]
struct Inputs {
    tables: Vec<Arc<dyn ExecutionPlan>>,
    /// The inputs of exchanges between partitions.
    exchanged: Vec<Arc<dyn ExecutionPlan>>,
}

impl Inputs {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut inputs = Self::default();
        inputs.collect(plan);
        inputs
    }

    fn collect(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let children = plan.children();
        if children.is_empty() {
            self.tables.push(Arc::clone(plan));
        }
        let is_exchange = plan
            .downcast_ref::<RepartitionExec>()
            .is_some_and(|it| matches!(it.partitioning(), Partitioning::Hash(..)));
        for child in children {
            if is_exchange {
                self.exchanged.push(Arc::clone(child));
            }
            self.collect(child);
        }
    }
}

fn statistics_of(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<Statistics>> {
    StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())
}

/// The bytes of a result: where only the rows are known, by the types of the columns.
fn result_bytes(statistics: &Statistics, schema: &Schema) -> Option<usize> {
    let by_type = || Some(statistics.num_rows.get_value()?.saturating_mul(row_width(schema)));
    statistics.total_byte_size.get_value().copied().or_else(by_type)
}

/// The bytes of the columns of a table. Its total may be that of columns that are not read, too.
fn scanned_bytes(statistics: &Statistics, schema: &Schema) -> Option<usize> {
    let rows = statistics.num_rows.get_value().copied();
    let bytes_of = |(column, field): (&ColumnStatistics, &FieldRef)| {
        let by_type = || rows.map(|rows| rows.saturating_mul(column_width(field.data_type())));
        column.byte_size.get_value().copied().or_else(by_type)
    };
    statistics.column_statistics.iter().zip(schema.fields()).map(bytes_of).sum()
}

/// The bytes of a row by the types of its columns; those of text are a guess.
pub(super) fn row_width(schema: &Schema) -> usize {
    schema.fields().iter().map(|field| column_width(field.data_type())).sum()
}

fn column_width(data_type: &DataType) -> usize {
    const TEXT: usize = 24;
    data_type.primitive_width().unwrap_or(TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fpr_is_that_of_the_fewest_bytes() {
        let options = CrivoOptions::default();
        let side = |rows, bytes| Estimate { rows, bytes, largest_table_rows: rows };
        let fpr = |keys: usize, bytes: usize| {
            best_fpr(&side(Some(keys), None), &side(None, Some(bytes)), &options, 4)
        };
        let total = |fpr: f64, keys: f64, bytes: f64| {
            4.0 * keys * (1.0 / fpr).ln() / (8.0 * LN_2 * LN_2) + fpr * bytes
        };
        let best = fpr(100_000, 240_000_000);
        for other in [best / 1.1, best * 1.1] {
            assert!(total(best, 1e5, 2.4e8) < total(other, 1e5, 2.4e8));
        }
        assert_eq!(fpr(100, 240_000_000), MIN_FPR);
        assert_eq!(fpr(10_000_000, 240_000_000), options.fpr);
        assert_eq!(best_fpr(&side(None, None), &side(None, None), &options, 4), options.fpr);
    }
}
