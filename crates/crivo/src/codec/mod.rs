//! One portable file format for every filter.
//!
//! A file is a header that says what it is, and the filter's table as it lies in memory:
//!
//! ```text
//!   ┌───────┬─────────┬──────┬──────┬───────────┬────────────┬──────────┬──────────┬─────────┬─────────┐
//!   │ magic │ version │ kind │ hash │ key count │ parameters │ metadata │ checksum │ padding │ payload │
//!   └───────┴─────────┴──────┴──────┴───────────┴────────────┴──────────┴──────────┴─────────┴─────────┘
//!    89 "crivo" CR LF, 2               u64 each                          XXH3-64    to 64 n   words
//! ```
//!
//! All of it is little-endian, and the same on every platform; docs/format.md has every byte. Files
//! of version 1, which have no metadata, are read as well; what is saved is version 2.
//!
//! ```no_run
//! use crivo::codec::{self, FileError};
//! use crivo::filter::AnyFilter;
//!
//! let seen = AnyFilter::load("seen.crivo")?; // of any kind; one kind only: `Bloom::load`
//! println!("{}", seen.contains("ana"));
//! seen.save("copy.crivo")?; // in one step: nobody ever finds half a file
//!
//! println!("{:?}", codec::verify("copy.crivo")?); // what the header says
//! # Ok::<(), FileError>(())
//! ```
//!
//! # Which way in?
//!
//! | | what it does | verified |
//! |---|---|---|
//! | `load`, `from_bytes`, `read_from` of every filter | copies | all |
//! | the same of [`LoadOptions`] | copies; takes a secret key | all, unless told not to |
//! | `LoadOptions::map` (feature `mmap`) | answers from the file | the header; the payload on request |
//! | [`Header::load`] | looks at the header, and needs no key | the header |
//! | [`verify()`] | reads everything, keeps nothing, and needs no key | all |
//!
//! Structures of your own that implement [`Persist`] are written by [`save`], [`to_bytes`] and
//! [`write_to`], and read by [`LoadOptions`].
//!
//! # What can be trusted
//!
//! Reading is total: whatever the bytes, the answer is a filter or a typed error, and memory is
//! asked for only in proportion to the bytes that there are. Also a mapped payload that was never
//! verified is safe to ask. But checksums find damage, not malice: the answers of a filter are only
//! as honest as those who could write its file.

mod error;
mod header;
mod inherent;
mod load;
#[cfg(feature = "mmap")]
mod map;
#[cfg(test)]
pub(crate) mod mock;
mod payload;
#[cfg(feature = "serde")]
pub mod serde;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use crate::persist::{
    Content, DecodeError, FileKind, Metadata, MetadataError, Parts, Persist, Words,
};
pub use error::{CodecError, FileAction, FileError};
pub use header::Header;
pub use load::{LoadOptions, verify, verify_bytes};
#[cfg(feature = "mmap")]
pub use map::Mapped;
pub use write::{header, save, to_bytes, write_to};
