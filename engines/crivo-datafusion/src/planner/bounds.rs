//! What is known of a side of a join before anything of it is planned.
//!
//! Most joins of most queries get no filter, and the sizes of their tables tell so: the side is sent to
//! every partition whatever its conditions, or there are too few rows to save what a filter costs. These
//! are bounds if no join has more rows than its larger side, as joins with keys have.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use datafusion::physical_plan::{StatisticsArgs, StatisticsContext};

use super::engine::Costs;
use super::estimate::{CLEAR_GAIN, TableWidths, width_in};
use super::unoptimized::Unoptimized;

/// How large a side can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// The bytes of the narrowest column of each table, which are read at least.
    read_bytes: usize,
}

impl Bounds {
    /// Whether a filter of a probe side by the keys of this build side cannot pay.
    pub(super) fn is_hopeless_for(
        &self,
        probe: &Self,
        min_probe_rows: usize,
        broadcast_bytes: usize,
        costs: &Costs,
    ) -> bool {
        let saved = costs.exchange * probe.bytes as f64;
        let cost = costs.job + self.read_bytes as f64;
        probe.rows < min_probe_rows || self.bytes <= broadcast_bytes || saved < CLEAR_GAIN * cost
    }
}

/// The tables of a query, each asked once.
#[derive(Default)]
pub(super) struct Tables {
    known: Vec<Table>,
}

struct Table {
    provider: Arc<dyn TableProvider>,
    schema: SchemaRef,
    statistics: Arc<Statistics>,
}

impl Table {
    async fn new(provider: Arc<dyn TableProvider>, session: &Unoptimized<'_>) -> Result<Self> {
        let scan = provider.scan(session, None, &[], None).await?;
        let statistics =
            StatisticsContext::default().compute(scan.as_ref(), &StatisticsArgs::new())?;
        Ok(Self { provider, schema: scan.schema(), statistics })
    }
}

impl Tables {
    /// How large the result of a plan can be, if its tables know their sizes.
    pub(super) async fn bounds(
        &mut self,
        plan: &LogicalPlan,
        session: &Unoptimized<'_>,
    ) -> Result<Option<Bounds>> {
        let mut scans = Vec::new();
        plan.apply(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                scans.push(scan);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        for scan in &scans {
            if self.find(scan).is_none() {
                let provider = source_as_provider(&scan.source)?;
                self.known.push(Table::new(provider, session).await?);
            }
        }
        let widths: Vec<TableWidths<'_>> = scans
            .iter()
            .filter_map(|scan| self.find(scan))
            .map(|it| TableWidths::new(&it.schema, &it.statistics))
            .collect();
        let Some(rows) = self.rows(plan) else { return Ok(None) };
        let fields = plan.schema().as_arrow().fields();
        let width: usize = fields.iter().map(|field| width_in(field, &widths)).sum();
        let read: Option<usize> = widths.iter().map(TableWidths::narrowest_bytes).sum();
        Ok(read.map(|read_bytes| Bounds { rows, bytes: rows.saturating_mul(width), read_bytes }))
    }

    fn find(&self, scan: &TableScan) -> Option<&Table> {
        let provider = source_as_provider(&scan.source).ok()?;
        self.known.iter().find(|it| Arc::ptr_eq(&it.provider, &provider))
    }

    fn rows(&self, plan: &LogicalPlan) -> Option<usize> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                self.find(scan)?.statistics.num_rows.get_value().copied()
            }
            LogicalPlan::Join(join) if !join.on.is_empty() => {
                Some(self.rows(&join.left)?.max(self.rows(&join.right)?))
            }
            LogicalPlan::Union(union) => union.inputs.iter().map(|it| self.rows(it)).sum(),
            LogicalPlan::Values(values) => Some(values.values.len()),
            LogicalPlan::EmptyRelation(_) => Some(1),
            // Each set has groups of its own.
            LogicalPlan::Aggregate(it) if matches!(it.group_expr[..], [Expr::GroupingSet(_)]) => {
                None
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Distinct(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Repartition(_)
            | LogicalPlan::SubqueryAlias(_) => self.rows(plan.inputs().first()?),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sides_and_small_gains_are_hopeless() {
        let side = |rows, bytes| Bounds { rows, bytes, read_bytes: 1_000_000 };
        let costs = Costs { exchange: 2.0, job: 50e6 };
        let is_hopeless = |build: Bounds, probe: Bounds| {
            build.is_hopeless_for(&probe, 100_000, 1_000_000, &costs)
        };
        let (build, probe) = (side(1_000_000, 8_000_000), side(10_000_000, 80_000_000));
        assert!(!is_hopeless(build, probe));
        assert!(is_hopeless(side(1000, 1_000_000), probe), "sent to every partition");
        assert!(is_hopeless(build, side(99_999, 80_000_000)), "few rows");
        assert!(is_hopeless(build, side(1_000_000, 30_000_000)), "few bytes");
    }
}
