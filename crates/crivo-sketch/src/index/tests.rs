use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use super::*;
use crate::Form;
use crivo::KeyHasher;
use crivo::codec::{Content, DecodeError, FileKind, Header, LoadOptions, Metadata, Persist};
use crivo::filter::AnyFilter;
use crivo::hash::SecretKey;

fn bits(number: u32) -> SignatureBits {
    SignatureBits::new(number).unwrap()
}

/// An index with `count` entries, neighbours of which are similar.
fn filled(form: Form, width: u32, count: u64) -> SimilarityIndex {
    let sketcher = Sketcher::with_hasher(form, 33, KeyHasher::xxh3(42)).unwrap();
    let banding = Banding::new(8, 4).unwrap();
    let mut index = SimilarityIndex::with_bits(sketcher, bits(width), banding).unwrap();
    for id in 0..count {
        let signature = sketcher.sketch_keys(10 * id..10 * id + 100).unwrap();
        index.insert(id, &signature.shortened(bits(width)).unwrap()).unwrap();
    }
    index
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn what_is_written_is_read() {
    for form in Form::ALL {
        for width in [2, 8, 64] {
            for count in [0, 1, 50] {
                let index = filled(form, width, count);
                let bytes = index.to_bytes();
                let read = SimilarityIndex::from_bytes(&bytes).unwrap();
                assert_eq!(read, index);
                assert!(read.to_bytes() == bytes);
                assert!(read.pairs().eq(index.pairs()));
                assert!(count < 2 || index.pairs().count() > 0);
            }
        }
    }
}

#[test]
fn history_does_not_show() {
    let index = filled(Form::Classic, 64, 20);
    let mut other = SimilarityIndex::new(index.sketcher(), index.banding()).unwrap();
    for id in (0..20).rev() {
        other.insert(id + 100, &index.get(id).unwrap()).unwrap();
        other.insert(id, &index.get(id).unwrap()).unwrap();
        assert_eq!(other.remove(id + 100), index.get(id));
    }
    assert_eq!(other, index);
    assert!(other.to_bytes() == index.to_bytes());
}

#[test]
fn a_failed_insertion_changes_nothing() {
    let mut index = filled(Form::Classic, 64, 3);
    let before = index.clone();
    let signature = index.get(1).unwrap();
    assert_eq!(index.insert(2, &signature), Err(IndexError::Taken(2)));
    let short = signature.shortened(bits(8)).unwrap();
    let mismatch = SketchMismatch::Bits(8, 64);
    assert_eq!(index.insert(9, &short), Err(IndexError::Mismatch(mismatch)));
    assert_eq!(index.query(&short), Err(mismatch));
    assert_eq!(index.query_ranked(&short), Err(mismatch));
    assert_eq!(index, before);
    assert_eq!(index.remove(77), None);
}

#[test]
fn the_most_similar_come_first() {
    let index = filled(Form::Classic, 64, 50);
    let found = index.query_ranked(&index.get(20).unwrap()).unwrap();
    assert_eq!((found[0].id, found[0].estimate.jaccard), (20, 1.0));
    assert!(found.is_sorted_by(|a, b| a.estimate.jaccard >= b.estimate.jaccard));
    let mut ids: Vec<u64> = found.iter().map(|similar| similar.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, index.query(&index.get(20).unwrap()).unwrap());
}

#[test]
fn impossible_bands_are_refused() {
    let sketcher = Sketcher::classic(16).unwrap();
    let parameter = |bands, rows, width| {
        let banding = Banding::new(bands, rows).unwrap();
        SimilarityIndex::with_bits(sketcher, bits(width), banding).unwrap_err().parameter
    };
    assert_eq!(parameter(17, 1, 64), "bands × rows");
    assert_eq!(parameter(2, 7, 1), "bits of a band");
}

#[test]
fn a_secret_key_is_asked_for() {
    let key = SecretKey::new([7; 16]);
    let sketcher = Sketcher::with_hasher(Form::Classic, 4, KeyHasher::sip24(key)).unwrap();
    let mut index = SimilarityIndex::new(sketcher, Banding::new(2, 2).unwrap()).unwrap();
    index.insert(1, &sketcher.sketch_keys(["ana"]).unwrap()).unwrap();
    let bytes = index.to_bytes();
    assert_eq!(SimilarityIndex::from_bytes(&bytes), Err(DecodeError::KeyNeeded));
    let options = LoadOptions::new().secret_key(key);
    assert_eq!(options.from_bytes::<SimilarityIndex>(&bytes), Ok(index));
}

#[test]
fn an_index_is_no_filter_and_a_filter_no_index() {
    let bytes = filled(Form::Classic, 64, 3).to_bytes();
    let header = Header::from_bytes(&bytes).unwrap();
    assert_eq!((header.kind(), header.filter_kind()), (SimilarityIndex::FILE_KIND, None));
    let error = AnyFilter::from_bytes(&bytes).unwrap_err();
    assert_eq!(error, DecodeError::NotAFilter(FileKind::unnamed(8)));
    let filter = crivo::filter::Bloom::new(10, 0.1).unwrap().to_bytes();
    assert_eq!(
        SimilarityIndex::from_bytes(&filter).unwrap_err().to_string(),
        "this is a bloom filter, not a similarity index"
    );
}

#[cfg(feature = "serde")]
#[test]
fn it_goes_through_serde() {
    let index = filled(Form::OnePermutation, 8, 5);
    let json = serde_json::to_string(&index).unwrap();
    assert_eq!(serde_json::from_str::<SimilarityIndex>(&json).unwrap(), index);
}

/// Two bands of one entry with the same values: each has its own chain.
#[test]
fn bands_with_equal_values_are_kept_apart() {
    let sketcher = Sketcher::one_permutation(8).unwrap();
    let mut index = SimilarityIndex::new(sketcher, Banding::new(4, 2).unwrap()).unwrap();
    // A single element fills every bin.
    for id in 0..3 {
        index.insert(id, &sketcher.sketch_keys(["ana"]).unwrap()).unwrap();
    }
    assert_eq!(index.query(&index.get(0).unwrap()), Ok(vec![0, 1, 2]));
    index.remove(1);
    assert_eq!(index.query(&index.get(0).unwrap()), Ok(vec![0, 2]));
}

/// Parts of a file, right in all that checksums protect.
fn decode(parameters: &[u64], key_count: u64, payload: &[u64]) -> Result<(), DecodeError> {
    let layout = SimilarityIndex::parse(SimilarityIndex::FILE_KIND, parameters)?;
    let length = SimilarityIndex::payload_length(&layout);
    if length != payload.len() as u64 {
        let (expected, found) = (length.saturating_mul(8), 8 * payload.len() as u64);
        return Err(DecodeError::PayloadLength { expected, found });
    }
    let content = Content {
        version: 2,
        hasher: KeyHasher::default(),
        key_count,
        metadata: Metadata::new(),
        payload: crivo_core::Words::copied(payload)?,
    };
    SimilarityIndex::from_content(layout, content).map(|_| ())
}

#[test]
fn hostile_parts_are_typed_errors() {
    // Two entries of three values of 16 bits, in one band.
    let good = [1, 3, 16, 1, 3, 2];
    let payload = [5, 0x3333_2222_1111, 9, 0x6666_5555_4444];
    assert_eq!(decode(&good, 2, &payload), Ok(()));
    let inconsistent = |result| assert!(matches!(result, Err(DecodeError::Inconsistent(_))));
    inconsistent(decode(&good, 3, &payload));
    inconsistent(decode(&good[..5], 2, &payload));
    inconsistent(decode(&[3, 3, 16, 1, 3, 2], 2, &payload));
    inconsistent(decode(&good, 2, &[9, 0, 5, 0]));
    inconsistent(decode(&good, 2, &[5, 0, 5, 0]));
    inconsistent(decode(&good, 2, &[5, 0, 9, 1 << 48]));
    for (place, bad) in [(1, 0), (1, 5_000), (1, 1 << 32), (2, 3), (2, 128), (3, 0), (3, 2), (4, 0)]
    {
        let mut parameters = good;
        parameters[place] = bad;
        let result = decode(&parameters, 2, &payload);
        assert!(matches!(result, Err(DecodeError::Parameter(_))), "{place} {bad}: {result:?}");
    }
    // Claims of any size are seen before memory is asked for.
    let huge = decode(&[1, 4_096, 64, 1, 1, u64::MAX], u64::MAX, &payload);
    assert!(matches!(huge, Err(DecodeError::Parameter(_))), "{huge:?}");
    let large = decode(&[1, 3, 16, 1, 3, 1 << 60], 1 << 60, &payload);
    assert!(matches!(large, Err(DecodeError::PayloadLength { .. })), "{large:?}");
}

#[test]
fn every_changed_byte_is_noticed() {
    let bytes = filled(Form::OnePermutation, 8, 3).to_bytes();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(SimilarityIndex::from_bytes(&changed).is_err(), "byte {at}");
        assert!(SimilarityIndex::from_bytes(&bytes[..at]).is_err(), "only {at} bytes");
    }
}

