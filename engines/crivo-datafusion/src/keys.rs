//! Rows of Arrow columns as keys: one canonical form for each logical type.
//!
//! | Arrow | key |
//! |---|---|
//! | `Int8` … `Int64`, `UInt8` … `UInt32` | `i64` |
//! | `UInt64` | `u64` |
//! | `Float16`, `Float32`, `Float64` | `f64`; -0.0 is 0.0, and all NaNs are one |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | `utf8` |
//! | `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | `bytes` |
//! | `Boolean` | `bool` |
//! | `Date32`, `Date64` | `date` |
//! | `Timestamp` | `timestamp(s)`, `(ms)`, `(us)`, `(ns)`; the time zone does not change the moment |
//! | `Decimal32`, `Decimal64`, `Decimal128` of scale n ≥ 0 | `decimal(n)` |
//! | `Dictionary` | that of its values |
//! | several columns | a composite key |
//!
//! So 5 is one key in every width of integers. The bytes of each key are those of the library's
//! [`KeyEncoding`], whose name the file of a filter records. A row with a NULL in any of its columns
//! has no key, because it equals no row in an equi-join.

use std::sync::Arc;

use crivo::hash::{CompositeKey, KeyEncoding, TimeUnit, float_key};
use crivo::{Digest, KeyHasher};
use datafusion::arrow::array::types::{
    ArrowDictionaryKeyType, Date32Type, Decimal128Type, Int64Type,
};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DictionaryArray, Float64Array, Int64Array, PrimitiveArray, StringViewArray, UInt64Array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{self, DataType};
use datafusion::arrow::downcast_dictionary_array;
use datafusion::common::{Result, plan_err};

/// The type of the keys in a column of this type, or `None` if it can have no keys.
///
/// ```
/// use crivo::hash::KeyEncoding;
/// use crivo_datafusion::keys::encoding_of;
/// use datafusion::arrow::datatypes::DataType;
///
/// assert_eq!(encoding_of(&DataType::Int32), Some(KeyEncoding::I64));
/// assert_eq!(encoding_of(&DataType::Int64), Some(KeyEncoding::I64));
/// assert_eq!(encoding_of(&DataType::Decimal128(12, 2)), Some(KeyEncoding::Decimal(2)));
/// assert_eq!(encoding_of(&DataType::Null), None);
/// ```
pub fn encoding_of(data_type: &DataType) -> Option<KeyEncoding> {
    use DataType::*;
    Some(match data_type {
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => KeyEncoding::I64,
        UInt64 => KeyEncoding::U64,
        Float16 | Float32 | Float64 => KeyEncoding::F64,
        Utf8 | LargeUtf8 | Utf8View => KeyEncoding::Utf8,
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => KeyEncoding::Bytes,
        Boolean => KeyEncoding::Bool,
        Date32 | Date64 => KeyEncoding::Date,
        Timestamp(unit, _) => KeyEncoding::Timestamp(match unit {
            datatypes::TimeUnit::Second => TimeUnit::Second,
            datatypes::TimeUnit::Millisecond => TimeUnit::Millisecond,
            datatypes::TimeUnit::Microsecond => TimeUnit::Microsecond,
            datatypes::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
        }),
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            (scale <= KeyEncoding::MAX_SCALE).then_some(KeyEncoding::Decimal(scale))?
        }
        Dictionary(_, values) => encoding_of(values)?,
        _ => return None,
    })
}

/// The type of the keys in rows of columns of these types.
///
/// ```
/// use crivo_datafusion::keys::encoding_of_row;
/// use datafusion::arrow::datatypes::DataType;
///
/// let encoding = encoding_of_row(&[DataType::Utf8, DataType::Int32])?;
/// assert_eq!(encoding.to_string(), "(utf8,i64)");
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
///
/// # Errors
/// If there is no column, or one whose type can have no keys.
pub fn encoding_of_row(types: &[DataType]) -> Result<KeyEncoding> {
    let mut parts = Vec::with_capacity(types.len());
    for data_type in types {
        let Some(part) = encoding_of(data_type) else {
            return plan_err!("a column of type {data_type} cannot be a key of a Bloom filter");
        };
        parts.push(part);
    }
    match parts.len() {
        0 => plan_err!("a key of a Bloom filter needs at least one column"),
        1 => Ok(parts.remove(0)),
        _ => Ok(KeyEncoding::Composite(parts)),
    }
}

/// The digests of rows. Those of rows without a key mean nothing.
#[derive(Debug, Clone)]
pub struct RowDigests {
    /// One for each row.
    pub digests: Vec<Digest>,
    /// The rows that have a key; `None` if all have.
    pub keys: Option<NullBuffer>,
}

impl RowDigests {
    /// The digests of the rows that have a key.
    pub fn iter(&self) -> impl Iterator<Item = Digest> + '_ {
        let has_key = |row: usize| self.keys.as_ref().is_none_or(|keys| keys.is_valid(row));
        self.digests.iter().enumerate().filter(move |(row, _)| has_key(*row)).map(|(_, it)| *it)
    }
}

