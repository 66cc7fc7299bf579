//! Filters from standard input and pipes, and to standard output.

use crate::support::{TestDir, kinds};

#[test]
fn a_filter_can_come_through_a_pipe_and_go_through_one() {
    let dir = TestDir::new();
    dir.numbers("a", 0..100);
    dir.numbers("b", 50..150);
    dir.ok("build -o f --kind bloom --keys 1000 --fpr 1e-9 a");
    let whole = dir.read("f");
    let built = dir.shell("\"$CRIVO\" build -o - --kind bloom --keys 1000 --fpr 1e-9 a > g");
    assert!(
        built.status == 0 && built.err.contains("standard output: a bloom filter"),
        "{built:?}"
    );
    assert_eq!(dir.read("g"), whole);

    let inserted = dir.shell("\"$CRIVO\" insert - b < f > g");
    assert!(inserted.err.contains("standard input: inserted 50 keys"), "{inserted:?}");
    let filter = dir.load("g");
    assert!((0..150u32).all(|key| filter.contains(&key.to_string())));
    assert_eq!(dir.read("f"), whole);

    let merged = dir.shell("cat f | \"$CRIVO\" merge -q -o - g - > h");
    assert_eq!((merged.status, &*merged.err), (0, ""));
    dir.ok("merge -o i g f");
    assert!(dir.read("h") == dir.read("i"));
    assert_eq!(dir.shell("\"$CRIVO\" query -c - b < f").out, "50\n");

    let expected = dir.ok("inspect f").out.replacen("f:", "standard input:", 1);
    assert_eq!(dir.shell("\"$CRIVO\" inspect - < f").out, expected);
    let piped = dir.shell("mkfifo p && (cat f > p &) && \"$CRIVO\" inspect p");
    assert_eq!(piped.out, dir.ok("inspect f").out.replacen("f:", "p:", 1), "{piped:?}");

    for (arguments, message) in [
        ("query - < f", "standard input is the filter"),
        ("insert - - < f", "standard input is the filter"),
        ("merge -o h - - < f", "only one of the filters"),
        ("build --json -o - a", "--json"),
        ("insert --json - a < f", "--json"),
        ("inspect - < a", "cannot read standard input: this is not a crivo filter"),
        ("query - b < a", "cannot read standard input: this is not a crivo filter"),
        ("inspect --key-file a - < f", "a is not a secret key"),
    ] {
        dir.shell(&format!("\"$CRIVO\" {arguments}")).failed(arguments, &[message]);
    }
    let cut = dir.shell("head -c 200 f | \"$CRIVO\" inspect -");
    cut.failed("inspect", &["cannot read standard input: "]);
}

#[test]
fn a_summary_can_be_left_out() {
    let dir = TestDir::new();
    dir.write("a", "ana\n");
    for arguments in [
        "build -q -o f --kind cuckoo --keys 10 a",
        "insert --quiet f a",
        "merge -q -o g f f",
        "remove -q f a",
    ] {
        let finished = dir.ok(arguments);
        assert!(finished.out.is_empty() && finished.err.is_empty(), "{arguments}: {finished:?}");
    }
    dir.fails("build -q --json -o f a", &["--quiet", "--json"]);
    // One of something is singular.
    let built = dir.ok("build -o f a").err;
    assert!(built.contains("filter of 1 key (1 distinct)"), "{built}");
    let inserted = dir.run_with("insert f", b"rui\n").err;
    assert!(inserted.contains("inserted 1 key;"), "{inserted}");
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[test]
fn a_closed_input_is_an_error() {
    let dir = TestDir::new();
    dir.write("a", "ana\n");
    dir.ok("build -o f a");
    for arguments in ["dedup", "build -o g", "query f", "insert f -", "inspect -", "diff a -"] {
        let closed = dir.shell(&format!("exec \"$CRIVO\" {arguments} <&-"));
        closed.failed(arguments, &["cannot read standard input: it is closed"]);
    }
}

#[cfg(unix)]
#[test]
fn a_missing_directory_for_temporary_files_is_named() {
    let dir = TestDir::new();
    dir.write("a", "ana\n");
    let finished = dir.shell("TMPDIR=./none \"$CRIVO\" diff a - < a");
    finished.failed("diff", &["temporary file in ./none: ", "set TMPDIR to one that there is"]);
}

#[cfg(unix)]
#[test]
fn root_keeps_the_owner_of_a_file() {
    use std::os::unix::fs::{MetadataExt, chown};
    const NOBODY: u32 = 65_534;
    let dir = TestDir::new();
    dir.write("a", "ana\nrui\n");
    dir.ok("build -o f --keys 10 a");
    // Only root may give files away.
    if chown(dir.path("f"), Some(NOBODY), Some(NOBODY)).is_err() {
        return;
    }
    assert_eq!(dir.run_with("insert f", b"eva\n").status, 0);
    let owner = std::fs::metadata(dir.path("f")).unwrap();
    assert_eq!((owner.uid(), owner.gid()), (NOBODY, NOBODY));
    assert!(dir.load("f").contains("eva"));
}

#[test]
fn build_and_inspect_report_the_same_size_of_a_key() {
    let dir = TestDir::new();
    let twice: String = (0..500).map(|n| format!("{}\n", n / 2)).collect();
    dir.write("a", twice);
    for kind in kinds() {
        let built = dir.ok(&format!("build -o f --kind {kind} --json a")).json();
        let inspected = dir.ok("inspect --json f").json();
        assert_eq!(built["bits_per_key"], inspected["bits_per_key"], "{kind}");
    }
}

#[test]
fn an_index_of_similar_sets_is_named() {
    let dir = TestDir::new();
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let golden = format!("{crates}/crivo-sketch/tests/golden/v2-similarity-classic.crivo");
    dir.write("index", std::fs::read(golden).unwrap());
    let finished = dir.ok("inspect index");
    assert!(finished.out.starts_with("index: a similarity index\n"), "{finished:?}");
    assert_eq!(dir.ok("inspect --json index").json()["kind"], "similarity");
    dir.fails("insert index index", &["cannot change index"]);
}
