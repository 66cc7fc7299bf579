//! Files that were written once and must be readable forever: `tests/golden/*.crivo`.

use std::fs;
use std::path::Path;

use crivo::KeyHasher;
use crivo::codec::Save;
use crivo_sketch::{Banding, Form, SignatureBits, SimilarityIndex, Sketcher};

/// The index that each file holds: entry i has the keys from 10·i to 10·i + 99.
fn recipe(form: Form, bits: u32) -> SimilarityIndex {
    let sketcher = Sketcher::with_hasher(form, 20, KeyHasher::xxh3(42)).unwrap();
    let bits = SignatureBits::new(bits).unwrap();
    let banding = Banding::new(6, 3).unwrap();
    let mut index = SimilarityIndex::with_bits(sketcher, bits, banding).unwrap();
    for id in 0..20u64 {
        let signature = sketcher.sketch_keys(10 * id..10 * id + 100).unwrap();
        index.insert(id, &signature.shortened(bits).unwrap()).unwrap();
    }
    index
}

#[test]
fn every_file_is_read_and_answers_as_it_did() {
    for (name, form, bits, pairs) in [
        ("similarity-classic.crivo", Form::Classic, 64, 47),
        ("similarity-bins-4-bits.crivo", Form::OnePermutation, 4, 48),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let bytes = fs::read(path).unwrap();
        let index = SimilarityIndex::from_bytes(&bytes).unwrap();
        assert_eq!(index.pairs().count(), pairs, "{name}");
        assert_eq!(index.to_bytes(), recipe(form, bits).to_bytes(), "{name}");
    }
}
