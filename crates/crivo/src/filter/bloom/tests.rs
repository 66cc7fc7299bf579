//! The laws of a Bloom filter, and its rate.

use proptest::prelude::*;

use super::*;
use crate::filter::testing::merge_laws;
use crate::filter::{Bytes, Kind};
use crate::persist::testing::{from_parts, payload_length};
use crate::persist::{DecodeError, Persist};
use crate::theory::{bloom, interval};

#[test]
fn the_worked_example_of_the_documentation() {
    let mut filter = Bloom::with_size(64, 3, KeyHasher::default()).unwrap();
    let sorted = |key: &str| {
        let filter = Bloom::with_size(64, 3, KeyHasher::default()).unwrap();
        let mut positions: Vec<u64> = filter.positions(filter.hasher.digest(key)).collect();
        positions.sort_unstable();
        positions
    };
    assert_eq!(sorted("ana"), [31, 32, 40]);
    assert_eq!(sorted("rui"), [20, 35, 41]);
    assert_eq!(sorted("ema"), [7, 32, 49]);
    filter.insert("ana");
    assert_eq!(filter.table.words()[0], 1 << 31 | 1 << 32 | 1 << 40);
    filter.insert("rui");
    assert_eq!(filter.count_set_bits(), 6);
    assert!(filter.contains("ana") && filter.contains("rui") && !filter.contains("ema"));
}

merge_laws!(
    Bloom,
    ours: Bloom::with_size(1_024, 4, KeyHasher::xxh3(1)),
    unlike:
        "hash function" = Bloom::with_size(1_024, 4, KeyHasher::xxh3(2)),
        "size in bits" = Bloom::with_size(1_025, 4, KeyHasher::xxh3(1)),
        "k" = Bloom::with_size(1_024, 5, KeyHasher::xxh3(1)),
);

fn of_keys(keys: &[u64], bits: u64, probes: u32) -> Bloom {
    let mut filter = Bloom::with_size(bits, probes, KeyHasher::xxh3(1)).unwrap();
    filter.extend(keys);
    filter
}

