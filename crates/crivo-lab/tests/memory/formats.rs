//! The filters of other systems.

use crivo_formats::{Create, FORMATS, ForeignFilter, Format, FormatOptions, KeyType, TypedKey};

use crate::KEYS;
use crate::limits::Limits;

/// What every format can have.
const FPR: f64 = 0.02;

pub fn all(limits: &Limits) {
    for format in FORMATS {
        // A message of Bitcoin's is small, and its functions promise nothing about memory.
        if !format.name.starts_with("bip") {
            one(limits, format);
        }
    }
}

fn one(limits: &Limits, format: &Format) {
    let mut options = FormatOptions::default();
    options.block_hash = Some([7; 32]);
    let texts: Vec<String> = (0..KEYS).map(|key| key.to_string()).collect();
    let key_type = [KeyType::Bytes, KeyType::Text, KeyType::Int64, KeyType::UInt64]
        .into_iter()
        .find(|&key_type| format.has_keys_of(key_type))
        .unwrap_or_else(|| panic!("{} has other keys", format.name));
    let keys: Vec<TypedKey<'_>> =
        texts.iter().map(|text| key_type.parse_key(text.as_bytes()).unwrap()).collect();
    let make = |()| {
        match format.create {
            Create::Empty(create) => drop(create(KEYS, FPR)?),
            Create::FromKeys(build) => drop(build(&keys, &options)?),
            _ => unreachable!("there are no other ways"),
        }
        Ok(())
    };
    limits.raise_from_failure(&format!("new {}", format.name), || (), make);

    let filter: Box<dyn ForeignFilter> = match format.create {
        Create::Empty(create) => {
            let mut filter = create(KEYS, FPR).unwrap();
            for key in &keys {
                filter.insert_key(key).unwrap();
            }
            filter
        }
        Create::FromKeys(build) => build(&keys, &options).unwrap(),
        _ => unreachable!("there are no other ways"),
    };
    let bytes = filter.to_bytes();
    let read = |()| {
        let read = (format.read)(&bytes, &options)?;
        assert!(keys.iter().step_by(1_000).all(|key| read.contains_key(key).unwrap()));
        Ok(())
    };
    limits.raise_from_failure(&format!("{} from bytes", format.name), || (), read);
}
