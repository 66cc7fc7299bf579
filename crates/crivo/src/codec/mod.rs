//! One portable file format for every filter.

mod atomic;
mod error;
mod header;
#[cfg(feature = "mmap")]
mod map;
#[cfg(test)]
pub(crate) mod mock;
mod payload;
mod persist;
mod save;
#[cfg(feature = "serde")]
pub(crate) mod serde;
mod source;
#[cfg(test)]
mod tests;

pub use error::{CodecError, DecodeError, FileAction, FileError};
pub use header::Header;
#[cfg(feature = "mmap")]
pub use map::Mapped;
pub use persist::Kind;
pub(crate) use persist::{Persist, Stored};
pub use save::{Open, Save, verify};
