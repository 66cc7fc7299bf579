use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::filter::*;
use crate::theory::{bloom, counting, interval};

const WIDTHS: [CounterWidth; 2] = [CounterWidth::Four, CounterWidth::Eight];

fn small(width: CounterWidth, seed: u64) -> CountingBloom {
    CountingBloom::with_size(97, 5, width, KeyHasher::xxh3(seed)).unwrap()
}

fn values(filter: &CountingBloom) -> Vec<u8> {
    filter.counters().collect()
}

#[test]
fn the_worked_example_of_the_documentation() {
    let hasher = KeyHasher::default();
    let mut filter = CountingBloom::with_size(12, 3, CounterWidth::Four, hasher).unwrap();
    let indexes = |key: &str| filter.positions(hasher.digest(key)).collect::<Vec<_>>();
    assert_eq!((indexes("ana"), indexes("ida")), (vec![5, 3, 6], vec![8, 7, 1]));
    filter.insert("ana");
    assert_eq!(values(&filter), [0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0]);
    filter.insert("ida");
    assert_eq!(values(&filter), [0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0]);
    filter.insert("ana");
    assert_eq!(values(&filter), [0, 1, 0, 2, 0, 2, 2, 1, 1, 0, 0, 0]);
    assert_eq!(filter.count("ana"), Count::AtMost(2));
    filter.remove("ida").unwrap();
    assert_eq!(values(&filter), [0, 0, 0, 2, 0, 2, 2, 0, 0, 0, 0, 0]);
    assert_eq!(filter.count("ida"), Count::AtMost(0));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_sizes_of_the_documentation() {
    let bits = |width| {
        CountingBloom::with_width(1_000_000, 0.01, width, KeyHasher::default())
            .unwrap()
            .size_in_bits() as f64
            / 1e6
    };
    assert_eq!(format!("{:.1}", bits(CounterWidth::Four)), "38.4");
    assert_eq!(format!("{:.1}", bits(CounterWidth::Eight)), "76.7");
    let size = bloom::size(1_000_000, 0.01).unwrap();
    let saturated = counting::expected_saturated(size.bits, 1_000_000, size.probes, 4).unwrap();
    assert_eq!(format!("{saturated:.0e}"), "3e-8");
    let blocked = BlockedCountingSpec::for_fpr(1_000_000, 0.01).unwrap();
    assert_eq!(format!("{:.1}", blocked.bits_per_key()), "43.4");
}

#[test]
fn places_that_coincide_move_once() {
    // Two counters and five probes: some always coincide. With every width and every key.
    for width in WIDTHS {
        let mut filter = CountingBloom::with_size(2, 5, width, KeyHasher::default()).unwrap();
        for key in 0..50u64 {
            filter.clear();
            filter.insert(&key);
            assert_eq!(filter.count(&key), Count::AtMost(1));
            assert!(values(&filter).iter().all(|&value| value <= 1));
            filter.remove(&key).unwrap();
            assert_eq!(values(&filter), [0, 0]);
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
        assert_eq!(filter.min_count(), Count::AtMost(0));
        let before = values(&filter);
        for _ in 0..2_000 {
            filter.remove("ana").unwrap();
        }
        assert_eq!(values(&filter), before);
        assert_eq!(filter.count("ana"), Count::AtLeast(greatest));
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
fn a_full_filter_has_a_least_count() {
    let mut filter = small(CounterWidth::Eight, 4);
    assert_eq!(filter.max_count(), Count::AtMost(0));
    filter.extend(0..400u64);
    let values = values(&filter);
    assert_eq!(filter.max_count(), Count::AtMost((*values.iter().max().unwrap()).into()));
    assert_eq!(filter.min_count(), Count::AtMost((*values.iter().min().unwrap()).into()));
    assert!(filter.min_count() > Count::AtMost(0));
    assert_eq!(filter.fill_fpr(), 1.0);
}

#[test]
fn only_equals_are_united() {
    let base = small(CounterWidth::Four, 5);
    let other = |counters, probes, width, seed| {
        CountingBloom::with_size(counters, probes, width, KeyHasher::xxh3(seed)).unwrap()
    };
    for (other, parameter) in [
        (other(97, 5, CounterWidth::Four, 6), "hash function"),
        (other(98, 5, CounterWidth::Four, 5), "number of counters"),
        (other(97, 6, CounterWidth::Four, 5), "k"),
        (other(97, 5, CounterWidth::Eight, 5), "width of a counter"),
    ] {
        let mut ours = base.clone();
        let error = ours.union_with(&other).unwrap_err();
        assert!(matches!(error, RebuildError::Incompatible(error) if error.parameter == parameter));
        assert_eq!(ours, base);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn bad_parameters_are_named() {
    let hasher = KeyHasher::default();
    let named = |result: Result<CountingBloom, BuildError>| match result {
        Err(BuildError::Parameter(error)) => error.parameter,
        _ => "none",
    };
    let dimensions = |m, k| named(CountingBloom::with_size(m, k, CounterWidth::Four, hasher));
    assert_eq!(named(CountingBloom::new(0, 0.01)), "n");
    assert_eq!(named(CountingBloom::new(1, 0.0)), "fpr");
    assert_eq!(named(CountingBloom::new(1, f64::NAN)), "fpr");
    assert_eq!(dimensions(0, 7), "number of counters");
    assert_eq!(dimensions(u64::MAX, 7), "number of counters");
    assert_eq!(dimensions(10, 0), "k");
    assert_eq!(dimensions(10, 256), "k");
    let huge = CountingBloom::new(1 << 55, 0.01);
    assert!(matches!(huge, Err(BuildError::OutOfMemory { .. })), "{huge:?}");
}

#[test]
fn the_capacity_is_what_was_asked_for() {
    assert_eq!(CountingBloom::new(12_345, 0.03).unwrap().capacity(), 12_345);
    let filter =
        CountingBloom::with_size(1_000, 7, CounterWidth::Four, KeyHasher::default()).unwrap();
    assert_eq!(filter.capacity(), 99); // 1000·ln 2/7 = 99.02
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_observed_rate_of_small_filters_is_that_of_theory() {
    // 300 filters of 500 keys with fresh seeds, 2,000 absent keys each. The mean of their rates
    // lies within 4.5 standard errors of theory but for a chance of 7e-6, four times.
    for (width, rate) in [
        (CounterWidth::Four, 0.2),
        (CounterWidth::Four, 0.01),
        (CounterWidth::Eight, 0.05),
        (CounterWidth::Eight, 0.01),
    ] {
        let rates: Vec<f64> = (0..300)
            .map(|seed| {
                let hasher = KeyHasher::xxh3(1_000 + seed);
                let mut filter = CountingBloom::with_width(500, rate, width, hasher).unwrap();
                filter.extend(0..500u64);
                let wrong = (500..2_500u64).filter(|key| filter.contains(key)).count();
                wrong as f64 / 2_000.0
            })
            .collect();
        let size = bloom::size(500, rate).unwrap();
        let expected = bloom::fpr_exact(size.bits, 500, size.probes).unwrap();
        let mean = rates.iter().sum::<f64>() / 300.0;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 299.0;
        let standard_error = (variance / 300.0).sqrt();
        assert!((mean - expected).abs() < 4.5 * standard_error, "{width:?} {rate}: {mean}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_observed_rate_of_a_large_filter_is_that_of_theory_also_after_removals() {
    // Confidence 1 − 1e-6, twice.
    let mut filter = CountingBloom::new(200_000, 0.01).unwrap();
    filter.extend(0..400_000u64);
    for key in 200_000..400_000u64 {
        filter.remove(&key).unwrap();
    }
    assert_eq!(filter.key_count(), 200_000);
    let wrong = (400_000..1_400_000u64).filter(|key| filter.contains(key)).count() as u64;
    let observed = interval::exact(wrong, 1_000_000, 1.0 - 1e-6).unwrap();
    assert!(observed.contains(filter.expected_fpr()), "{wrong}");
    assert!(observed.contains(filter.fill_fpr()), "{wrong}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn expected_rate_follows_the_keys() {
    let mut filter = CountingBloom::new(1_000, 0.01).unwrap();
    assert_eq!(filter.expected_fpr(), 0.0);
    filter.extend(0..1_000u64);
    assert!((filter.expected_fpr() / 0.01 - 1.0).abs() < 0.02);
    filter.extend(1_000..2_000u64);
    assert!(filter.expected_fpr() > 0.05);
}

#[test]
#[ignore = "4 GB of memory: cargo test --release -p crivo --lib counting -- --ignored"]
fn more_than_two_to_the_32_counters() {
    let counters = (1 << 33) + 12_345;
    let hasher = KeyHasher::default();
    let mut filter = CountingBloom::with_size(counters, 3, CounterWidth::Four, hasher).unwrap();
    filter.extend(0..100_000u64);
    assert!((0..100_000u64).all(|key| filter.contains(&key)));
    let positions = (0..100_000u64).flat_map(|key| filter.positions(hasher.digest(&key)));
    let beyond = positions.filter(|&i| i >> 32 != 0);
    assert!(beyond.count() > 100_000);
    // The chance that one of 100,000 absent keys is accepted is below 1e-8.
    assert!((100_000..200_000u64).all(|key| !filter.contains(&key)));
    for key in 0..100_000u64 {
        filter.remove(&key).unwrap();
    }
    assert_eq!(filter.max_count(), Count::AtMost(0));
}

/// What a test does to a filter, with few keys so that they meet again.
#[derive(Debug, Clone)]
enum Action {
    Insert(u8),
    Remove(u8),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        3 => (0u8..40).prop_map(Action::Insert),
        2 => (0u8..40).prop_map(Action::Remove),
    ];
    prop::collection::vec(action, 0..400)
}

fn width() -> impl Strategy<Value = CounterWidth> {
    prop_oneof![Just(CounterWidth::Four), Just(CounterWidth::Eight)]
}

fn count_is_no_less(count: Count, truth: u64, width: CounterWidth) -> bool {
    match count {
        Count::AtMost(most) => most < width.max().into() && truth <= most,
        Count::AtLeast(least) => least == u64::from(width.max()),
    }
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn as_a_multiset_that_forgets_nothing(
        width in width(), m in 1u64..400, k in 1u32..20, seed: u64, actions in actions(),
    ) {
        let hasher = KeyHasher::xxh3(seed);
        let mut filter = CountingBloom::with_size(m, k, width, hasher).unwrap();
        let mut truth: HashMap<u8, u64> = HashMap::new();
        for action in actions {
            match action {
                Action::Insert(key) => {
                    filter.insert(&key);
                    *truth.entry(key).or_default() += 1;
                }
                // Only what was inserted is removed: all that is promised.
                Action::Remove(key) => if let Some(count) = truth.get_mut(&key).filter(|c| **c > 0) {
                    filter.remove(&key).unwrap();
                    *count -= 1;
                },
            }
            prop_assert_eq!(filter.key_count(), truth.values().sum::<u64>());
        }
        let keys: Vec<u8> = (0..=255).collect();
        for key in &keys {
            let count = truth.get(key).copied().unwrap_or(0);
            prop_assert!(count_is_no_less(filter.count(key), count, width));
            prop_assert_eq!(filter.contains(key), filter.count(key) != Count::AtMost(0));
            let indexes: Vec<u64> = filter.positions(hasher.digest(key)).collect();
            let all = values(&filter);
            prop_assert_eq!(indexes.len(), k as usize);
            let least = indexes.iter().map(|&i| all[i as usize]).min().unwrap();
            prop_assert_eq!(filter.count(key), width.count(least));
        }
        let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
        let mut hits = vec![false; keys.len()];
        filter.contains_batch(&digests, &mut hits);
        let one_by_one: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
        prop_assert_eq!(hits, one_by_one);
    }

    #[test]
    fn removal_undoes_insertion(
        width in width(), m in 1u64..200, k in 1u32..255, before in 0u64..10, key: u64,
    ) {
        let mut filter =
            CountingBloom::with_size(m, k, width, KeyHasher::default()).unwrap();
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
