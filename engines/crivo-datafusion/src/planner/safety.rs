//! Where a filter changes no result.
//!
//! A filter removes rows of one side of a join, the *probe* side, that equal no row of the other, the
//! *build* side. That is safe where such rows never reach the result:
//!
//! | join | safe probe sides |
//! |---|---|
//! | inner, semi | both |
//! | left | the right one |
//! | right | the left one |
//! | left anti | the right one, unless NULLs decide (`NOT IN`) |
//! | right anti | the left one |
//! | full, mark | none |
//!
//! and where NULL does not equal NULL. The build side is evaluated twice, for the filter and for the
//! join, and must have the same keys both times.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::{MemTable, source_as_provider};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, Join, LogicalPlan, Sort, TableScan,
};

use crate::keys::encoding_of;

/// A side of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// The sides that a filter of the other side may be applied to.
pub(super) fn safe_probe_sides(join: &Join) -> &'static [Side] {
    if join.null_equality != NullEquality::NullEqualsNothing || join.null_aware {
        return &[];
    }
    match join.join_type {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => &[Side::Left, Side::Right],
        JoinType::Left | JoinType::LeftAnti => &[Side::Right],
        JoinType::Right | JoinType::RightAnti => &[Side::Left],
        JoinType::Full | JoinType::LeftMark | JoinType::RightMark => &[],
    }
}

/// Whether rows without a match reach the result, filled with nulls.
pub(super) fn is_outer(join: &Join) -> bool {
    matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full)
}

/// How many sides of joins in a plan are filled with nulls.
pub(super) fn outer_side_count(plan: &LogicalPlan) -> Result<usize> {
    let mut count = 0;
    plan.apply(|node| {
        if let LogicalPlan::Join(join) = node {
            count += match join.join_type {
                JoinType::Left | JoinType::Right => 1,
                JoinType::Full => 2,
                _ => 0,
            };
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}

/// The pairs of keys that a filter can have: of one canonical form on both sides. A filter of some of
/// the keys is as safe as one of all. A key with a query of its own is not known to be the same when it is
/// evaluated again.
pub(super) fn filter_keys(join: &Join) -> Result<Vec<(Expr, Expr)>> {
    let mut keys = Vec::new();
    for (left, right) in &join.on {
        let encodings = (
            encoding_of(&left.get_type(join.left.schema())?),
            encoding_of(&right.get_type(join.right.schema())?),
        );
        if let (Some(of_left), Some(of_right)) = encodings
            && of_left == of_right
            && ![left, right].into_iter().any(|key| key.is_volatile() || has_subquery(key))
        {
            keys.push((left.clone(), right.clone()));
        }
    }
    Ok(keys)
}

fn has_subquery(expression: &Expr) -> bool {
    let is_subquery = |it: &Expr| {
        matches!(
            it,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
        )
    };
    // The walk itself cannot fail.
    expression.exists(|it| Ok(is_subquery(it))).unwrap_or(true)
}

/// Whether a plan has the same rows whenever it is evaluated, as far as keys can tell.
///
/// Only plans are accepted that are known to: no volatile function, no limit (which of equal rows it
/// takes is open) unless the rows are sorted by all columns, no window function (row numbers of equal
/// rows are open), no aggregate whose result depends on the order of rows, as sums of floating-point
/// numbers do, and their least and greatest where there is NaN, and no table that may change unnoticed.
pub(super) fn is_repeatable(plan: &LogicalPlan) -> Result<bool> {
    let mut repeatable = true;
    plan.apply_with_subqueries(|node| {
        repeatable &= is_repeatable_node(node)?;
        Ok(if repeatable { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(repeatable)
}

fn is_repeatable_node(node: &LogicalPlan) -> Result<bool> {
    let is_known = match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Values(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => true,
        LogicalPlan::TableScan(scan) => scan.fetch.is_none() && has_versions(scan),
        LogicalPlan::Sort(sort) => sort.fetch.is_none() || is_total(sort),
        LogicalPlan::Aggregate(aggregate) => has_repeatable_values(aggregate)?,
        _ => false,
    };
    if !is_known {
        return Ok(false);
    }
    let mut repeatable = true;
    node.apply_expressions(|expression| {
        repeatable &= !expression.is_volatile() && !expression.contains_outer();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(repeatable)
}

/// Whether a change of the table between two readings is noticed.
fn has_versions(scan: &TableScan) -> bool {
    source_as_provider(&scan.source)
        .is_ok_and(|table| table.is::<ListingTable>() || table.is::<MemTable>())
}

/// Whether only equal rows can be in any order.
fn is_total(sort: &Sort) -> bool {
    let is_key = |column: &Expr| sort.expr.iter().any(|key| key.expr == *column);
    sort.input.schema().columns().into_iter().map(Expr::Column).all(|column| is_key(&column))
}

fn has_repeatable_values(aggregate: &Aggregate) -> Result<bool> {
    let mut repeatable = true;
    for expression in &aggregate.aggr_expr {
        expression.apply(|it| {
            if let Expr::AggregateFunction(function) = it {
                repeatable &= has_repeatable_value(function, &aggregate.input)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(repeatable)
}

fn may_be_nan(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => may_be_nan(value),
        _ => data_type.is_floating() || data_type.is_nested(),
    }
}

fn has_repeatable_value(function: &AggregateFunction, input: &LogicalPlan) -> Result<bool> {
    let is_exact = |expression: &Expr| -> Result<bool> {
        let data_type = expression.get_type(input.schema())?;
        Ok(data_type.is_integer() || matches!(data_type, DataType::Decimal128(..)))
    };
    Ok(match function.func.name() {
        "count" | "bool_and" | "bool_or" | "bloom_agg" => true,
        "min" | "max" => function
            .params
            .args
            .iter()
            .all(|it| it.get_type(input.schema()).is_ok_and(|it| !may_be_nan(&it))),
        "sum" => function.params.args.iter().map(is_exact).all(|it| matches!(it, Ok(true))),
        "avg" => function.params.args.iter().all(|it| {
            it.get_type(input.schema()).is_ok_and(|it| matches!(it, DataType::Decimal128(..)))
        }),
        _ => false,
    })
}
