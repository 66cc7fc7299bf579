//! How large will it be? A filter on paper, before there is memory for it.
//!
//! Keys, FPR and memory hang together; two of them give the third:
//!
//! | known | asked for | |
//! |---|---|---|
//! | keys and FPR | memory | `for_fpr` |
//! | keys and memory | FPR | `for_memory` |
//! | FPR and memory | keys | `for_max_keys` |
//!
//! Every kind has its specification: a [`BloomSpec`], a [`CuckooSpec`] and so on. It is the one
//! description of the kind: what it can do, how large it is, how often it errs, how it is built.
//! Constructors, the [chooser](super::choose) and the command ask it, and nothing else knows.
//! [`Spec`] is a specification of any kind, for programs whose users choose the kind.
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo::filter::{Bytes, CuckooSpec, Filter, FilterSpec, Kind, Spec};
//!
//! let spec = CuckooSpec::for_fpr(1_000_000, 0.01)?;
//! assert_eq!(spec.size_in_bits() / 8, 1_315_808); // bytes
//! assert!(spec.fpr_at(1_000_000) < 0.01); // fingerprints have whole bits: a little better than asked
//! let filter = spec.build(KeyHasher::default())?;
//! assert_eq!(filter.size_in_bits(), spec.size_in_bits());
//!
//! // Two bytes per key, in a kind that is chosen when the program runs.
//! let spec = Spec::for_memory("fuse".parse()?, 1_000_000, Bytes(2_000_000))?;
//! assert_eq!(spec.kind(), Kind::Fuse);
//! assert!((spec.fpr_when_full() / 0.5f64.powi(14) - 1.0).abs() < 1e-6);
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! # What is promised
//!
//! Theory's mean FPR of a filter with as many different keys as it is made for is at most the one
//! asked for. That counts absent keys whose [digest](crate::theory::digest) is that of a present key.
//! They alone are one in 2^64 for each key, so that an FPR below n/2^63 is an error.

mod any;

pub use any::Spec;

use std::fmt;

use thiserror::Error;

use super::*;
use crate::theory::digest::MAX_STRUCTURE_FPR;
use crate::theory::limits;
use crate::theory::search::least_by_steps;
use crate::{BuildError, Digest, Key, KeyHasher, ParameterError};

/// An amount of memory, so that nobody takes it for a number of keys.
///
/// ```
/// use crivo::filter::{BloomSpec, Bytes, FilterSpec};
///
/// // A thousand bytes for a thousand keys: eight bits each.
/// let spec = BloomSpec::for_memory(1_000, Bytes(1_000))?;
/// assert_eq!(format!("{:.3}", spec.fpr_when_full()), "0.022");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The bits of that memory.
    ///
    /// # Errors
    /// If they are 2^64 or more.
    pub(super) fn in_bits(self) -> Result<u64, ParameterError> {
        self.0.checked_mul(8).ok_or_else(|| self.not("below 2^61"))
    }

    /// The error that the memory is not enough for the keys.
    pub(super) fn too_few(self) -> ParameterError {
        self.not("enough for that many keys, or there must be fewer of them")
    }

    fn not(self, allowed: &'static str) -> ParameterError {
        ParameterError::new("memory in bytes", self.0, allowed)
    }
}

/// The specification of a kind of filter: its dimensions, and all that follows from them.
///
/// See [the module](self) for what it promises. Beside these methods every specification has
/// constructors of its own, which take the dimensions themselves.
///
/// ```
/// use crivo::filter::{BloomSpec, CuckooSpec, FilterSpec, FuseSpec};
///
/// fn bits_per_key<S: FilterSpec>(fpr: f64) -> Result<String, crivo::ParameterError> {
///     Ok(format!("{}: {:.1}", S::KIND, S::for_fpr(1_000_000, fpr)?.bits_per_key()))
/// }
///
/// assert_eq!(bits_per_key::<BloomSpec>(0.001)?, "bloom: 14.4");
/// assert_eq!(bits_per_key::<CuckooSpec>(0.001)?, "cuckoo: 13.7");
/// assert_eq!(bits_per_key::<FuseSpec>(0.001)?, "fuse: 11.3");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
pub trait FilterSpec: Copy + PartialEq + fmt::Debug {
    /// The filters that it describes.
    type Filter: Filter;

    /// Their kind.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec, Kind};
    ///
    /// assert_eq!(CuckooSpec::KIND, Kind::Cuckoo);
    /// ```
    const KIND: Kind;

    /// What they can do.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// assert!(CuckooSpec::CAPABILITIES.remove);
    /// ```
    const CAPABILITIES: Capabilities;

    /// What to remember of the kind, in a few words.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec, Kind};
    ///
    /// assert_eq!(CuckooSpec::SUMMARY, Kind::Cuckoo.summary());
    /// ```
    const SUMMARY: &'static str;

