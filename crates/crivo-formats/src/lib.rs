//! Filters of other systems: read, written and queried, with exactly their hash functions.
//!
//! # Design
//!
//! - *One type for each system*, in a module and behind a feature of its own, with the method names
//!   of the library: `new`, `contains`, `insert`, `union_with`, `size_in_bits`, `expected_fpr`,
//!   `estimated_key_count`, `from_bytes`, `to_bytes`. `new` takes a number of keys and a
//!   false-positive rate, and gives the dimensions that the system itself would choose, so that its
//!   filters and ours can be merged.
//! - *Keys have types.* Systems hash an integer, a text and a list of bytes in different ways. A
//!   filter takes only what its system takes: a key of another type does not compile ([`KeyOf`]), or
//!   is a [`KeyTypeError`] where the type is known at run time ([`TypedKey`]). Most files do not tell
//!   the type of their keys, so that the caller must know it: a key of the wrong type is hashed in
//!   another way, and the answer means nothing.
//! - *Hostile bytes are errors.* Readers compare each size in a header with the length of the input
//!   before they allocate, and return a [`FormatError`]. No input makes them panic.
//! - *What was read is written as it was*, byte for byte.
//! - *One trait for programs that learn the format at run time*: [`ForeignFilter`], on typed keys. The
//!   traits of the library work on digests of 64 bits; only formats whose whole hash fits into that
//!   implement them.
//! - *One table of formats*: [`FORMATS`], with name, key types, abilities and reader of each.
//!   [`recognise`] goes through it.

// What several formats share is not used where only some of them are asked for.
#![cfg_attr(not(feature = "default"), allow(dead_code, unused_imports, unused_macros))]

mod bits;
mod bytes;
mod error;
mod filter;
mod format;
mod key;
mod methods;

#[cfg(feature = "bitcoin")]
pub mod bitcoin;
#[cfg(feature = "bits-and-blooms")]
pub mod bits_and_blooms;
#[cfg(feature = "cassandra")]
pub mod cassandra;
#[cfg(feature = "datasketches")]
pub mod datasketches;
#[cfg(feature = "dcso")]
pub mod dcso;
#[cfg(feature = "guava")]
pub mod guava;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "spark")]
pub mod spark;
#[cfg(feature = "xor")]
pub mod xor;

pub use error::{ChangeError, FormatError, KeyTypeError, ParseKeyError};
pub use filter::ForeignFilter;
pub use format::{
    Create, FORMATS, Format, FormatOptions, ReadFunction, Recognition, by_name, recognise,
};
pub use key::{AsKey, KeyOf, KeyType, TypedKey, Utf16};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
