//! The first bytes of a file: what it is, and how long.

use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::source::{Slice, Source, Stream};
use super::{CodecError, DecodeError, FileAction, FileError, FileKind, Metadata};
use crate::filter::Kind;
use crate::hash::{Family, HashIdentity};
use crivo_core::memory::{lengthen, zeroed};

/// The first eight bytes of every file. The first is no text in any encoding, and the last two are
/// what a transfer "as text" would change.
const MAGIC: [u8; 8] = *b"\x89crivo\r\n";

/// The version of the format that is written. This one and all before it are read.
pub(super) const VERSION: u16 = 2;

/// The bytes that mean the same in all versions.
const COMMON: usize = 48;

/// The payload begins at a multiple of this: a cache line.
const ALIGNMENT: usize = 64;

/// The shortest header of any version, with its padding.
const MIN_LENGTH: usize = ALIGNMENT;

/// How many bytes of a longer header are read at first; then as many as have arrived.
const FIRST_PIECE: usize = 1 << 12;

/// The lengths of a header's parts.
#[derive(Clone, Copy)]
struct Dimensions {
    version: u16,
    parameter_count: usize,
    metadata_length: usize,
}

impl Dimensions {
    /// The bytes before the parameters. Version 1 has no metadata.
    const fn fixed(version: u16) -> usize {
        if version == 1 { COMMON } else { COMMON + 8 }
    }

    /// No header of this version has more parameters.
    const fn max_parameters(version: u16) -> usize {
        if version == 1 { 64 } else { 65_536 }
    }

    const fn metadata_offset(self) -> usize {
        Self::fixed(self.version) + 8 * self.parameter_count
    }

    /// The bytes before the checksum, of which it is made.
    const fn checked(self) -> usize {
        (self.metadata_offset() + self.metadata_length).next_multiple_of(8)
    }

    /// With the checksum, and zeros to a whole line.
    const fn length(self) -> usize {
        (self.checked() + 8).next_multiple_of(ALIGNMENT)
    }

    /// The dimensions of the header that begins with these bytes: [`MIN_LENGTH`], or fewer where the
    /// input ends.
    fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        let shared = bytes.len().min(MAGIC.len());
        if bytes[..shared] != MAGIC[..shared] {
            return Err(DecodeError::NotCrivo);
        }
        if bytes.len() < MIN_LENGTH {
            return Err(truncated(MIN_LENGTH as u64, bytes.len() as u64));
        }
        // The version first: it decides what everything behind it means.
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if !(1..=VERSION).contains(&version) {
            return Err(DecodeError::UnknownVersion(version));
        }
        let parameter_count = u32_at(bytes, 12) as usize;
        if parameter_count > Self::max_parameters(version) {
            return Err(DecodeError::Inconsistent("the header claims too many parameters"));
        }
        if version == 1 {
            return Ok(Self { version, parameter_count, metadata_length: 0 });
        }
        let metadata_length = u32_at(bytes, 48) as usize;
        if metadata_length > Metadata::MAX_BYTES {
            return Err(DecodeError::Inconsistent("the header claims too much metadata"));
        }
        Ok(Self { version, parameter_count, metadata_length })
    }
}

/// What a file says of itself before its payload. It can be read without any secret key, and
/// whatever the kind of the file.
///
/// ```
/// use crivo::codec::{DecodeError, Header};
/// use crivo::filter::{Bloom, Kind};
///
/// let bytes = Bloom::new(1_000, 0.01)?.to_bytes();
/// let header = Header::from_bytes(&bytes)?;
/// assert_eq!(header.filter_kind(), Some(Kind::Bloom));
/// assert_eq!(header.file_length(), bytes.len() as u64);
/// assert_eq!(Header::from_bytes(b"hello"), Err(DecodeError::NotCrivo));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub(super) version: u16,
    pub(super) kind: FileKind,
    pub(super) hash: HashIdentity,
    pub(super) key_count: u64,
    pub(super) parameters: Vec<u64>,
    pub(super) metadata: Metadata,
    pub(super) payload_length: u64,
    pub(super) payload_checksum: u64,
}

