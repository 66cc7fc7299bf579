//! Filters that answer from a file.

#![allow(unsafe_code)]

use std::path::Path;

use super::*;

fn map(path: impl AsRef<Path>) -> Result<Mapped<Mock>, FileError> {
    // SAFETY: no test changes a file that it has mapped.
    unsafe { LoadOptions::new().map(path) }
}

#[test]
fn a_mapped_filter_answers_as_the_copied_one() {
    let directory = TestDirectory::new("mapped");
    for keys in [1, 16, 1000, 100_000] {
        let filter = filled(keys, KeyHasher::xxh3(keys));
        let path = directory.file("filter.crivo");
        filter.save(&path).unwrap();
        let mapped = map(&path).unwrap();
        assert!(mapped.is_lent());
        assert_eq!(*mapped, filter);
        assert_eq!(*mapped.header(), filter.header());
        assert_eq!(mapped.verify(), Ok(()));
        assert!((0..2 * keys).all(|key| mapped.contains(&key) == filter.contains(&key)));
    }
}

#[test]
fn a_change_copies_and_leaves_the_file() {
    let directory = TestDirectory::new("mapped-change");
    let path = directory.file("filter.crivo");
    let filter = filled(16, KeyHasher::default());
    filter.save(&path).unwrap();
    let mut changed = map(&path).unwrap().into_filter();
    assert!(changed.is_lent());
    changed.insert("new").unwrap();
    assert!(!changed.is_lent() && changed.contains("new"));
    assert_eq!(Mock::load(&path).unwrap(), filter);
    // A file that is mapped can be replaced, even by the filter that answers from it.
    let mapped = map(&path).unwrap();
    changed.save(&path).unwrap();
    assert_eq!(*mapped, filter);
    mapped.save(&path).unwrap();
    assert_eq!(Mock::load(&path).unwrap(), filter);
}

#[test]
fn damage_is_found_on_request() {
    let directory = TestDirectory::new("mapped-damage");
    let path = directory.file("filter.crivo");
    let bytes = small();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 16;
        std::fs::write(&path, &changed).unwrap();
        match map(&path) {
            Ok(mapped) => {
                assert!(at >= 128);
                (0..100u64).for_each(|key| _ = mapped.contains(&key));
                assert_eq!(mapped.verify(), Err(DecodeError::PayloadChecksum));
            }
            Err(error) => assert!(at < 128, "{error}"),
        }
    }
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(matches!(of(map(&path)), DecodeError::Truncated { .. }));
    }
    std::fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert_eq!(of(map(&path)), DecodeError::TrailingBytes);
    let error = map(directory.file("missing")).unwrap_err();
    assert_eq!(error.action, FileAction::Map);
    assert!(error.to_string().starts_with("cannot map "));
}

#[test]
fn keys_and_kinds_are_checked_as_on_loading() {
    let directory = TestDirectory::new("mapped-key");
    let path = directory.file("filter.crivo");
    let key = SecretKey::new([7; 16]);
    let filter = filled(16, KeyHasher::sip24(key));
    filter.save(&path).unwrap();
    assert_eq!(of(map(&path)), DecodeError::KeyNeeded);
    // SAFETY: the file does not change while it is mapped.
    let mapped = unsafe { LoadOptions::new().secret_key(key).map::<Mock>(&path) }.unwrap();
    assert_eq!(mapped.to_bytes(), filter.to_bytes());
    drop(mapped);
    std::fs::write(&path, forged(&small(), 10, &[Kind::Fuse.id()])).unwrap();
    assert!(matches!(of(map(&path)), DecodeError::WrongKind { .. }));
}

/// No machine that runs this test could read the file.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_file_of_any_size_is_open_at_once() {
    const LENGTH: u64 = 1 << 40;
    let directory = TestDirectory::new("mapped-large");
    let path = directory.file("filter.crivo");
    let head = forged(&small()[..128], 32, &LENGTH.to_le_bytes());
    let head = forged(&head, 56, &(8 * LENGTH).to_le_bytes());
    std::fs::write(&path, &head).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(128 + LENGTH).is_err() {
        return; // This file system has no files of that size.
    }
    let mapped = map(&path).unwrap();
    assert!((0..100u64).all(|key| !mapped.contains(&key)));
    assert_eq!(mapped.size_in_bits(), 8 * LENGTH);
}
