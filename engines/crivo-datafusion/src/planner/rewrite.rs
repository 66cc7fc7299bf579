//! From a plan to the same plan with filters: one walk, from the leaves to the root, so that the build
//! side of a join already has the filters of the joins below.

use std::collections::HashSet;
use std::sync::Arc;

use crivo::codec::Header;
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{
    DataFusionError, JoinType, Result, ScalarValue, exec_err, internal_err, plan_datafusion_err,
};
use datafusion::execution::context::QueryPlanner;
use datafusion::functions_aggregate::min_max::{max, min};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator,
    ScalarUDF, WriteOp, lit,
};
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{Optimizer, OptimizerContext};
use datafusion::physical_plan::{ExecutionPlanProperties, collect};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::bounds::{Bounds, Tables};
use super::engine::Engine;
use super::estimate::{
    Estimate, KeyCost, best_fpr, is_clear_gain, objection_to_build, objection_to_cost,
    objection_to_probe, row_width,
};
use super::failure::may_fail;
use super::files::FileVersions;
use super::options::CrivoOptions;
use super::safety::{
    Side, filter_keys, is_outer, is_repeatable, outer_side_count, safe_probe_sides,
};
use super::unoptimized::Unoptimized;
use crate::functions::{bloom_agg, bloom_contains, few_distinct, filter_literal, literal_filter};

/// A filter that a query has.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RuntimeFilter {
    /// The columns or expressions whose rows it removes.
    pub probe: String,
    /// The columns or expressions whose keys are in it.
    pub build: String,
    /// The number of keys.
    pub keys: u64,
    /// The file of the filter.
    pub bytes: Arc<[u8]>,
    /// The bytes of a row that it may remove, by the types of the columns that the join reads.
    pub row_bytes: usize,
    /// Whether it is a list of the keys, which counts no rows.
    pub is_list: bool,
}

/// Puts filters into a plan.
pub(super) struct Rewriter<'a> {
    planner: &'a (dyn QueryPlanner + Send + Sync),
    session: &'a dyn Session,
    options: &'a CrivoOptions,
    engine: Engine,
    /// For plans that are not executed.
    estimating: Unoptimized<'a>,
    tables: Tables,
    pub(super) filters: Vec<RuntimeFilter>,
    /// How many of them are of an earlier walk.
    earlier: usize,
    /// Keys that did not pay: of which columns, for which, and the rows that were predicted.
    rejected: HashSet<(String, String, Option<usize>)>,
    pub(super) files: FileVersions,
    /// Whether an operator with a filter has conditions of the query, too.
    pub(super) share_operators: bool,
}

/// What the first phase found out about a build side.
struct BuildKeys {
    filter: Vec<u8>,
    key_count: u64,
    range: Option<(ScalarValue, ScalarValue)>,
    /// All keys, if they are few.
    list: Option<Vec<ScalarValue>>,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(
        planner: &'a (dyn QueryPlanner + Send + Sync),
        session: &'a dyn Session,
        options: &'a CrivoOptions,
    ) -> Self {
        let files = FileVersions::new(session);
        Self {
            planner,
            session,
            options,
            engine: Engine::of(session),
            estimating: Unoptimized::new(session),
            tables: Tables::default(),
            filters: Vec::new(),
            earlier: 0,
            rejected: HashSet::new(),
            files,
            share_operators: false,
        }
    }

    /// The plan with filters, each as near to the tables as it can be; `None` if there are none.
    pub(super) async fn rewrite(&mut self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        /// A filter can make a build side small enough for a filter of a join below.
        const MAX_WALKS: usize = 3;
        let optimizer = Optimizer::with_rules(vec![Arc::new(PushDownFilter::new())]);
        let mut rewritten = None;
        for _ in 0..MAX_WALKS {
            self.earlier = self.filters.len();
            let Some(next) = self.walk(rewritten.as_ref().unwrap_or(plan)).await? else { break };
            let next = optimizer.optimize(next, &OptimizerContext::new(), |_, _| {});
            match next {
                Ok(next) if copied_bytes(&next)? <= self.options.max_plan_bytes() => {
                    rewritten = Some(next);
                }
                // The query can do without the filters of this walk.
                _ => {
                    self.filters.truncate(self.earlier);
                    break;
                }
            }
            // With force, every side already has one.
            if self.options.force {
                break;
            }
        }
        if let Some(rewritten) = &rewritten {
            self.share_operators = share_operators(rewritten)?;
        }
        Ok(rewritten)
    }

