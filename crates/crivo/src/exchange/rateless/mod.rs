//! Rateless.

mod coder;
mod estimate;
pub(super) mod mapping;
mod overhead;
mod symbol;
#[cfg(test)]
mod tests;

pub use coder::{Decoder, Difference, Encoder, Progress};
pub use estimate::DifferenceEstimate;
pub use overhead::expected_symbols;
pub use symbol::CodedSymbol;
