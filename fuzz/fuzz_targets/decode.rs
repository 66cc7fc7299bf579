//! Hostile bytes: reading is total, and what could be read can be asked, changed and written.

#![no_main]

use crivo::codec::{self, CodecError, DecodeError, LoadOptions, Persist};
use crivo::filter::AnyFilter;
use crivo_sketch::SimilarityIndex;
use libfuzzer_sys::fuzz_target;

/// The longest payload that is made for parameters that ask for it.
const MAX_PAYLOAD: u64 = 1 << 16;

fuzz_target!(|input: &[u8]| {
    check(input);
    let Some(bytes) = crivo_fuzz::envelope(input, None) else { return };
    check(&bytes);
    if let Some(expected @ ..=MAX_PAYLOAD) = wanted_length(&bytes)
        && let Some(bytes) = crivo_fuzz::envelope(input, Some(expected as usize))
    {
        check(&bytes);
    }
});

/// The length that the payload should have, if that alone is wrong.
fn wanted_length(bytes: &[u8]) -> Option<u64> {
    let errors = [AnyFilter::from_bytes(bytes).err(), SimilarityIndex::from_bytes(bytes).err()];
    errors.into_iter().flatten().find_map(|error| match error {
        DecodeError::PayloadLength { expected, .. } => Some(expected),
        _ => None,
    })
}

fn check(bytes: &[u8]) {
    if let Some(filter) = read::<AnyFilter>(bytes) {
        ask(&filter);
        crivo_fuzz::change(&filter, bytes.last_chunk::<8>().map_or(&[], |keys| keys));
    }
    if let Some(index) = read::<SimilarityIndex>(bytes) {
        for id in index.ids().take(100) {
            let signature = index.get(id).expect("it is there");
            assert!(index.query(&signature).expect("it is its own").contains(&id));
        }
    }
}

/// What the bytes are, from memory and from a stream, and that it is written as it was read.
fn read<F: Persist + std::fmt::Debug>(bytes: &[u8]) -> Option<F> {
    let options = LoadOptions::new();
    let from_memory = options.from_bytes::<F>(bytes);
    match (&from_memory, options.read_from::<F>(bytes)) {
        (Ok(one), Ok(other)) => assert_eq!(codec::to_bytes(one), codec::to_bytes(&other)),
        // A stream ends with the filter, which may have another defect.
        (Err(DecodeError::TrailingBytes), Ok(_) | Err(CodecError::Decode(_))) => {}
        (Err(one), Err(CodecError::Decode(other))) => assert_eq!(*one, other),
        (one, other) => panic!("{one:?} from memory, {other:?} from a stream"),
    }
    let read = from_memory.ok()?;
    let written = codec::to_bytes(&read);
    if bytes[8] == 1 {
        // What is of version 1 is written as version 2, and that as itself.
        let again = options.from_bytes::<F>(&written).expect("it was just written");
        assert_eq!(codec::to_bytes(&again), written);
    } else {
        assert_eq!(written, bytes);
    }
    Some(read)
}

fn ask(filter: &AnyFilter) {
    let digests: Vec<_> = (0..100u64).map(|key| filter.hasher().digest(&key)).collect();
    let mut hits = [false; 100];
    filter.contains_batch(&digests, &mut hits);
    for (digest, hit) in digests.iter().zip(hits) {
        assert_eq!(filter.contains_digest(*digest), hit);
    }
    let _ = (filter.expected_fpr(), filter.size_in_bits(), filter.bits_per_key());
}
