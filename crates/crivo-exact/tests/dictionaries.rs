//! One suite for every dictionary, with the standard library's `HashMap` as the oracle, and what
//! goes beyond it: keys chosen by an adversary, impossible sizes, and the error of hash compaction.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::rc::Rc;

use crivo::hash::SecretKey;
use crivo::{BuildError, Key, KeyHasher};
use crivo_exact::{
    ChainedMap, CompactedMap, CuckooMap, CuckooOptions, Dictionary, Eviction, InsertError,
    LinearMap, TableLayout,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use statrs::distribution::{Binomial, Discrete, DiscreteCDF};

mod support {
    pub mod multicollision;
}

use support::multicollision::murmur3_multicollision;

/// The suite for one dictionary: how an empty one is made, and one with room for n entries.
macro_rules! conforms {
    ($name:ident, $new:expr, $with_capacity:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn random_operations_on_integers() {
                random_operations(|| $new, |number| number);
            }

            #[test]
            fn random_operations_on_texts() {
                random_operations(|| $new, |number| format!("key {number}"));
            }

            #[test]
            fn growth_to_many_entries_and_back() {
                growth_and_shrinkage($new);
            }

            #[test]
            fn each_value_is_dropped_once() {
                values_are_dropped_once(|| $new);
            }

            #[test]
            fn capacity_is_room_enough() {
                capacity_suffices($with_capacity);
            }

            #[test]
            fn impossible_capacities() {
                impossible_capacities_are_typed_errors($with_capacity);
            }
        }
    };
}

conforms!(linear, LinearMap::new(), LinearMap::with_capacity);
conforms!(cuckoo, CuckooMap::new(), CuckooMap::with_capacity);

/// A variation of cuckoo hashing: searching in one table, or walking over d tables with a stash.
const fn variation(choices: usize, bucket_size: usize, walk: bool) -> CuckooOptions {
    CuckooOptions {
        choices,
        bucket_size,
        layout: if walk { TableLayout::SeparateTables } else { TableLayout::OneTable },
        stash: if walk { 3 } else { 0 },
        eviction: if walk { Eviction::random_walk() } else { Eviction::breadth_first() },
        max_load: None,
        hasher: KeyHasher::fold64(0),
    }
}

macro_rules! cuckoo_conforms {
    ($($name:ident: $options:expr;)*) => {$(
        conforms!($name, $options.build(1).unwrap(), |capacity| $options.build(capacity));
    )*};
}

cuckoo_conforms! {
    cuckoo_2_by_1_searching: variation(2, 1, false);
    cuckoo_2_by_1_walking: variation(2, 1, true);
    cuckoo_2_by_3_walking: variation(2, 3, true);
    cuckoo_2_by_4_searching: variation(2, 4, false);
    cuckoo_3_by_1_searching: variation(3, 1, false);
    cuckoo_3_by_2_walking: variation(3, 2, true);
    cuckoo_4_by_1_walking: variation(4, 1, true);
    cuckoo_4_by_8_searching: variation(4, 8, false);
}

conforms!(chained, ChainedMap::new(), ChainedMap::with_capacity);
// At 64 bits the keys of the suite do not collide, and hash compaction must be exact on them.
conforms!(compacted_to_64_bits, CompactedMap::new(64).unwrap(), |capacity| {
    CompactedMap::with_capacity(64, capacity)
});

#[derive(Debug, Clone)]
enum Operation {
    Insert(u64),
    Get(u64),
    Change(u64),
    ChangeAll,
    Remove(u64),
    Clear,
}

/// Operations on `universe` keys: if they are few, most operations meet a key that is there.
fn operations(universe: u64) -> impl Strategy<Value = Vec<Operation>> {
    let key = || (0..universe).prop_map(spread);
    let operation = prop_oneof![
        40 => key().prop_map(Operation::Insert),
        20 => key().prop_map(Operation::Get),
        10 => key().prop_map(Operation::Change),
        2 => Just(Operation::ChangeAll),
        30 => key().prop_map(Operation::Remove),
        1 => Just(Operation::Clear),
    ];
    prop::collection::vec(operation, 0..400)
}

