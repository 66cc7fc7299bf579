//! `crivo build`.

use std::io::Write;

use crivo::filter::{AnyFilter, Filter};
use crivo::hash::{Family, SecretKey};

use crate::support::{Folder, KINDS};

#[test]
fn every_kind_holds_its_keys_and_keeps_the_rate() {
    let folder = Folder::new();
    folder.numbers("keys", 0..20_000);
    folder.numbers("again", 10_000..20_000);
    for kind in KINDS {
        let built = folder.ok(&format!("build -o f --kind {kind} --rate 0.02 --json keys again"));
        let facts = built.json();
        assert_eq!(facts["kind"], kind);
        assert_eq!(facts["keys"], 30_000);
        assert_eq!(facts["distinct_keys"], 20_000);
        let filter = folder.load("f");
        assert!((0..20_000u32).all(|key| filter.contains(key.to_string().as_str())), "{kind}");
        // Below 2% by theory; that a hundred thousand questions give 2.2% has a chance below 1e-5.
        let wrong = (20_000..120_000u32).filter(|key| filter.contains(&key.to_string())).count();
        assert!(wrong < 2_200, "{kind}: {wrong}");
        let rate = facts["expected_rate"].as_f64().unwrap();
        assert!(rate > 0.001 && rate <= 0.0201, "{kind}: {rate}");
    }
}

#[test]
fn one_line_a_million_times_builds_in_every_kind() {
    let folder = Folder::new();
    folder.write("same", "crivo\n".repeat(1_000_000));
    for kind in KINDS {
        let facts = folder.ok(&format!("build -o f --kind {kind} --json same")).json();
        assert_eq!((&facts["keys"], &facts["distinct_keys"]), (&1_000_000.into(), &1.into()));
        assert!(facts["expected_rate"].as_f64().unwrap() <= 0.011, "{kind}: {facts}");
        let filter = folder.load("f");
        assert!(filter.contains("crivo"));
        if let AnyFilter::Counting(filter) = &filter {
            assert_eq!(filter.count("crivo").to_string(), "at least 15");
            assert_eq!(filter.key_count(), 1_000_000);
        } else {
            assert_eq!(filter.key_count(), 1, "{kind}");
        }
    }
}

#[test]
fn a_counting_filter_counts_copies() {
    let folder = Folder::new();
    folder.write("words", "ana\nrui\nana\nana\n");
    let said = folder.ok("build -o f --kind counting words");
    assert!(said.err.contains("4 keys (2 distinct)"), "{said:?}");
    let AnyFilter::Counting(filter) = folder.load("f") else { panic!("not counting") };
    assert_eq!(filter.count("ana").to_string(), "at most 3");
    assert_eq!(filter.count("rui").to_string(), "at most 1");
}

#[test]
fn nothing_builds_an_empty_filter_of_every_kind() {
    let folder = Folder::new();
    folder.write("empty", "");
    for kind in KINDS {
        folder.ok(&format!("build -o f --kind {kind} empty"));
        let filter = folder.load("f");
        assert_eq!(filter.key_count(), 0, "{kind}");
        assert!(!filter.contains("ana") && !filter.contains(""), "{kind}");
        folder.ok("inspect f");
    }
    // An empty line is a key, and no line is none.
    folder.write("line", "\n");
    folder.ok("build -o f line");
    assert!(folder.load("f").contains(""));
}

#[test]
fn words_go_to_stderr_and_json_to_stdout() {
    let folder = Folder::new();
    let said = folder.run_with("build -o f", b"ana\nrui\nana\n");
    assert_eq!((said.status, said.out.as_str()), (0, ""));
    assert!(said.err.contains("f: a bloom filter of 3 keys (2 distinct)"), "{said:?}");
    assert!(said.err.contains("bits per key; expected rate of wrong yeses: "), "{said:?}");
    let said = folder.run_with("build -o f --json -", b"ana\n");
    assert_eq!((said.status, said.err.as_str()), (0, ""));
    assert_eq!(said.json()["file"], "f");
    assert!(!said.out.contains('\x1b'));
}

