//! The filter of join keys, as an aggregate and a scalar function.

use crivo::codec::DecodeError;
use crivo::filter::{Bloom, RebuildError};
use crivo::{BuildError, Key, KeyHasher};

/// A filter of join keys that is built in parts, merged, sent, and queried.
///
/// All partial filters of a join have the same capacity, FPR and hasher: those for all keys together.
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
    /// An empty filter for `capacity` different keys at the false-positive rate `fpr`.
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Ok(Self { bloom: Bloom::with_hasher(capacity, fpr, hasher)? })
    }

    /// Inserts a key: the step of an aggregate function.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        self.insert_digest(self.bloom.hasher().digest(key));
    }

    pub(super) fn insert_digest(&mut self, key: crivo::Digest) {
        self.bloom.insert_digest(key);
    }

    /// Inserts all keys of another filter: the merge of an aggregate function's states.
    ///
    /// # Errors
    /// If it has another capacity, FPR or hasher. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        self.bloom.union_with(&other.bloom)
    }

    /// Whether the key may be among them; `false` is certain: the scalar function.
    #[inline]
    pub fn may_contain<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.bloom.contains(key)
    }

    /// The hasher.
    pub fn hasher(&self) -> KeyHasher {
        self.bloom.hasher()
    }

    /// The filter as bytes: the value of the aggregate function, or its state.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bloom.to_bytes()
    }

    /// Decodes a filter.
    ///
    /// # Errors
    /// If the bytes are not such a filter.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { bloom: Bloom::from_bytes(bytes)? })
    }
}
