//! What a filter is predicted to save.
//!
//! ```text
//! domain   the rows of the largest table of the build side: how many keys there could be
//! pass     the rows of the build side, or its distinct keys once they are counted, / domain
//! saved    bytes of the probe side · (1 - pass)
//! cost     bytes of the tables of the build side, which are read once more
//! ```
//!
//! A join against a whole table passes everything, and is left alone.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use super::options::CrivoOptions;

/// What statistics say about a plan.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    /// The rows of its result.
    pub(super) rows: Option<usize>,
    /// The bytes of its result.
    bytes: Option<usize>,
    /// The rows of its largest table.
    largest_table_rows: Option<usize>,
    /// The bytes of all its tables, of the columns that it reads.
    table_bytes: Option<usize>,
}

impl Estimate {
    /// Plans `plan` in this process, without executing it.
    pub(super) async fn of(plan: &LogicalPlan, session: &dyn Session) -> Result<Self> {
        let planner = DefaultPhysicalPlanner::default();
        let physical = planner.create_physical_plan(plan, session).await?;
        let (rows, bytes) = size_of(&physical)?;
        let mut tables = Vec::new();
        collect_tables(&physical, &mut tables);
        let sizes = tables.into_iter().map(|it| size_of(&it)).collect::<Result<Vec<_>>>()?;
        let table_rows: Option<Vec<usize>> = sizes.iter().map(|(rows, _)| *rows).collect();
        Ok(Self {
            rows,
            bytes,
            largest_table_rows: table_rows.and_then(|rows| rows.into_iter().max()),
            table_bytes: sizes.iter().map(|(_, bytes)| *bytes).sum(),
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

/// Why a filter is not made, or `None` if the predicted gain is clear.
pub(super) fn objection(
    build: &Estimate,
    probe: &Estimate,
    options: &CrivoOptions,
    broadcast_bytes: usize,
) -> Option<&'static str> {
    let (Some(build_rows), Some(probe_rows)) = (build.rows, probe.rows) else {
        return Some("there are no statistics");
    };
    let (Some(build_bytes), Some(probe_bytes)) = (build.table_bytes, probe.bytes) else {
        return Some("there are no statistics");
    };
    if probe_rows < options.min_probe_rows {
        return Some("there are few rows to remove");
    }
    if build.bytes.is_some_and(|bytes| bytes <= broadcast_bytes) {
        return Some("the other side is small enough to be sent to every partition");
    }
    let Some(pass) = build.pass_share(build_rows) else {
        return Some("there are no statistics");
    };
    if pass > options.max_pass_share {
        return Some("most rows would pass");
    }
    if (probe_bytes as f64) * (1.0 - pass) < 2.0 * build_bytes as f64 {
        return Some("reading the other side twice costs more than it saves");
    }
    None
}

/// The size up to which the engine sends a build side to every partition of the other one.
pub(super) fn broadcast_bytes(session: &dyn Session) -> usize {
    const BALLISTA: &str = "ballista.optimizer.broadcast_join_threshold_bytes";
    let options = session.config_options();
    let entries = options.entries();
    let of_cluster = entries.iter().find(|entry| entry.key == BALLISTA);
    of_cluster
        .and_then(|entry| entry.value.as_ref()?.parse().ok())
        .unwrap_or(options.optimizer.hash_join_single_partition_threshold)
}

fn collect_tables(plan: &Arc<dyn ExecutionPlan>, tables: &mut Vec<Arc<dyn ExecutionPlan>>) {
    match plan.children().as_slice() {
        [] => tables.push(Arc::clone(plan)),
        children => children.iter().for_each(|child| collect_tables(child, tables)),
    }
}

/// Rows, and bytes: where only the rows are known, by the types of the columns.
fn size_of(plan: &Arc<dyn ExecutionPlan>) -> Result<(Option<usize>, Option<usize>)> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    let rows = statistics.num_rows.get_value().copied();
    let by_type = rows.map(|rows| rows.saturating_mul(row_width(&plan.schema())));
    Ok((rows, statistics.total_byte_size.get_value().copied().or(by_type)))
}

/// The bytes of a row by the types of its columns; those of text are a guess.
pub(super) fn row_width(schema: &Schema) -> usize {
    const TEXT: usize = 24;
    let width = |data_type: &DataType| data_type.primitive_width().unwrap_or(TEXT);
    schema.fields().iter().map(|field| width(field.data_type())).sum()
}
