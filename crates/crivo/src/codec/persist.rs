//! What a structure must tell, so that it can be written and read.

use std::fmt;

use super::DecodeError;
use crate::bits::Words;
use crate::filter::Filter;
use crate::{KeyHasher, ParameterError};

/// The kinds of structures that a file can hold, and the numbers that stand for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The classic Bloom filter.
    Bloom,
    /// The blocked Bloom filter.
    Blocked,
    /// The counting Bloom filter.
    Counting,
    /// The cuckoo filter.
    Cuckoo,
    /// The quotient filter.
    Quotient,
    /// The binary fuse filter.
    Fuse,
    /// A growing chain of Bloom filters.
    Growing,
    /// An index of sketches, which finds similar sets. It is no filter.
    Similarity,
    /// A growing chain of blocked Bloom filters.
    GrowingBlocked,
}

impl Kind {
    /// Every kind of filter, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Bloom,
        Self::Blocked,
        Self::Counting,
        Self::Cuckoo,
        Self::Quotient,
        Self::Fuse,
        Self::Growing,
        Self::GrowingBlocked,
    ];

    /// The number that stands for this kind in files. It never changes.
    pub const fn id(self) -> u8 {
        match self {
            Self::Bloom => 1,
            Self::Blocked => 2,
            Self::Counting => 3,
            Self::Cuckoo => 4,
            Self::Quotient => 5,
            Self::Fuse => 6,
            Self::Growing => 7,
            Self::Similarity => 8,
            Self::GrowingBlocked => 9,
        }
    }

    /// The kind with this number, if there is one.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Similarity]).find(|kind| kind.id() == id)
    }

    /// A short name for people and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Blocked => "blocked",
            Self::Counting => "counting",
            Self::Cuckoo => "cuckoo",
            Self::Quotient => "quotient",
            Self::Fuse => "fuse",
            Self::Growing => "growing",
            Self::Similarity => "similarity",
            Self::GrowingBlocked => "growing-blocked",
        }
    }

    /// Whether it is a filter: something that [`AnyFilter`](crate::filter::AnyFilter) can be.
    pub fn is_filter(self) -> bool {
        self != Self::Similarity
    }

    /// The error of whoever was to make a filter of a kind that is none.
    pub(crate) fn no_filter(self) -> ParameterError {
        ParameterError::new("kind", self, "a kind of filter")
    }

    /// What follows the name, as in "bloom filter" or "similarity index".
    pub(super) fn noun(self) -> &'static str {
        if self.is_filter() { "filter" } else { "index" }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Kind {
    type Err = ParameterError;

    /// The kind of filter of that [name](Kind::name).
    ///
    /// ```
    /// use crivo::codec::Kind;
    ///
    /// assert_eq!("cuckoo".parse(), Ok(Kind::Cuckoo));
    /// assert!("cuckold".parse::<Kind>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let allowed =
                "bloom, blocked, counting, cuckoo, quotient, fuse, growing or growing-blocked";
            ParameterError::new("kind", format_args!("{name:?}"), allowed)
        })
    }
}

/// A filter as the codec sees it: a few numbers, and one run of words.
///
/// Reading is total. Whatever the numbers and the words are, `from_parts` answers an error or a
/// filter that is safe to ask, even if its answers are nonsense: a mapped payload may not have been
/// verified.
pub(crate) trait Persist: Filter + Sized {
    /// The kind that stands in the file.
    const KIND: Kind;

    /// The numbers that describe the filter beside its kind, hasher and key count, in the order
    /// that docs/format.md lists them; at most 64.
    fn parameters(&self) -> Vec<u64>;

    /// How many words a filter with these parameters has. It is asked before anything is
    /// allocated.
    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError>;

    /// The words, in pieces that are written one after another.
    fn payload(&self) -> Vec<&[u64]>;

    /// The filter with these parts. The payload has just the length that `payload_length` gave.
    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError>;
}

/// What can stand in a file: a filter of one kind (`Persist`), one of whatever kind the file has,
/// or something that is no filter. It seals [`Save`](super::Save), for nobody outside can name it.
pub trait Stored: Sized {
    /// The kind.
    fn stored_kind(&self) -> Kind;

    /// The hash function that its keys went through.
    fn stored_hasher(&self) -> KeyHasher;

    /// How many keys are in it.
    fn stored_key_count(&self) -> u64;

    /// As in `Persist`.
    fn stored_parameters(&self) -> Vec<u64>;

    /// As in `Persist`.
    fn stored_payload(&self) -> Vec<&[u64]>;

    /// As in `Persist`, or an error if a filter of this kind is not what was asked for.
    fn stored_length(kind: Kind, parameters: &[u64]) -> Result<u64, DecodeError>;

    /// As in `Persist`. The kind has been seen by `stored_length`.
    fn from_stored(
        kind: Kind,
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError>;
}

impl<F: Persist> Stored for F {
    fn stored_kind(&self) -> Kind {
        F::KIND
    }

    fn stored_hasher(&self) -> KeyHasher {
        self.hasher()
    }

    fn stored_key_count(&self) -> u64 {
        self.key_count()
    }

    fn stored_parameters(&self) -> Vec<u64> {
        self.parameters()
    }

    fn stored_payload(&self) -> Vec<&[u64]> {
        self.payload()
    }

    fn stored_length(kind: Kind, parameters: &[u64]) -> Result<u64, DecodeError> {
        if kind != F::KIND {
            return Err(DecodeError::WrongKind { expected: F::KIND, found: kind });
        }
        F::payload_length(parameters)
    }

    fn from_stored(
        _: Kind,
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        F::from_parts(hasher, key_count, parameters, payload)
    }
}
