//! From bytes, streams and files to filters.

use std::io::Read;
use std::path::Path;

use super::header::Header;
use super::source::{Slice, Source, Stream};
use super::{CodecError, Content, DecodeError, FileAction, FileError, Persist, payload};
use crate::KeyHasher;
use crate::hash::{HashIdentity, SecretKey, WrongKey};
use crivo_core::Words;

/// How to load a filter: with a secret key or without, verified or not, copied or mapped.
///
/// ```no_run
/// use crivo::codec::LoadOptions;
/// use crivo::filter::AnyFilter;
/// use crivo::hash::SecretKey;
///
/// let key = SecretKey::new([7; 16]);
/// let filter: AnyFilter = LoadOptions::new().secret_key(key).load("seen.crivo")?;
/// println!("{:?}", filter.metadata());
/// # Ok::<(), crivo::codec::FileError>(())
/// ```
///
/// Reading never trusts a length: hostile bytes are a typed error, and cost memory only in
/// proportion to the bytes that there are.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    /// `None`: any with a public seed.
    hasher: Option<KeyHasher>,
    /// `None`: what is copied is verified, and what is mapped is not.
    verify: Option<bool>,
}

impl LoadOptions {
    /// For filters with a public seed. Copies are verified, mapped files are not.
    ///
    /// ```
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::Bloom;
    ///
    /// let bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// let filter: Bloom = LoadOptions::new().from_bytes(&bytes)?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn new() -> Self {
        Self { hasher: None, verify: None }
    }

    /// For filters that were made with this secret key, and no others: nobody can slip in one that
    /// was made with a public seed. The file has only a check of the key, so that the key must be
    /// given again.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::codec::{DecodeError, LoadOptions};
    /// use crivo::filter::Bloom;
    /// use crivo::hash::SecretKey;
    ///
    /// let key = SecretKey::new([7; 16]);
    /// let mut seen = Bloom::with_hasher(1_000, 0.01, KeyHasher::sip24(key))?;
    /// seen.insert("ana");
    /// let bytes = seen.to_bytes();
    /// assert_eq!(Bloom::from_bytes(&bytes).unwrap_err(), DecodeError::KeyNeeded);
    /// let loaded: Bloom = LoadOptions::new().secret_key(key).from_bytes(&bytes)?;
    /// assert!(loaded.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn secret_key(self, key: SecretKey) -> Self {
        self.hasher(KeyHasher::sip24(key))
    }

    /// For filters that were made with this hasher, and no others. With a secret key it is the same as
    /// [`secret_key`](Self::secret_key), for those who have the hasher but not the key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::Bloom;
    ///
    /// let (ours, other) = (KeyHasher::xxh3(7), KeyHasher::xxh3(8));
    /// let bytes = Bloom::with_hasher(1_000, 0.01, ours)?.to_bytes();
    /// assert!(LoadOptions::new().hasher(ours).from_bytes::<Bloom>(&bytes).is_ok());
    /// let error = LoadOptions::new().hasher(other).from_bytes::<Bloom>(&bytes).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the filter was made with xxh3 with seed 7, not with xxh3 with seed 8"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn hasher(self, hasher: KeyHasher) -> Self {
        Self { hasher: Some(hasher), ..self }
    }

    /// Whether to compare the payload with its checksum. By default it is done when the payload is
    /// copied, and not when it is mapped, which would read the whole file. The header is always
    /// verified.
    ///
    /// A payload that is not verified can make for wrong answers, never for unsafe ones.
    ///
    /// ```
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::Bloom;
    ///
    /// let mut bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// *bytes.last_mut().unwrap() ^= 1; // a bit of the table
    /// assert!(LoadOptions::new().from_bytes::<Bloom>(&bytes).is_err());
    /// assert!(LoadOptions::new().verify(false).from_bytes::<Bloom>(&bytes).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn verify(self, verify: bool) -> Self {
        Self { verify: Some(verify), ..self }
    }

    /// Reads a filter from its bytes, and copies them.
    ///
    /// ```
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::{AnyFilter, Cuckoo, Kind};
    ///
    /// let bytes = Cuckoo::new(1_000, 0.01)?.to_bytes();
    /// let filter: AnyFilter = LoadOptions::new().from_bytes(&bytes)?;
    /// assert_eq!(filter.kind(), Kind::Cuckoo);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not a filter of this kind, whole and undamaged, with nothing behind it, or the
    /// secret key is not the right one.
    pub fn from_bytes<F: Persist>(&self, bytes: &[u8]) -> Result<F, DecodeError> {
        self.decode(&mut Slice(bytes))
    }

    /// Reads a filter from a stream, and nothing behind it. No buffer around the stream is needed.
    ///
    /// ```
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::{Bloom, Cuckoo};
    ///
    /// // Two filters, one behind the other.
    /// let mut bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// bytes.extend(Cuckoo::new(1_000, 0.01)?.to_bytes());
    /// let mut stream = &bytes[..];
    /// assert!(LoadOptions::new().read_from::<Bloom>(&mut stream)?.is_empty());
    /// assert!(LoadOptions::new().read_from::<Cuckoo>(&mut stream)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the stream cannot be read; if what comes is not a filter of this kind, whole and
    /// undamaged; or if the secret key is not the right one.
    pub fn read_from<F: Persist>(&self, reader: impl Read) -> Result<F, CodecError> {
        self.decode(&mut Stream::unknown(reader))
    }

    /// Reads a filter from a file.
    ///
    /// ```
    /// use crivo::codec::LoadOptions;
    /// use crivo::filter::Bloom;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// Bloom::new(1_000, 0.01)?.save(&path)?;
    /// let filter: Bloom = LoadOptions::new().load(&path)?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read; if it is not a filter of this kind, whole and undamaged, with
    /// nothing behind it; or if the secret key is not the right one.
    pub fn load<F: Persist>(&self, path: impl AsRef<Path>) -> Result<F, FileError> {
        let path = path.as_ref();
        let read = || {
            let mut file = Stream::open(path)?;
            let filter = self.decode(&mut file)?;
            expect_end(&mut file)?;
            Ok::<_, CodecError>(filter)
        };
        read().map_err(FileError::at(path, FileAction::Read))
    }

    fn decode<F: Persist, S: Source>(&self, source: &mut S) -> Result<F, S::Error> {
        let header = Header::read(source)?;
        let accepted = self.accept::<F>(&header)?;
        let verify = self.verify.unwrap_or(true);
        let payload = payload::read_words(source, &header, accepted.length, verify)?;
        Ok(accepted.into_filter(header, payload)?)
    }

    #[cfg(feature = "mmap")]
    pub(super) fn verifies_mapped(&self) -> bool {
        self.verify.unwrap_or(false)
    }

    /// What follows from the header, if it is that of such a filter.
    pub(super) fn accept<F: Persist>(&self, header: &Header) -> Result<Accepted<F>, DecodeError> {
        let layout = F::parse(header.kind, &header.parameters)?;
        let length = F::payload_length(&layout);
        if length.checked_mul(8) != Some(header.payload_length) {
            let (expected, found) = (length.saturating_mul(8), header.payload_length);
            return Err(DecodeError::PayloadLength { expected, found });
        }
        // Where memory has fewer addresses than the file has words, there is no memory for it.
        let length =
            usize::try_from(length).map_err(|_| DecodeError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Accepted { layout, hasher: self.hasher_of(header.hash)?, length })
    }

    /// The hasher of a file with this identity.
    fn hasher_of(&self, found: HashIdentity) -> Result<KeyHasher, DecodeError> {
        let Some(hasher) = self.hasher else {
            return found.hasher().ok_or(DecodeError::KeyNeeded);
        };
        let expected = hasher.identity();
        match expected.hasher() {
            _ if expected == found => Ok(hasher),
            Some(_) => Err(DecodeError::WrongHasher { expected, found }),
            None => Err(DecodeError::WrongKey(WrongKey { family: found.family() })),
        }
    }
}

