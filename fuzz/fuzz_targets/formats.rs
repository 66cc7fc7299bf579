//! Hostile bytes as files of other systems: reading never fails but by a typed error, what could be read
//! is written as it was, and can be asked, filled and merged.

#![no_main]

use std::any::Any;

use crivo_formats::redis::{RedisBloom, RedisCuckoo};
use crivo_formats::{
    FORMATS, ForeignFilter, Format, FormatError, FormatOptions, KeyType, TypedKey, recognise,
};
use libfuzzer_sys::fuzz_target;

/// The longest file that is made for a header that asks for it.
const MAX_LENGTH: u64 = 1 << 16;

/// The largest table that is changed.
const MAX_BITS: u64 = 1 << 23;

/// The most bytes by which a filter may grow at the next insertion.
const MAX_GROWTH: u64 = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let Some((&number, bytes)) = input.split_first() else { return };
    let format = &FORMATS[usize::from(number) % FORMATS.len()];
    recognise(bytes);
    match read(format, bytes) {
        Ok(filter) => check(format, filter, bytes),
        // The length alone is wrong, which a fuzzer would hardly guess.
        Err(FormatError::Length { expected: expected @ ..=MAX_LENGTH, .. }) => {
            let pattern = if bytes.is_empty() { &[0] } else { bytes };
            let rest = pattern.iter().cycle().skip(bytes.len());
            let longer: Vec<u8> =
                bytes.iter().chain(rest).copied().take(expected as usize).collect();
            if let Ok(filter) = read(format, &longer) {
                check(format, filter, &longer);
            }
        }
        Err(_) => {}
    }
});

fn read(format: &Format, bytes: &[u8]) -> Result<Box<dyn ForeignFilter>, FormatError> {
    let mut options = FormatOptions::default();
    options.block_hash = Some([7; 32]);
    (format.read)(bytes, &options)
}

fn check(format: &Format, mut filter: Box<dyn ForeignFilter>, bytes: &[u8]) {
    assert!(filter.to_bytes() == bytes, "{} is written as it was read", format.name);
    let _ = (filter.size_in_bits(), filter.key_count(), filter.parameters());
    assert!((0.0..=1.0).contains(&filter.expected_fpr()), "{}", format.name);
    assert!(filter.fill().is_none_or(|fill| (0.0..=1.0).contains(&fill)));
    let _ = filter.estimated_key_count();
    // Empty filters of DataSketches have no table in their file. Large ones only take time.
    if filter.size_in_bits() > MAX_BITS {
        return;
    }
    for key_type in KeyType::ALL.into_iter().filter(|key_type| format.has_keys_of(*key_type)) {
        for text in ["17", "70"] {
            let key = key_type.parse_key(text.as_bytes()).expect("a number is a key of any type");
            insert(format, &mut *filter, &key);
        }
    }
    let same = read(format, &filter.to_bytes()).expect("it was just written");
    let _ = filter.union_with_any(&*same);
    for key_type in format.key_types {
        let key = key_type.parse_key(b"17").expect("a number is a key of any type");
        let hit = same.contains_key(&key).expect("it has such keys");
        assert!(!hit || filter.contains_key(&key).expect("it has such keys"));
    }
}

/// Inserts a key, which is then there, or leaves the filter as it was.
fn insert(format: &Format, filter: &mut dyn ForeignFilter, key: &TypedKey<'_>) {
    filter.contains_key(key).expect("it has such keys");
    if growth(filter) > MAX_GROWTH {
        return;
    }
    let before = filter.to_bytes();
    match filter.insert_key(key) {
        Ok(_) => assert!(filter.contains_key(key).expect("it has such keys"), "{}", format.name),
        Err(_) => assert!(filter.to_bytes() == before, "{}: a failure changed it", format.name),
    }
}

/// By how many bytes the next insertion may make the filter grow.
fn growth(filter: &dyn ForeignFilter) -> u64 {
    let filter = filter as &dyn Any;
    if let Some(bloom) = filter.downcast_ref::<RedisBloom>() {
        // No FPR needs more than 2,048 bits per key.
        let keys = bloom.capacity().saturating_mul(bloom.expansion().unwrap_or(0).into());
        return keys.saturating_mul(256);
    }
    if let Some(cuckoo) = filter.downcast_ref::<RedisCuckoo>() {
        let size = cuckoo.size_in_bits() / 8;
        return size.saturating_mul(u64::from(cuckoo.options().expansion).max(1));
    }
    0
}
