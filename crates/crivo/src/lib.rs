//! **crivo** (Portuguese: *sieve*) answers *"have I seen this key?"*
//!
//! | module | what it holds |
//! |---|---|
//! | [`filter`] | approximate membership: a few bits per key, and a known false-positive rate |
//! | [`hash`] | keys, stable seeded hash families, indices from a digest |
//! | [`theory`] | sizes, error rates, bounds and confidence intervals, as pure functions |
//! | [`codec`] | one portable file format for every filter |
//!
//! ```
//! use crivo::filter::Bloom;
//!
//! let mut seen = Bloom::new(1_000_000, 0.01)?; // for a million keys, at most 1% false positives
//! seen.insert("ana");
//! assert!(seen.contains("ana"));  // possibly there
//! assert!(!seen.contains("rui")); // certainly not there
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! Crates built on it: `crivo-exact` (dictionaries), `crivo-exchange` (reconciliation and joins),
//! `crivo-sketch` (similar sets, frequencies), `crivo-route` (routing by filters), `crivo-hyphen`
//! (a hyphenator), and the command `crivo`.

mod persist;
mod simd;

#[doc(hidden)]
pub use simd::check as check_simd;

pub mod codec;
pub mod filter;
pub mod hash;
pub mod theory;

pub use crivo_core::{BuildError, ParameterError};
pub use hash::{Digest, Key, KeyHasher};
