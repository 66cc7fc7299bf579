//! The hash families, and the identity by which a file names one.

use std::fmt;

use siphasher::sip::SipHasher24;

use super::{Digest, Key, farm, fold64};
use crate::ParameterError;

/// The families of hash functions that crivo knows. A family and a seed make a [`KeyHasher`].
///
/// ```
/// use crivo::hash::Family;
///
/// assert_eq!(Family::from_id(Family::Xxh3.id()), Some(Family::Xxh3));
/// assert_eq!(Family::Xxh3.name(), "xxh3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// XXH3-64, seeded: the default before there was [`Fold64`](Self::Fold64).
    Xxh3,
    /// SipHash-2-4 under a secret 128-bit key.
    Sip24,
    /// FarmHash's portable `farmhashna` variant: `Hash64WithSeed`.
    Farm,
    /// FarmHash's `Fingerprint64`, which is `farmhashna::Hash64`: it has no seed.
    FarmFingerprint,
    /// MurmurHash3 x64-128; its low half is the digest.
    Murmur3,
    /// XXH64, seeded: the predecessor of XXH3, in which Parquet's filters hash their values.
    Xxh64,
    /// Folded multiplications, seeded: crivo's own, for speed in filters. The default.
    Fold64,
}

impl Family {
    /// Every family, in the order of their numbers.
    ///
    /// ```
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(Family::ALL.map(Family::id), [1, 2, 3, 4, 5, 6, 7]);
    /// ```
    pub const ALL: [Self; 7] = [
        Self::Xxh3,
        Self::Sip24,
        Self::Farm,
        Self::FarmFingerprint,
        Self::Murmur3,
        Self::Xxh64,
        Self::Fold64,
    ];

    /// The number that stands for this family in files. It never changes.
    ///
    /// ```
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(Family::Sip24.id(), 2);
    /// ```
    pub const fn id(self) -> u8 {
        match self {
            Self::Xxh3 => 1,
            Self::Sip24 => 2,
            Self::Farm => 3,
            Self::FarmFingerprint => 4,
            Self::Murmur3 => 5,
            Self::Xxh64 => 6,
            Self::Fold64 => 7,
        }
    }

    /// The family with this number, if there is one.
    ///
    /// ```
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(Family::from_id(2), Some(Family::Sip24));
    /// assert_eq!(Family::from_id(0), None);
    /// ```
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.id() == id)
    }

    /// A short name for people and command lines.
    ///
    /// ```
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(Family::FarmFingerprint.name(), "farm-fingerprint");
    /// assert_eq!("farm-fingerprint".parse(), Ok(Family::FarmFingerprint));
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Sip24 => "sip24",
            Self::Farm => "farm",
            Self::FarmFingerprint => "farm-fingerprint",
            Self::Murmur3 => "murmur3",
            Self::Xxh64 => "xxh64",
            Self::Fold64 => "fold64",
        }
    }

    /// Whether different seeds give different functions: all but `FarmFingerprint`.
    ///
    /// ```
    /// use crivo::hash::Family;
    ///
    /// let fixed: Vec<_> = Family::ALL.into_iter().filter(|family| !family.is_seeded()).collect();
    /// assert_eq!(fixed, [Family::FarmFingerprint]);
    /// ```
    pub const fn is_seeded(self) -> bool {
        !matches!(self, Self::FarmFingerprint)
    }

    /// The member of this family that a small number picks, for experiments over many families.
    ///
    /// Fold64, XXH3, XXH64 and FarmHash take the seed as it is. Murmur3 takes its low 32 bits; SipHash a key
    /// spread from the seed, which is no secret; `FarmFingerprint` ignores it.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(Family::Farm.with_seed(7), KeyHasher::farm(7));
    /// ```
    pub fn with_seed(self, seed: u64) -> KeyHasher {
        match self {
            Self::Xxh3 => KeyHasher::xxh3(seed),
            Self::Sip24 => {
                let low = Digest::new(seed).remix();
                KeyHasher::sip24(SecretKey::from_halves(low.get(), low.remix().get()))
            }
            Self::Farm => KeyHasher::farm(seed),
            Self::FarmFingerprint => KeyHasher::farm_fingerprint(),
            Self::Murmur3 => KeyHasher::murmur3(seed as u32),
            Self::Xxh64 => KeyHasher::xxh64(seed),
            Self::Fold64 => KeyHasher::fold64(seed),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Family {
    type Err = ParameterError;

    fn from_str(name: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|family| family.name() == name).ok_or_else(|| {
            ParameterError::new(
                "hash family",
                format_args!("{name:?}"),
                "fold64, xxh3, sip24, farm, farm-fingerprint, murmur3 or xxh64",
            )
        })
    }
}

/// A 128-bit key for SipHash. It is never printed and never written to a file.
///
/// Take it from a source of true randomness, and keep it where the adversary cannot read it.
///
/// ```
/// use crivo::hash::SecretKey;
///
/// let key = SecretKey::new([7; 16]);
/// assert_eq!(format!("{key:?}"), "SecretKey(…)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey {
    halves: [u64; 2],
}

