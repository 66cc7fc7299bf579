//! Files that were written once and must be readable forever: `tests/golden/*.crivo`.

use std::fs;
use std::path::{Path, PathBuf};

use crivo::KeyHasher;
use crivo::codec::{Header, Metadata, Persist};
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

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Each index in both versions of the format.
#[test]
fn every_file_is_read_and_answers_as_it_did() {
    for (name, form, bits, pairs) in [
        ("similarity-classic.crivo", Form::Classic, 64, 47),
        ("similarity-bins-4-bits.crivo", Form::OnePermutation, 4, 48),
    ] {
        let bytes = fs::read(directory().join(name)).unwrap();
        let index = SimilarityIndex::from_bytes(&bytes).unwrap();
        assert_eq!(Header::from_bytes(&bytes).unwrap().version(), 1);
        assert_eq!(index.pairs().count(), pairs, "{name}");
        assert_eq!(index, recipe(form, bits), "{name}");

        let mut index = index;
        index.metadata_mut().set(Metadata::KEY_ENCODING, "u64").unwrap();
        let newer = format!("v2-{name}");
        let path = directory().join(&newer);
        let bytes = fs::read(path).unwrap();
        assert_eq!(SimilarityIndex::from_bytes(&bytes).unwrap(), index, "{newer}");
        assert!(index.to_bytes() == bytes, "{newer} is written otherwise than it is read");
    }
}