/// What follows from a header.
pub(super) struct Accepted<F: Persist> {
    layout: F::Layout,
    hasher: KeyHasher,
    /// Of the payload, in words.
    pub(super) length: usize,
}

impl<F: Persist> Accepted<F> {
    pub(super) fn into_filter(self, header: Header, payload: Words) -> Result<F, DecodeError> {
        let Header { version, key_count, metadata, .. } = header;
        let Self { layout, hasher, .. } = self;
        F::from_content(layout, Content { version, hasher, key_count, metadata, payload })
    }
}

/// Reads a whole file of any kind and verifies it: both checksums, and that it ends where it should.
/// It needs neither the secret key nor memory for the payload. The answer is the header.
///
/// A checksum finds damage, not malice: anybody who can write the file can make it right.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("seen.crivo");
/// let filter = Bloom::new(1_000, 0.01)?;
/// filter.save(&path)?;
/// assert_eq!(codec::verify(&path)?, filter.header());
///
/// let mut bytes = filter.to_bytes();
/// *bytes.last_mut().unwrap() ^= 1;
/// std::fs::write(&path, bytes)?;
/// assert!(codec::verify(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be read, or is not a crivo file, whole and undamaged.
pub fn verify(path: impl AsRef<Path>) -> Result<Header, FileError> {
    let path = path.as_ref();
    let read = || {
        let mut file = Stream::open(path)?;
        let header = Header::read(&mut file)?;
        payload::read_pieces(&mut file, &header, true, |_| Ok(()))?;
        expect_end(&mut file)?;
        Ok::<_, CodecError>(header)
    };
    read().map_err(FileError::at(path, FileAction::Read))
}

/// [`verify`] for the bytes of a file.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// let bytes = Bloom::new(100, 0.01)?.to_bytes();
/// assert_eq!(codec::verify_bytes(&bytes)?.key_count(), 0);
/// assert!(codec::verify_bytes(&bytes[1..]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If they are not a file of any kind, whole and undamaged, with nothing behind it.
pub fn verify_bytes(bytes: &[u8]) -> Result<Header, DecodeError> {
    let mut bytes = Slice(bytes);
    let header = Header::read(&mut bytes)?;
    payload::read_pieces(&mut bytes, &header, true, |_| Ok(()))?;
    expect_end(&mut bytes)?;
    Ok(header)
}

/// For sources that do not know their length: an error if there is more.
fn expect_end<S: Source>(source: &mut S) -> Result<(), S::Error> {
    match source.fill(&mut [0])? {
        0 => Ok(()),
        _ => Err(DecodeError::TrailingBytes.into()),
    }
}
