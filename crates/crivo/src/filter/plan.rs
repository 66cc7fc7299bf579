//! How large will it be? A filter of any kind on paper, before there is memory for it.
//!
//! Keys, rate and memory hang together; two of them give the third:
//!
//! | known | asked for | |
//! |---|---|---|
//! | keys and rate | memory | [`Plan::for_rate`] |
//! | keys and memory | rate | [`Plan::for_memory`] |
//! | rate and memory | keys | [`Plan::for_most_keys`] |
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo::filter::Kind;
//! use crivo::filter::{Filter, Plan};
//!
//! let plan = Plan::for_rate(Kind::Cuckoo, 1_000_000, 0.01)?;
//! assert_eq!(plan.size_in_bits() / 8, 1_315_808); // bytes
//! assert!(plan.expected_fpr() < 0.01); // fingerprints have whole bits: a little better than asked
//!
//! let filter = plan.make(KeyHasher::default())?;
//! assert_eq!(filter.size_in_bits(), plan.size_in_bits());
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! Whoever knows the kind when the program is written needs no plan: each filter's own
//! constructors say the same. A plan is for programs whose users choose.

#[cfg(test)]
mod tests;

use std::fmt;

use super::counting::CounterWidth;
use super::growing::first_stage_bits;
use super::{
    AnyFilter, Blocked, Bloom, CountingBloom, Cuckoo, FuseError, FuseOptions, Growing, Kind,
    OperationError, Quotient, blocked, bloom, cuckoo, quotient,
};
use crate::theory::blocked as blocked_theory;
use crate::theory::bloom as bloom_theory;
use crate::theory::check::{check_keys, check_rate};
use crate::theory::fuse as fuse_theory;
use crate::theory::limits;
use crate::theory::search::least;
use crate::{BuildError, Digest, KeyHasher, ParameterError};

/// A filter that is not made yet. See [the module](self).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    capacity: u64,
    shape: Shape,
    size_in_bits: u64,
    expected_fpr: f64,
}

/// What decides about a table, beside the number of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Bloom { bits: u64, probes: u32 },
    Blocked { blocks: u64, probes: u32 },
    Counting { counters: u64, probes: u32 },
    Cuckoo { fingerprint_bits: u32 },
    Quotient { remainder_bits: u32 },
    Fuse { width: u32 },
    Growing { rate: f64 },
    GrowingBlocked { rate: f64 },
}

const COUNTER: CounterWidth = CounterWidth::Four;

/// More positions per key than this are of no use: the rate is then far below that at which digests
/// of 64 bits coincide.
const MOST_POSITIONS_PER_KEY: u64 = 96;

