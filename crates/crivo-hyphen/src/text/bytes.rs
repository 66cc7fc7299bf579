//! Text as bytes or as a stream.

use std::io::{self, Read, Write};

use super::encoding::{Encoding, EncodingError};
use super::insert::insert_into_bytes;
use super::words::{MAX_TOKEN_LENGTH, is_space};
use crate::Hyphenator;

/// The size of a read; it must be larger than the longest token.
const BUFFER: usize = 4 * MAX_TOKEN_LENGTH;

/// Copies a stream with separators in its words, in bounded memory.
pub(super) fn hyphenate_stream(
    mut reader: impl Read,
    mut writer: impl Write,
    separator: &str,
    encoding: Option<Encoding>,
    hyphenator: &Hyphenator,
) -> io::Result<()> {
    let separator = encoding.unwrap_or(Encoding::UTF_8).encode(separator)?;
    let mut buffer = vec![0; BUFFER];
    let mut out = Vec::new();
    let mut filled = 0;
    // The offset of the buffer in the stream.
    let mut passed = 0;
    // Whether the buffer begins inside a token that is too long and is being copied.
    let mut in_long_token = false;
    loop {
        let count = match reader.read(&mut buffer[filled..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        filled += count;
        let text = &buffer[..filled];
        let copied = match in_long_token {
            true => text.iter().position(|&byte| is_space(byte)).unwrap_or(filled),
            false => 0,
        };
        in_long_token &= copied == filled;
        writer.write_all(&text[..copied])?;
        let text = &text[copied..];
        // Up to the last white space every word is complete.
        let mut complete = match count {
            0 => text.len(),
            _ => text.iter().rposition(|&byte| is_space(byte)).map_or(0, |space| space + 1),
        };
        if encoding.is_none() {
            check_utf8(&text[..complete], passed + copied as u64)?;
        }
        out.clear();
        let encoding = encoding.unwrap_or(Encoding::UTF_8);
        hyphenate_bytes(&text[..complete], &separator, encoding, hyphenator, &mut out)?;
        writer.write_all(&out)?;
        if text.len() - complete > MAX_TOKEN_LENGTH {
            writer.write_all(&text[complete..])?;
            (in_long_token, complete) = (true, text.len());
        }
        // Somebody may be waiting for the lines of a pipe.
        writer.flush()?;
        if count == 0 {
            return Ok(());
        }
        buffer.copy_within(copied + complete..filled, 0);
        filled -= copied + complete;
        passed += (copied + complete) as u64;
    }
}

/// Appends the bytes to `out` with separators in their words.
pub(super) fn hyphenate_bytes(
    bytes: &[u8],
    separator: &[u8],
    encoding: Encoding,
    hyphenator: &Hyphenator,
    out: &mut Vec<u8>,
) -> Result<(), EncodingError> {
    let decoded = encoding.decode(bytes)?;
    insert_into_bytes(
        bytes,
        &decoded.text,
        decoded.origins(),
        separator,
        |text| encoding.encode(text).ok(),
        |_| hyphenator,
        out,
    );
    Ok(())
}

/// An error if the text is not UTF-8; `offset` is that of its first byte.
pub(super) fn check_utf8(text: &[u8], offset: u64) -> Result<(), EncodingError> {
    std::str::from_utf8(text).map(|_| ()).map_err(|error| {
        let at = error.valid_up_to();
        EncodingError::NotUtf8 { offset: offset + at as u64, byte: text[at] }
    })
}

impl From<EncodingError> for io::Error {
    fn from(error: EncodingError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
