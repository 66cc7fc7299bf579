//! From a key to 64 bits, the same on every platform, today and in ten years.
//!
//! Everything in crivo that asks *"have I seen this key?"* asks it of a [`Digest`]: 64 bits that
//! a [`KeyHasher`] makes of a [`Key`]. One digest can probe many filters.
//!
//! ```text
//!   key            its bytes              digest               positions in a table of m
//!   "ana"    →     61 6e 61         →     64 bits        →     reduce(digest, m)
//!   5u32     →     05 00 00 00            (one hash)           Indices: k of them, from one digest
//! ```
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo::hash::reduce;
//!
//! let hasher = KeyHasher::xxh3(7);
//! let digest = hasher.digest("ana");
//! assert_eq!(digest, hasher.digest(b"ana"));            // a string is its bytes
//! assert_ne!(hasher.digest(&5u32), hasher.digest(&5u64)); // the width is part of the key
//! assert!(reduce(digest.get(), 1000) < 1000);
//! ```
//!
//! # Why not `std::hash::Hash`?
//!
//! The standard library's `Hash` feeds other bytes for `str` than for `[u8]`, and promises no
//! stability across compiler versions or platforms. A filter saved today would lie tomorrow.
//! A crivo [`Key`] is exactly its bytes (integers in little-endian order), and nothing else.
//!
//! # Which family?
//!
//! | family | seed | use it for |
//! |---|---|---|
//! | [fold64](KeyHasher::fold64) (default) | 64 bits, public | everything else: the fastest |
//! | [SipHash-2-4](KeyHasher::sip24) | 128 bits, secret | keys that an adversary may choose |
//! | [XXH3](KeyHasher::xxh3) | 64 bits, public | filters to be merged with old ones, or shared with programs that have no fold64 |
//! | [FarmHash](KeyHasher::farm) | 64 bits, public | repeating published experiments |
//! | [Murmur3](KeyHasher::murmur3), [XXH64](KeyHasher::xxh64) | 32 or 64 bits, public | files of other systems |
//!
//! All of them pass the statistical tests of the study (`crivo study hash-quality`).
//!
//! # Adversaries
//!
//! **A public seed is no defence.** Anyone who knows the family and the seed (it is in the file,
//! and the default is 0) can compute offline any number of keys with chosen digests: keys that
//! all collide in a table, or that a filter wrongly accepts. For Murmur3 there are even keys that
//! collide under *every* seed, and for fold64 such keys are easy to find.
//!
//! A **secret key** ([`SecretKey`], SipHash) stops that computation: without the key nobody can
//! tell what a digest will be. What it does *not* stop:
//! - *replay*: who may query the filter and sees the answers can collect false positives one by
//!   one and send them again; they stay false positives until the key changes;
//! - *removal of keys never inserted*: where deletion is offered, a false positive that is
//!   "removed" takes away another key's entry, whatever the hash.
//!
//! # The floor
//!
//! Two different keys share a digest with probability 2^-64, so that n stored keys put a floor of
//! about n/2^64 under every error rate: 5e-11 for a thousand million keys.

mod composite;
mod encoding;
mod farm;
mod fold64;
mod hasher;
mod index;
mod key;
mod time;

pub use composite::CompositeKey;
pub use crivo_core::mix::reduce;
pub use encoding::{KeyEncoding, KeyTextError, TimeUnit, UnknownEncoding, float_key};
pub use hasher::{Family, HashIdentity, KeyHasher, SecretKey, WrongKey};
pub use index::Indices;
pub(crate) use index::Points;
pub use key::Key;

/// What a [`KeyHasher`] makes of a key: 64 bits, every one of them as good as random.
///
/// A digest is only comparable with digests of the same hasher. Giving a structure a digest made
/// by another hasher is not detected; it just answers about some other key.
///
/// ```
/// use crivo::{Digest, KeyHasher};
///
/// let digest = KeyHasher::default().digest("ana");
/// assert_eq!(Digest::new(digest.get()), digest);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u64);

impl Digest {
    /// Wraps 64 bits that came from a [`KeyHasher`] earlier.
    ///
    /// ```
    /// use crivo::{Digest, KeyHasher};
    ///
    /// let stored: u64 = KeyHasher::default().digest("ana").get();
    /// assert_eq!(Digest::new(stored), KeyHasher::default().digest("ana"));
    /// ```
    #[inline]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    ///
    /// ```
    /// use crivo::Digest;
    ///
    /// assert_eq!(Digest::new(7).get(), 7);
    /// ```
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Another 64 bits, as good as independent for indexing: a bijection of the digest.
    ///
    /// Use it where one structure needs two unrelated positions of one key.
    ///
    /// ```
    /// use crivo::KeyHasher;
    ///
    /// let digest = KeyHasher::default().digest("ana");
    /// assert_ne!(digest.remix(), digest);
    /// assert_ne!(digest.remix().remix(), digest.remix());
    /// ```
    #[inline]
    pub const fn remix(self) -> Self {
        Self(crivo_core::mix::mix(self.0))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({:#018x})", self.0)
    }
}
