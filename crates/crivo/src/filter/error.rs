//! Why an operation on a filter failed. After every one of these the filter is as it was.

use std::fmt;

use thiserror::Error;

use super::Kind;
use crate::hash::Family;
use crate::persist::Metadata;
use crate::{BuildError, KeyHasher};

/// There is no place for another key. The filter is as it was.
///
/// ```
/// use crivo::filter::Cuckoo;
///
/// let mut filter = Cuckoo::new(1_000, 0.01)?;
/// let full = filter.try_extend(["ana"; 9]).unwrap_err(); // a key has eight slots
/// assert_eq!((full.key_count, full.capacity), (8, 1_000));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the filter has no place for the key: it holds {key_count}, {}", self.reason())]
#[non_exhaustive]
pub struct Full {
    /// How many keys are in the filter.
    pub key_count: u64,
    /// How many it is made for.
    pub capacity: u64,
}

impl Full {
    /// A filter with `key_count` keys, made for `capacity`, is full.
    ///
    /// ```
    /// use crivo::filter::Full;
    ///
    /// let message = Full::new(9, 8).to_string();
    /// assert!(message.ends_with("it holds 9, and is made for 8; build a larger one"));
    /// ```
    pub fn new(key_count: u64, capacity: u64) -> Self {
        Self { key_count, capacity }
    }

    fn reason(&self) -> String {
        let Self { key_count, capacity } = self;
        if key_count < capacity {
            "and this one's places are taken, as by many copies of one key".to_owned()
        } else {
            format!("and is made for {capacity}; build a larger one")
        }
    }
}

/// The key to be removed is certainly not in the filter. The filter is as it was.
///
/// ```
/// use crivo::filter::{Cuckoo, NotPresent};
///
/// assert_eq!(Cuckoo::new(1_000, 0.01)?.remove("ana"), Err(NotPresent));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the key is not in the filter")]
pub struct NotPresent;

/// Two filters cannot be merged: a parameter differs.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::Bloom;
///
/// let mut ours = Bloom::with_size(1_024, 7, KeyHasher::default())?;
/// let theirs = Bloom::with_size(1_024, 6, KeyHasher::default())?;
/// let error = ours.union_with(&theirs).unwrap_err();
/// let message = "the filters cannot be merged: k is 7 in one and 6 in the other";
/// assert_eq!(error.to_string(), message);
///
/// // A filter from before fold64 was the default.
/// let old = Bloom::with_size(1_024, 7, KeyHasher::xxh3(0))?;
/// let error = ours.union_with(&old).unwrap_err().to_string();
/// assert!(error.ends_with("to merge them, build both with KeyHasher::xxh3(0)"), "{error}");
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the filters cannot be merged: {parameter} is {ours} in one and {theirs} in the other{advice}"
)]
#[non_exhaustive]
pub struct Incompatible {
    /// Which parameter.
    pub parameter: &'static str,
    /// Its value in the filter that was to take the other in.
    pub ours: String,
    /// Its value in the other.
    pub theirs: String,
    /// What to do about it, behind a semicolon, if there is something to say.
    advice: String,
}

impl Incompatible {
    /// Says that `parameter` is `ours` here and `theirs` there.
    ///
    /// ```
    /// use crivo::filter::Incompatible;
    ///
    /// let error = Incompatible::new("k", 7, 6);
    /// assert_eq!((error.parameter, &*error.ours, &*error.theirs), ("k", "7", "6"));
    /// ```
    pub fn new(
        parameter: &'static str,
        ours: impl fmt::Display,
        theirs: impl fmt::Display,
    ) -> Self {
        let (ours, theirs) = (ours.to_string(), theirs.to_string());
        Self { parameter, ours, theirs, advice: String::new() }
    }

