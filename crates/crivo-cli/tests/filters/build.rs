//! `crivo build`.

use std::io::Write;

use crivo::filter::AnyFilter;
use crivo::hash::{Family, SecretKey};

use crate::support::{TestDir, counts_copies, kinds, kinds_that};

#[test]
fn every_kind_contains_its_keys_and_keeps_the_fpr() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..20_000);
    dir.numbers("again", 10_000..20_000);
    for kind in kinds() {
        let built = dir.ok(&format!("build -o f --kind {kind} --fpr 0.02 --json keys again"));
        let facts = built.json();
        assert_eq!(facts["kind"], kind);
        assert_eq!(facts["keys"], 30_000);
        assert_eq!(facts["distinct_keys"], 20_000);
        let filter = dir.load("f");
        assert!((0..20_000u32).all(|key| filter.contains(key.to_string().as_str())), "{kind}");
        // Below 2% by theory; 2.2% of 100,000 queries has a probability below 1e-5.
        let false_positives =
            (20_000..120_000u32).filter(|key| filter.contains(&key.to_string())).count();
        assert!(false_positives < 2_200, "{kind}: {false_positives}");
        let fpr = facts["expected_fpr"].as_f64().unwrap();
        assert!(fpr > 0.001 && fpr <= 0.0201, "{kind}: {fpr}");
    }
}

#[test]
fn one_line_a_million_times_builds_in_every_kind() {
    let dir = TestDir::new();
    dir.write("same", "crivo\n".repeat(1_000_000));
    for kind in kinds() {
        let facts = dir.ok(&format!("build -o f --kind {kind} --json same")).json();
        assert_eq!((&facts["keys"], &facts["distinct_keys"]), (&1_000_000.into(), &1.into()));
        assert!(facts["expected_fpr"].as_f64().unwrap() <= 0.011, "{kind}: {facts}");
        let filter = dir.load("f");
        assert!(filter.contains("crivo"));
        if counts_copies(kind) {
            assert_eq!(filter.count("crivo").unwrap().to_string(), "at least 15");
            assert_eq!(filter.key_count(), 1_000_000);
        } else {
            assert_eq!(filter.key_count(), 1, "{kind}");
        }
    }
}

#[test]
fn a_counting_filter_counts_copies() {
    let dir = TestDir::new();
    dir.write("words", "ana\nrui\nana\nana\n");
    for kind in kinds_that(|can| can.free_copies) {
        let finished = dir.ok(&format!("build -o f --kind {kind} words"));
        assert!(finished.err.contains("4 keys (2 distinct)"), "{finished:?}");
        let filter = dir.load("f");
        assert_eq!(filter.count("ana").unwrap().to_string(), "at most 3");
        assert_eq!(filter.count("rui").unwrap().to_string(), "at most 1");
    }
}

#[test]
fn an_empty_input_builds_an_empty_filter_of_every_kind() {
    let dir = TestDir::new();
    dir.write("empty", "");
    for kind in kinds() {
        dir.ok(&format!("build -o f --kind {kind} empty"));
        let filter = dir.load("f");
        assert_eq!(filter.key_count(), 0, "{kind}");
        assert!(!filter.contains("ana") && !filter.contains(""), "{kind}");
        dir.ok("inspect f");
    }
    // An empty line is a key.
    dir.write("line", "\n");
    dir.ok("build -o f line");
    assert!(dir.load("f").contains(""));
}

#[test]
fn a_full_table_tells_only_how_many_keys_there_are_at_least() {
    let dir = TestDir::new();
    let lines: String = (0..5_000).map(|key| format!("{key}\n")).collect();
    let finished = dir.run_with("build -o f --kind bloom --keys 10 -", lines.as_bytes());
    assert_eq!(finished.status, 0);
    assert!(finished.err.contains("of 5,000 keys (at least "), "{finished:?}");
    let finished = dir.run_with("build -o f --kind bloom --keys 10 --json -", lines.as_bytes());
    assert_eq!(finished.json()["distinct_keys_are_minimum"], true);
    let filter = dir.load("f");
    assert!((0..5_000).all(|key| filter.contains(&*key.to_string())));
}

