//! Encodings in which text can be changed byte by byte.
//!
//! Words are decoded for matching, with the offset of every character in the original. Separators are
//! inserted there, and every other byte stays as it is. That needs encodings in which a byte of ASCII
//! always is that character, so that markup and white space are found: UTF-8, those of one byte per
//! character, and EUC.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::{EUC_JP, EUC_KR, UTF_8};

use super::html;

/// An encoding of text, by the names of the [Encoding Standard](https://encoding.spec.whatwg.org).
///
/// ```
/// use crivo_hyphen::text::Encoding;
///
/// assert_eq!(Encoding::from_label("latin1")?.name(), "windows-1252");
/// assert!(Encoding::from_label("utf-16").is_err()); // not every ASCII byte is that character
/// # Ok::<(), crivo_hyphen::text::EncodingError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(UTF_8);

    /// The encoding with this name, in any letter case: `utf-8`, `latin1`, `iso-8859-2`, `koi8-r`.
    ///
    /// # Errors
    /// If there is no such encoding, or text in it cannot be changed byte by byte.
    pub fn from_label(label: &str) -> Result<Self, EncodingError> {
        let unknown = || EncodingError::Unknown { label: label.to_owned() };
        // The names of files of LibreOffice have no hyphen after ISO.
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes())
            .or_else(|| encoding_rs::Encoding::for_label(microsoft_label(label).as_bytes()))
            .ok_or_else(unknown)?;
        let supported = encoding.is_single_byte() || [UTF_8, EUC_JP, EUC_KR].contains(&encoding);
        match supported {
            true => Ok(Self(encoding)),
            false => Err(EncodingError::Unsupported { name: encoding.name() }),
        }
    }

    /// The encoding that an HTML page names: by a byte order mark, an XML declaration or a `meta`
    /// element.
    ///
    /// ```
    /// use crivo_hyphen::text::Encoding;
    ///
    /// let page = b"<meta charset=iso-8859-1><p>caf\xe9";
    /// assert_eq!(Encoding::of_html(page)?.map(Encoding::name), Some("windows-1252"));
    /// assert_eq!(Encoding::of_html(b"<p>no name")?, None);
    /// # Ok::<(), crivo_hyphen::text::EncodingError>(())
    /// ```
    ///
    /// # Errors
    /// If the page names an encoding that is unknown or cannot be changed byte by byte.
    pub fn of_html(page: &[u8]) -> Result<Option<Self>, EncodingError> {
        if let Some((encoding, _)) = encoding_rs::Encoding::for_bom(page) {
            return Self::from_label(encoding.name()).map(Some);
        }
        let Some(label) = html::declared_encoding(page) else { return Ok(None) };
        // A page that can say so in ASCII is not in UTF-16.
        let is_utf16 = encoding_rs::Encoding::for_label(label.as_bytes())
            .is_some_and(|encoding| encoding.name().starts_with("UTF-16"));
        if is_utf16 { Ok(Some(Self::UTF_8)) } else { Self::from_label(&label).map(Some) }
    }

    /// The name in the Encoding Standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Text in this encoding.
    ///
    /// # Errors
    /// If it has characters that the encoding lacks.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, EncodingError> {
        let (bytes, _, has_errors) = self.0.encode(text);
        match has_errors {
            false => Ok(bytes.into_owned()),
            true => {
                Err(EncodingError::Separator { separator: text.to_owned(), encoding: self.name() })
            }
        }
    }

    /// The characters of text in this encoding, with the replacement character for what is invalid.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<Decoded<'_>, EncodingError> {
        if self == Self::UTF_8 {
            return Ok(Decoded::from_utf8(bytes));
        }
        let mut decoded = Decoded { text: Cow::Owned(String::new()), offsets: Vec::new() };
        let text = decoded.text.to_mut();
        text.reserve(bytes.len() + bytes.len() / 8);
        let mut at = 0;
        while at < bytes.len() {
            let plain = bytes[at..].iter().take_while(|byte| byte.is_ascii()).count();
            text.extend(bytes[at..at + plain].iter().map(|&byte| char::from(byte)));
            at += plain;
            let Some(&lead) = bytes.get(at) else { break };
            let wide = bytes[at..].iter().take_while(|byte| !byte.is_ascii()).count();
            let length = self.length(lead).min(wide);
            if self.0 == EUC_KR && length < 2 {
                // Code page 949 continues EUC-KR with characters that contain bytes of ASCII.
                return Err(EncodingError::Unsupported { name: "windows-949" });
            }
            let character = &bytes[at..at + length];
            match self.0.decode_without_bom_handling_and_without_replacement(character) {
                Some(decoded) => text.push_str(&decoded),
                None => text.push(char::REPLACEMENT_CHARACTER),
            }
            at += length;
            decoded.offsets.push((text.len(), at));
        }
        Ok(decoded)
    }

    /// The number of bytes of a character that begins with this byte.
    fn length(self, lead: u8) -> usize {
        match lead {
            0x8f if self.0 == EUC_JP => 3,
            _ if self.0.is_single_byte() => 1,
            _ => 2,
        }
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Names that only LibreOffice's dictionaries use: `ISO8859-1`, `microsoft-cp1251`.
fn microsoft_label(label: &str) -> String {
    let label = label.to_ascii_lowercase();
    match label.strip_prefix("microsoft-cp") {
        Some(number) => format!("windows-{number}"),
        None => label,
    }
}

/// A text that cannot be changed because of its encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// There is no encoding of this name.
    #[error("no encoding is called {label:?}")]
    Unknown {
        /// The name.
        label: String,
    },
    /// Not every byte of ASCII is that character, or the encoding has states.
    #[error("text in {name} cannot be hyphenated: convert it to UTF-8 first")]
    Unsupported {
        /// The name of the encoding.
        name: &'static str,
    },
    /// The text names no encoding and is not UTF-8.
    #[error("the text is not UTF-8: byte {offset} is {byte:#04x}")]
    NotUtf8 {
        /// The offset of the first wrong byte.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// The separator has a character that the encoding lacks.
    #[error("the separator {separator:?} cannot be written in {encoding}")]
    Separator {
        /// The separator.
        separator: String,
        /// The name of the encoding.
        encoding: &'static str,
    },
}

/// Decoded text, with offsets into the original.
#[derive(Debug)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// Offsets in the text and in the original, after every character whose lengths may differ.
    offsets: Vec<(usize, usize)>,
}

