//! Where a filter would make a query fail that succeeds without it.
//!
//! ```text
//! SELECT … FROM (SELECT CAST(s AS INT) AS i FROM t WHERE s <> 'none') JOIN u ON i = u.i
//! ```
//!
//! A filter of `i` goes down to the table, and is `bloom_contains('…', CAST(s AS INT))` there, beside the
//! condition: the cast meets rows that it does not meet without the filter. So an expression that can
//! fail is evaluated for a filter only if no row is dropped before it is evaluated anyway.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, Filter, LogicalPlan, Operator, ScalarUDF, lit,
};
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{Optimizer, OptimizerContext, OptimizerRule};

use super::safety::outer_side_count;

/// Whether a filter of these keys could fail where the plan does not. `is_optimized_again` says whether the
/// plan with its filters meets all rules of the optimiser, as it does on the scheduler of a cluster.
pub(super) fn may_fail(
    plan: &Arc<LogicalPlan>,
    keys: &[Expr],
    function: &ScalarUDF,
    is_optimized_again: bool,
) -> Result<bool> {
    if keeps_all_rows(plan)? {
        return Ok(false);
    }
    // Where the keys end is found out with a filter that is none.
    let marker = Marker::new(plan, keys, function)?;
    let filtered = LogicalPlan::Filter(Filter::try_new(marker.predicate(), Arc::clone(plan))?);
    let filtered = optimize(filtered, vec![Arc::new(PushDownFilter::new())])?;
    if marker.may_fail_in(&filtered)? {
        return Ok(true);
    }
    if !is_optimized_again {
        return Ok(false);
    }
    let outer_sides = outer_side_count(plan)?;
    if outer_sides == 0 {
        return Ok(false);
    }
    // An outer join above which no key is NULL is an inner one, and lets conditions pass: those of the filter,
    // and the query's own.
    let rules: Vec<Rule> =
        vec![Arc::new(EliminateOuterJoin::new()), Arc::new(PushDownFilter::new())];
    let filtered = optimize(filtered, rules)?;
    let frees_conditions = outer_side_count(&filtered)? < outer_sides;
    Ok(marker.may_fail_in(&filtered)? || frees_conditions && conditions_may_fail(plan)?)
}

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

fn optimize(plan: LogicalPlan, rules: Vec<Rule>) -> Result<LogicalPlan> {
    Optimizer::with_rules(rules).optimize(plan, &OptimizerContext::new(), |_, _| {})
}

/// Conditions that go where those of a filter go, and can be told from all others.
struct Marker<'a> {
    keys: &'a [Expr],
    function: &'a ScalarUDF,
    no_filter: Expr,
    /// What a single key is compared with. A filter has its least and its greatest key beside it, or is a
    /// list. Such conditions go further than functions do: the optimiser knows that they reject NULL, and
    /// copies them to the other side of semi, anti and outer joins.
    no_value: Option<Expr>,
}

impl<'a> Marker<'a> {
    fn new(plan: &LogicalPlan, keys: &'a [Expr], function: &'a ScalarUDF) -> Result<Self> {
        let no_filter = lit(ScalarValue::Binary(None));
        let no_value = match keys {
            [key] => Some(lit(ScalarValue::try_new_null(&key.get_type(plan.schema())?)?)),
            _ => None,
        };
        Ok(Self { keys, function, no_filter, no_value })
    }

    fn predicate(&self) -> Expr {
        let mut predicate =
            self.function.call([vec![self.no_filter.clone()], self.keys.to_vec()].concat());
        if let ([key], Some(value)) = (self.keys, &self.no_value) {
            // The optimiser merges other comparisons of a column.
            predicate = predicate.and(key.clone().not_eq(value.clone()));
        }
        predicate
    }

