//! Saving and loading as methods of the filters themselves, so that a program imports one type.

use std::io::{self, Read, Write};
use std::path::Path;

use super::{CodecError, DecodeError, FileError, Header, LoadOptions, Metadata, Persist};
// All kinds: the table names them without their path.
use crate::filter::*;

/// Lines of an example that make a filter with "ana" in it.
macro_rules! example {
    (AnyFilter) => {
        "let mut filter = AnyFilter::from(crivo::filter::Bloom::new(1_000, 0.01)?);\n\
         filter.insert(\"ana\")?;"
    };
    (Fuse) => {
        "let mut filter = Fuse::build([\"ana\"], 0.01)?;"
    };
    (ShardedFuse) => {
        "let mut filter = ShardedFuse::build([\"ana\"], 0.01)?;"
    };
    (Cuckoo) => {
        "let mut filter = Cuckoo::new(1_000, 0.01)?;\nfilter.insert(\"ana\")?;"
    };
    (Quotient) => {
        "let mut filter = Quotient::new(1_000, 0.01)?;\nfilter.insert(\"ana\")?;"
    };
    ($filter:ident) => {
        concat!(
            "let mut filter = ",
            stringify!($filter),
            "::new(1_000, 0.01)?;\nfilter.insert(\"ana\");"
        )
    };
}

macro_rules! saved_and_loaded {
    ($($filter:ident;)*) => {
        $(
            /// Saving and loading: see [`codec`](crate::codec).
            impl $filter {
                /// Writes the filter to a file, in one step: anybody who reads it meanwhile, and
                /// after a failure, finds the old file or the new one, whole.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// # let directory = tempfile::tempdir()?;
                /// # let path = directory.path().join("seen.crivo");
                /// filter.save(&path)?;
                #[doc = concat!("assert!(", stringify!($filter), "::load(&path)?.contains(\"ana\"));")]
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                ///
                /// # Errors
                /// If the file or its directory cannot be written.
                pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
                    super::save(self, path)
                }

                /// Reads a filter from a file. [`LoadOptions`] can do so with a secret key, and map
                /// the file instead.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// # let directory = tempfile::tempdir()?;
                /// # let path = directory.path().join("seen.crivo");
                /// filter.save(&path)?;
                #[doc = concat!("let copy = ", stringify!($filter), "::load(&path)?;")]
                /// assert_eq!(copy.to_bytes(), filter.to_bytes());
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                ///
                /// # Errors
                /// If the file cannot be read, or is not such a filter, whole and undamaged.
                pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
                    LoadOptions::new().load(path)
                }

                /// The filter as bytes: what [`save`](Self::save) writes to a file.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// let bytes = filter.to_bytes();
                /// assert_eq!(bytes[..8], *b"\x89crivo\r\n");
                /// assert_eq!(bytes.len() as u64, filter.header().file_length());
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                pub fn to_bytes(&self) -> Vec<u8> {
                    super::to_bytes(self)
                }

                /// Reads a filter from its bytes, and copies them.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// let bytes = filter.to_bytes();
                #[doc = concat!("assert!(", stringify!($filter), "::from_bytes(&bytes)?.contains(\"ana\"));")]
                #[doc = concat!("assert!(", stringify!($filter), "::from_bytes(&bytes[..bytes.len() - 1]).is_err());")]
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                ///
                /// # Errors
                /// If they are not such a filter, whole and undamaged, with nothing behind it.
                pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
                    LoadOptions::new().from_bytes(bytes)
                }

                /// Writes the filter to a stream. No buffer around the stream is needed.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// let mut stream = Vec::new();
                /// filter.write_to(&mut stream)?;
                /// assert_eq!(stream, filter.to_bytes());
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                ///
                /// # Errors
                /// Those of the stream.
                pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
                    super::write_to(self, writer)
                }

                /// Reads a filter from a stream, and nothing behind it. No buffer around the stream
                /// is needed.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// let mut stream = filter.to_bytes();
                /// stream.extend(b"what follows");
                /// let mut reader = &stream[..];
                #[doc = concat!("assert!(", stringify!($filter), "::read_from(&mut reader)?.contains(\"ana\"));")]
                /// assert_eq!(reader, b"what follows");
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                ///
                /// # Errors
                /// If the stream cannot be read, or what comes is not such a filter, whole and
                /// undamaged.
                pub fn read_from(reader: impl Read) -> Result<Self, CodecError> {
                    LoadOptions::new().read_from(reader)
                }

                /// What the file of this filter says before its payload. The whole table is read
                /// for its checksum.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// let header = filter.header();
                /// assert_eq!(header.key_count(), 1);
                /// assert_eq!(header.hash(), filter.hasher().identity());
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                pub fn header(&self) -> Header {
                    super::header(self)
                }

                /// Text that is kept with the filter in its file.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// filter.metadata_mut().set("source", "users.csv")?;
                /// assert_eq!(filter.metadata().get("source"), Some("users.csv"));
                /// assert_eq!(filter.metadata().get("author"), None);
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                pub fn metadata(&self) -> &Metadata {
                    Persist::metadata(self)
                }

                /// Text that is kept with the filter in its file, to be changed.
                ///
                /// ```
                #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
                ///
                #[doc = example!($filter)]
                /// filter.metadata_mut().set("source", "users.csv")?;
                #[doc = concat!("let copy = ", stringify!($filter), "::from_bytes(&filter.to_bytes())?;")]
                /// assert_eq!(copy.metadata().get("source"), Some("users.csv"));
                /// # Ok::<(), Box<dyn std::error::Error>>(())
                /// ```
                pub fn metadata_mut(&mut self) -> &mut Metadata {
                    Persist::metadata_mut(self)
                }
            }
        )*
    };
}

