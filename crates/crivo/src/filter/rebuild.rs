//! Why two filters do not become one.

use std::fmt;

use super::{Full, Kind};
use crate::persist::Metadata;
use crate::{BuildError, KeyHasher};

/// Two filters cannot be merged: a parameter differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incompatible {
    /// Which parameter.
    pub parameter: &'static str,
    /// Its value in the filter that was to take the other in.
    pub ours: String,
    /// Its value in the other.
    pub theirs: String,
}

impl Incompatible {
    /// Says that `parameter` is `ours` here and `theirs` there.
    pub fn new(
        parameter: &'static str,
        ours: impl fmt::Display,
        theirs: impl fmt::Display,
    ) -> Self {
        Self { parameter, ours: ours.to_string(), theirs: theirs.to_string() }
    }

    /// An error unless the two hashers are the same.
    pub(crate) fn unless_same_hasher(ours: KeyHasher, theirs: KeyHasher) -> Result<(), Self> {
        if ours == theirs {
            Ok(())
        } else {
            Err(Self::new("hash function", ours.identity(), theirs.identity()))
        }
    }

    /// An error unless the two values are equal.
    pub(crate) fn unless_equal<T: PartialEq + fmt::Display>(
        parameter: &'static str,
        ours: T,
        theirs: T,
    ) -> Result<(), Self> {
        if ours == theirs { Ok(()) } else { Err(Self::new(parameter, ours, theirs)) }
    }

    /// The metadata of a union: the entries of both; where both have a name, ours.
    ///
    /// An error if the keys were made in different ways, or there is too much text.
    pub(crate) fn merged_metadata(ours: &Metadata, theirs: &Metadata) -> Result<Metadata, Self> {
        let encoding =
            |metadata: &Metadata| metadata.get(Metadata::KEY_ENCODING).map(str::to_owned);
        if let (Some(ours), Some(theirs)) = (encoding(ours), encoding(theirs)) {
            Self::unless_equal(Metadata::KEY_ENCODING, ours, theirs)?;
        }
        ours.merged(theirs).map_err(|_| {
            let size = |metadata: &Metadata| format!("{} bytes", metadata.size_in_bytes());
            Self::new("metadata", size(ours), size(theirs))
        })
    }
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parameter, ours, theirs } = self;
        write!(
            f,
            "the filters cannot be merged: {parameter} is {ours} in one and {theirs} in the other"
        )
    }
}

impl std::error::Error for Incompatible {}

/// Why a filter could not be made anew: united with another, or expanded. It is as it was.
///
/// Where nothing but [`Incompatible`] can happen, as in the union of two Bloom filters, that is the
/// error.
///
/// ```
/// use crivo::filter::{AnyFilter, Bloom, Cuckoo, RebuildError};
///
/// let mut bloom = AnyFilter::from(Bloom::new(100, 0.01)?);
/// let cuckoo = AnyFilter::from(Cuckoo::new(100, 0.01)?);
/// let Err(RebuildError::Incompatible(error)) = bloom.union_with(&cuckoo) else { panic!() };
/// assert_eq!((error.parameter, &*error.ours, &*error.theirs), ("kind", "bloom", "cuckoo"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebuildError {
    /// The filters differ in a parameter, or in their kind.
    Incompatible(Incompatible),
    /// No two filters of this kind can be merged.
    Impossible(Kind),
    /// There is no place for all keys, of which it tells the number.
    Full(Full),
    /// A parameter would be out of range, or there is no memory for the new table.
    Build(BuildError),
    /// A table contradicts itself, as one that was read from a damaged file may.
    Damaged,
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incompatible(error) => error.fmt(f),
            Self::Impossible(kind) => write!(
                f,
                "{kind} filters cannot be merged; bloom, blocked, counting, cuckoo and quotient \
                 filters can"
            ),
            Self::Full(Full { key_count, capacity }) if key_count > capacity => {
                write!(f, "there are {key_count} keys, and the filter is made for {capacity}")
            }
            Self::Full(_) => f.write_str("one key has more copies than there is place for"),
            Self::Build(error) => error.fmt(f),
            Self::Damaged => f.write_str("the table of the filter is damaged"),
        }
    }
}

impl std::error::Error for RebuildError {}

impl From<Incompatible> for RebuildError {
    fn from(error: Incompatible) -> Self {
        Self::Incompatible(error)
    }
}

impl From<BuildError> for RebuildError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