fn taken_apart(filter: &Bloom) -> (Vec<u64>, Words) {
    (filter.parts().parameters, Words::copied(&filter.parts().payload.concat()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    fn there_are_no_false_negatives_and_batch_is_loop(
        keys: Vec<u64>, others: Vec<u64>, bits in 1u64..5_000, probes in 1u32..20,
    ) {
        let filter = of_keys(&keys, bits, probes);
        prop_assert!(keys.iter().all(|key| filter.contains(key)));
        prop_assert_eq!(filter.key_count(), keys.len() as u64);
        let digests: Vec<Digest> =
            keys.iter().chain(&others).map(|key| filter.hasher().digest(key)).collect();
        let mut hits = vec![false; digests.len()];
        filter.contains_batch(&digests, &mut hits);
        let one_by_one: Vec<bool> =
            digests.iter().map(|&key| filter.contains_digest(key)).collect();
        prop_assert_eq!(hits, one_by_one);
    }

    #[test]
    fn parts_put_together_are_the_filter(keys: Vec<u64>, bits in 1u64..5_000, probes in 1u32..20) {
        let filter = of_keys(&keys, bits, probes);
        let (parameters, words) = taken_apart(&filter);
        prop_assert_eq!(payload_length::<Bloom>(Kind::Bloom, &parameters).unwrap(), words.len() as u64);
        let again = from_parts::<Bloom>(Kind::Bloom, filter.hasher, filter.key_count, &parameters, words).unwrap();
        prop_assert_eq!(again, filter);
    }

    #[test]
    fn hostile_parts_are_refused_or_safe(
        parameters in prop::collection::vec(prop_oneof![0u64..20, any::<u64>()], 0..5),
        words in 0usize..20,
        key_count: u64,
        key: u64,
    ) {
        let length = payload_length::<Bloom>(Kind::Bloom, &parameters);
        let words = Words::zeroed(words).unwrap();
        let fits = length.as_ref().is_ok_and(|&length| length == words.len() as u64);
        let filter = from_parts::<Bloom>(Kind::Bloom, KeyHasher::default(), key_count, &parameters, words);
        prop_assert_eq!(filter.is_ok(), fits);
        if let Ok(mut filter) = filter {
            filter.insert(&key);
            prop_assert!(filter.contains(&key));
            prop_assert!((0.0..=1.0).contains(&filter.expected_fpr()));
        }
    }
}

/// Rounding once gave 1.0000000000000002 here.
#[test]
fn the_rate_of_an_overfull_filter_is_no_more_than_1() {
    let rate = bloom::mean_fpr(512, 3_213, 6);
    assert!(rate > 0.999 && rate <= 1.0, "{rate}");
}

#[test]
fn parts_that_contradict_each_other_are_named() {
    let parse = |parameters: &[u64]| payload_length::<Bloom>(Kind::Bloom, parameters).unwrap_err();
    assert!(matches!(parse(&[1, 2]), DecodeError::Inconsistent(_)));
    for bad in [[0, 7, 1], [1 << 58, 7, 1], [1, 0, 1], [1, 256, 1], [1, 1 << 40, 1], [1, 7, 0]] {
        assert!(matches!(parse(&bad), DecodeError::Parameter(_)), "{bad:?}");
    }
}

/// Mean and standard error of the measured rates of filters with different seeds.
fn mean_rate(filters: u64, measure: impl Fn(u64) -> f64) -> (f64, f64) {
    let rates: Vec<f64> = (0..filters).map(measure).collect();
    let mean = rates.iter().sum::<f64>() / filters as f64;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    (mean, (variance / (filters - 1) as f64 / filters as f64).sqrt())
}

/// Six cells, each within five standard errors: it fails by chance once in 300,000 times.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_mean_rate_of_small_filters_is_that_of_theory() {
    for (n, bits, probes, filters, queries) in [
        (10u64, 128, 6, 5_000, 1_000u64),
        (100, 960, 7, 2_000, 2_000),
        (50, 512, 13, 4_000, 2_000),
        (1_000, 4_800, 3, 500, 4_000),
        (5_000, 64 * 750, 7, 200, 20_000),
        (5_000, 64 * 400, 12, 200, 20_000),
    ] {
        let theory = bloom::fpr_exact(bits, n, probes).unwrap();
        let (mean, error) = mean_rate(filters, |seed| {
            let mut filter = Bloom::with_size(bits, probes, KeyHasher::xxh3(seed)).unwrap();
            filter.extend(0..n);
            (n..n + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
        });
        assert!(
            (mean - theory).abs() < 5.0 * error,
            "n = {n}, m = {bits}, k = {probes}: {mean} ± {error}, by theory {theory}"
        );
    }
}

/// Exact intervals at a confidence of 1 − 1e-6, for three rates: it fails by chance at most three
/// times in a million.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_rate_of_a_large_filter_is_that_of_theory() {
    for rate in [0.2, 0.01, 1e-4] {
        let (n, queries) = (200_000u64, 400_000u64);
        let mut filter = Bloom::with_hasher(n, rate, KeyHasher::xxh3(11)).unwrap();
        filter.extend(0..n);
        assert!((0..n).all(|key| filter.contains(&key)));
        let hits = (n..n + queries).filter(|key| filter.contains(key)).count() as u64;
        let interval = interval::exact(hits, queries, 1.0 - 1e-6).unwrap();
        assert!(interval.contains(filter.expected_fpr()), "{hits} hits at {rate}");
        assert!(interval.contains(filter.fill_fpr()), "{hits} hits at {rate}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_filter_keeps_its_rate_up_to_its_capacity_and_rises_beyond() {
    for (n, rate) in [(1, 0.5), (10, 0.01), (1_000, 1e-6), (1_000_000, 0.01)] {
        let mut filter = Bloom::new(n, rate).unwrap();
        assert_eq!((filter.capacity(), filter.expected_fpr(), filter.fill_fpr()), (n, 0.0, 0.0));
        filter.extend(0..n);
        let at_capacity = filter.expected_fpr();
        assert!(at_capacity <= rate, "{at_capacity} of {rate}");
        filter.extend(n..2 * n);
        assert!(filter.expected_fpr() > 1.5 * at_capacity);
        assert!((0..2 * n).all(|key| filter.contains(&key)));
        assert_eq!(filter.key_count(), 2 * n);
    }
}

/// Within six standard errors: it fails by chance once in 500 million times.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn set_bits_tell_how_many_keys_there_are_whatever_was_inserted_twice() {
    let mut filter = Bloom::new(10_000, 0.01).unwrap();
    for _ in 0..3 {
        filter.extend(0..10_000u64);
    }
    let estimate = filter.estimated_key_count().unwrap();
    assert!((estimate.keys - 10_000.0).abs() < 6.0 * estimate.standard_error, "{estimate:?}");
    assert_eq!(filter.key_count(), 30_000);

    let mut full = Bloom::with_size(64, 200, KeyHasher::default()).unwrap();
    full.extend(0..100u64);
    assert_eq!((full.count_set_bits(), full.fill_fpr()), (64, 1.0));
    assert_eq!(full.estimated_key_count(), None);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_constructor_makes_what_it_says() {
    let hasher = KeyHasher::farm(3);
    let sized = Bloom::with_size(1_000, 5, hasher).unwrap();
    assert_eq!((sized.size_in_bits(), sized.probes(), sized.capacity()), (1_024, 5, 138));
    let per_key = BloomSpec::with_bits_per_key(1_000, 10.0).unwrap().build(hasher).unwrap();
    assert_eq!((per_key.size_in_bits(), per_key.probes()), (10_048, 7));
    assert_eq!((per_key.capacity(), per_key.hasher()), (1_000, hasher));
    let budget = BloomSpec::for_memory(1_000, Bytes(1_007)).unwrap().build(hasher).unwrap();
    assert_eq!((budget.size_in_bits(), budget.probes(), budget.capacity()), (8_000, 6, 1_000));

    for bad in [
        Bloom::new(0, 0.01),
        Bloom::new(1, 0.0),
        Bloom::new(1, 1.0),
        Bloom::new(1, f64::NAN),
        Bloom::with_size(0, 1, hasher),
        Bloom::with_size(64, 0, hasher),
        Bloom::with_size(64, 256, hasher),
    ] {
        assert!(matches!(bad, Err(BuildError::Parameter(_))), "{bad:?}");
    }
    for (capacity, bits_per_key) in [(0, 8.0), (1, 0.0), (u64::MAX, 1e9)] {
        assert!(BloomSpec::with_bits_per_key(capacity, bits_per_key).is_err());
    }
    for (capacity, bytes) in [(1, 7), (0, 8), (1, u64::MAX)] {
        assert!(BloomSpec::for_memory(capacity, Bytes(bytes)).is_err());
    }
    assert!(matches!(Bloom::new(1 << 55, 0.01), Err(BuildError::OutOfMemory { .. })));
}

/// 640 MB: `cargo test -p crivo --lib beyond_32_bits -- --ignored`
#[test]
#[ignore = "640 MB of memory: cargo test -p crivo --lib bloom -- --ignored"]
fn a_table_beyond_32_bits_is_used_to_its_end() {
    let mut filter = Bloom::with_size(5_000_000_000, 7, KeyHasher::default()).unwrap();
    filter.extend(0..100_000u64);
    assert!((0..100_000u64).all(|key| filter.contains(&key)));
    let set = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    let words = filter.table.words();
    // 700,000 bits, 140,000 in each fifth with a standard deviation of 335.
    for fifth in words.chunks(words.len().div_ceil(5)) {
        assert!(set(fifth).abs_diff(140_000) < 2_500, "{}", set(fifth));
    }
}