impl Header {
    /// The version of the format.
    ///
    /// ```
    /// let filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.header().version(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn version(&self) -> u16 {
        self.version
    }

    /// What the file contains. Kinds that this crate does not define are
    /// [unnamed](FileKind::unnamed).
    ///
    /// ```
    /// let filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.header().kind().description(), "bloom filter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// The kind of the filter, if the file contains one.
    ///
    /// ```
    /// use crivo::filter::{Bloom, Kind};
    ///
    /// assert_eq!(Bloom::new(1_000, 0.01)?.header().filter_kind(), Some(Kind::Bloom));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter_kind(&self) -> Option<Kind> {
        Kind::from_id(self.kind.id())
    }

    /// The hash family with its seed, or with the check of a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::with_hasher(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert_eq!(filter.header().hash().to_string(), "xxh3 with seed 7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hash(&self) -> HashIdentity {
        self.hash
    }

    /// How many keys are in the filter.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// filter.extend(["ana", "eva"]);
    /// assert_eq!(filter.header().key_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// The numbers that describe the filter beside these; docs/format.md tells what each means.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// // Those of a Bloom filter: its words, its probes, its capacity.
    /// let filter = Bloom::with_size(640, 7, KeyHasher::default())?;
    /// assert_eq!(filter.header().parameters()[..2], [10, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parameters(&self) -> &[u64] {
        &self.parameters
    }

    /// The text that is kept with the filter.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// filter.metadata_mut().set("source", "users.csv")?;
    /// assert_eq!(filter.header().metadata().get("source"), Some("users.csv"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The length of the payload in bytes.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::with_size(640, 7, KeyHasher::default())?;
    /// assert_eq!(filter.header().payload_length(), 80);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payload_length(&self) -> u64 {
        self.payload_length
    }

    /// Where the payload begins: the length of the header in bytes, with its padding.
    ///
    /// ```
    /// let filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.header().payload_offset(), 128);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payload_offset(&self) -> u64 {
        self.dimensions().length() as u64
    }

    /// The length of the whole file in bytes.
    ///
    /// ```
    /// let filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.header().file_length(), filter.to_bytes().len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_length(&self) -> u64 {
        // A header that was read has been checked for this; one that is written describes memory.
        self.payload_offset().saturating_add(self.payload_length)
    }

    /// The XXH3-64 of the payload.
    ///
    /// ```
    /// use crivo::filter::Bloom;
    ///
    /// // The order in which keys come makes no difference.
    /// let (mut one, mut other) = (Bloom::new(1_000, 0.01)?, Bloom::new(1_000, 0.01)?);
    /// one.extend(["ana", "eva"]);
    /// other.extend(["eva", "ana"]);
    /// assert_eq!(one.header().payload_checksum(), other.header().payload_checksum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn payload_checksum(&self) -> u64 {
        self.payload_checksum
    }

    /// The XXH3-64 of the header up to the checksum itself.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(1_000, 0.01)?;
    /// let before = filter.header();
    /// filter.metadata_mut().set("source", "users.csv")?;
    /// assert_ne!(filter.header().header_checksum(), before.header_checksum());
    /// assert_eq!(filter.header().payload_checksum(), before.payload_checksum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header_checksum(&self) -> u64 {
        xxh3_64(&self.checked_bytes())
    }

    /// Reads the header of a filter in memory. The payload is not looked at.
    ///
    /// ```
    /// use crivo::codec::Header;
    /// use crivo::filter::Bloom;
    ///
    /// let filter = Bloom::new(1_000, 0.01)?;
    /// assert_eq!(Header::from_bytes(&filter.to_bytes())?, filter.header());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes do not begin with a header, whole and undamaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Slice(bytes))
    }

    /// Reads the header of a filter from a stream, and not one byte of the payload.
    ///
    /// ```
    /// use crivo::codec::Header;
    /// use crivo::filter::Bloom;
    ///
    /// let bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// let mut stream = &bytes[..];
    /// let header = Header::read_from(&mut stream)?;
    /// assert_eq!(stream.len() as u64, header.payload_length()); // what is left
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the stream cannot be read, or does not begin with a header, whole and undamaged.
    pub fn read_from(reader: impl Read) -> Result<Self, CodecError> {
        Self::read(&mut Stream::unknown(reader))
    }

    /// Reads the header of a file. The payload is not looked at; see [`verify`](super::verify).
    ///
    /// ```
    /// use crivo::codec::Header;
    /// use crivo::filter::Bloom;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// let filter = Bloom::new(1_000, 0.01)?;
    /// filter.save(&path)?;
    /// assert_eq!(Header::load(&path)?, filter.header());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
        let mut bytes = vec![0; MIN_LENGTH];
        let found = source.fill(&mut bytes)?;
        let dimensions = Dimensions::of(&bytes[..found])?;
        let length = dimensions.length();
        if let Some(remaining) = source.remaining()
            && ((length - found) as u64) > remaining
        {
            return Err(truncated(length as u64, found as u64 + remaining).into());
        }
        // A stream may end at any time: memory is asked for as its bytes arrive.
        let mut filled = found;
        while filled < length {
            let next = length.min(filled + filled.max(FIRST_PIECE));
            lengthen(&mut bytes, next).map_err(DecodeError::from)?;
            let wanted = bytes.len() - filled;
            let found = source.fill(&mut bytes[filled..])?;
            filled += found;
            if found < wanted {
                break;
            }
        }
        if filled < length {
            return Err(truncated(length as u64, filled as u64).into());
        }
        Ok(Self::parse(&bytes, dimensions)?)
    }

    /// Takes a header apart that is as long as it says.
    fn parse(bytes: &[u8], dimensions: Dimensions) -> Result<Self, DecodeError> {
        let Dimensions { version, parameter_count, metadata_length } = dimensions;
        let checked = dimensions.checked();
        if u64_at(bytes, checked) != xxh3_64(&bytes[..checked]) {
            return Err(DecodeError::HeaderChecksum);
        }
        let metadata_offset = dimensions.metadata_offset();
        let metadata_end = metadata_offset + metadata_length;
        let reserved = &bytes[COMMON..Dimensions::fixed(version)];
        let padding =
            [reserved.get(4..), bytes.get(metadata_end..checked), bytes.get(checked + 8..)];
        if padding.into_iter().flatten().flatten().any(|&byte| byte != 0) {
            return Err(DecodeError::Inconsistent("the padding of the header is not zero"));
        }
        let family = Family::from_id(bytes[11]).ok_or(DecodeError::UnknownFamily(bytes[11]))?;
        let parameters = &bytes[Dimensions::fixed(version)..metadata_offset];
        let mut numbers = zeroed(parameter_count)?;
        for (number, bytes) in numbers.iter_mut().zip(parameters.as_chunks().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        let header = Self {
            version,
            kind: named(bytes[10]),
            hash: HashIdentity::from_parts(family, u64_at(bytes, 16))?,
            key_count: u64_at(bytes, 24),
            parameters: numbers,
            metadata: Metadata::decode(&bytes[metadata_offset..metadata_end])?,
            payload_length: u64_at(bytes, 32),
            payload_checksum: u64_at(bytes, 40),
        };
        if header.payload_offset().checked_add(header.payload_length).is_none() {
            return Err(DecodeError::Inconsistent("the payload has more than 2^64 bytes"));
        }
        Ok(header)
    }

    fn dimensions(&self) -> Dimensions {
        Dimensions {
            version: self.version,
            parameter_count: self.parameters.len(),
            metadata_length: self.metadata.size_in_bytes(),
        }
    }

    /// The bytes that the header's checksum is made of.
    fn checked_bytes(&self) -> Vec<u8> {
        let dimensions = self.dimensions();
        assert!(
            dimensions.parameter_count <= Dimensions::max_parameters(self.version),
            "no structure has more parameters"
        );
        let mut bytes = Vec::with_capacity(dimensions.length());
        bytes.extend(MAGIC);
        bytes.extend(self.version.to_le_bytes());
        bytes.push(self.kind.id());
        bytes.push(self.hash.family().id());
        bytes.extend((dimensions.parameter_count as u32).to_le_bytes());
        let numbers =
            [self.hash.value(), self.key_count, self.payload_length, self.payload_checksum];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        if self.version > 1 {
            // Its upper half is reserved, and zero.
            bytes.extend((dimensions.metadata_length as u64).to_le_bytes());
        }
        bytes.extend(self.parameters.iter().flat_map(|number| number.to_le_bytes()));
        self.metadata.encode(&mut bytes);
        bytes.resize(dimensions.checked(), 0);
        bytes
    }

    /// The whole header, with checksum and padding.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.checked_bytes();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes.resize(self.dimensions().length(), 0);
        bytes
    }
}

/// The kind with this number, with its name if it is a filter.
fn named(id: u8) -> FileKind {
    Kind::from_id(id).map_or(FileKind::unnamed(id), Kind::file_kind)
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
