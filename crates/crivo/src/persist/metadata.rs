//! Text that is kept with a filter in its file.

use std::collections::BTreeMap;
use std::fmt;

use crivo_core::wire::{Reader, number_length, put_bytes};

use super::DecodeError;
use crate::hash::{KeyEncoding, UnknownEncoding};

/// Text that is kept with a filter in its file: names and values, such as how the keys were made.
///
/// The codec keeps every entry, also those that this program knows nothing of: they survive
/// loading, changing, merging and saving. Names are unique, and in the order of their bytes.
///
/// docs/format.md lists the names that have a meaning. One of them the library looks at:
/// [`KEY_ENCODING`](Self::KEY_ENCODING).
///
/// ```
/// use crivo::codec::Metadata;
///
/// let mut metadata = Metadata::new();
/// metadata.set("source", "users.csv")?;
/// metadata.set(Metadata::KEY_ENCODING, "utf8")?;
/// assert_eq!(metadata.get("source"), Some("users.csv"));
/// assert_eq!(metadata.iter().next(), Some(("key-encoding", "utf8")));
/// # Ok::<(), crivo::codec::MetadataError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// `None` if there are no entries, which is nearly always: then it costs a filter one word.
    entries: Option<Box<Entries>>,
}

type Entries = BTreeMap<Box<str>, Box<str>>;

impl Metadata {
    /// The entry that tells how the bytes of the keys were made: `bytes`, `utf8`, `u64` and so on;
    /// docs/format.md has the list. Filters that differ in it cannot be merged.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    /// use crivo::filter::Bloom;
    ///
    /// let (mut texts, mut numbers) = (Bloom::new(1_000, 0.01)?, Bloom::new(1_000, 0.01)?);
    /// texts.metadata_mut().set(Metadata::KEY_ENCODING, "utf8")?;
    /// numbers.metadata_mut().set(Metadata::KEY_ENCODING, "u64")?;
    /// assert!(texts.union_with(&numbers).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const KEY_ENCODING: &'static str = "key-encoding";

    /// Entries that say how keys were changed before they were hashed, and what no entry means.
    pub(crate) const KEY_CHANGES: [(&'static str, &'static str); 3] =
        [("ignore-case", "false"), ("trim", "false"), ("cr", "strip")];

    /// The size of all entries, [as they are written](Self::size_in_bytes), is at most this.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let too_long = "x".repeat(Metadata::MAX_BYTES);
    /// assert!(Metadata::new().set("source", &too_long).is_err());
    /// ```
    pub const MAX_BYTES: usize = 65_536;

    /// No entries.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// assert_eq!(Metadata::new().iter().count(), 0);
    /// ```
    pub const fn new() -> Self {
        Self { entries: None }
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// assert!(metadata.is_empty());
    /// metadata.set("source", "users.csv")?;
    /// assert!(!metadata.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn is_empty(&self) -> bool {
        self.entries.is_none()
    }

