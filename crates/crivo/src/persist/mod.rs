//! What a structure tells of itself, so that the codec can write it to a file and read it again.

mod error;
mod kind;
mod metadata;

pub use error::DecodeError;
pub use kind::FileKind;
pub use metadata::{Metadata, MetadataError};

pub use crivo_core::Words;

use crate::KeyHasher;

/// A structure that can be saved to a file: a few numbers, and a table of 64-bit words.
///
/// Every filter implements it, and so can a structure of your own: choose a [`FileKind`], and say
/// what its numbers and words are. The functions of [`codec`](crate::codec) do the rest: header,
/// checksums, metadata, memory mapping and atomic replacement of files.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::codec::{
///     self, Content, DecodeError, FileKind, LoadOptions, Metadata, Parts, Persist, Words,
/// };
///
/// /// The digests of some keys, one word each.
/// #[derive(Debug, PartialEq)]
/// struct Digests {
///     hasher: KeyHasher,
///     metadata: Metadata,
///     words: Words,
/// }
///
/// impl Digests {
///     const FILE_KIND: FileKind = FileKind::new(200, "digests", "list");
/// }
///
/// impl Persist for Digests {
///     type Layout = u64; // the number of keys
///
///     fn parts(&self) -> Parts<'_> {
///         let key_count = self.words.len() as u64;
///         Parts {
///             kind: Self::FILE_KIND,
///             hasher: self.hasher,
///             key_count,
///             parameters: vec![key_count],
///             payload: vec![&self.words],
///         }
///     }
///
///     fn metadata(&self) -> &Metadata {
///         &self.metadata
///     }
///
///     fn metadata_mut(&mut self) -> &mut Metadata {
///         &mut self.metadata
///     }
///
///     fn parse(kind: FileKind, parameters: &[u64]) -> Result<u64, DecodeError> {
///         Self::FILE_KIND.expect(kind)?;
///         match parameters {
///             &[count] => Ok(count),
///             _ => Err(DecodeError::Inconsistent("a list of digests has one parameter")),
///         }
///     }
///
///     fn payload_length(layout: &u64) -> u64 {
///         *layout
///     }
///
///     fn from_content(_: u64, content: Content) -> Result<Self, DecodeError> {
///         let Content { hasher, metadata, payload, .. } = content;
///         Ok(Self { hasher, metadata, words: payload })
///     }
/// }
///
/// let hasher = KeyHasher::default();
/// let words = Words::copied(&[hasher.digest("ana").get()])?;
/// let digests = Digests { hasher, metadata: Metadata::new(), words };
/// let bytes = codec::to_bytes(&digests);
/// assert_eq!(LoadOptions::new().from_bytes::<Digests>(&bytes)?, digests);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Rules
///
/// Reading must be total. Whatever the numbers and the words are, the result is an error or a
/// structure that is safe to ask, even if its answers are nonsense: the words of a mapped file may
/// not have been verified. Bits of the payload that mean nothing must be zero, and are checked.
pub trait Persist: Sized {
    /// The parameters, parsed and checked.
    type Layout;

    /// What is written to the file, beside the metadata.
    fn parts(&self) -> Parts<'_>;

    /// Text that is kept with the structure in its file.
    fn metadata(&self) -> &Metadata;

    /// Text that is kept with the structure in its file, to be changed.
    fn metadata_mut(&mut self) -> &mut Metadata;

    /// Checks the kind and the parameters of a file. It is called once for each file, before any
    /// memory is allocated.
    ///
    /// # Errors
    /// If a file of this kind is not what was asked for, or a parameter is out of its range.
    fn parse(kind: FileKind, parameters: &[u64]) -> Result<Self::Layout, DecodeError>;

    /// The number of words in the payload of a structure with this layout.
    fn payload_length(layout: &Self::Layout) -> u64;

    /// The structure with this content. The payload has exactly the length that
    /// [`payload_length`](Self::payload_length) gave.
    ///
    /// # Errors
    /// If the content contradicts itself or the layout, or there is no memory.
    fn from_content(layout: Self::Layout, content: Content) -> Result<Self, DecodeError>;
}

/// What a structure tells of itself: see [`Persist::parts`].
///
/// ```
/// use crivo::codec::{Parts, Persist};
/// use crivo::filter::Bloom;
///
/// let filter = Bloom::new(1_000, 0.01)?;
/// let Parts { kind, key_count, payload, .. } = filter.parts();
/// assert_eq!((kind.id(), key_count), (1, 0));
/// assert_eq!(payload.concat().len() as u64 * 64, filter.size_in_bits());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    /// The kind of the file.
    pub kind: FileKind,
    /// The hash function of the keys.
    pub hasher: KeyHasher,
    /// The number of keys.
    pub key_count: u64,
    /// The numbers that describe the structure beside these, at most 65,536.
    pub parameters: Vec<u64>,
    /// The words, in pieces that are written one after another.
    pub payload: Vec<&'a [u64]>,
}

