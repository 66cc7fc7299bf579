use proptest::prelude::*;

use super::line::{LINE_WORDS, oracle};
use super::*;
use crate::filter::testing::{digests, laws_of_blocks, merge_laws};
use crate::filter::{Bytes, Kind};
use crate::persist::Persist;
use crate::persist::testing::{from_parts, payload_length};
use crate::theory::{blocked, interval};

const RATES: [f64; 8] = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 1e-4];

laws_of_blocks!(Blocked, bias: 0.0);

merge_laws!(
    Blocked,
    ours: Blocked::with_size(10, 5, KeyHasher::xxh3(1)),
    unlike:
        "number of blocks" = Blocked::with_size(11, 5, KeyHasher::xxh3(1)),
        "k" = Blocked::with_size(10, 6, KeyHasher::xxh3(1)),
        "hash function" = Blocked::with_size(10, 5, KeyHasher::xxh3(2)),
);

#[test]
fn the_worked_example_of_the_documentation_holds() {
    let key = Digest::new(0x9000_0000_0000_0001);
    let mut filter = Blocked::with_size(4, 3, KeyHasher::default()).unwrap();
    filter.insert_digest(key);
    // 9/16 of the way through four lines is line 2.
    assert_eq!(line_of(key, filter.lines().len()), 2);
    // The product is 0x81b5…, whose first 27 bits are 100000_011 011010_101 001010_001.
    assert_eq!(oracle::places(key, 3), [(3, 32), (5, 26), (1, 10)]);
    let mut expected = [0; LINE_WORDS];
    expected[3] = 1 << 32;
    expected[5] = 1 << 26;
    expected[1] = 1 << 10;
    assert_eq!(filter.lines(), [[0; 8], [0; 8], expected, [0; 8]]);
}

/// A saved filter is asked by later versions: these bits must never change. They were computed by
/// another program.
#[test]
fn the_bits_of_a_key_stay_what_they_are() {
    let places = oracle::places(Digest::new(0x0123_4567_89ab_cdef), 15);
    let flat: Vec<u32> = places.iter().map(|&(word, bit)| 64 * word as u32 + bit).collect();
    assert_eq!(flat, [131, 214, 192, 232, 431, 253, 396, 81, 491, 123, 349, 458, 156, 370, 195]);
}

/// Each filter's own rate is the mean of share^k over its lines, if the positions of absent keys
/// are uniform and independent; then hits are binomial. Eight cells at 1e-5: 8e-5 in all.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn absent_keys_are_accepted_at_the_rate_of_the_set_bits() {
    let (n, asked) = (100_000, 10_000_000);
    for (seed, rate) in (100..).zip(RATES) {
        let filter = filled(n, rate, seed, 0..n);
        let keys: Vec<u64> = (n..n + asked).collect();
        let mut hits = 0;
        for keys in keys.chunks(4096) {
            let digests: Vec<_> = keys.iter().map(|key| filter.hasher().digest(key)).collect();
            let mut answers = vec![false; keys.len()];
            filter.contains_batch(&digests, &mut answers);
            hits += answers.iter().filter(|&&hit| hit).count() as u64;
        }
        let observed = interval::exact(hits, asked, 1.0 - 1e-5).unwrap();
        assert!(observed.contains(filter.fill_fpr()), "{rate}: {hits}, {}", filter.fill_fpr());
    }
}