    /// The value under this name.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("source", "users.csv")?;
    /// assert_eq!(metadata.get("source"), Some("users.csv"));
    /// assert_eq!(metadata.get("Source"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries.as_ref()?.get(name).map(|value| &**value)
    }

    /// How the bytes of the keys were made, if the file says so.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    /// use crivo::hash::KeyEncoding;
    ///
    /// let mut metadata = Metadata::new();
    /// assert_eq!(metadata.key_encoding()?, None);
    /// metadata.set(Metadata::KEY_ENCODING, "i64")?;
    /// assert_eq!(metadata.key_encoding()?, Some(KeyEncoding::I64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it names an encoding that this version does not know.
    pub fn key_encoding(&self) -> Result<Option<KeyEncoding>, UnknownEncoding> {
        self.get(Self::KEY_ENCODING).map(str::parse).transpose()
    }

    /// The names and values, in the order of the names.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("source", "users.csv")?;
    /// metadata.set("author", "ana")?;
    /// let names: Vec<_> = metadata.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["author", "source"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .flat_map(|entries| entries.iter())
            .map(|(name, value)| (&**name, &**value))
    }

    /// Puts a value under a name, in the place of an older one.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("author", "ana")?;
    /// metadata.set("author", "rui")?;
    /// assert_eq!(metadata.get("author"), Some("rui"));
    /// assert!(metadata.set("", "nameless").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the name is empty, or there would be too much text. Nothing has changed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), MetadataError> {
        if name.is_empty() {
            return Err(MetadataError::EmptyName);
        }
        let old = self.get(name).map_or(0, |old| entry_size(name, old));
        let bytes = self.size_in_bytes() - old + entry_size(name, value);
        if bytes > Self::MAX_BYTES {
            return Err(MetadataError::TooLarge { bytes });
        }
        self.entries.get_or_insert_default().insert(name.into(), value.into());
        Ok(())
    }

    /// Removes the value under this name, and returns it.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("author", "ana")?;
    /// assert_eq!(metadata.remove("author").as_deref(), Some("ana"));
    /// assert_eq!(metadata.remove("author"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let entries = self.entries.as_mut()?;
        let removed = entries.remove(name)?;
        if entries.is_empty() {
            self.entries = None;
        }
        Some(removed.into())
    }

    /// Removes everything.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("author", "ana")?;
    /// metadata.clear();
    /// assert!(metadata.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&mut self) {
        self.entries = None;
    }

    /// How many bytes the entries take in a file.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.set("author", "ana")?;
    /// assert_eq!(metadata.size_in_bytes(), 1 + 6 + 1 + 3); // lengths and texts
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn size_in_bytes(&self) -> usize {
        self.iter().map(|(name, value)| entry_size(name, value)).sum()
    }

    /// The entries of both. Where both have a name, the value is that of `self`.
    ///
    /// ```
    /// use crivo::codec::Metadata;
    ///
    /// let (mut ours, mut theirs) = (Metadata::new(), Metadata::new());
    /// ours.set("author", "ana")?;
    /// theirs.set("author", "rui")?;
    /// theirs.set("source", "users.csv")?;
    /// let both = ours.merged(&theirs)?;
    /// assert_eq!((both.get("author"), both.get("source")), (Some("ana"), Some("users.csv")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there would be too much text.
    pub fn merged(&self, other: &Self) -> Result<Self, MetadataError> {
        let mut merged = self.clone();
        for (name, value) in other.iter() {
            if merged.get(name).is_none() {
                merged.set(name, value)?;
            }
        }
        Ok(merged)
    }

    /// Appends the bytes that stand for the entries in a file: name, value, name, value …, each
    /// with its length before it.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        for (name, value) in self.iter() {
            put_bytes(bytes, name.as_bytes());
            put_bytes(bytes, value.as_bytes());
        }
    }

    /// The entries that these bytes stand for.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut entries = Entries::new();
        let mut reader = Reader::new(bytes);
        while reader.remaining() > 0 {
            let mut text = || reader.bytes().ok().and_then(|part| std::str::from_utf8(part).ok());
            let (Some(name), Some(value)) = (text(), text()) else {
                return Err(DecodeError::Inconsistent("its metadata is no list of texts"));
            };
            let is_next = entries.last_key_value().is_none_or(|(last, _)| &**last < name);
            if name.is_empty() || !is_next {
                let what = "the names of its metadata are not in ascending order";
                return Err(DecodeError::Inconsistent(what));
            }
            entries.insert(name.into(), value.into());
        }
        Ok(Self { entries: (!entries.is_empty()).then(|| Box::new(entries)) })
    }
}

