//! Files that the real programs made, with the answers that these programs gave.
//!
//! `fixtures/FORMAT/KEY-TYPE.filter` holds keys 0 to 499; `KEY-TYPE.answers` has 0 or 1 for each of
//! the keys 0 to 999. `oracles/run --fixtures` made them.

mod keys;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crivo::filter::Operation;
use crivo_formats::{
    ChangeError, Create, FORMATS, ForeignFilter, Format, FormatError, FormatOptions, KeyType,
    by_name, recognise,
};
use keys::Key;

/// What the programs were told.
const KEYS: u64 = 500;
const FPR: f64 = 0.05;

/// The hash of the block that filters of BIP 158 are about.
fn options() -> FormatOptions {
    let mut options = FormatOptions::default();
    options.block_hash = Some(std::array::from_fn(|i| i as u8));
    options
}

struct Fixture {
    format: &'static Format,
    key_type: KeyType,
    bytes: Vec<u8>,
    answers: String,
}

impl Fixture {
    fn read(&self) -> Box<dyn ForeignFilter> {
        self.read_bytes(&self.bytes).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn read_bytes(&self, bytes: &[u8]) -> Result<Box<dyn ForeignFilter>, FormatError> {
        (self.format.read)(bytes, &options())
    }

    fn key(&self, number: u64) -> Key {
        Key::new(self.key_type, number)
    }

    /// The answers of a filter, written as the programs write theirs.
    fn ask(&self, filter: &dyn ForeignFilter) -> String {
        let answer = |number| filter.contains_key(&self.key(number).get()).unwrap();
        (0..2 * KEYS).map(|number| if answer(number) { '1' } else { '0' }).collect()
    }

    fn can(&self, operation: Operation) -> bool {
        self.format.operations.contains(&operation)
    }
}

impl std::fmt::Debug for Fixture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.format.name, self.key_type)
    }
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let list = |path: &Path| -> BTreeSet<PathBuf> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut fixtures = Vec::new();
    // There are dumps of a server for these, in `tests/redisbloom.rs`.
    for format in FORMATS.iter().filter(|format| !format.name.starts_with("redis-")) {
        let directory = root.join(format.name);
        assert!(directory.is_dir(), "{} has no fixtures", format.name);
        for file in list(&directory).iter().filter(|file| file.extension().unwrap() == "filter") {
            let name = file.file_stem().unwrap().to_str().unwrap();
            fixtures.push(Fixture {
                format,
                key_type: name.parse().unwrap(),
                bytes: fs::read(file).unwrap(),
                answers: fs::read_to_string(file.with_extension("answers")).unwrap(),
            });
        }
    }
    fixtures
}

#[test]
fn every_format_has_a_fixture_for_each_type_of_key() {
    let fixtures = fixtures();
    for format in FORMATS {
        assert_eq!(by_name(format.name).unwrap().name, format.name);
        if format.name.starts_with("redis-") {
            continue;
        }
        for &key_type in format.key_types {
            assert!(
                fixtures.iter().any(|f| f.format.name == format.name && f.key_type == key_type),
                "{} {key_type}",
                format.name
            );
        }
    }
}

#[test]
fn answers_are_those_of_the_real_program_false_positives_included() {
    for fixture in fixtures() {
        let filter = fixture.read();
        assert_eq!(filter.format(), fixture.format.name);
        assert_eq!(fixture.ask(&*filter), fixture.answers.trim(), "{fixture:?}");
        assert!(fixture.answers[..KEYS as usize].bytes().all(|answer| answer == b'1'));
    }
}

#[test]
fn what_was_read_is_written_byte_for_byte() {
    for fixture in fixtures() {
        assert!(fixture.read().to_bytes() == fixture.bytes, "{fixture:?}");
    }
}

#[test]
fn an_estimate_and_the_fpr_fit_what_was_inserted() {
    for fixture in fixtures() {
        let filter = fixture.read();
        // Five standard errors: by chance once in a million fixtures.
        if let Some(estimate) = filter.estimated_key_count() {
            let distance = (estimate.keys - KEYS as f64).abs();
            assert!(distance < 5.0 * estimate.standard_error + 1.0, "{fixture:?}: {estimate:?}");
        }
        if let Some(key_count) = filter.key_count() {
            assert!(key_count.abs_diff(KEYS) < KEYS / 20, "{fixture:?}: {key_count}");
        }
        assert!((0.0..0.1).contains(&filter.expected_fpr()), "{fixture:?}");
        assert!(filter.size_in_bits() > KEYS);
        assert!(filter.fill().is_none_or(|fill| (0.0..=1.0).contains(&fill)));
        assert!(
            filter.parameters().iter().all(|(name, value)| !name.is_empty() && !value.is_empty())
        );
    }
}

