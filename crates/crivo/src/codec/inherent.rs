//! Saving and loading as methods of the filters themselves, so that a program imports one type.

use std::io::{self, Read, Write};
use std::path::Path;

use super::{CodecError, DecodeError, FileError, Header, LoadOptions, Metadata, Persist};
use crate::filter::{AnyFilter, AtomicBloom, Bloom, for_each_kind};

macro_rules! saved_and_loaded {
    ($($filter:ty;)*) => {
        $(
            /// Saving and loading: see [`codec`](crate::codec).
            impl $filter {
                /// Writes the filter to a file, in one step: anybody who reads it meanwhile, and
                /// after a failure, finds the old file or the new one, whole.
                ///
                /// # Errors
                /// If the file or its directory cannot be written.
                pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
                    super::save(self, path)
                }

                /// Reads a filter from a file. [`LoadOptions`] can do so with a secret key, and map
                /// the file instead.
                ///
                /// # Errors
                /// If the file cannot be read, or is not such a filter, whole and undamaged.
                pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
                    LoadOptions::new().load(path)
                }

                /// The filter as bytes: what [`save`](Self::save) writes to a file.
                pub fn to_bytes(&self) -> Vec<u8> {
                    super::to_bytes(self)
                }

                /// Reads a filter from its bytes, and copies them.
                ///
                /// # Errors
                /// If they are not such a filter, whole and undamaged, with nothing behind it.
                pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
                    LoadOptions::new().from_bytes(bytes)
                }

                /// Writes the filter to a stream. No buffer around the stream is needed.
                ///
                /// # Errors
                /// Those of the stream.
                pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
                    super::write_to(self, writer)
                }

                /// Reads a filter from a stream, and nothing behind it. No buffer around the stream
                /// is needed.
                ///
                /// # Errors
                /// If the stream cannot be read, or what comes is not such a filter, whole and
                /// undamaged.
                pub fn read_from(reader: impl Read) -> Result<Self, CodecError> {
                    LoadOptions::new().read_from(reader)
                }

                /// What the file of this filter says before its payload. The whole table is read
                /// for its checksum.
                pub fn header(&self) -> Header {
                    super::header(self)
                }

                /// Text that is kept with the filter in its file.
                pub fn metadata(&self) -> &Metadata {
                    Persist::metadata(self)
                }

                /// Text that is kept with the filter in its file, to be changed.
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
        saved_and_loaded! { $(crate::filter::$filter;)* }
    };
}
for_each_kind!(saved_and_loaded_by_table);

saved_and_loaded! {
    AnyFilter;
}

/// Saving and loading, as a [`Bloom`] filter: see [`codec`](crate::codec).
impl AtomicBloom {
    /// Writes the filter to the file of a [`Bloom`] filter, in one step.
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
        self.to_bloom().save(path)
    }

    /// Reads the file of a [`Bloom`] filter.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a Bloom filter, whole and undamaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Bloom::load(path).map(Self::from)
    }

    /// The filter as bytes: what [`save`](Self::save) writes to a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bloom().to_bytes()
    }

    /// Reads a filter from its bytes, and copies them.
    ///
    /// # Errors
    /// If they are not a Bloom filter, whole and undamaged, with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Bloom::from_bytes(bytes).map(Self::from)
    }
}

#[cfg(test)]
saved_and_loaded! {
    super::mock::Mock;
}