fn entry_size(name: &str, value: &str) -> usize {
    let size = |text: &str| number_length(text.len() as u64) as usize + text.len();
    size(name) + size(value)
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Why an entry could not be added. Nothing has changed.
///
/// ```
/// use crivo::codec::{Metadata, MetadataError};
///
/// assert_eq!(Metadata::new().set("", "ana"), Err(MetadataError::EmptyName));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The name is empty.
    #[error("the name of an entry of the metadata is empty")]
    EmptyName,
    /// There would be too much text.
    #[error("the metadata would have {bytes} bytes, but it can have at most {max}", max = Metadata::MAX_BYTES)]
    TooLarge {
        /// How many bytes there would be.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(metadata: &Metadata) -> Vec<u8> {
        let mut bytes = Vec::new();
        metadata.encode(&mut bytes);
        assert_eq!(bytes.len(), metadata.size_in_bytes());
        bytes
    }

    fn of(entries: &[(&str, &str)]) -> Metadata {
        let mut metadata = Metadata::new();
        entries.iter().for_each(|(name, value)| metadata.set(name, value).unwrap());
        metadata
    }

    #[test]
    fn no_entries_cost_a_word_and_no_bytes() {
        assert_eq!(size_of::<Metadata>(), size_of::<usize>());
        let mut metadata = Metadata::new();
        assert!(metadata.is_empty() && encoded(&metadata).is_empty());
        metadata.set("a", "b").unwrap();
        assert_eq!(metadata.remove("a").as_deref(), Some("b"));
        assert_eq!(metadata, Metadata::new());
    }

    #[test]
    fn the_order_of_setting_makes_no_difference() {
        let one = of(&[("b", "2"), ("a", "1"), ("b", "3")]);
        assert_eq!(one, of(&[("a", "1"), ("b", "3")]));
        assert_eq!(encoded(&one), b"\x01a\x011\x01b\x013");
    }

    #[test]
    fn an_entry_that_cannot_be_added_changes_nothing() {
        let mut metadata = of(&[("a", "1")]);
        let before = metadata.clone();
        assert_eq!(metadata.set("", "x"), Err(MetadataError::EmptyName));
        // A name of one byte, a value of three bytes of length and the rest.
        let longest = Metadata::MAX_BYTES - 2 - 3;
        let error = metadata.set("b", &"x".repeat(longest)).unwrap_err();
        assert_eq!(error, MetadataError::TooLarge { bytes: Metadata::MAX_BYTES + 4 });
        assert_eq!(metadata, before);
        metadata.set("a", &"x".repeat(longest)).unwrap();
        assert_eq!(metadata.size_in_bytes(), Metadata::MAX_BYTES);
    }

    #[test]
    fn merging_keeps_ours_and_adds_theirs() {
        let merged = of(&[("a", "1"), ("b", "2")]).merged(&of(&[("b", "3"), ("c", "4")]));
        assert_eq!(merged, Ok(of(&[("a", "1"), ("b", "2"), ("c", "4")])));
        let half = "x".repeat(Metadata::MAX_BYTES / 2);
        assert!(of(&[("a", &half)]).merged(&of(&[("b", &half)])).is_err());
    }

    #[test]
    fn other_bytes_are_errors() {
        for bad in [
            &b"\x01a"[..],
            b"\x01a\x02b",
            b"\x00\x01b",
            b"\x01b\x011\x01a\x012",
            b"\x01a\x011\x01a\x011",
            b"\x01\xff\x011",
            b"\x81\x00a\x011",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert!(Metadata::decode(bad).is_err(), "{}", bad.escape_ascii());
        }
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "takes long there")]
        fn decoding_undoes_encoding(entries in prop::collection::btree_map(".{1,20}", ".{0,200}", 0..9)) {
            let mut metadata = Metadata::new();
            for (name, value) in &entries {
                metadata.set(name, value).unwrap();
            }
            prop_assert_eq!(Metadata::decode(&encoded(&metadata)), Ok(metadata));
        }

        /// What can be read has one encoding.
        #[test]
        fn encoding_undoes_decoding(bytes in prop::collection::vec(0u8..5, 0..12)) {
            if let Ok(metadata) = Metadata::decode(&bytes) {
                prop_assert_eq!(encoded(&metadata), bytes);
            }
        }
    }
}
