//! Keys with their types, which decide how a system hashes them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crivo::ParameterError;

use crate::{KeyTypeError, ParseKeyError};

/// The types of keys that other systems have, and how a text is read as one.
///
/// ```
/// use crivo_formats::{KeyType, TypedKey};
///
/// let key_type: KeyType = "int64".parse()?;
/// assert_eq!(key_type.parse_key(b"-3")?, TypedKey::Int64(-3));
/// assert!(key_type.parse_key(b"three").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// A signed integer of 32 bits.
    Int32,
    /// A signed integer of 64 bits.
    Int64,
    /// An unsigned integer of 64 bits.
    UInt64,
    /// A real number of 32 bits.
    Float,
    /// A real number of 64 bits.
    Double,
    /// Text, hashed in UTF-8.
    Text,
    /// Text, hashed in UTF-16.
    Utf16,
    /// Bytes as they are.
    Bytes,
    /// Bytes, written in hexadecimal.
    Hex,
}

impl KeyType {
    /// Every type.
    ///
    /// ```
    /// use crivo_formats::KeyType;
    ///
    /// assert!(KeyType::ALL.iter().all(|key_type| key_type.name().parse() == Ok(*key_type)));
    /// ```
    pub const ALL: [Self; 9] = [
        Self::Int32,
        Self::Int64,
        Self::UInt64,
        Self::Float,
        Self::Double,
        Self::Text,
        Self::Utf16,
        Self::Bytes,
        Self::Hex,
    ];

    /// A short name for people and command lines.
    ///
    /// ```
    /// assert_eq!(crivo_formats::KeyType::Int64.name(), "int64");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Text => "text",
            Self::Utf16 => "utf16",
            Self::Bytes => "bytes",
            Self::Hex => "hex",
        }
    }

    /// The key of this type that `text` says.
    ///
    /// ```
    /// use crivo_formats::{KeyType, TypedKey};
    ///
    /// assert_eq!(KeyType::Int64.parse_key(b"-7"), Ok(TypedKey::Int64(-7)));
    /// assert!(KeyType::Int32.parse_key(b"5000000000").is_err());
    /// ```
    ///
    /// # Errors
    /// If it is not the text of such a key.
    pub fn parse_key(self, text: &[u8]) -> Result<TypedKey<'_>, ParseKeyError> {
        let key = match self {
            Self::Bytes => Some(TypedKey::Bytes(text.into())),
            Self::Hex => parse_hex(text).map(|bytes| TypedKey::Bytes(bytes.into())),
            _ => std::str::from_utf8(text).ok().and_then(|text| self.parse_text(text)),
        };
        key.ok_or_else(|| ParseKeyError {
            text: String::from_utf8_lossy(text).into_owned(),
            key_type: self,
        })
    }

    fn parse_text(self, text: &str) -> Option<TypedKey<'_>> {
        Some(match self {
            Self::Int32 => TypedKey::Int32(text.parse().ok()?),
            Self::Int64 => TypedKey::Int64(text.parse().ok()?),
            Self::UInt64 => TypedKey::UInt64(text.parse().ok()?),
            Self::Float => TypedKey::Float(text.parse().ok()?),
            Self::Double => TypedKey::Double(text.parse().ok()?),
            Self::Text => TypedKey::Text(text),
            Self::Utf16 => TypedKey::Utf16(text),
            Self::Bytes | Self::Hex => return None,
        })
    }
}

fn parse_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some((digit(high)? * 16 + digit(low)?) as u8)).collect()
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KeyType {
    type Err = ParameterError;

    fn from_str(name: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|key_type| key_type.name() == name).ok_or_else(|| {
            ParameterError::new(
                "key type",
                format_args!("{name:?}"),
                "int32, int64, uint64, float, double, text, utf16, bytes or hex",
            )
        })
    }
}

/// A key together with its type.
///
/// ```
/// use crivo_formats::{AsKey, TypedKey};
///
/// assert_eq!(7i32.as_key(), TypedKey::Int32(7));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TypedKey<'a> {
    /// A signed integer of 32 bits.
    Int32(i32),
    /// A signed integer of 64 bits.
    Int64(i64),
    /// An unsigned integer of 64 bits.
    UInt64(u64),
    /// A real number of 32 bits.
    Float(f32),
    /// A real number of 64 bits.
    Double(f64),
    /// Text, hashed in UTF-8.
    Text(&'a str),
    /// Text, hashed in UTF-16.
    Utf16(&'a str),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
}

impl TypedKey<'_> {
    /// Its type.
    ///
    /// ```
    /// use crivo_formats::{AsKey, KeyType};
    ///
    /// assert_eq!(7i32.as_key().key_type(), KeyType::Int32);
    /// assert_eq!("ana".as_key().key_type(), KeyType::Text);
    /// ```
    pub const fn key_type(&self) -> KeyType {
        match self {
            Self::Int32(_) => KeyType::Int32,
            Self::Int64(_) => KeyType::Int64,
            Self::UInt64(_) => KeyType::UInt64,
            Self::Float(_) => KeyType::Float,
            Self::Double(_) => KeyType::Double,
            Self::Text(_) => KeyType::Text,
            Self::Utf16(_) => KeyType::Utf16,
            Self::Bytes(_) => KeyType::Bytes,
        }
    }
}

