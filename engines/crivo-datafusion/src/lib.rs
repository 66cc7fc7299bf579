//! Bloom filters in [DataFusion](datafusion): functions of SQL, and runtime filters for joins.
//!
//! | module | what it holds |
//! |---|---|
//! | [`functions`] | `bloom_agg` builds a filter from columns, `bloom_contains` asks it |
//! | [`keys`] | rows of columns as keys, the same for every width of a type |
//! | [`planner`] | joins that drop rows by a filter before they are sent |
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let context = SessionContext::new();
//! crivo_datafusion::register_functions(&context);
//! let rows = context
//!     .sql(
//!         "SELECT x FROM (VALUES (1), (2), (3)) AS t(x) \
//!          WHERE bloom_contains((SELECT bloom_agg(y) FROM (VALUES (3), (5)) AS u(y)), x)",
//!     )
//!     .await?
//!     .collect()
//!     .await?;
//! assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
//! # Ok(())
//! # }
//! ```

pub mod functions;
pub mod keys;
pub mod planner;

pub use functions::register_functions;
