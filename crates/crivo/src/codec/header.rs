//! The first bytes of a file: what it is, and how long.

use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::source::{Slice, Source, Stream};
use super::{CodecError, DecodeError, FileAction, FileError, Kind};
use crate::hash::{Family, HashIdentity};

/// The first eight bytes of every file. The first is no text in any encoding, and the last two are
/// what a transfer "as text" would change.
const MAGIC: [u8; 8] = *b"\x89crivo\r\n";

/// The version of the format that is written here, and the only one that is read.
const VERSION: u16 = 1;

/// The bytes before the parameters.
const FIXED: usize = 48;

/// No filter has more parameters than this.
const MOST_PARAMETERS: usize = 64;

/// The payload begins at a multiple of this: a cache line.
const ALIGNMENT: usize = 64;

/// The header with the most parameters.
const LONGEST: usize = length_with(MOST_PARAMETERS);

/// The length of a header with so many parameters: they, the checksum, and zeros to a whole line.
const fn length_with(parameter_count: usize) -> usize {
    (FIXED + 8 * parameter_count + 8).next_multiple_of(ALIGNMENT)
}

/// What a file says of itself before its payload. It can be read without any secret key.
///
/// ```
/// use crivo::codec::{DecodeError, Header};
///
/// assert_eq!(Header::from_bytes(b"hello"), Err(DecodeError::NotCrivo));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub(super) kind: Kind,
    pub(super) hash: HashIdentity,
    pub(super) key_count: u64,
    pub(super) parameters: Vec<u64>,
    pub(super) payload_length: u64,
    pub(super) payload_checksum: u64,
}

impl Header {
    /// The version of the format.
    pub fn version(&self) -> u16 {
        VERSION
    }

    /// The kind of the filter.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The hash family with its seed, or with the check of a secret key.
    pub fn hash(&self) -> HashIdentity {
        self.hash
    }

    /// How many keys are in the filter.
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// The numbers that describe the filter beside these; docs/format.md tells what each means.
    pub fn parameters(&self) -> &[u64] {
        &self.parameters
    }

    /// The length of the payload in bytes.
    pub fn payload_length(&self) -> u64 {
        self.payload_length
    }

    /// Where the payload begins: the length of the header in bytes, with its padding.
    pub fn payload_offset(&self) -> u64 {
        length_with(self.parameters.len()) as u64
    }

    /// The length of the whole file in bytes.
    pub fn file_length(&self) -> u64 {
        // A header that was read has been checked for this; one that is written describes memory.
        self.payload_offset().saturating_add(self.payload_length)
    }

    /// The XXH3-64 of the payload.
    pub fn payload_checksum(&self) -> u64 {
        self.payload_checksum
    }

    /// The XXH3-64 of the header up to the checksum itself.
    pub fn header_checksum(&self) -> u64 {
        xxh3_64(&self.checked_bytes())
    }

    /// Reads the header of a filter in memory. The payload is not looked at.
    ///
    /// # Errors
    /// If the bytes do not begin with a header, whole and undamaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Slice(bytes))
    }

    /// Reads the header of a filter from a stream, and not one byte of the payload.
    ///
    /// # Errors
    /// If the stream cannot be read, or does not begin with a header, whole and undamaged.
    pub fn read_from(reader: impl Read) -> Result<Self, CodecError> {
        Self::read(&mut Stream::unknown(reader))
    }

    /// Reads the header of a file. The payload is not looked at; see [`verify`](super::verify).
    ///
    /// # Errors
    /// If the file cannot be read, or does not begin with a header, whole and undamaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let read = || Self::read(&mut Stream::open(path)?);
        read().map_err(FileError::at(path, FileAction::Read))
    }

    /// Reads the header, with its padding: the source then stands at the payload.
    pub(super) fn read<S: Source>(source: &mut S) -> Result<Self, S::Error> {
        let mut bytes = [0; LONGEST];
        let found = source.fill(&mut bytes[..FIXED])?;
        let length = told_length(&bytes[..found])?;
        let found = FIXED + source.fill(&mut bytes[FIXED..length])?;
        if found < length {
            return Err(truncated(length as u64, found as u64).into());
        }
        Ok(Self::parse(&bytes[..length])?)
    }

    /// Takes a header apart that is as long as it says.
    fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let parameter_count = u32_at(bytes, 12) as usize;
        let checked = FIXED + 8 * parameter_count;
        if u64_at(bytes, checked) != xxh3_64(&bytes[..checked]) {
            return Err(DecodeError::HeaderChecksum);
        }
        if bytes[checked + 8..].iter().any(|&byte| byte != 0) {
            return Err(DecodeError::Inconsistent("the padding of the header is not zero"));
        }
        let kind = Kind::from_id(bytes[10]).ok_or(DecodeError::UnknownKind(bytes[10]))?;
        let family = Family::from_id(bytes[11]).ok_or(DecodeError::UnknownFamily(bytes[11]))?;
        let header = Self {
            kind,
            hash: HashIdentity::from_parts(family, u64_at(bytes, 16))?,
            key_count: u64_at(bytes, 24),
            parameters: (0..parameter_count).map(|i| u64_at(bytes, FIXED + 8 * i)).collect(),
            payload_length: u64_at(bytes, 32),
            payload_checksum: u64_at(bytes, 40),
        };
        if header.payload_offset().checked_add(header.payload_length).is_none() {
            return Err(DecodeError::Inconsistent("the payload has more than 2^64 bytes"));
        }
        Ok(header)
    }

    /// The bytes that the header's checksum is made of.
    fn checked_bytes(&self) -> Vec<u8> {
        debug_assert!(self.parameters.len() <= MOST_PARAMETERS, "no filter has more parameters");
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.push(self.kind.id());
        bytes.push(self.hash.family().id());
        bytes.extend((self.parameters.len() as u32).to_le_bytes());
        let numbers =
            [self.hash.value(), self.key_count, self.payload_length, self.payload_checksum];
        for number in numbers.iter().chain(&self.parameters) {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// The whole header, with checksum and padding.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.checked_bytes();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes.resize(length_with(self.parameters.len()), 0);
        bytes
    }
}

/// The length of the header that begins with these bytes: all of [`FIXED`], or fewer where the
/// input ends.
fn told_length(bytes: &[u8]) -> Result<usize, DecodeError> {
    let shared = bytes.len().min(MAGIC.len());
    if bytes[..shared] != MAGIC[..shared] {
        return Err(DecodeError::NotCrivo);
    }
    if bytes.len() < FIXED {
        return Err(truncated(length_with(0) as u64, bytes.len() as u64));
    }
    // The version first: it decides what everything behind it means.
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return Err(DecodeError::UnknownVersion(version));
    }
    match u32_at(bytes, 12) as usize {
        count @ ..=MOST_PARAMETERS => Ok(length_with(count)),
        _ => Err(DecodeError::Inconsistent("the header claims more than 64 parameters")),
    }
}

pub(super) fn truncated(expected: u64, found: u64) -> DecodeError {
    DecodeError::Truncated { expected, found }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