    fn may_fail_in(&self, plan: &LogicalPlan) -> Result<bool> {
        let mut may_fail = false;
        plan.apply(|node| {
            let schemas = schemas_of(node)?;
            let schemas: Vec<&DFSchema> = schemas.iter().map(AsRef::as_ref).collect();
            node.apply_expressions(|expression| {
                expression.apply(|it| {
                    match it {
                        Expr::ScalarFunction(call) if call.name() == self.function.name() => {
                            if let [filter, keys @ ..] = call.args.as_slice()
                                && *filter == self.no_filter
                            {
                                may_fail |= !keys.iter().all(|key| always_succeeds(key, &schemas));
                            }
                        }
                        Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right })
                            if Some(right.as_ref()) == self.no_value.as_ref() =>
                        {
                            may_fail |= !always_succeeds(left, &schemas);
                        }
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(may_fail)
    }
}

/// Whether a condition of an outer join, or above one, may fail.
fn conditions_may_fail(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        let conditions: &[Expr] = match node {
            _ if outer_side_count(node)? == 0 => &[],
            LogicalPlan::Filter(filter) => std::slice::from_ref(&filter.predicate),
            LogicalPlan::Join(join) => join.filter.as_slice(),
            _ => &[],
        };
        let schemas = schemas_of(node)?;
        let schemas: Vec<&DFSchema> = schemas.iter().map(AsRef::as_ref).collect();
        Ok(!conditions.iter().all(|it| always_succeeds(it, &schemas)))
    })
}

/// The columns that the expressions of a node can name.
fn schemas_of(node: &LogicalPlan) -> Result<Vec<Arc<DFSchema>>> {
    Ok(match node {
        // Conditions may name columns that the scan does not return.
        LogicalPlan::TableScan(scan) => {
            let schema = scan.source.schema();
            vec![Arc::new(DFSchema::try_from_qualified_schema(scan.table_name.clone(), &schema)?)]
        }
        _ => node.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect(),
    })
}

/// Whether no node drops a row that it reads.
fn keeps_all_rows(plan: &LogicalPlan) -> Result<bool> {
    let drops = plan.exists(|node| {
        Ok(!match node {
            LogicalPlan::Projection(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Repartition(_)
            | LogicalPlan::Values(_)
            | LogicalPlan::EmptyRelation(_)
            | LogicalPlan::Distinct(Distinct::All(_)) => true,
            LogicalPlan::Sort(sort) => sort.fetch.is_none(),
            LogicalPlan::TableScan(scan) => scan.filters.is_empty() && scan.fetch.is_none(),
            _ => false,
        })
    })?;
    Ok(!drops)
}

/// Whether an expression has a value for all values of its columns. What is not known to have one may fail.
fn always_succeeds(expression: &Expr, schemas: &[&DFSchema]) -> bool {
    let type_of = |it: &Expr| schemas.iter().find_map(|schema| it.get_type(*schema).ok());
    match expression {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => always_succeeds(&alias.expr, schemas),
        Expr::Not(it) | Expr::IsNull(it) | Expr::IsNotNull(it) => always_succeeds(it, schemas),
        Expr::TryCast(cast) => always_succeeds(&cast.expr, schemas),
        Expr::InList(it) => {
            always_succeeds(&it.expr, schemas)
                && it.list.iter().all(|it| always_succeeds(it, schemas))
        }
        Expr::Between(it) => {
            [&it.expr, &it.low, &it.high].into_iter().all(|it| always_succeeds(it, schemas))
        }
        Expr::Cast(cast) => {
            always_succeeds(&cast.expr, schemas)
                && type_of(&cast.expr).is_some_and(|from| is_wider(&from, cast.field.data_type()))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_number = |it: &Expr| type_of(it).is_some_and(|it| is_plain_number(&it));
            let succeeds = match op {
                Operator::Plus | Operator::Minus | Operator::Multiply => {
                    is_number(left) && is_number(right)
                }
                // Not by zero, nor by -1, whose quotient may be too large.
                Operator::Divide | Operator::Modulo => is_number(left) && is_positive(right),
                Operator::And
                | Operator::Or
                | Operator::StringConcat
                | Operator::Eq
                | Operator::NotEq
                | Operator::Lt
                | Operator::LtEq
                | Operator::Gt
                | Operator::GtEq
                | Operator::IsDistinctFrom
                | Operator::IsNotDistinctFrom => true,
                _ => false,
            };
            succeeds && always_succeeds(left, schemas) && always_succeeds(right, schemas)
        }
        _ => false,
    }
}

/// Integers, which wrap around, and floats.
fn is_plain_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating()
}

fn is_positive(expression: &Expr) -> bool {
    let Expr::Literal(value, _) = expression else { return false };
    let data_type = value.data_type();
    is_plain_number(&data_type) && ScalarValue::new_zero(&data_type).is_ok_and(|zero| *value > zero)
}

/// Whether every value of one type has a value of the other.
fn is_wider(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let is_text = |it: &DataType| matches!(it, Utf8 | LargeUtf8 | Utf8View);
    let digits = |it: &DataType| match it {
        Int8 | UInt8 => Some(3),
        Int16 | UInt16 => Some(5),
        Int32 | UInt32 => Some(10),
        Int64 => Some(19),
        UInt64 => Some(20),
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale) => Some(i16::from(*precision) - i16::from(*scale)),
        _ => None,
    };
    let scale = |it: &DataType| match it {
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) => *scale,
        _ => 0,
    };
    match (from, to) {
        _ if from == to => true,
        (Dictionary(_, from), _) => is_wider(from, to),
        (_, Decimal32(..) | Decimal64(..) | Decimal128(..)) => {
            scale(from) <= scale(to)
                && digits(from).zip(digits(to)).is_some_and(|(from, to)| from <= to)
        }
        _ if is_text(to) => is_text(from) || from.is_integer() || matches!(from, Boolean),
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        _ if from.is_integer() && to.is_floating() => !matches!(to, Float16),
        (Float16, Float32 | Float64) | (Float32, Float64) | (Date32, Date64) => true,
        _ if from.is_signed_integer() && to.is_signed_integer() => {
            from.primitive_width() <= to.primitive_width()
        }
        _ if from.is_unsigned_integer() && to.is_unsigned_integer() => {
            from.primitive_width() <= to.primitive_width()
        }
        _ if from.is_unsigned_integer() && to.is_signed_integer() => {
            from.primitive_width() < to.primitive_width()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;
    use crate::functions::bloom_contains;

    /// Whether a filter of the column `key` of a query could fail, in one process and on a cluster.
    async fn may_fail_in(sql: &str) -> [bool; 2] {
        let context = SessionContext::new();
        for table in [
            "CREATE TABLE texts AS SELECT '1' AS s, 1 AS n",
            "CREATE TABLE numbers AS SELECT 1 AS i, 2 AS m",
        ] {
            context.sql(table).await.unwrap().collect().await.unwrap();
        }
        let plan = context.sql(sql).await.unwrap().into_optimized_plan().unwrap();
        let keys: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let key = keys.into_iter().find(|it| matches!(it, Expr::Column(it) if it.name == "key"));
        let (plan, keys) = (Arc::new(plan), [key.unwrap()]);
        [false, true].map(|again| may_fail(&plan, &keys, &bloom_contains(), again).unwrap())
    }

    #[tokio::test]
    async fn conditions_that_may_fail_are_found_wherever_they_go() {
        const TEXTS: &str = "(SELECT CAST(s AS BIGINT) AS i, n FROM texts WHERE s <> 'x')";
        for (sql, expected) in [
            ("SELECT i AS key FROM numbers WHERE m > 1", [false, false]),
            (&format!("SELECT i AS key FROM {TEXTS}"), [true, true]),
            ("SELECT CAST(s AS BIGINT) AS key FROM texts", [false, false]),
            // Conditions of a key are copied to the other side.
            (
                &format!("SELECT a.i AS key FROM numbers a LEFT SEMI JOIN {TEXTS} b ON a.i = b.i"),
                [true, true],
            ),
            (
                &format!("SELECT a.i AS key FROM numbers a LEFT ANTI JOIN {TEXTS} b ON a.i = b.i"),
                [true, true],
            ),
            (
                &format!("SELECT a.i AS key FROM {TEXTS} b LEFT JOIN numbers a ON a.i = b.i"),
                [true, true],
            ),
            (
                &format!("SELECT a.m AS key FROM {TEXTS} b LEFT JOIN numbers a ON a.i = b.i"),
                [false, false],
            ),
            // A scheduler makes an inner join of it, and evaluates the condition before.
            (
                "SELECT a.m AS key FROM texts b LEFT JOIN numbers a ON a.i = b.n AND CAST(b.s AS BIGINT) > 0",
                [false, true],
            ),
            (
                "SELECT a.m AS key FROM texts b LEFT JOIN numbers a ON a.i = b.n AND b.n > 0",
                [false, false],
            ),
        ] {
            assert_eq!(may_fail_in(sql).await, expected, "{sql}");
        }
    }

    #[test]
    fn wider_types_hold_every_value() {
        use DataType::*;
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int64, Float64),
            (Int32, Decimal128(12, 2)),
            (Decimal128(10, 2), Decimal128(12, 4)),
            (Utf8, LargeUtf8),
            (Dictionary(Box::new(Int8), Box::new(Utf8)), Utf8View),
            (Int64, Utf8),
        ] {
            assert!(is_wider(&from, &to), "{from} to {to}");
        }
        for (from, to) in [
            (Int64, Int32),
            (Int64, UInt64),
            (UInt64, Int64),
            (Float64, Int64),
            (Utf8, Int64),
            (Int32, Decimal128(11, 2)),
            (Decimal128(10, 2), Decimal128(12, 1)),
            (Decimal128(10, 2), Decimal128(11, 4)),
            (Binary, Utf8),
        ] {
            assert!(!is_wider(&from, &to), "{from} to {to}");
        }
    }
}
