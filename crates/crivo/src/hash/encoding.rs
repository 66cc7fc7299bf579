//! The types of keys that a file can name, and their bytes.

use std::fmt::{self, Write};
use std::str::FromStr;

use thiserror::Error;

use super::CompositeKey;
use super::time::{parse_date, parse_timestamp};

/// How the bytes of a filter's keys were made: what a file says under
/// [`key-encoding`](crate::codec::Metadata::KEY_ENCODING).
///
/// | name | key | its bytes |
/// |---|---|---|
/// | `bytes` | bytes | themselves |
/// | `utf8` | text | UTF-8 |
/// | `u8` … `u128`, `i8` … `i128` | an integer | little-endian, signed ones in two's complement |
/// | `f64` | a real number | IEEE 754, little-endian; -0.0 is 0.0, and all NaNs are one: [`float_key`] |
/// | `bool` | a truth value | one byte: 0 or 1 |
/// | `date` | a day | days since 1970-01-01, as an `i32` |
/// | `timestamp(s)`, `(ms)`, `(us)`, `(ns)` | a moment | such units since 1970-01-01T00:00:00Z, as an `i64` |
/// | `decimal(2)` | a number with two decimals | the number without its point, as an `i128` |
/// | `(utf8,i64)` | several keys | those of a [`CompositeKey`] |
///
/// It makes keys from text, as a person or a file of text writes them:
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::hash::{KeyEncoding, float_key};
///
/// let encoding: KeyEncoding = "(utf8,i64)".parse()?;
/// let key = encoding.key_of_text(&["ana", "5"])?;
/// let hasher = KeyHasher::default();
/// assert_eq!(hasher.digest(&key), hasher.digest(&("ana", 5i64)));
/// assert!(encoding.key_of_text(&["ana", "five"]).is_err());
///
/// let number = KeyEncoding::F64.key_of_text(&["-0"])?;
/// assert_eq!(hasher.digest(&number), hasher.digest(&float_key(0.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyEncoding {
    /// Bytes as they are.
    Bytes,
    /// Text in UTF-8.
    Utf8,
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// An unsigned integer of 128 bits.
    U128,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 16 bits.
    I16,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
    /// A signed integer of 128 bits.
    I128,
    /// A real number of 64 bits: see [`float_key`].
    F64,
    /// True or false.
    Bool,
    /// A day of the Gregorian calendar.
    Date,
    /// A moment, in a unit of time.
    Timestamp(TimeUnit),
    /// A decimal number with this number of digits behind its point, at most
    /// [`MAX_SCALE`](Self::MAX_SCALE).
    Decimal(u8),
    /// A key of these parts, at least two.
    Composite(Vec<KeyEncoding>),
}

/// The unit of a [timestamp](KeyEncoding::Timestamp).
///
/// ```
/// use crivo::hash::{KeyEncoding, TimeUnit};
///
/// let encoding: KeyEncoding = "timestamp(ms)".parse()?;
/// assert_eq!(encoding, KeyEncoding::Timestamp(TimeUnit::Millisecond));
/// # Ok::<(), crivo::hash::UnknownEncoding>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// A second.
    Second,
    /// A thousandth of a second.
    Millisecond,
    /// A millionth of a second.
    Microsecond,
    /// A thousand-millionth of a second.
    Nanosecond,
}

impl TimeUnit {
    const ALL: [Self; 4] = [Self::Second, Self::Millisecond, Self::Microsecond, Self::Nanosecond];

    /// Its name in a file: `s`, `ms`, `us` or `ns`.
    ///
    /// ```
    /// assert_eq!(crivo::hash::TimeUnit::Microsecond.name(), "us");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        }
    }

    /// How many digits behind the point of a second it can tell.
    pub(super) const fn digits(self) -> u32 {
        match self {
            Self::Second => 0,
            Self::Millisecond => 3,
            Self::Microsecond => 6,
            Self::Nanosecond => 9,
        }
    }
}

/// The encodings whose name is a word.
const NAMES: [(&str, KeyEncoding); 15] = [
    ("bytes", KeyEncoding::Bytes),
    ("utf8", KeyEncoding::Utf8),
    ("u8", KeyEncoding::U8),
    ("u16", KeyEncoding::U16),
    ("u32", KeyEncoding::U32),
    ("u64", KeyEncoding::U64),
    ("u128", KeyEncoding::U128),
    ("i8", KeyEncoding::I8),
    ("i16", KeyEncoding::I16),
    ("i32", KeyEncoding::I32),
    ("i64", KeyEncoding::I64),
    ("i128", KeyEncoding::I128),
    ("f64", KeyEncoding::F64),
    ("bool", KeyEncoding::Bool),
    ("date", KeyEncoding::Date),
];

