//! The textbook's Bloom filter, with k hash functions.
//!
//! This is how Bloom filters were first described, and how published experiments built them. It is
//! here to show that one digest, from which [`Bloom`](crivo::filter::Bloom) derives its k positions,
//! gives the same false-positive rate for a k-th of the work. Use that one.

use crivo::hash::{Family, reduce};
use crivo::{BuildError, Key, KeyHasher, ParameterError};
use crivo_core::Words;
use crivo_core::check::check_positive;

/// k indices in `0..m` from k members of one family: the construction of the source documents.
///
/// It costs k hashes per key where [`Indices`](crivo::hash::Indices) costs one.
///
/// ```
/// use crivo::hash::Family;
/// use crivo_lab::seeded::SeededIndices;
///
/// let functions = SeededIndices::new(Family::Farm, 0, 10)?;
/// let positions: Vec<u64> = functions.indices("ana", 1000).collect();
/// assert_eq!(positions.len(), 10);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededIndices {
    hashers: Vec<KeyHasher>,
}

impl SeededIndices {
    /// The members of `family` with the seeds `first_seed`, `first_seed + 1`, … `+ k − 1`.
    ///
    /// # Errors
    /// If k is 0 or above 255, or if the family has no seeds to choose from.
    pub fn new(family: Family, first_seed: u64, k: u32) -> Result<Self, ParameterError> {
        if !(1..=255).contains(&k) {
            return Err(ParameterError::new("k", k, "from 1 to 255"));
        }
        if !family.is_seeded() {
            return Err(ParameterError::new("hash family", family, "one that takes seeds"));
        }
        let seeds = (0..u64::from(k)).map(|i| first_seed.wrapping_add(i));
        Ok(Self { hashers: seeds.map(|seed| family.with_seed(seed)).collect() })
    }

    /// The k indices of `key` in `0..m`.
    pub fn indices<K: Key + ?Sized>(&self, key: &K, m: u64) -> impl Iterator<Item = u64> {
        self.hashers.iter().map(move |hasher| reduce(hasher.digest(key).get(), m))
    }

    /// The k hash functions, in order.
    pub fn hashers(&self) -> &[KeyHasher] {
        &self.hashers
    }
}

/// A Bloom filter that hashes every key k times, with k members of one family of functions.
///
/// It needs keys, not digests; hence it is no [`Filter`](crivo::filter::Filter).
///
/// ```
/// use crivo::hash::Family;
/// use crivo_lab::seeded::SeededBloom;
///
/// let mut seen = SeededBloom::with_size(9_600, 7, Family::Farm, 0)?; // FarmHash, seeds 0, 1, … 6
/// seen.insert("ana");
/// assert!(seen.contains("ana"));
/// assert!(!seen.contains("rui"));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededBloom {
    words: Words,
    /// Any number, unlike in `Bloom`: experiments name odd ones.
    bits: u64,
    functions: SeededIndices,
}

impl SeededBloom {
    /// A filter of exactly `bits` bits with `probes` functions, by those of `family` with the seeds
    /// `first_seed`, `first_seed + 1`, ….
    ///
    /// # Errors
    /// If there are no bits, the probes are not from 1 to 255, the family has no seeds, or there is
    /// no memory.
    pub fn with_size(
        bits: u64,
        probes: u32,
        family: Family,
        first_seed: u64,
    ) -> Result<Self, BuildError> {
        check_positive("m", bits)?;
        let functions = SeededIndices::new(family, first_seed, probes)?;
        let words = usize::try_from(bits.div_ceil(64))
            .map_err(|_| BuildError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Self { words: Words::zeroed(words)?, bits, functions })
    }

    /// Makes `key` a member. It never fails.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        let words = self.words.to_mut();
        for index in self.functions.indices(key, self.bits) {
            words[(index / 64) as usize] |= 1 << (index % 64);
        }
    }

    /// Whether `key` may be a member. `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.functions
            .indices(key, self.bits)
            .all(|index| self.words[(index / 64) as usize] >> (index % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use crivo::filter::Bloom;
    use crivo::theory::bloom;

    use super::*;

    /// The mean rate of filters with different seeds, and its standard error.
    fn mean_rate(filters: u64, rate: impl Fn(u64) -> f64) -> (f64, f64) {
        let rates: Vec<f64> = (0..filters).map(rate).collect();
        let mean = rates.iter().sum::<f64>() / filters as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        (mean, (squares / (filters * (filters - 1)) as f64).sqrt())
    }

    /// The same from k functions as from one digest, and as theory says. Four comparisons within
    /// five standard errors: it fails by chance once in 400,000 times.
    #[test]
    fn k_functions_and_one_digest_have_the_same_rate() {
        let (n, bits, probes, filters, queries) = (500u64, 4_800, 7, 400, 2_000u64);
        let theory = bloom::fpr_exact(bits, n, probes).unwrap();
        let absent = || n..n + queries;
        for family in [Family::Farm, Family::Xxh3] {
            let (seeded, seeded_error) = mean_rate(filters, |seed| {
                // Seeds of different filters must not overlap.
                let first_seed = 1_000 * seed;
                let mut filter = SeededBloom::with_size(bits, probes, family, first_seed).unwrap();
                (0..n).for_each(|key| filter.insert(&key));
                assert!((0..n).all(|key| filter.contains(&key)));
                absent().filter(|key| filter.contains(key)).count() as f64 / queries as f64
            });
            let (single, single_error) = mean_rate(filters, |seed| {
                let hasher = family.with_seed(1_000 * seed + 500);
                let mut filter = Bloom::with_size(bits, probes, hasher).unwrap();
                filter.extend(0..n);
                absent().filter(|key| filter.contains(key)).count() as f64 / queries as f64
            });
            let error = seeded_error.hypot(single_error);
            assert!((seeded - theory).abs() < 5.0 * seeded_error, "{family}: {seeded}, {theory}");
            assert!(
                (seeded - single).abs() < 5.0 * error,
                "{family}: {seeded}, {single} ± {error}"
            );
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let error = SeededIndices::new(Family::Farm, 0, 0).unwrap_err();
        assert_eq!(error.to_string(), "k is 0, but it must be from 1 to 255");
        let error = SeededIndices::new(Family::FarmFingerprint, 0, 3).unwrap_err();
        assert_eq!(error.parameter, "hash family");
    }
}
