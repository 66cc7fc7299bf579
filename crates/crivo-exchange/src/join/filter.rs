//! The filter of join keys, as an aggregate and a scalar function.

use crivo::codec::DecodeError;
use crivo::filter::{Bloom, RebuildError};
use crivo::{BuildError, Key, KeyHasher};

/// A filter of join keys that is built in parts, merged, sent, and asked.
///
/// All partial filters of a join are made with the same capacity, rate and hasher: that of all keys
/// together.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_exchange::join::KeyFilter;
///
/// // Aggregate function: a state per partition, merged into one.
/// let state = || KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7));
/// let (mut first, mut second) = (state()?, state()?);
/// first.insert("ana");
/// second.insert("rui");
/// first.union_with(&KeyFilter::from_bytes(&second.to_bytes())?)?;
/// let value = first.to_bytes();
///
/// // Scalar function, elsewhere.
/// let filter = KeyFilter::from_bytes(&value)?;
/// assert!(filter.may_contain("ana") && filter.may_contain("rui"));
/// assert!(!filter.may_contain("eva"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFilter {
    bloom: Bloom,
}

impl KeyFilter {
    /// A filter of no keys yet, for `capacity` different ones at a rate of `rate` wrong yeses.
    ///
    /// # Errors
    /// If the capacity is 0, the rate is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, rate: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Ok(Self { bloom: Bloom::with_hasher(capacity, rate, hasher)? })
    }

    /// Takes a key in: the step of an aggregate function.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        self.insert_digest(self.bloom.hasher().digest(key));
    }

    pub(super) fn insert_digest(&mut self, key: crivo::Digest) {
        self.bloom.insert_digest(key);
    }

    /// Takes all keys of another filter in: the merging of an aggregate function's states.
    ///
    /// # Errors
    /// If it was made with another capacity, rate or hasher. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        self.bloom.union_with(&other.bloom)
    }

    /// Whether the key may be among them; `false` is certain: the scalar function.
    #[inline]
    pub fn may_contain<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.bloom.contains(key)
    }

    /// The hash function.
    pub fn hasher(&self) -> KeyHasher {
        self.bloom.hasher()
    }

    /// The filter as bytes: the value of the aggregate function, or its state.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bloom.to_bytes()
    }

    /// The filter that these bytes are.
    ///
    /// # Errors
    /// If they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { bloom: Bloom::from_bytes(bytes)? })
    }
}