impl Plan {
    /// The smallest filter for `capacity` keys with at most this rate of wrong yeses.
    ///
    /// Of a growing filter it is the first stage that is planned; the rate holds for all stages.
    ///
    /// # Errors
    /// If the capacity is 0, the rate is not between 0 and 1, or this kind cannot reach it.
    pub fn for_rate(kind: Kind, capacity: u64, rate: f64) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        check_rate(rate)?;
        let shape = match kind {
            Kind::Bloom | Kind::Counting => {
                let bloom_theory::Size { bits, probes, .. } = bloom_theory::size(capacity, rate)?;
                match kind {
                    Kind::Bloom => Shape::Bloom { bits, probes },
                    _ => Shape::Counting { counters: bits, probes },
                }
            }
            Kind::Blocked => {
                let size = blocked_theory::size(blocked::BLOCK, capacity, rate)?;
                Shape::Blocked { blocks: size.blocks, probes: size.probes }
            }
            Kind::Cuckoo => {
                Shape::Cuckoo { fingerprint_bits: cuckoo::size::fingerprint_bits(capacity, rate)? }
            }
            Kind::Quotient => {
                Shape::Quotient { remainder_bits: quotient::remainder_bits(capacity, rate)? }
            }
            Kind::Fuse => Shape::Fuse { width: FuseOptions::with_rate(rate)?.width },
            Kind::Growing => Shape::Growing { rate },
            Kind::GrowingBlocked => Shape::GrowingBlocked { rate },
        };
        Self::new(capacity, shape)
    }

    /// The filter for `capacity` keys with the lowest rate of wrong yeses that fits into `bytes`.
    ///
    /// ```
    /// use crivo::filter::Kind;
    /// use crivo::filter::Plan;
    ///
    /// let plan = Plan::for_memory(Kind::Fuse, 1_000_000, 2_000_000)?; // two bytes per key
    /// assert_eq!(plan.expected_fpr(), 0.5f64.powi(14));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// Memory that could not lower the rate, because digests have 64 bits, is left unused. Of a
    /// growing filter it is the first stage that fits.
    ///
    /// # Errors
    /// If the capacity is 0, or there is too little memory for so many keys.
    pub fn for_memory(kind: Kind, capacity: u64, bytes: u64) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let too_little = || {
            let allowed = "enough for that many keys, or there must be fewer of them";
            ParameterError::new("memory in bytes", bytes, allowed)
        };
        let bits = bytes.checked_mul(8).ok_or_else(too_little)?;
        // What fits, in whole words of so many positions each, but not more than is of use.
        let positions = |per_word: u64, keys: u64| {
            per_word
                * (bits / 64).min(keys.saturating_mul(MOST_POSITIONS_PER_KEY).div_ceil(per_word))
        };
        // Tables of whole fields: the widest that fit.
        let widest = |widths: std::ops::RangeInclusive<u32>, shape: fn(u32) -> Shape| {
            widths
                .rev()
                .filter_map(|width| Self::new(capacity, shape(width)).ok())
                .find(|plan| plan.size_in_bits <= bits)
                .ok_or_else(too_little)
        };
        match kind {
            _ if bits < 64 => Err(too_little()),
            Kind::Bloom => {
                let bits = positions(64, capacity);
                let probes = bloom_theory::best_probes(bits, capacity)?;
                Self::new(capacity, Shape::Bloom { bits, probes })
            }
            Kind::Counting => {
                let counters = positions(64 / u64::from(COUNTER.bits()), capacity);
                let probes = bloom_theory::best_probes(counters, capacity)?;
                Self::new(capacity, Shape::Counting { counters, probes })
            }
            Kind::Blocked => {
                let block_bits = u64::from(blocked::BLOCK.bits);
                let useful = capacity.saturating_mul(MOST_POSITIONS_PER_KEY).div_ceil(block_bits);
                let blocks = (bits / block_bits).min(useful);
                if blocks == 0 {
                    return Err(too_little());
                }
                let bits_per_key = (blocks * block_bits) as f64 / capacity as f64;
                let probes = blocked_theory::best_probes(blocked::BLOCK, bits_per_key)?;
                Self::new(capacity, Shape::Blocked { blocks, probes })
            }
            Kind::Cuckoo => widest(4..=32, |fingerprint_bits| Shape::Cuckoo { fingerprint_bits }),
            Kind::Quotient => widest(1..=62, |remainder_bits| Shape::Quotient { remainder_bits }),
            Kind::Fuse => widest(1..=32, |width| Shape::Fuse { width }),
            Kind::Growing => Self::lowest_rate(capacity, bits, |rate| Shape::Growing { rate })
                .ok_or_else(too_little),
            Kind::GrowingBlocked => {
                Self::lowest_rate(capacity, bits, |rate| Shape::GrowingBlocked { rate })
                    .ok_or_else(too_little)
            }
        }
    }

    /// The plan with the lowest rate that takes no more bits than these, by halving the interval of
    /// the rate's logarithm.
    fn lowest_rate(capacity: u64, bits: u64, shape: fn(f64) -> Shape) -> Option<Self> {
        let fitting = |log2: f64| {
            Self::new(capacity, shape(log2.exp2())).ok().filter(|plan| plan.size_in_bits <= bits)
        };
        // Digests of 64 bits reach no further.
        let (mut too_low, mut high_enough) = (-64.0, -1e-6);
        let mut best = fitting(high_enough)?;
        for _ in 0..40 {
            let middle = (too_low + high_enough) / 2.0;
            match fitting(middle) {
                Some(plan) => (high_enough, best) = (middle, plan),
                None => too_low = middle,
            }
        }
        Some(best)
    }

    /// The filter for as many keys as fit into `bytes` with at most this rate of wrong yeses.
    ///
    /// ```
    /// use crivo::filter::Kind;
    /// use crivo::filter::Plan;
    ///
    /// let plan = Plan::for_most_keys(Kind::Bloom, 0.01, 64_000_000)?;
    /// assert_eq!(plan.capacity() / 1_000_000, 53); // million keys
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the rate is not between 0 and 1, this kind cannot reach it, or there is no memory for one
    /// key.
    pub fn for_most_keys(kind: Kind, rate: f64, bytes: u64) -> Result<Self, ParameterError> {
        let too_little =
            || ParameterError::new("memory in bytes", bytes, "enough for a key at that rate");
        let bits = bytes.checked_mul(8).ok_or_else(too_little)?;
        // What is wrong with one key is wrong with the rate, and not with the memory.
        let one = Self::for_rate(kind, 1, rate)?;
        if one.size_in_bits > bits {
            return Err(too_little());
        }
        // No filter takes fewer bits than the information it holds.
        let most = (bits as f64 / limits::fixed_set(rate)?) as u64;
        let does_not_fit =
            |keys| Self::for_rate(kind, keys, rate).map_or(true, |plan| plan.size_in_bits > bits);
        let keys = least(most / 2, most.saturating_add(2), does_not_fit).unwrap_or(most);
        Self::for_rate(kind, keys.saturating_sub(1).max(1), rate)
    }

    fn new(capacity: u64, shape: Shape) -> Result<Self, ParameterError> {
        let whole_words = |bits: u64| bits.div_ceil(64).saturating_mul(64);
        let (size_in_bits, expected_fpr) = match shape {
            Shape::Bloom { bits, probes } => {
                let bits = whole_words(bits);
                (bits, bloom::expected_fpr(bits, capacity, probes))
            }
            Shape::Blocked { blocks, probes } => (
                blocks.saturating_mul(blocked::BLOCK.bits.into()),
                blocked::expected_fpr(blocks, capacity, probes),
            ),
            Shape::Counting { counters, probes } => (
                whole_words(counters.saturating_mul(COUNTER.bits().into())),
                bloom_theory::rate(counters, capacity, probes)?,
            ),
            Shape::Cuckoo { fingerprint_bits } => {
                cuckoo::size::dimensions(capacity, fingerprint_bits)?
            }
            Shape::Quotient { remainder_bits } => quotient::dimensions(capacity, remainder_bits)?,
            Shape::Fuse { width } => {
                let options = FuseOptions { width, ..FuseOptions::default() };
                let keys = usize::try_from(capacity).unwrap_or(usize::MAX);
                (options.size_in_bits(keys)?, fuse_theory::rate(width)?)
            }
            Shape::Growing { rate } => (first_stage_bits::<Bloom>(capacity, rate)?, rate),
            Shape::GrowingBlocked { rate } => (first_stage_bits::<Blocked>(capacity, rate)?, rate),
        };
        Ok(Self { capacity, shape, size_in_bits, expected_fpr })
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match self.shape {
            Shape::Bloom { .. } => Kind::Bloom,
            Shape::Blocked { .. } => Kind::Blocked,
            Shape::Counting { .. } => Kind::Counting,
            Shape::Cuckoo { .. } => Kind::Cuckoo,
            Shape::Quotient { .. } => Kind::Quotient,
            Shape::Fuse { .. } => Kind::Fuse,
            Shape::Growing { .. } => Kind::Growing,
            Shape::GrowingBlocked { .. } => Kind::GrowingBlocked,
        }
    }

    /// How many keys it is made for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The memory of the table, in bits; of the first stage's, if it is growing.
    pub fn size_in_bits(&self) -> u64 {
        self.size_in_bits
    }

    /// Bits of memory per key, when it holds as many as it is made for.
    pub fn bits_per_key(&self) -> f64 {
        self.size_in_bits as f64 / self.capacity as f64
    }

    /// The rate of wrong yeses that theory gives, when it holds as many keys as it is made for.
    pub fn expected_fpr(&self) -> f64 {
        self.expected_fpr
    }

    /// Makes the filter, without keys.
    ///
    /// # Errors
    /// If there is no memory, or for a fuse filter, which is made of all its keys at once:
    /// [`build`](Self::build).
    pub fn make(&self, hasher: KeyHasher) -> Result<AnyFilter, BuildError> {
        let Self { capacity, shape, .. } = *self;
        Ok(match shape {
            Shape::Bloom { bits, probes } => {
                Bloom::with_parts(bits, probes, capacity, hasher)?.into()
            }
            Shape::Blocked { blocks, probes } => {
                Blocked::zeroed(blocks, probes, capacity, hasher)?.into()
            }
            Shape::Counting { counters, probes } => {
                CountingBloom::allocated(capacity, counters, probes, COUNTER, hasher)?.into()
            }
            Shape::Cuckoo { fingerprint_bits } => {
                Cuckoo::with_fingerprint_bits(capacity, fingerprint_bits, hasher)?.into()
            }
            Shape::Quotient { remainder_bits } => {
                Quotient::with_remainder_bits(capacity, remainder_bits, hasher)?.into()
            }
            Shape::Growing { rate } => Growing::with_hasher(capacity, rate, hasher)?.into(),
            Shape::GrowingBlocked { rate } => {
                Growing::blocked_with_hasher(capacity, rate, hasher)?.into()
            }
            Shape::Fuse { .. } => {
                let allowed = "one that takes keys one by one; a fuse filter takes all at once";
                return Err(ParameterError::new("kind", Kind::Fuse, allowed).into());
            }
        })
    }

    /// Makes the filter of all these keys, whatever its kind. Their digests must come from
    /// `hasher`, and should be distinct: most kinds count every copy.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::Kind;
    /// use crivo::filter::{Filter, Plan};
    ///
    /// let hasher = KeyHasher::default();
    /// let digests = ["ana", "rui"].map(|key| hasher.digest(key));
    /// for kind in Kind::ALL {
    ///     let filter = Plan::for_rate(kind, 2, 0.01)?.build(hasher, digests.to_vec())?;
    ///     assert!(filter.contains("ana") && filter.contains("rui"));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory, no place for all keys, or no seed for a fuse filter.
    pub fn build(&self, hasher: KeyHasher, digests: Vec<Digest>) -> Result<AnyFilter, PlanError> {
        if let Shape::Fuse { width } = self.shape {
            let options = FuseOptions { width, hasher, ..FuseOptions::default() };
            return Ok(options.build_digests(digests)?.into());
        }
        let mut filter = self.make(hasher)?;
        filter.insert_batch(&digests)?;
        Ok(filter)
    }
}

/// Why a planned filter could not be built of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A parameter is out of range, or there is no memory.
    Build(BuildError),
    /// There is no place for all keys.
    Insert(OperationError),
    /// The equations of a fuse filter could not be solved.
    Fuse(FuseError),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(error) => error.fmt(f),
            Self::Insert(error) => error.fmt(f),
            Self::Fuse(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Build(error) => error,
            Self::Insert(error) => error,
            Self::Fuse(error) => error,
        })
    }
}

impl From<BuildError> for PlanError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl From<OperationError> for PlanError {
    fn from(error: OperationError) -> Self {
        Self::Insert(error)
    }
}

impl From<FuseError> for PlanError {
    fn from(error: FuseError) -> Self {
        Self::Fuse(error)
    }
}