/// Rust values that are keys with a type.
///
/// ```
/// use crivo_formats::{AsKey, TypedKey};
///
/// assert_eq!(7i64.as_key(), TypedKey::Int64(7));
/// assert_ne!(7i64.as_key(), 7i32.as_key());
/// ```
pub trait AsKey {
    /// The key.
    fn as_key(&self) -> TypedKey<'_>;
}

/// Keys that filters of type `F` take: what its system takes, and nothing else.
///
/// An implementation for a type of your own must give a key of a type that the system has. The methods
/// that take it panic otherwise.
pub trait KeyOf<F: ?Sized>: AsKey {}

/// The bytes of a key, in a system that knows nothing else.
pub(crate) fn bytes_of<'a>(
    key: &'a TypedKey<'_>,
    format: &'static str,
) -> Result<&'a [u8], KeyTypeError> {
    match key {
        TypedKey::Text(key) => Ok(key.as_bytes()),
        TypedKey::Bytes(key) => Ok(key),
        _ => Err(KeyTypeError::new(format, key.key_type())),
    }
}

/// The result for a key that has a type of the system, because it is a [`KeyOf`] its filter.
pub(crate) fn of_this_system<T>(result: Result<T, KeyTypeError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// A text that is hashed in UTF-16, as systems that are written in Java may do.
///
/// ```
/// use crivo_formats::{AsKey, TypedKey, Utf16};
///
/// assert_eq!(Utf16("ana").as_key(), TypedKey::Utf16("ana"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Utf16<'a>(pub &'a str);

impl<K: AsKey + ?Sized> AsKey for &K {
    #[inline]
    fn as_key(&self) -> TypedKey<'_> {
        (**self).as_key()
    }
}

impl<F: ?Sized, K: KeyOf<F> + ?Sized> KeyOf<F> for &K {}

macro_rules! as_key {
    ($($type:ty: |$value:ident| $key:expr;)*) => {
        $(impl AsKey for $type {
            #[inline]
            fn as_key(&self) -> TypedKey<'_> {
                let $value = self;
                $key
            }
        })*
    };
}

as_key! {
    i32: |value| TypedKey::Int32(*value);
    i64: |value| TypedKey::Int64(*value);
    u64: |value| TypedKey::UInt64(*value);
    f32: |value| TypedKey::Float(*value);
    f64: |value| TypedKey::Double(*value);
    str: |value| TypedKey::Text(value);
    String: |value| TypedKey::Text(value);
    Utf16<'_>: |value| TypedKey::Utf16(value.0);
    [u8]: |value| TypedKey::Bytes(value.into());
    Vec<u8>: |value| TypedKey::Bytes(value.into());
}

impl<const N: usize> AsKey for [u8; N] {
    #[inline]
    fn as_key(&self) -> TypedKey<'_> {
        TypedKey::Bytes(self.as_slice().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_key_type_is_read_as_that_type() {
        for key_type in KeyType::ALL {
            assert_eq!(key_type.name().parse(), Ok(key_type));
        }
        let error = "integer".parse::<KeyType>().unwrap_err().to_string();
        assert!(KeyType::ALL.iter().all(|key_type| error.contains(key_type.name())), "{error}");
    }

    #[test]
    fn a_text_is_a_key_or_an_error_that_quotes_it() {
        assert_eq!(
            KeyType::Hex.parse_key(b"00fF"),
            Ok(TypedKey::Bytes([0, 255].as_slice().into()))
        );
        assert_eq!(KeyType::Bytes.parse_key(b"\xff").unwrap(), [255].as_key());
        assert_eq!(KeyType::Double.parse_key(b"-1.5e3"), Ok(TypedKey::Double(-1500.0)));
        for (key_type, text) in [
            (KeyType::Hex, b"0".as_slice()),
            (KeyType::Hex, b"+1"),
            (KeyType::Text, b"\xff"),
            (KeyType::Int32, b"2147483648"),
            (KeyType::UInt64, b"-1"),
            (KeyType::Int64, b""),
        ] {
            assert!(key_type.parse_key(text).is_err(), "{key_type} {text:?}");
        }
        let error = KeyType::Int32.parse_key(b"1e3").unwrap_err();
        assert_eq!(error.to_string(), "\"1e3\" is not a key of type int32");
    }
}
