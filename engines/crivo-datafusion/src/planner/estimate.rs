//! What a filter is predicted to save.
//!
//! ```text
//! domain   the rows of the largest table of the build side: how many keys there could be
//! pass     the rows of the build side, or its distinct keys once they are counted, / domain
//! saved    exchanged: bytes of the probe side · (1 - pass)
//! cost     the query for the keys, however few
//!          read: the columns of the tables of the build side that its keys need
//!          exchanged: its rows, for joins and groups of its own
//!          for each key, and for each row of the probe side, which is asked for
//! ```
//!
//! What each of these takes is in [`Costs`]. A join against a whole table passes everything, and is left
//! alone.
//!
//! The false-positive rate follows from the same sizes: halving it makes the filter larger by 1.44 bits
//! for each key, wherever it is sent, and halves the false positives among the rows.

use std::f64::consts::LN_2;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{ColumnStatistics, Result, Statistics};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use super::engine::Costs;
use super::options::CrivoOptions;
use super::unoptimized::Unoptimized;

/// What asking a filter for a row costs, where reading a byte from a table costs 1.
const ASK_COST: f64 = 4.0;

/// What collecting a key costs, for its digest, which is sorted and exchanged, and for the filter.
const KEY_COST: f64 = 150.0;

/// The gain is clear if this many times the cost is saved.
pub(super) const CLEAR_GAIN: f64 = 1.5;

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
    /// What its keys can cost.
    keys: KeyCostBounds,
}

/// Between these is the cost of the keys of a side, as far as it is known without planning them.
#[derive(Debug, Clone, Copy, Default)]
struct KeyCostBounds {
    /// At least one column of each table is read.
    least: Option<KeyCost>,
    /// Of one table no other columns are read than for the side itself, and nothing is exchanged.
    most: Option<KeyCost>,
}

impl Estimate {
    /// Plans `plan` in this process, without executing it.
    pub(super) async fn of(plan: &LogicalPlan, session: &Unoptimized<'_>) -> Result<Self> {
        let planner = DefaultPhysicalPlanner::default();
        let physical = planner.create_physical_plan(plan, session).await?;
        let known = KnownStatistics::default();
        let statistics = known.of(&physical)?;
        let inputs = Inputs::of(&physical);
        let mut tables = Vec::with_capacity(inputs.tables.len());
        for table in &inputs.tables {
            tables.push((table.schema(), known.of(table)?));
        }
        let rows_of = |(_, table): &(_, Arc<Statistics>)| table.num_rows.get_value().copied();
        let all_rows: Option<Vec<usize>> = tables.iter().map(rows_of).collect();
        let widths: Vec<TableWidths<'_>> =
            tables.iter().map(|(schema, table)| TableWidths::new(schema, table)).collect();
        let bytes = statistics.total_byte_size.get_value().copied().or_else(|| {
            let rows = *statistics.num_rows.get_value()?;
            let schema = physical.schema();
            let row: usize = schema.fields().iter().map(|field| width_in(field, &widths)).sum();
            Some(rows.saturating_mul(row))
        });
        Ok(Self {
            rows: statistics.num_rows.get_value().copied(),
            bytes,
            largest_table_rows: all_rows.and_then(|rows| rows.into_iter().max()),
            keys: KeyCostBounds::of(&widths, is_one_chain(&physical)),
        })
    }

