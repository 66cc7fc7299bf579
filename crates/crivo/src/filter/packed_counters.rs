//! Counters of four or eight bits, packed without gaps from the low end of each word: what all
//! counting filters share.

use std::fmt;

use super::Count;
use crate::ParameterError;

/// How many bits a counter has.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::filter::{Count, CounterWidth, CountingBloom};
///
/// let hasher = KeyHasher::default();
/// for (width, count) in [
///     (CounterWidth::Four, Count::AtLeast(15)),
///     (CounterWidth::Eight, Count::AtMost(20)),
/// ] {
///     let mut filter = CountingBloom::with_width(1_000, 0.01, width, hasher)?;
///     filter.extend(["ana"; 20]);
///     assert_eq!(filter.count("ana"), count);
/// }
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CounterWidth {
    /// Four bits: counts to 14, and then *at least 15*.
    #[default]
    Four,
    /// Eight bits: counts to 254, and then *at least 255*.
    Eight,
}

impl CounterWidth {
    /// The bits of a counter: 4 or 8.
    ///
    /// ```
    /// assert_eq!(crivo::filter::CounterWidth::Four.bits(), 4);
    /// ```
    pub const fn bits(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The value at which a counter is saturated: 15 or 255.
    ///
    /// ```
    /// assert_eq!(crivo::filter::CounterWidth::Four.max(), 15);
    /// ```
    pub const fn max(self) -> u8 {
        match self {
            Self::Four => 15,
            Self::Eight => 255,
        }
    }

    /// The width of that many bits.
    pub(super) fn from_bits(bits: u64) -> Result<Self, ParameterError> {
        [Self::Four, Self::Eight]
            .into_iter()
            .find(|width| u64::from(width.bits()) == bits)
            .ok_or_else(|| ParameterError::new("bits of a counter", bits, "4 or 8"))
    }

    /// What a counter of this value says.
    pub(super) fn count(self, value: u8) -> Count {
        let count = u64::from(value);
        if value < self.max() { Count::AtMost(count) } else { Count::AtLeast(count) }
    }
}

impl fmt::Display for CounterWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bits", self.bits())
    }
}

/// Which way a key's counters go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
}

/// Every counter of the words, in order.
pub(super) fn values(words: &[u64], width: CounterWidth) -> impl Iterator<Item = u8> {
    let (bits, greatest) = (width.bits(), u64::from(width.max()));
    let lanes = move |&word: &u64| {
        (0..64 / bits).map(move |lane| ((word >> (lane * bits)) & greatest) as u8)
    };
    words.iter().flat_map(lanes)
}

/// Adds the counters of `theirs` to `ours` one by one; a sum that is too large saturates.
pub(super) fn add(ours: &mut [u64], theirs: &[u64], width: CounterWidth) {
    let sum = match width {
        CounterWidth::Four => saturating_sum::<4>,
        CounterWidth::Eight => saturating_sum::<8>,
    };
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        *ours = sum(*ours, *theirs);
    }
}

/// Raises the counters at these places, each by one unless it is saturated.
pub(super) fn raise<const BITS: u32>(words: &mut [u64], places: &[u32]) {
    for place in places {
        let word = &mut words[(place / (64 / BITS)) as usize];
        let shift = place % (64 / BITS) * BITS;
        let is_below = (*word >> shift) & mask::<BITS>() != mask::<BITS>();
        *word += u64::from(is_below) << shift;
    }
}

/// The greatest value of a counter.
#[inline(always)]
pub(super) const fn mask<const BITS: u32>() -> u64 {
    (1 << BITS) - 1
}

/// Lane by lane min(a + b, greatest value): the even lanes, then the odd ones, each with a free
/// lane above it that takes the carry.
fn saturating_sum<const BITS: u32>(a: u64, b: u64) -> u64 {
    // Ones at the bottom of every second lane: 1, then 2·BITS bits higher …
    let ones = u64::MAX / ((1 << (2 * BITS)) - 1);
    let lanes = ones * mask::<BITS>();
    let half = |a: u64, b: u64| {
        let sum = (a & lanes) + (b & lanes);
        let carries = (sum >> BITS) & ones;
        (sum | (carries * mask::<BITS>())) & lanes
    };
    half(a, b) | (half(a >> BITS, b >> BITS) << BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum_lane_by_lane(a: u64, b: u64, bits: u32) -> u64 {
        let greatest = (1 << bits) - 1;
        let lane = |word: u64, shift: u32| (word >> shift) & greatest;
        (0..64)
            .step_by(bits as usize)
            .map(|shift| (lane(a, shift) + lane(b, shift)).min(greatest) << shift)
            .fold(0, |all, lane| all | lane)
    }

    proptest! {
        #[test]
        fn sums_saturate_lane_by_lane(a: u64, b: u64) {
            for (a, b) in [(a, b), (a, !a), (a, 0), (u64::MAX, b)] {
                prop_assert_eq!(saturating_sum::<4>(a, b), sum_lane_by_lane(a, b, 4));
                prop_assert_eq!(saturating_sum::<8>(a, b), sum_lane_by_lane(a, b, 8));
            }
        }
    }
}
