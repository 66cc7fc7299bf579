//! The keys of the fixtures and of the two-way tests: a function of a number, which every program
//! in `oracles/` has as well.

use crivo_formats::{KeyType, TypedKey};

/// A key that owns its text.
pub struct Key {
    key_type: KeyType,
    number: u64,
    text: String,
    bytes: Vec<u8>,
}

impl Key {
    /// The key with this number.
    pub fn new(key_type: KeyType, number: u64) -> Self {
        let byte = |j: u64| (number * 31 + j * 17) as u8;
        let bytes = (number as u32).to_le_bytes().into_iter().chain((0..number % 37).map(byte));
        Self { key_type, number, text: format!("ключ-{number}-é"), bytes: bytes.collect() }
    }

    /// The key as the filters take it.
    pub fn get(&self) -> TypedKey<'_> {
        let signed = self.number as i64;
        match self.key_type {
            KeyType::Int32 => TypedKey::Int32((signed * 7_919 - 3_000_000) as i32),
            KeyType::Int64 => TypedKey::Int64(signed * 7_919_000_003 - 3_000_000),
            KeyType::UInt64 => TypedKey::UInt64(self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            KeyType::Float => TypedKey::Float(signed as f32 * 0.5 - 100.0),
            KeyType::Double => TypedKey::Double(signed as f64 * 0.5 - 100.0),
            KeyType::Text => TypedKey::Text(&self.text),
            KeyType::Utf16 => TypedKey::Utf16(&self.text),
            KeyType::Bytes => TypedKey::Bytes(self.bytes.as_slice().into()),
            other => panic!("no keys of type {other}"),
        }
    }
}
