//! Cuckoo hashing beyond what every dictionary is tested for.

use proptest::prelude::*;

use super::evict::{Buckets, Choices, Randomness};
use super::trace::{TraceError, TraceTable};
use super::*;
use crate::InsertError;
use crivo::{BuildError, KeyHasher};

/// Every entry lies in one of its own buckets, or in the stash, and is counted once.
fn assert_consistent<K: crivo::Key + Eq + std::fmt::Debug, V>(map: &CuckooMap<K, V>) {
    assert!(map.iter().all(|(key, _)| map.contains_key(key)));
    assert_eq!(map.iter().count(), map.len());
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn fills_to_95_per_cent_without_growing_or_reseeding() {
    for n in [100, 1_000, 100_000] {
        let mut map = CuckooMap::with_capacity(n).unwrap();
        let slots = map.slot_count();
        for key in 0..n as u64 {
            map.insert(key, !key).unwrap();
        }
        assert_eq!((map.slot_count(), map.reseed_count()), (slots, 0));
        assert!((0..n as u64).all(|key| map.get(&key) == Some(&!key)));
        assert!((n as u64..2 * n as u64).all(|key| !map.contains_key(&key)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn takes_at_most_18_bytes_per_entry_at_every_size() {
    for n in [1_000, 99_999, 100_000, 1_000_000] {
        let map = CuckooMap::<u64, u64>::with_capacity(n).unwrap();
        let bytes = map.size_in_bytes() as f64 / n as f64;
        assert!(bytes <= 18.0, "{bytes} bytes per entry for {n} entries");
    }
}

/// Two points below the threshold of theory, beyond what the default allows.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_variation_fills_close_to_its_threshold() {
    for (choices, bucket_size) in [(2, 1), (2, 2), (2, 4), (2, 8), (3, 1), (3, 2), (4, 1)] {
        let threshold = crivo::theory::cuckoo::load_threshold(choices as u32, bucket_size as u32);
        let load = threshold.unwrap() - 0.02;
        for eviction in [
            Eviction::BreadthFirst { max_buckets: 20_000 },
            Eviction::RandomWalk { max_moves: 20_000 },
        ] {
            for layout in [TableLayout::OneTable, TableLayout::SeparateTables] {
                let options = CuckooOptions {
                    choices,
                    bucket_size,
                    layout,
                    eviction,
                    max_load: Some(1.0),
                    ..CuckooOptions::default()
                };
                let mut map = options.build(50_000).unwrap();
                let slots = map.slot_count();
                let entries = (slots as f64 * load) as u64;
                map.try_extend((0..entries).map(|key| (key, key))).unwrap();
                assert_eq!((map.slot_count(), map.reseed_count()), (slots, 0), "{options:?}");
                assert_consistent(&map);
            }
        }
    }
}

#[test]
fn a_stash_takes_what_the_table_cannot_place_and_gives_it_back() {
    let options = CuckooOptions {
        bucket_size: 1,
        stash: 4,
        max_load: Some(1.0),
        eviction: Eviction::RandomWalk { max_moves: 8 },
        ..CuckooOptions::default()
    };
    let mut map = options.build(64).unwrap();
    let mut key = 0u64;
    while map.stash_count() < 4 {
        map.insert(key, key).unwrap();
        key += 1;
    }
    assert_eq!(map.reseed_count(), 0);
    assert_consistent(&map);
    // Overwriting and removing reach into the stash.
    for key in 0..key {
        assert_eq!(map.insert(key, key + 1), Ok(Some(key)));
    }
    // Removal from the table brings the stash home, long before the table is empty.
    let mut others: Vec<u64> = map.iter().map(|(&key, _)| key).take(map.len() - 4).collect();
    while map.stash_count() > 0 {
        let removed = others.pop().expect("the stash comes home before the table is empty");
        assert_eq!(map.remove(&removed), Some(removed + 1));
        assert_consistent(&map);
    }
    for removed in others {
        assert_eq!(map.remove(&removed), Some(removed + 1));
    }
    let left: Vec<u64> = map.iter().map(|(&key, _)| key).collect();
    for removed in left {
        assert_eq!(map.remove(&removed), Some(removed + 1));
        assert_consistent(&map);
        assert!(map.stash_count() <= map.len());
    }
    assert_eq!((map.stash_count(), map.len()), (0, 0));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_full_stash_leads_to_a_rebuild_that_loses_nothing() {
    let options = CuckooOptions {
        bucket_size: 1,
        stash: 2,
        max_load: Some(1.0),
        eviction: Eviction::RandomWalk { max_moves: 8 },
        ..CuckooOptions::default()
    };
    let mut map = options.build(32).unwrap();
    for key in 0..2_000u64 {
        map.insert(key, key.to_string()).unwrap();
        assert!(map.stash_count() <= 2);
    }
    assert!(map.reseed_count() > 0);
    assert!((0..2_000u64).all(|key| map.get(&key) == Some(&key.to_string())));
    assert_consistent(&map);
}

/// Equal digests under every seed: `FarmFingerprint` has no other member to reseed to, and keys
/// that differ only in length collide in none; so identical positions are forced by a table whose
/// buckets hold fewer entries than there are equal digests. See `tests/dictionaries.rs` for the
/// same with keys that an adversary would use.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_failed_insertion_changes_nothing() {
    let options = CuckooOptions {
        bucket_size: 1,
        eviction: Eviction::RandomWalk { max_moves: 1 },
        hasher: KeyHasher::farm_fingerprint(),
        max_load: Some(1.0),
        ..CuckooOptions::default()
    };
    // One move is no eviction, and one seed no choice: growth alone has to do.
    let mut map = options.build(16).unwrap();
    let mut failed = 0;
    for key in 0..3_000u64 {
        let before = (map.len(), map.slot_count(), map.hasher());
        match map.insert(key, key) {
            Ok(_) => assert!(map.contains_key(&key)),
            Err(error) => {
                assert!(matches!(error, InsertError::TooManyCollisions { .. }));
                assert_eq!((map.len(), map.slot_count(), map.hasher()), before);
                assert!(!map.contains_key(&key));
                failed += 1;
            }
        }
    }
    assert!(failed > 0, "the options make failure certain");
    assert_eq!(map.len(), 3_000 - failed);
    assert_consistent(&map);
}

#[test]
fn the_lectures_insertion_move_by_move() {
    let keys =
        [("A", [0, 3]), ("B", [3, 8]), ("C", [1, 2]), ("H", [4, 7]), ("P", [5, 8]), ("W", [7, 4])];
    for (eviction, moves, table) in [
        (
            Eviction::random_walk(),
            "Z→7, W→4, H→7, Z→0, A→3, B→8",
            "0:Z 1:C 2:· 3:A 4:W 5:P 6:· 7:H 8:B",
        ),
        (Eviction::breadth_first(), "Z→0, A→3, B→8", "0:Z 1:C 2:· 3:A 4:H 5:P 6:· 7:W 8:B"),
    ] {
        let mut trace = TraceTable::new(9, eviction).unwrap();
        for (key, places) in keys {
            let moves = trace.insert(key, &places).unwrap();
            assert_eq!(moves.as_slice(), [(key, places[0])], "h1 is free for all but Z");
        }
        assert_eq!(trace.insert("Z", &[7, 0]).unwrap().to_string(), moves);
        assert_eq!(trace.to_string(), table);
        assert_eq!(trace.at(8), Some(&"B"));
        assert_eq!(trace.at(9), None);
    }
}

#[test]
fn a_trace_without_a_way_out_changes_nothing() {
    for eviction in [Eviction::random_walk(), Eviction::breadth_first()] {
        let mut trace = TraceTable::new(4, eviction).unwrap();
        trace.insert("a", &[0, 1]).unwrap();
        trace.insert("b", &[0, 1]).unwrap();
        let before = trace.to_string();
        assert_eq!(trace.insert("c", &[1, 0]), Err(TraceError::NoPlace));
        assert_eq!(trace.to_string(), before);
        assert!(matches!(trace.insert("d", &[4]), Err(TraceError::Parameter(_))));
        assert!(matches!(trace.insert("d", &[]), Err(TraceError::Parameter(_))));
        assert!(matches!(trace.insert("d", &[0; 5]), Err(TraceError::Parameter(_))));
    }
    assert!(TraceTable::<u8>::new(0, Eviction::default()).is_err());
}

/// A table of keys whose choices are drawn at will, some of them coinciding.
struct Sketch {
    bucket_size: usize,
    slots: Vec<Option<Vec<usize>>>,
}

impl Buckets for Sketch {
    fn bucket_size(&self) -> usize {
        self.bucket_size
    }

    fn empty_slot(&self, bucket: usize) -> Option<usize> {
        let first = bucket * self.bucket_size;
        (first..first + self.bucket_size).find(|&slot| self.slots[slot].is_none())
    }

    fn choices_of(&self, slot: usize) -> Choices {
        let choices = self.slots[slot].as_ref().expect("searches ask about full slots");
        Choices::new(choices.len(), |i| choices[i])
    }
}

impl Sketch {
    /// Follows a path and checks that every key ends up in one of its own buckets.
    fn follow(&mut self, choices: Vec<usize>, path: &[usize]) {
        let mut displaced = Some(choices);
        for &slot in path {
            let bucket = slot / self.bucket_size;
            assert!(displaced.as_ref().expect("the path goes on").contains(&bucket));
            std::mem::swap(&mut self.slots[slot], &mut displaced);
        }
        assert!(displaced.is_none(), "the path ends at an empty slot");
    }
}

proptest! {
    /// Whatever the graph of choices, every path found can be walked; and breadth-first search
    /// finds one whenever one exists, with no more moves than the random walk.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn every_path_leads_everybody_home(
        bucket_size in 1usize..4,
        keys in prop::collection::vec(prop::collection::vec(0usize..12, 1..=4), 1..48),
        walk: bool,
    ) {
        let mut sketch = Sketch { bucket_size, slots: vec![None; 12 * bucket_size] };
        let mut randomness = Randomness::new();
        for choices in keys {
            let start = Choices::new(choices.len(), |i| choices[i]);
            let search = Eviction::BreadthFirst { max_buckets: 100_000 };
            let shortest = search.find_path(&sketch, &start, &mut randomness);
            let walked = Eviction::random_walk().find_path(&sketch, &start, &mut randomness);
            if let (Some(shortest), Some(walked)) = (&shortest, &walked) {
                prop_assert!(shortest.len() <= walked.len());
            }
            prop_assert!(shortest.is_some() || walked.is_none());
            if let Some(path) = if walk { walked.or(shortest) } else { shortest } {
                sketch.follow(choices, &path);
            }
        }
    }
}

#[test]
fn bad_options_are_named() {
    let good = CuckooOptions::default();
    for (options, parameter) in [
        (CuckooOptions { choices: 1, ..good }, "choices"),
        (CuckooOptions { choices: 5, ..good }, "choices"),
        (CuckooOptions { bucket_size: 0, ..good }, "bucket_size"),
        (CuckooOptions { bucket_size: 9, ..good }, "bucket_size"),
        (CuckooOptions { stash: 65, ..good }, "stash"),
        (CuckooOptions { max_load: Some(0.0), ..good }, "max_load"),
        (CuckooOptions { max_load: Some(1e-300), ..good }, "max_load"),
        (CuckooOptions { max_load: Some(1.1), ..good }, "max_load"),
        (CuckooOptions { max_load: Some(f64::NAN), ..good }, "max_load"),
        (CuckooOptions { eviction: Eviction::RandomWalk { max_moves: 0 }, ..good }, "max_moves"),
        (
            CuckooOptions { eviction: Eviction::RandomWalk { max_moves: usize::MAX }, ..good },
            "max_moves",
        ),
        (
            CuckooOptions { eviction: Eviction::BreadthFirst { max_buckets: 65_537 }, ..good },
            "max_buckets",
        ),
        (
            CuckooOptions { eviction: Eviction::BreadthFirst { max_buckets: 0 }, ..good },
            "max_buckets",
        ),
    ] {
        match options.build::<u64, u64>(10) {
            Err(BuildError::Parameter(error)) => assert_eq!(error.parameter, parameter),
            other => panic!("{parameter}: {:?}", other.map(|_| ())),
        }
    }
}

/// A value whose drop panics is lost, but the others are dropped, and the counts stay right.
#[test]
fn a_panicking_drop_leaves_the_counts_right() {
    struct Grumpy(bool);
    impl Drop for Grumpy {
        fn drop(&mut self) {
            assert!(!self.0 || std::thread::panicking(), "grumpy");
        }
    }
    let mut map = CuckooMap::with_capacity(100).unwrap();
    for key in 0..100u64 {
        map.insert(key, Grumpy(key == 50)).unwrap();
    }
    let cleared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| map.clear()));
    assert!(cleared.is_err());
    assert_eq!(map.iter().count(), map.len());
    map.clear();
    assert!(map.is_empty());
}

/// Values that count their drops: nothing is dropped twice or leaked, over evictions, rebuilds,
/// the stash, removals, clearing and cloning.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_value_is_dropped_exactly_once() {
    use std::rc::Rc;

    let token = Rc::new(());
    let options = CuckooOptions {
        bucket_size: 2,
        stash: 2,
        max_load: Some(1.0),
        eviction: Eviction::RandomWalk { max_moves: 6 },
        ..CuckooOptions::default()
    };
    let mut map = options.build(16).unwrap();
    for key in 0..3_000u64 {
        map.insert(key % 1_000, Rc::clone(&token)).unwrap();
    }
    assert!(map.reseed_count() > 0);
    assert_eq!(Rc::strong_count(&token), 1 + 1_000);
    let copy = map.clone();
    assert_eq!(Rc::strong_count(&token), 1 + 2_000);
    for key in 0..500 {
        map.remove(&key);
    }
    assert_eq!(Rc::strong_count(&token), 1 + 1_500);
    drop(copy);
    assert_eq!(Rc::strong_count(&token), 1 + 500);
    map.clear();
    assert_eq!(Rc::strong_count(&token), 1);
    map.insert(7, Rc::clone(&token)).unwrap();
    drop(map);
    assert_eq!(Rc::strong_count(&token), 1);
}