#[test]
fn messages_go_to_stderr_and_json_to_stdout() {
    let dir = TestDir::new();
    let finished = dir.run_with("build -o f", b"ana\nrui\nana\n");
    assert_eq!((finished.status, finished.out.as_str()), (0, ""));
    assert!(finished.err.contains("f: a bloom filter of 3 keys (2 distinct)"), "{finished:?}");
    assert!(finished.err.contains("bits per key; expected false-positive rate: "), "{finished:?}");
    let finished = dir.run_with("build -o f --json -", b"ana\n");
    assert_eq!((finished.status, finished.err.as_str()), (0, ""));
    assert_eq!(finished.json()["file"], "f");
    assert!(!finished.out.contains('\x1b'));
}

#[test]
fn the_same_keys_give_the_same_bytes_in_any_order() {
    let dir = TestDir::new();
    dir.write("a", "ana\nrui\neva\nana\n");
    dir.write("b", "eva\nana\r\nrui");
    for kind in kinds_that(|can| !can.free_copies) {
        dir.ok(&format!("build -o a.crivo --kind {kind} --seed 9 a"));
        dir.ok(&format!("build -o b.crivo --kind {kind} --seed 9 b"));
        assert_eq!(dir.read("a.crivo"), dir.read("b.crivo"), "{kind}");
    }
}

#[test]
fn keys_sets_the_capacity() {
    let dir = TestDir::new();
    dir.numbers("few", 0..10);
    for kind in kinds_that(|can| can.insert && !can.unlimited) {
        dir.ok(&format!("build -o f --kind {kind} --keys 5k few"));
        assert!(dir.load("f").capacity().unwrap() >= 5_000, "{kind}");
    }
    // Beyond the capacity: a higher FPR where that is possible, otherwise an error.
    dir.numbers("many", 0..10_000);
    let finished = dir.ok("build -o f --keys 1000 many");
    assert!(
        finished.err.contains("warning") && finished.err.contains("made for 1,000 keys"),
        "{finished:?}"
    );
    for kind in ["cuckoo", "quotient"] {
        let arguments = format!("build -o none --kind {kind} --keys 1000 many");
        dir.fails(&arguments, &["10,000 distinct keys", "--keys"]);
    }
    assert_eq!(dir.names(), ["f", "few", "many"]);
}

/// Kinds whose copies of a key take no room need no set of distinct keys. The estimates are those of
/// tables that are two thirds full, which scatter by less than 0.3%.
#[test]
fn with_keys_a_filter_that_needs_no_set_is_filled_while_the_input_is_read() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..20_000);
    dir.numbers("again", 10_000..20_000);
    let needs_set: Vec<_> =
        kinds_that(|can| can.insert && can.remove && !can.free_copies).collect();
    for kind in kinds_that(|can| can.insert) {
        let arguments = format!("build -o f --kind {kind} --keys 30k --fpr 0.02");
        let facts = dir.ok(&format!("{arguments} --json keys again")).json();
        assert_eq!(facts["keys"], 30_000);
        let distinct = facts["distinct_keys"].as_u64().unwrap();
        let is_estimate = !needs_set.contains(&kind);
        assert_eq!(facts["distinct_keys_are_estimated"], is_estimate, "{kind}");
        assert_eq!(facts["distinct_keys_are_minimum"], false, "{kind}");
        let (from, to) = if is_estimate { (19_600, 20_400) } else { (20_000, 20_000) };
        assert!((from..=to).contains(&distinct), "{kind}: {distinct}");
        let filter = dir.load("f");
        assert!((0..20_000u32).all(|key| filter.contains(key.to_string().as_str())), "{kind}");
        let false_positives =
            (20_000..120_000u32).filter(|key| filter.contains(&key.to_string())).count();
        assert!(false_positives < 2_200, "{kind}: {false_positives}");
        let message = dir.ok(&format!("{arguments} keys again")).err;
        assert_eq!(message.contains("30,000 keys (about "), is_estimate, "{message}");
    }
}

#[test]
fn with_keys_copies_are_one_key_or_counted() {
    let dir = TestDir::new();
    dir.write("same", "crivo\n".repeat(50_000));
    for kind in kinds_that(|can| can.insert) {
        let facts = dir.ok(&format!("build -o f --kind {kind} --keys 10 --json same")).json();
        assert_eq!((&facts["keys"], &facts["distinct_keys"]), (&50_000.into(), &1.into()));
        assert_eq!(dir.load("f").key_count(), if counts_copies(kind) { 50_000 } else { 1 });
    }
    // Keys that all seemed new are certainly distinct.
    dir.write("words", "ana\nrui\n");
    let finished = dir.ok("build -o f --keys 1000 words");
    assert!(finished.err.contains("2 keys (2 distinct)"), "{finished:?}");
}

