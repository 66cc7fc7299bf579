//! Dumps of a real RedisBloom server, with the answers that it gave.
//!
//! `fixtures/redisbloom/README.md` tells how they were made, `manifest.json` what the server was told
//! and what it answered.

#![cfg(feature = "redis")]

use std::fs;
use std::path::PathBuf;

use crivo_formats::redis::{RedisBloom, RedisCuckoo, RedisCuckooOptions};
use crivo_formats::{ChangeError, ForeignFilter};
use serde_json::Value;

const ABSENT: u64 = 2_000;

struct Dump {
    name: String,
    record: Value,
    chunks: Vec<(u64, Vec<u8>)>,
}

impl Dump {
    fn chunks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.chunks.iter().map(|(number, chunk)| (*number, &chunk[..]))
    }

    /// What was inserted, in order.
    fn items(&self) -> Vec<Vec<u8>> {
        let count = self.record["items"]["count"].as_u64().unwrap();
        if self.name == "bf_binary" {
            return (0..count).map(|i| (0..i).map(|j| (7 * i + j) as u8).collect()).collect();
        }
        (0..count).map(|i| format!("item:{i}").into_bytes()).collect()
    }

    fn numbers(&self, field: &str) -> Vec<u64> {
        let list = self.record[field].as_array();
        list.map_or(Vec::new(), |list| list.iter().map(|item| item.as_u64().unwrap()).collect())
    }

    /// Every answer of the server is ours as well.
    fn check_answers(&self, contains: impl Fn(&[u8]) -> bool) {
        let missing = self.numbers("members_answered_absent");
        for (i, item) in self.items().iter().enumerate() {
            assert_eq!(contains(item), !missing.contains(&(i as u64)), "{} {i}", self.name);
        }
        let false_positives = self.numbers("absent_answered_present");
        for i in 0..ABSENT {
            let hit = contains(format!("absent:{i}").as_bytes());
            assert_eq!(hit, false_positives.contains(&i), "{} absent {i}", self.name);
        }
    }
}

fn dumps(kind: &str) -> Vec<Dump> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/redisbloom");
    let manifest = fs::read_to_string(root.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let dump = |record: &Value| {
        let bytes = fs::read(root.join(record["file"].as_str().unwrap())).unwrap();
        let (mut rest, mut chunks) = (&bytes[..], Vec::new());
        while let Some((head, tail)) = rest.split_first_chunk::<16>() {
            let word = |half: &[u8]| u64::from_le_bytes(half.try_into().unwrap());
            let (chunk, next) = tail.split_at(word(&head[8..]) as usize);
            chunks.push((word(&head[..8]), chunk.to_vec()));
            rest = next;
        }
        Dump { name: record["name"].as_str().unwrap().to_owned(), record: record.clone(), chunks }
    };
    let records = manifest["filters"].as_array().unwrap().iter();
    let dumps: Vec<_> = records.filter(|record| record["kind"] == kind).map(dump).collect();
    assert!(dumps.len() >= 4);
    dumps
}

#[test]
fn bloom_filters_answer_as_the_server_and_are_written_as_it_does() {
    for dump in dumps("BF") {
        let filter = RedisBloom::from_chunks(dump.chunks()).unwrap();
        dump.check_answers(|item| filter.contains(item));
        assert_eq!(filter.to_chunks(), dump.chunks, "{}", dump.name);
        assert_eq!(filter.key_count(), dump.record["card"].as_u64().unwrap());
        assert_eq!(filter.capacity(), dump.record["info"]["Capacity"].as_u64().unwrap());
        assert_eq!(RedisBloom::from_bytes(&filter.to_bytes()).unwrap(), filter);
        assert!((0.0..0.05).contains(&filter.expected_fpr()));
    }
}

#[test]
fn bloom_filters_of_the_same_items_are_the_same_dump() {
    for dump in dumps("BF") {
        let (fpr, capacity, expansion) = match &*dump.name {
            "bf_1000" => (0.001, 1_000, Some(2)),
            "bf_nonscaling" => (0.02, 500, None),
            "bf_binary" => (0.01, 200, Some(2)),
            _ => (0.01, 100, Some(2)),
        };
        let mut filter = RedisBloom::new(capacity, fpr, expansion).unwrap();
        let not_added = dump.numbers("add_answered_0");
        for (i, item) in dump.items().iter().enumerate() {
            assert_eq!(filter.insert(item).unwrap(), !not_added.contains(&(i as u64)));
        }
        assert_eq!(filter.to_chunks(), dump.chunks, "{}", dump.name);
    }
}

#[test]
fn a_full_filter_that_must_not_grow_is_an_error_that_changes_nothing() {
    let mut filter = RedisBloom::new(10, 0.01, None).unwrap();
    let mut number = 0;
    let error = loop {
        let before = filter.clone();
        match filter.insert(&format!("item:{number}")) {
            Ok(_) => number += 1,
            Err(error) => {
                assert_eq!(filter, before);
                break error;
            }
        }
    };
    assert!(matches!(error, ChangeError::Full(_)), "{error}");
    assert_eq!(filter.key_count(), 10);
}