/// Composite keys in composite keys go no deeper: the name comes from a file.
const MAX_DEPTH: usize = 8;

/// The bytes of a real number as a key: IEEE 754 in little-endian order, where -0.0 is 0.0 and every
/// NaN is the same one. So numbers that compare as equal are one key.
///
/// ```
/// use crivo::hash::float_key;
///
/// assert_eq!(float_key(-0.0), float_key(0.0));
/// assert_eq!(float_key(f64::NAN), [0, 0, 0, 0, 0, 0, 0xf8, 0x7f]);
/// ```
#[inline]
pub fn float_key(value: f64) -> [u8; 8] {
    const NAN: u64 = 0x7ff8_0000_0000_0000;
    let bits = if value.is_nan() {
        NAN
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    };
    bits.to_le_bytes()
}

impl KeyEncoding {
    /// A decimal number has at most this many digits behind its point.
    pub const MAX_SCALE: u8 = 38;

    /// The encodings of the parts of a key; of a key that is not composite, its own.
    ///
    /// ```
    /// use crivo::hash::KeyEncoding;
    ///
    /// let encoding: KeyEncoding = "(utf8,i64)".parse()?;
    /// assert_eq!(encoding.parts(), [KeyEncoding::Utf8, KeyEncoding::I64]);
    /// assert_eq!(KeyEncoding::Date.parts(), [KeyEncoding::Date]);
    /// # Ok::<(), crivo::hash::UnknownEncoding>(())
    /// ```
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Composite(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// The key whose parts have these texts: one for each of [`parts`](Self::parts).
    ///
    /// ```
    /// use crivo::hash::KeyEncoding;
    ///
    /// let day = KeyEncoding::Date.key_of_text(&["1970-01-02"])?;
    /// assert_eq!(day.as_bytes(), 1i32.to_le_bytes());
    /// # Ok::<(), crivo::hash::KeyTextError>(())
    /// ```
    ///
    /// # Errors
    /// If a text is none of its part, or there are more or fewer texts than parts.
    pub fn key_of_text(&self, texts: &[impl AsRef<[u8]>]) -> Result<CompositeKey, KeyTextError> {
        let parts = self.parts();
        if parts.len() != texts.len() {
            return Err(KeyTextError::PartCount { expected: parts.len(), found: texts.len() });
        }
        let mut key = CompositeKey::new();
        for (part, text) in parts.iter().zip(texts) {
            part.push_text(text.as_ref(), &mut key)?;
        }
        Ok(key)
    }

    /// Appends the part with this text to a key.
    ///
    /// | type | texts |
    /// |---|---|
    /// | integers | `5`, `-5` |
    /// | `f64` | `0.5`, `1e300`, `inf`, `NaN` |
    /// | `bool` | `true`, `false` |
    /// | `date` | `2026-01-31` |
    /// | timestamps | `2026-01-31T12:30:00.25Z`; a space instead of the T, `+01:00` instead of the Z; without one it is UTC |
    /// | `decimal(2)` | `12.5`, `12.50`, `12.500`; not `12.505`, which has no such key |
    ///
    /// ```
    /// use crivo::hash::{CompositeKey, KeyEncoding};
    ///
    /// let mut row = CompositeKey::new();
    /// KeyEncoding::Utf8.push_text(b"ana", &mut row)?;
    /// KeyEncoding::Decimal(2).push_text(b"12.5", &mut row)?;
    /// let mut expected = CompositeKey::new();
    /// assert_eq!(&row, expected.push("ana").push(&1250i128));
    /// # Ok::<(), crivo::hash::KeyTextError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is none of such a part. The key is unchanged.
    pub fn push_text(&self, text: &[u8], key: &mut CompositeKey) -> Result<(), KeyTextError> {
        self.push(text, key)
            .ok_or_else(|| KeyTextError::NotOfType { text: abridged(text), encoding: self.clone() })
    }

    fn push(&self, bytes: &[u8], key: &mut CompositeKey) -> Option<()> {
        if *self == Self::Bytes {
            key.push(bytes);
            return Some(());
        }
        let text = std::str::from_utf8(bytes).ok()?;
        match self {
            Self::Utf8 => key.push(text),
            Self::U8 => key.push(&text.parse::<u8>().ok()?),
            Self::U16 => key.push(&text.parse::<u16>().ok()?),
            Self::U32 => key.push(&text.parse::<u32>().ok()?),
            Self::U64 => key.push(&text.parse::<u64>().ok()?),
            Self::U128 => key.push(&text.parse::<u128>().ok()?),
            Self::I8 => key.push(&text.parse::<i8>().ok()?),
            Self::I16 => key.push(&text.parse::<i16>().ok()?),
            Self::I32 => key.push(&text.parse::<i32>().ok()?),
            Self::I64 => key.push(&text.parse::<i64>().ok()?),
            Self::I128 => key.push(&text.parse::<i128>().ok()?),
            Self::F64 => key.push(&float_key(text.parse().ok()?)),
            Self::Bool => key.push(&parse_bool(text)?),
            Self::Date => key.push(&i32::try_from(parse_date(text)?).ok()?),
            Self::Timestamp(unit) => key.push(&parse_timestamp(text, *unit)?),
            Self::Decimal(scale) => key.push(&parse_decimal(text, *scale)?),
            Self::Bytes | Self::Composite(_) => return None,
        };
        Some(())
    }

    fn parse(name: &str, depth: usize) -> Option<Self> {
        if let Some((_, encoding)) = NAMES.iter().find(|(word, _)| *word == name) {
            return Some(encoding.clone());
        }
        let (word, argument) = name.strip_suffix(')')?.split_once('(')?;
        match word {
            "" if depth < MAX_DEPTH => {
                let parts = split_parts(argument).map(|part| Self::parse(part, depth + 1));
                let parts = parts.collect::<Option<Vec<_>>>()?;
                (parts.len() > 1).then_some(Self::Composite(parts))
            }
            "timestamp" => {
                let unit = TimeUnit::ALL.into_iter().find(|unit| unit.name() == argument)?;
                Some(Self::Timestamp(unit))
            }
            "decimal" => {
                // One name for one encoding.
                let scale =
                    argument.parse().ok().filter(|scale: &u8| scale.to_string() == argument)?;
                (scale <= Self::MAX_SCALE).then_some(Self::Decimal(scale))
            }
            _ => None,
        }
    }
}

/// The parts between the commas that are in no parentheses.
fn split_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

fn parse_bool(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// The number times 10^scale, if that is an integer.
fn parse_decimal(text: &str, scale: u8) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    let digits = whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', zeros));
    let sign = if is_negative { -1 } else { 1 };
    digits
        .map(|digit| i128::from(digit - b'0'))
        .try_fold(0i128, |number, digit| number.checked_mul(10)?.checked_add(sign * digit))
}

/// The beginning of a text, for a message.
fn abridged(text: &[u8]) -> String {
    const MAX_LETTERS: usize = 60;
    // A letter has at most four bytes.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_LETTERS + 4)]);
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

impl fmt::Display for KeyEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timestamp(unit) => write!(f, "timestamp({})", unit.name()),
            Self::Decimal(scale) => write!(f, "decimal({scale})"),
            Self::Composite(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    f.write_char(if index == 0 { '(' } else { ',' })?;
                    part.fmt(f)?;
                }
                f.write_char(')')
            }
            _ => f.write_str(NAMES.iter().find(|(_, it)| it == self).map_or("", |(name, _)| name)),
        }
    }
}

