//! Files that a running Cassandra wrote when it flushed a table.

#![cfg(feature = "cassandra")]
// Cassandra's numbers are big-endian on every machine.
#![allow(clippy::big_endian_bytes)]

use crivo_formats::KeyOf;
use crivo_formats::cassandra::{CassandraBloom, CassandraVersion, composite_key};

/// The server's file, and ours of the same 1,000 partitions, are the same.
fn check<K: KeyOf<CassandraBloom>>(file: &[u8], fpr: f64, key: impl Fn(i32) -> K) {
    let theirs = CassandraBloom::from_bytes(file, CassandraVersion::V4).unwrap();
    let mut ours = CassandraBloom::new(1_000, fpr, CassandraVersion::V4).unwrap();
    for number in 0..1_000 {
        assert!(theirs.contains(&key(number)));
        ours.insert(&key(number));
    }
    assert!(ours.to_bytes() == file);
}

macro_rules! file {
    ($table:literal) => {
        include_bytes!(concat!("fixtures/cassandra-server/", $table, "-oa-1-big-Filter.db"))
    };
}

#[test]
fn filters_of_the_same_partitions_are_the_files_of_the_server() {
    check(file!("text"), 0.01, |i| format!("ключ-{i}-é"));
    check(file!("text01"), 0.1, |i| format!("key{i}"));
    check(file!("text0001"), 0.0001, |i| format!("key{i}"));
    check(file!("bigint"), 0.01, |i| i64::from(i) * 7_919 - 3_000_000);
    check(file!("pair"), 0.01, |i| {
        composite_key([format!("user{}", i % 100).as_bytes(), &i.to_be_bytes()]).unwrap()
    });
}