    /// The smallest filter for `capacity` keys with at most this FPR.
    ///
    /// Of a growing filter the capacity is that of the first stage, and the FPR that of all stages.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// assert_eq!(format!("{:.2}", BloomSpec::for_fpr(1_000_000, 0.01)?.bits_per_key()), "9.59");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or this kind cannot reach it.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError>;

    /// The filter for `capacity` keys with the lowest FPR that fits into this memory.
    ///
    /// Memory that could not lower the FPR, because digests have 64 bits, is left unused.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, Bytes, FilterSpec};
    ///
    /// // Ten bits per key.
    /// let spec = BloomSpec::for_memory(1_000_000, Bytes(1_250_000))?;
    /// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0082");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, or there is too little memory for it.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError>;

    /// The filter for as many keys as fit into this memory with at most this FPR.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, Bytes, FilterSpec};
    ///
    /// let spec = BloomSpec::for_max_keys(0.01, Bytes(64_000_000))?;
    /// assert_eq!(spec.capacity() / 1_000_000, 53); // million keys
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the FPR is not between 0 and 1, this kind cannot reach it, or there is no memory for one
    /// key.
    fn for_max_keys(fpr: f64, memory: Bytes) -> Result<Self, ParameterError> {
        max_keys(memory, fpr, |keys| Self::for_fpr(keys, fpr), Self::size_in_bits)
    }

    /// How many keys it is made for; of a growing filter, its first stage.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// assert_eq!(BloomSpec::for_fpr(1_000, 0.01)?.capacity(), 1_000);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    fn capacity(&self) -> u64;

    /// The memory of the table, in bits; of a growing filter, of its first stage.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// assert_eq!(BloomSpec::with_size(640, 7)?.size_in_bits(), 640);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    fn size_in_bits(&self) -> u64;

    /// The mean FPR that theory gives for `keys` different keys, equal digests included.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// // Twice the keys that it is made for: sixteen times the FPR.
    /// let spec = BloomSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.3}", spec.fpr_at(2_000_000)), "0.157");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    fn fpr_at(&self, keys: u64) -> f64;

    /// The FPR with as many keys as it is made for. Of a growing filter, the one that it keeps for any
    /// number of keys.
    ///
    /// ```
    /// use crivo::filter::{CuckooSpec, FilterSpec};
    ///
    /// // Fingerprints have whole bits: a little better than asked.
    /// let spec = CuckooSpec::for_fpr(1_000_000, 0.01)?;
    /// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0074");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    fn fpr_when_full(&self) -> f64 {
        self.fpr_at(self.capacity())
    }

    /// Bits of memory per key, with as many keys as it is made for.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, FuseSpec};
    ///
    /// assert_eq!(format!("{:.1}", FuseSpec::for_fpr(1_000_000, 0.01)?.bits_per_key()), "7.9");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    fn bits_per_key(&self) -> f64 {
        self.size_in_bits() as f64 / self.capacity().max(1) as f64
    }

    /// The filter without keys.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// let filter = BloomSpec::with_bits_per_key(1_000, 10.0)?.build(KeyHasher::xxh3(7))?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, or if the kind is built from all its keys:
    /// [`build_from`](Self::build_from).
    fn build(&self, hasher: KeyHasher) -> Result<Self::Filter, BuildError>;

    /// The filter of the keys with these digests, which must come from `hasher`, and should be
    /// distinct: most kinds count every copy.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{FilterSpec, FuseSpec};
    ///
    /// let hasher = KeyHasher::default();
    /// let digests = ["ana", "eva"].map(|key| hasher.digest(key));
    /// let filter = FuseSpec::for_fpr(2, 0.01)?.build_from(digests.to_vec(), hasher)?;
    /// assert!(filter.contains("ana") && filter.contains("eva"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, no room for all keys, or no seed for a fuse filter.
    fn build_from(
        &self,
        digests: Vec<Digest>,
        hasher: KeyHasher,
    ) -> Result<Self::Filter, SpecError> {
        self.build_by(&digests, |&digest| digest, Some(1), hasher)
    }

    /// The filter of these keys, hashed and built on several threads: on `threads` at most, or as
    /// many as the machine has. Few keys are left to one thread.
    ///
    /// The filter is the same for any number of threads, to the byte.
    ///
    /// | kinds | how | memory while it is built |
    /// |---|---|---|
    /// | [`Bloom`], [`Blocked`], [`SplitBlock`], [`CountingBloom`], [`BlockedCounting`] | keys are sorted by ranges of the table, and each range is left to one thread; for small tables of bits, each thread fills one with some of the keys, and they are united | 8 to 10 bytes for each key (4·k to 5·k for `Bloom` and `CountingBloom`), but no more than twice the filter, or 2 MiB if that is more, and no more than 128 MiB, or the filter if that is more and to be had; on many threads up to two fifths more; for small tables one for each thread, up to 16 MiB in all, or 48 MiB of `Bloom`, and up to 1 MiB more for each to begin at a huge page |
    /// | [`Growing`], [`GrowingBlocked`] | stage after stage, each as above | that of the largest stage |
    /// | [`Quotient`] | fingerprints are sorted by parts of the table, also on one thread, and each part is left to one thread; where fewer than one slot in eight will be filled, or fingerprints are long, each thread makes a filter of some of the keys, and they are united | 4 to 6 bytes for each key, but no more than 128 MiB or the filter, whichever is more; on many threads up to half as much again; of those that are united, also where keys come often or in the order of their digests, a filter for each thread, and one more for every two |
    /// | [`Fuse`] | keys are partitioned, and the equations solved from both ends | digests, and about three times the filter |
    /// | [`ShardedFuse`] | each thread collects its share of the keys, and solves shard after shard | digests, with room for up to as many again, and about three times a shard for each thread |
    /// | [`Cuckoo`] | on one thread: a place depends on the keys before | the filter |
    ///
    /// Where there is no memory for that, or no other thread can be started, one thread does it all.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{BlockedSpec, FilterSpec};
    ///
    /// let keys: Vec<u64> = (0..200_000).collect();
    /// let spec = BlockedSpec::for_fpr(200_000, 0.01)?;
    /// let filter = spec.build_on_threads(&keys, None, KeyHasher::default())?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// assert_eq!(filter, spec.build_on_threads(&keys, Some(1), KeyHasher::default())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, no room for all keys, or no seed for a fuse filter; if there are to be
    /// no threads.
    fn build_on_threads<K: Key + Sync>(
        &self,
        keys: &[K],
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Self::Filter, SpecError> {
        self.build_by(keys, |key| hasher.digest(key), threads, hasher)
    }

    /// [`build_on_threads`](Self::build_on_threads) for anything that has a digest, which must come
    /// from `hasher`: records with a key in them, or the digests themselves. An item may be asked for its digest more
    /// than once, and must always give the same.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{BloomSpec, FilterSpec};
    ///
    /// let (hasher, spec) = (KeyHasher::default(), BloomSpec::for_fpr(1_000, 0.01)?);
    /// let people = [("ana", 41), ("eva", 37)];
    /// let names = spec.build_by(&people, |(name, _)| hasher.digest(*name), None, hasher)?;
    /// assert!(names.contains("ana"));
    ///
    /// let digests = people.map(|(name, _)| hasher.digest(name));
    /// assert_eq!(names, spec.build_by(&digests, |&digest| digest, None, hasher)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`build_on_threads`](Self::build_on_threads).
    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Self::Filter, SpecError>;
}