proptest! {
    /// Insertions, removals and queries beside a plain list that compares all with all.
    #[test]
    fn it_answers_as_a_comparison_with_all(
        steps in prop::collection::vec((0u64..12, 0u64..40, 1u64..12, any::<bool>()), 1..60),
        one_permutation: bool,
        width in prop::sample::select(vec![4u32, 16, 64]),
    ) {
        let form = if one_permutation { Form::OnePermutation } else { Form::Classic };
        let sketcher = Sketcher::with_hasher(form, 9, KeyHasher::default()).unwrap();
        let banding = Banding::new(4, 2).unwrap();
        let mut index = SimilarityIndex::with_bits(sketcher, bits(width), banding).unwrap();
        let mut list: BTreeMap<u64, Signature> = BTreeMap::new();
        for (id, first, count, removes) in steps {
            let whole = sketcher.sketch_keys(first..first + count).unwrap();
            let signature = whole.shortened(bits(width)).unwrap();
            if removes {
                prop_assert_eq!(index.remove(id), list.remove(&id));
            } else if let Entry::Vacant(vacant) = list.entry(id) {
                index.insert(id, &signature).unwrap();
                vacant.insert(signature.clone());
            } else {
                prop_assert_eq!(index.insert(id, &signature), Err(IndexError::Taken(id)));
            }
            let shares = |(_, other): &(&u64, &Signature)| banding.share_a_band(&signature, other);
            let expected: Vec<u64> = list.iter().filter(shares).map(|(&id, _)| id).collect();
            prop_assert_eq!(index.query(&signature).unwrap(), expected);
        }
        prop_assert!(index.ids().eq(list.keys().copied()));
        let mut pairs = Vec::new();
        for (&one, signature) in &list {
            for (&other, theirs) in list.range(one + 1..) {
                if banding.share_a_band(signature, theirs) {
                    pairs.push((one, other));
                }
            }
        }
        prop_assert_eq!(index.pairs().collect::<Vec<_>>(), pairs);
        prop_assert_eq!(SimilarityIndex::from_bytes(&index.to_bytes()).unwrap(), index);
    }

    #[test]
    fn any_parts_are_an_index_or_an_error(
        parameters in prop::collection::vec(0u64..20, 0..8),
        payload in prop::collection::vec(any::<u64>(), 0..30),
        key_count in 0u64..10,
    ) {
        let _ = decode(&parameters, key_count, &payload);
    }
}