/// Different numbers for different numbers, over all 64 bits: the multiplier is odd.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0xd134_2543_de82_ef95)
}

/// What `ChangeAll` adds: more than there are operations, so that values stay different.
const STEP: u64 = 1000;

fn random_operations<K, S, D>(new: impl Fn() -> D, key_of: impl Fn(u64) -> K)
where
    K: Key + Clone + Eq + Hash + Debug,
    D: Dictionary<K, u64> + IntoIterator<Item = (S, u64)>,
{
    for universe in [8, 64, 512, u64::MAX] {
        let config = Config { cases: 100, rng_seed: RngSeed::Fixed(universe), ..Config::default() };
        TestRunner::new(config)
            .run(&operations(universe), |operations| {
                let mut dictionary = new();
                let mut model = HashMap::new();
                // A value is the number of its operation, so that no two entries look alike.
                for (value, operation) in (0..).zip(operations) {
                    match operation {
                        Operation::Insert(number) => prop_assert_eq!(
                            dictionary.insert(key_of(number), value).unwrap(),
                            model.insert(key_of(number), value)
                        ),
                        Operation::Get(number) => {
                            let key = key_of(number);
                            prop_assert_eq!(dictionary.get(&key), model.get(&key));
                            prop_assert_eq!(
                                dictionary.contains_key(&key),
                                model.contains_key(&key)
                            );
                        }
                        Operation::Change(number) => {
                            let key = key_of(number);
                            let change = |present: &mut u64| std::mem::replace(present, value);
                            prop_assert_eq!(
                                dictionary.get_mut(&key).map(change),
                                model.get_mut(&key).map(change)
                            );
                        }
                        Operation::ChangeAll => {
                            let mut visited = 0;
                            for (_, present) in dictionary.iter_mut() {
                                *present += STEP;
                                visited += 1;
                            }
                            prop_assert_eq!(visited, model.len());
                            model.values_mut().for_each(|present| *present += STEP);
                        }
                        Operation::Remove(number) => {
                            let key = key_of(number);
                            prop_assert_eq!(dictionary.remove(&key), model.remove(&key));
                        }
                        Operation::Clear => {
                            dictionary.clear();
                            model.clear();
                        }
                    }
                    prop_assert_eq!(dictionary.len(), model.len());
                    prop_assert_eq!(dictionary.is_empty(), model.is_empty());
                }
                assert_same_entries(&dictionary, &model);
                let mut values: Vec<u64> = dictionary.into_iter().map(|(_, v)| v).collect();
                values.sort_unstable();
                prop_assert_eq!(values, sorted_values(&model));
                Ok(())
            })
            .unwrap();
    }
}

fn assert_same_entries<K, D>(dictionary: &D, model: &HashMap<K, u64>)
where
    K: Key + Eq + Hash + Debug,
    D: Dictionary<K, u64>,
{
    for (key, value) in model {
        assert_eq!(dictionary.get(key), Some(value), "{key:?}");
    }
    let mut values: Vec<u64> = dictionary.iter().map(|(_, &value)| value).collect();
    values.sort_unstable();
    assert_eq!(values, sorted_values(model));

    assert_eq!(dictionary.len(), model.len());
    match dictionary.slot_count() {
        0 => assert_eq!(dictionary.load(), 0.0),
        slots => assert_eq!(dictionary.load(), model.len() as f64 / slots as f64),
    }
    assert!(dictionary.load() <= 1.0);
}

fn sorted_values<K>(model: &HashMap<K, u64>) -> Vec<u64> {
    let mut values: Vec<u64> = model.values().copied().collect();
    values.sort_unstable();
    values
}