/// The methods for every row of the table of kinds.
macro_rules! saved_and_loaded_by_table {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        saved_and_loaded! { $($filter;)* }
    };
}
for_each_kind!(saved_and_loaded_by_table);

saved_and_loaded! {
    AnyFilter;
}

/// Saving and loading, as the filter of one thread: see [`codec`](crate::codec).
impl<F: Shareable> AtomicFilter<F> {
    /// Writes the filter to the file of a plain one, in one step.
    ///
    /// It copies the bits first. Other threads may go on inserting: what they insert meanwhile may be
    /// in the file or not.
    ///
    /// ```no_run
    /// use crivo::filter::{AtomicBloom, Bloom};
    ///
    /// let seen = AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// seen.save("seen.crivo")?;
    /// assert!(Bloom::load("seen.crivo")?.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file or its directory cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        super::save(&self.to_filter(), path)
    }

    /// Reads the file of a plain filter.
    ///
    /// ```
    /// use crivo::filter::{AtomicBloom, Bloom};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// let mut seen = Bloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// seen.save(&path)?;
    /// assert!(AtomicBloom::load(&path)?.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a filter, whole and undamaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        LoadOptions::new().load::<F>(path).map(Self::from)
    }

    /// The filter as bytes: what [`save`](Self::save) writes to a file.
    ///
    /// ```
    /// use crivo::filter::{AtomicBloom, Bloom};
    ///
    /// let seen = AtomicBloom::new(1_000, 0.01)?;
    /// seen.insert("ana");
    /// assert!(Bloom::from_bytes(&seen.to_bytes())?.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        super::to_bytes(&self.to_filter())
    }

    /// Reads a filter from its bytes, and copies them.
    ///
    /// ```
    /// use crivo::filter::{AtomicBloom, Bloom};
    ///
    /// let bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// assert!(AtomicBloom::from_bytes(&bytes)?.is_empty());
    /// assert!(AtomicBloom::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not such a filter, whole and undamaged, with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        LoadOptions::new().from_bytes::<F>(bytes).map(Self::from)
    }
}

#[cfg(test)]
use super::mock::Mock;
#[cfg(test)]
saved_and_loaded! {
    Mock;
}
