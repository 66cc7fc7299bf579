//! One portable file format for every filter.
//!
//! A file is a header that says what it is, and the filter's table as it lies in memory:
//!
//! ```text
//!   ┌───────┬─────────┬──────┬──────┬───────────┬────────────┬──────────┬─────────┬─────────┐
//!   │ magic │ version │ kind │ hash │ key count │ parameters │ checksum │ padding │ payload │
//!   └───────┴─────────┴──────┴──────┴───────────┴────────────┴──────────┴─────────┴─────────┘
//!    89 "crivo" CR LF, 1               u64 each, ≤ 64          XXH3-64    to 64 n   words
//! ```
//!
//! All of it is little-endian, and the same on every platform; docs/format.md has every byte.
//!
//! ```no_run
//! use crivo::codec::{self, Save};
//! use crivo::filter::{AnyFilter, Filter};
//!
//! let seen = AnyFilter::open("seen.crivo")?; // whatever its kind; a type of filter: `load`
//! println!("{}", seen.contains("ana"));
//! seen.save("copy.crivo")?; // in one step: nobody ever finds half a file
//!
//! println!("{:?}", codec::verify("copy.crivo")?); // what the header says
//! # Ok::<(), codec::FileError>(())
//! ```
//!
//! # Which way in?
//!
//! | | what it does | verified |
//! |---|---|---|
//! | [`Save::load`], [`from_bytes`](Save::from_bytes), [`read_from`](Save::read_from) | copies | all |
//! | `Mapped::open` (feature `mmap`) | answers from the file | the header; the payload on request |
//! | [`Header::load`] | looks at the header, and needs no key | the header |
//! | [`verify`] | reads everything, keeps nothing, and needs no key | all |
//!
//! [`Open`] does the first two with a secret key, which is never in the file.
//!
//! # What can be trusted
//!
//! Reading is total: whatever the bytes, the answer is a filter or a typed error, and memory is
//! asked for only in proportion to the bytes that there are. Also a mapped payload that was never verified is safe to ask.
//! But checksums find damage, not malice: the answers of a filter are as honest as whoever could
//! write its file.

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
pub mod serde;
mod source;
#[cfg(test)]
mod tests;

pub use error::{CodecError, DecodeError, FileAction, FileError};
pub use header::Header;
#[cfg(feature = "mmap")]
pub use map::Mapped;
pub(crate) use persist::Persist;
pub use persist::{Kind, Stored};
pub use save::{Open, Save, verify};