/// A specification for an amount of memory, if it does not take every key for a member.
pub(super) fn unless_useless<S: FilterSpec>(spec: S, memory: Bytes) -> Result<S, ParameterError> {
    if spec.fpr_when_full() < 1.0 { Ok(spec) } else { Err(memory.too_few()) }
}

/// The specification for the most keys whose size is within the memory.
fn max_keys<S>(
    memory: Bytes,
    fpr: f64,
    for_keys: impl Fn(u64) -> Result<S, ParameterError>,
    size_in_bits: impl Fn(&S) -> u64,
) -> Result<S, ParameterError> {
    let bits = memory.in_bits()?;
    // What is wrong with one key is wrong with the FPR, and not with the memory.
    if size_in_bits(&for_keys(1)?) > bits {
        return Err(memory.not("enough for a key at that FPR"));
    }
    // No filter takes fewer bits than the information it holds.
    let most = (bits as f64 / limits::fixed_set(fpr.min(MAX_STRUCTURE_FPR))?) as u64;
    // Sizes are nearly proportional to the keys: each guess is much better than the one before.
    let (mut guess, mut change) = (most.max(1), most);
    for _ in 0..8 {
        // Beyond what digests allow there is no filter at all.
        let Ok(spec) = for_keys(guess) else {
            guess = (guess / 1024).max(1);
            continue;
        };
        let share = bits as f64 / size_in_bits(&spec) as f64;
        let better = ((guess as f64 * share) as u64).clamp(1, most.max(1));
        (change, guess) = (guess.abs_diff(better), better);
        if change <= 1 {
            break;
        }
    }
    let does_not_fit = |keys| for_keys(keys).map_or(true, |spec| size_in_bits(&spec) > bits);
    let too_many =
        least_by_steps(guess, change.min(guess >> 20), most.saturating_add(2), does_not_fit);
    for_keys(too_many.unwrap_or(most).saturating_sub(1).max(1))
}

/// Why a filter could not be built from its keys.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{CuckooSpec, FilterSpec, SpecError};
///
/// let hasher = KeyHasher::default();
/// let built = CuckooSpec::for_fpr(100, 0.01)?.build_from(vec![hasher.digest("ana"); 9], hasher);
/// assert!(matches!(built, Err(SpecError::Full(_)))); // a key has eight slots
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum SpecError {
    /// A parameter is out of range, or there is no memory.
    Build(#[from] BuildError),
    /// There is no room for all keys.
    Full(#[from] Full),
    /// The equations of a fuse filter could not be solved.
    Fuse(#[from] FuseError),
}

impl From<ParameterError> for SpecError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}

#[cfg(test)]
mod tests;