    /// The plan with more filters; `None` if there are none.
    fn walk<'b>(&'b mut self, plan: &'b LogicalPlan) -> BoxFuture<'b, Result<Option<LogicalPlan>>> {
        async move {
            match plan {
                // The steps of a recursion read each other's rows, which nobody else can evaluate.
                LogicalPlan::RecursiveQuery(_) => return Ok(None),
                // What changes rows is told which by the conditions of its input.
                LogicalPlan::Dml(it) if !matches!(it.op, WriteOp::Insert(_) | WriteOp::Ctas) => {
                    return Ok(None);
                }
                _ => {}
            }
            let mut inputs = Vec::new();
            for input in plan.inputs() {
                inputs.push(self.walk(input).await?);
            }
            let mut changed = None;
            if inputs.iter().any(Option::is_some) {
                let mut inputs = inputs.into_iter();
                let rebuilt = plan.clone().map_children(|input| {
                    Ok(match inputs.next().flatten() {
                        Some(input) => Transformed::yes(input),
                        None => Transformed::no(input),
                    })
                })?;
                changed = Some(rebuilt.data);
            }
            if let LogicalPlan::Join(join) = changed.as_ref().unwrap_or(plan)
                && let Some(join) = self.filter_join(join).await?
            {
                changed = Some(LogicalPlan::Join(join));
            }
            Ok(changed)
        }
        .boxed()
    }

    /// The join with filters; `None` if there are none.
    async fn filter_join(&mut self, join: &Join) -> Result<Option<Join>> {
        // From the cheapest test to the dearest: most joins of most queries get no filter.
        let sides = safe_probe_sides(join);
        if sides.is_empty() || self.engine.is_adaptive && is_outer(join) {
            return Ok(None);
        }
        let keys = filter_keys(join)?;
        if keys.is_empty() {
            return Ok(None);
        }
        if self.options.force {
            let mut filtered = None;
            for side in sides {
                let current = filtered.as_ref().unwrap_or(join);
                let next = self.filter_side(current, *side, &keys, self.options.fpr, None).await?;
                filtered = next.or(filtered);
            }
            return Ok(filtered);
        }
        let bounds = [self.bounds(&join.left).await, self.bounds(&join.right).await];
        let mut candidates = Vec::new();
        for side in sides {
            if !self.is_hopeless(join, *side, bounds) && self.may_filter(join, *side, &keys)? {
                candidates.push(*side);
            }
        }
        if candidates.is_empty() {
            return Ok(None);
        }
        let objection = |estimated: Side, probe: Side, estimate: &Estimate| {
            if estimated == probe {
                return objection_to_probe(estimate, self.options);
            }
            let broadcast_bytes = self.engine.broadcast_bytes(join.join_type, estimated);
            objection_to_build(estimate, self.options, broadcast_bytes)
        };
        // The simpler side often decides already, and the other one need not be planned.
        let simpler = match table_count(&join.left)? < table_count(&join.right)? {
            true => Side::Left,
            false => Side::Right,
        };
        let of_simpler = self.estimate(join, simpler).await;
        candidates.retain(|probe| objection(simpler, *probe, &of_simpler).is_none());
        if candidates.is_empty() {
            return Ok(None);
        }
        let of_other = self.estimate(join, simpler.opposite()).await;
        candidates.retain(|probe| objection(simpler.opposite(), *probe, &of_other).is_none());
        let (left, right) = match simpler {
            Side::Left => (of_simpler, of_other),
            Side::Right => (of_other, of_simpler),
        };
        // The larger side gains more.
        if left.rows < right.rows {
            candidates.reverse();
        }
        for side in candidates {
            let (probe, build) = match side {
                Side::Left => (left, right),
                Side::Right => (right, left),
            };
            let is_clear_gain = match is_clear_gain(&build, &probe, &self.engine.costs) {
                Some(known) => known,
                None => match self.key_cost(join, side, &keys).await {
                    Ok(Some(cost)) => {
                        objection_to_cost(&build, &probe, &cost, &self.engine.costs).is_none()
                    }
                    Ok(None) | Err(_) => false,
                },
            };
            if !is_clear_gain {
                continue;
            }
            // The plan of a stage goes to each of its tasks.
            let copies = self.session.config().target_partitions();
            let fpr = best_fpr(&build, &probe, self.options, copies);
            let filtered = self.filter_side(join, side, &keys, fpr, Some(build)).await?;
            if filtered.is_some() {
                return Ok(filtered);
            }
        }
        Ok(None)
    }