impl<'b> Decoded<'b> {
    fn from_utf8(bytes: &'b [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self { text: text.into(), offsets: Vec::new() };
        }
        let mut text = String::with_capacity(bytes.len());
        let mut offsets = Vec::new();
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                offsets.push((text.len(), at));
            }
        }
        Self { text: text.into(), offsets }
    }

    /// A function from ascending offsets in the text to those in the original.
    pub(crate) fn origins(&self) -> impl FnMut(usize) -> usize + '_ {
        let mut next = 0;
        let (mut in_text, mut in_bytes) = (0, 0);
        move |offset| {
            while let Some(&(text, bytes)) = self.offsets.get(next).filter(|pair| pair.0 <= offset)
            {
                (in_text, in_bytes) = (text, bytes);
                next += 1;
            }
            in_bytes + (offset - in_text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes, and returns every character with its offset in the original.
    fn characters(label: &str, bytes: &[u8]) -> Vec<(char, usize)> {
        let decoded = Encoding::from_label(label).unwrap().decode(bytes).unwrap();
        let mut origin = decoded.origins();
        decoded.text.char_indices().map(|(offset, c)| (c, origin(offset))).collect()
    }

    #[test]
    fn characters_keep_their_original_offset() {
        assert_eq!(characters("latin1", b"a\xe9b"), [('a', 0), ('é', 1), ('b', 2)]);
        assert_eq!(characters("ISO8859-2", b"\xb1b\xe6"), [('ą', 0), ('b', 1), ('ć', 2)]);
        assert_eq!(characters("microsoft-cp1251", b"\xe6\xe6"), [('ж', 0), ('ж', 1)]);
        assert_eq!(
            characters("euc-jp", b"a\xa4\xa2\x8e\xb1\x8f\xb0\xa1b"),
            [('a', 0), ('あ', 1), ('ｱ', 3), ('丂', 5), ('b', 8)]
        );
        assert_eq!(characters("euc-kr", b"\xb0\xa1b"), [('가', 0), ('b', 2)]);
        // What is invalid is one character, and never takes a byte of ASCII with it.
        assert_eq!(
            characters("utf-8", b"a\xffb\xc3\xa9"),
            [('a', 0), ('\u{fffd}', 1), ('b', 2), ('é', 3)]
        );
        assert_eq!(characters("euc-jp", b"\xa4<"), [('\u{fffd}', 0), ('<', 1)]);
        assert_eq!(characters("windows-1253", b"\xd2a"), [('\u{fffd}', 0), ('a', 1)]);
    }

    #[test]
    fn encodings_with_ambiguous_bytes_are_refused() {
        for label in ["utf-16", "shift_jis", "gbk", "gb18030", "big5", "iso-2022-jp", "hz-gb-2312"]
        {
            let error = Encoding::from_label(label).unwrap_err();
            assert!(matches!(error, EncodingError::Unsupported { .. }), "{label}: {error}");
        }
        assert!(matches!(Encoding::from_label("x"), Err(EncodingError::Unknown { .. })));
        // Code page 949 in the guise of EUC-KR: the second byte is an A.
        assert!(Encoding(EUC_KR).decode(b"\x81A").is_err());
    }

    #[test]
    fn separators_are_written_in_the_encoding() {
        let encode = |label, text| Encoding::from_label(label).unwrap().encode(text);
        assert_eq!(encode("latin1", "\u{ad}"), Ok(vec![0xad]));
        assert_eq!(encode("koi8-r", "&shy;"), Ok(b"&shy;".to_vec()));
        assert!(encode("koi8-r", "\u{ad}").is_err());
    }
}
