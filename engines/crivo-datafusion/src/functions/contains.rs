//! `bloom_contains`: which rows may be in a filter.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crivo::codec::Header;
use crivo::filter::AnyFilter;
use crivo::hash::KeyEncoding;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::datatypes::{DataType, Field, UnionFields, UnionMode};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::keys::{digest_rows, encoding_of_row};

/// The function `bloom_contains(filter, column, …)`.
///
/// The filter is the bytes of any filter's file, as `bloom_agg` or the command `crivo build` makes it. A
/// file that does not say what its keys are has keys of bytes. The function decodes a filter once, not
/// for every batch of rows.
#[derive(Debug)]
pub struct BloomContains {
    signature: Signature,
    cache: Mutex<Vec<Arc<LoadedFilter>>>,
}

/// How many filters stay decoded: those of the queries that run at a time.
const MAX_CACHED: usize = 32;

/// What a filter was asked, in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilterCounts {
    /// The number of rows.
    pub rows: u64,
    /// How many of them may be in the filter.
    pub passed: u64,
}

/// A filter and the type of its keys.
#[derive(Debug)]
struct LoadedFilter {
    /// The checksums of the header and of the payload tell the filters of a process apart as well as
    /// digests tell keys apart.
    checksums: (u64, u64),
    filter: AnyFilter,
    encoding: KeyEncoding,
    rows: AtomicU64,
    passed: AtomicU64,
}

impl LoadedFilter {
    fn new(bytes: &[u8], checksums: (u64, u64)) -> Result<Self> {
        let filter = AnyFilter::from_bytes(bytes)
            .map_err(|error| exec_datafusion_err!("bloom_contains: no filter: {error}"))?;
        let metadata = filter.metadata();
        for name in ["ignore-case", "trim"] {
            if metadata.get(name).is_some_and(|value| value != "false") {
                return exec_err!(
                    "bloom_contains: the keys of the filter were changed before they were hashed \
                     ({name}), and would not be found"
                );
            }
        }
        let encoding = metadata
            .key_encoding()
            .map_err(|error| exec_datafusion_err!("bloom_contains: {error}"))?
            .unwrap_or(KeyEncoding::Bytes);
        let (rows, passed) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { checksums, filter, encoding, rows, passed })
    }

    fn contains(&self, columns: &[ArrayRef]) -> Result<BooleanBuffer> {
        let rows = digest_rows(&self.filter.hasher(), columns, &self.encoding)?;
        let mut hits = vec![false; rows.digests.len()];
        self.filter.contains_batch(&rows.digests, &mut hits);
        let mut hits = BooleanBuffer::from(hits);
        if let Some(keys) = &rows.keys {
            hits = &hits & keys.inner();
        }
        self.rows.fetch_add(hits.len() as u64, Ordering::Relaxed);
        self.passed.fetch_add(hits.count_set_bits() as u64, Ordering::Relaxed);
        Ok(hits)
    }
}

impl BloomContains {
    /// The function, with an empty cache.
    ///
    /// ```
    /// use crivo_datafusion::functions::BloomContains;
    /// use datafusion::logical_expr::ScalarUDFImpl;
    ///
    /// assert_eq!(BloomContains::new().name(), "bloom_contains");
    /// ```
    pub fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            cache: Mutex::new(Vec::new()),
        }
    }

    /// What this filter was asked so far by this function; nothing if it was not asked lately.
    ///
    /// ```
    /// use crivo::filter::Blocked;
    /// use crivo_datafusion::functions::{BloomContains, FilterCounts};
    ///
    /// let filter = Blocked::new(10, 0.01)?.to_bytes();
    /// assert_eq!(BloomContains::new().counts(&filter)?, FilterCounts::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are no filter.
    pub fn counts(&self, filter: &[u8]) -> Result<FilterCounts> {
        let checksums = checksums(filter)?;
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cache.iter().find(|it| it.checksums == checksums);
        Ok(found.map_or_else(FilterCounts::default, |it| FilterCounts {
            rows: it.rows.load(Ordering::Relaxed),
            passed: it.passed.load(Ordering::Relaxed),
        }))
    }

    fn load(&self, bytes: &[u8]) -> Result<Arc<LoadedFilter>> {
        let checksums = checksums(bytes)?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match cache.iter().position(|it| it.checksums == checksums) {
            Some(position) => cache.remove(position),
            None => Arc::new(LoadedFilter::new(bytes, checksums)?),
        };
        // The one that was used last is the last one.
        if cache.len() == MAX_CACHED {
            cache.remove(0);
        }
        cache.push(Arc::clone(&found));
        Ok(found)
    }

    /// For each row the filter of its own.
    fn contains_each(&self, filters: &ArrayRef, columns: &[ArrayRef]) -> Result<BooleanArray> {
        let filters = filters.as_binary::<i32>();
        let mut hits = BooleanBufferBuilder::new(filters.len());
        let value = |row: usize| filters.is_valid(row).then(|| filters.value(row));
        let mut start = 0;
        while start < filters.len() {
            let filter = value(start);
            let length = (start..filters.len()).take_while(|row| value(*row) == filter).count();
            match filter {
                Some(bytes) => {
                    let rows: Vec<ArrayRef> =
                        columns.iter().map(|column| column.slice(start, length)).collect();
                    hits.append_buffer(&self.load(bytes)?.contains(&rows)?);
                }
                None => hits.append_n(length, true),
            }
            start += length;
        }
        Ok(BooleanArray::new(hits.finish(), None))
    }
}

