//! An index as a file: its signatures in the order of their numbers.
//!
//! ```text
//!   parameters   form │ values of a signature │ bits of a value │ bands │ rows │ entries
//!   payload      number, signature │ number, signature │ …      (whole words, ascending numbers)
//! ```
//!
//! The tables of the bands are not written. They follow from the signatures, and what a file does
//! not say it cannot say wrongly.

use std::path::Path;

use super::SimilarityIndex;
use crate::{Banding, Form, SignatureBits, Sketcher};
use crivo::codec::{
    self, Content, DecodeError, FileError, FileKind, LoadOptions, Metadata, Parts, Persist,
};
use crivo::{KeyHasher, ParameterError};

/// The parameters of a file.
pub struct IndexLayout {
    form: Form,
    length: u32,
    bits: SignatureBits,
    banding: Banding,
    entries: u64,
    /// The words of an entry.
    stride: usize,
}

impl IndexLayout {
    /// An empty index.
    fn index(&self, hasher: KeyHasher) -> Result<SimilarityIndex, ParameterError> {
        let sketcher = Sketcher::with_hasher(self.form, self.length, hasher)?;
        SimilarityIndex::with_bits(sketcher, self.bits, self.banding)
    }
}

impl Persist for SimilarityIndex {
    type Layout = IndexLayout;

    fn parts(&self) -> Parts<'_> {
        let numbers =
            [self.sketcher.length(), self.bits.get(), self.banding.bands(), self.banding.rows()];
        let mut parameters = vec![u64::from(self.sketcher.form().id())];
        parameters.extend(numbers.map(u64::from));
        parameters.push(self.entry_count() as u64);
        Parts {
            kind: Self::FILE_KIND,
            hasher: self.sketcher.hasher(),
            key_count: self.entry_count() as u64,
            parameters,
            payload: self.ids().map(|id| self.row(self.slots[&id])).collect(),
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<IndexLayout, DecodeError> {
        Self::FILE_KIND.expect(kind)?;
        let &[form, length, bits, bands, rows, entries] = parameters else {
            return Err(DecodeError::Inconsistent("a similarity index has six parameters"));
        };
        let form = u8::try_from(form)
            .ok()
            .and_then(Form::from_id)
            .ok_or(DecodeError::Inconsistent("the form of the signatures is unknown"))?;
        // What has no place in 32 bits is out of every range, as their largest number is.
        let [length, bits, bands, rows] =
            [length, bits, bands, rows].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let (bits, banding) = (SignatureBits::new(bits)?, Banding::new(bands, rows)?);
        let mut layout = IndexLayout { form, length, bits, banding, entries, stride: 0 };
        // The words of an entry do not depend on the hash function, which is not known yet.
        layout.stride = layout.index(KeyHasher::default())?.stride();
        if entries.checked_mul(layout.stride as u64).is_none() {
            let allowed = "less than 2^64 words in all";
            return Err(ParameterError::new("entries", entries, allowed).into());
        }
        Ok(layout)
    }

    fn payload_length(layout: &IndexLayout) -> u64 {
        layout.entries * layout.stride as u64
    }

    fn from_content(layout: IndexLayout, content: Content) -> Result<Self, DecodeError> {
        let Content { hasher, key_count, metadata, payload, .. } = content;
        let mut index = layout.index(hasher)?;
        index.metadata = metadata;
        if key_count != layout.entries {
            return Err(DecodeError::Inconsistent("the entries are not as many as the keys"));
        }
        let entries = payload.len() / layout.stride;
        index.try_reserve(entries).map_err(|bytes| DecodeError::OutOfMemory { bytes })?;
        let mut last = None;
        for row in payload.chunks_exact(layout.stride) {
            let (id, words) = (row[0], &row[1..]);
            if last.replace(id).is_some_and(|last| last >= id) {
                return Err(DecodeError::Inconsistent("the entries are not in ascending order"));
            }
            if !index.bits.has_clean_end(words, layout.length) {
                return Err(DecodeError::Inconsistent("there is something behind a signature"));
            }
            index
                .insert_words(id, words)
                .map_err(|_| DecodeError::Inconsistent("there are more entries than can be"))?;
        }
        Ok(index)
    }
}

/// Saving and loading: see [`codec`].
impl SimilarityIndex {
    /// What a file with an index says that it contains.
    ///
    /// ```
    /// use crivo_sketch::SimilarityIndex;
    ///
    /// assert_eq!(SimilarityIndex::FILE_KIND.description(), "similarity index");
    /// ```
    pub const FILE_KIND: FileKind = FileKind::new(8, "similarity", "index");

    /// Writes the index to a file, in one step: anybody who reads it meanwhile, and after a failure,
    /// finds the old file or the new one, whole.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("texts.crivo");
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// index.save(&path)?;
    /// assert_eq!(std::fs::read(&path)?, index.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file or its directory cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        codec::save(self, path)
    }

    /// Reads an index from a file. [`LoadOptions`] can do so with a secret key.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("texts.crivo");
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// index.save(&path)?;
    /// assert_eq!(SimilarityIndex::load(&path)?, index);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or is not an index, whole and undamaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        LoadOptions::new().load(path)
    }

    /// The index as bytes: what [`save`](Self::save) writes to a file.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// assert_eq!(index.to_bytes()[..8], *b"\x89crivo\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::to_bytes(self)
    }

    /// Reads an index from its bytes. At no time that takes more memory than 20 times their length
    /// and 80 KiB.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// assert_eq!(SimilarityIndex::from_bytes(&index.to_bytes())?, index);
    /// assert!(SimilarityIndex::from_bytes(b"hello").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not an index, whole and undamaged, with nothing behind it, or there is no memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        LoadOptions::new().from_bytes(bytes)
    }
}

#[cfg(feature = "serde")]
impl serde_core::Serialize for SimilarityIndex {
    fn serialize<S: serde_core::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        codec::serde::serialize(self, to)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde_core::Deserialize<'de> for SimilarityIndex {
    fn deserialize<D: serde_core::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        codec::serde::deserialize(from)
    }
}
