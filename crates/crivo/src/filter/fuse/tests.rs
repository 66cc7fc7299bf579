use super::*;
use crate::theory::fuse::layout;

fn digests(range: std::ops::Range<u64>) -> Vec<Digest> {
    let hasher = KeyHasher::default();
    range.map(|key| hasher.digest(&key)).collect()
}

#[test]
fn every_key_is_found_whatever_their_number() {
    for arity in [Arity::Three, Arity::Four] {
        for n in (0..2_000).chain([100_000, 1_000_000]) {
            let keys = digests(0..n);
            let options = FuseOptions { arity: Some(arity), ..FuseOptions::default() };
            let filter = options.build_digests(keys.clone()).unwrap();
            assert_eq!(filter.key_count(), n);
            assert!(keys.iter().all(|&key| filter.contains_digest(key)), "{arity:?} {n}");
            let _ = layout(n.max(1), arity);
        }
    }
}
