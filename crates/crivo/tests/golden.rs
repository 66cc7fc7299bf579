//! Files that were written once and must be read forever: `tests/golden/*.crivo`.
//!
//! For a new one, add its recipe to [`recipes`] and run
//!
//! ```sh
//! cargo test -p crivo --test golden -- --ignored
//! ```
//!
//! which writes the files that are missing, adds them to the manifest, and touches no other. A file
//! stays even when its recipe no longer gives the same bytes, because a filter has learnt to be
//! built better: then the recipe goes, and the file is still read.
//!
//! Files whose names begin with `v2-` are of version 2 of the format, the others of version 1. Kinds
//! and hash families that are younger than version 2 have no file of version 1.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crivo::KeyHasher;
use crivo::codec::{Header, LoadOptions, Metadata};
use crivo::filter::{
    AnyFilter, Blocked, BlockedCounting, Bloom, CounterWidth, CountingBloom, Cuckoo, DynamicFilter,
    FilterExt, FilterSpec, FuseSpec, Growing, GrowingBlocked, Quotient, ShardedFuseSpec,
    SplitBlock,
};
use crivo::hash::{Family, SecretKey};
use crivo::theory::fuse::Arity;

const SECRET: SecretKey = SecretKey::new([7; 16]);

/// The files, and the filters in them: each with the keys 0, 1, 2, … as u64.
fn recipes() -> Vec<(&'static str, AnyFilter)> {
    fn filled<F: DynamicFilter>(mut filter: F, keys: u64) -> F {
        for key in 0..keys {
            filter.insert(&key).unwrap();
        }
        filter
    }
    let seeded = KeyHasher::xxh3(42);
    let fuse = |arity| {
        let spec = FuseSpec::for_fpr(500, 0.01).unwrap().with_arity(arity).unwrap();
        spec.options(KeyHasher::xxh3(0)).build(0..500u64).unwrap()
    };
    let sharded_fuse = |shards| {
        let spec = ShardedFuseSpec::for_fpr(500, 0.01).unwrap().with_shards(shards).unwrap();
        let digests = (0..500u64).map(|key| seeded.digest(&key)).collect();
        spec.build_from(digests, seeded).unwrap()
    };
    let counting = |width| CountingBloom::with_width(500, 0.01, width, seeded).unwrap();
    let blocked_counting = |width| BlockedCounting::with_width(500, 0.01, width, seeded).unwrap();
    vec![
        ("bloom.crivo", {
            filled(Bloom::with_hasher(500, 0.01, KeyHasher::xxh3(0)).unwrap(), 500).into()
        }),
        ("bloom-farm.crivo", {
            filled(Bloom::with_hasher(100, 0.05, KeyHasher::farm(7)).unwrap(), 100).into()
        }),
        ("bloom-murmur3.crivo", {
            filled(Bloom::with_hasher(100, 0.05, KeyHasher::murmur3(7)).unwrap(), 100).into()
        }),
        ("bloom-secret.crivo", {
            filled(Bloom::with_hasher(100, 0.05, KeyHasher::sip24(SECRET)).unwrap(), 100).into()
        }),
        ("blocked.crivo", filled(Blocked::with_hasher(500, 0.01, seeded).unwrap(), 500).into()),
        ("counting-4.crivo", filled(counting(CounterWidth::Four), 500).into()),
        ("counting-8.crivo", filled(counting(CounterWidth::Eight), 500).into()),
        ("cuckoo.crivo", filled(Cuckoo::with_hasher(500, 0.01, seeded).unwrap(), 500).into()),
        ("quotient.crivo", filled(Quotient::with_hasher(500, 0.01, seeded).unwrap(), 500).into()),
        ("fuse-3.crivo", fuse(Arity::Three).into()),
        ("fuse-4.crivo", fuse(Arity::Four).into()),
        ("growing-3-stages.crivo", {
            filled(Growing::with_hasher(100, 0.01, seeded).unwrap(), 5_000).into()
        }),
        ("growing-blocked.crivo", {
            filled(GrowingBlocked::with_hasher(100, 0.01, seeded).unwrap(), 5_000).into()
        }),
        ("bloom-farm-fingerprint.crivo", {
            filled(Bloom::with_hasher(100, 0.05, KeyHasher::farm_fingerprint()).unwrap(), 100)
                .into()
        }),
        ("split-block.crivo", {
            filled(SplitBlock::with_hasher(500, 0.01, seeded).unwrap(), 500).into()
        }),
        ("split-block-xxh64.crivo", {
            filled(SplitBlock::with_size(16, KeyHasher::xxh64(0)).unwrap(), 300).into()
        }),
        ("bloom-fold64.crivo", {
            filled(Bloom::with_hasher(500, 0.01, KeyHasher::fold64(0)).unwrap(), 500).into()
        }),
        ("blocked-fold64.crivo", {
            filled(Blocked::with_hasher(500, 0.01, KeyHasher::fold64(42)).unwrap(), 500).into()
        }),
        ("blocked-counting-4.crivo", filled(blocked_counting(CounterWidth::Four), 500).into()),
        ("blocked-counting-8.crivo", filled(blocked_counting(CounterWidth::Eight), 500).into()),
        ("blocked-counting-fold64.crivo", {
            // Nine probes: more than one pattern has.
            let hasher = KeyHasher::fold64(42);
            filled(BlockedCounting::with_size(20, 9, CounterWidth::Four, hasher).unwrap(), 100)
                .into()
        }),
        ("growing.crivo", filled(Growing::with_hasher(100, 0.01, seeded).unwrap(), 500).into()),
        ("sharded-fuse-1.crivo", sharded_fuse(1).into()),
        ("sharded-fuse-4.crivo", sharded_fuse(4).into()),
    ]
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn manifest() -> String {
    fs::read_to_string(directory().join("manifest.tsv")).unwrap()
}

/// All files as they are built today: of version 2.
fn built() -> Vec<(String, Vec<u8>)> {
    let file = |(name, mut filter): (&str, AnyFilter)| {
        filter.metadata_mut().set(Metadata::KEY_ENCODING, "u64").unwrap();
        filter.metadata_mut().set("golden.note", "grão a grão").unwrap();
        (format!("v2-{name}"), filter.to_bytes())
    };
    recipes().into_iter().map(file).collect()
}

/// Checks that what was read from a file is written as it was: of version 1, as version 2.
fn check_written(name: &str, bytes: &[u8], filter: &AnyFilter) {
    let today = filter.to_bytes();
    if name.starts_with("v2-") {
        assert!(today == bytes, "{name} is written otherwise than it is read");
        return;
    }
    // The table is the same, and all that the header says but for the version.
    let [old, new] = [bytes, &today].map(|bytes| Header::from_bytes(bytes).unwrap());
    assert_eq!((old.version(), new.version()), (1, 2));
    let facts = |header: &Header| {
        (header.kind(), header.hash(), header.key_count(), header.parameters().to_vec())
    };
    assert_eq!(facts(&old), facts(&new));
    let table = |bytes: &[u8], header: &Header| bytes[header.payload_offset() as usize..].to_vec();
    assert!(table(bytes, &old) == table(&today, &new), "{name} has another table now");
}

/// The file names in the manifest, each with its line.
fn listed(manifest: &str) -> Vec<(&str, &str)> {
    let lines = manifest.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| (line.split('\t').next().unwrap(), line)).collect()
}

