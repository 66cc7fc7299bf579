//! What the fuzz targets share.

use crivo::codec::{self, LoadOptions, Persist};
use crivo::filter::{DynamicFilter, FilterExt, RemovableFilter};
use xxhash_rust::xxh3::xxh3_64;

/// Makes a file of arbitrary bytes that is right in all that a fuzzer would never guess: magic,
/// version, lengths and checksums. Kind, hash, key count, parameters and payload are the fuzzer's.
///
/// ```text
///   input:  kind, family, version and metadata length, parameter count,
///           hash value (8), key count (8), parameters, metadata, payload
/// ```
///
/// Kind, family, version and counts are reduced to numbers that exist. If a length is given, the
/// payload is repeated or cut to have it. `None` if the input is too short.
pub fn envelope(input: &[u8], length: Option<usize>) -> Option<Vec<u8>> {
    let (&[kind, family, version, count], rest) = input.split_first_chunk()?;
    let (hash_and_keys, rest) = rest.split_first_chunk::<16>()?;
    let count = count % 8;
    let (parameters, rest) = rest.split_at_checked(8 * usize::from(count))?;
    let (version, metadata_length) = (1 + version % 2, version / 2 % 32);
    let metadata_length = if version == 1 { 0 } else { metadata_length };
    let (metadata, payload) = rest.split_at_checked(usize::from(metadata_length))?;
    let length = length.unwrap_or(payload.len() / 8 * 8);
    let pattern = if payload.is_empty() { &[0] } else { payload };
    let payload: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();

    let mut bytes = b"\x89crivo\r\n".to_vec();
    bytes.extend([version, 0, 1 + kind % 10, 1 + family % 6, count, 0, 0, 0]);
    bytes.extend(hash_and_keys);
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(xxh3_64(&payload).to_le_bytes());
    if version == 2 {
        bytes.extend(u64::from(metadata_length).to_le_bytes());
    }
    bytes.extend(parameters);
    bytes.extend(metadata);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes.extend(payload);
    Some(bytes)
}

/// Inserts one of 256 keys for each byte of the input, and asks after each step for all of them.
pub fn insert<F: DynamicFilter + Persist>(filter: F, input: &[u8]) {
    let mut tried = Tried::new(filter);
    for &key in input {
        tried.insert(key);
        tried.check();
    }
    tried.check_written();
}

/// As [`insert`], with removals: two bytes of the input are one step.
pub fn insert_and_remove<F: RemovableFilter + Persist>(filter: F, input: &[u8]) {
    let mut tried = Tried::new(filter);
    for &[step, key] in input.as_chunks().0 {
        if step % 2 == 0 {
            tried.insert(key)
        } else {
            tried.remove(key)
        }
        tried.check();
    }
    tried.check_written();
}

/// A filter, and how often each key is in it.
struct Tried<F> {
    filter: F,
    copies: [u64; 256],
}

impl<F: DynamicFilter + Persist> Tried<F> {
    fn new(filter: F) -> Self {
        Self { filter, copies: [0; 256] }
    }

    fn insert(&mut self, key: u8) {
        let before = codec::to_bytes(&self.filter);
        match self.filter.insert(&key) {
            Ok(is_new) => {
                let copies = &mut self.copies[usize::from(key)];
                assert!(!is_new || *copies == 0, "a member is not new");
                *copies += 1;
            }
            Err(_) => {
                assert!(codec::to_bytes(&self.filter) == before, "a failed insertion changed it")
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.filter.key_count(), self.copies.iter().sum::<u64>());
        for key in 0..=255u8 {
            assert!(self.copies[usize::from(key)] == 0 || self.filter.contains(&key));
        }
    }

    /// A filter that was written and read is the same.
    fn check_written(self) {
        let bytes = codec::to_bytes(&self.filter);
        let filter = LoadOptions::new().from_bytes::<F>(&bytes).expect("it was just written");
        assert!(codec::to_bytes(&filter) == bytes);
        Self { filter, ..self }.check();
    }
}

impl<F: RemovableFilter + Persist> Tried<F> {
    /// Only what was inserted may be removed.
    fn remove(&mut self, key: u8) {
        let copies = &mut self.copies[usize::from(key)];
        if *copies > 0 {
            self.filter.remove(&key).expect("it is a member");
            *copies -= 1;
        }
    }
}
