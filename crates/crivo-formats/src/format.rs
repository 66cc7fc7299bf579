//! The table of formats.

use crivo::BuildError;
use crivo::filter::Operation;

use crate::{ChangeError, ForeignFilter, FormatError, KeyType, TypedKey};

/// One format: what it is called, what it can do, and how it is read and made.
#[derive(Debug)]
#[non_exhaustive]
pub struct Format {
    /// The name for people and command lines, such as `spark`.
    pub name: &'static str,
    /// The system and its versions, in a few words.
    pub description: &'static str,
    /// How a file of this format can be told from others.
    pub recognition: Recognition,
    /// The types of its keys. With [`KeyType::Bytes`] also [`KeyType::Hex`] can be asked for.
    pub key_types: &'static [KeyType],
    /// What can be done with its filters, besides reading and asking.
    pub operations: &'static [Operation],
    /// Reads a filter.
    pub read: ReadFunction,
    /// Makes a filter.
    pub create: Create,
}

/// Reads a filter of one format from the bytes of its file.
pub type ReadFunction = fn(&[u8], &FormatOptions) -> Result<Box<dyn ForeignFilter>, FormatError>;

/// How a file of a format can be told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// It begins with one of these, as no file of another format does.
    Magic(&'static [&'static [u8]]),
    /// Its length follows from its header, which few other files satisfy by chance.
    Structure,
    /// Nearly any bytes could be a file of this format.
    Nothing,
}

/// How a filter of a format is made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Create {
    /// An empty one, for a number of keys and a false-positive rate, which is then filled.
    Empty(fn(u64, f64) -> Result<Box<dyn ForeignFilter>, BuildError>),
    /// From all its keys at once, which are few enough to be in memory.
    FromKeys(BuildFunction),
}

/// Makes a filter of one format from all its keys.
pub type BuildFunction =
    fn(&[TypedKey<'_>], &FormatOptions) -> Result<Box<dyn ForeignFilter>, ChangeError>;

/// What must be known about filters of some formats, and is not in their files.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The hash of the block that a filter of BIP 158 is about, in the order of its bytes, which is
    /// the reverse of what is printed.
    pub block_hash: Option<[u8; 32]>,
}

impl Format {
    /// Whether keys of this type can be asked for.
    ///
    /// ```
    /// use crivo_formats::{KeyType, by_name};
    ///
    /// let format = by_name("dcso").expect("it is in the table");
    /// assert!(format.has_keys_of(KeyType::Text) && !format.has_keys_of(KeyType::Int64));
    /// ```
    pub fn has_keys_of(&self, key_type: KeyType) -> bool {
        let key_type = if key_type == KeyType::Hex { KeyType::Bytes } else { key_type };
        self.key_types.contains(&key_type)
    }
}

/// Every format, in the order of the documentation.
pub static FORMATS: &[Format] = &[
    #[cfg(feature = "spark")]
    crate::spark::V1_FORMAT,
    #[cfg(feature = "spark")]
    crate::spark::V2_FORMAT,
    #[cfg(feature = "guava")]
    crate::guava::MITZ64_FORMAT,
    #[cfg(feature = "guava")]
    crate::guava::MITZ32_FORMAT,
    #[cfg(feature = "cassandra")]
    crate::cassandra::V4_FORMAT,
    #[cfg(feature = "cassandra")]
    crate::cassandra::V3_FORMAT,
    #[cfg(feature = "cassandra")]
    crate::cassandra::V2_FORMAT,
    #[cfg(feature = "redis")]
    crate::redis::BLOOM_FORMAT,
    #[cfg(feature = "redis")]
    crate::redis::CUCKOO_FORMAT,
    #[cfg(feature = "datasketches")]
    crate::datasketches::FORMAT,
    #[cfg(feature = "xor")]
    crate::xor::XOR8_FORMAT,
    #[cfg(feature = "xor")]
    crate::xor::XOR16_FORMAT,
    #[cfg(feature = "xor")]
    crate::xor::FUSE8_FORMAT,
    #[cfg(feature = "xor")]
    crate::xor::FUSE16_FORMAT,
    #[cfg(feature = "bits-and-blooms")]
    crate::bits_and_blooms::FORMAT,
    #[cfg(feature = "dcso")]
    crate::dcso::FORMAT,
    #[cfg(feature = "bitcoin")]
    crate::bitcoin::BIP37_FORMAT,
    #[cfg(feature = "bitcoin")]
    crate::bitcoin::BIP158_FORMAT,
    #[cfg(feature = "parquet")]
    crate::parquet::FORMAT,
];

/// The format with this name.
///
/// ```
/// use crivo_formats::by_name;
///
/// assert!(by_name("dcso").is_some());
/// assert!(by_name("papyrus").is_none());
/// ```
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The formats that `bytes` may be a file of.
///
/// If they begin with the magic of a format, it is that one. Otherwise it is every format whose
/// reader takes them, but for those that take nearly anything.
///
/// ```
/// assert!(crivo_formats::recognise(b"no filter").is_empty());
/// ```
pub fn recognise(bytes: &[u8]) -> Vec<&'static Format> {
    let has_magic = |format: &&Format| match format.recognition {
        Recognition::Magic(magics) => magics.iter().any(|magic| bytes.starts_with(magic)),
        _ => false,
    };
    if let Some(format) = FORMATS.iter().find(has_magic) {
        return vec![format];
    }
    let is_possible = |format: &&Format| {
        format.recognition == Recognition::Structure
            && (format.read)(bytes, &FormatOptions::default()).is_ok()
    };
    FORMATS.iter().filter(is_possible).collect()
}
