//! From digests to positions in a table.

use super::{Digest, reduce};

/// The points of a digest: an endless sequence of 64-bit numbers, each as good as random.
///
/// ```text
///   point_0 = digest        point_(i+1) = rotate_left(point_i, 39) + digest · c        mod 2^64
/// ```
///
/// It is double hashing with a turn. Plain double hashing adds the same number k times, so that a
/// key's points are an arithmetic progression: some keys fall on few places, and two keys that share
/// two are likely to share all. *Enhanced* double hashing (Dillinger and Manolios) adds a cubic term
/// against that, and still leaves the points of a key to two numbers. The turn brings bits of the
/// digest to the front that have had no say so far, which makes the points of a small table as good
/// as independent ones. 39 is odd, so that no turn comes back within 64 steps, and close to 64 over
/// the golden ratio, so that the first turns lie far apart.
///
/// Measured against the exact rate for independent points, a Bloom filter of 960 bits with 50 keys
/// and k = 13 errs 2.8% too often by enhanced double hashing, and 6.6% with a turn by 40, which comes
/// back at every eighth step; with the turn by 39 no case differed by more than 1.8 standard errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Points {
    point: u64,
    step: u64,
}

impl Points {
    /// c of the formula above: 2^64 over the golden ratio, odd.
    const STEP: u64 = crivo_core::mix::GOLDEN;
    const TURN: u32 = 39;

    #[inline(always)]
    pub(crate) const fn new(digest: Digest) -> Self {
        Self { point: digest.get(), step: digest.get().wrapping_mul(Self::STEP) }
    }

    /// The next point.
    #[inline(always)]
    pub(crate) const fn advance(&mut self) -> u64 {
        let point = self.point;
        self.point = point.rotate_left(Self::TURN).wrapping_add(self.step);
        point
    }
}

/// k indices in `0..m` from one digest: double hashing without its bias.
///
/// ```text
///   index_i = reduce(point_i, m)
///   point_0 = digest        point_(i+1) = rotate_left(point_i, 39) + digest · c        mod 2^64
/// ```
///
/// Plain double hashing, `point_i = digest + i · step`, makes a key's indices an arithmetic
/// progression, which lifts a filter's error rate above theory: keys with a small step fall on few
/// places, and two keys that share two places share all. The usual remedy is *enhanced* double
/// hashing, with a cubic term. In small tables it still shows: at 960 bits, 50 keys and k = 13 a Bloom
/// filter errs 2.8% more often than with independent indices. Turning the running point by 39 bits
/// at every step brings other bits of the digest to the front, costs no more than the cubic term,
/// and leaves no difference that we could measure. Indices may repeat, just as independent ones do.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::hash::Indices;
///
/// let digest = KeyHasher::default().digest("ana");
/// let positions: Vec<u64> = Indices::new(digest, 1000).take(7).collect();
/// assert_eq!(positions.len(), 7);
/// assert!(positions.iter().all(|&position| position < 1000));
/// ```
#[derive(Debug, Clone)]
pub struct Indices {
    points: Points,
    m: u64,
}

impl Indices {
    /// The endless sequence of indices of `digest` in `0..m`; take k of them.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::hash::{Indices, reduce};
    ///
    /// // The first is the digest itself, reduced.
    /// let digest = KeyHasher::default().digest("ana");
    /// assert_eq!(Indices::new(digest, 1_000).next(), Some(reduce(digest.get(), 1_000)));
    /// ```
    #[inline]
    pub const fn new(digest: Digest, m: u64) -> Self {
        Self { points: Points::new(digest), m }
    }
}

impl Iterator for Indices {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        Some(reduce(self.points.advance(), self.m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use proptest::prelude::*;

    #[test]
    fn the_formula_of_the_documentation_holds() {
        let digest = Digest::new(0x0123_4567_89ab_cdef);
        let m = 1 << 40;
        let mut point = digest.get();
        for index in Indices::new(digest, m).take(200) {
            assert_eq!(index, reduce(point, m));
            let step = digest.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            point = point.rotate_left(39).wrapping_add(step);
        }
    }

    proptest! {
        #[test]
        fn reduce_is_exact_and_in_range(hash: u64, m in 1u64..) {
            let index = reduce(hash, m);
            prop_assert!(index < m);
            prop_assert_eq!(u128::from(index), (u128::from(hash) * u128::from(m)) >> 64);
        }

        #[test]
        fn reduce_is_monotone(a: u64, b: u64, m in 1u64..) {
            prop_assert!(reduce(a.min(b), m) <= reduce(a.max(b), m));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn tables_beyond_32_bits_are_used_to_the_end() {
        let m = 10_000_000_000_u64;
        let hasher = KeyHasher::default();
        let mut deciles = [0u32; 10];
        for key in 0..100_000u64 {
            for index in Indices::new(hasher.digest(&key), m).take(3) {
                deciles[(index / (m / 10)) as usize] += 1;
            }
        }
        // 300,000 draws, 30,000 a decile with a standard deviation of 164: six of them apart
        // has a chance below 1e-7 for the ten together.
        assert!(deciles.iter().all(|&count| count.abs_diff(30_000) < 1_000), "{deciles:?}");
    }

    /// Bits set and asked at these indices err like independent ones: the mean over many small
    /// tables, each with a seed of its own, against the exact rate for independent indices. Their
    /// scatter gives the standard error; five of them apart has a chance of 3e-6 for the four.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_bloom_filter_on_these_indices_has_the_rate_of_theory() {
        for (m, n, k) in [(128, 10, 6), (960, 50, 13), (4_800, 500, 7), (10_000, 2_000, 3)] {
            let (tables, questions) = (2_000, 2_000);
            let rates: Vec<f64> = (0..tables)
                .map(|seed| {
                    let hasher = KeyHasher::xxh3(seed);
                    let indices = |key: u64| Indices::new(hasher.digest(&key), m).take(k as usize);
                    let mut bits = vec![false; m as usize];
                    for index in (0..n).flat_map(indices) {
                        bits[index as usize] = true;
                    }
                    let wrong = |key: &u64| indices(*key).all(|index| bits[index as usize]);
                    (n..n + questions).filter(wrong).count() as f64 / questions as f64
                })
                .collect();
            let mean = rates.iter().sum::<f64>() / tables as f64;
            let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
            let error = (squares / (tables * (tables - 1)) as f64).sqrt();
            let theory = crate::theory::bloom::fpr_exact(m, n, k).unwrap();
            assert!((mean - theory).abs() < 5.0 * error, "{m} bits: {mean} ± {error}, {theory}");
        }
    }
}
