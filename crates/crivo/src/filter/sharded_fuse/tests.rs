use std::collections::HashSet;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::ParameterError;
use crate::filter::choose::kind_for_keys;
use crate::filter::fuse::options::seed_of;
use crate::filter::{Bytes, Fuse, Kind, SpecError};
use crate::persist::testing::{from_noise, from_parts, payload_length};
use crate::persist::{DecodeError, Persist};
use crate::theory::interval;
use crivo_core::Words;

const BOTH: [Arity; 2] = [Arity::Three, Arity::Four];

fn digests(hasher: KeyHasher, range: std::ops::Range<u64>) -> Vec<Digest> {
    range.map(|key| hasher.digest(&key)).collect()
}

fn spec(keys: u64, width: u32, shards: u64) -> ShardedFuseSpec {
    ShardedFuseSpec::with_width(keys.max(1), width).unwrap().with_shards(shards).unwrap()
}

fn built(keys: &[Digest], width: u32, shards: u64) -> ShardedFuse {
    let spec = spec(keys.len() as u64, width, shards);
    spec.build_from(keys.to_vec(), KeyHasher::default()).unwrap()
}

fn hits(filter: &ShardedFuse, keys: &[Digest]) -> u64 {
    let mut hits = vec![false; keys.len()];
    filter.contains_batch(keys, &mut hits);
    hits.into_iter().map(u64::from).sum()
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_key_is_found_whatever_their_number_and_that_of_shards() {
    let keys = digests(KeyHasher::default(), 0..100_000);
    // Fewer keys than shards, so that shards are empty; more shards than parts.
    for n in [0, 1, 2, 3, 10, 63, 500, 5_000, 100_000] {
        for shards in [1, 2, 8, 64, 512, 1024, 1 << 15] {
            let filter = built(&keys[..n], 7, shards);
            assert_eq!((filter.key_count(), filter.shards()), (n as u64, shards));
            assert_eq!(hits(&filter, &keys[..n]), n as u64, "{n} keys in {shards} shards");
        }
    }
}

#[test]
fn no_keys_are_no_members() {
    for shards in [1, 4] {
        let filter = built(&[], 8, shards);
        assert_eq!((filter.key_count(), filter.size_in_bits(), filter.expected_fpr()), (0, 0, 0.0));
        assert_eq!(hits(&filter, &digests(KeyHasher::default(), 0..1_000)), 0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_rate_is_that_of_theory_in_every_number_of_shards() {
    // The chance of failing is 1e-6 for each of 24 filters. Within a shard digests share their first
    // bits: up to 15 of 64.
    let hasher = KeyHasher::default();
    let (keys, others) =
        (digests(hasher, 0..300_000), digests(hasher, 1 << 40..(1 << 40) + 600_000));
    for arity in BOTH {
        for shards in [1, 2, 32, 1 << 10, 1 << 13, 1 << 15] {
            for width in [3, 12] {
                let spec = spec(300_000, width, shards).with_arity(arity).unwrap();
                let filter = spec.build_from(keys.clone(), hasher).unwrap();
                assert_eq!(hits(&filter, &keys), 300_000);
                let found = hits(&filter, &others);
                let interval = interval::exact(found, others.len() as u64, 1.0 - 1e-6).unwrap();
                assert!(interval.contains(filter.expected_fpr()), "{arity:?} {shards} {width}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn few_seeds_are_tried() {
    // As for a fuse filter: digests of a shard are as good as others.
    let seeds: Vec<u64> = (0..12).map(seed_of).collect();
    for (n, shards) in [(40_000, 1 << 10), (40_000, 1 << 13), (1_000_000, 1 << 7), (1_000_000, 8)] {
        let filter = built(&digests(KeyHasher::default(), 0..n), 8, shards);
        assert!(filter.cells.seeds().all(|seed| seeds.contains(&seed)), "{n} {shards}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn copies_order_threads_and_memory_change_nothing() {
    let hasher = KeyHasher::default();
    for (n, shards) in [(3, 1), (1_000, 4), (60_000, 16), (60_000, 2048)] {
        let keys = digests(hasher, 0..n);
        let once = built(&keys, 9, shards);
        let mut copies = [&keys[..], &keys[n as usize / 3..], &[keys[0]; 5_000]].concat();
        copies.sort_unstable();
        copies.rotate_left(n as usize / 2);
        let spec = spec(n, 9, shards);
        let given = copies.len() as u64;
        assert!(spec.build_from(copies.clone(), hasher).unwrap() == once, "{n} {shards}");
        for (memory, threads) in [(u64::MAX, 1), (1 << 20, 2), (300_000, 3), (50_000, 1), (0, 2)] {
            let collector = KeyCollector::within(Bytes(memory), hasher);
            let mut collector = collector.with_threads(threads).unwrap();
            for copies in copies.chunks(1_234) {
                collector.insert_digests(copies).unwrap();
            }
            let set = collector.finish().unwrap();
            assert_eq!((set.total(), set.count()), (given, n), "{memory}");
            let filter = spec.build_from_keys(set).unwrap();
            assert!(filter == once, "{n} keys in {shards} shards, {memory} bytes");
        }
    }
}

/// Each run fills a part of its own up to the memory, and leaves one digest in it.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn long_runs_of_copies_leave_no_room_behind() {
    let mut collector = KeyCollector::within(Bytes(100_000), KeyHasher::default());
    for run in 0..512u64 {
        let digest = Digest::new(run << 55);
        for _ in 0..10 {
            collector.insert_digests(&[digest; 1_000]).unwrap();
            let (room, most) = collector.room_and_most();
            assert!(room <= 2 * most, "{run}: {room} of {most}");
        }
    }
    assert!(!collector.has_spilled());
    assert_eq!(collector.finish().unwrap().count(), 512);
}

/// However many are allowed: one for each 65,536 keys and one more.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn few_keys_are_left_to_few_threads() {
    let hasher = KeyHasher::default();
    let keys: Vec<u64> = (0..100_000).collect();
    let spec = spec(100_000, 8, 4);
    let once = built(&digests(hasher, 0..100_000), 8, 4);
    let threads = Mutex::new(HashSet::new());
    let digest = |key: &u64| {
        threads.lock().unwrap().insert(std::thread::current().id());
        hasher.digest(key)
    };
    assert!(spec.build_by(&keys, digest, Some(usize::MAX), hasher).unwrap() == once);
    assert!(threads.into_inner().unwrap().len() <= 2);
    for memory in [u64::MAX, 100_000] {
        let collector = KeyCollector::within(Bytes(memory), hasher);
        let mut collector = collector.with_threads(usize::MAX).unwrap();
        // Half of them are copies, which are dropped when the memory is full.
        collector.extend(keys.iter().chain(&keys)).unwrap();
        let set = collector.finish().unwrap();
        assert_eq!(set.threads(), 2);
        assert!(spec.build_from_keys(set).unwrap() == once);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn collected_keys_come_back_in_order() {
    let hasher = KeyHasher::default();
    let mut expected = digests(hasher, 0..30_000);
    let twice = [expected.clone(), expected.clone()].concat();
    expected.sort_unstable();
    for memory in [u64::MAX, 100_000, 0] {
        let mut collector = KeyCollector::within(Bytes(memory), hasher);
        collector.insert_digests(&twice).unwrap();
        assert!(collector.finish().unwrap().into_digests().unwrap() == expected, "{memory}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn copies_of_one_key_never_reach_the_disk() {
    let mut collector = KeyCollector::within(Bytes(100_000), KeyHasher::default());
    collector.extend(std::iter::repeat_n("ana", 100_000)).unwrap();
    collector.extend((0..100_000u64).map(|key| key % 100)).unwrap();
    assert!(!collector.has_spilled());
    let keys = collector.finish().unwrap();
    assert_eq!((keys.total(), keys.count()), (200_000, 101));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn digests_that_are_far_from_random_are_no_members_of_a_wrong_filter() {
    // All in the first shard, or in the first and last. Either they are all found, or there is an
    // error; and it does not take forever.
    let first: Vec<Digest> = (0..20_000).map(Digest::new).collect();
    let ends: Vec<Digest> = (0..10_000).flat_map(|i| [i, u64::MAX - i]).map(Digest::new).collect();
    for digests in [first, ends] {
        for memory in [u64::MAX, 10_000] {
            let mut collector = KeyCollector::within(Bytes(memory), KeyHasher::default());
            collector.insert_digests(&digests).unwrap();
            match spec(20_000, 8, 16).build_from_keys(collector.finish().unwrap()) {
                Ok(filter) => assert_eq!(hits(&filter, &digests), 20_000),
                Err(error) => assert!(matches!(error, FuseError::Unsolved { .. }), "{error}"),
            }
        }
    }
}

#[test]
fn a_filter_of_one_shard_answers_as_a_fuse_filter_does() {
    let keys = digests(KeyHasher::default(), 0..200);
    let fuse = Fuse::from_digests(keys.clone(), 0.01, KeyHasher::default()).unwrap();
    let sharded = ShardedFuse::from_digests(keys, 0.01, KeyHasher::default()).unwrap();
    for key in 0..2_000u64 {
        assert_eq!(sharded.contains(&key), fuse.contains(&key), "{key}");
    }
}

#[test]
fn shards_are_as_many_as_keys_need() {
    let shards = |keys| ShardedFuseSpec::with_width(keys, 8).unwrap().shards();
    let cases = [
        (1, 1),
        (1 << 21, 1),
        ((1 << 21) + 1, 2),
        (1 << 22, 2),
        (10_000_000, 8),
        (1 << 56, 1 << 15),
    ];
    for (keys, expected) in cases {
        assert_eq!(shards(keys), expected, "{keys}");
        let is_sharded = kind_for_keys(Kind::Fuse, keys) == Kind::ShardedFuse;
        assert_eq!(is_sharded, expected > 1, "{keys}");
    }
    // What shards cost.
    for keys in [1 << 22, 10_000_000, 100_000_000, 1_000_000_000, 3_000_000_000] {
        let sharded = ShardedFuseSpec::with_width(keys, 8).unwrap().bits_per_key();
        assert!(sharded / (1.125 * 8.0) < 1.012, "{keys} {sharded}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_size_is_what_the_specification_says() {
    let hasher = KeyHasher::default();
    for (n, shards) in [(1_000, 1), (50_000, 8), (1_000_000, 64), (3_000_000, 2)] {
        let spec = spec(n, 5, shards);
        let filter = spec.build_from(digests(hasher, 0..n), hasher).unwrap();
        assert_eq!(filter.spec(), spec);
        assert_eq!(filter.size_in_bits(), spec.size_in_bits());
    }
}

#[test]
fn bad_parameters_are_named() {
    let parameter = |result: Result<ShardedFuseSpec, ParameterError>| result.unwrap_err().parameter;
    for shards in [0, 3, 1 << 16, u64::MAX] {
        let spec = ShardedFuseSpec::with_width(1_000, 8).unwrap();
        assert_eq!(parameter(spec.with_shards(shards)), "shards");
    }
    assert_eq!(parameter(ShardedFuseSpec::with_width(1_000, 33)), "width");
    let built = spec(5, 8, 1).build(KeyHasher::default()).unwrap_err();
    assert!(built.to_string().contains("takes all at once"), "{built}");
    let none = KeyCollector::new(KeyHasher::default()).with_threads(0).unwrap_err();
    assert_eq!(none.parameter, "threads");
    let error = FuseError::from(crivo_core::spill::SpillError::from(std::io::Error::other("full")));
    assert!(error.to_string().contains("TMPDIR"), "{error}");
    assert!(matches!(SpecError::from(error), SpecError::Fuse(FuseError::TemporaryFile { .. })));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn parts_make_the_same_filter() {
    for (n, shards) in [(0, 1), (0, 4), (1, 2), (100, 1), (5_000, 8)] {
        let filter = built(&digests(KeyHasher::default(), 0..n), 11, shards);
        let parameters = filter.parts().parameters;
        let payload = filter.parts().payload.concat();
        let length = payload_length::<ShardedFuse>(Kind::ShardedFuse, &parameters);
        assert_eq!(length, Ok(payload.len() as u64));
        let words = Words::copied(&payload).unwrap();
        let hasher = filter.hasher();
        let again = from_parts::<ShardedFuse>(Kind::ShardedFuse, hasher, n, &parameters, words);
        assert!(again.unwrap() == filter);
    }
}

#[test]
fn parts_that_make_no_filter_are_refused() {
    let filter = built(&digests(KeyHasher::default(), 0..100), 7, 2);
    let good = filter.parts().parameters;
    let words = filter.cells.words().len();
    let read = |key_count, parameters: &[u64], words: Words| {
        from_parts::<ShardedFuse>(Kind::ShardedFuse, filter.hasher(), key_count, parameters, words)
    };
    let zeros = |words| Words::zeroed(words).unwrap();
    assert!(read(100, &good, zeros(words)).is_ok());
    for (index, value) in [
        (0, 2),
        (1, 0),
        (1, 33),
        (1, (1 << 32) + 7),
        (2, 0),
        (2, 3),
        (2, 1 << 19),
        (3, u64::MAX),
        (3, 1 << 57),
        (4, 0),
        (4, 1),
        (4, 3),
        (4, 4),
        (4, 1 << 63),
        (5, 0),
        (6, 2),
    ] {
        let mut bad = good.clone();
        bad[index] = value;
        let length = payload_length::<ShardedFuse>(Kind::ShardedFuse, &bad);
        assert!(length.is_err(), "{index} {value}");
        assert!(read(100, &bad, zeros(words)).is_err(), "{index} {value}");
    }
    for length in [0, 4, 5, 6] {
        assert!(read(100, &good[..length], zeros(words)).is_err());
    }
    for (key_count, words) in [(0, words), (1 << 40, words), (100, words - 8), (100, words + 8)] {
        let result = read(key_count, &good, zeros(words));
        assert!(matches!(result, Err(DecodeError::Inconsistent(_))));
    }
    // The padding of every shard is zeros.
    for word in [words / 2 - 1, words - 1] {
        let mut payload = zeros(words);
        payload.to_mut()[word] = 1 << 63;
        assert!(matches!(read(100, &good, payload), Err(DecodeError::Inconsistent(_))), "{word}");
    }
}

/// Each knows where its own words are: a copy does not need the filter that it was made of.
#[test]
fn copies_and_filters_that_move_find_their_own_words() {
    let hasher = KeyHasher::default();
    let keys = digests(hasher, 0..200);
    let filter = spec(200, 8, 4).build_from(keys.clone(), hasher).unwrap();
    let copy = filter.clone();
    assert!(copy == filter);
    drop(filter);
    let moved = Box::new(copy);
    let again = (*moved).clone();
    for filter in [&*moved, &again] {
        assert!(keys.iter().all(|&key| filter.contains_digest(key)));
    }
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_batch_answers_as_one_by_one(
        n in 0u64..300, asked in 0u64..200, width in 1u32..=32, shard_bits in 0u32..6, four: bool,
    ) {
        let hasher = KeyHasher::default();
        let arity = if four { Arity::Four } else { Arity::Three };
        let spec = spec(n, width, 1 << shard_bits).with_arity(arity).unwrap();
        let filter = spec.build_from(digests(hasher, 0..n), hasher).unwrap();
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
        shard_bits in 0u32..5, seed: u64, words in 0usize..200, fit: bool, filling: u64,
        asked: Vec<u64>,
    ) {
        let mut parameters = vec![arity, width, 1 << log_length, segments, 1 << shard_bits];
        parameters.extend((0..1 << shard_bits).map(|shard: u64| seed ^ (2 * shard)));
        let Ok(length) = payload_length::<ShardedFuse>(Kind::ShardedFuse, &parameters) else {
            return Ok(());
        };
        let words = if fit { length as usize } else { words };
        let mut payload = Words::zeroed(words).unwrap();
        payload.to_mut().fill(filling);
        if let Ok(filter) = from_noise::<ShardedFuse>(Kind::ShardedFuse, 1, &parameters, payload) {
            for key in asked.into_iter().chain([0, 1, u64::MAX, u64::MAX / 2]) {
                filter.contains_digest(Digest::new(key));
            }
        }
    }
}