impl SecretKey {
    /// The key that these 16 bytes are, in SipHash's own (little-endian) order.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// // The key and the digest of no bytes that SipHash's authors published.
    /// let key = SecretKey::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    /// assert_eq!(KeyHasher::sip24(key).digest("").get(), 0x726f_db47_dd0e_0e31);
    /// ```
    pub const fn new(bytes: [u8; 16]) -> Self {
        let whole = u128::from_le_bytes(bytes);
        Self::from_halves(whole as u64, (whole >> 64) as u64)
    }

    const fn from_halves(low: u64, high: u64) -> Self {
        Self { halves: [low, high] }
    }

    fn sip24(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_keys(self.halves[0], self.halves[1]).hash(bytes)
    }

    /// A key that follows from this one and `purpose`, and tells nothing about it.
    fn derive(&self, purpose: &[u8]) -> Self {
        let first = self.sip24(purpose);
        Self::from_halves(first, self.sip24(&[&first.to_le_bytes(), purpose].concat()))
    }

    /// What a file may know of the key: enough to recognise it, nothing to rebuild it from.
    ///
    /// It is made under a derived key, so that no digest of a user's key is ever given away.
    fn check_value(&self) -> u64 {
        self.derive(b"crivo key check").sip24(b"")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// A hash family with its seed: makes a [`Digest`] of a [`Key`].
///
/// Two hashers are equal when they give equal digests. The default is fold64 with seed 0.
///
/// ```
/// use crivo::KeyHasher;
///
/// let hasher = KeyHasher::fold64(0);
/// assert_eq!(hasher, KeyHasher::default());
/// assert_ne!(hasher.digest("ana"), KeyHasher::fold64(1).digest("ana"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHasher {
    family: Family,
    /// The seed; of a secret key the lower half.
    seed: u64,
    /// What else the family needs: the other half of a secret key; of fold64 what the seed becomes, to be
    /// computed once and not for every key. Otherwise 0.
    more: u64,
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHasher({})", self.identity())
    }
}

impl Default for KeyHasher {
    fn default() -> Self {
        Self::fold64(0)
    }
}

impl KeyHasher {
    /// XXH3-64 with a public seed: stable, specified, and in wide use. Filters made by default before
    /// [fold64](Self::fold64) have it, with seed 0.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::xxh3(0).digest("").get(), 0x2d06_8005_38d3_94c2);
    /// ```
    pub const fn xxh3(seed: u64) -> Self {
        Self { family: Family::Xxh3, seed, more: 0 }
    }

    /// SipHash-2-4 under a secret key: for keys that an adversary may choose.
    ///
    /// See [the module](super#adversaries) for what this stops and what it does not.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// let ours = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// let guessed = KeyHasher::sip24(SecretKey::new([8; 16]));
    /// assert_ne!(ours.digest("ana"), guessed.digest("ana"));
    /// ```
    pub const fn sip24(key: SecretKey) -> Self {
        let [seed, more] = key.halves;
        Self { family: Family::Sip24, seed, more }
    }

