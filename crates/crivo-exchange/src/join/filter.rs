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
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// let filter = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert!(!filter.may_contain("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        Ok(Self { bloom: Bloom::with_hasher(capacity, fpr, hasher)? })
    }

    /// Inserts a key: the step of an aggregate function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// let mut filter = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// filter.insert("ana");
    /// assert!(filter.may_contain("ana"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        self.insert_digest(self.bloom.hasher().digest(key));
    }

    pub(super) fn insert_digest(&mut self, key: crivo::Digest) {
        self.bloom.insert_digest(key);
    }

    /// Inserts all keys of another filter: the merge of an aggregate function's states.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// let mut all = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// let mut part = all.clone();
    /// part.insert("ana");
    /// all.union_with(&part)?;
    /// assert!(all.may_contain("ana"));
    /// let other = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(8))?;
    /// assert!(all.union_with(&other).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it has another capacity, FPR or hasher. Nothing has changed.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        self.bloom.union_with(&other.bloom)
    }

    /// Whether the key may be among them; `false` is certain: the scalar function.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// let mut filter = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// filter.insert(&17u64);
    /// assert!(filter.may_contain(&17u64) && !filter.may_contain(&18u64));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn may_contain<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.bloom.contains(key)
    }

    /// The hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// assert_eq!(KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.bloom.hasher()
    }

    /// The filter as bytes: the value of the aggregate function, or its state.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Bloom;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// // They are those of a Bloom filter.
    /// let filter = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert!(Bloom::from_bytes(&filter.to_bytes()).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bloom.to_bytes()
    }

    /// Decodes a filter.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_exchange::join::KeyFilter;
    ///
    /// let filter = KeyFilter::new(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert_eq!(KeyFilter::from_bytes(&filter.to_bytes())?, filter);
    /// assert!(KeyFilter::from_bytes(b"hello").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { bloom: Bloom::from_bytes(bytes)? })
    }
}
