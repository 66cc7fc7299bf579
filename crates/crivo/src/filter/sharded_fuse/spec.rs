//! The dimensions of a sharded fuse filter.

use super::build::build_shards;
use super::table::{MAX_SHARD_BITS, ShardedGeometry};
use super::{KeyCollector, KeySet, ShardedFuse};
use crate::filter::fuse::equation::{FuseGeometry, MAX_BITS};
use crate::filter::fuse::spec::{default_arity, geometry_for};
use crate::filter::{Bytes, Capabilities, FilterSpec, FuseError, Kind, SpecError, threads};
use crate::theory::digest;
use crate::theory::fuse::{self as theory, Arity};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::check::check_keys;

/// No shard is made for more keys than this, as long as there are at most 2^15 shards.
const MAX_SHARD_KEYS: u64 = 1 << 21;

/// Random digests hardly ever put more keys into a shard than the mean and so many standard
/// deviations: once in 3.5 million shards.
const DEVIATIONS: f64 = 5.0;

/// The specification of a [`ShardedFuse`] filter: how many keys, the bits of a fingerprint, the cells
/// of a key, and the number of shards.
///
/// A filter that is [built from](FilterSpec::build_from) other than `capacity` distinct keys is as
/// large as those need, with as many shards as the specification has.
///
/// ```
/// use crivo::filter::{FilterSpec, ShardedFuseSpec};
///
/// let spec = ShardedFuseSpec::for_fpr(1_000_000_000, 0.01)?;
/// assert_eq!((spec.width(), spec.shards()), (7, 512));
/// assert_eq!(format!("{:.2}", spec.bits_per_key()), "7.93");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardedFuseSpec {
    capacity: u64,
    width: u32,
    arity: Arity,
    shard_bits: u32,
    word_count: u64,
}

impl ShardedFuseSpec {
    /// The filter of `capacity` keys with fingerprints of `width` bits, as many shards as that many keys
    /// need, and the usual number of cells for the keys of a shard.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuseSpec};
    ///
    /// let spec = ShardedFuseSpec::with_width(100_000_000, 8)?;
    /// assert!((spec.fpr_when_full() - 1.0 / 256.0).abs() < 1e-9);
    /// assert_eq!(spec.shards(), 64); // of at most 2^21 keys
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0 or above 2^56, or the width is not from 1 to 32.
    pub fn with_width(capacity: u64, width: u32) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let shard_bits = shard_bits_for(capacity);
        Self::new(capacity, width, default_arity(capacity >> shard_bits), shard_bits)
    }

    /// The same with three cells for a key, or with four.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuseSpec};
    /// use crivo::theory::fuse::Arity;
    ///
    /// let spec = ShardedFuseSpec::with_width(100_000_000, 8)?;
    /// assert!(spec.with_arity(Arity::Four)?.bits_per_key() < spec.bits_per_key());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are more keys than cells can be made for.
    pub fn with_arity(self, arity: Arity) -> Result<Self, ParameterError> {
        Self::new(self.capacity, self.width, arity, self.shard_bits)
    }

    /// The same with this number of shards.
    ///
    /// ```
    /// use crivo::filter::ShardedFuseSpec;
    ///
    /// let spec = ShardedFuseSpec::with_width(10_000_000, 8)?.with_shards(32)?;
    /// assert_eq!(spec.shards(), 32);
    /// assert!(spec.with_shards(3).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If it is not a power of two, or above 2^15.
    pub fn with_shards(self, shards: u64) -> Result<Self, ParameterError> {
        if !shards.is_power_of_two() || shards > 1 << MAX_SHARD_BITS {
            return Err(ParameterError::new("shards", shards, "a power of two, at most 2^15"));
        }
        Self::new(self.capacity, self.width, self.arity, shards.trailing_zeros())
    }

    fn new(
        capacity: u64,
        width: u32,
        arity: Arity,
        shard_bits: u32,
    ) -> Result<Self, ParameterError> {
        let spec = Self { capacity, width, arity, shard_bits, word_count: 0 };
        let word_count = spec.geometry(capacity, 0)?.word_count();
        Ok(Self { word_count, ..spec })
    }

    /// Of a filter that was built with this geometry.
    pub(super) fn of(capacity: u64, geometry: &ShardedGeometry) -> Self {
        let FuseGeometry { width, arity, .. } = geometry.shard;
        let shard_bits = geometry.shard_bits;
        Self { capacity, width, arity, shard_bits, word_count: geometry.word_count() }
    }

    /// The dimensions for that many keys, of which `largest` are in the largest shard.
    pub(super) fn geometry(
        &self,
        keys: u64,
        largest: u64,
    ) -> Result<ShardedGeometry, ParameterError> {
        let mean = keys.div_ceil(self.shards());
        let expected = match self.shard_bits {
            0 => keys,
            _ => mean.saturating_add((DEVIATIONS * (mean as f64).sqrt()).ceil() as u64).min(keys),
        };
        let shard = geometry_for(expected.max(largest), self.width, self.arity)?;
        let shard = FuseGeometry { seed: 1, ..shard };
        let geometry = ShardedGeometry { shard, shard_bits: self.shard_bits };
        geometry.check()?;
        Ok(geometry)
    }

    pub(super) fn shard_bits(&self) -> u32 {
        self.shard_bits
    }

    /// How many shards that many keys are put into, unless [another number](Self::with_shards) is asked
    /// for: as few as leave at most 2^21 keys to each, if the power of two is at most 2^15.
    ///
    /// ```
    /// use crivo::filter::ShardedFuseSpec;
    ///
    /// assert_eq!(ShardedFuseSpec::shards_for(2_000_000), 1);
    /// assert_eq!(ShardedFuseSpec::shards_for(1_000_000_000), 512);
    /// ```
    pub fn shards_for(keys: u64) -> u64 {
        1 << shard_bits_for(keys)
    }

    /// How many shards there are.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuseSpec};
    ///
    /// assert_eq!(ShardedFuseSpec::for_fpr(1_000, 0.01)?.shards(), 1);
    /// assert_eq!(ShardedFuseSpec::for_fpr(3_000_000, 0.01)?.shards(), 2);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn shards(&self) -> u64 {
        1 << self.shard_bits
    }

    /// w: the bits of a fingerprint.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuseSpec};
    ///
    /// assert_eq!(ShardedFuseSpec::for_fpr(1_000, 0.001)?.width(), 10);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn width(&self) -> u32 {
        self.width
    }

    /// How many cells a key has.
    ///
    /// ```
    /// use crivo::filter::ShardedFuseSpec;
    /// use crivo::theory::fuse::Arity;
    ///
    /// assert_eq!(ShardedFuseSpec::with_width(100_000_000, 8)?.arity(), Arity::Three);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn arity(&self) -> Arity {
        self.arity
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, ShardedFuseSpec};
    ///
    /// let spec = ShardedFuseSpec::with_width(100_000_000, 8)?;
    /// assert_eq!(spec.word_count() * 64, spec.size_in_bits());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.word_count
    }

    /// The filter of these keys, on as many threads as they were [collected](KeyCollector) with, and
    /// within the same memory beside the filter.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{FilterSpec, KeyCollector, ShardedFuseSpec};
    ///
    /// let mut collector = KeyCollector::new(KeyHasher::default());
    /// collector.extend(["ana", "eva", "ana"])?;
    /// let keys = collector.finish()?;
    /// let spec = ShardedFuseSpec::for_fpr(keys.count(), 0.001)?;
    /// let filter = spec.build_from_keys(keys)?;
    /// assert!(filter.contains("ana") && filter.contains("eva"));
    /// assert_eq!(filter.key_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, a temporary file cannot be read, or no seed was found for a shard
    /// ([`FuseError::Unsolved`]).
    pub fn build_from_keys(&self, keys: KeySet) -> Result<ShardedFuse, FuseError> {
        let (hasher, key_count) = (keys.hasher(), keys.count());
        let table = build_shards(self, keys)?;
        Ok(ShardedFuse::new(hasher, key_count, table))
    }
}