    /// FarmHash's portable `farmhashna::Hash64WithSeed`: the same value on every processor.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::farm(7).seed(), Some(7));
    /// assert_ne!(KeyHasher::farm(7).digest("ana"), KeyHasher::farm(8).digest("ana"));
    /// ```
    pub const fn farm(seed: u64) -> Self {
        Self { family: Family::Farm, seed, more: 0 }
    }

    /// FarmHash's `Fingerprint64`, fixed for all time by its authors. It has no seed.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::farm_fingerprint().digest("").get(), 0x9ae1_6a3b_2f90_404f);
    /// ```
    pub const fn farm_fingerprint() -> Self {
        Self { family: Family::FarmFingerprint, seed: 0, more: 0 }
    }

    /// MurmurHash3 x64-128 with a public seed; its low half is the digest.
    ///
    /// For files of other systems. There are keys that collide under every seed.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::murmur3(0).digest("hello").get(), 0xcbd8_a7b3_41bd_9b02);
    /// ```
    pub const fn murmur3(seed: u32) -> Self {
        Self { family: Family::Murmur3, seed: seed as u64, more: 0 }
    }

    /// XXH64 with a public seed, for files of other systems. [XXH3](Self::xxh3) is faster.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::xxh64(0).digest("").get(), 0xef46_db37_51d8_e999);
    /// ```
    pub const fn xxh64(seed: u64) -> Self {
        Self { family: Family::Xxh64, seed, more: 0 }
    }