    /// An error unless the two hashers are the same. If one of them has a secret key, or the family that was
    /// the default once, the error says how to build another filter of it.
    pub(crate) fn unless_same_hasher(ours: KeyHasher, theirs: KeyHasher) -> Result<(), Self> {
        if ours == theirs {
            return Ok(());
        }
        let mut error = Self::new("hash function", ours.identity(), theirs.identity());
        let of = |family| [ours, theirs].into_iter().find(|each| each.family() == family);
        if of(Family::Sip24).is_some() {
            // Whoever has chosen a secret key is not to give it up.
            error.advice =
                "; to merge them, build both with KeyHasher::sip24 and the same secret key"
                    .to_owned();
        } else if ours.family() != theirs.family()
            && let Some(old) = of(Family::Xxh3)
        {
            let seed = old.identity().value();
            error.advice = format!("; to merge them, build both with KeyHasher::xxh3({seed})");
        }
        Err(error)
    }

    /// The metadata of a union: the entries of both; where both have a name, ours.
    ///
    /// An error if the keys were made in different ways, or there is too much text.
    pub(crate) fn merged_metadata(ours: &Metadata, theirs: &Metadata) -> Result<Metadata, Self> {
        Self::unless_same_keys(ours, theirs)?;
        ours.merged(theirs).map_err(|_| {
            let size = |metadata: &Metadata| format!("{} bytes", metadata.size_in_bytes());
            let together = format!("{}, too much for a file with both", size(theirs));
            Self::new("metadata", size(ours), together)
        })
    }

    /// An error if the metadata say that the same key has other bytes in the one than in the other.
    pub(crate) fn unless_same_keys(ours: &Metadata, theirs: &Metadata) -> Result<(), Self> {
        let encoding =
            |metadata: &Metadata| metadata.get(Metadata::KEY_ENCODING).map(str::to_owned);
        if let (Some(ours), Some(theirs)) = (encoding(ours), encoding(theirs)) {
            Self::unless_equal(Metadata::KEY_ENCODING, ours, theirs)?;
        }
        for (name, default) in Metadata::KEY_CHANGES {
            let value = |metadata: &Metadata| metadata.get(name).unwrap_or(default).to_owned();
            Self::unless_equal(name, value(ours), value(theirs))?;
        }
        Ok(())
    }

    /// An error unless the two values are equal.
    pub(crate) fn unless_equal<T: PartialEq + fmt::Display>(
        parameter: &'static str,
        ours: T,
        theirs: T,
    ) -> Result<(), Self> {
        if ours == theirs { Ok(()) } else { Err(Self::new(parameter, ours, theirs)) }
    }
}

/// Why a filter could not be united with another, intersected or expanded. It is as it was.
///
/// ```
/// use crivo::filter::{Bloom, RebuildError};
///
/// let mut small = Bloom::new(100, 0.01)?;
/// let large = Bloom::new(200, 0.01)?;
/// let Err(RebuildError::Incompatible(error)) = small.union_with(&large) else { panic!() };
/// assert_eq!((error.parameter, &*error.ours, &*error.theirs), ("size in bits", "1024", "1984"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The filters differ in a parameter, or in their kind.
    #[error(transparent)]
    Incompatible(#[from] Incompatible),
    /// There is no place for all keys; the field tells how many there are.
    #[error("{}", no_place(.0))]
    Full(Full),
    /// A parameter would be out of range, or there is no memory for the new table.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The table contradicts itself, as one that was read from a damaged file may.
    #[error("the table of the filter is damaged")]
    Damaged,
}

/// Unlike a single insertion, a union that fails says how many keys there would have been.
fn no_place(&Full { key_count, capacity }: &Full) -> String {
    if key_count > capacity {
        format!("there are {key_count} keys, and the filter is made for {capacity}")
    } else {
        "one key has more copies than there is place for".to_owned()
    }
}

/// Something that filters of only some kinds can do.
///
/// ```
/// use crivo::filter::Operation;
///
/// let message = format!("a fuse filter cannot {}", Operation::Remove);
/// assert_eq!(message, "a fuse filter cannot remove keys");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Inserting a key.
    Insert,
    /// Removing a key.
    Remove,
    /// Counting how often a key was inserted.
    Count,
    /// Removing all keys.
    Clear,
    /// Taking in the keys of another filter.
    Union,
    /// Keeping the keys that are in another filter as well.
    Intersect,
}

