//! Apache Parquet: the Bloom filters of its files.
//!
//! A column chunk (a column in a row group) may have a filter of its values. A reader that looks for a
//! value skips the row groups whose filters say no.
//!
//! | | |
//! |---|---|
//! | one filter, taken out of its file | [`ParquetBloom`] |
//! | which filters a file has, which row groups may contain a value | [`ParquetFile`] |
//! | filters for columns that have none | `AddFilters`, with the feature `parquet-write` |
//!
//! # The format
//!
//! ```text
//!   header   a structure of Thrift's compact protocol: bytes of the bits, then three unions, each with
//!            its only variant: split blocks, XXH64, no compression
//!   bits     blocks of eight 32-bit words, little-endian
//! ```
//!
//! Which bits are a key's: [`SplitBlock`](crivo::filter::SplitBlock), by XXH64 with seed 0 of the
//! value's plain encoding. The type of the column decides about the encoding, and the file tells it: a
//! key of another type is an error, not an answer.

#[cfg(feature = "parquet-write")]
mod add;
mod error;
mod file;
mod filter;
mod metadata;
mod thrift;

#[cfg(feature = "parquet-write")]
pub use add::AddFilters;
pub use error::ParquetError;
pub use file::{ColumnFilters, Membership, ParquetFile};
pub use filter::{MAX_BLOCKS, ParquetBloom};
pub use metadata::{Column, FilterLocation, PhysicalType};

pub(crate) use filter::FORMAT;
