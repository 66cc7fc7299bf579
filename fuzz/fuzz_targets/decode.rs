//! Hostile bytes: reading is total, and what could be read can be asked and written.

#![no_main]

use crivo::codec::{CodecError, DecodeError, Save};
use crivo::filter::{AnyFilter, Filter};
use libfuzzer_sys::fuzz_target;

/// The longest payload that is made for parameters that ask for it.
const LONGEST: u64 = 1 << 16;

fuzz_target!(|input: &[u8]| {
    check(input);
    let Some(bytes) = crivo_fuzz::envelope(input, None) else { return };
    check(&bytes);
    if let Err(DecodeError::PayloadLength { expected: expected @ ..=LONGEST, .. }) =
        AnyFilter::from_bytes(&bytes)
        && let Some(bytes) = crivo_fuzz::envelope(input, Some(expected as usize))
    {
        check(&bytes);
    }
});

fn check(bytes: &[u8]) {
    let from_memory = AnyFilter::from_bytes(bytes);
    match (&from_memory, AnyFilter::read_from(bytes)) {
        (Ok(one), Ok(other)) => assert_eq!(one.to_bytes(), other.to_bytes()),
        (Err(DecodeError::TrailingBytes), Ok(_)) => {}
        (Err(one), Err(CodecError::Decode(other))) => assert_eq!(*one, other),
        (one, other) => panic!("{one:?} from memory, {other:?} from a stream"),
    }
    let Ok(filter) = from_memory else { return };
    assert_eq!(filter.to_bytes(), bytes);

    let digests: Vec<_> = (0..100u64).map(|key| filter.hasher().digest(&key)).collect();
    let mut hits = [false; 100];
    filter.contains_batch(&digests, &mut hits);
    for (digest, hit) in digests.iter().zip(hits) {
        assert_eq!(filter.contains_digest(*digest), hit);
    }
    let _ = (filter.expected_fpr(), filter.size_in_bits(), filter.bits_per_key());
}
