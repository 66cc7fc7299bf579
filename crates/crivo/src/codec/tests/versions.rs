//! Metadata, and files of the first version.

use super::*;
use crate::filter::{OperationError, RebuildError, Spec};

fn entries(metadata: &Metadata) -> Vec<(&str, &str)> {
    metadata.iter().collect()
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn metadata_is_read_as_it_was_written() {
    let directory = TestDirectory::new("metadata");
    let path = directory.file("filter.crivo");
    let mut filter = filled(16, KeyHasher::xxh3(42));
    filter.metadata_mut().set("field", "e-mail").unwrap();
    filter.metadata_mut().set("délimiteur", "\t\0").unwrap();
    filter.save(&path).unwrap();
    let expected = [("délimiteur", "\t\0"), ("field", "e-mail")];
    assert_eq!(entries(Header::load(&path).unwrap().metadata()), expected);
    assert_eq!(entries(verify(&path).unwrap().metadata()), expected);
    let loaded = decode(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(entries(loaded.metadata()), expected);
    assert_eq!(loaded, filter);
    // It is part of what a filter is.
    assert_ne!(filled(16, KeyHasher::xxh3(42)), filter);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_changed_byte_of_metadata_is_noticed() {
    let mut filter = filled(16, KeyHasher::xxh3(42));
    filter.metadata_mut().set("field", "e-mail").unwrap();
    let bytes = filter.to_bytes();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(decode(&changed).is_err(), "byte {at}");
        assert!(decode(&bytes[..at]).is_err(), "only {at} bytes");
    }
}

#[test]
fn metadata_that_cannot_be_is_an_error() {
    let mut filter = filled(16, KeyHasher::xxh3(42));
    filter.metadata_mut().set("field", "e-mail").unwrap();
    let bytes = filter.to_bytes();
    for claimed in [Metadata::MAX_BYTES as u32 + 1, u32::MAX] {
        let lying = forged(&bytes, 48, &claimed.to_le_bytes());
        assert!(matches!(decode(&lying), Err(DecodeError::Inconsistent(_))), "{claimed}");
    }
    let lying = forged(&bytes, 48, &(Metadata::MAX_BYTES as u32).to_le_bytes());
    assert!(matches!(decode(&lying), Err(DecodeError::Truncated { .. })));
    let lying = forged(&bytes, 65, &[0xff]);
    assert!(matches!(decode(&lying), Err(DecodeError::Inconsistent(_))), "no text");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_file_of_version_1_is_read_and_written_as_version_2() {
    let old = small_in_version_1();
    let header = Header::from_bytes(&old).unwrap();
    assert_eq!((header.version(), header.metadata()), (1, &Metadata::new()));
    assert_eq!(header.header_checksum(), xxh3_64(&old[..56]));
    assert_eq!(header.file_length(), old.len() as u64);
    let filter = decode(&old).unwrap();
    assert_eq!(filter.to_bytes(), small());
    assert_eq!(filter.hasher(), KeyHasher::xxh3(42));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn an_unverified_copy_is_read_all_the_same() {
    let directory = TestDirectory::new("unverified");
    let path = directory.file("filter.crivo");
    let mut bytes = small();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let lenient = LoadOptions::new().verify(false);
    let filter: Mock = lenient.from_bytes(&bytes).unwrap();
    assert_eq!(lenient.load::<Mock>(&path).unwrap(), filter);
    assert_eq!(lenient.read_from::<Mock>(&bytes[..]).unwrap(), filter);
    assert_eq!(of(LoadOptions::new().load::<Mock>(&path)), DecodeError::PayloadChecksum);
    // The header is verified in any case.
    bytes[24] ^= 1;
    assert_eq!(lenient.from_bytes::<Mock>(&bytes), Err(DecodeError::HeaderChecksum));
}

/// A filter of this kind with two keys.
fn filter_of(kind: Kind) -> AnyFilter {
    let hasher = KeyHasher::default();
    let digests = ["ana", "rui"].map(|key| hasher.digest(key));
    Spec::for_fpr(kind, 100, 0.01).unwrap().build_from(digests.to_vec(), hasher).unwrap()
}

/// Filters that can be merged.
fn mergeable() -> impl Iterator<Item = AnyFilter> {
    let is_mergeable = |kind: &Kind| kind.capabilities().merge || *kind == Kind::Cuckoo;
    Kind::ALL.into_iter().filter(is_mergeable).map(filter_of)
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn unknown_metadata_survives_a_union() {
    for filter in mergeable() {
        let (mut ours, mut theirs) = (filter.clone(), filter);
        ours.metadata_mut().set("a", "1").unwrap();
        ours.metadata_mut().set("b", "2").unwrap();
        theirs.metadata_mut().set("b", "3").unwrap();
        theirs.metadata_mut().set(Metadata::KEY_ENCODING, "utf8").unwrap();
        ours.union_with(&theirs).unwrap();
        let expected = [("a", "1"), ("b", "2"), ("key-encoding", "utf8")];
        assert_eq!(entries(ours.metadata()), expected, "{}", ours.kind());
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn keys_that_were_made_in_different_ways_are_not_merged() {
    for filter in mergeable() {
        let (mut ours, mut theirs) = (filter.clone(), filter);
        ours.metadata_mut().set(Metadata::KEY_ENCODING, "utf8").unwrap();
        theirs.metadata_mut().set(Metadata::KEY_ENCODING, "u64").unwrap();
        let before = ours.to_bytes();
        let Err(OperationError::Rebuild(RebuildError::Incompatible(error))) =
            ours.union_with(&theirs)
        else {
            panic!()
        };
        assert_eq!(
            (error.parameter, &*error.ours, &*error.theirs),
            ("key-encoding", "utf8", "u64")
        );
        assert!(ours.to_bytes() == before, "{}", ours.kind());
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn keys_that_were_changed_in_different_ways_are_not_merged() {
    for (name, ours_says, theirs_says, can_merge) in [
        ("ignore-case", Some("true"), None, false),
        ("ignore-case", Some("false"), None, true),
        ("trim", Some("false"), Some("true"), false),
        ("cr", Some("keep"), Some("strip"), false),
        ("cr", Some("strip"), None, true),
        ("field", Some("1"), Some("2"), true),
    ] {
        let (mut ours, mut theirs) = (filter_of(Kind::Bloom), filter_of(Kind::Bloom));
        for (filter, value) in [(&mut ours, ours_says), (&mut theirs, theirs_says)] {
            if let Some(value) = value {
                filter.metadata_mut().set(name, value).unwrap();
            }
        }
        assert_eq!(ours.clone().union_with(&theirs).is_ok(), can_merge, "{name}");
        assert_eq!(theirs.union_with(&ours).is_ok(), can_merge, "{name}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn metadata_survives_every_change_of_a_filter() {
    let with_entry = |mut filter: AnyFilter| {
        filter.metadata_mut().set("a", "1").unwrap();
        AnyFilter::from_bytes(&filter.to_bytes()).unwrap()
    };
    for kind in Kind::ALL.into_iter().filter(|kind| kind.capabilities().insert) {
        let mut filter = with_entry(filter_of(kind));
        filter.insert("eva").unwrap();
        let loaded = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
        assert!(loaded.contains("eva"));
        assert_eq!(loaded.metadata().get("a"), Some("1"), "{}", loaded.kind());
    }
    let fuse = with_entry(filter_of(Kind::Fuse));
    assert_eq!(fuse.metadata().get("a"), Some("1"));
    let AnyFilter::Quotient(mut quotient) = with_entry(filter_of(Kind::Quotient)) else { panic!() };
    quotient.expand().unwrap();
    assert_eq!(quotient.metadata().get("a"), Some("1"));
    let AnyFilter::Bloom(bloom) = with_entry(filter_of(Kind::Bloom)) else { panic!() };
    let shared = crate::filter::AtomicBloom::from(bloom.clone());
    assert_eq!(shared.into_filter(), bloom);
}

/// The bytes of a file of this version with a bit of its payload changed, and right checksums.
fn with_changed_payload(filter: &AnyFilter, version: u16, word: usize, bit: u32) -> Vec<u8> {
    let bytes = filter.to_bytes();
    let header = filter.header();
    let mut payload = bytes[header.payload_offset() as usize..].to_vec();
    payload[8 * word + bit as usize / 8] ^= 1 << (bit % 8);
    let header = Header { version, payload_checksum: xxh3_64(&payload), ..header };
    [header.to_bytes(), payload].concat()
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn padding_of_a_payload_is_zero() {
    let [counting, cuckoo, quotient, fuse] =
        [Kind::Counting, Kind::Cuckoo, Kind::Quotient, Kind::Fuse].map(filter_of);
    let last = |filter: &AnyFilter| (filter.size_in_bits() / 64) as usize - 1;
    // Its quotients end within the second of three blocks of 64 slots.
    let &[slots, remainder_bits] = quotient.header().parameters() else { panic!() };
    assert!((65..128).contains(&slots));
    let block = 2 + remainder_bits as usize;
    for (filter, word, bit, since) in [
        (&counting, last(&counting), 63, 1),
        (&cuckoo, last(&cuckoo), 0, 1),
        (&cuckoo, last(&cuckoo) - 1, 63, 1),
        (&fuse, last(&fuse), 63, 2),
        (&quotient, last(&quotient), 63, 2),
        (&quotient, block, slots as u32 % 64, 2),
        (&quotient, 2 * block, 0, 2),
    ] {
        for version in [1, 2] {
            let read = AnyFilter::from_bytes(&with_changed_payload(filter, version, word, bit));
            match read {
                Err(DecodeError::Inconsistent(_)) => assert!(version >= since),
                // What was allowed there is gone when it is written again.
                Ok(read) => {
                    assert!(version < since, "{}, word {word}", filter.kind());
                    assert!(read.to_bytes() == filter.to_bytes());
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
