use std::collections::HashSet;

use proptest::prelude::*;

use super::options::seed_of;
use super::*;
use crate::filter::Kind;
use crate::persist::testing::{from_noise, from_parts, payload_length};
use crate::persist::{DecodeError, Persist};
use crate::theory::fuse::layout;
use crate::theory::interval;
use crivo_core::Words;

const BOTH: [Arity; 2] = [Arity::Three, Arity::Four];

fn digests(hasher: KeyHasher, range: std::ops::Range<u64>) -> Vec<Digest> {
    range.map(|key| hasher.digest(&key)).collect()
}

fn options(arity: Arity, width: u32) -> FuseOptions {
    FuseOptions { arity: Some(arity), width, ..FuseOptions::default() }
}

fn share_of_hits(filter: &Fuse, keys: &[Digest]) -> u64 {
    keys.iter().filter(|&&key| filter.contains_digest(key)).count() as u64
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_key_is_found_whatever_their_number() {
    for arity in BOTH {
        for n in (0..2_000).chain([100_000, 1_000_000]) {
            let keys = digests(KeyHasher::default(), 0..n);
            let filter = options(arity, 7).build_digests(keys.clone()).unwrap();
            assert_eq!(filter.key_count(), n);
            assert_eq!(share_of_hits(&filter, &keys), n, "{arity:?} {n}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn few_seeds_are_tried() {
    // With 128 seeds allowed, a chance of one half for each would already be safe. That nobody
    // here needs more than 12 says that it is better than that.
    let seeds: Vec<u64> = (0..12).map(seed_of).collect();
    for arity in BOTH {
        for n in (1..500).chain([1_000, 3_000, 10_000, 30_000]) {
            for hasher in (0..10).map(KeyHasher::xxh3) {
                let keys = digests(hasher, 0..n);
                let filter =
                    FuseOptions { hasher, ..options(arity, 8) }.build_digests(keys).unwrap();
                assert!(seeds.contains(&filter.cells.geometry().seed), "{arity:?} {n}");
            }
        }
    }
}

#[test]
fn no_keys_are_no_members() {
    let filter = Fuse::build::<u64>([], 0.01).unwrap();
    assert_eq!((filter.key_count(), filter.size_in_bits(), filter.expected_fpr()), (0, 0, 0.0));
    let keys = digests(KeyHasher::default(), 0..1_000);
    assert_eq!(share_of_hits(&filter, &keys), 0);
    let mut hits = vec![true; keys.len()];
    filter.contains_batch(&keys, &mut hits);
    assert!(hits.iter().all(|hit| !hit));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn sizes_are_those_of_theory() {
    for arity in BOTH {
        for n in [1, 2, 10, 100, 1_000, 10_000, 200_000] {
            for width in [1, 7, 8, 13, 32] {
                let keys = digests(KeyHasher::default(), 0..n);
                let filter = options(arity, width).build_digests(keys).unwrap();
                let cells = layout(n, arity).unwrap().array_length * u64::from(width);
                // Eight bytes can be read at the last cell, in whole words.
                assert!((cells..cells + 128).contains(&filter.size_in_bits()), "{n} {width}");
            }
        }
    }
    let goal = |n: u64, arity| layout(n, arity).unwrap().array_length as f64 * 7.0 / n as f64;
    assert!(goal(10_000_000, Arity::Three) <= 7.9 && goal(1_000_000, Arity::Four) <= 7.9);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_rate_is_that_of_theory() {
    // The chance of failing is 1e-6 for each of 32 filters. One of them with 200,000 keys is as
    // good as the mean of many: its rate differs from theory by far less than the interval.
    let hasher = KeyHasher::default();
    let (keys, others) =
        (digests(hasher, 0..200_000), digests(hasher, 1 << 40..(1 << 40) + 400_000));
    for arity in BOTH {
        for width in 1..=16 {
            let filter = options(arity, width).build_digests(keys.clone()).unwrap();
            let hits = share_of_hits(&filter, &others);
            let interval = interval::exact(hits, others.len() as u64, 1.0 - 1e-6).unwrap();
            let expected = filter.expected_fpr();
            assert!((expected / 0.5f64.powi(width as i32) - 1.0).abs() < 1e-7);
            assert!(interval.contains(expected), "{arity:?} {width} {hits}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_rate_of_small_filters_is_that_of_theory_on_average() {
    // The mean over 400 filters, each with its own hasher, 4.9 standard errors from theory at most:
    // a chance of 1e-6 for each of 12 cells.
    for arity in BOTH {
        for n in [1, 2, 5, 30, 200, 1_000] {
            let rates: Vec<f64> = (0..400)
                .map(|seed| {
                    let hasher = KeyHasher::xxh3(1_000 + seed);
                    let filter = FuseOptions { hasher, ..options(arity, 5) }
                        .build_digests(digests(hasher, 0..n))
                        .unwrap();
                    let others = digests(hasher, 1 << 40..(1 << 40) + 2_000);
                    share_of_hits(&filter, &others) as f64 / 2_000.0
                })
                .collect();
            let mean = rates.iter().sum::<f64>() / 400.0;
            let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 399.0;
            let error = (variance / 400.0).sqrt();
            assert!((mean - 1.0 / 32.0).abs() < 4.9 * error, "{arity:?} {n} {mean} {error}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn copies_of_keys_change_nothing() {
    for n in [1, 3, 1_000, 100_000] {
        let once = digests(KeyHasher::default(), 0..n);
        let twice = [once.clone(), once.clone()].concat();
        let mut often = once.clone();
        often.extend([once[0]; 2_000]);
        let filter = options(Arity::Three, 9).build_digests(once.clone()).unwrap();
        for copies in [twice, often] {
            let same = options(Arity::Three, 9).build_digests(copies).unwrap();
            assert!(same == filter, "{n}");
            assert_eq!(same.key_count(), n);
        }
    }
    let one = Fuse::build(std::iter::repeat_n("ana", 2_000), 0.01).unwrap();
    assert_eq!(one.key_count(), 1);
    assert!(one.contains("ana"));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn keys_that_differ_by_2_to_the_32_are_two_keys() {
    let keys: Vec<u64> = (0..10_000).flat_map(|key| [key, key + (1 << 32)]).collect();
    let filter = Fuse::build(&keys, 0.001).unwrap();
    assert_eq!(filter.key_count(), 20_000);
    assert!(keys.iter().all(|key| filter.contains(key)));
    // The same of digests.
    let digests: Vec<Digest> = keys.iter().map(|&key| Digest::new(key << 20)).collect();
    let distinct: HashSet<Digest> = digests.iter().copied().collect();
    let filter = Fuse::from_digests(digests.clone(), 0.001, KeyHasher::default()).unwrap();
    assert_eq!(filter.key_count(), distinct.len() as u64);
    assert_eq!(share_of_hits(&filter, &digests), digests.len() as u64);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn order_and_threads_change_nothing() {
    for arity in BOTH {
        for n in [1_000, 300_000] {
            let mut keys = digests(KeyHasher::default(), 0..n);
            let first = FuseOptions { threads: Some(1), ..options(arity, 7) }
                .build_digests(keys.clone())
                .unwrap();
            keys.sort_unstable();
            keys.rotate_left(n as usize / 3);
            for threads in [Some(1), Some(2), Some(3), None] {
                let other = FuseOptions { threads, ..options(arity, 7) }
                    .build_digests(keys.clone())
                    .unwrap();
                assert!(first == other, "{arity:?} {n} {threads:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn digests_that_are_far_from_random_are_no_members_of_a_wrong_filter() {
    // Either they are all found, or there is an error; and it does not take forever.
    let digests: Vec<Digest> = (0..20_000).map(Digest::new).collect();
    match Fuse::from_digests(digests.clone(), 0.01, KeyHasher::default()) {
        Ok(filter) => assert_eq!(share_of_hits(&filter, &digests), 20_000),
        Err(error) => assert!(matches!(error, FuseError::Unsolved { key_count: 20_000, .. })),
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |result: Result<Fuse, FuseError>| result.unwrap_err().to_string();
    for rate in [0.0, 1.0, f64::NAN, 1e-10, 1e-30] {
        assert!(message(Fuse::build(["ana"], rate)).starts_with("fpr is "), "{rate}");
    }
    assert_eq!(
        message(options(Arity::Three, 0).build(["ana"])),
        "width is 0, but it must be from 1 to 32"
    );
    assert_eq!(
        message(FuseOptions { threads: Some(0), ..FuseOptions::default() }.build(["ana"])),
        "threads is 0, but it must be at least 1"
    );
}

#[test]
fn the_worked_example_is_solved_in_its_order() {
    // Cells of one segment each are all that a geometry with segments of one cell has; the order of
    // the example is that of any peeling, so that it is enough to follow the users.
    let keys = [[0, 2, 3], [1, 2, 3], [1, 2, 4]];
    let mut remaining: Vec<usize> = (0..3).collect();
    for (key, cell) in [(0, 0), (1, 3), (2, 1)] {
        let users: Vec<usize> =
            remaining.iter().copied().filter(|&key| keys[key].contains(&cell)).collect();
        assert_eq!(users, [key]);
        remaining.retain(|&other| other != key);
    }
    assert_eq!((5 ^ 6 ^ 3, 5 ^ 3), (0, 6));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn parts_make_the_same_filter() {
    for n in [0, 1, 100, 5_000] {
        for arity in BOTH {
            let keys = digests(KeyHasher::default(), 0..n);
            let filter = options(arity, 11).build_digests(keys).unwrap();
            let parameters = filter.parts().parameters;
            let payload = filter.parts().payload.concat();
            assert_eq!(payload_length::<Fuse>(Kind::Fuse, &parameters), Ok(payload.len() as u64));
            let words = Words::copied(&payload).unwrap();
            let again =
                from_parts::<Fuse>(Kind::Fuse, filter.hasher(), n, &parameters, words).unwrap();
            assert!(again == filter);
        }
    }
}

#[test]
fn parts_that_make_no_filter_are_refused() {
    let filter =
        options(Arity::Three, 7).build_digests(digests(KeyHasher::default(), 0..100)).unwrap();
    let good = filter.parts().parameters;
    let read = |key_count, parameters: &[u64], words: usize| {
        from_parts::<Fuse>(
            Kind::Fuse,
            filter.hasher(),
            key_count,
            parameters,
            Words::zeroed(words).unwrap(),
        )
    };
    let words = filter.cells.words().len();
    assert!(read(100, &good, words).is_ok());
    for (index, value) in [
        (0, 2),
        (0, 5),
        (1, 0),
        (1, 33),
        (1, (1 << 32) + 7),
        (2, 0),
        (2, 3),
        (2, 1 << 19),
        (3, u64::MAX),
        (3, 1 << 58),
        (4, 2),
    ] {
        let mut bad = good.clone();
        bad[index] = value;
        assert!(payload_length::<Fuse>(Kind::Fuse, &bad).is_err(), "{index} {value}");
        assert!(read(100, &bad, words).is_err(), "{index} {value}");
    }
    assert!(read(100, &good[..4], words).is_err());
    for (key_count, words) in [(0, words), (1 << 40, words), (100, words - 1), (100, words + 1)] {
        assert!(matches!(read(key_count, &good, words), Err(DecodeError::Inconsistent(_))));
    }
}

proptest! {
    #[test]
    fn a_batch_answers_as_one_by_one(
        n in 0u64..300, asked in 0u64..200, width in 1u32..=32, four: bool,
    ) {
        let hasher = KeyHasher::default();
        let arity = if four { Arity::Four } else { Arity::Three };
        let filter = options(arity, width).build_digests(digests(hasher, 0..n)).unwrap();
        let keys = digests(hasher, n / 2..n / 2 + asked);
        let mut hits = vec![false; keys.len()];
        filter.contains_batch(&keys, &mut hits);
        for (key, hit) in keys.iter().zip(hits) {
            prop_assert_eq!(filter.contains_digest(*key), hit);
        }
    }

    /// Whatever a file says: an error, or a filter that answers.
    #[test]
    fn hostile_parts_never_lead_out_of_bounds(
        arity in 2u64..6, width in 0u64..40, log_length in 0u32..20, segments in 0u64..50,
        seed: u64, words in 0usize..200, fit: bool, filling: u64, asked: Vec<u64>,
    ) {
        let parameters = [arity, width, 1 << log_length, segments, seed];
        let Ok(length) = payload_length::<Fuse>(Kind::Fuse, &parameters) else { return Ok(()) };
        let words = if fit { length as usize } else { words };
        let mut payload = Words::zeroed(words).unwrap();
        payload.to_mut().fill(filling);
        if let Ok(filter) = from_noise::<Fuse>(Kind::Fuse, 1, &parameters, payload) {
            for key in asked.into_iter().chain([0, 1, u64::MAX, u64::MAX / 2]) {
                filter.contains_digest(Digest::new(key));
            }
        }
    }
}

/// 120 million fingerprints of 32 bits, about 4.3 billion bits.
#[test]
#[ignore = "4 GB and two minutes: cargo test -p crivo --lib fuse -- --ignored"]
fn more_than_32_bits_of_bits() {
    let options = FuseOptions { width: 32, ..FuseOptions::default() };
    let filter = options.build(0..122_000_000u64).unwrap();
    assert!(filter.size_in_bits() > 1 << 32, "{}", filter.size_in_bits());
    assert!((0..122_000_000u64).step_by(7).all(|key| filter.contains(&key)));
    let found = (1u64 << 40..(1 << 40) + 1_000_000).filter(|key| filter.contains(key)).count();
    // 2.3e-4 are expected: more than one has a chance of 3e-8.
    assert!(found <= 1, "{found}");
}