    /// Folded multiplications with a public seed: stable, specified in `docs/format.md`, and the fastest
    /// here for keys of up to 32 bytes.
    ///
    /// It was made for this library's filters, and has none of the others' long use elsewhere. There are
    /// keys that collide under every seed: see [the module](super#adversaries).
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::fold64(0).digest("").get(), 0x3611_f9c9_a992_7cc9);
    /// ```
    pub const fn fold64(seed: u64) -> Self {
        Self { family: Family::Fold64, seed, more: fold64::start(seed) }
    }

    /// The digest of `key`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// let hasher = KeyHasher::default();
    /// assert_eq!(hasher.digest("ana"), hasher.digest(&b"ana"[..]));
    /// assert_eq!(hasher.digest(&1u16), hasher.digest(&[1u8, 0]));
    /// ```
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        // The family first: the bytes of an integer are then nowhere but in a register.
        Digest::new(if self.family == Family::Fold64 {
            key.with_bytes(|bytes| fold64::digest(bytes, self.more))
        } else {
            unlikely();
            key.with_bytes(|bytes| digest_of_family(self.family, self.seed, self.more, bytes))
        })
    }

    /// The digests of many keys, `digests[i]` for `keys[i]`: what the batches of filters are asked with.
    /// For integers it is faster than one by one.
    ///
    /// ```
    /// use crivo::{Digest, KeyHasher};
    ///
    /// let hasher = KeyHasher::default();
    /// let mut digests = [Digest::new(0); 3];
    /// hasher.digest_batch(&[5u64, 6, 7], &mut digests);
    /// assert_eq!(digests[2], hasher.digest(&7u64));
    /// ```
    ///
    /// # Panics
    /// If there are not as many digests as keys.
    pub fn digest_batch<K: Key>(&self, keys: &[K], digests: &mut [Digest]) {
        assert_eq!(keys.len(), digests.len(), "a digest for each key");
        let Self { family, seed, more } = *self;
        let pairs = digests.iter_mut().zip(keys);
        let set = |digest: &mut Digest, value| *digest = Digest::new(value);
        if family == Family::Fold64 {
            pairs.for_each(|(digest, key)| {
                set(digest, key.with_bytes(|bytes| fold64::digest_in_a_register(bytes, more)));
            });
        } else {
            pairs.for_each(|(digest, key)| {
                set(digest, key.with_bytes(|bytes| digest_of_family(family, seed, more, bytes)));
            });
        }
    }

    /// The family that this hasher belongs to.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(KeyHasher::default().family(), Family::Fold64);
    /// ```
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The public seed; `None` where there is none, or where it is a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// assert_eq!(KeyHasher::farm(9).seed(), Some(9));
    /// assert_eq!(KeyHasher::sip24(SecretKey::new([7; 16])).seed(), None);
    /// ```
    pub const fn seed(&self) -> Option<u64> {
        match self.family {
            Family::Xxh3 | Family::Farm | Family::Murmur3 | Family::Xxh64 | Family::Fold64 => {
                Some(self.seed)
            }
            Family::Sip24 | Family::FarmFingerprint => None,
        }
    }

    /// The same family with another seed (or another key derived from this one), chosen by
    /// `attempt`: what a structure uses when a seed proved unlucky. Attempt 0 is the hasher itself.
    ///
    /// An unseeded family has no other member, and answers itself.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// let hasher = KeyHasher::xxh3(7);
    /// assert_eq!(hasher.reseeded(0), hasher);
    /// assert_ne!(hasher.reseeded(1), hasher);
    /// assert_eq!(KeyHasher::farm_fingerprint().reseeded(1), KeyHasher::farm_fingerprint());
    /// ```
    pub fn reseeded(&self, attempt: u64) -> Self {
        if attempt == 0 {
            return *self;
        }
        let next = |seed: u64| Digest::new(seed ^ Digest::new(attempt).remix().get()).remix().get();
        match self.family {
            Family::Sip24 => Self::sip24(self.key().derive(&attempt.to_le_bytes())),
            family => family.with_seed(next(self.seed)),
        }
    }

    /// What a file says of this hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// assert_eq!(KeyHasher::xxh3(7).identity().to_string(), "xxh3 with seed 7");
    /// let secret = KeyHasher::sip24(SecretKey::new([7; 16]));
    /// assert_eq!(secret.identity().to_string(), "sip24 with a secret key");
    /// ```
    pub fn identity(&self) -> HashIdentity {
        let value = match self.family {
            Family::Sip24 => self.key().check_value(),
            _ => self.seed,
        };
        HashIdentity { family: self.family, value }
    }

    /// Of SipHash.
    const fn key(&self) -> SecretKey {
        SecretKey::from_halves(self.seed, self.more)
    }
}

/// Tells the compiler whose registers matter: those of the default family.
#[cold]
#[inline(always)]
fn unlikely() {}

// Out of line, so that the default family is all that is inlined into callers' loops. The hasher comes as
// numbers, so that a caller's copy of it needs no address and can stay in registers.
#[inline(never)]
fn digest_of_family(family: Family, seed: u64, more: u64, bytes: &[u8]) -> u64 {
    match family {
        Family::Xxh3 => xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed),
        Family::Sip24 => SecretKey::from_halves(seed, more).sip24(bytes),
        Family::Farm => farm::hash64_with_seed(bytes, seed),
        Family::FarmFingerprint => farm::fingerprint64(bytes),
        Family::Murmur3 => mur3::murmurhash3_x64_128(bytes, seed as u32).0,
        Family::Xxh64 => xxhash_rust::xxh64::xxh64(bytes, seed),
        Family::Fold64 => fold64::digest(bytes, more),
    }
}

/// The identity of a [`KeyHasher`] as data: what is written beside digests, so that a later
/// reader hashes the same way or is told that it cannot.
///
/// For public seeds it is the seed itself. For a secret key it is only a check value, from which
/// the key cannot be found.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::hash::{HashIdentity, SecretKey};
///
/// let identity = KeyHasher::xxh3(42).identity();
/// let restored = HashIdentity::from_parts(identity.family(), identity.value())?;
/// assert_eq!(restored.hasher(), Some(KeyHasher::xxh3(42)));
///
/// let keyed = KeyHasher::sip24(SecretKey::new([7; 16])).identity();
/// assert_eq!(keyed.hasher(), None); // the key is not in the file …
/// assert!(keyed.hasher_with_key(SecretKey::new([7; 16])).is_ok()); // … but can be recognised
/// assert!(keyed.hasher_with_key(SecretKey::new([8; 16])).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashIdentity {
    family: Family,
    value: u64,
}