#[test]
fn the_memory_for_digests_changes_no_filter() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..20_000);
    for kind in ["fuse", "sharded-fuse", "quotient", "counting", "bloom"] {
        dir.ok(&format!("build -o f --kind {kind} keys keys"));
        dir.ok(&format!("build -o g --kind {kind} --memory 1kB keys keys"));
        assert_eq!(dir.read("f"), dir.read("g"), "{kind}");
    }
    dir.numbers("more", 20_000..21_000);
    dir.ok("insert g --memory 1kB more");
    dir.fails("build -o f --memory none keys", &["not an amount of memory"]);
}

/// Enough keys for two shards, and for temporary files where there is little memory.
#[test]
fn a_fuse_filter_of_many_keys_is_in_shards() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..2_200_000);
    dir.numbers("some", 100_000..200_000);
    dir.numbers("others", 3_000_000..3_200_000);
    let facts = dir.ok("build -o f --kind fuse --json keys some").json();
    assert_eq!(facts["kind"], "sharded-fuse");
    assert_eq!((&facts["keys"], &facts["distinct_keys"]), (&2_300_000.into(), &2_200_000.into()));
    dir.ok("build -o g --kind fuse --memory 1kB some keys");
    assert!(dir.read("f") == dir.read("g"));
    assert_eq!(dir.ok("query -c f keys").out, "2200000\n");
    // 7 bits: 1,562.5 are expected, with a standard deviation of 39. One in a million is 5 of them.
    let found: i32 = dir.ok("query -c f others").out.trim().parse().unwrap();
    assert!((found - 1_562).abs() < 200, "{found}");
    // Just as many keys as a fuse filter without shards takes.
    dir.numbers("fewer", 0..1 << 21);
    assert_eq!(dir.ok("build -o f --kind fuse --json fewer").json()["kind"], "fuse");
}

#[test]
fn a_size_is_kept_and_used() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..10_000);
    for kind in kinds() {
        let facts = dir.ok(&format!("build -o f --kind {kind} --size 20kB --json keys"));
        if kind == "counting" {
            // Four counters per key: an FPR of 1 in 7.
            assert!(facts.json()["expected_fpr"].as_f64().unwrap() < 0.2);
        }
        let bytes = dir.load("f").size_in_bits() / 8;
        assert!((17_000..=20_000).contains(&bytes), "{kind}: {bytes}");
    }
    // With --fpr, as many keys as fit.
    let facts = dir.ok("build -o f --size 20kB --fpr 1% --json keys").json();
    assert!(facts["capacity"].as_u64().unwrap() > 16_000, "{facts}");
    assert!(facts["expected_fpr_at_capacity"].as_f64().unwrap() <= 0.01);
    dir.fails("build -o f --size 2kB --fpr 1% keys", &["2.00 kB hold", "there are 10,000"]);
    dir.fails("build -o f --kind cuckoo --size 2kB keys", &["--size", "too little"]);
}

#[test]
fn a_size_that_is_too_small_causes_a_warning() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..10_000);
    for (arguments, message) in [
        ("--size 3kB", "3.00 kB are too little for 10,000 keys: the false-positive rate is 3"),
        ("--size 3kB --kind counting", "raise --size"),
        ("--size 10kB --keys 1000", "made for 1,000 keys and holds about "),
    ] {
        let finished = dir.ok(&format!("build -o f {arguments} keys"));
        assert!(finished.err.contains("warning") && finished.err.contains(message), "{finished:?}");
    }
    assert!(!dir.ok("build -o f --size 12kB keys").err.contains("warning"));
    // A filter that takes every key for a member is none.
    dir.fails("build -o g --size 10 keys", &["10 bytes are too little", "10,000 keys"]);
}

#[test]
fn a_growing_filter_reports_the_fpr_that_it_keeps() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..5_000);
    let finished = dir.ok("build -o f --kind growing --fpr 1% keys");
    assert!(finished.err.contains("false-positive rate: 0.15%, never above 1%"), "{finished:?}");
    assert!(dir.ok("size --keys 5000").out.contains("0.15% to 1%"));
    assert!(dir.ok("inspect f").out.contains("; never above 1%"));
}