    /// Of a side with no more than these.
    #[cfg(test)]
    fn with(rows: Option<usize>, bytes: Option<usize>) -> Self {
        Self { rows, bytes, largest_table_rows: rows, keys: KeyCostBounds::default() }
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

impl KeyCostBounds {
    /// Of a side with these tables, which reads one and exchanges nothing if it `is_one_chain`.
    fn of(tables: &[TableWidths<'_>], is_one_chain: bool) -> Self {
        let mut bounds = Self { least: Some(KeyCost::default()), most: None };
        for table in tables {
            bounds.least =
                bounds.least.zip(table.narrowest_bytes()).map(|(cost, it)| cost.plus_table(it));
        }
        if let ([table], true) = (tables, is_one_chain) {
            bounds.most = table.bytes().map(|bytes| KeyCost::default().plus_table(bytes));
        }
        bounds
    }
}

/// What the evaluation of the keys of a build side costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyCost {
    /// The bytes of the columns that it reads, of all its tables.
    table_bytes: usize,
    /// The bytes of the rows that it exchanges between partitions, as far as they are known.
    exchanged_bytes: usize,
}

impl KeyCost {
    /// Of a plan whose result is the keys, which is planned in this process, but not executed; `None` if
    /// there are no statistics. Smaller sides of joins than `broadcast_bytes` are not exchanged.
    pub(super) async fn of(
        keys: &LogicalPlan,
        session: &Unoptimized<'_>,
        broadcast_bytes: usize,
    ) -> Result<Option<Self>> {
        let planner = DefaultPhysicalPlanner::default();
        let physical = planner.create_physical_plan(keys, session).await?;
        let known = KnownStatistics::default();
        let inputs = Inputs::of(&physical);
        let mut cost = Self::default();
        for table in &inputs.tables {
            let (schema, statistics) = (table.schema(), known.of(table)?);
            match TableWidths::new(&schema, &statistics).bytes() {
                Some(bytes) => cost = cost.plus_table(bytes),
                None => return Ok(None),
            }
        }
        for inputs in &inputs.exchanged {
            let mut bytes = Vec::with_capacity(inputs.len());
            for input in inputs {
                bytes.push(result_bytes(&*known.of(input)?, &input.schema()).unwrap_or(0));
            }
            let is_broadcast = bytes.len() > 1 && bytes.iter().any(|it| *it <= broadcast_bytes);
            if !is_broadcast {
                let sum = bytes.into_iter().fold(0, usize::saturating_add);
                cost.exchanged_bytes = cost.exchanged_bytes.saturating_add(sum);
            }
        }
        Ok(Some(cost))
    }

    fn plus_table(self, bytes: usize) -> Self {
        Self { table_bytes: self.table_bytes.saturating_add(bytes), ..self }
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

/// Whether the gain is clear, if what is known of the cost of the keys decides that.
pub(super) fn is_clear_gain(build: &Estimate, probe: &Estimate, costs: &Costs) -> Option<bool> {
    match (build.keys.least, build.keys.most) {
        (Some(least), _) if objection_to_cost(build, probe, &least, costs).is_some() => Some(false),
        (_, Some(most)) if objection_to_cost(build, probe, &most, costs).is_none() => Some(true),
        _ => None,
    }
}

/// Why the keys are not worth what they cost, or `None` if the predicted gain is clear.
pub(super) fn objection_to_cost(
    build: &Estimate,
    probe: &Estimate,
    keys: &KeyCost,
    costs: &Costs,
) -> Option<&'static str> {
    let (Some(build_rows), Some(probe_bytes), Some(probe_rows)) =
        (build.rows, probe.bytes, probe.rows)
    else {
        return Some("there are no statistics");
    };
    let pass = build.pass_share(build_rows).unwrap_or(1.0);
    let saved = costs.exchange * probe_bytes as f64 * (1.0 - pass);
    let cost = costs.job
        + keys.table_bytes as f64
        + costs.exchange * keys.exchanged_bytes as f64
        + KEY_COST * build_rows as f64
        + ASK_COST * probe_rows as f64;
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

/// What a plan that no rule has optimised reads, and exchanges once it is optimised.
#[derive(Default)]
struct Inputs {
    tables: Vec<Arc<dyn ExecutionPlan>>,
    /// The inputs of each join and each group.
    exchanged: Vec<Vec<Arc<dyn ExecutionPlan>>>,
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
        let is_group = plan
            .downcast_ref::<AggregateExec>()
            .is_some_and(|it| *it.mode() == AggregateMode::FinalPartitioned);
        if is_group || plan.is::<HashJoinExec>() || plan.is::<SortMergeJoinExec>() {
            self.exchanged.push(children.iter().map(|child| Arc::clone(child)).collect());
        }
        for child in children {
            self.collect(child);
        }
    }
}

/// The statistics of the nodes of one plan, each computed once.
#[derive(Default)]
struct KnownStatistics(StatisticsContext);

impl KnownStatistics {
    fn of(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<Statistics>> {
        self.0.compute(plan.as_ref(), &StatisticsArgs::new())
    }
}

/// Whether a plan reads one table, and each of its rows by itself.
fn is_one_chain(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.children().as_slice() {
        [] => true,
        [input] => (plan.is::<FilterExec>() || plan.is::<ProjectionExec>()) && is_one_chain(input),
        _ => false,
    }
}

/// The bytes of a result: where only the rows are known, by the types of the columns.
fn result_bytes(statistics: &Statistics, schema: &Schema) -> Option<usize> {
    let by_type = || Some(statistics.num_rows.get_value()?.saturating_mul(row_width(schema)));
    statistics.total_byte_size.get_value().copied().or_else(by_type)
}

/// What the statistics of a table say about the widths of its columns.
pub(super) struct TableWidths<'a> {
    schema: &'a Schema,
    statistics: &'a Statistics,
    rows: Option<usize>,
}

impl<'a> TableWidths<'a> {
    pub(super) fn new(schema: &'a Schema, statistics: &'a Statistics) -> Self {
        Self { schema, statistics, rows: statistics.num_rows.get_value().copied() }
    }

    /// The bytes of each column.
    fn columns(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        let bytes_of = |(column, field): (&ColumnStatistics, &FieldRef)| {
            let width = column_width(field.data_type());
            let by_type = || self.rows.map(|rows| rows.saturating_mul(width));
            column.byte_size.get_value().copied().or_else(by_type)
        };
        self.statistics.column_statistics.iter().zip(self.schema.fields()).map(bytes_of)
    }

    /// The bytes of all columns. The total of the table may be that of columns that are not read, too.
    fn bytes(&self) -> Option<usize> {
        self.columns().sum()
    }

    /// The bytes of the narrowest column; none if there is no column.
    pub(super) fn narrowest_bytes(&self) -> Option<usize> {
        self.columns().min().unwrap_or(Some(0))
    }

    /// The average width of a value of the column of this name, if that is known.
    fn of(&self, name: &str) -> Option<usize> {
        let (index, _) = self.schema.column_with_name(name)?;
        let bytes = self.statistics.column_statistics.get(index)?.byte_size.get_value()?;
        bytes.checked_div(self.rows?)
    }
}

/// The bytes of a value of a column, whose rows come from these tables. The width of text is what the tables
/// know about columns of this name, but no less than the guess: a table counts what a dictionary encodes
/// once, and rows that are exchanged repeat it.
pub(super) fn width_in(field: &Field, tables: &[TableWidths<'_>]) -> usize {
    let width = column_width(field.data_type());
    match field.data_type().primitive_width() {
        Some(_) => width,
        None => tables.iter().filter_map(|it| it.of(field.name())).fold(width, usize::max),
    }
}

/// The bytes of a row by the types of its columns; those of text are a guess.
pub(super) fn row_width(schema: &Schema) -> usize {
    schema.fields().iter().map(|field| column_width(field.data_type())).sum()
}

fn column_width(data_type: &DataType) -> usize {
    const TEXT: usize = 24;
    match data_type {
        DataType::Boolean => 1,
        _ => data_type.primitive_width().unwrap_or(TEXT),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::stats::Precision;

    use super::*;

    #[test]
    fn the_fpr_is_that_of_the_fewest_bytes() {
        let options = CrivoOptions::default();
        let side = Estimate::with;
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

    #[test]
    fn text_is_as_wide_as_its_table_says() {
        let text = |name: &str| Field::new(name, DataType::Utf8View, true);
        let number = Field::new("number", DataType::Int64, true);
        let schema = Schema::new(vec![text("wide"), text("coded"), number.clone()]);
        let mut statistics = Statistics::new_unknown(&schema);
        statistics.num_rows = Precision::Exact(10);
        statistics.column_statistics[0].byte_size = Precision::Inexact(1000);
        statistics.column_statistics[1].byte_size = Precision::Inexact(20);
        let tables = [TableWidths::new(&schema, &statistics)];
        assert_eq!(tables[0].bytes(), Some(1000 + 20 + 80));
        assert_eq!(tables[0].narrowest_bytes(), Some(20));
        let widths = ["wide", "coded", "another"].map(|name| width_in(&text(name), &tables));
        assert_eq!(widths, [100, 24, 24]);
        assert_eq!(width_in(&number, &tables), 8);
    }

    #[test]
    fn what_the_keys_cost_at_least_and_at_most_may_decide() {
        let cost = |table_bytes| Some(KeyCost { table_bytes, exchanged_bytes: 0 });
        let build = |least, most| Estimate {
            largest_table_rows: Some(1_000_000),
            keys: KeyCostBounds { least, most },
            ..Estimate::with(Some(1000), Some(8000))
        };
        let probe = Estimate::with(Some(1_000_000), Some(8_000_000));
        // 32 million units would be saved, and 4 million are for the rows that are asked for.
        let costs = Costs { exchange: 4.0, job: 0.0 };
        for (least, most, expected) in [
            (cost(1_000_000), cost(2_000_000), Some(true)),
            (cost(40_000_000), cost(80_000_000), Some(false)),
            (cost(1_000_000), cost(80_000_000), None),
            (cost(1_000_000), None, None),
            (None, None, None),
        ] {
            assert_eq!(is_clear_gain(&build(least, most), &probe, &costs), expected);
        }
        // A query of its own for these keys takes longer than the join without them.
        let costs = Costs { job: 50e6, ..costs };
        assert_eq!(is_clear_gain(&build(cost(0), cost(0)), &probe, &costs), Some(false));
    }
}