    /// How large a side can be, if that is known.
    async fn bounds(&mut self, side: &LogicalPlan) -> Option<Bounds> {
        self.tables.bounds(side, &self.estimating).await.ok().flatten()
    }

    /// Whether no filter of `side` can pay, by the bounds of the left and of the right side.
    fn is_hopeless(&self, join: &Join, side: Side, bounds: [Option<Bounds>; 2]) -> bool {
        let (probe, build) = match (side, bounds) {
            (Side::Left, [Some(left), Some(right)]) => (left, right),
            (Side::Right, [Some(left), Some(right)]) => (right, left),
            _ => return false,
        };
        let broadcast_bytes = self.engine.broadcast_bytes(join.join_type, side.opposite());
        let min_probe_rows = self.options.min_probe_rows;
        build.is_hopeless_for(&probe, min_probe_rows, broadcast_bytes, &self.engine.costs)
    }

    /// What statistics say about a side. What cannot be planned by itself has no estimate, and gets no
    /// filter.
    async fn estimate(&self, join: &Join, side: Side) -> Estimate {
        let plan = match side {
            Side::Left => &join.left,
            Side::Right => &join.right,
        };
        Estimate::of(plan, &self.estimating).await.unwrap_or_default()
    }

    /// What evaluating the keys costs by which `side` would be filtered.
    async fn key_cost(
        &self,
        join: &Join,
        side: Side,
        keys: &[(Expr, Expr)],
    ) -> Result<Option<KeyCost>> {
        let build = match side {
            Side::Left => &join.right,
            Side::Right => &join.left,
        };
        let keys = of_side(keys, side.opposite());
        let plan = LogicalPlanBuilder::from(build.as_ref().clone()).project(keys)?.build()?;
        // The rest is optimised: only the columns that the keys do not need are new.
        let optimizer = Optimizer::with_rules(vec![Arc::new(OptimizeProjections::new())]);
        let plan = optimizer.optimize(plan, &OptimizerContext::new(), |_, _| {})?;
        let broadcast_bytes = self.engine.broadcast_bytes(JoinType::Inner, Side::Left);
        KeyCost::of(&plan, &self.estimating, broadcast_bytes).await
    }

    /// Whether a filter of `side` is safe, apart from the type of the join, and not there yet.
    fn may_filter(&self, join: &Join, side: Side, keys: &[(Expr, Expr)]) -> Result<bool> {
        let (build, probe) = match side {
            Side::Left => (&join.right, &join.left),
            Side::Right => (&join.left, &join.right),
        };
        // Nor is the other side filtered: what is predicted of this one is what the filter left.
        let (left, right) = (names(keys, Side::Left), names(keys, Side::Right));
        let is_of_this_join = |it: &RuntimeFilter| {
            let columns = [it.build.as_str(), it.probe.as_str()];
            columns == [&left, &right] || columns == [&right, &left]
        };
        if self.filters[..self.earlier].iter().any(is_of_this_join) {
            return Ok(false);
        }
        // The filter may end below any join of the probe side.
        let may_empty_outer_join = self.engine.is_adaptive && outer_side_count(probe)? > 0;
        Ok(!may_empty_outer_join && is_repeatable(build)?)
    }

