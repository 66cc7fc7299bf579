//! Filters inside the data of others: as the bytes of a file.

use std::fmt;
use std::marker::PhantomData;

use serde_core::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::Serializer;

use super::Save;

/// Implements serde's traits for filters.
macro_rules! implement {
    ($($filter:ident),*) => {
        $(
            impl serde_core::Serialize for $filter {
                fn serialize<S: serde_core::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    crate::codec::serde::serialize(self, to)
                }
            }

            impl<'de> serde_core::Deserialize<'de> for $filter {
                fn deserialize<D: serde_core::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    crate::codec::serde::deserialize(from)
                }
            }
        )*
    };
}
pub(crate) use implement;

/// Serialises a filter as its bytes.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<F: Save, S: Serializer>(filter: &F, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(&filter.to_bytes())
}

/// Reads a filter from its bytes, with all checks of a file.
///
/// # Errors
/// Those of the deserializer, and if the bytes are not a filter.
pub fn deserialize<'de, F: Save, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_bytes(FilterBytes(PhantomData))
}

struct FilterBytes<F>(PhantomData<F>);

impl<'de, F: Save> Visitor<'de> for FilterBytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a crivo filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<F, E> {
        F::from_bytes(bytes).map_err(E::custom)
    }

    /// Formats without a type for bytes, such as JSON, have lists of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<F, A::Error> {
        // No memory on the mere word of the input about its length.
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
