//! Text as bytes or as a stream: invalid UTF-8 is copied unchanged.

use std::io::{self, Read, Write};

use super::insert::insert_separators;
use super::words::{MAX_TOKEN_LENGTH, is_space};
use crate::Hyphenator;

/// Appends the bytes to `out` with separators in their words. A token with invalid UTF-8 is copied
/// unchanged, because the letters of a word in an unknown encoding are unknown.
///
/// `mask` is as long as `source` and hides the bytes that are not text: see `html`.
pub(super) fn hyphenate_bytes(
    source: &[u8],
    mask: &[u8],
    separator: &str,
    hyphenator: &Hyphenator,
    out: &mut Vec<u8>,
) {
    let mut at = 0;
    while at < source.len() {
        let rest = &mask[at..];
        let (prose, next) = match std::str::from_utf8(rest) {
            Ok(prose) => (prose, rest.len()),
            Err(error) => {
                let valid = error.valid_up_to();
                let end = rest[valid..].iter().position(|&byte| is_space(byte));
                // These bytes are valid UTF-8, so the default is never used.
                let prose = std::str::from_utf8(&rest[..valid]).unwrap_or_default();
                let token = prose.bytes().rposition(is_space).unwrap_or(0);
                (&prose[..token], end.map_or(rest.len(), |end| valid + end))
            }
        };
        let source = &source[at..at + next];
        insert_separators(source, prose, separator, hyphenator, out);
        at += next;
    }
}

/// The size of a read; it must be larger than the longest token.
const BUFFER: usize = 4 * MAX_TOKEN_LENGTH;

/// Copies a stream with separators in its words, in bounded memory.
pub(super) fn hyphenate_stream(
    mut reader: impl Read,
    mut writer: impl Write,
    separator: &str,
    hyphenator: &Hyphenator,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut out = Vec::new();
    let mut filled = 0;
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
            _ => text.iter().rposition(|&byte| is_space(byte)).unwrap_or(0),
        };
        out.clear();
        hyphenate_bytes(&text[..complete], &text[..complete], separator, hyphenator, &mut out);
        writer.write_all(&out)?;
        if text.len() - complete > MAX_TOKEN_LENGTH + 1 {
            // The additional byte is the white space before the token.
            writer.write_all(&text[complete..])?;
            (in_long_token, complete) = (true, text.len());
        }
        if count == 0 {
            return writer.flush();
        }
        buffer.copy_within(copied + complete..filled, 0);
        filled -= copied + complete;
    }
}
