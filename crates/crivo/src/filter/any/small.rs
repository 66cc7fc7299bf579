//! Every kind, so small that Miri ends: the operations against an exact multiset.
//!
//! The suite in `tests/filters.rs` says more of each, on more keys. These filters have given dimensions, and
//! are asked for no rate: theory takes an interpreter longer than the filters do.

use std::collections::HashMap;

use super::*;
use crate::filter::*;
use crate::theory::fuse::Arity;

const KEYS: u64 = if cfg!(miri) { 12 } else { 40 };

fn digests(hasher: KeyHasher, keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(|key| hasher.digest(&key)).collect()
}

fn finds(filter: &AnyFilter, keys: &[Digest]) -> bool {
    let mut hits = vec![false; keys.len()];
    filter.contains_batch(keys, &mut hits);
    keys.iter().for_each(|&key| filter.prefetch_digest(key));
    let single: Vec<bool> = keys.iter().map(|&key| filter.contains_digest(key)).collect();
    assert_eq!(hits, single, "a batch answers like single questions");
    hits.into_iter().all(|hit| hit)
}

/// A trip through bytes and a stream changes nothing.
fn written_and_read(filter: &AnyFilter) -> AnyFilter {
    let bytes = filter.to_bytes();
    let mut stream = Vec::new();
    filter.write_to(&mut stream).unwrap();
    assert_eq!(stream, bytes);
    let read = AnyFilter::from_bytes(&bytes).unwrap();
    assert_eq!(read, *filter);
    assert_eq!(AnyFilter::read_from(&bytes[..]).unwrap(), *filter);
    read
}

fn try_kind(spec: Spec) {
    let hasher = KeyHasher::xxh3(7);
    let (keys, others) = (digests(hasher, 0..KEYS), digests(hasher, KEYS..3 * KEYS));
    if !spec.kind().capabilities().insert {
        let filter = spec.build_from(keys.clone(), hasher).unwrap();
        assert!(finds(&filter, &keys));
        finds(&filter, &others);
        assert!(finds(&written_and_read(&filter), &keys));
        return;
    }
    let mut filter = spec.build(hasher).unwrap();
    let mut copies: HashMap<Digest, u64> = HashMap::new();
    // Some keys come twice.
    for &key in keys.iter().chain(&keys[..3]) {
        if filter.insert_digest(key).is_ok() {
            *copies.entry(key).or_default() += 1;
        }
    }
    let held = |copies: &HashMap<Digest, u64>| copies.keys().copied().collect::<Vec<_>>();
    assert_eq!(filter.key_count(), copies.values().sum::<u64>());
    assert!(finds(&filter, &held(&copies)));
    finds(&filter, &others);
    filter = written_and_read(&filter);

    if spec.kind().capabilities().remove {
        for &key in &keys[..KEYS as usize / 2] {
            if let Some(count) = copies.get_mut(&key) {
                filter.remove_digest(key).unwrap();
                *count -= 1;
            }
        }
        copies.retain(|_, count| *count > 0);
        assert!(finds(&filter, &held(&copies)));
        for &key in &others {
            // A false positive would take another key's copy.
            if !filter.contains_digest(key) {
                assert!(filter.remove_digest(key).is_err());
            }
        }
    }
    let mut other = spec.build(hasher).unwrap();
    let batch = &others[..KEYS as usize / 4];
    if other.insert_batch(batch).is_ok() {
        assert!(finds(&other, batch));
    }
    let before = filter.clone();
    match filter.union_with(&other) {
        Ok(()) => assert!(finds(&filter, &held(&copies)) && finds(&filter, batch)),
        Err(_) => assert_eq!(filter, before, "a failed union changes nothing"),
    }
    filter = before.clone();
    match filter.intersect_with(&before) {
        Ok(()) => assert!(finds(&filter, &held(&copies))),
        Err(_) => assert_eq!(filter, before),
    }
    if filter.clear().is_ok() {
        assert!(filter.is_empty() && held(&copies).iter().all(|&key| !filter.contains_digest(key)));
    }
}

/// Several dimensions of each kind, so that fields cross words, and tables have one block and more.
macro_rules! small {
    ($($name:ident: $($spec:expr),+;)*) => {
        $(
            #[test]
            fn $name() {
                $(try_kind($spec.unwrap().into());)+
            }
        )*
    };
}

small! {
    bloom: BloomSpec::with_size(64, 1), BloomSpec::with_size(1_001, 5);
    blocked: BlockedSpec::with_size(1, 3), BlockedSpec::with_size(3, 9);
    split_block: SplitBlockSpec::with_size(1), SplitBlockSpec::with_size(5);
    counting_4: CountingSpec::with_size(401, 3);
    blocked_counting_4: BlockedCountingSpec::with_size(1, 3), BlockedCountingSpec::with_size(3, 9);
    blocked_counting_8: BlockedCountingSpec::with_size(2, 4)
        .and_then(|spec| spec.with_width(CounterWidth::Eight));
    counting_8: CountingSpec::with_size(77, 4).and_then(|spec| spec.with_width(CounterWidth::Eight));
    cuckoo: CuckooSpec::with_fingerprint_bits(KEYS, 5), CuckooSpec::with_fingerprint_bits(KEYS, 31);
    quotient: QuotientSpec::with_remainder_bits(KEYS, 1), QuotientSpec::with_remainder_bits(KEYS, 29);
    fuse_3: FuseSpec::with_width(KEYS, 5), FuseSpec::with_width(KEYS, 31);
    fuse_4: FuseSpec::with_width(KEYS, 13).and_then(|spec| spec.with_arity(Arity::Four));
    sharded_fuse: ShardedFuseSpec::with_width(KEYS, 7),
        ShardedFuseSpec::with_width(KEYS, 8).and_then(|spec| spec.with_shards(4));
    growing: Spec::for_fpr(Kind::Growing, 8, 0.1);
    growing_blocked: Spec::for_fpr(Kind::GrowingBlocked, 8, 0.1);
}

/// Digests beside the borders between blocks, buckets and words: whoever computes one of them in two ways
/// finds out here where they differ.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn digests_at_borders_are_found() {
    for kind in Kind::ALL {
        if !kind.capabilities().insert {
            continue;
        }
        let spec = Spec::for_fpr(kind, 20_000, 0.01).unwrap();
        let mut filter = spec.build(KeyHasher::default()).unwrap();
        let bits = filter.size_in_bits();
        for count in [64, 128, 256, 512, 1024].map(|block| bits / block) {
            let border = |block: u64| (u128::from(block) << 64).div_ceil(count.into()) as u64;
            let borders: Vec<Digest> = (1..count.min(600))
                .flat_map(|block| {
                    let border = border(block);
                    // Of 64 bits, and of the upper half.
                    [border, border - 1, border >> 32 << 32, (border >> 32 << 32) - 1]
                })
                .map(Digest::new)
                .collect();
            let mut insert = |key: &Digest| filter.insert_digest(*key).is_ok();
            let inserted: Vec<Digest> = borders.into_iter().filter(|key| insert(key)).collect();
            assert!(finds(&filter, &inserted), "{kind}");
        }
    }
}
