//! The subcommands, one file each.

#[cfg(feature = "parquet")]
pub(crate) mod add_filters;
pub(crate) mod build;
mod change;
pub(crate) mod common;
mod compare;
pub(crate) mod completions;
pub(crate) mod count;
pub(crate) mod dedup;
pub(crate) mod diff;
#[cfg(feature = "hyphen")]
pub(crate) mod hyphenate;
pub(crate) mod insert;
pub(crate) mod inspect;
pub(crate) mod join;
#[cfg(feature = "hyphen")]
pub(crate) mod languages;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod query;
mod records;
pub(crate) mod remove;
pub(crate) mod similar;
pub(crate) mod size;
#[cfg(feature = "study")]
pub(crate) mod study;
pub(crate) mod sync;
