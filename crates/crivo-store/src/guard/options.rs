//! What guard to build.

use crivo::filter::{AnyFilter, Kind, Spec, SpecError};
use crivo::hash::SecretKey;
use crivo::{Digest, Key, KeyHasher};

use super::tables::Tables;

/// Which filter a guard is, and how it hashes.
///
/// | kind | a new key | a deleted key |
/// |---|---|---|
/// | cuckoo, quotient, counting, blocked-counting | is inserted | is removed |
/// | fuse | goes into a second filter until the next rebuild | stays until the next rebuild |
/// | any other | is inserted | stays until the next rebuild |
///
/// Choose cuckoo for data that change, fuse, the smallest, for data that hardly ever do, and blocked,
/// the fastest, where keys are only added. For a store that does not tell whether a key was there
/// ([`Existed::Unknown`](crate::Existed::Unknown)) choose a kind that removes nothing: others would
/// take a copy for every write of the same key.
///
/// Where strangers choose the questions, use a [secret key](Self::secret_key): whoever knows the seed
/// can find keys that the guard lets through, and send every question to the store.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::hash::SecretKey;
/// use crivo_store::GuardOptions;
///
/// let options = GuardOptions::new(Kind::Cuckoo, 0.001)?.secret_key(SecretKey::new([7; 16]));
/// assert_eq!(options.kind(), Kind::Cuckoo);
/// assert!(GuardOptions::new(Kind::Cuckoo, 1.5).is_err());
/// # Ok::<(), crivo::filter::SpecError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GuardOptions {
    pub(super) kind: Kind,
    pub(super) fpr: f64,
    pub(crate) hasher: KeyHasher,
    pub(super) late_writes: bool,
    /// Whether keys stay until the next rebuild, also in a filter that could remove them.
    pub(super) keeps_keys: bool,
}

impl GuardOptions {
    /// A filter of this kind with at most this false-positive rate, by fold64 with seed 0.
    ///
    /// Between two rebuilds the FPR may reach 1.5 times this one, and keys that were deleted but not
    /// removed add to it.
    ///
    /// # Errors
    /// If the FPR is not strictly between 0 and 1, or is too small for the kind.
    pub fn new(kind: Kind, fpr: f64) -> Result<Self, SpecError> {
        let hasher = KeyHasher::default();
        let options = Self { kind, fpr, hasher, late_writes: true, keeps_keys: false };
        // The filters themselves decide what they support.
        Tables::build(&options, Vec::<Digest>::new())?;
        Ok(options)
    }

    /// Hashes with this hasher.
    pub fn hasher(self, hasher: KeyHasher) -> Self {
        Self { hasher, ..self }
    }

    /// Hashes with SipHash-2-4 under this secret key.
    pub fn secret_key(self, key: SecretKey) -> Self {
        self.hasher(KeyHasher::sip24(key))
    }

    /// Whether a write that was given up may still reach the store later, as over a network: the
    /// default. Then its key stays in the guard for good. A [`Guarded`](crate::Guarded) takes this
    /// from its store.
    pub fn late_writes(self, late_writes: bool) -> Self {
        Self { late_writes, ..self }
    }

    /// Keeps keys until the next rebuild, also in a filter that could remove them.
    #[cfg(feature = "async")]
    pub(crate) fn keep_keys(self) -> Self {
        Self { keeps_keys: true, ..self }
    }

    /// A filter of these keys that will not change.
    pub(crate) fn build_filter(&self, digests: Vec<Digest>) -> Result<AnyFilter, SpecError> {
        let capacity = (digests.len() as u64).max(1);
        Spec::for_fpr(self.kind, capacity, self.fpr)?.build_from(digests, self.hasher)
    }

    /// The digest of a key, as the guard needs it.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.hasher.digest(key)
    }

    /// The kind of filter.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The false-positive rate.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }
}
