//! Parquet files from arbitrary bytes: an error, or filters that can be asked and are written as they
//! were.

#![no_main]

use std::io::Cursor;

use crivo_formats::TypedKey;
use crivo_formats::parquet::{ParquetBloom, ParquetFile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(filter) = ParquetBloom::from_bytes(input) {
        ask(&filter);
        assert!(filter.to_bytes() == input, "what was read is written as it was");
    }
    read(input.to_vec());
    // The same as the footer of a file, whose ends no fuzzer would guess.
    let length = (input.len() as u32).to_le_bytes();
    read([b"PAR1", input, &length, b"PAR1"].concat());
    // A footer behind bytes in which filters may lie.
    if let Some((&[a, b], rest)) = input.split_first_chunk() {
        let start = usize::from(u16::from_le_bytes([a, b])).min(rest.len());
        let length = ((rest.len() - start) as u32).to_le_bytes();
        read([rest, &length, b"PAR1"].concat());
    }
});

fn read(bytes: Vec<u8>) {
    let Ok(mut file) = ParquetFile::new(Cursor::new(bytes)) else { return };
    for location in file.filters().to_vec() {
        if let Ok(Some(filter)) = file.filter(location.row_group, location.column) {
            ask(&filter);
        }
    }
    let paths: Vec<String> = file.columns().iter().map(|column| column.path.clone()).collect();
    for path in paths.iter().take(4) {
        let _ = file.may_contain(path, &TypedKey::Text("ana"));
        let _ = file.may_contain(path, &TypedKey::Int64(7));
    }
}

fn ask(filter: &ParquetBloom) {
    let _ = (filter.contains("ana"), filter.contains(&7i64), filter.expected_fpr());
    let _ = filter.estimated_key_count();
}