/// That many keys are put into 2^this shards: it depends on nothing else.
fn shard_bits_for(keys: u64) -> u32 {
    keys.div_ceil(MAX_SHARD_KEYS).next_power_of_two().trailing_zeros().min(MAX_SHARD_BITS)
}

impl FilterSpec for ShardedFuseSpec {
    type Filter = ShardedFuse;

    const KIND: Kind = Kind::ShardedFuse;

    const CAPABILITIES: Capabilities = Capabilities::STATIC;

    const SUMMARY: &'static str = "static: built from all keys, shard by shard";

    /// The narrowest fingerprints that keep the FPR: ⌈log2(1/FPR)⌉ bits.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        match theory::width(digest::structure_fpr(capacity, fpr)?)? {
            width @ 1..=MAX_BITS => Self::with_width(capacity, width),
            _ => Err(ParameterError::of_real("fpr", fpr, "at least 2^-32")),
        }
    }

    /// The widest fingerprints that fit.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        // What is wrong with a single bit is wrong with the capacity.
        Self::with_width(capacity, 1)?;
        let bits = memory.in_bits()?;
        (1..=MAX_BITS)
            .rev()
            .filter_map(|width| Self::with_width(capacity, width).ok())
            .find(|spec| spec.size_in_bits() <= bits)
            .ok_or_else(|| memory.too_few())
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.word_count.saturating_mul(64)
    }

    /// 2^−w, however many keys there are, and their digests; 0 if there are none.
    fn fpr_at(&self, keys: u64) -> f64 {
        if keys == 0 {
            return 0.0;
        }
        // The width of a specification is valid.
        digest::fpr(theory::fpr(self.width).unwrap_or(1.0), keys)
    }

    fn build(&self, _: KeyHasher) -> Result<ShardedFuse, BuildError> {
        let allowed = "one that takes keys one by one; a fuse filter takes all at once";
        Err(ParameterError::new("kind", Kind::ShardedFuse, allowed).into())
    }

    /// On as many threads as the machine has.
    fn build_from(
        &self,
        digests: Vec<Digest>,
        hasher: KeyHasher,
    ) -> Result<ShardedFuse, SpecError> {
        Ok(self.build_from_keys(KeyCollector::set_of(digests, None, hasher)?)?)
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<ShardedFuse, SpecError> {
        let threads = threads::count_for(threads, items.len())?;
        let keys = KeyCollector::set_by(items, digest_of, Some(threads), hasher)?;
        Ok(self.build_from_keys(keys)?)
    }
}