/// Hashes the rows of these columns as keys of the type `encoding`.
///
/// A column may have another type than its part of the key where no value becomes another one:
/// `u64` and `i64`, timestamps of different units, decimals of different scales, text and bytes.
/// A value that the part cannot hold is no key, as if it were NULL.
///
/// ```
/// use std::sync::Arc;
///
/// use crivo::KeyHasher;
/// use crivo::hash::KeyEncoding;
/// use crivo_datafusion::keys::digest_rows;
/// use datafusion::arrow::array::{ArrayRef, Int32Array};
///
/// let column: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), None]));
/// let hasher = KeyHasher::default();
/// let rows = digest_rows(&hasher, &[column], &KeyEncoding::I64)?;
/// assert_eq!(rows.iter().collect::<Vec<_>>(), [hasher.digest(&5i64)]);
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
///
/// # Errors
/// If a column cannot be its part of the key, or there are more or fewer columns than parts.
pub fn digest_rows(
    hasher: &KeyHasher,
    columns: &[ArrayRef],
    encoding: &KeyEncoding,
) -> Result<RowDigests> {
    let parts = encoding.parts();
    if parts.len() != columns.len() {
        return plan_err!(
            "the keys of the filter have the type {encoding}, but there are {} columns",
            columns.len()
        );
    }
    if let ([column], [part]) = (columns, parts) {
        return digest_column(hasher, column, part);
    }
    let columns: Vec<Part> =
        columns.iter().zip(parts).map(|(it, part)| Part::new(it, part)).collect::<Result<_>>()?;
    let row_count = columns.first().map_or(0, |column| column.array().len());
    let keys = columns.iter().fold(None, |keys, column| {
        NullBuffer::union(keys.as_ref(), column.array().logical_nulls().as_ref())
    });
    let mut key = CompositeKey::new();
    let digests = (0..row_count).map(|row| {
        key.clear();
        columns.iter().for_each(|column| column.push(row, &mut key));
        hasher.digest(&key)
    });
    Ok(RowDigests { digests: digests.collect(), keys })
}

fn digest_column(
    hasher: &KeyHasher,
    column: &ArrayRef,
    encoding: &KeyEncoding,
) -> Result<RowDigests> {
    // Each value of a dictionary is hashed once.
    downcast_dictionary_array! {
        column => return digest_dictionary(hasher, column, encoding),
        _ => {}
    }
    let part = Part::new(column, encoding)?;
    Ok(RowDigests { digests: part.digests(hasher), keys: part.array().logical_nulls() })
}

fn digest_dictionary<K: ArrowDictionaryKeyType>(
    hasher: &KeyHasher,
    column: &DictionaryArray<K>,
    encoding: &KeyEncoding,
) -> Result<RowDigests> {
    let values = digest_column(hasher, column.values(), encoding)?;
    let index = |row| {
        column.key(row).filter(|index| match &values.keys {
            Some(keys) => keys.is_valid(*index),
            None => true,
        })
    };
    let indices: Vec<Option<usize>> = (0..column.len()).map(index).collect();
    let digest = |index: &Option<usize>| index.map_or(Digest::new(0), |it| values.digests[it]);
    Ok(RowDigests {
        digests: indices.iter().map(digest).collect(),
        keys: Some(indices.iter().map(Option::is_some).collect()),
    })
}

/// A column in the form in which its values are hashed.
enum Part {
    I64(Int64Array),
    U64(UInt64Array),
    F64(Float64Array),
    Text(StringViewArray),
    Bytes(BinaryViewArray),
    Bool(BooleanArray),
    Date(Date32Array),
    Decimal(Decimal128Array),
}