/// The line of the manifest for a file: everything that it must answer.
fn line_for(name: &str, bytes: &[u8]) -> String {
    let header = Header::from_bytes(bytes).unwrap();
    let hash = header.hash();
    let options = match hash.family() {
        Family::Sip24 => LoadOptions::new().secret_key(SECRET),
        _ => LoadOptions::new(),
    };
    let filter: AnyFilter = options.from_bytes(bytes).unwrap();
    assert!((0..filter.key_count()).all(|key| filter.contains(&key)), "{name} lost a key");
    check_written(name, bytes, &filter);
    let positives = (1_000_000..1_010_000u64).filter(|key| filter.contains(key)).count();
    let (kind, keys) = (filter.kind(), filter.key_count());
    format!("{name}\t{kind}\t{hash}\t{keys}\t{positives}")
}

#[test]
fn every_file_is_read_and_answers_as_it_did() {
    let manifest = manifest();
    for (name, line) in listed(&manifest) {
        let bytes = fs::read(directory().join(name)).unwrap();
        assert_eq!(line_for(name, &bytes), line);
    }
}

#[test]
fn every_file_is_listed() {
    let manifest = manifest();
    let listed = listed(&manifest);
    for entry in fs::read_dir(directory()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = name == "manifest.tsv" || listed.iter().any(|(file, _)| *file == name);
        assert!(known, "{name} is not in the manifest");
    }
    for (name, _) in built() {
        assert!(listed.iter().any(|(file, _)| *file == name), "{name} was never written");
    }
}

/// The table of a filter did not change with the version of the format.
#[test]
fn both_versions_hold_the_same_tables() {
    let payload = |name: &str| {
        let bytes = fs::read(directory().join(name)).unwrap();
        bytes[Header::from_bytes(&bytes).unwrap().payload_offset() as usize..].to_vec()
    };
    let manifest = manifest();
    for (name, _) in listed(&manifest).iter().filter(|(name, _)| !name.starts_with("v2-")) {
        assert!(payload(name) == payload(&format!("v2-{name}")), "{name}");
    }
}

#[test]
fn everything_is_built_as_it_was() {
    for (name, today) in built() {
        let bytes = fs::read(directory().join(&name)).unwrap();
        assert!(today == bytes, "{name} is built otherwise today");
    }
}

/// Keys of 0 to 1,000 bytes under every family, the digest of each in the bytes of the next: the
/// last digest stands for all. That they are the published functions, their unit tests know.
#[test]
fn keys_of_every_length_have_the_digests_they_had() {
    for (family, expected) in [
        (Family::Xxh3, 0x53c2_4936_504f_c278),
        (Family::Sip24, 0xf3b1_48b5_29e5_03e6),
        (Family::Farm, 0xd217_8581_ef96_2a13),
        (Family::FarmFingerprint, 0x6ecd_679e_1122_278a),
        (Family::Murmur3, 0x810e_922a_f444_6f8f),
        (Family::Xxh64, 0x5189_02f8_d6c4_417f),
        // By a second program, from docs/format.md.
        (Family::Fold64, 0x9d65_e1f7_535d_45a3),
    ] {
        let hasher = family.with_seed(42);
        let mut bytes = vec![0; 1_000];
        for length in 0..bytes.len() {
            let digest = hasher.digest(&bytes[..length]).get();
            bytes[length] = (digest >> 56) as u8;
        }
        assert_eq!(hasher.digest(&bytes).get(), expected, "{family}");
    }
}

#[test]
#[ignore = "writes the golden files that are missing"]
fn write_missing_files() {
    let mut manifest = manifest();
    for (name, bytes) in built() {
        let path = directory().join(&name);
        if !path.exists() {
            writeln!(manifest, "{}", line_for(&name, &bytes)).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
    }
    fs::write(directory().join("manifest.tsv"), manifest).unwrap();
}