#[test]
fn the_same_keys_give_the_same_bytes_in_any_order() {
    let folder = Folder::new();
    folder.write("a", "ana\nrui\neva\nana\n");
    folder.write("b", "eva\nana\r\nrui");
    for kind in KINDS.into_iter().filter(|&kind| kind != "counting") {
        folder.ok(&format!("build -o a.crivo --kind {kind} --seed 9 a"));
        folder.ok(&format!("build -o b.crivo --kind {kind} --seed 9 b"));
        assert_eq!(folder.read("a.crivo"), folder.read("b.crivo"), "{kind}");
    }
}

#[test]
fn keys_make_room_for_more() {
    let folder = Folder::new();
    folder.numbers("few", 0..10);
    for kind in ["bloom", "blocked", "counting", "cuckoo", "quotient"] {
        folder.ok(&format!("build -o f --kind {kind} --keys 5k few"));
        assert!(folder.load("f").capacity().unwrap() >= 5_000, "{kind}");
    }
    // Too few of them: more wrong yeses where that is possible, and an error where it is not.
    folder.numbers("many", 0..10_000);
    let said = folder.ok("build -o f --keys 1000 many");
    assert!(said.err.contains("warning") && said.err.contains("made for 1,000 keys"), "{said:?}");
    for kind in ["cuckoo", "quotient"] {
        let arguments = format!("build -o none --kind {kind} --keys 1000 many");
        folder.fails(&arguments, &["10,000 distinct keys", "--keys"]);
    }
    assert_eq!(folder.names(), ["f", "few", "many"]);
}

#[test]
fn a_size_is_kept_and_used() {
    let folder = Folder::new();
    folder.numbers("keys", 0..10_000);
    for kind in KINDS {
        let facts = folder.ok(&format!("build -o f --kind {kind} --size 20kB --json keys"));
        if kind == "counting" {
            // Four counters per key: 1 wrong yes in 7.
            assert!(facts.json()["expected_rate"].as_f64().unwrap() < 0.2);
        }
        let bytes = folder.load("f").size_in_bits() / 8;
        assert!((17_000..=20_000).contains(&bytes), "{kind}: {bytes}");
    }
    // With a rate, as many keys as fit.
    let facts = folder.ok("build -o f --size 20kB --rate 1% --json keys").json();
    assert!(facts["capacity"].as_u64().unwrap() > 16_000, "{facts}");
    assert!(facts["expected_rate_at_capacity"].as_f64().unwrap() <= 0.01);
    folder.fails("build -o f --size 2kB --rate 1% keys", &["2.00 kB hold", "there are 10,000"]);
    folder.fails("build -o f --kind cuckoo --size 2kB keys", &["--size", "too little"]);
}

#[test]
fn a_size_that_is_too_small_to_be_of_use_is_warned_of() {
    let folder = Folder::new();
    folder.numbers("keys", 0..10_000);
    for (arguments, words) in [
        ("--size 10", "10 bytes are little for 10,000 keys: the rate of wrong yeses is 100%"),
        ("--size 3kB", "3.00 kB are little for 10,000 keys: the rate of wrong yeses is 3"),
        ("--size 3kB --kind counting", "give a larger --size"),
        (
            "--size 10kB --keys 1000",
            "made for 1,000 keys and holds 10,000: its rate of wrong yeses",
        ),
    ] {
        let said = folder.ok(&format!("build -o f {arguments} keys"));
        assert!(said.err.contains("warning") && said.err.contains(words), "{said:?}");
    }
    assert!(!folder.ok("build -o f --size 12kB keys").err.contains("warning"));
}

#[test]
fn a_growing_filter_tells_the_rate_that_it_keeps() {
    let folder = Folder::new();
    folder.numbers("keys", 0..5_000);
    let said = folder.ok("build -o f --kind growing --rate 1% keys");
    assert!(said.err.contains("wrong yeses: 0.15%, never above 1%"), "{said:?}");
    assert!(folder.ok("size --keys 5000").out.contains("0.15% to 1%"));
    assert!(folder.ok("inspect f").out.contains("; never above 1%"));
}