impl HashIdentity {
    /// The identity that was taken apart with [`family`](Self::family) and [`value`](Self::value).
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::{Family, HashIdentity};
    ///
    /// let identity = HashIdentity::from_parts(Family::Murmur3, 7)?;
    /// assert_eq!(identity.hasher(), Some(KeyHasher::murmur3(7)));
    /// assert!(HashIdentity::from_parts(Family::Murmur3, 1 << 32).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If no hasher of that family has that value: Murmur3's seed has 32 bits, and
    /// `FarmFingerprint` has none.
    pub fn from_parts(family: Family, value: u64) -> Result<Self, ParameterError> {
        let (largest, allowed) = match family {
            Family::Murmur3 => (u64::from(u32::MAX), "at most 4294967295 for murmur3"),
            Family::FarmFingerprint => (0, "0 for farm-fingerprint, which has no seed"),
            Family::Xxh3 | Family::Sip24 | Family::Farm | Family::Xxh64 | Family::Fold64 => {
                (u64::MAX, "any 64-bit number")
            }
        };
        if value > largest {
            return Err(ParameterError::new("hash seed", value, allowed));
        }
        Ok(Self { family, value })
    }

    /// The family.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::Family;
    ///
    /// assert_eq!(KeyHasher::farm(7).identity().family(), Family::Farm);
    /// ```
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The seed, or the check value of a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::farm(7).identity().value(), 7);
    /// ```
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The hasher, unless it needs a secret key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// assert_eq!(KeyHasher::farm(7).identity().hasher(), Some(KeyHasher::farm(7)));
    /// assert_eq!(KeyHasher::sip24(SecretKey::new([7; 16])).identity().hasher(), None);
    /// ```
    pub fn hasher(&self) -> Option<KeyHasher> {
        match self.family {
            Family::Sip24 => None,
            family => Some(family.with_seed(self.value)),
        }
    }

    /// The hasher that uses `key`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::SecretKey;
    ///
    /// let key = SecretKey::new([7; 16]);
    /// let identity = KeyHasher::sip24(key).identity();
    /// assert_eq!(identity.hasher_with_key(key), Ok(KeyHasher::sip24(key)));
    /// assert!(identity.hasher_with_key(SecretKey::new([8; 16])).is_err());
    /// ```
    ///
    /// # Errors
    /// If this identity was made with another key, or with no key at all.
    pub fn hasher_with_key(&self, key: SecretKey) -> Result<KeyHasher, WrongKey> {
        let hasher = KeyHasher::sip24(key);
        if hasher.identity() == *self { Ok(hasher) } else { Err(WrongKey { family: self.family }) }
    }
}

impl fmt::Display for HashIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::Sip24 => write!(f, "{} with a secret key", self.family),
            Family::FarmFingerprint => write!(f, "{}", self.family),
            _ => write!(f, "{} with seed {}", self.family, self.value),
        }
    }
}

/// The secret key given is not the one that the digests were made with.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::hash::SecretKey;
///
/// let error = KeyHasher::xxh3(7).identity().hasher_with_key(SecretKey::new([7; 16])).unwrap_err();
/// assert_eq!(error.to_string(), "this was made with xxh3, which takes no secret key");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason())]
#[non_exhaustive]
pub struct WrongKey {
    /// The family that the identity names.
    pub family: Family,
}

impl WrongKey {
    fn reason(&self) -> String {
        match self.family {
            Family::Sip24 => "the secret key is not the one this was made with".to_owned(),
            other => format!("this was made with {other}, which takes no secret key"),
        }
    }
}

#[cfg(test)]
mod tests;