fn growth_and_shrinkage<D: Dictionary<u64, u64>>(mut dictionary: D) {
    const ENTRIES: u64 = 100_000;
    let mut model = HashMap::new();
    for number in 0..ENTRIES {
        assert_eq!(dictionary.insert(spread(number), number).unwrap(), None);
        model.insert(spread(number), number);
    }
    assert_same_entries(&dictionary, &model);
    assert!(dictionary.size_in_bytes() >= 16 * ENTRIES as usize);
    assert!((ENTRIES..2 * ENTRIES).all(|number| !dictionary.contains_key(&spread(number))));

    // In another order than that of insertion: 61 is coprime to the number of entries.
    for step in 0..ENTRIES {
        let number = step * 61 % ENTRIES;
        assert_eq!(dictionary.remove(&spread(number)), Some(number));
        assert_eq!(dictionary.remove(&spread(number)), None);
        model.remove(&spread(number));
        if step % (ENTRIES / 10) == 0 {
            assert_same_entries(&dictionary, &model);
        }
    }
    assert_same_entries(&dictionary, &model);
    assert_eq!(dictionary.len(), 0);
    assert_eq!(dictionary.iter().count(), 0);
}

fn capacity_suffices<D: Dictionary<u64, u64>>(
    with_capacity: impl Fn(usize) -> Result<D, BuildError>,
) {
    for capacity in [1, 2, 3, 5, 100, 1000] {
        let mut dictionary = with_capacity(capacity).unwrap();
        let (slots, bytes) = (dictionary.slot_count(), dictionary.size_in_bytes());
        for number in 0..capacity as u64 {
            dictionary.insert(number, number).unwrap();
        }
        assert_eq!(dictionary.slot_count(), slots);
        assert_eq!(dictionary.size_in_bytes(), bytes);
        assert_eq!(dictionary.hasher(), KeyHasher::default());
    }
}

fn impossible_capacities_are_typed_errors<D: Dictionary<u64, u64>>(
    with_capacity: impl Fn(usize) -> Result<D, BuildError>,
) {
    for capacity in [0, usize::MAX, usize::MAX / 2] {
        match with_capacity(capacity).map(drop) {
            Err(BuildError::Parameter(error)) => {
                assert_eq!(error.parameter, "capacity");
                assert_eq!(error.value, capacity.to_string());
            }
            other => panic!("{capacity}: {other:?}"),
        }
    }
    // Some maps cannot number 2^50 entries; for others there is no memory.
    assert!(with_capacity(1 << 50).is_err());
}

/// Whatever is done with a map, each value is dropped once, and none before its time.
fn values_are_dropped_once<S, D>(new: impl Fn() -> D)
where
    D: Dictionary<u64, Rc<u64>> + IntoIterator<Item = (S, Rc<u64>)>,
{
    const ENTRIES: usize = 300;
    let token = Rc::new(0);
    let alive = || Rc::strong_count(&token) - 1;
    let filled = || {
        let mut dictionary = new();
        for number in 0..ENTRIES as u64 {
            dictionary.insert(spread(number), Rc::clone(&token)).unwrap();
        }
        dictionary
    };

    let mut dictionary = filled();
    assert_eq!(alive(), ENTRIES);
    // A replaced value is the caller's to drop, by `insert` and through `iter_mut`.
    let replaced = dictionary.insert(spread(0), Rc::new(1)).unwrap();
    assert_eq!(alive(), ENTRIES);
    drop(replaced);
    assert_eq!(alive(), ENTRIES - 1);
    for (_, value) in dictionary.iter_mut() {
        *value = Rc::new(2);
    }
    assert_eq!(alive(), 0);
    for (_, value) in dictionary.iter_mut() {
        *value = Rc::clone(&token);
    }
    assert_eq!(alive(), ENTRIES);
    drop(dictionary.remove(&spread(1)));
    assert_eq!(alive(), ENTRIES - 1);
    dictionary.clear();
    assert_eq!((alive(), dictionary.len()), (0, 0));

    for consumed in [0, 1, ENTRIES / 2, ENTRIES] {
        let mut entries = filled().into_iter();
        let kept: Vec<Rc<u64>> = entries.by_ref().take(consumed).map(|(_, value)| value).collect();
        assert_eq!((kept.len(), alive()), (consumed, ENTRIES));
        drop(entries);
        assert_eq!(alive(), consumed);
        drop(kept);
        assert_eq!(alive(), 0);
    }
    drop(filled());
    assert_eq!(alive(), 0);
}

