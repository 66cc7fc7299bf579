//! A filter whose format is known only at run time.

use std::any::Any;
use std::fmt;

use crivo::filter::Operation;
use crivo::theory::estimate::Estimate;

use crate::{ChangeError, KeyTypeError, TypedKey};

/// A filter of any format, on typed keys: for programs that learn the format at run time.
///
/// Every type of this crate implements it. `Any` is for [`union_with_any`](Self::union_with_any),
/// which must find out whether both filters are of one type.
///
/// ```
/// use crivo_formats::bits_and_blooms::BitsAndBlooms;
/// use crivo_formats::dcso::DcsoBloom;
/// use crivo_formats::{ForeignFilter, TypedKey};
///
/// let mut filters: [Box<dyn ForeignFilter>; 2] =
///     [Box::new(DcsoBloom::new(1_000, 0.01)?), Box::new(BitsAndBlooms::new(1_000, 0.01)?)];
/// for filter in &mut filters {
///     filter.insert_key(&TypedKey::Text("ana".into()))?;
///     assert!(filter.contains_key(&TypedKey::Text("ana".into()))?);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ForeignFilter: Any + fmt::Debug + Send + Sync {
    /// The name of its format in the [table](crate::FORMATS).
    fn format(&self) -> &'static str;

    /// Whether `key` may be a member. `false` is certain.
    ///
    /// # Errors
    /// If the filter's system has no keys of this type.
    fn contains_key(&self, key: &TypedKey<'_>) -> Result<bool, KeyTypeError>;

    /// Makes `key` a member: `true` if it was certainly new.
    ///
    /// # Errors
    /// If the filter's system has no keys of this type, the filter takes no more keys, or has no
    /// place for this one. It is as it was.
    fn insert_key(&mut self, key: &TypedKey<'_>) -> Result<bool, ChangeError>;

    /// Takes in the keys of another filter.
    ///
    /// # Errors
    /// If filters of this format cannot be merged, or the two differ in format or dimensions. This
    /// one is as it was.
    fn union_with_any(&mut self, _other: &dyn ForeignFilter) -> Result<(), ChangeError> {
        Err(ChangeError::Unsupported { format: self.format(), operation: Operation::Union })
    }

    /// The memory of the table, in bits.
    fn size_in_bits(&self) -> u64;

    /// How many keys there are, if the file tells.
    fn key_count(&self) -> Option<u64>;

    /// The number of different keys, estimated from the table, where that is possible.
    fn estimated_key_count(&self) -> Option<Estimate> {
        None
    }

    /// The share of the table that is in use, where the format has a measure of that.
    fn fill(&self) -> Option<f64>;

    /// The false-positive rate, as far as the table tells it.
    fn expected_fpr(&self) -> f64;

    /// What else describes the filter: names and values, to be shown to people.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// The filter as its system stores it.
    fn to_bytes(&self) -> Vec<u8>;
}