impl Part {
    fn new(column: &ArrayRef, encoding: &KeyEncoding) -> Result<Self> {
        let own = encoding_of(column.data_type());
        let cast = |data_type| cast(column, &data_type);
        Ok(match (encoding, own) {
            // A number that the other type cannot hold becomes NULL.
            (KeyEncoding::I64, Some(KeyEncoding::I64 | KeyEncoding::U64)) => {
                Self::I64(cast(DataType::Int64)?.as_primitive().clone())
            }
            (KeyEncoding::U64, Some(KeyEncoding::I64 | KeyEncoding::U64)) => {
                Self::U64(cast(DataType::UInt64)?.as_primitive().clone())
            }
            (KeyEncoding::F64, Some(KeyEncoding::F64)) => {
                Self::F64(cast(DataType::Float64)?.as_primitive().clone())
            }
            (KeyEncoding::Utf8 | KeyEncoding::Bytes, Some(KeyEncoding::Utf8)) => {
                Self::Text(cast(DataType::Utf8View)?.as_string_view().clone())
            }
            (KeyEncoding::Utf8 | KeyEncoding::Bytes, Some(KeyEncoding::Bytes)) => {
                Self::Bytes(cast(DataType::BinaryView)?.as_binary_view().clone())
            }
            (KeyEncoding::Bool, Some(KeyEncoding::Bool)) => {
                Self::Bool(cast(DataType::Boolean)?.as_boolean().clone())
            }
            (KeyEncoding::Date, Some(KeyEncoding::Date)) => Self::Date(days(column)?),
            (KeyEncoding::Timestamp(unit), Some(KeyEncoding::Timestamp(own))) => {
                // The cast removes the time zone, which is not part of the moment.
                let ticks: Int64Array = cast(DataType::Int64)?.as_primitive().clone();
                Self::I64(scaled(&ticks, digits(*unit) - digits(own)))
            }
            (KeyEncoding::Decimal(scale), Some(KeyEncoding::Decimal(own))) => {
                let numbers = cast(DataType::Decimal128(38, own as i8))?;
                Self::Decimal(scaled(numbers.as_primitive(), i32::from(*scale) - i32::from(own)))
            }
            _ => {
                return plan_err!(
                    "the filter has keys of type {encoding}, which a column of type {} cannot be; \
                     cast the column",
                    column.data_type()
                );
            }
        })
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::I64(it) => it,
            Self::U64(it) => it,
            Self::F64(it) => it,
            Self::Text(it) => it,
            Self::Bytes(it) => it,
            Self::Bool(it) => it,
            Self::Date(it) => it,
            Self::Decimal(it) => it,
        }
    }

    fn digests(&self, hasher: &KeyHasher) -> Vec<Digest> {
        let rows = 0..self.array().len();
        match self {
            Self::I64(it) => it.values().iter().map(|it| hasher.digest(it)).collect(),
            Self::U64(it) => it.values().iter().map(|it| hasher.digest(it)).collect(),
            Self::F64(it) => it.values().iter().map(|it| hasher.digest(&float_key(*it))).collect(),
            Self::Text(it) => rows.map(|row| hasher.digest(it.value(row))).collect(),
            Self::Bytes(it) => rows.map(|row| hasher.digest(it.value(row))).collect(),
            Self::Bool(it) => rows.map(|row| hasher.digest(&it.value(row))).collect(),
            Self::Date(it) => it.values().iter().map(|it| hasher.digest(it)).collect(),
            Self::Decimal(it) => it.values().iter().map(|it| hasher.digest(it)).collect(),
        }
    }

    fn push(&self, row: usize, key: &mut CompositeKey) {
        match self {
            Self::I64(it) => key.push(&it.value(row)),
            Self::U64(it) => key.push(&it.value(row)),
            Self::F64(it) => key.push(&float_key(it.value(row))),
            Self::Text(it) => key.push(it.value(row)),
            Self::Bytes(it) => key.push(it.value(row)),
            Self::Bool(it) => key.push(&it.value(row)),
            Self::Date(it) => key.push(&it.value(row)),
            Self::Decimal(it) => key.push(&it.value(row)),
        };
    }
}

/// The days of a column of dates. Milliseconds that are no whole day belong to the day that they are
/// in: equal values stay equal.
fn days(column: &ArrayRef) -> Result<Date32Array> {
    const MILLISECONDS: i64 = 24 * 60 * 60 * 1000;
    let values = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values)?,
        _ => Arc::clone(column),
    };
    Ok(match values.data_type() {
        DataType::Date64 => values
            .as_primitive::<datatypes::Date64Type>()
            .unary::<_, Date32Type>(|it| it.div_euclid(MILLISECONDS) as i32),
        _ => values.as_primitive::<Date32Type>().clone(),
    })
}

/// The digits behind the point of a second that a unit can tell.
fn digits(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Numbers that can be scaled by a power of ten.
trait Scalable: datatypes::ArrowPrimitiveType {
    /// The number times 10^`digits`, if it is an integer of this type.
    fn scale(number: Self::Native, digits: i32) -> Option<Self::Native>;
}

macro_rules! scalable {
    ($($type:ty, $native:ty;)*) => {$(
        impl Scalable for $type {
            fn scale(number: $native, digits: i32) -> Option<$native> {
                if number == 0 {
                    return Some(0);
                }
                let power = <$native>::checked_pow(10, digits.unsigned_abs())?;
                match digits {
                    0.. => number.checked_mul(power),
                    _ => (number % power == 0).then(|| number / power),
                }
            }
        }
    )*};
}

scalable! {
    Int64Type, i64;
    Decimal128Type, i128;
}

fn scaled<T: Scalable>(numbers: &PrimitiveArray<T>, digits: i32) -> PrimitiveArray<T> {
    match digits {
        0 => numbers.clone(),
        _ => numbers.unary_opt(|number| T::scale(number, digits)),
    }
}

#[cfg(test)]
mod tests;