#[test]
fn a_filter_made_of_the_same_keys_is_the_same_file_or_has_its_size() {
    for fixture in fixtures() {
        let keys: Vec<_> = (0..KEYS).map(|number| fixture.key(number)).collect();
        let filter = match fixture.format.create {
            Create::Empty(create) => {
                let mut filter = create(KEYS, FPR).unwrap();
                for key in &keys {
                    filter.insert_key(&key.get()).unwrap();
                }
                filter
            }
            Create::FromKeys(create) => {
                create(&keys.iter().map(Key::get).collect::<Vec<_>>(), &options()).unwrap()
            }
            _ => panic!("{fixture:?}"),
        };
        if fixture.can(Operation::Insert) {
            assert!(filter.to_bytes() == fixture.bytes, "{fixture:?}");
        } else {
            // The seed may be another one, but not the size.
            assert_eq!(filter.to_bytes().len(), fixture.bytes.len(), "{fixture:?}");
            for key in &keys {
                assert!(filter.contains_key(&key.get()).unwrap(), "{fixture:?}");
            }
        }
    }
}

#[test]
fn a_union_has_the_keys_of_both() {
    for fixture in fixtures().iter().filter(|fixture| fixture.can(Operation::Union)) {
        let Create::Empty(create) = fixture.format.create else { panic!("{fixture:?}") };
        let mut filter = create(KEYS, FPR).unwrap();
        for number in KEYS..KEYS + 10 {
            filter.insert_key(&fixture.key(number).get()).unwrap();
        }
        filter.union_with_any(&*fixture.read()).unwrap();
        for number in 0..KEYS + 10 {
            assert!(filter.contains_key(&fixture.key(number).get()).unwrap(), "{fixture:?}");
        }
        let before = filter.to_bytes();
        let larger = create(2 * KEYS, FPR).unwrap();
        assert!(matches!(filter.union_with_any(&*larger), Err(ChangeError::Incompatible(_))));
        for other in fixtures().iter().filter(|other| other.format.name != fixture.format.name) {
            let error = filter.union_with_any(&*other.read()).unwrap_err();
            assert!(matches!(error, ChangeError::Incompatible(_)), "{fixture:?} {other:?}");
        }
        assert!(filter.to_bytes() == before, "a failed union changed {fixture:?}");
    }
}

#[test]
fn an_operation_that_a_format_does_not_have_is_an_error_that_changes_nothing() {
    for fixture in fixtures() {
        let mut filter = fixture.read();
        let other = fixture.read();
        if !fixture.can(Operation::Insert) {
            let error = filter.insert_key(&fixture.key(0).get()).unwrap_err();
            assert!(matches!(error, ChangeError::Unsupported { .. }), "{fixture:?}: {error}");
        }
        if !fixture.can(Operation::Union) {
            let error = filter.union_with_any(&*other).unwrap_err();
            assert!(matches!(error, ChangeError::Unsupported { .. }), "{fixture:?}: {error}");
        }
        for key_type in KeyType::ALL.into_iter().filter(|key_type| *key_type != KeyType::Hex) {
            let (key, has) = (Key::new(key_type, 7), fixture.format.has_keys_of(key_type));
            assert_eq!(filter.contains_key(&key.get()).is_ok(), has, "{fixture:?} {key_type}");
            if !has {
                assert!(filter.insert_key(&key.get()).is_err(), "{fixture:?} {key_type}");
            }
        }
        assert!(filter.to_bytes() == fixture.bytes, "{fixture:?}");
    }
}

#[test]
fn a_file_is_recognised_or_is_among_the_candidates() {
    for fixture in fixtures() {
        let candidates = recognise(&fixture.bytes);
        let names: Vec<_> = candidates.iter().map(|format| format.name).collect();
        if fixture.format.recognition == crivo_formats::Recognition::Nothing {
            assert!(!names.contains(&fixture.format.name));
        } else {
            assert!(names.contains(&fixture.format.name), "{fixture:?}: {names:?}");
        }
    }
    assert!(recognise(b"").is_empty());
}

#[test]
fn files_that_are_cut_or_lengthened_are_errors() {
    for fixture in fixtures() {
        let bytes = &fixture.bytes;
        for length in (0..bytes.len().min(100)).chain([bytes.len() - 1]) {
            assert!(fixture.read_bytes(&bytes[..length]).is_err(), "{fixture:?} cut to {length}");
        }
        // What follows a filter of DCSO's is data that are attached to it.
        let lengthened = fixture.read_bytes(&[bytes, &[0; 8][..]].concat());
        assert_eq!(lengthened.is_ok(), fixture.format.name == "dcso", "{fixture:?}");
    }
}

#[test]
fn damaged_headers_never_panic() {
    for fixture in fixtures() {
        for position in 0..fixture.bytes.len().min(100) {
            for value in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut bytes = fixture.bytes.clone();
                bytes[position] = value;
                if let Ok(mut filter) = fixture.read_bytes(&bytes) {
                    let key = fixture.key(3);
                    let _ = filter.insert_key(&key.get());
                    let _ = filter.contains_key(&key.get());
                    let _ = (filter.expected_fpr(), filter.fill(), filter.estimated_key_count());
                }
            }
        }
    }
}
