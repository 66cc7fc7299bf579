//! Growth keeps every key, and the rate.

use proptest::prelude::*;

use super::*;
use crate::filter::Kind;
use crate::persist::testing::{from_parts, payload_length};
use crate::persist::{DecodeError, Persist};
use crate::theory::bloom;
use crivo_core::Words;

fn grown(keys: u64, rate: f64, seed: u64) -> Growing {
    let mut filter = Growing::with_hasher(1_024, rate, KeyHasher::xxh3(seed)).unwrap();
    filter.extend(0..keys);
    filter
}

fn taken_apart(filter: &Growing) -> (Vec<u64>, Words) {
    (filter.parts().parameters, Words::copied(&filter.parts().payload.concat()).unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn stages_double_and_all_together_stay_below_the_rate() {
    for rate in [0.2, 0.01, 1e-4] {
        let mut filter = grown(0, rate, 0);
        for stages in 1..=9 {
            let full = 1_024 * ((1u64 << stages) - 1);
            filter.extend(filter.key_count()..full);
            assert_eq!((filter.stage_count(), filter.key_count()), (stages, full));
            assert_eq!(filter.newest().capacity(), 1_024 << (stages - 1));
            assert!(filter.expected_fpr() < rate, "{} of {rate}", filter.expected_fpr());
            filter.insert(&full);
            assert_eq!((filter.stage_count(), filter.newest().key_count()), (stages + 1, 1));
        }
        assert!((0..filter.key_count()).all(|key| filter.contains(&key)));
        assert_eq!(filter.capacity(), u64::MAX);
    }
}

/// Twenty filters of `n` keys lie within six standard errors of theory, which is below 2%: by
/// Student's distribution this fails by chance once in 100,000 times.
fn has_the_rate_of_theory<F: Stage>(
    n: u64,
    queries: u64,
    begin: impl Fn(KeyHasher) -> GrowingChain<F>,
) {
    let filled = |seed| {
        let mut filter = begin(KeyHasher::xxh3(seed));
        filter.extend(0..n);
        filter
    };
    let rates: Vec<f64> = (0..20)
        .map(|seed| {
            let filter = filled(seed);
            assert!((0..n).all(|key| filter.contains(&key)));
            (n..n + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
        })
        .collect();
    let theory = filled(0).expected_fpr();
    let mean = rates.iter().sum::<f64>() / 20.0;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 19.0;
    let error = (variance / 20.0).sqrt();
    assert!((mean - theory).abs() < 6.0 * error, "{mean} ± {error}, by theory {theory}");
    assert!(theory < 0.02);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_measured_rate_is_that_of_theory() {
    has_the_rate_of_theory(1_024 * 127, 200_000, |hasher| {
        Growing::with_hasher(1_024, 0.02, hasher).unwrap()
    });
    has_the_rate_of_theory(1_024 * 15, 50_000, |hasher| {
        GrowingBlocked::with_hasher(1_024, 0.02, hasher).unwrap()
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_documentation_tells_the_bits_per_key_that_theory_gives() {
    let text = include_str!("mod.rs");
    for stages in [1, 5, 10, 20] {
        let row: Vec<&str> = text
            .lines()
            .find(|line| line.starts_with(&format!("//! | {stages} |")))
            .expect("the table has this row")
            .split('|')
            .collect();
        for (column, tightening) in [(3, 0.5), (4, 0.8), (5, TIGHTENING), (6, 0.9)] {
            let (mut bits, mut keys) = (0.0, 0.0);
            for index in 0..stages {
                let rate = 0.01 * (1.0 - tightening) * f64::powi(tightening, index);
                let capacity = 1_000_000u64 << index;
                bits += bloom::size(capacity, rate).unwrap().bits as f64;
                keys += capacity as f64;
            }
            let told = row[column].trim().trim_matches('*');
            assert_eq!(told, format!("{:.1}", bits / keys), "{stages} stages, r = {tightening}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_chain_that_cannot_grow_takes_more_and_says_so() {
    let mut filter = grown(1_024, 0.01, 0);
    while filter.stages.len() < MAX_STAGES {
        filter.stages.push(Bloom::new(1, 0.01).unwrap());
    }
    filter.extend(1_024..2_024u64);
    assert_eq!(filter.stage_count(), MAX_STAGES);
    assert!((0..2_024u64).all(|key| filter.contains(&key)));
    assert_eq!(filter.key_count(), 2_024);
    assert!(filter.expected_fpr() > 0.5);
    assert!(filter.is_overfull());
    filter.clear();
    assert!(!filter.is_overfull());
}

/// No machine has memory for the stage after one of 2^45 keys; finding that out at every insertion
/// would take a search for its size each.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_chain_without_memory_asks_for_it_seldom() {
    let capacity = 1 << 45;
    let (mut shape, words) = Bloom::new(1_024, 0.01).unwrap().into_words();
    (shape.capacity, shape.key_count) = (capacity, capacity);
    let mut filter = grown(0, 0.01, 0);
    filter.stages = vec![Bloom::from_words(shape, words)];
    filter.extend(0..1_000u64);
    assert_eq!((filter.stage_count(), filter.key_count()), (1, capacity + 1_000));
    assert!(filter.is_overfull());
    assert!((0..1_000u64).all(|key| filter.contains(&key)));

    for capacity in [1, 1_024, 100_000] {
        let tries = (capacity..4 * capacity + 1_024).filter(|&n| is_time_to_grow(n, capacity));
        let tries: Vec<u64> = tries.collect();
        assert_eq!(tries[0], capacity);
        assert!(tries.len() <= 33, "{tries:?}");
    }
    assert!(is_time_to_grow(u64::MAX, u64::MAX));
}

/// Of the smallest file with this capacity and FPR that is read: the size of its stage, and of the
/// stage that it makes the filter allocate next, in bits.
fn smallest_file<F: Stage>(capacity: u64, fpr: f64) -> Option<(u64, u64)> {
    let kind = F::CHAIN;
    let shapes = (3..17).flat_map(|bits| [1, 7, 15, 30, 60, 255].map(|k| 1u64 << bits << 8 | k));
    let parameters = shapes
        .map(|shape| [capacity, fpr.to_bits(), shape, capacity])
        .find(|parameters| payload_length::<GrowingChain<F>>(kind, parameters).is_ok())?;
    let length = payload_length::<GrowingChain<F>>(kind, &parameters).unwrap();
    let words = Words::zeroed(length as usize).unwrap();
    let hasher = KeyHasher::default();
    let filter = from_parts::<GrowingChain<F>>(kind, hasher, capacity, &parameters, words).unwrap();
    let next = filter.spec().stage(1).ok()?;
    Some((filter.size_in_bits(), next.size_in_bits()))
}

/// Whatever a file says, the stage that comes next is at most six times as large as its last one,
/// and at least a line of 512 bits.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_file_asks_for_memory_in_proportion_to_what_it_brings() {
    let mut read = 0;
    for capacity in [1u64, 17, 1_024, 10_000] {
        for exponent in [-300, -44, -41, -20, -19, -18, -17, -15, -12, -9, -6, -3, -2, -1] {
            for fpr in [1.0, 6.0].map(|factor| factor * 10f64.powi(exponent)) {
                let both = [
                    smallest_file::<Bloom>(capacity, fpr),
                    smallest_file::<Blocked>(capacity, fpr),
                ];
                for (last, next) in both.into_iter().flatten() {
                    read += 1;
                    assert!(next <= 6 * last.max(512), "{capacity} {fpr}: {last}, then {next}");
                }
            }
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_documentation_tells_what_blocks_cost() {
    let text = include_str!("mod.rs").replace("\n//! ", " ");
    let bits_per_key = |stages| {
        let block = crate::theory::blocked::Block::CACHE_LINE;
        let (mut bits, mut keys) = (0.0, 0.0);
        for index in 0..stages {
            let capacity = 1_000_000u64 << index;
            let size = crate::theory::blocked::size(block, capacity, spec::stage_fpr(0.01, index));
            bits += 512.0 * size.unwrap().blocks as f64;
            keys += capacity as f64;
        }
        bits / keys
    };
    let told = format!(
        "{:.1} bits per key after one stage, {:.1} after ten",
        bits_per_key(1),
        bits_per_key(10)
    );
    assert!(text.contains(&told), "{told}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn bad_parameters_are_named() {
    for bad in [Growing::new(0, 0.01), Growing::new(1, 0.0), Growing::new(1, f64::NAN)] {
        assert!(matches!(bad, Err(BuildError::Parameter(_))), "{bad:?}");
    }
    assert_eq!(Growing::new(1, 0.01).unwrap().newest().capacity(), 1_024);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 32 }))]

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn batch_is_loop_and_no_key_is_lost(keys in 0u64..20_000, asked in 0u64..2_000) {
        let filter = grown(keys, 0.1, 5);
        prop_assert_eq!(filter.key_count(), keys);
        let hasher = filter.hasher();
        let digests: Vec<Digest> =
            (keys.saturating_sub(asked)..keys + asked).map(|key| hasher.digest(&key)).collect();
        let mut hits = vec![true; digests.len()];
        filter.contains_batch(&digests, &mut hits);
        let one_by_one: Vec<bool> =
            digests.iter().map(|&key| filter.contains_digest(key)).collect();
        prop_assert_eq!(hits, one_by_one);
        prop_assert!((0..keys).all(|key| filter.contains(&key)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn parts_put_together_are_the_filter_and_grow_alike(keys in 0u64..20_000) {
        let mut filter = grown(keys, 0.01, 2);
        let (parameters, words) = taken_apart(&filter);
        prop_assert!(parameters.len() <= 64);
        prop_assert_eq!(payload_length::<Growing>(Kind::Growing, &parameters).unwrap(), words.len() as u64);
        let mut again =
            from_parts::<Growing>(Kind::Growing, filter.hasher(), keys, &parameters, words.clone()).unwrap();
        prop_assert_eq!(&again, &filter);
        filter.extend(keys..keys + 3_000);
        again.extend(keys..keys + 3_000);
        prop_assert_eq!(again, filter);

        let wrong = from_parts::<Growing>(Kind::Growing, KeyHasher::default(), keys + 1, &parameters, words);
        prop_assert!(matches!(wrong, Err(DecodeError::Inconsistent(_))));
    }

    #[test]
    fn hostile_parts_are_refused_or_safe(
        first_capacity in prop_oneof![0u64..3, any::<u64>()],
        rate in prop_oneof![Just(0.01f64.to_bits()), any::<u64>()],
        stages in prop::collection::vec(prop_oneof![0u64..3_000, any::<u64>()], 0..70),
        words in 0usize..100,
        key: u64,
    ) {
        let parameters = [&[first_capacity, rate][..], &stages].concat();
        let length = payload_length::<Growing>(Kind::Growing, &parameters);
        let words = match length {
            Ok(length) if length < 10_000 => length as usize,
            _ => words,
        };
        let key_count = stages.iter().skip(1).step_by(2).fold(0u64, |sum, &n| sum.saturating_add(n));
        let words = Words::zeroed(words).unwrap();
        let filter = from_parts::<Growing>(Kind::Growing, KeyHasher::default(), key_count, &parameters, words);
        if let Ok(mut filter) = filter {
            prop_assert!(length.is_ok());
            prop_assert!(!filter.contains(&key));
            prop_assert!((0.0..=1.0).contains(&filter.expected_fpr()));
            filter.insert(&key);
            prop_assert!(filter.contains(&key));
        }
    }
}

/// Found by fuzzing: words between the stages that were not zeros were read, and written as zeros.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn nothing_may_lie_between_the_stages() {
    let filter = Growing::new(1_024, 0.01).unwrap();
    let mut words: Vec<u64> = filter.parts().payload.concat();
    let table = (filter.stages[0].size_in_bits() / 64) as usize;
    assert!(table < words.len(), "there is padding to spoil");
    words[table] = 1;
    let words = Words::copied(&words).unwrap();
    let read =
        from_parts::<Growing>(Kind::Growing, filter.hasher(), 0, &filter.parts().parameters, words);
    assert!(matches!(read, Err(DecodeError::Inconsistent(_))));
}

/// Found by fuzzing: the FPR of a file of 1,984 bytes made one insertion allocate 939 MB, that of one
/// of 256 bytes 4 GB.
#[test]
fn an_fpr_that_no_stage_keeps_is_refused() {
    for (capacity, fpr, shape) in [
        (1 << 30, 0.01, 1 << 8 | 7),
        (13_000, 1e-41, 240 << 8 | 7),
        (1_024, 1e-44, 16 << 8 | 1),
        (1_024, 1e-300, (1 << 16) << 8 | 64),
        (1_024, 1e-12, 100 << 8 | 7),
    ] {
        let parameters = [capacity, f64::to_bits(fpr), shape, capacity];
        for length in [
            payload_length::<Growing>(Kind::Growing, &parameters),
            payload_length::<GrowingBlocked>(Kind::GrowingBlocked, &parameters),
        ] {
            assert!(length.is_err(), "{capacity} {fpr} {shape}");
        }
    }
}

/// Stages that threads fill are those that one thread fills, to the byte, also where the last key fills one.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn threads_fill_the_stages_of_one() {
    fn check<F: Stage + std::fmt::Debug>() {
        let hasher = KeyHasher::default();
        let spec = GrowingSpec::<F::Spec>::for_fpr(70_000, 0.01).unwrap();
        for count in [0, 1, 70_000, 70_001, 210_000, 400_000u64] {
            let keys: Vec<u64> = (0..count).collect();
            let mut alone = spec.build(hasher).unwrap();
            alone.extend(keys.iter());
            for threads in [1, 2, 3] {
                let filter = spec.build_on_threads(&keys, Some(threads), hasher).unwrap();
                assert!(filter == alone, "{count} keys, {threads} threads");
            }
        }
        assert!(spec.build_on_threads(&[0u64; 0], Some(0), hasher).is_err());
    }
    check::<Bloom>();
    check::<Blocked>();
}