fn not_a_filter(data_type: &DataType) -> Result<ColumnarValue> {
    exec_err!("bloom_contains: a filter is binary, not {data_type}")
}

/// A filter as a literal of a plan, for `bloom_contains`.
///
/// Planners name expressions after their literals, again and again. They write out all bytes of a binary
/// literal, which takes longer than the query; of one inside a union, only the first.
pub(crate) fn filter_literal(filter: Vec<u8>) -> ScalarValue {
    const ID: i8 = 0;
    let fields =
        UnionFields::from_iter([(ID, Arc::new(Field::new("filter", DataType::Binary, true)))]);
    let bytes = Box::new(ScalarValue::Binary(Some(filter)));
    ScalarValue::Union(Some((ID, bytes)), fields, UnionMode::Sparse)
}

/// The bytes of a filter that [`filter_literal`] made.
pub(crate) fn literal_filter(literal: &ScalarValue) -> Option<&[u8]> {
    match literal {
        ScalarValue::Union(Some((_, filter)), ..) => match filter.as_ref() {
            ScalarValue::Binary(Some(bytes)) => Some(bytes),
            _ => None,
        },
        _ => None,
    }
}

fn checksums(filter: &[u8]) -> Result<(u64, u64)> {
    let header = Header::from_bytes(filter)
        .map_err(|error| exec_datafusion_err!("bloom_contains: no filter: {error}"))?;
    Ok((header.header_checksum(), header.payload_checksum()))
}

impl Default for BloomContains {
    fn default() -> Self {
        Self::new()
    }
}

// The cache changes no answer.
impl PartialEq for BloomContains {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for BloomContains {}

impl Hash for BloomContains {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for BloomContains {
    fn name(&self) -> &str {
        "bloom_contains"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [filter, keys @ ..] = arg_types else {
            return plan_err!("bloom_contains takes a filter and at least one column");
        };
        let filter = match filter {
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
            | DataType::Null => DataType::Binary,
            DataType::Union(..) => filter.clone(),
            other => return plan_err!("bloom_contains: a filter is binary, not {other}"),
        };
        encoding_of_row(keys)?;
        Ok([&[filter], keys].concat())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [filter, keys @ ..] = args.args.as_slice() else {
            return plan_err!("bloom_contains takes a filter and at least one column");
        };
        let columns =
            keys.iter().map(|it| it.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let filter = match filter {
            ColumnarValue::Array(filters) if matches!(filters.data_type(), DataType::Binary) => {
                return Ok(ColumnarValue::Array(Arc::new(self.contains_each(filters, &columns)?)));
            }
            ColumnarValue::Array(other) => return not_a_filter(other.data_type()),
            ColumnarValue::Scalar(ScalarValue::Union(Some((_, filter)), ..)) => filter.as_ref(),
            ColumnarValue::Scalar(filter) => filter,
        };
        match filter {
            ScalarValue::Binary(Some(bytes)) => {
                let hits = self.load(bytes)?.contains(&columns)?;
                Ok(ColumnarValue::Array(Arc::new(BooleanArray::new(hits, None))))
            }
            scalar if scalar.is_null() => {
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
            }
            other => not_a_filter(&other.data_type()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planners_write_few_bytes_of_a_filter() {
        let literal = filter_literal(vec![255; 1 << 20]);
        for text in [format!("{literal}"), format!("{literal:?}")] {
            assert!(text.len() < 100, "{} bytes", text.len());
        }
    }
}
