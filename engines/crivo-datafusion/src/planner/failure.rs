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
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{Optimizer, OptimizerContext};

/// Whether a filter of these keys could fail where the plan does not.
pub(super) fn may_fail(
    plan: &Arc<LogicalPlan>,
    keys: &[Expr],
    function: &ScalarUDF,
) -> Result<bool> {
    if keeps_all_rows(plan)? {
        return Ok(false);
    }
    // Where the keys end is found out with a filter that is none.
    let none = lit(ScalarValue::Binary(None));
    let predicate = function.call([vec![none.clone()], keys.to_vec()].concat());
    let filtered = LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(plan))?);
    let optimizer = Optimizer::with_rules(vec![Arc::new(PushDownFilter::new())]);
    let filtered = optimizer.optimize(filtered, &OptimizerContext::new(), |_, _| {})?;
    let mut may_fail = false;
    filtered.apply(|node| {
        let schemas: Vec<&DFSchema> = match node {
            LogicalPlan::TableScan(_) => vec![],
            _ => node.inputs().into_iter().map(|input| input.schema().as_ref()).collect(),
        };
        node.apply_expressions(|expression| {
            expression.apply(|it| {
                if let Expr::ScalarFunction(call) = it
                    && call.name() == function.name()
                    && let [filter, keys @ ..] = call.args.as_slice()
                    && *filter == none
                {
                    may_fail |= !keys.iter().all(|key| always_succeeds(key, &schemas));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(may_fail)
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
    use super::*;

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
