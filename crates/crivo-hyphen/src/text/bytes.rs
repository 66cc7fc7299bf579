//! Text as bytes, whole or as a stream: what is not UTF-8 passes through as it is.

use std::io::{self, Read, Write};

use super::insert::insert_separators;
use super::words::{LONGEST_TOKEN, is_space};
use crate::Hyphenator;

/// Appends the bytes to `out` with separators in their words. A token with bytes that are not UTF-8
/// is copied as it is: of a word in an unknown encoding nobody knows the letters.
///
/// `mask` is as long as `source` and says which of its bytes are to be seen: see `html`.
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
                // The valid bytes are valid; were they not, they would be copied.
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

/// How much is read at once; it must be larger than the longest token.
const BUFFER: usize = 4 * LONGEST_TOKEN;

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
    // Whether the buffer begins inside a token that is too long, and is being copied.
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
        // Up to the last white space every word is whole.
        let mut whole = match count {
            0 => text.len(),
            _ => text.iter().rposition(|&byte| is_space(byte)).unwrap_or(0),
        };
        out.clear();
        hyphenate_bytes(&text[..whole], &text[..whole], separator, hyphenator, &mut out);
        writer.write_all(&out)?;
        if text.len() - whole > LONGEST_TOKEN + 1 {
            // One for the white space before it.
            writer.write_all(&text[whole..])?;
            (in_long_token, whole) = (true, text.len());
        }
        if count == 0 {
            return writer.flush();
        }
        buffer.copy_within(copied + whole..filled, 0);
        filled -= copied + whole;
    }
}
