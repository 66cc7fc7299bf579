//! Dictionaries, what peers exchange, sketches.

use crivo::KeyHasher;
use crivo_exact::{ChainedMap, CompactedMap, CuckooMap, Dictionary, LinearMap};
use crivo_exchange::join::KeyFilter;
use crivo_exchange::{ExchangeKey, IdSet, Offer};
use crivo_sketch::admission::{AgeingSketch, SecondRequest};
use crivo_sketch::{Banding, SignatureBits, SimilarityIndex, Sketcher};

use crate::limits::Limits;
use crate::{FPR, KEYS};

pub fn all(limits: &Limits) {
    maps(limits);
    compacted(limits);
    exchange(limits);
    sketches(limits);
}

fn maps(limits: &Limits) {
    let capacity = KEYS as usize;
    let with = |()| Ok(ChainedMap::<u64, u64>::with_capacity(capacity).map(drop)?);
    limits.raise_from_failure("new chained map", || (), with);
    let with = |()| Ok(LinearMap::<u64, u64>::with_capacity(capacity).map(drop)?);
    limits.raise_from_failure("new linear map", || (), with);
    let with = |()| Ok(CuckooMap::<u64, u64>::with_capacity(capacity).map(drop)?);
    limits.raise_from_failure("new cuckoo map", || (), with);
    growing(limits, "chained", ChainedMap::new());
    growing(limits, "linear", LinearMap::new());
    growing(limits, "cuckoo", CuckooMap::new());
}

/// A map that has to grow, and cannot, is as it was.
fn growing<D: Dictionary<u64, u64> + Clone>(limits: &Limits, name: &str, mut map: D) {
    for key in 0..KEYS / 4 {
        map.insert(key, !key).unwrap();
    }
    let extend = |mut map: D| {
        let mut inserted = KEYS / 4;
        let result = (KEYS / 4..KEYS).try_for_each(|key| {
            map.insert(key, !key)?;
            inserted += 1;
            Ok(())
        });
        assert_eq!(map.len() as u64, inserted);
        assert!((0..inserted).all(|key| map.get(&key) == Some(&!key)));
        assert!((inserted..KEYS).all(|key| map.get(&key).is_none()));
        result
    };
    limits.raise_from_failure(&format!("growth of a {name} map"), || map.clone(), extend);
}

fn compacted(limits: &Limits) {
    let with = |()| Ok(CompactedMap::<u64, u64>::with_capacity(40, KEYS as usize).map(drop)?);
    limits.raise_from_failure("new compacted map", || (), with);
    let extend = |()| {
        let mut map = CompactedMap::<u64, u64>::new(40)?;
        for key in 0..KEYS {
            if let Err(error) = map.insert(&key, key) {
                assert_eq!(map.len() as u64, key);
                return Err(error.into());
            }
        }
        Ok(())
    };
    limits.raise_from_failure("growth of a compacted map", || (), extend);
}

fn exchange(limits: &Limits) {
    let key = ExchangeKey::new([7; 16]);
    let set = IdSet::of_items(key, (0..KEYS).map(u64::to_le_bytes));
    let offer = |()| {
        let mut offer = Offer::new(&set, 16, 0)?;
        while offer.next_message(&set)?.is_some() {}
        Ok(())
    };
    limits.raise_from_failure("offer", || (), offer);

    let new = || KeyFilter::new(KEYS, FPR, KeyHasher::default());
    limits.raise_from_failure("new join filter", || (), |()| Ok(new().map(drop)?));
    let mut filter = new().unwrap();
    (0..KEYS).for_each(|key| filter.insert(&key));
    let bytes = filter.to_bytes();
    let read = |()| {
        let mut read = KeyFilter::from_bytes(&bytes)?;
        read.union_with(&filter)?;
        assert!((0..KEYS).all(|key| read.may_contain(&key)));
        Ok(())
    };
    limits.raise_from_failure("join filter from bytes", || (), read);
}

fn sketches(limits: &Limits) {
    let new = |()| Ok(AgeingSketch::new(KEYS).map(drop)?);
    limits.raise_from_failure("new ageing sketch", || (), new);
    let new = |()| Ok(SecondRequest::new(KEYS, FPR).map(drop)?);
    limits.raise_from_failure("new second-request admission", || (), new);

    let sketcher = Sketcher::one_permutation(128).unwrap();
    let bits = SignatureBits::new(64).unwrap();
    let banding = Banding::new(16, 8).unwrap();
    let mut index = SimilarityIndex::with_bits(sketcher, bits, banding).unwrap();
    for id in 0..1_000 {
        index.insert(id, &sketcher.sketch_keys(50 * id..50 * id + 60).unwrap()).unwrap();
    }
    let bytes = index.to_bytes();
    let read = |()| {
        assert!(SimilarityIndex::from_bytes(&bytes)? == index);
        Ok(())
    };
    limits.raise_from_failure("similarity index from bytes", || (), read);
}