/// What was read from a file, beside kind and parameters: see [`Persist::from_content`].
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::codec::{Content, Metadata, Persist, Words};
/// use crivo::filter::{Bloom, Kind};
///
/// // A Bloom filter for one key, with 64 bits and 3 probes, from its parts.
/// let layout = Bloom::parse(Kind::Bloom.file_kind(), &[1, 3, 1])?;
/// let content = Content {
///     version: 2,
///     hasher: KeyHasher::default(),
///     key_count: 0,
///     metadata: Metadata::new(),
///     payload: Words::copied(&[0])?,
/// };
/// assert_eq!(Bloom::from_content(layout, content)?.size_in_bits(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Content {
    /// The version of the file format. Older versions demand fewer bits to be zero.
    pub version: u16,
    /// The hash function of the keys.
    pub hasher: KeyHasher,
    /// The number of keys.
    pub key_count: u64,
    /// The text that was in the file.
    pub metadata: Metadata,
    /// The words: a copy, or those of a mapped file.
    pub payload: Words,
}

impl Content {
    /// Checks that bits of the payload that mean nothing are zero: those of `padding`, each a word
    /// with a mask.
    ///
    /// A file that is older than version `since`, from which the format demands zeros there, may
    /// have others; they are made zero, so that the structure can be written as a newer version.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::codec::{Content, Metadata, Words};
    ///
    /// let mut content = Content {
    ///     version: 2,
    ///     hasher: KeyHasher::default(),
    ///     key_count: 1,
    ///     metadata: Metadata::new(),
    ///     payload: Words::copied(&[0b1000])?,
    /// };
    /// assert!(content.check_padding(2, [(0, u64::MAX << 4)]).is_ok());
    /// assert!(content.check_padding(2, [(0, u64::MAX << 3)]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bits are not zero, or there is no memory to make them so in words of a mapped file.
    ///
    /// # Panics
    /// If the payload has no such word.
    pub fn check_padding(
        &mut self,
        since: u16,
        padding: impl IntoIterator<Item = (usize, u64)>,
    ) -> Result<(), DecodeError> {
        for (word, mask) in padding {
            if self.payload[word] & mask == 0 {
                continue;
            }
            if self.version >= since {
                return Err(DecodeError::Inconsistent("its padding is not zero"));
            }
            self.payload.try_to_mut()?[word] &= !mask;
        }
        Ok(())
    }

    /// The padding of a payload that is used up to a bit, counted from the lowest bit of the first
    /// word: see [`check_padding`](Self::check_padding).
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::codec::{Content, Metadata, Words};
    ///
    /// let content = Content {
    ///     version: 2,
    ///     hasher: KeyHasher::default(),
    ///     key_count: 1,
    ///     metadata: Metadata::new(),
    ///     payload: Words::copied(&[0; 3])?,
    /// };
    /// let padding: Vec<_> = content.padding_from(65).collect();
    /// assert_eq!(padding, [(1, !1), (2, u64::MAX)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn padding_from(&self, bit: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let first = usize::try_from(bit / 64).unwrap_or(usize::MAX);
        let first_mask = u64::MAX << (bit % 64);
        (first..self.payload.len())
            .map(move |word| (word, if word == first { first_mask } else { u64::MAX }))
    }
}

/// Files without their envelope, for the tests of filters.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::filter::Kind;

    pub(crate) fn payload_length<F: Persist>(
        kind: Kind,
        parameters: &[u64],
    ) -> Result<u64, DecodeError> {
        F::parse(kind.file_kind(), parameters).map(|layout| F::payload_length(&layout))
    }

    pub(crate) fn from_parts<F: Persist>(
        kind: Kind,
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<F, DecodeError> {
        let layout = F::parse(kind.file_kind(), parameters)?;
        let metadata = Metadata::new();
        F::from_content(layout, Content { version: 2, hasher, key_count, metadata, payload })
    }

    /// As [`from_parts`], but padding that is not zero is made so, as if no version demanded it:
    /// random words would else be no filter as a rule.
    pub(crate) fn from_noise<F: Persist>(
        kind: Kind,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<F, DecodeError> {
        let layout = F::parse(kind.file_kind(), parameters)?;
        let (hasher, metadata) = (KeyHasher::default(), Metadata::new());
        F::from_content(layout, Content { version: 0, hasher, key_count, metadata, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(version: u16, words: &[u64]) -> Content {
        Content {
            version,
            hasher: KeyHasher::default(),
            key_count: 0,
            metadata: Metadata::new(),
            payload: Words::copied(words).unwrap(),
        }
    }

    #[test]
    fn padding_must_be_zero_from_the_version_on_that_demands_it() {
        let check = |version, words: &[u64], bit| {
            let mut content = content(version, words);
            let padding = content.padding_from(bit);
            content.check_padding(2, padding).map(|()| content.payload.to_vec())
        };
        for bit in [0, 1, 63, 64, 65, 127] {
            assert_eq!(check(2, &[0; 3], bit), Ok(vec![0; 3]));
            let mut words = [0; 3];
            words[(bit / 64) as usize] = 1 << (bit % 64);
            assert!(check(2, &words, bit).is_err());
            assert_eq!(check(1, &words, bit), Ok(vec![0; 3]));
            assert_eq!(check(2, &words, bit + 1), Ok(words.to_vec()));
        }
        assert_eq!(check(2, &[u64::MAX; 2], 128), Ok(vec![u64::MAX; 2]));
        assert_eq!(check(1, &[u64::MAX; 2], 68), Ok(vec![u64::MAX, 15]));
    }
}