#[test]
fn a_secret_key_is_needed_again_and_never_stored() {
    let dir = TestDir::new();
    let key = *b"0123456789abcdef";
    dir.write("key", key);
    dir.write("hex", "30313233343536373839616263646566\n");
    dir.write("other", [7; 16]);
    dir.write("bad", "too short");
    dir.write("words", "ana\n");
    dir.ok("build -o f --hash sip --key-file key words");
    dir.ok("build -o g --key-file hex words");
    assert_eq!(dir.read("f"), dir.read("g"));
    assert!(!dir.read("f").windows(16).any(|bytes| bytes == key));

    let options = crivo::codec::LoadOptions::new().secret_key(SecretKey::new(key));
    let filter: AnyFilter = options.load(dir.path("f")).unwrap();
    assert!(filter.contains("ana"));
    assert_eq!(filter.hasher().family(), Family::Sip24);

    dir.ok("insert f words --key-file hex");
    dir.fails("insert f words", &["secret key", "--key-file"]);
    dir.fails("insert f words --key-file other", &["secret key is not the one"]);
    dir.fails("build -o x --hash sip words", &["--key-file", "/dev/urandom"]);
    dir.fails("build -o x --hash xxh3 --key-file key words", &["--seed"]);
    dir.fails("build -o x --key-file key --seed 1 words", &["--seed has no meaning"]);
    dir.fails("build -o x --key-file bad words", &["32 hexadecimal digits"]);
    dir.fails("build -o x --key-file none words", &["cannot read none"]);
    let finished = dir.ok("inspect f");
    assert!(finished.out.contains("sip24 with a secret key"), "{finished:?}");
    assert!(finished.err.contains("--key-file"), "{finished:?}");
    assert!(dir.ok("inspect f --key-file key").out.contains("capacity"));
}

#[test]
fn invalid_arguments_are_rejected_before_the_input_is_read() {
    let dir = TestDir::new();
    // The input does not exist: errors in the arguments come first.
    for (arguments, message) in [
        ("--fpr 0", "strictly between 0 and 1"),
        ("--fpr -1", "strictly between 0 and 1"),
        ("--fpr -0.01", "strictly between 0 and 1"),
        ("--keys -5", "number of keys, which is at least 1"),
        ("--size -1", "not an amount of memory"),
        ("--field -1", "counted from 1"),
        ("--fpr 1.5", "strictly between 0 and 1"),
        ("--fpr x", "0.01 or 1%"),
        ("--fpr 1e-30 --kind cuckoo", "digests have only 64 bits"),
        ("--kind bloomy", "bloom"),
        ("--keys 0", "number of keys, which is at least 1"),
        ("--keys some", "number of keys"),
        ("--size 64XB", "64MB"),
        ("--size 1 --kind bloom", "too little"),
        ("--keys 5 --fpr 0.1 --size 1MB", "leave one out"),
        ("--keys 5 --kind fuse", "no meaning for a fuse filter"),
        ("--seed x", "--seed"),
    ] {
        dir.fails(&format!("build -o f {arguments} no-such-file"), &[message]);
    }
    assert!(dir.names().is_empty());
}

#[test]
fn other_records_and_compressed_files_are_read() {
    let dir = TestDir::new();
    dir.write("nul", "a\nb\0c\0");
    dir.ok("build -o f --null nul");
    assert!(dir.load("f").contains("a\nb") && dir.load("f").contains("c"));
    dir.write("csv", "id,name\n1,\"da Silva, Ana\"\n2,Rui\n");
    dir.ok("build -o f --csv --column name csv");
    let filter = dir.load("f");
    assert!(filter.contains("da Silva, Ana") && filter.contains("Rui"));
    assert_eq!(filter.key_count(), 2);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"ana\nrui\n").unwrap();
    dir.write("keys.gz", gzip.finish().unwrap());
    dir.ok("build -o f keys.gz");
    assert!(dir.load("f").contains("rui"));
}

#[test]
fn rate_is_a_hidden_alias_of_fpr() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o a --fpr 0.02 words");
    dir.ok("build -o b --rate 0.02 words");
    assert_eq!(dir.read("a"), dir.read("b"));
    for command in ["build", "size", "dedup", "diff"] {
        let help = dir.ok(&format!("{command} --help")).out;
        assert!(help.contains("--fpr <FPR>") && !help.contains("--rate"), "{help}");
    }
}