/// Iteration yields the keys themselves where they are stored; the suite checks the values.
#[test]
fn exact_maps_iterate_over_their_keys() {
    fn check<D>(mut dictionary: D)
    where
        D: for<'a> Dictionary<u64, u64, StoredKey<'a> = &'a u64>
            + IntoIterator<Item = (u64, u64)>
            + 'static,
    {
        assert!(D::EXACT);
        for key in 0..1000 {
            dictionary.insert(key, key + 1).unwrap();
        }
        let keys: HashSet<u64> = dictionary.iter().map(|(&key, _)| key).collect();
        assert_eq!(keys, (0..1000).collect());
        assert!(dictionary.iter().all(|(&key, &value)| value == key + 1));
        for (&key, value) in dictionary.iter_mut() {
            *value = 2 * key;
        }
        let entries: HashMap<u64, u64> = dictionary.into_iter().collect();
        assert_eq!(entries, (0..1000).map(|key| (key, 2 * key)).collect());
    }
    check(ChainedMap::new());
    check(LinearMap::new());
    check(CuckooMap::new());
    check(variation(3, 1, true).build(1).unwrap());
}

/// `for` loops take a map by reference, by mutable reference and by value, and each iterator knows
/// how many entries are left.
#[test]
fn maps_are_iterated_in_three_ways() {
    macro_rules! check {
        ($map:expr) => {
            let mut map = $map;
            map.try_extend((0..100u64).map(|key| (key, key))).unwrap();
            assert_eq!(map.len(), 100);
            assert_eq!((map.iter().len(), map.iter_mut().len()), (100, 100));
            for (_, value) in &mut map {
                *value += 1;
            }
            let sum: u64 = (&map).into_iter().map(|(_, &value)| value).sum();
            assert_eq!(sum, 5050);
            let debug = format!("{map:?}");
            let mut entries = map.into_iter();
            assert_eq!((entries.len(), format!("{entries:?}")), (100, debug));
            assert!(entries.next().is_some());
            assert_eq!((entries.len(), entries.by_ref().count(), entries.len()), (99, 99, 0));
            assert!(entries.next().is_none());
        };
    }
    check!(ChainedMap::new());
    check!(LinearMap::new());
    check!(CuckooMap::new());
    check!(variation(2, 1, true).build(100).unwrap());
    check!(CompactedMap::new(64).unwrap());
}

#[test]
fn borrowed_keys_find_owned_ones() {
    let mut map = ChainedMap::new();
    map.try_extend([(b"ana".to_vec(), 1), (b"eva".to_vec(), 2)]).unwrap();
    *map.get_mut(&b"ana"[..]).unwrap() += 10;
    assert_eq!(map.get(&b"ana"[..]), Some(&11));
    assert!(map.contains_key(&b"eva"[..]));
    assert_eq!(map.remove(&b"eva"[..]), Some(2));
    let left: Vec<_> = (&map).into_iter().collect();
    assert_eq!(left, [(&b"ana".to_vec(), &11)]);
}

#[test]
fn the_adversarys_keys_share_a_digest_under_every_seed() {
    let keys: Vec<Vec<u8>> = murmur3_multicollision(11).collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 2048);
    for seed in [0, 1, 42, 0xdead_beef, u32::MAX] {
        let hasher = KeyHasher::murmur3(seed);
        let digest = hasher.digest(&keys[0]);
        assert!(keys.iter().all(|key| hasher.digest(key) == digest));
    }
    // The keys are Murmur3's weakness: another family tells them apart.
    let sound: HashSet<_> = keys.iter().map(|key| KeyHasher::default().digest(key)).collect();
    assert_eq!(sound.len(), 2048);
}

