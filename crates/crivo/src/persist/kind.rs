//! What a file may contain.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::DecodeError;

/// The kind of a file: a number, and the words for it.
///
/// Every implementor of [`Persist`](super::Persist) names its own. The numbers from 1 to 127 are
/// assigned in docs/format.md; those from 128 to 255 are free for applications. Two kinds are equal
/// if their numbers are.
///
/// ```
/// use crivo::codec::FileKind;
///
/// const DIGESTS: FileKind = FileKind::new(200, "digests", "list");
/// assert_eq!(DIGESTS.description(), "digests list");
/// assert_eq!(FileKind::unnamed(201).description(), "file of kind 201");
/// ```
#[derive(Debug, Clone, Copy, Eq)]
pub struct FileKind {
    id: u8,
    /// Empty if it is not known.
    name: &'static str,
    noun: &'static str,
}

impl FileKind {
    /// The kind with this number, a short name for people and command lines, and the noun that
    /// follows it, as in "bloom filter" or "similarity index".
    ///
    /// ```
    /// use crivo::codec::FileKind;
    ///
    /// const INDEX: FileKind = FileKind::new(200, "word", "index");
    /// assert_eq!(INDEX.description(), "word index");
    /// ```
    pub const fn new(id: u8, name: &'static str, noun: &'static str) -> Self {
        Self { id, name, noun }
    }

    /// The kind with this number, of which nothing else is known.
    ///
    /// ```
    /// use crivo::codec::FileKind;
    ///
    /// assert_eq!(FileKind::unnamed(200), FileKind::new(200, "word", "index"));
    /// assert_eq!(FileKind::unnamed(200).name(), None);
    /// ```
    pub const fn unnamed(id: u8) -> Self {
        Self::new(id, "", "")
    }

    /// The number that stands for this kind in files.
    ///
    /// ```
    /// use crivo::codec::FileKind;
    ///
    /// assert_eq!(FileKind::new(200, "word", "index").id(), 200);
    /// ```
    pub const fn id(self) -> u8 {
        self.id
    }

    /// A short name for people and command lines, if it is known.
    ///
    /// ```
    /// use crivo::codec::FileKind;
    ///
    /// assert_eq!(FileKind::new(200, "word", "index").name(), Some("word"));
    /// ```
    pub const fn name(self) -> Option<&'static str> {
        if self.name.is_empty() { None } else { Some(self.name) }
    }

    /// What a file of this kind is, for messages: "bloom filter", or "file of kind 201".
    ///
    /// ```
    /// use crivo::filter::Kind;
    ///
    /// assert_eq!(Kind::Bloom.file_kind().description(), "bloom filter");
    /// ```
    pub fn description(self) -> String {
        match self.name() {
            Some(name) => format!("{name} {}", self.noun),
            None => format!("file of kind {}", self.id),
        }
    }

    /// For [`Persist::parse`](super::Persist::parse): checks that a file is of this kind.
    ///
    /// ```
    /// use crivo::codec::FileKind;
    ///
    /// let index = FileKind::new(200, "word", "index");
    /// assert!(index.expect(FileKind::unnamed(200)).is_ok());
    /// assert!(index.expect(FileKind::unnamed(201)).is_err());
    /// ```
    ///
    /// # Errors
    /// If it is of another one.
    pub fn expect(self, found: Self) -> Result<(), DecodeError> {
        if self == found { Ok(()) } else { Err(DecodeError::WrongKind { expected: self, found }) }
    }
}

impl PartialEq for FileKind {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Hash for FileKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("kind {}", self.id)),
        }
    }
}
