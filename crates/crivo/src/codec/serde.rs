//! Filters inside the data of others: as the bytes of a file.
//!
//! Every filter implements serde's traits. For another type that is [`Persist`], write
//!
//! ```ignore
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Snapshot {
//!     #[serde(with = "crivo::codec::serde")]
//!     index: MyIndex,
//! }
//! ```

use std::fmt;
use std::marker::PhantomData;

use serde_core::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::Serializer;
use serde_core::{Deserialize, Serialize};

use super::{LoadOptions, Persist, to_bytes};
use crate::filter::for_each_kind;

/// Serialises a filter as its bytes. Those of a filter with a secret key do not contain the key, and are
/// read by [`LoadOptions`] with the key, not by [`deserialize`].
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// // JSON has no bytes, but lists of numbers.
/// let filter = Bloom::new(1_000, 0.01)?;
/// let json = codec::serde::serialize(&filter, serde_json::value::Serializer)?;
/// assert_eq!(json[1], b'c');
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the serialiser.
pub fn serialize<F: Persist, S: Serializer>(filter: &F, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(&to_bytes(filter))
}

/// Reads a filter from its bytes, with all checks of a file.
///
/// ```
/// use crivo::codec;
/// use crivo::filter::Bloom;
///
/// let mut seen = Bloom::new(1_000, 0.01)?;
/// seen.insert("ana");
/// let json = serde_json::to_value(&seen)?;
/// let loaded: Bloom = codec::serde::deserialize(json)?;
/// assert!(loaded.contains("ana"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the deserialiser, and if the bytes are not such a filter, or need a secret key.
pub fn deserialize<'de, F: Persist, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_bytes(FilterBytes(PhantomData))
}

/// Implements serde's traits for every kind of filter.
macro_rules! implement {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        implement!(crate::filter::AnyFilter $(, crate::filter::$filter)*);
    };
    ($($filter:path),*) => {
        $(
            impl Serialize for $filter {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    serialize(self, to)
                }
            }

            impl<'de> Deserialize<'de> for $filter {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    deserialize(from)
                }
            }
        )*
    };
}
for_each_kind!(implement);

#[cfg(test)]
use super::mock::Mock;
#[cfg(test)]
implement!(Mock);

struct FilterBytes<F>(PhantomData<F>);

impl<'de, F: Persist> Visitor<'de> for FilterBytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a crivo filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<F, E> {
        LoadOptions::new().from_bytes(bytes).map_err(E::custom)
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