    /// Filters one side of a join by the keys of the other, if that is possible and pays.
    async fn filter_side(
        &mut self,
        join: &Join,
        side: Side,
        keys: &[(Expr, Expr)],
        fpr: f64,
        estimate: Option<Estimate>,
    ) -> Result<Option<Join>> {
        if !self.may_filter(join, side, keys)? {
            return Ok(None);
        }
        let (build, probe) = match side {
            Side::Left => (&join.right, &join.left),
            Side::Right => (&join.left, &join.right),
        };
        let (build_keys, probe_keys) = (of_side(keys, side.opposite()), of_side(keys, side));
        let attempt =
            (names(keys, side.opposite()), names(keys, side), estimate.and_then(|it| it.rows));
        if self.rejected.contains(&attempt) {
            return Ok(None);
        }
        let function = self.contains_function();
        // What cannot be found out is not risked.
        if may_fail(probe, &probe_keys, &function, self.engine.is_cluster).unwrap_or(true) {
            self.rejected.insert(attempt);
            return Ok(None);
        }
        self.files.add(build).await?;
        let mut found = match self.build_keys(build, &build_keys, fpr).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.rejected.insert(attempt);
                return Ok(None);
            }
            Err(error) if is_unknown_function(&error) => {
                return Err(error.context(
                    "a process of the cluster does not know the functions of runtime filters: use \
                     crivo-scheduler and crivo-executor, or set crivo.runtime_filters to false",
                ));
            }
            // The join can do without the filter, and reports whatever is wrong by itself.
            Err(_) if !self.options.force => {
                self.rejected.insert(attempt);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let keys_found = found.key_count as usize;
        let broadcast_bytes = self.engine.broadcast_bytes(join.join_type, side.opposite());
        if let Some(estimate) = estimate
            && !estimate.still_pays(keys_found, self.options, broadcast_bytes)
        {
            self.rejected.insert(attempt);
            return Ok(None);
        }
        // Keys of one form can have two types, as of text; a comparison needs one.
        if let ([of_build], [of_probe]) = (build_keys.as_slice(), probe_keys.as_slice())
            && of_build.get_type(build.schema())? != of_probe.get_type(probe.schema())?
        {
            (found.range, found.list) = (None, None);
        }
        if found.range.as_ref().is_some_and(|(least, greatest)| is_long([least, greatest])) {
            found.range = None;
        }
        if found.list.as_ref().is_some_and(is_long) {
            found.list = None;
        }
        let total: usize = self.filters.iter().map(|filter| filter.bytes.len()).sum();
        if found.filter.len() > self.options.max_filter_bytes
            || total + found.filter.len() > self.options.max_total_bytes()
        {
            self.rejected.insert(attempt);
            return Ok(None);
        }
        let (build_names, probe_names, _) = attempt;
        let is_list = found
            .list
            .as_ref()
            .is_some_and(|list| (1..=self.options.max_in_list).contains(&list.len()));
        self.filters.push(RuntimeFilter {
            probe: probe_names,
            build: build_names,
            keys: found.key_count,
            bytes: found.filter.clone().into(),
            row_bytes: row_width(probe.schema().as_arrow()),
            is_list,
        });
        let predicate = predicate(probe_keys, found, is_list, &function)?;
        let probe = Arc::new(LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(probe))?));
        let mut join = join.clone();
        match side {
            Side::Left => join.left = probe,
            Side::Right => join.right = probe,
        }
        Ok(Some(join))
    }

    /// The first phase: reads the build side, and returns its keys, or `None` if there are too many.
    async fn build_keys(
        &self,
        build: &Arc<LogicalPlan>,
        keys: &[Expr],
        fpr: f64,
    ) -> Result<Option<BuildKeys>> {
        let function = match self.session.aggregate_functions().get("bloom_agg") {
            Some(function) => Arc::clone(function),
            None => bloom_agg(),
        };
        let arguments = keys.iter().cloned().chain([lit(fpr)]).collect();
        let mut aggregates = vec![function.call(arguments).alias("filter")];
        if let [key] = keys
            && has_range(&key.get_type(build.schema())?)
        {
            aggregates.push(min(key.clone()).alias("least"));
            aggregates.push(max(key.clone()).alias("greatest"));
            aggregates.push(few_distinct().call(vec![key.clone()]).alias("few"));
        }
        let column_count = aggregates.len();
        let plan = LogicalPlanBuilder::from(build.as_ref().clone())
            .aggregate(Vec::<Expr>::new(), aggregates)?
            .build()?;
        let plan = self.session.optimize(&plan)?;
        let plan = self.planner.create_physical_plan(&plan, self.session).await?;
        if plan.boundedness().is_unbounded() {
            return Ok(None);
        }
        let batches = collect(plan, self.session.task_ctx()).await?;
        let value = |column: usize| -> Result<ScalarValue> {
            match batches.iter().find(|batch: &&RecordBatch| batch.num_rows() > 0) {
                Some(batch) => ScalarValue::try_from_array(batch.column(column), 0),
                None => exec_err!("bloom_agg returned no row"),
            }
        };
        let filter = match value(0)? {
            ScalarValue::Binary(Some(filter)) => filter,
            ScalarValue::Binary(None) => return Ok(None),
            other => return internal_err!("bloom_agg returned {}", other.data_type()),
        };
        let header = Header::from_bytes(&filter)
            .map_err(|error| plan_datafusion_err!("bloom_agg returned no filter: {error}"))?;
        let mut found =
            BuildKeys { filter, key_count: header.key_count(), range: None, list: None };
        if column_count > 1 {
            found.range = Some((value(1)?, value(2)?));
            found.list = match value(3)? {
                ScalarValue::List(list) if list.is_valid(0) => Some(values_of(&list.value(0))?),
                _ => None,
            };
        }
        Ok(Some(found))
    }

    fn contains_function(&self) -> Arc<ScalarUDF> {
        match self.session.scalar_functions().get("bloom_contains") {
            Some(function) => Arc::clone(function),
            None => bloom_contains(),
        }
    }
}