impl fmt::Display for Operation {
    /// The end of a sentence: "the filter cannot …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Insert => "take more keys",
            Self::Remove => "remove keys",
            Self::Count => "count the copies of a key",
            Self::Clear => "be cleared",
            Self::Union => "be merged",
            Self::Intersect => "be intersected",
        })
    }
}

/// Why an operation on an [`AnyFilter`](super::AnyFilter) failed. The filter is as it was.
///
/// ```
/// use crivo::filter::{AnyFilter, Fuse, OperationError};
///
/// let mut fuse = AnyFilter::from(Fuse::build(["ana"], 0.01)?);
/// let error = fuse.insert("rui").unwrap_err();
/// assert!(matches!(error, OperationError::Unsupported { .. }));
/// assert_eq!(error.to_string(), "a fuse filter cannot take more keys");
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationError {
    /// Filters of this kind cannot do this.
    #[error("a {kind} filter cannot {operation}")]
    Unsupported {
        /// The kind of the filter.
        kind: Kind,
        /// What it was asked to do.
        operation: Operation,
    },
    /// There is no place for the key.
    #[error(transparent)]
    Full(#[from] Full),
    /// The key to be removed is certainly not in the filter.
    #[error(transparent)]
    NotPresent(#[from] NotPresent),
    /// The filter could not be merged with the other.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

/// The filter is of another kind than was asked for. It can be taken back.
///
/// ```
/// use crivo::filter::{AnyFilter, Blocked, Bloom};
///
/// let any = AnyFilter::from(Bloom::new(100, 0.01)?);
/// let error = Blocked::try_from(any).unwrap_err();
/// assert_eq!(error.to_string(), "it is a bloom filter, not a blocked filter");
/// assert!(Bloom::try_from(error.into_filter()).is_ok());
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[error("it is a {} filter, not a {expected} filter", .filter.kind())]
pub struct WrongKind {
    expected: Kind,
    filter: Box<super::AnyFilter>,
}

impl WrongKind {
    pub(super) fn new(expected: Kind, filter: super::AnyFilter) -> Self {
        Self { expected, filter: Box::new(filter) }
    }

    /// The kind that was asked for.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Blocked, Bloom, Kind};
    ///
    /// let error = Blocked::try_from(AnyFilter::from(Bloom::new(100, 0.01)?)).unwrap_err();
    /// assert_eq!(error.expected(), Kind::Blocked);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected(&self) -> Kind {
        self.expected
    }

    /// The filter, as it was.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Blocked, Bloom, Kind};
    ///
    /// let error = Blocked::try_from(AnyFilter::from(Bloom::new(100, 0.01)?)).unwrap_err();
    /// assert_eq!(error.into_filter().kind(), Kind::Bloom);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn into_filter(self) -> super::AnyFilter {
        *self.filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SecretKey;

    /// Of two filters one keeps its hash function: the one with a secret key, or else the older one.
    #[test]
    fn advice_never_gives_up_a_secret_key() {
        let secret = |byte| KeyHasher::sip24(SecretKey::new([byte; 16]));
        let same_key = "build both with KeyHasher::sip24 and the same secret key";
        for (one, other, advice) in [
            (secret(1), KeyHasher::fold64(5), same_key),
            (secret(1), KeyHasher::xxh3(5), same_key),
            (secret(1), KeyHasher::murmur3(5), same_key),
            (secret(1), secret(2), same_key),
            (KeyHasher::fold64(0), KeyHasher::xxh3(5), "build both with KeyHasher::xxh3(5)"),
        ] {
            for (ours, theirs) in [(one, other), (other, one)] {
                let error = Incompatible::unless_same_hasher(ours, theirs).unwrap_err().to_string();
                assert!(error.ends_with(&format!("; to merge them, {advice}")), "{error}");
            }
        }
        for (ours, theirs) in [
            (KeyHasher::fold64(1), KeyHasher::fold64(2)),
            (KeyHasher::fold64(1), KeyHasher::farm(1)),
        ] {
            let error = Incompatible::unless_same_hasher(ours, theirs).unwrap_err().to_string();
            assert!(error.ends_with(&format!("{} in the other", theirs.identity())), "{error}");
        }
    }
}
