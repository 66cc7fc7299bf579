//! The table under the map; what it promises to users is tested with the other dictionaries.

use std::collections::HashMap;

use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// Every entry is reachable from its home, and the count is right.
fn assert_sound<V>(map: &CompactedMap<u64, V>) {
    let taken = map.values.iter().filter(|value| value.is_some()).count();
    assert_eq!(map.entries, taken);
    assert!(map.entries <= entries_in(map.values.len()));
    for (slot, _) in map.values.iter().enumerate().filter(|(_, v)| v.is_some()) {
        let found = map.find(map.compressed.get(slot));
        assert!(matches!(found, Place::Taken(at) if at == slot));
    }
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(1), ..Config::default() })]

    /// The map is exactly a map from compressed keys: at 6 bits, keys collide all the time.
    #[test]
    fn it_is_an_exact_map_of_compressed_keys(
        operations in prop::collection::vec((0u8..4, 0u64..200, any::<u32>()), 0..300),
    ) {
        let mut map = CompactedMap::<u64, u32>::new(6).unwrap();
        let mut model = HashMap::new();
        for (operation, key, value) in operations {
            let compressed = map.compress(&key);
            match operation {
                0 => prop_assert_eq!(map.remove(&key).probable(), model.remove(&compressed)),
                1 => prop_assert_eq!(map.get(&key).probable(), model.get(&compressed)),
                _ => prop_assert_eq!(
                    map.insert(&key, value).unwrap().replaced(),
                    model.insert(compressed, value)
                ),
            }
            assert_sound(&map);
        }
        prop_assert_eq!(map.iter().len(), model.len());
        let entries: HashMap<u64, u32> = map.iter().map(|(key, &value)| (key, value)).collect();
        prop_assert_eq!(entries, model);
    }
}

#[test]
fn when_all_compressed_keys_are_in_use_nothing_is_new() {
    for bits in 1..=8 {
        let mut map = CompactedMap::<u64, ()>::with_capacity(bits, usize::MAX).unwrap();
        let slots = map.slot_count();
        map.try_extend((0..10_000).map(|key| (key, ()))).unwrap();
        assert_eq!(map.entry_count(), 1 << bits);
        assert_eq!(map.slot_count(), slots);
        assert_eq!(map.expected_fpr(), 1.0);
        assert_eq!(map.insert(&10_000, ()).unwrap(), Inserted::ProbablyReplaced(()));
        assert_sound(&map);
    }
}

#[test]
fn four_fifths_is_the_largest_load() {
    for entries in 0..1000 {
        let slots = slots_for(entries);
        assert!(entries_in(slots) >= entries);
        assert!(slots == 0 || entries_in(slots - 1) < entries);
        assert!(slots == 0 || entries_in(slots) < slots);
    }
    let mut map = CompactedMap::<u64, ()>::with_capacity(40, 1000).unwrap();
    assert_eq!(map.slot_count(), 1250);
    map.try_extend((0..1000).map(|key| (key, ()))).unwrap();
    assert_eq!((map.slot_count(), map.load()), (1250, 0.8));
    map.insert(&1000, ()).unwrap();
    assert_eq!(map.slot_count(), 2500);
}

#[test]
fn a_slot_costs_its_bits_and_a_value() {
    let map = CompactedMap::<u64, u32>::with_capacity(24, 800).unwrap();
    // 1,000 slots of 24 bits, one word of padding, and 1,000 of Option<u32>.
    assert_eq!(map.size_in_bytes(), 3000 + 8 + 8000);
}

#[test]
fn bad_parameters_are_named() {
    let refusal = |bits, capacity| {
        CompactedMap::<u64, u64>::with_capacity(bits, capacity).unwrap_err().to_string()
    };
    for bits in [0, 65] {
        let expected = format!("compressed bits is {bits}, but it must be from 1 to 64");
        assert_eq!(refusal(bits, 1), expected);
        let error = CompactedMap::<u64, u64>::new(bits).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(refusal(8, 0), "capacity is 0, but it must be at least 1");
    for capacity in [usize::MAX, usize::MAX / 2, 1 << 59] {
        assert!(refusal(64, capacity).starts_with("capacity is "));
    }
    assert!(matches!(
        CompactedMap::<u64, u64>::with_capacity(64, 1 << 50),
        Err(BuildError::OutOfMemory { bytes }) if bytes > 1 << 50
    ));
}

#[test]
fn it_prints_as_a_map_and_clones() {
    let mut map = CompactedMap::<String, u32>::new(8).unwrap();
    assert_eq!(map.get("ana"), Answer::Absent);
    map.insert("ana", 1).unwrap();
    let printed = format!("{{{}: 1}}", map.compress("ana"));
    assert_eq!(format!("{map:?}"), printed);
    assert_eq!(format!("{:?}", map.iter()), printed);
    let mut copy = map.clone();
    if let Answer::Probably(value) = copy.get_mut("ana") {
        *value = 2;
    }
    assert_eq!(map.get("ana"), Answer::Probably(&1));
    assert_eq!(copy.remove("ana"), Answer::Probably(2));
    assert_eq!(copy.remove("ana"), Answer::Absent);
}
