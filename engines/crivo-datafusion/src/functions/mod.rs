//! The functions of SQL: `bloom_agg` and `bloom_contains`, and `few_distinct` for runtime filters.
//!
//! | function | result |
//! |---|---|
//! | `bloom_agg(column, …)` | a filter of the keys in these columns, as the bytes of its file |
//! | `bloom_agg(column, …, fpr)` | the same with this false-positive rate, a literal with a point |
//! | `bloom_contains(filter, column, …)` | whether the key may be in the filter |
//! | `few_distinct(column)` | a list of the distinct values, or NULL if there are more than [`MAX_FEW`] |
//!
//! A key with a NULL in any column is in no filter. No keys make an empty filter. More than
//! [`MAX_KEYS`] distinct keys make none: the result is NULL, and `bloom_contains(NULL, …)` is true, so
//! that a missing filter removes no row.

mod aggregate;
mod contains;
mod few;

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

pub use aggregate::{BloomAgg, DEFAULT_FPR, MAX_KEYS};
pub use contains::{BloomContains, FilterCounts};
pub(crate) use contains::{filter_literal, literal_filter};
pub use few::{FewDistinct, MAX_FEW};

/// The aggregate `bloom_agg`.
///
/// ```
/// assert_eq!(crivo_datafusion::functions::bloom_agg().name(), "bloom_agg");
/// ```
pub fn bloom_agg() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(BloomAgg::new()))
}

/// The function `bloom_contains`. Its clones share one cache of filters.
///
/// ```
/// assert_eq!(crivo_datafusion::functions::bloom_contains().name(), "bloom_contains");
/// ```
pub fn bloom_contains() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(BloomContains::new()))
}

/// The aggregate `few_distinct`.
///
/// ```
/// assert_eq!(crivo_datafusion::functions::few_distinct().name(), "few_distinct");
/// ```
pub fn few_distinct() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(FewDistinct::new()))
}

/// Makes the functions known to a session.
///
/// ```
/// use datafusion::execution::FunctionRegistry;
/// use datafusion::prelude::SessionContext;
///
/// let context = SessionContext::new();
/// crivo_datafusion::register_functions(&context);
/// assert!(context.udf("bloom_contains").is_ok());
/// ```
pub fn register_functions(context: &SessionContext) {
    context.register_udaf(bloom_agg().as_ref().clone());
    context.register_udaf(few_distinct().as_ref().clone());
    context.register_udf(bloom_contains().as_ref().clone());
}