#[test]
fn a_secret_key_is_needed_again_and_never_stored() {
    let folder = Folder::new();
    let key = *b"0123456789abcdef";
    folder.write("key", key);
    folder.write("hex", "30313233343536373839616263646566\n");
    folder.write("other", [7; 16]);
    folder.write("bad", "too short");
    folder.write("words", "ana\n");
    folder.ok("build -o f --hash sip --key-file key words");
    folder.ok("build -o g --key-file hex words");
    assert_eq!(folder.read("f"), folder.read("g"));
    assert!(!folder.read("f").windows(16).any(|bytes| bytes == key));

    let open = crivo::codec::Open::with_key(SecretKey::new(key));
    let filter: AnyFilter = open.load(folder.path("f")).unwrap();
    assert!(filter.contains("ana"));
    assert_eq!(filter.hasher().family(), Family::Sip24);

    folder.ok("insert f words --key-file hex");
    folder.fails("insert f words", &["secret key", "--key-file"]);
    folder.fails("insert f words --key-file other", &["secret key is not the one"]);
    folder.fails("build -o x --hash sip words", &["--key-file", "/dev/urandom"]);
    folder.fails("build -o x --hash xxh3 --key-file key words", &["--seed"]);
    folder.fails("build -o x --key-file key --seed 1 words", &["--seed has no meaning"]);
    folder.fails("build -o x --key-file bad words", &["32 hexadecimal digits"]);
    folder.fails("build -o x --key-file none words", &["cannot read none"]);
    let told = folder.ok("inspect f");
    assert!(told.out.contains("sip24 with a secret key"), "{told:?}");
    assert!(told.err.contains("--key-file"), "{told:?}");
    assert!(folder.ok("inspect f --key-file key").out.contains("capacity"));
}

#[test]
fn nonsense_is_refused_before_the_input_is_read() {
    let folder = Folder::new();
    // The input does not exist: what is said about the arguments comes first.
    for (arguments, word) in [
        ("--rate 0", "strictly between 0 and 1"),
        ("--rate -1", "strictly between 0 and 1"),
        ("--rate -0.01", "strictly between 0 and 1"),
        ("--keys -5", "number of keys, from 1 on"),
        ("--size -1", "no amount of memory"),
        ("--field -1", "counted from 1"),
        ("--rate 1.5", "strictly between 0 and 1"),
        ("--rate x", "0.01 or 1%"),
        ("--rate 1e-30 --kind cuckoo", "rate"),
        ("--kind bloomy", "bloom"),
        ("--keys 0", "number of keys, from 1 on"),
        ("--keys some", "number of keys"),
        ("--size 64XB", "64MB"),
        ("--size 1 --kind bloom", "too little"),
        ("--keys 5 --rate 0.1 --size 1MB", "leave one out"),
        ("--keys 5 --kind fuse", "no meaning for a fuse filter"),
        ("--seed x", "--seed"),
    ] {
        folder.fails(&format!("build -o f {arguments} no-such-file"), &[word]);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn other_records_and_compressed_files_are_read_too() {
    let folder = Folder::new();
    folder.write("nul", "a\nb\0c\0");
    folder.ok("build -o f --null nul");
    assert!(folder.load("f").contains("a\nb") && folder.load("f").contains("c"));
    folder.write("csv", "id,name\n1,\"da Silva, Ana\"\n2,Rui\n");
    folder.ok("build -o f --csv --column name csv");
    let filter = folder.load("f");
    assert!(filter.contains("da Silva, Ana") && filter.contains("Rui"));
    assert_eq!(filter.key_count(), 2);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"ana\nrui\n").unwrap();
    folder.write("keys.gz", gzip.finish().unwrap());
    folder.ok("build -o f keys.gz");
    assert!(folder.load("f").contains("rui"));
}
