//! Internals that several crivo crates share. **Not for direct use**: there is no promise of
//! stability here. Users want [`crivo`](https://docs.rs/crivo).
//!
//! | module | what it holds |
//! |---|---|
//! | [`Words`] | 64-bit words that begin at a cache line, owned or lent by a mapped file |
//! | [`PackedSlots`] | slots of any width, packed without waste |
//! | [`memory`] | huge pages and prefetching |
//! | [`wire`] | variable-length integers, and a reader that trusts no length |
//! | [`mod@file`] | replacing a file atomically |
//! | [`check`] | parameters in their ranges |
//! | `counting` (feature) | an allocator that counts, for tests |
//! | [`Random`] | SplitMix64, the same stream on every platform |
//! | [`opaque()`] | a number that the compiler knows nothing of |
//! | [`mix`] | the bijection behind it, and the reduction of 64 bits to a range |

mod error;
mod opaque;
mod packed;
mod random;
mod words;

pub mod check;
#[cfg(feature = "counting")]
pub mod counting;
pub mod file;
pub mod memory;
pub mod mix;
#[cfg(feature = "spill")]
pub mod spill;
pub mod wire;

pub use error::{BuildError, ParameterError};
pub use opaque::opaque;
pub use packed::PackedSlots;
pub use random::Random;
pub use words::Words;