impl FromStr for KeyEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        Self::parse(name, 0).ok_or_else(|| UnknownEncoding { name: abridged(name.as_bytes()) })
    }
}

/// The name of an encoding that this version of the library does not know.
///
/// ```
/// use crivo::hash::KeyEncoding;
///
/// let error = "geometry".parse::<KeyEncoding>().unwrap_err();
/// assert_eq!(error.name, "geometry");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name:?} is not an encoding of keys that this version knows")]
#[non_exhaustive]
pub struct UnknownEncoding {
    /// The name, or its beginning.
    pub name: String,
}

/// Why a text is no key.
///
/// ```
/// use crivo::hash::KeyEncoding;
///
/// let error = KeyEncoding::I64.key_of_text(&["five"]).unwrap_err();
/// assert_eq!(error.to_string(), "\"five\" is not a key of type i64");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyTextError {
    /// It is not the text of such a key.
    #[error("{text:?} is not a key of type {encoding}")]
    NotOfType {
        /// The text, or its beginning.
        text: String,
        /// The type.
        encoding: KeyEncoding,
    },
    /// The key has another number of parts.
    #[error("the key has {expected} parts, but there are {found}")]
    PartCount {
        /// The number of parts.
        expected: usize,
        /// The number of texts.
        found: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_they_are_printed() {
        for name in [
            "bytes",
            "utf8",
            "u128",
            "i8",
            "f64",
            "bool",
            "date",
            "timestamp(s)",
            "timestamp(ns)",
            "decimal(0)",
            "decimal(38)",
            "(utf8,u64)",
            "(decimal(2),(date,timestamp(us)),bytes)",
        ] {
            let encoding: KeyEncoding = name.parse().unwrap();
            assert_eq!(encoding.to_string(), name);
        }
        for (name, encoding) in NAMES {
            assert_eq!(name.parse(), Ok(encoding));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn other_names_are_errors() {
        let deep = format!("{}u8{}", "(u8,".repeat(10_000), ")".repeat(10_000));
        for name in [
            "",
            "text",
            "u7",
            " u8",
            "(u8)",
            "()",
            "(u8,)",
            "(u8,u8",
            "u8)",
            "(u8,u8))",
            "((u8,u8)",
            "timestamp",
            "timestamp()",
            "timestamp(m)",
            "decimal(39)",
            "decimal(02)",
            "decimal(-1)",
            "decimal(+1)",
            "date()",
            &deep,
        ] {
            assert!(name.parse::<KeyEncoding>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_bytes_of_the_document_are_those_of_the_code() {
        let document = include_str!("../../../../docs/format.md");
        let (_, table) = document.split_once("<!-- typed keys -->").unwrap();
        let rows = table.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let encoding: KeyEncoding = cells[0].trim_matches('`').parse().unwrap();
            let expected: Vec<u8> = cells[2]
                .split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect();
            let texts: Vec<&str> = cells[1].trim_matches('`').split(", ").collect();
            let key = encoding.key_of_text(&texts).unwrap();
            assert_eq!(key.as_bytes(), expected, "{row}");
            count += 1;
        }
        assert!(count >= 12, "{count}");
    }

    fn bytes(encoding: &str, text: &str) -> Option<Vec<u8>> {
        let encoding: KeyEncoding = encoding.parse().unwrap();
        Some(encoding.key_of_text(&[text]).ok()?.as_bytes().to_vec())
    }

    #[test]
    fn texts_that_are_equal_as_keys_have_the_same_bytes() {
        for (encoding, texts) in [
            ("i64", &["5", "+5", "005"][..]),
            ("f64", &["0", "-0.0", "0e9"]),
            ("f64", &["NaN", "nan", "-nan"]),
            ("f64", &["1e1", "10", "10.0"]),
            ("bool", &["true", "True", "TRUE"]),
            ("decimal(2)", &["-12.5", "-12.50", "-12.500", "-012.5"]),
            ("decimal(0)", &["7", "7.", "+7.0"]),
        ] {
            let keys: Vec<_> = texts.iter().map(|text| bytes(encoding, text)).collect();
            assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{texts:?}");
        }
        assert_eq!(bytes("i64", "-2"), Some((-2i64).to_le_bytes().to_vec()));
        assert_eq!(bytes("decimal(3)", ".125"), Some(125i128.to_le_bytes().to_vec()));
        let least = i128::MIN.to_string();
        assert_eq!(bytes("decimal(0)", &least), Some(i128::MIN.to_le_bytes().to_vec()));
    }

    #[test]
    fn other_texts_are_errors() {
        for (encoding, text) in [
            ("i64", "abc"),
            ("i64", ""),
            ("i64", " 5"),
            ("i64", "5.0"),
            ("i64", "9223372036854775808"),
            ("u64", "-1"),
            ("u8", "256"),
            ("f64", "1,5"),
            ("bool", "1"),
            ("decimal(2)", "1.005"),
            ("decimal(2)", "."),
            ("decimal(2)", "1.2.3"),
            ("decimal(2)", "--1"),
            ("decimal(2)", "1e2"),
            ("decimal(38)", "2"),
            ("date", "2026-02-30"),
        ] {
            assert_eq!(bytes(encoding, text), None, "{encoding} {text:?}");
        }
        let error = KeyEncoding::Utf8.key_of_text(&[b"\xff"]).unwrap_err();
        assert_eq!(error.to_string(), "\"\u{fffd}\" is not a key of type utf8");
        let error = KeyEncoding::I64.key_of_text(&["x".repeat(1 << 20)]).unwrap_err();
        assert!(error.to_string().len() < 120, "{error}");
        let error = KeyEncoding::I64.key_of_text(&["1", "2"]).unwrap_err();
        assert_eq!(error, KeyTextError::PartCount { expected: 1, found: 2 });
        let nested: KeyEncoding = "(u8,(u8,u8))".parse().unwrap();
        assert!(nested.key_of_text(&["1", "2"]).is_err());
    }

    #[test]
    fn a_text_that_is_no_key_changes_nothing() {
        let mut key = CompositeKey::new();
        key.push("ana");
        assert!(KeyEncoding::Date.push_text(b"today", &mut key).is_err());
        assert_eq!(key.as_bytes(), b"ana");
    }
}
