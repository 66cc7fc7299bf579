//! One portable file format for every filter.

mod error;
mod persist;

pub use error::DecodeError;
pub use persist::Kind;
pub(crate) use persist::Persist;