/// Chaining and probing merely slow down.
#[test]
fn equal_digests_make_slow_maps_and_right_answers() {
    fn check<D: Dictionary<Vec<u8>, u64>>(mut map: D) {
        let keys: Vec<Vec<u8>> = murmur3_multicollision(11).collect();
        for (value, key) in (0..).zip(&keys) {
            assert_eq!(map.insert(key.clone(), value), Ok(None));
        }
        assert_eq!(map.len(), 2048);
        for (value, key) in (0..).zip(&keys).step_by(2) {
            assert_eq!(map.remove(key), Some(value));
        }
        for (value, key) in (0..).zip(&keys) {
            let expected = (value % 2 == 1).then_some(value);
            assert_eq!(map.get(key), expected.as_ref());
        }
    }
    check(ChainedMap::with_hasher(KeyHasher::murmur3(7)));
    check(LinearMap::with_hasher(KeyHasher::murmur3(7)));
}

/// Cuckoo hashing has d·b places for one digest, and a stash. The next key is refused, whatever
/// seed and size are tried, and the map stays as it was, no larger than its load calls for.
#[test]
fn equal_digests_end_in_an_error_for_cuckoo_hashing() {
    let keys: Vec<Vec<u8>> = murmur3_multicollision(7).collect();
    for (choices, bucket_size, stash) in [(2, 8, 0), (2, 1, 3), (3, 2, 0), (4, 4, 1)] {
        let hasher = KeyHasher::murmur3(7);
        let options =
            CuckooOptions { choices, bucket_size, stash, hasher, ..CuckooOptions::default() };
        let mut map = options.build(1_000).unwrap();
        let places = choices * bucket_size + stash;
        for key in &keys[..places] {
            map.insert(key.clone(), 0).unwrap();
        }
        let (slots, bytes) = (map.slot_count(), map.size_in_bytes());
        for key in &keys[places..] {
            match map.insert(key.clone(), 0) {
                Err(InsertError::TooManyCollisions { entries, slots: tried, .. }) => {
                    assert_eq!(entries, places);
                    assert!(tried <= 2 * slots, "{tried} slots were tried for {entries} entries");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(map.len(), places);
            assert_eq!((map.slot_count(), map.size_in_bytes()), (slots, bytes));
        }
        assert!(keys[..places].iter().all(|key| map.contains_key(key)));
        assert!(keys[places..].iter().all(|key| !map.contains_key(key)));
        // Other keys still come in, and the error says what to do.
        map.insert(b"another".to_vec(), 1).unwrap();
        let error = map.insert(keys[places].clone(), 0).unwrap_err().to_string();
        assert!(error.contains("secret key"), "{error}");
    }
    // Under a secret key they are keys like any other.
    let hasher = KeyHasher::sip24(SecretKey::new([3; 16]));
    let mut map = CuckooMap::with_capacity_and_hasher(keys.len(), hasher).unwrap();
    map.try_extend(keys.into_iter().map(|key| (key, ()))).unwrap();
    assert_eq!(map.reseed_count(), 0);
}

/// The stash takes keys that find no place also where the table has reached its load: no key is
/// refused before the stash is full.
#[test]
fn no_key_is_refused_while_the_stash_has_room() {
    let keys: Vec<Vec<u8>> = murmur3_multicollision(7).collect();
    for (choices, bucket_size, stash) in [(2, 8, 64), (2, 1, 3), (3, 2, 20), (4, 4, 64)] {
        for capacity in [1, 10, 100] {
            let hasher = KeyHasher::murmur3(7);
            let options =
                CuckooOptions { choices, bucket_size, stash, hasher, ..CuckooOptions::default() };
            let mut map = options.build(capacity).unwrap();
            let mut stored = 0;
            while let Ok(previous) = map.insert(keys[stored].clone(), stored) {
                assert_eq!(previous, None);
                stored += 1;
            }
            assert_eq!(map.stash_count(), stash, "{options:?} for {capacity}");
            assert_eq!(map.len(), stored);
            for (value, key) in keys.iter().enumerate() {
                assert_eq!(map.get(key), (value < stored).then_some(&value));
            }
            // Other keys still come in, however full the stash is.
            for other in 0..200usize {
                assert_eq!(map.insert(other.to_le_bytes().to_vec(), other), Ok(None));
            }
            assert_eq!(map.len(), stored + 200);
        }
    }
}

/// A key may change inside while it is hashed. A table that is being filled reads no key before it
/// owns it: a copy that let go of its memory would leave the original without.
#[test]
fn keys_may_change_inside_while_they_are_hashed() {
    struct Restless(u64, RefCell<Box<u64>>);

    impl Key for Restless {
        fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
            drop(self.1.replace(Box::new(self.0)));
            self.0.with_bytes(use_bytes)
        }
    }

    impl PartialEq for Restless {
        fn eq(&self, other: &Self) -> bool {
            assert_eq!((**self.1.borrow(), **other.1.borrow()), (self.0, other.0));
            self.0 == other.0
        }
    }

    impl Eq for Restless {}

    fn check<D: Dictionary<Restless, u64>>(mut map: D) {
        let key = |number| Restless(number, RefCell::new(Box::new(number)));
        for number in 0..60 {
            assert_eq!(map.insert(key(number), number), Ok(None));
        }
        for number in 0..60 {
            assert_eq!(map.remove(&key(number)), Some(number));
        }
    }
    check(ChainedMap::new());
    check(LinearMap::new());
    check(CuckooMap::new());
    // Searches that give up early, and rebuilds that are given up with them.
    let eviction = Eviction::BreadthFirst { max_buckets: 4 };
    let options =
        CuckooOptions { bucket_size: 1, eviction, max_load: Some(0.5), ..CuckooOptions::default() };
    check(options.build(4).unwrap());
}

#[test]
fn compaction_has_no_false_negatives_and_the_latest_value_wins() {
    const { assert!(!<CompactedMap<u64, u64> as Dictionary<u64, u64>>::EXACT) };
    for bits in [1, 4, 8, 12, 16] {
        let mut map = CompactedMap::<u64, u64>::new(bits).unwrap();
        let mut latest = HashMap::new();
        for key in 0..5000 {
            map.insert(&key, key).unwrap();
            latest.insert(map.compress(&key), key);
        }
        for key in 0..5000 {
            assert_eq!(map.get(&key).probable(), latest.get(&map.compress(&key)), "{bits} bits");
        }
        assert_eq!(map.len(), latest.len());
    }
}

/// One lookup of an absent key in each of many freshly seeded tables: the wrong answers are
/// binomial with the FPR of theory, 1 − (1 − 2^−l)^n. The test fails by chance with probability
/// 1e-9 per cell.
///
/// The FPRs that the tables report must have that mean too. A table's entries are the occupied
/// among 2^l bins after n balls; these indicators are negatively associated, so that Hoeffding's
/// inequality holds for all of them together: P(|mean − FPR| ≥ t) ≤ 2·exp(−2·tables·2^l·t²),
/// again taken at 1e-9 per cell.
#[test]
fn compaction_has_the_fpr_of_theory() {
    const TABLES: u64 = 10_000;
    const CHANCE: f64 = 1e-9;
    for (bits, keys) in [(1, 1), (4, 10), (8, 100), (10, 300), (12, 1000)] {
        let mut wrong = 0;
        let mut stated = 0.0;
        for seed in 0..TABLES {
            let mut map = CompactedMap::with_hasher(bits, KeyHasher::xxh3(seed)).unwrap();
            map.try_extend((0..keys).map(|key| (key, ()))).unwrap();
            wrong += u64::from(map.contains_key(&u64::MAX));
            stated += map.expected_fpr() / TABLES as f64;
        }

        let fpr = -(keys as f64 * (-f64::from(bits).exp2().recip()).ln_1p()).exp_m1();
        let theory = Binomial::new(fpr, TABLES).unwrap();
        let (at_most, at_least) = (theory.cdf(wrong), theory.sf(wrong) + theory.pmf(wrong));
        assert!(
            at_most > CHANCE / 2.0 && at_least > CHANCE / 2.0,
            "{wrong} of {TABLES} wrong at an FPR of {fpr}, {bits} bits"
        );
        let indicators = TABLES as f64 * f64::from(bits).exp2();
        let deviation = ((2.0 / CHANCE).ln() / (2.0 * indicators)).sqrt();
        assert!(
            (stated - fpr).abs() < deviation,
            "{stated} reported on average, {fpr} by theory, {bits} bits"
        );
    }
}
