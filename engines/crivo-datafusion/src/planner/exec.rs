//! The root of a plan with filters: it tells what they are and did, and verifies that the files they
//! were made from did not change.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};

use super::files::FileVersions;
use super::rewrite::RuntimeFilter;
use crate::functions::{BloomContains, FilterCounts};

/// A plan with runtime filters.
#[derive(Debug)]
pub struct RuntimeFilterExec {
    input: Arc<dyn ExecutionPlan>,
    filters: Vec<RuntimeFilter>,
    share_operators: bool,
    /// What each filter was asked before this plan, by queries that had the same filter.
    before: Vec<FilterCounts>,
    function: Option<Arc<ScalarUDF>>,
    files: FileVersions,
}

impl RuntimeFilterExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        filters: Vec<RuntimeFilter>,
        share_operators: bool,
        function: Option<Arc<ScalarUDF>>,
        files: FileVersions,
    ) -> Self {
        let before = counts(function.as_ref(), &filters);
        Self { input, filters, share_operators, before, function, files }
    }

    /// The filters.
    pub fn filters(&self) -> &[RuntimeFilter] {
        &self.filters
    }

    /// Whether an operator that applies a filter also applies conditions of the query itself. What such an
    /// operator drops is the work of both; [`counts`](Self::counts) are those of the filters alone.
    pub fn share_operators(&self) -> bool {
        self.share_operators
    }

    /// The rows that the filters were asked for, and how many passed, since the query was planned. Rows
    /// below the least key or above the greatest are dropped before that, and are not counted; nor are those
    /// that a list of keys drops.
    /// Filters with the same keys are one.
    pub fn counts(&self) -> FilterCounts {
        let mut total = FilterCounts::default();
        for (_, counts) in self.counts_of_each() {
            total.rows += counts.rows;
            total.passed += counts.passed;
        }
        total
    }

    /// The bytes of the rows that the filters dropped, by the types of the columns that the joins read.
    pub fn dropped_bytes(&self) -> u64 {
        self.counts_of_each()
            .into_iter()
            .map(|(filter, counts)| (counts.rows - counts.passed) * filter.row_bytes as u64)
            .sum()
    }

    /// The filters with different keys, and what each was asked.
    fn counts_of_each(&self) -> Vec<(&RuntimeFilter, FilterCounts)> {
        let mut each: Vec<(&RuntimeFilter, FilterCounts)> = Vec::new();
        let now = counts(self.function.as_ref(), &self.filters);
        for ((filter, now), before) in self.filters.iter().zip(now).zip(&self.before) {
            if !each.iter().any(|(known, _)| known.bytes == filter.bytes) {
                let rows = now.rows.saturating_sub(before.rows);
                let passed = now.passed.saturating_sub(before.passed).min(rows);
                each.push((filter, FilterCounts { rows, passed }));
            }
        }
        each
    }
}

/// What each filter was asked.
fn counts(function: Option<&Arc<ScalarUDF>>, filters: &[RuntimeFilter]) -> Vec<FilterCounts> {
    let function = function.and_then(|it| it.inner().downcast_ref::<BloomContains>());
    let count = |filter: &RuntimeFilter| {
        function.and_then(|it| it.counts(&filter.bytes).ok()).unwrap_or_default()
    };
    filters.iter().map(count).collect()
}

impl DisplayAs for RuntimeFilterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeFilterExec: ")?;
        for (index, filter) in self.filters.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{filter}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RuntimeFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { probe, build, keys, bytes, .. } = self;
        let plural = if *keys == 1 { "" } else { "s" };
        write!(f, "{probe} in {keys} key{plural} of {build}, {} bytes", bytes.len())
    }
}

impl ExecutionPlan for RuntimeFilterExec {
    fn name(&self) -> &str {
        "RuntimeFilterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self {
            input,
            filters: self.filters.clone(),
            share_operators: self.share_operators,
            before: self.before.clone(),
            function: self.function.clone(),
            files: self.files.clone(),
        }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let FilterCounts { rows, passed } = self.counts();
        let metrics = ExecutionPlanMetricsSet::new();
        for (name, count) in [
            ("filter_rows", rows),
            ("dropped_rows", rows - passed),
            ("dropped_bytes", self.dropped_bytes()),
        ] {
            MetricBuilder::new(&metrics).global_counter(name).add(count as usize);
        }
        Some(metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let files = self.files.clone();
        // Each partition by itself: a plan can be executed again, and not every execution reaches the end.
        let end = stream::once(async move {
            files.verify().await?;
            Ok(None)
        });
        let stream = rows.map_ok(Some).chain(end).try_filter_map(|it| async move { Ok(it) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}