/// The rate of the set bits, averaged over 300 filters with seeds of their own, is the theory's:
/// within five standard errors as the filters' scatter gives them. 27 cells at 1e-6 (a t
/// distribution of 299 degrees): 3e-5 in all.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn set_bits_give_the_rate_of_theory_on_average() {
    let (n, runs) = (3_000, 300);
    for rate in RATES.into_iter().chain([1e-6]) {
        for keys in [n / 2, n, 2 * n] {
            let filters = (0..runs).map(|seed| filled(n, rate, seed, 0..keys));
            let (mut sum, mut squares, mut expected) = (0.0, 0.0, 0.0);
            for filter in filters {
                let share = filter.fill_fpr();
                sum += share;
                squares += share * share;
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

/// In a filter of 2^32 lines only 32 bits of a digest are left to choose positions by. They must
/// do: 2,000 lines of 51 keys, each asked 2,000 times. Hits given the lines are a sum of binomials,
/// which scatters no more than one binomial; four cells at 1e-5.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn positions_are_independent_of_the_line_in_huge_filters_too() {
    for (seed, probes) in (1..).zip([3, 6, 9, 13]) {
        let (lines, asked) = (2_000, 2_000);
        let (mut hits, mut expected) = (0, 0.0);
        for (run, base) in (0..lines).zip(digests(seed)) {
            let high = base.get() >> 32 << 32;
            let mut low = digests(1_000_000 * seed + run)
                .map(|digest| Digest::new(high | digest.get() >> 32));
            let mut line = [0; LINE_WORDS];
            low.by_ref().take(51).for_each(|key| line::insert(&mut line, key, probes));
            let share = f64::from(line::set_bits(&line)) / LINE_BITS as f64;
            expected += share.powi(probes as i32) / lines as f64;
            let is_hit = |key: &Digest| line::contains(&line, *key, probes);
            hits += low.take(asked).filter(is_hit).count() as u64;
        }
        let observed = interval::exact(hits, lines * asked as u64, 1.0 - 1e-5).unwrap();
        assert!(observed.contains(expected), "{probes}: {observed:?} {expected}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_set_of_instructions_gives_the_scalar_answer() {
    let levels = Level::all();
    for probes in (1..=64).chain([100, 254, 255]) {
        let mut line = [0; LINE_WORDS];
        let mut keys = digests(probes.into());
        // From an empty line to a crowded one, asked for members and others at every step.
        for member in keys.by_ref().take(1_200 / probes as usize + 1) {
            let before = line;
            oracle::insert(&mut line, member, probes);
            for &level in levels {
                let mut copy = before;
                dispatch::insert(level, &mut copy, member, probes);
                assert_eq!(copy, line, "{level:?} {probes}");
            }
        }
        for key in keys.take(2_000).chain(digests(probes.into()).take(20)) {
            let expected = oracle::contains(&line, key, probes);
            for &level in levels {
                assert_eq!(dispatch::contains(level, &line, key, probes), expected);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_single_bit_decides() {
    for probes in [1, 6, 7, 8, 14, 20] {
        for key in digests(9).take(50) {
            let mut line = [0; LINE_WORDS];
            oracle::insert(&mut line, key, probes);
            for &level in Level::all() {
                assert!(dispatch::contains(level, &line, key, probes));
                for (word, bit) in oracle::places(key, probes) {
                    let mut without = line;
                    without[word] &= !(1 << bit);
                    assert!(!dispatch::contains(level, &without, key, probes));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_batch_answers_like_a_loop() {
    for rate in [0.3, 0.01, 1e-5] {
        let filter = filled(5_000, rate, 3, 0..5_000);
        for length in [0, 1, 23, 24, 25, 1_000] {
            let extremes = [0, u64::from(u32::MAX), 1 << 32, u64::MAX].map(Digest::new);
            let keys = (4_500..4_500 + length).map(|k| filter.hasher.digest(&k));
            let keys: Vec<_> = keys.chain(extremes.into_iter().take(length as usize)).collect();
            let single: Vec<_> = keys.iter().map(|key| filter.contains_digest(*key)).collect();
            for &level in Level::all() {
                let mut hits = vec![false; keys.len()];
                dispatch::contains_batch(level, filter.lines(), filter.probes, &keys, &mut hits);
                assert_eq!(hits, single, "{level:?}");
            }
            let mut hits = vec![true; keys.len()];
            filter.contains_batch(&keys, &mut hits);
            assert_eq!(hits, single);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
#[should_panic(expected = "one answer for each key")]
fn a_batch_has_one_answer_for_each_key() {
    Blocked::new(10, 0.1).unwrap().contains_batch(&[Digest::new(1)], &mut []);
}

#[test]
fn an_empty_filter_accepts_nothing() {
    let filter = Blocked::new(1, 0.5).unwrap();
    assert!(!(0..1_000u64).any(|key| filter.contains(&key)));
    assert_eq!((filter.expected_fpr(), filter.fill_fpr(), filter.count_set_bits()), (0.0, 0.0, 0));
    assert_eq!(filter.estimated_key_count().map(|estimate| estimate.keys), Some(0.0));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn memory_is_spent_on_the_lowest_rate() {
    let spec = BlockedSpec::for_memory(1_000_000, Bytes(1_250_063)).unwrap();
    let filter = spec.build(KeyHasher::default()).unwrap();
    assert_eq!(filter.size_in_bits(), 1_250_048 * 8);
    assert_eq!(filter.capacity(), 1_000_000);
    let rate = |probes| blocked::fpr(BLOCK, filter.blocks(), 1_000_000, probes).unwrap();
    assert!((1..20).all(|probes| rate(filter.probes()) <= rate(probes)));
    // Made by size alone, it is for as many keys as set half of its bits.
    let filter = Blocked::with_size(1_000, 7, KeyHasher::default()).unwrap();
    assert_eq!(filter.capacity(), 50_698);
}

#[test]
#[cfg_attr(miri, ignore = "asks for more memory than there is")]
fn bad_parameters_are_named() {
    let named = |result: Result<Blocked, BuildError>| match result {
        Err(BuildError::Parameter(error)) => error.parameter,
        other => panic!("{other:?}"),
    };
    let hasher = KeyHasher::default();
    assert_eq!(named(Blocked::new(0, 0.01)), "n");
    for rate in [0.0, 1.0, f64::NAN, -1.0] {
        assert_eq!(named(Blocked::new(10, rate)), "fpr");
    }
    assert_eq!(named(Blocked::with_size(0, 5, hasher)), "number of blocks");
    assert_eq!(named(Blocked::with_size(1 << 55, 5, hasher)), "number of blocks");
    assert_eq!(named(Blocked::with_size(1, 0, hasher)), "k");
    assert_eq!(named(Blocked::with_size(1, 256, hasher)), "k");
    let with_memory = |capacity, bytes| BlockedSpec::for_memory(capacity, Bytes(bytes));
    assert_eq!(with_memory(1, 63).unwrap_err().parameter, "memory in bytes");
    assert_eq!(with_memory(0, 64).unwrap_err().parameter, "n");
    assert!(matches!(Blocked::with_size(1 << 54, 5, hasher), Err(BuildError::OutOfMemory { .. })));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn parts_make_the_same_filter() {
    let filter = filled(1_000, 0.001, 5, 0..700);
    let payload = Words::copied(&filter.parts().payload.concat()).unwrap();
    let parameters = filter.parts().parameters;
    assert_eq!(payload_length::<Blocked>(Kind::Blocked, &parameters), Ok(payload.len() as u64));
    let copy =
        from_parts::<Blocked>(Kind::Blocked, filter.hasher, 700, &parameters, payload).unwrap();
    assert_eq!(copy, filter);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn hostile_parts_are_refused_or_harmless() {
    let parts = |parameters: &[u64], words: usize| {
        let payload = Words::copied(&vec![!0; words]).unwrap();
        from_parts::<Blocked>(Kind::Blocked, KeyHasher::default(), u64::MAX, parameters, payload)
    };
    let bad: [&[u64]; 9] = [
        &[],
        &[2, 5],
        &[2, 5, 9, 9],
        &[0, 5, 9],
        &[2, 0, 9],
        &[2, 256, 9],
        &[2, (1 << 32) + 5, 9],
        &[1 << 55, 5, 9],
        &[u64::MAX, 5, 9],
    ];
    for parameters in bad {
        assert!(payload_length::<Blocked>(Kind::Blocked, parameters).is_err(), "{parameters:?}");
        assert!(parts(parameters, 16).is_err(), "{parameters:?}");
    }
    for words in [0, 8, 15, 17, 24] {
        assert!(parts(&[2, 5, 9], words).is_err());
    }
    for probes in [1, 5, 255] {
        let mut filter = parts(&[2, probes, 0], 16).unwrap();
        assert!(digests(1).take(1_000).all(|key| filter.contains_digest(key)));
        filter.insert("ana");
        filter.union_with(&filter.clone()).unwrap();
        assert_eq!((filter.key_count(), filter.fill_fpr()), (u64::MAX, 1.0));
        assert_eq!(filter.expected_fpr(), 1.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn no_key_is_ever_lost(
        keys in prop::collection::vec(any::<u64>(), 1..300),
        blocks in 1u64..40,
        probes in 1u32..=255,
        seed: u64,
    ) {
        let mut filter = Blocked::with_size(blocks, probes, KeyHasher::xxh3(seed)).unwrap();
        for (count, key) in (1..).zip(&keys) {
            filter.insert(key);
            prop_assert!(filter.contains(key));
            prop_assert_eq!(filter.key_count(), count);
        }
        prop_assert!(keys.iter().all(|key| filter.contains(key)));
        let share = filter.count_set_bits() as f64 / filter.size_in_bits() as f64;
        prop_assert!(filter.fill_fpr() >= share.powi(probes as i32) * (1.0 - 1e-12));
    }
}

/// `cargo test -p crivo --lib blocked -- --ignored`: 600 MB, 10 million keys, a few seconds.
/// A rate per line of so few keys would be all luck: what is asked is that the last lines are used.
#[test]
#[ignore = "600 MB of memory: cargo test -p crivo --lib blocked -- --ignored"]
fn more_than_2_to_the_32_bits() {
    let n = 10_000_000u64;
    let mut filter = Blocked::with_size(9_000_000, 6, KeyHasher::default()).unwrap();
    assert!(filter.size_in_bits() > 1 << 32);
    filter.extend(0..n);
    assert!((0..n).all(|key| filter.contains(&key)));
    let used = |lines: &[Line]| lines.iter().filter(|line| line::set_bits(line) > 0).count();
    let (first, last) = filter.lines().split_at(8_500_000);
    // 1 − e^(−10/9) of the lines have a key: 67.08%. A million lines scatter by 0.05% of them.
    for (lines, allowed) in [(first, 0.001), (last, 0.004)] {
        let share = used(lines) as f64 / lines.len() as f64;
        assert!((share - 0.6708).abs() < allowed, "{share}");
    }
}