#[test]
fn cuckoo_filters_answer_and_count_as_the_server_and_are_written_as_it_does() {
    for dump in dumps("CF") {
        let filter = RedisCuckoo::from_chunks(dump.chunks()).unwrap();
        dump.check_answers(|item| filter.contains(item));
        for (item, count) in dump.items().iter().zip(dump.numbers("member_counts")) {
            assert_eq!(filter.count(item), count, "{}", dump.name);
        }
        for i in 0..ABSENT {
            let count = dump.record["absent_counts"][i.to_string()].as_u64().unwrap_or(0);
            assert_eq!(filter.count(&format!("absent:{i}")), count, "{}", dump.name);
        }
        assert_eq!(filter.to_chunks(), dump.chunks, "{}", dump.name);
        assert_eq!(RedisCuckoo::from_bytes(&filter.to_bytes()).unwrap(), filter);
    }
}

#[test]
fn cuckoo_filters_of_the_same_items_are_the_same_dump() {
    for dump in dumps("CF") {
        let default = RedisCuckooOptions::default();
        let (capacity, options) = match &*dump.name {
            "cf_bucket4" => {
                (2_000, RedisCuckooOptions { bucket_size: 4, max_moves: 50, ..default })
            }
            "cf_expansion" => (100, RedisCuckooOptions { expansion: 2, ..default }),
            _ => (1_024, default),
        };
        let mut filter = RedisCuckoo::new(capacity, options).unwrap();
        let items = dump.items();
        if dump.name == "cf_counts" {
            // Item i was added 1 + i % 3 times, in passes; then every fifth was removed once.
            for pass in 0..3 {
                for (_, item) in items.iter().enumerate().filter(|(i, _)| pass <= i % 3) {
                    filter.insert(item).unwrap();
                }
            }
            for item in items.iter().step_by(5) {
                filter.remove(item).unwrap();
            }
        } else {
            for item in &items {
                filter.insert(item).unwrap();
            }
        }
        assert_eq!(filter.to_chunks(), dump.chunks, "{}", dump.name);
    }
}

#[test]
fn a_cuckoo_filter_without_place_is_an_error_that_changes_nothing() {
    let options = RedisCuckooOptions { expansion: 0, ..RedisCuckooOptions::default() };
    let mut filter = RedisCuckoo::new(64, options).unwrap();
    for number in 0.. {
        let before = filter.clone();
        if let Err(error) = filter.insert(&format!("item:{number}")) {
            assert!(matches!(error, ChangeError::Full(_)), "{error}");
            assert_eq!(filter, before);
            assert!(number > 32, "it was less than half full");
            (0..number).for_each(|number| assert!(filter.contains(&format!("item:{number}"))));
            break;
        }
    }
    assert!(filter.remove("never").is_err());
}

#[test]
fn damaged_dumps_are_errors_or_filters_and_never_panic() {
    let blooms = dumps("BF").into_iter().map(|dump| ("BF", dump));
    let cuckoos = dumps("CF").into_iter().map(|dump| ("CF", dump));
    for (kind, dump) in blooms.chain(cuckoos) {
        let read = |bytes: &[u8]| -> Option<Box<dyn ForeignFilter>> {
            Some(match kind {
                "BF" => Box::new(RedisBloom::from_bytes(bytes).ok()?),
                _ => Box::new(RedisCuckoo::from_bytes(bytes).ok()?),
            })
        };
        let bytes: Vec<u8> = dump.chunks.iter().flat_map(|(_, chunk)| chunk.clone()).collect();
        for length in (0..300.min(bytes.len())).chain([bytes.len() - 1]) {
            assert!(read(&bytes[..length]).is_none(), "{} cut to {length}", dump.name);
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_none());
        for position in 0..bytes.len().min(250) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[position] = value;
                if let Some(filter) = read(&bytes) {
                    let _ = (filter.expected_fpr(), filter.fill(), filter.parameters());
                    assert_eq!(filter.to_bytes(), bytes);
                }
            }
        }
    }
}

#[test]
fn chunks_that_are_missing_or_swapped_are_errors() {
    let dump = dumps("BF").into_iter().find(|dump| dump.name == "bf_scaling").unwrap();
    for left_out in 0..dump.chunks.len() {
        let mut chunks = dump.chunks.clone();
        chunks.remove(left_out);
        let chunks = chunks.iter().map(|(number, chunk)| (*number, &chunk[..]));
        assert!(RedisBloom::from_chunks(chunks).is_err());
    }
    let swapped = [0, 2, 1, 3, 4].map(|i| (dump.chunks[i].0, &dump.chunks[i].1[..]));
    assert!(RedisBloom::from_chunks(swapped).is_err());
}
