//! The face of the codec: filters to bytes, streams and files, and back.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::header::Header;
use super::persist::Stored;
use super::source::{Slice, Source, Stream};
use super::{CodecError, DecodeError, FileAction, FileError, payload};
use crate::KeyHasher;
use crate::hash::{HashIdentity, SecretKey};

/// Saving and loading: every filter can, and what implements [`Stored`].
///
/// Reading verifies both checksums, and never trusts a length: hostile bytes are a typed error,
/// and cost memory only in proportion to the bytes that there are. A filter with a secret key is read through
/// [`Open`]; a file is mapped instead of read through `Mapped` (feature `mmap`).
pub trait Save: Stored {
    /// The filter as bytes: what [`save`](Self::save) writes to a file.
    fn to_bytes(&self) -> Vec<u8> {
        let (header, payload) = parts(self);
        let mut bytes = header.to_bytes();
        bytes.reserve_exact(payload.iter().map(|words| size_of_val(*words)).sum());
        for words in payload {
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes
    }

    /// Writes the filter to a stream. No buffer around the stream is needed.
    ///
    /// # Errors
    /// Those of the stream.
    fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        let (header, payload) = parts(self);
        writer.write_all(&header.to_bytes())?;
        payload::for_each_piece(&payload, |piece| writer.write_all(piece))?;
        writer.flush()
    }

    /// Writes the filter to a file, in one step: whoever reads it meanwhile, and whatever fails,
    /// finds the old file or the new one, whole.
    ///
    /// The bytes go to a temporary file in the same folder, which reaches the disk before it takes
    /// the name. On Linux it has no name of its own, and is gone with a process that is killed; where
    /// it must have one (`.crivo-0.tmp`), the next who writes to the folder removes what was left.
    /// The permissions of an old file are kept. What is not a regular file, such as a pipe, is
    /// written to directly.
    ///
    /// # Errors
    /// If the file or its folder cannot be written.
    fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let write = |file: &mut File| self.write_to(file);
        crivo_core::file::replace(path, write).map_err(FileError::at(path, FileAction::Write))
    }

    /// What the file of this filter says before its payload. The payload is read for its checksum.
    fn header(&self) -> Header {
        parts(self).0
    }

    /// Reads a filter from its bytes, and copies them.
    ///
    /// # Errors
    /// If they are not a filter of this kind, whole and undamaged, with nothing behind it.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Open::new().from_bytes(bytes)
    }

    /// Reads a filter from a stream, and nothing behind it. No buffer around the stream is needed.
    ///
    /// # Errors
    /// If the stream cannot be read, or what comes is not a filter of this kind, whole and
    /// undamaged.
    fn read_from(reader: impl Read) -> Result<Self, CodecError> {
        Open::new().read_from(reader)
    }

    /// Reads a filter from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a filter of this kind, whole and undamaged, with
    /// nothing behind it.
    fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Open::new().load(path)
    }
}

impl<F: Stored> Save for F {}

/// The header and the payload of a filter.
fn parts<F: Stored>(filter: &F) -> (Header, Vec<&[u64]>) {
    let payload = filter.stored_payload();
    let header = Header {
        kind: filter.stored_kind(),
        hash: filter.stored_hasher().identity(),
        key_count: filter.stored_key_count(),
        parameters: filter.stored_parameters(),
        payload_length: payload.iter().map(|words| size_of_val(*words) as u64).sum(),
        payload_checksum: payload::checksum(&payload),
    };
    (header, payload)
}

/// How to open a filter: with a secret key, or without.
///
/// The file only has a check of the key, so that the key must be given again. With a key, only
/// filters that were made with just that key are opened: nobody can slip in one that was made
/// with a public seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open {
    key: Option<SecretKey>,
}

impl Open {
    /// To open filters with a public seed.
    pub const fn new() -> Self {
        Self { key: None }
    }

    /// To open filters that were made with this secret key.
    pub const fn with_key(key: SecretKey) -> Self {
        Self { key: Some(key) }
    }

    /// As [`Save::from_bytes`].
    ///
    /// # Errors
    /// Those of [`Save::from_bytes`], and if the key is not the right one.
    pub fn from_bytes<F: Save>(&self, bytes: &[u8]) -> Result<F, DecodeError> {
        self.decode(&mut Slice(bytes))
    }

    /// As [`Save::read_from`].
    ///
    /// # Errors
    /// Those of [`Save::read_from`], and if the key is not the right one.
    pub fn read_from<F: Save>(&self, reader: impl Read) -> Result<F, CodecError> {
        self.decode(&mut Stream::unknown(reader))
    }

    /// As [`Save::load`].
    ///
    /// # Errors
    /// Those of [`Save::load`], and if the key is not the right one.
    pub fn load<F: Save>(&self, path: impl AsRef<Path>) -> Result<F, FileError> {
        let path = path.as_ref();
        let read = || {
            let mut file = Stream::open(path)?;
            let filter = self.decode(&mut file)?;
            expect_end(&mut file)?;
            Ok::<_, CodecError>(filter)
        };
        read().map_err(FileError::at(path, FileAction::Read))
    }

    fn decode<F: Save, S: Source>(&self, source: &mut S) -> Result<F, S::Error> {
        let header = Header::read(source)?;
        let (hasher, length) = self.accept::<F>(&header)?;
        let payload = payload::read_words(source, &header, length)?;
        Ok(F::from_stored(header.kind, hasher, header.key_count, &header.parameters, payload)?)
    }

    /// The hasher, and how many words there are, if this header is of such a filter.
    pub(super) fn accept<F: Save>(
        &self,
        header: &Header,
    ) -> Result<(KeyHasher, usize), DecodeError> {
        let length = F::stored_length(header.kind, &header.parameters)?;
        if length.checked_mul(8) != Some(header.payload_length) {
            let (expected, found) = (length.saturating_mul(8), header.payload_length);
            return Err(DecodeError::PayloadLength { expected, found });
        }
        // Where memory has fewer addresses than the file has words, there is no memory for it.
        let length =
            usize::try_from(length).map_err(|_| DecodeError::OutOfMemory { bytes: usize::MAX })?;
        Ok((self.hasher(header.hash)?, length))
    }

    fn hasher(&self, identity: HashIdentity) -> Result<KeyHasher, DecodeError> {
        match self.key {
            Some(key) => identity.hasher_with_key(key).map_err(DecodeError::WrongKey),
            None => identity.hasher().ok_or(DecodeError::KeyNeeded),
        }
    }
}

/// Reads a whole file and verifies it: both checksums, and that it ends where it should. It needs
/// neither the secret key nor memory for the payload. The answer is the header.
///
/// A checksum finds damage, not malice: whoever can write the file can make it right.
///
/// # Errors
/// If the file cannot be read, or is not a filter, whole and undamaged.
pub fn verify(path: impl AsRef<Path>) -> Result<Header, FileError> {
    let path = path.as_ref();
    let read = || {
        let mut file = Stream::open(path)?;
        let header = Header::read(&mut file)?;
        payload::read_pieces(&mut file, &header, |_| Ok(()))?;
        expect_end(&mut file)?;
        Ok::<_, CodecError>(header)
    };
    read().map_err(FileError::at(path, FileAction::Read))
}

/// For sources that do not know their length: an error if there is more.
fn expect_end<S: Source>(source: &mut S) -> Result<(), S::Error> {
    match source.fill(&mut [0])? {
        0 => Ok(()),
        _ => Err(DecodeError::TrailingBytes.into()),
    }
}
