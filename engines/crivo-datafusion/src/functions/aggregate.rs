//! `bloom_agg`: a filter from the keys of rows.
//!
//! How many distinct keys there are is unknown until the last row. So the state of a partition is not a
//! filter of some guessed size but the set of digests, which is exact, bounded, and merges in any
//! order. The filter is built at the end, of just the size that the keys need, and the same keys make
//! the same bytes however they were partitioned.

use crivo::filter::Blocked;
use crivo::hash::KeyEncoding;
use crivo::{BuildError, Digest, KeyHasher};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;

use crate::keys::{digest_rows, encoding_of_row};

/// The false-positive rate of filters, unless another is given.
pub const DEFAULT_FPR: f64 = 0.01;

/// Above this number of distinct keys there is no filter.
///
/// The state of a partition is one message between executors, at most 8 MiB then. Ballista's limit is
/// 16 MiB.
pub const MAX_KEYS: usize = 1 << 20;

/// The aggregate `bloom_agg(column, … [, fpr])`.
///
/// The last of several arguments is the false-positive rate if it is a literal of a type with a point. That is
/// decided after the optimiser: a last column of such a type that it finds to be constant is taken for the rate,
/// unless the rate is given after it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct BloomAgg {
    signature: Signature,
}

impl BloomAgg {
    /// The aggregate.
    ///
    /// ```
    /// use crivo_datafusion::functions::BloomAgg;
    /// use datafusion::logical_expr::AggregateUDFImpl;
    ///
    /// assert_eq!(BloomAgg::new().name(), "bloom_agg");
    /// ```
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for BloomAgg {
    fn default() -> Self {
        Self::new()
    }
}

impl AggregateUDFImpl for BloomAgg {
    fn name(&self) -> &str {
        "bloom_agg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        encoding_of_row(arg_types)?;
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        // NULL is the state with too many keys.
        let name = format_state_name(args.name, "digests");
        Ok(vec![Field::new(name, DataType::Binary, true).into()])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let mut types: Vec<DataType> =
            args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        let mut fpr = DEFAULT_FPR;
        if let [_, .., last] = args.exprs
            && let Some(literal) = last.downcast_ref::<Literal>()
            && let Some(value) = fpr_of(literal.value())?
        {
            fpr = value;
            types.pop();
        }
        Ok(Box::new(KeyAccumulator::new(encoding_of_row(&types)?, fpr, MAX_KEYS)))
    }
}

/// The false-positive rate that a literal means, if its type has a point.
fn fpr_of(literal: &ScalarValue) -> Result<Option<f64>> {
    let data_type = literal.data_type();
    if !data_type.is_floating() && !data_type.is_decimal() {
        return Ok(None);
    }
    match literal.cast_to(&DataType::Float64)? {
        ScalarValue::Float64(Some(fpr)) if fpr > 0.0 && fpr < 1.0 => Ok(Some(fpr)),
        _ => plan_err!("bloom_agg: the false-positive rate {literal} is not between 0 and 1"),
    }
}

/// The keys of a partition, or of a group of rows.
#[derive(Debug)]
struct KeyAccumulator {
    encoding: KeyEncoding,
    fpr: f64,
    max_keys: usize,
    /// Distinct and sorted up to `sorted`; `None` if there are too many.
    digests: Option<Vec<Digest>>,
    sorted: usize,
}

impl KeyAccumulator {
    fn new(encoding: KeyEncoding, fpr: f64, max_keys: usize) -> Self {
        Self { encoding, fpr, max_keys, digests: Some(Vec::new()), sorted: 0 }
    }

    fn extend(&mut self, digests: impl Iterator<Item = Digest>) {
        let Some(all) = &mut self.digests else { return };
        all.extend(digests);
        // Sorting whenever the keys have doubled costs a constant number of times what the last one does.
        const MIN_UNSORTED: usize = 8192;
        if all.len() > (2 * self.sorted).max(MIN_UNSORTED) || all.len() > 2 * self.max_keys {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let Some(digests) = &mut self.digests else { return };
        digests.sort_unstable();
        digests.dedup();
        self.sorted = digests.len();
        if self.sorted > self.max_keys {
            self.digests = None;
        }
    }

    fn build(&mut self) -> Result<Option<Vec<u8>>> {
        self.sort();
        let Some(digests) = &self.digests else { return Ok(None) };
        let no_filter = |error: BuildError| exec_datafusion_err!("bloom_agg: {error}");
        let capacity = digests.len().max(1) as u64;
        let mut filter =
            Blocked::with_hasher(capacity, self.fpr, KeyHasher::default()).map_err(no_filter)?;
        filter.insert_batch(digests);
        filter
            .metadata_mut()
            .set(crivo::codec::Metadata::KEY_ENCODING, &self.encoding.to_string())
            .map_err(|error| exec_datafusion_err!("bloom_agg: {error}"))?;
        Ok(Some(filter.to_bytes()))
    }
}

impl Accumulator for KeyAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if self.digests.is_none() {
            return Ok(());
        }
        let columns = &values[..self.encoding.parts().len()];
        let rows = digest_rows(&KeyHasher::default(), columns, &self.encoding)?;
        self.extend(rows.iter());
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for state in states[0].as_binary::<i32>() {
            match state {
                Some(bytes) => self.extend(
                    bytes.as_chunks().0.iter().map(|it| Digest::new(u64::from_le_bytes(*it))),
                ),
                None => self.digests = None,
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.sort();
        let bytes = |digests: &Vec<Digest>| {
            digests.iter().flat_map(|digest| digest.get().to_le_bytes()).collect()
        };
        Ok(vec![ScalarValue::Binary(self.digests.as_ref().map(bytes))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Binary(self.build()?))
    }

    fn size(&self) -> usize {
        let capacity = self.digests.as_ref().map_or(0, Vec::capacity);
        size_of_val(self) + capacity * size_of::<Digest>()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::Int64Array;

    use super::*;

    const MAX_KEYS: usize = 100;

    fn accumulator(keys: std::ops::Range<i64>) -> KeyAccumulator {
        let mut all = KeyAccumulator::new(KeyEncoding::I64, DEFAULT_FPR, MAX_KEYS);
        for start in keys.clone() {
            // Every key several times.
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(start..keys.end));
            all.update_batch(&[column]).unwrap();
        }
        all
    }

    fn merged(parts: [std::ops::Range<i64>; 2]) -> ScalarValue {
        let mut all = accumulator(0..0);
        for part in parts {
            let state = accumulator(part).state().unwrap().remove(0);
            all.merge_batch(&[state.to_array().unwrap()]).unwrap();
        }
        all.evaluate().unwrap()
    }

    #[test]
    fn too_many_distinct_keys_make_no_filter() {
        let most = accumulator(0..100).evaluate().unwrap();
        assert!(matches!(most, ScalarValue::Binary(Some(_))));
        assert_eq!(accumulator(0..101).evaluate().unwrap(), ScalarValue::Binary(None));
    }

    #[test]
    fn states_merge_to_what_one_partition_would_have_made() {
        assert_eq!(merged([0..60, 40..100]), accumulator(0..100).evaluate().unwrap());
        assert_eq!(merged([0..60, 60..101]), ScalarValue::Binary(None));
        assert_eq!(merged([0..101, 0..1]), ScalarValue::Binary(None));
    }
}