/// What the rows of the probe side have to satisfy.
fn predicate(
    keys: Vec<Expr>,
    found: BuildKeys,
    is_list: bool,
    function: &ScalarUDF,
) -> Result<Expr> {
    if let ([key], Some(list)) = (keys.as_slice(), &found.list)
        && is_list
    {
        return Ok(key.clone().in_list(list.iter().cloned().map(lit).collect(), false));
    }
    let mut predicates = Vec::new();
    if let ([key], Some((least, greatest))) = (keys.as_slice(), found.range)
        && !least.is_null()
    {
        // The statistics of files can exclude rows without reading them.
        predicates.push(key.clone().gt_eq(lit(least)));
        predicates.push(key.clone().lt_eq(lit(greatest)));
    }
    let filter = lit(filter_literal(found.filter));
    predicates.push(function.call([vec![filter], keys].concat()));
    conjunction(predicates).ok_or_else(|| plan_datafusion_err!("a filter without predicate"))
}

/// Whether values are better not part of a plan. Text may be of any length.
fn is_long<'a>(values: impl IntoIterator<Item = &'a ScalarValue>) -> bool {
    const MAX_BYTES: usize = 4096;
    values.into_iter().map(ScalarValue::size).sum::<usize>() > MAX_BYTES
}

/// The bytes of all copies of all filters in a plan. A filter that goes through a union or into a table has
/// several.
fn copied_bytes(plan: &LogicalPlan) -> Result<usize> {
    let mut bytes = 0;
    plan.apply(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|it| {
                bytes += filter_of(it).map_or(0, <[u8]>::len);
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(bytes)
}

/// The filter that an expression is.
fn filter_of(expression: &Expr) -> Option<&[u8]> {
    match expression {
        Expr::Literal(value, _) => literal_filter(value),
        _ => None,
    }
}

/// Whether a condition of a plan with filters has parts that are none of theirs.
fn share_operators(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(false) };
        let conditions = split_conjunction(&filter.predicate);
        let calls: Vec<&[Expr]> = conditions
            .iter()
            .filter_map(|it| match it {
                Expr::ScalarFunction(call) => Some(call.args.as_slice()),
                _ => None,
            })
            .filter(|arguments| arguments.first().and_then(filter_of).is_some())
            .collect();
        let is_of_filter = |condition: &Expr| match condition {
            Expr::ScalarFunction(call) => calls.contains(&call.args.as_slice()),
            // The least and the greatest key.
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::GtEq | Operator::LtEq, .. }) => {
                calls.iter().any(|arguments| arguments[1..] == [left.as_ref().clone()])
            }
            _ => false,
        };
        Ok(!calls.is_empty() && !conditions.into_iter().all(is_of_filter))
    })
}

/// The keys of one side.
fn of_side(keys: &[(Expr, Expr)], side: Side) -> Vec<Expr> {
    let of = |(left, right): &(Expr, Expr)| match side {
        Side::Left => left.clone(),
        Side::Right => right.clone(),
    };
    keys.iter().map(of).collect()
}

/// What the keys of one side are called.
fn names(keys: &[(Expr, Expr)], side: Side) -> String {
    let keys = of_side(keys, side);
    keys.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ")
}

fn table_count(plan: &LogicalPlan) -> Result<usize> {
    let mut count = 0;
    plan.apply_with_subqueries(|node| {
        count += usize::from(matches!(node, LogicalPlan::TableScan(_)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}

/// Whether a function of the first phase is unknown where it should be evaluated.
fn is_unknown_function(error: &DataFusionError) -> bool {
    // What comes from other processes is text. An executor says no more than this; its log has the rest.
    const REJECTED: &str = "task could not be prepared or was rejected by executor";
    let text = error.to_string();
    if text.contains(REJECTED) {
        return true;
    }
    ["no UDAF named", "not provided for aggregate function"].iter().any(|it| text.contains(it))
        && ["bloom_agg", "few_distinct"].iter().any(|name| text.contains(name))
}

fn values_of(column: &ArrayRef) -> Result<Vec<ScalarValue>> {
    (0..column.len()).map(|row| ScalarValue::try_from_array(column, row)).collect()
}

/// Whether the least and the greatest key say anything, and comparing with them is exact.
fn has_range(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Date32
                | DataType::Timestamp(..)
                | DataType::Decimal128(..)
                | DataType::Utf8
                | DataType::Utf8View
        )
}
