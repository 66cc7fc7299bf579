//! `few_distinct`: the distinct values of a column, if they are few.
//!
//! Runtime filters ask it beside `bloom_agg`: a handful of keys is better an `IN` list, which is exact and
//! which the statistics of files understand.

use std::collections::HashSet;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

/// More distinct values than these are not few.
pub const MAX_FEW: usize = 20;

/// The aggregate `few_distinct(column)`: a list of the distinct values that are not NULL, or NULL if
/// there are more than [`MAX_FEW`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FewDistinct {
    signature: Signature,
}

impl FewDistinct {
    /// The aggregate.
    ///
    /// ```
    /// use crivo_datafusion::functions::FewDistinct;
    /// use datafusion::logical_expr::AggregateUDFImpl;
    ///
    /// assert_eq!(FewDistinct::new().name(), "few_distinct");
    /// ```
    pub fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl Default for FewDistinct {
    fn default() -> Self {
        Self::new()
    }
}

fn list_of(item: &DataType) -> DataType {
    DataType::new_list(item.clone(), true)
}

impl AggregateUDFImpl for FewDistinct {
    fn name(&self) -> &str {
        "few_distinct"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [item] => Ok(list_of(item)),
            _ => plan_err!("few_distinct takes one column"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "values");
        Ok(vec![Field::new(name, args.return_type().clone(), true).into()])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let item = args.expr_fields[0].data_type().clone();
        Ok(Box::new(FewAccumulator { item, values: Some(HashSet::new()) }))
    }
}

#[derive(Debug)]
struct FewAccumulator {
    item: DataType,
    /// `None` if there are too many.
    values: Option<HashSet<ScalarValue>>,
}

impl FewAccumulator {
    fn extend(&mut self, column: &ArrayRef) -> Result<()> {
        for row in 0..column.len() {
            let Some(values) = &mut self.values else { return Ok(()) };
            let value = ScalarValue::try_from_array(column, row)?;
            if !value.is_null() {
                values.insert(value);
            }
            if values.len() > MAX_FEW {
                self.values = None;
            }
        }
        Ok(())
    }
}

impl Accumulator for FewAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.extend(&values[0])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states[0].as_list::<i32>();
        for row in 0..lists.len() {
            match lists.is_valid(row) {
                true => self.extend(&lists.value(row))?,
                false => self.values = None,
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.values {
            Some(values) => {
                let values: Vec<ScalarValue> = values.iter().cloned().collect();
                Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.item)))
            }
            None => ScalarValue::try_from(&list_of(&self.item)),
        }
    }

    fn size(&self) -> usize {
        let values = self.values.iter().flatten().map(ScalarValue::size);
        size_of_val(self) + values.sum::<usize>()
    }
}
