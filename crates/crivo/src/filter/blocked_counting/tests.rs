use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::filter::testing::digests;
use crate::filter::{Bytes, CountingSpec, Kind};
use crate::persist::Persist;
use crate::persist::testing::{from_parts, payload_length};
use crate::theory::{blocked, interval};

const WIDTHS: [CounterWidth; 2] = [CounterWidth::Four, CounterWidth::Eight];
const RATES: [f64; 6] = [0.2, 0.05, 0.02, 0.01, 0.001, 1e-4];

fn small(width: CounterWidth, seed: u64) -> BlockedCounting {
    BlockedCounting::with_size(3, 5, width, KeyHasher::xxh3(seed)).unwrap()
}

fn filled(capacity: u64, rate: f64, seed: u64, keys: std::ops::Range<u64>) -> BlockedCounting {
    let mut filter = BlockedCounting::with_hasher(capacity, rate, KeyHasher::xxh3(seed)).unwrap();
    filter.extend(keys);
    filter
}

fn values(filter: &BlockedCounting) -> Vec<u8> {
    filter.counters().collect()
}

/// A filter as one would write it down: counters, and the positions of a key among them.
#[derive(Clone)]
struct Naive {
    counters: Vec<u8>,
    max: u8,
}

impl Naive {
    /// The different positions of a key.
    fn positions(filter: &BlockedCounting, key: Digest) -> Vec<usize> {
        let mut positions: Vec<usize> = filter.positions(key).map(|i| i as usize).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn insert(&mut self, positions: &[usize]) {
        for &i in positions {
            self.counters[i] = self.counters[i].saturating_add(1).min(self.max);
        }
    }

    fn remove(&mut self, positions: &[usize]) -> bool {
        let is_member = self.least(positions) > 0;
        for &i in positions.iter().filter(|_| is_member) {
            if self.counters[i] < self.max {
                self.counters[i] -= 1;
            }
        }
        is_member
    }

    fn least(&self, positions: &[usize]) -> u8 {
        positions.iter().map(|&i| self.counters[i]).min().unwrap()
    }
}

#[test]
fn the_worked_example_of_the_documentation_holds() {
    let key = Digest::new(0x9000_0000_0000_0001);
    let mut filter =
        BlockedCounting::with_size(4, 3, CounterWidth::Four, KeyHasher::default()).unwrap();
    filter.insert_digest(key);
    filter.insert_digest(key);
    let mut expected = [[0; LINE_WORDS]; 4];
    expected[2][1] = 2;
    expected[2][5] = 2 << (4 * 6);
    expected[2][2] = 2 << (4 * 9);
    assert_eq!(filter.table::<LINE_WORDS>(), expected);
    filter.remove_digest(key).unwrap();
    filter.remove_digest(key).unwrap();
    assert_eq!(filter.max_count(), Count::AtMost(0));
    assert_eq!(filter.remove_digest(key), Err(NotPresent));
}

/// A saved filter is asked by later versions: these counters must never change. They were computed by
/// another program.
#[test]
fn the_counters_of_a_key_stay_what_they_are() {
    let key = Digest::new(0x0123_4567_89ab_cdef);
    let positions = |width| -> Vec<u64> {
        let hasher = KeyHasher::default();
        let filter = BlockedCounting::with_size(1, 17, width, hasher).unwrap();
        filter.positions(key).collect()
    };
    assert_eq!(
        positions(CounterWidth::Four),
        [81, 69, 8, 78, 55, 126, 69, 89, 72, 122, 63, 101, 42, 55, 49, 53, 81]
    );
    assert_eq!(
        positions(CounterWidth::Eight),
        [104, 98, 4, 39, 91, 63, 98, 108, 36, 61, 95, 114, 21, 91, 88, 90, 104]
    );
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_sizes_of_the_documentation() {
    let documentation = include_str!("mod.rs");
    for fpr in [0.1, 0.01, 0.001, 0.0001] {
        let ours = BlockedCountingSpec::for_fpr(1_000_000, fpr).unwrap().bits_per_key();
        let classic = CountingSpec::for_fpr(1_000_000, fpr).unwrap().bits_per_key();
        let row = format!("/// | {}% | {ours:.1} | {classic:.1} |", 100.0 * fpr);
        assert!(documentation.contains(&row), "{row}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_set_of_instructions_gives_the_answers_of_the_naive_filter() {
    let hasher = KeyHasher::default();
    for width in WIDTHS {
        for probes in (1..=20).chain([100, 255]) {
            for &level in Level::all() {
                let mut filter = BlockedCounting::with_size(1, probes, width, hasher).unwrap();
                filter.level = level;
                let mut naive = Naive { counters: vec![0; 128], max: width.max() };
                // From an empty block to one with counters of every value, and some saturated.
                let keys: Vec<Digest> = digests(probes.into()).take(300).collect();
                for (i, &key) in keys.iter().enumerate() {
                    let at = Naive::positions(&filter, key);
                    let is_new = naive.least(&at) == 0;
                    assert_eq!(filter.contains_digest(key), !is_new);
                    assert_eq!(filter.insert_digest(key), is_new);
                    naive.insert(&at);
                    if i % 3 != 0 {
                        let key = keys[i / 2];
                        let removed = naive.remove(&Naive::positions(&filter, key));
                        assert_eq!(filter.remove_digest(key).is_ok(), removed);
                    }
                    assert_eq!(values(&filter), naive.counters, "{level:?} {probes} {width}");
                }
                for key in digests(99).take(500) {
                    let least = naive.least(&Naive::positions(&filter, key));
                    assert_eq!(filter.contains_digest(key), least > 0);
                    assert_eq!(filter.count_digest(key), width.count(least));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_single_counter_decides() {
    for width in WIDTHS {
        for probes in [1, 6, 7, 8, 9, 20] {
            for key in digests(9).take(50) {
                for &level in Level::all() {
                    let hasher = KeyHasher::default();
                    let mut filter = BlockedCounting::with_size(1, probes, width, hasher).unwrap();
                    filter.level = level;
                    filter.words.to_mut().fill(u64::MAX);
                    assert!(filter.contains_digest(key));
                    for i in filter.positions(key).collect::<Vec<_>>() {
                        let mut without = filter.clone();
                        let bit = i as usize * width.bits() as usize;
                        let counter = u64::from(width.max()) << (bit % 64);
                        without.words.to_mut()[bit / 64] &= !counter;
                        assert!(!without.contains_digest(key));
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn saturated_counters_stick() {
    for (width, greatest) in [(CounterWidth::Four, 15), (CounterWidth::Eight, 255)] {
        let mut filter = small(width, 1);
        for inserted in 1..greatest {
            filter.insert("ana");
            assert_eq!(filter.count("ana"), Count::AtMost(inserted));
        }
        filter.remove("ana").unwrap();
        assert_eq!(filter.count("ana"), Count::AtMost(greatest - 2));
        for _ in 0..3 {
            filter.insert("ana");
            filter.insert("ana");
            assert_eq!(filter.count("ana"), Count::AtLeast(greatest));
        }
        assert_eq!(filter.max_count(), Count::AtLeast(greatest));
        let before = values(&filter);
        for _ in 0..2_000 {
            filter.remove("ana").unwrap();
        }
        assert_eq!(values(&filter), before);
        assert_eq!(filter.key_count(), 0);
        filter.clear();
        assert_eq!(filter.count("ana"), Count::AtMost(0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn one_key_two_thousand_times_harms_no_other() {
    for width in WIDTHS {
        let mut filter = small(width, 2);
        filter.extend(0..10u64);
        filter.extend(std::iter::repeat_n("ana", 2_000));
        for _ in 0..2_000 {
            filter.remove("ana").unwrap();
        }
        assert!((0..10u64).all(|key| filter.contains(&key)));
        assert_eq!(filter.key_count(), 10);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn removing_an_absent_key_changes_nothing() {
    for width in WIDTHS {
        let mut filter = small(width, 3);
        filter.extend(0..10u64);
        let before = filter.clone();
        let absent: Vec<u64> = (10..1_000).filter(|key| !before.contains(key)).collect();
        assert!(absent.len() > 500);
        for key in absent {
            assert_eq!(filter.remove(&key), Err(NotPresent));
        }
        assert_eq!(filter, before);
    }
}

#[test]
fn only_equals_are_united() {
    let base = small(CounterWidth::Four, 5);
    let other = |blocks, probes, width, seed| {
        BlockedCounting::with_size(blocks, probes, width, KeyHasher::xxh3(seed)).unwrap()
    };
    for (other, parameter) in [
        (other(3, 5, CounterWidth::Four, 6), "hash function"),
        (other(4, 5, CounterWidth::Four, 5), "number of blocks"),
        (other(3, 6, CounterWidth::Four, 5), "k"),
        (other(3, 5, CounterWidth::Eight, 5), "width of a counter"),
    ] {
        let mut ours = base.clone();
        let error = ours.union_with(&other).unwrap_err();
        assert!(matches!(error, RebuildError::Incompatible(error) if error.parameter == parameter));
        assert_eq!(ours, base);
    }
}

#[test]
#[cfg_attr(miri, ignore = "asks for more memory than there is")]
fn bad_parameters_are_named() {
    let hasher = KeyHasher::default();
    let named = |result: Result<BlockedCounting, BuildError>| match result {
        Err(BuildError::Parameter(error)) => error.parameter,
        other => panic!("{other:?}"),
    };
    let with_size = |blocks, k| BlockedCounting::with_size(blocks, k, CounterWidth::Eight, hasher);
    assert_eq!(named(BlockedCounting::new(0, 0.01)), "n");
    assert_eq!(named(BlockedCounting::new(1, 0.0)), "fpr");
    assert_eq!(named(BlockedCounting::new(1, f64::NAN)), "fpr");
    assert_eq!(named(with_size(0, 7)), "number of blocks");
    assert_eq!(named(with_size(1 << 54, 7)), "number of blocks");
    assert_eq!(named(with_size(u64::MAX, 7)), "number of blocks");
    assert_eq!(named(with_size(10, 0)), "k");
    assert_eq!(named(with_size(10, 256)), "k");
    assert!(matches!(with_size((1 << 54) - 1, 7), Err(BuildError::OutOfMemory { .. })));
    let with_memory = |capacity, bytes| BlockedCountingSpec::for_memory(capacity, Bytes(bytes));
    assert_eq!(with_memory(1, 63).unwrap_err().parameter, "memory in bytes");
    assert_eq!(with_memory(0, 64).unwrap_err().parameter, "n");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn memory_is_spent_on_the_lowest_rate() {
    let spec = BlockedCountingSpec::for_memory(1_000_000, Bytes(5_000_063)).unwrap();
    assert_eq!(spec.size_in_bits(), 5_000_000 / 64 * 512);
    let rate = |probes| blocked::fpr(BLOCK, spec.blocks(), 1_000_000, probes).unwrap();
    assert!((1..20).all(|probes| rate(spec.probes()) <= rate(probes)));
}

/// Each filter's own rate is the mean of share^k over its blocks, if the positions of absent keys are
/// uniform and independent; then hits are binomial. Six cells at 1e-5: 6e-5 in all.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn absent_keys_are_accepted_at_the_rate_of_the_counters() {
    let (n, asked) = (100_000, 5_000_000);
    for (seed, rate) in (100..).zip(RATES) {
        let filter = filled(n, rate, seed, 0..n);
        let hits = (n..n + asked).filter(|key| filter.contains(key)).count() as u64;
        let observed = interval::exact(hits, asked, 1.0 - 1e-5).unwrap();
        assert!(observed.contains(filter.fill_fpr()), "{rate}: {hits}, {}", filter.fill_fpr());
    }
}

/// The rate of the counters, averaged over 300 filters with seeds of their own, is the theory's: within
/// five standard errors as the filters' scatter gives them. 14 cells at 1e-6 (a t distribution of 299
/// degrees): 2e-5 in all.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn counters_give_the_rate_of_theory_on_average() {
    let (n, runs) = (3_000, 300);
    for rate in RATES.into_iter().chain([1e-6]) {
        for keys in [n / 2, n] {
            let (mut sum, mut squares, mut expected) = (0.0, 0.0, 0.0);
            for filter in (0..runs).map(|seed| filled(n, rate, seed, 0..keys)) {
                let fpr = filter.fill_fpr();
                sum += fpr;
                squares += fpr * fpr;
                expected = filter.expected_fpr();
            }
            let count = runs as f64;
            let mean = sum / count;
            let error = ((squares / count - mean * mean) / (count - 1.0)).sqrt();
            assert!((mean - expected).abs() < 5.0 * error, "{rate}: {mean} {expected} ± {error}");
            assert!(keys != n || expected <= rate);
        }
    }
}

/// Confidence 1 − 1e-6, twice.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_observed_rate_is_that_of_theory_also_after_removals() {
    let mut filter = filled(200_000, 0.01, 7, 0..400_000);
    for key in 200_000..400_000u64 {
        filter.remove(&key).unwrap();
    }
    assert_eq!(filter.key_count(), 200_000);
    let wrong = (400_000..1_400_000u64).filter(|key| filter.contains(key)).count() as u64;
    let observed = interval::exact(wrong, 1_000_000, 1.0 - 1e-6).unwrap();
    assert!(observed.contains(filter.expected_fpr()), "{wrong}");
    assert!(observed.contains(filter.fill_fpr()), "{wrong}");
}

/// 400 filters: the mean within five standard errors (6e-7).
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn keys_are_estimated_from_counters() {
    let (n, runs) = (2_000, 400);
    let (mut sum, mut error) = (0.0, 0.0);
    for seed in 0..runs {
        let estimate = filled(n, 0.01, seed, 0..n).estimated_key_count().unwrap();
        sum += estimate.keys / runs as f64;
        error += estimate.standard_error / runs as f64;
    }
    let allowed = 5.0 * error / (runs as f64).sqrt();
    assert!((sum - n as f64).abs() < allowed, "{sum} ± {allowed}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn hostile_parts_are_refused_or_harmless() {
    let kind = Kind::BlockedCounting;
    let parts = |parameters: &[u64], words: usize| {
        let payload = Words::copied(&vec![!0; words]).unwrap();
        let hasher = KeyHasher::default();
        from_parts::<BlockedCounting>(kind, hasher, u64::MAX, parameters, payload)
    };
    let length = |parameters: &[u64]| payload_length::<BlockedCounting>(kind, parameters);
    assert_eq!(length(&[2, 5, 9, 4]), Ok(16));
    assert_eq!(length(&[2, 5, 9, 8]), Ok(32));
    let bad: [&[u64]; 11] = [
        &[],
        &[2, 5, 9],
        &[2, 5, 9, 4, 0],
        &[0, 5, 9, 4],
        &[2, 0, 9, 4],
        &[2, 256, 9, 4],
        &[2, (1 << 32) + 5, 9, 4],
        &[2, 5, 0, 4],
        &[2, 5, 9, 5],
        &[1 << 54, 5, 9, 8],
        &[u64::MAX, 5, 9, 4],
    ];
    for parameters in bad {
        assert!(length(parameters).is_err(), "{parameters:?}");
        assert!(parts(parameters, 16).is_err(), "{parameters:?}");
    }
    for words in [0, 8, 15, 17, 24] {
        assert!(parts(&[2, 5, 9, 4], words).is_err());
    }
    for (probes, bits, words) in [(1, 4, 16), (5, 8, 32), (255, 4, 16)] {
        let mut filter = parts(&[2, probes, 9, bits], words).unwrap();
        assert!(digests(1).take(1_000).all(|key| filter.contains_digest(key)));
        filter.insert("ana");
        filter.union_with(&filter.clone()).unwrap();
        assert_eq!((filter.key_count(), filter.fill_fpr()), (u64::MAX, 1.0));
        assert_eq!((filter.expected_fpr(), filter.estimated_key_count()), (1.0, None));
        filter.remove("ana").unwrap();
        assert_eq!(filter.parts().parameters, [2, probes, 9, bits]);
    }
}

fn width() -> impl Strategy<Value = CounterWidth> {
    prop_oneof![Just(CounterWidth::Four), Just(CounterWidth::Eight)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn as_a_multiset_that_forgets_nothing(
        width in width(), blocks in 1u64..4, k in 1u32..20, seed: u64,
        actions in prop::collection::vec((any::<bool>(), 0u8..40), 0..400),
    ) {
        let hasher = KeyHasher::xxh3(seed);
        let mut filter = BlockedCounting::with_size(blocks, k, width, hasher).unwrap();
        let mut truth: HashMap<u8, u64> = HashMap::new();
        for (insert, key) in actions {
            let count = truth.entry(key).or_default();
            if insert {
                filter.insert(&key);
                *count += 1;
            } else if *count > 0 {
                // Only what was inserted is removed: all that is promised.
                filter.remove(&key).unwrap();
                *count -= 1;
            }
            prop_assert_eq!(filter.key_count(), truth.values().sum::<u64>());
        }
        let digests: Vec<Digest> = (0..=255u8).map(|key| hasher.digest(&key)).collect();
        let mut hits = vec![false; digests.len()];
        filter.contains_batch(&digests, &mut hits);
        for ((key, digest), hit) in (0..=255u8).zip(digests).zip(hits) {
            let count = filter.count(&key);
            prop_assert_eq!(hit, filter.contains_digest(digest));
            prop_assert_eq!(hit, count != Count::AtMost(0));
            let truth = truth.get(&key).copied().unwrap_or(0);
            prop_assert!(matches!(count, Count::AtLeast(_)) || truth <= count.get());
        }
    }

    #[test]
    fn removal_undoes_insertion(
        width in width(), blocks in 1u64..4, k in 1u32..=255, before in 0u64..10, key: u64,
    ) {
        let mut filter =
            BlockedCounting::with_size(blocks, k, width, KeyHasher::default()).unwrap();
        filter.extend(0..before);
        let as_it_was = filter.clone();
        filter.insert(&key);
        let saturated = filter.max_count() == Count::AtLeast(width.max().into());
        filter.remove(&key).unwrap();
        prop_assert!(saturated || filter == as_it_was);
    }

    #[test]
    fn a_union_is_one_filter_with_all_keys(
        width in width(), ours in prop::collection::vec(0u8..50, 0..200),
        theirs in prop::collection::vec(0u8..50, 0..200),
    ) {
        let filled = |keys: &[u8]| {
            let mut filter = small(width, 7);
            filter.extend(keys);
            filter
        };
        let mut united = filled(&ours);
        united.union_with(&filled(&theirs)).unwrap();
        prop_assert_eq!(united, filled(&[ours, theirs].concat()));
    }
}
