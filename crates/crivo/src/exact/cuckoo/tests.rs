//! Cuckoo hashing beyond what every dictionary is tested for.

use super::*;

#[test]
fn fills_to_95_per_cent_without_growing() {
    for n in [100, 1_000, 100_000] {
        let mut map = CuckooMap::with_capacity(n).unwrap();
        let slots = map.slot_count();
        for key in 0..n as u64 {
            map.insert(key, !key).unwrap();
        }
        assert_eq!((map.slot_count(), map.reseed_count()), (slots, 0));
        assert!((0..n as u64).all(|key| map.get(&key) == Some(&!key)));
        assert!((n as u64..2 * n as u64).all(|key| !map.contains(&key)));
    }
}
