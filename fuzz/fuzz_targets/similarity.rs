//! Random insertions, removals and reloads of a similarity index beside a map that knows the truth:
//! candidates are exactly the entries that share a band.

#![no_main]

use std::collections::BTreeMap;

use crivo_sketch::{Banding, Signature, SignatureBits, SimilarityIndex, Sketcher};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&[shape, width], steps)) = input.split_first_chunk() else { return };
    let bits = SignatureBits::new(1 << (width % 7)).unwrap();
    let rows = 8u32.div_ceil(bits.get());
    let banding = Banding::new(1 + u32::from(shape % 5), rows).unwrap();
    let sketcher =
        Sketcher::one_permutation(banding.value_count() + u32::from(shape / 128)).unwrap();
    let mut index = SimilarityIndex::with_bits(sketcher, bits, banding).unwrap();
    let mut entries: BTreeMap<u64, Signature> = BTreeMap::new();
    for &[step, id, first] in steps.as_chunks().0 {
        let id = u64::from(id % 32);
        let set = [first, first / 2, step / 16];
        let signature = sketcher.sketch_keys(set).unwrap().shortened(bits).unwrap();
        match step % 8 {
            0..4 => {
                let is_new = index.insert(id, &signature).is_ok();
                assert_eq!(is_new, !entries.contains_key(&id));
                entries.entry(id).or_insert(signature);
            }
            4..6 => assert_eq!(index.remove(id), entries.remove(&id)),
            6 => {
                let bytes = index.to_bytes();
                index = SimilarityIndex::from_bytes(&bytes).expect("it was just written");
                assert_eq!(index.to_bytes(), bytes);
            }
            _ => {
                let shares = |other: &&u64| banding.share_a_band(&signature, &entries[*other]);
                let expected: Vec<u64> = entries.keys().filter(shares).copied().collect();
                assert_eq!(index.query(&signature), Ok(expected));
            }
        }
        assert_eq!(index.entry_count(), entries.len());
    }
    assert!(index.ids().eq(entries.keys().copied()));
});
