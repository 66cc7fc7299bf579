//! Approximate membership: *certainly not*, or *probably yes*, in a few bits per key.

mod any;
mod atomic;
pub mod blocked;
pub mod bloom;
pub mod choose;
pub mod counting;
pub mod cuckoo;
pub mod fuse;
pub mod growing;
mod kind;
pub mod plan;
pub mod quotient;
mod rebuild;

use std::fmt;

pub use any::AnyFilter;
pub use atomic::AtomicBloom;
pub use blocked::Blocked;
pub use bloom::Bloom;
pub use counting::{Count, CounterWidth, CountingBloom};
pub use cuckoo::Cuckoo;
pub use fuse::{Fuse, FuseError, FuseOptions};
pub use growing::{Growing, GrowingBlocked};
pub use kind::Kind;
pub(crate) use kind::for_each_kind;
pub use plan::{Plan, PlanError};
pub use quotient::Quotient;
pub use rebuild::{Incompatible, RebuildError};

use crate::{Digest, Key, KeyHasher};

/// The read side of a filter. `false` is certain; `true` is wrong at a known rate.
///
/// Methods on digests exist for every question, so that one hash can probe many filters. A digest
/// must come from this filter's [`hasher`](Self::hasher): with another one's the answer is about
/// some other key, which no filter can notice.
pub trait Filter {
    /// Whether the key with this digest may be a member. `false` is certain.
    fn contains_digest(&self, key: Digest) -> bool;

    /// Answers for many keys at once: `hits[i]` for `keys[i]`. It fetches ahead where that pays.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
        assert_eq!(keys.len(), hits.len(), "one answer for each key");
        for (key, hit) in keys.iter().zip(hits) {
            *hit = self.contains_digest(*key);
        }
    }

    /// How many keys there are: successful insertions less removals. A static filter counts
    /// distinct keys; after a union it is an upper bound.
    fn key_count(&self) -> u64;

    /// The memory of the table, in bits.
    fn size_in_bits(&self) -> u64;

    /// The mean rate of wrong yeses that theory gives for the present [`key_count`](Self::key_count).
    fn expected_fpr(&self) -> f64;

    /// The hash function.
    fn hasher(&self) -> KeyHasher;

    /// Whether `key` may be a member. `false` is certain.
    #[inline(always)]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool
    where
        Self: Sized,
    {
        self.contains_digest(self.hasher().digest(key))
    }

    /// Bits of memory per key, now.
    fn bits_per_key(&self) -> f64 {
        self.size_in_bits() as f64 / self.key_count().max(1) as f64
    }
}

/// A filter that takes keys one by one.
pub trait DynamicFilter: Filter {
    /// Makes the key with this digest a member.
    ///
    /// # Errors
    /// If there is no place for it. The filter is as it was: every key is still in it.
    fn insert_digest(&mut self, key: Digest) -> Result<(), Full>;

    /// How many keys it is made for. Bloom filters accept more, at a higher rate of wrong yeses.
    fn capacity(&self) -> u64;

    /// Makes `key` a member.
    ///
    /// # Errors
    /// If there is no place for it. The filter is as it was.
    #[inline(always)]
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full>
    where
        Self: Sized,
    {
        let digest = self.hasher().digest(key);
        self.insert_digest(digest)
    }
}

/// A filter that gives keys back.
///
/// Only remove what was inserted. A key that never was, but that the filter takes for a member,
/// shares its traces with a key that was: removing the one makes the other a **false negative**.
pub trait RemovableFilter: DynamicFilter {
    /// Takes out one insertion of the key with this digest.
    ///
    /// # Errors
    /// If the key is certainly not a member. Nothing has changed.
    fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent>;

    /// Takes out one insertion of `key`.
    ///
    /// # Errors
    /// If the key is certainly not a member. Nothing has changed.
    #[inline(always)]
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), NotPresent>
    where
        Self: Sized,
    {
        let digest = self.hasher().digest(key);
        self.remove_digest(digest)
    }
}

/// There is no place for another key. The filter is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Full {
    /// How many keys are in the filter.
    pub key_count: u64,
    /// How many it is made for.
    pub capacity: u64,
}

impl Full {
    /// A filter with `key_count` keys, made for `capacity`, is full.
    pub fn new(key_count: u64, capacity: u64) -> Self {
        Self { key_count, capacity }
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key_count, capacity } = self;
        write!(f, "the filter has no place for the key: it holds {key_count}, ")?;
        if key_count < capacity {
            write!(f, "and this one's places are taken, as by many copies of one key")
        } else {
            write!(f, "and is made for {capacity}; build a larger one")
        }
    }
}

impl std::error::Error for Full {}

/// The key to be removed is certainly not in the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPresent;

impl fmt::Display for NotPresent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key is not in the filter")
    }
}

impl std::error::Error for NotPresent {}
