//! Words to little-endian bytes and back, a piece at a time.

use xxhash_rust::xxh3::Xxh3;

use super::header::truncated;
use super::source::Source;
use super::{DecodeError, Header};
use crivo_core::Words;
use crivo_core::memory::zeroed;

/// How many bytes are converted, hashed, read or written at a time: they stay in the cache.
const PIECE: usize = 1 << 16;

/// How many words a stream of unknown length is trusted to bring before it has brought any.
const TRUSTED: usize = 1 << 17;

/// Gives the words to `take` as little-endian bytes, piece by piece.
pub(super) fn for_each_piece<E>(
    payload: &[&[u64]],
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = Vec::with_capacity(PIECE);
    for words in payload.iter().flat_map(|words| words.chunks(PIECE / 8)) {
        buffer.clear();
        buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        take(&buffer)?;
    }
    Ok(())
}

/// The checksum of the words as bytes.
pub(super) fn checksum(payload: &[&[u64]]) -> u64 {
    let mut checksum = Xxh3::new();
    let Ok(()) = for_each_piece(payload, |piece| {
        checksum.update(piece);
        Ok::<_, std::convert::Infallible>(())
    });
    checksum.digest()
}

/// Reads the payload of `header`, verifies it if that is asked for, and gives it to `take` piece by
/// piece. Nothing may be behind it, where the source knows its own length.
pub(super) fn read_pieces<S: Source>(
    source: &mut S,
    header: &Header,
    verify: bool,
    mut take: impl FnMut(&[u8]) -> Result<(), DecodeError>,
) -> Result<(), S::Error> {
    check_length(header, source.remaining())?;
    let mut buffer = zeroed(PIECE).map_err(DecodeError::from)?;
    let mut checksum = Xxh3::new();
    let mut left = header.payload_length();
    while left > 0 {
        let piece = &mut buffer[..left.min(PIECE as u64) as usize];
        let found = source.fill(piece)?;
        if found < piece.len() {
            let missing = left - found as u64;
            return Err(truncated(header.file_length(), header.file_length() - missing).into());
        }
        if verify {
            checksum.update(piece);
        }
        take(piece)?;
        left -= found as u64;
    }
    if verify && checksum.digest() != header.payload_checksum() {
        return Err(DecodeError::PayloadChecksum.into());
    }
    Ok(())
}

/// An error unless just the payload of `header` remains, as far as is known.
pub(super) fn check_length(header: &Header, remaining: Option<u64>) -> Result<(), DecodeError> {
    match remaining {
        Some(found) if found < header.payload_length() => {
            Err(truncated(header.file_length(), header.payload_offset() + found))
        }
        Some(found) if found > header.payload_length() => Err(DecodeError::TrailingBytes),
        _ => Ok(()),
    }
}

/// Reads a payload of `length` words, and verifies it if that is asked for.
///
/// The memory is asked for at once if the source is known to be as long. Otherwise it grows with
/// what has arrived: a header may claim any length.
pub(super) fn read_words<S: Source>(
    source: &mut S,
    header: &Header,
    length: usize,
    verify: bool,
) -> Result<Words, S::Error> {
    check_length(header, source.remaining())?;
    let trusted = if source.remaining().is_some() { length } else { length.min(TRUSTED) };
    let mut words = Words::zeroed(trusted).map_err(DecodeError::from)?;
    let mut filled = 0;
    read_pieces(source, header, verify, |piece| {
        let end = filled + piece.len() / 8;
        if end > words.len() {
            let mut larger = Words::zeroed((2 * words.len()).min(length))?;
            larger.to_mut()[..filled].copy_from_slice(&words[..filled]);
            words = larger;
        }
        let (numbers, _) = piece.as_chunks::<8>();
        for (word, bytes) in words.to_mut()[filled..end].iter_mut().zip(numbers) {
            *word = u64::from_le_bytes(*bytes);
        }
        filled = end;
        Ok(())
    })?;
    Ok(words)
}
