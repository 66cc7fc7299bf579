//! From filters to bytes, streams and files.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::header::{Header, VERSION};
use super::{FileAction, FileError, Parts, Persist, payload};

/// The filter as bytes: what [`save`] writes to a file.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// let bytes = codec::to_bytes(&Bloom::new(1_000, 0.01)?);
/// assert_eq!(bytes[..8], *b"\x89crivo\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If it has more than 65,536 parameters, which no filter of this crate has.
pub fn to_bytes<F: Persist>(filter: &F) -> Vec<u8> {
    let (header, payload) = header_and_payload(filter);
    let mut bytes = header.to_bytes();
    bytes.reserve_exact(payload.iter().map(|words| size_of_val(*words)).sum());
    for words in payload {
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes
}

/// Writes the filter to a stream. No buffer around the stream is needed.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// let filter = Bloom::new(1_000, 0.01)?;
/// let mut stream = Vec::new();
/// codec::write_to(&filter, &mut stream)?;
/// assert_eq!(stream, codec::to_bytes(&filter));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the stream.
///
/// # Panics
/// As [`to_bytes`].
pub fn write_to<F: Persist>(filter: &F, mut writer: impl Write) -> io::Result<()> {
    let (header, payload) = header_and_payload(filter);
    writer.write_all(&header.to_bytes())?;
    payload::for_each_piece(&payload, |piece| writer.write_all(piece))?;
    writer.flush()
}

/// Writes the filter to a file, in one step: anybody who reads it meanwhile, and after a failure,
/// finds the old file or the new one, whole.
///
/// The bytes go to a temporary file in the same directory, which reaches the disk before it takes
/// the name. On Linux it has no name of its own, and is gone with a process that is killed; where
/// it must have one (`.crivo-0.tmp`), the next `save` to the directory removes what was left. The
/// permissions of an old file are kept. What is not a regular file, such as a pipe, is written to
/// directly.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("seen.crivo");
/// let filter = Bloom::new(1_000, 0.01)?;
/// codec::save(&filter, &path)?;
/// assert_eq!(std::fs::read(&path)?, codec::to_bytes(&filter));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file or its directory cannot be written.
///
/// # Panics
/// As [`to_bytes`].
pub fn save<F: Persist>(filter: &F, path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    let write = |file: &mut File| write_to(filter, file);
    crivo_core::file::replace(path, write).map_err(FileError::at(path, FileAction::Write))
}

/// What the file of this filter says before its payload. The payload is read for its checksum.
///
/// ```
/// use crivo::codec::{self, Header};
/// use crivo::filter::Bloom;
///
/// let filter = Bloom::new(1_000, 0.01)?;
/// assert_eq!(codec::header(&filter), Header::from_bytes(&codec::to_bytes(&filter))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn header<F: Persist>(filter: &F) -> Header {
    header_and_payload(filter).0
}

fn header_and_payload<F: Persist>(filter: &F) -> (Header, Vec<&[u64]>) {
    let Parts { kind, hasher, key_count, parameters, payload } = filter.parts();
    let header = Header {
        version: VERSION,
        kind,
        hash: hasher.identity(),
        key_count,
        parameters,
        metadata: filter.metadata().clone(),
        payload_length: payload.iter().map(|words| size_of_val(*words) as u64).sum(),
        payload_checksum: payload::checksum(&payload),
    };
    (header, payload)
}
