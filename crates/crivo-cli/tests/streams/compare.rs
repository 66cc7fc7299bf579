//! `crivo diff` and `crivo common`.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::{TestDir, lines};

/// The lines of `a` that are in `b` if `wanted`, or that are not.
fn naive(a: &str, b: &str, wanted: bool) -> String {
    let in_b: HashSet<&str> = b.lines().collect();
    let keeps = |line: &&str| in_b.contains(line.trim_end_matches('\n')) == wanted;
    a.split_inclusive('\n').filter(keeps).collect()
}

#[test]
fn order_and_repetitions_of_a_are_kept() {
    let dir = TestDir::new();
    dir.file("a", "c\nb\na\r\nb\n\nc\nd");
    dir.file("b", "b\n\na\nx");
    assert_eq!(dir.run(["diff", "a", "b"]).text(), "c\nc\nd");
    assert_eq!(dir.run(["common", "a", "b"]).text(), "b\na\r\nb\n\n");
    dir.file("empty", "");
    assert_eq!(dir.run(["diff", "a", "empty"]).text(), "c\nb\na\r\nb\n\nc\nd");
    assert_eq!(dir.run(["common", "a", "empty"]).text(), "");
    assert_eq!(dir.run(["diff", "empty", "a"]).text(), "");
}

#[test]
fn either_can_be_a_pipe() {
    let dir = TestDir::new();
    let (a, b) = (lines(0..50_000), lines((0..100_000).step_by(2)));
    dir.file("a", &a);
    dir.file("b", &b);
    let only = naive(&a, &b, false);
    assert!(dir.run_with(["diff", "-", "b"], a.as_bytes()).text() == only);
    assert!(dir.run_with(["diff", "a", "-"], b.as_bytes()).text() == only);
    assert!(dir.run_with(["common", "-", "b"], a.as_bytes()).text() == naive(&a, &b, true));
    let error = dir.run(["diff", "-", "-"]).error();
    assert!(error.contains("only one of A and B"), "{error}");
}

#[cfg(unix)]
#[test]
fn both_can_be_named_pipes() {
    let dir = TestDir::new();
    let command =
        format!("'{}' diff <(printf 'a\\nb\\n') <(printf 'b\\n')", env!("CARGO_BIN_EXE_crivo"));
    let output = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(dir.path("."))
        .output();
    // Without bash there is nothing to test.
    if let Ok(output) = output {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n");
    }
}

#[test]
fn little_memory_changes_nothing() {
    let dir = TestDir::new();
    let a = lines((0..300_000).map(|number| number * 7 % 200_003));
    let b = lines((0..200_000).map(|number| number * 3 + 1));
    dir.file("a", &a);
    dir.file("b", &b);
    for memory in ["1GB", "1MB", "0"] {
        let args = ["--memory", memory, "a", "b"];
        let only = dir.run(["diff"].iter().chain(&args)).text();
        assert!(only == naive(&a, &b, false), "diff --memory {memory}");
        let both = dir.run(["common"].iter().chain(&args)).text();
        assert!(both == naive(&a, &b, true), "common --memory {memory}");
    }
}

#[test]
fn approximate_answers_have_only_false_positives() {
    let dir = TestDir::new();
    let (a, b) = (lines(0..100_000), lines((0..200_000).step_by(2)));
    dir.file("a", &a);
    dir.file("b", &b);
    let exact: HashSet<String> = naive(&a, &b, false).lines().map(str::to_owned).collect();
    let finished = dir.run(["diff", "--approx", "a", "b"]);
    assert!(finished.stderr.contains("not checked"), "{}", finished.stderr);
    let printed = finished.text();
    assert!(printed.lines().all(|line| exact.contains(line)));
    // 1% of 50,000 are missing, with a standard deviation below 30; the seed is random.
    let missing = exact.len() - printed.lines().count();
    assert!((300..700).contains(&missing), "{missing}");
    let both = dir.run_with(["common", "--approx", "--fpr", "0.1", "-", "b"], a.as_bytes());
    let both = both.text().lines().count();
    assert!((54_000..56_000).contains(&both), "{both}");
}

/// A log that grows while it is compared: every line that it ever has is in B. Lines have eight bytes,
/// so that no page boundary divides one that is being written.
#[test]
fn lines_appended_meanwhile_are_not_printed() {
    let dir = TestDir::new();
    let line = |number: u64| format!("{number:07}\n");
    let a = dir.file("a", (0..50_000).map(line).collect::<String>());
    dir.file("b", (0..3_000_000).map(line).collect::<String>());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut a = File::options().append(true).open(&a).unwrap();
            let mut numbers = 50_000..3_000_000;
            while !stop.load(Ordering::Relaxed) {
                let Some(number) = numbers.next() else { break };
                a.write_all(line(number).as_bytes()).unwrap();
            }
        });
        // Read once, and read twice.
        for memory in ["1GB", "0", "1GB", "0"] {
            let finished = dir.run(["diff", "--memory", memory, "a", "b"]);
            assert_eq!((finished.status, finished.text()), (Some(0), String::new()));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn several_files_on_the_right_are_one_set() {
    let dir = TestDir::new();
    dir.file("a", "1\n2\n3\n4\n2\n");
    dir.file("b", "2\n9");
    dir.file("c", "4\n");
    let diff = dir.run(["diff", "a", "b", "c"]);
    assert_eq!(diff.stderr, "crivo: 2 of 5 records of a are not in any of 2 files\n");
    assert_eq!(diff.text(), "1\n3\n");
    let common = dir.run(["common", "--memory", "0", "a", "c", "b"]);
    assert_eq!(common.stderr, "crivo: 3 of 5 records of a are also in any of 2 files\n");
    assert_eq!(common.text(), "2\n4\n2\n");
    assert_eq!(dir.run_with(["diff", "a", "b", "-"], b"1\n").text(), "3\n4\n");
    assert_eq!(dir.run(["diff", "--approx", "--fpr", "1e-9", "a", "b", "c"]).text(), "1\n3\n");
    for (args, message) in
        [(["diff", "-", "b", "-"], "only one"), (["diff", "a", "b", "no"], "cannot read no")]
    {
        let error = dir.run(args).error();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn records_can_be_counted_or_only_looked_for() {
    let dir = TestDir::new();
    dir.file("a", "1\n2\n3\n2\n");
    dir.file("b", "2\n");
    dir.file("none", "0\n");
    let counted = dir.run(["common", "--count", "a", "b"]);
    assert_eq!(counted.stderr, "crivo: 2 of 4 records of a are also in b\n");
    assert_eq!(counted.text(), "2\n");
    assert_eq!(dir.run(["diff", "-c", "--approx", "--fpr", "1e-9", "a", "b"]).text(), "2\n");
    assert_eq!(dir.run(["diff", "-c", "a", "a"]).text(), "0\n");
    for (args, status) in [
        (&["diff", "-q", "a", "b"][..], 0),
        (&["diff", "--quiet", "a", "a"], 1),
        (&["common", "--quiet", "a", "b"], 0),
        (&["common", "--quiet", "a", "none"], 1),
        (&["common", "--quiet", "--approx", "--fpr", "1e-9", "a", "none"], 1),
        (&["diff", "--quiet", "--approx", "a", "none"], 0),
    ] {
        let finished = dir.run(args);
        assert_eq!(
            (finished.status, finished.stdout, &*finished.stderr),
            (Some(status), vec![], "")
        );
    }
    assert_eq!(dir.run(["common", "a", "none"]).status, Some(0));
}

#[test]
fn the_sides_can_have_different_keys() {
    let dir = TestDir::new();
    dir.file("orders.csv", "id,customer,day\n1,ana,mo\n2,bia,tu\n3,cid,mo\n");
    dir.file("people.csv", "name,weekday\nana,mo\nbia,mo\n");
    let columns =
        ["--csv", "--column", "customer", "--column-b", "name", "orders.csv", "people.csv"];
    let args = ["diff"].into_iter().chain(columns);
    assert_eq!(dir.run(args).text(), "id,customer,day\n3,cid,mo\n");
    let two = ["common", "--csv", "--column", "customer", "--column", "day"];
    let theirs = ["--column-b", "name", "--column-b", "weekday", "orders.csv", "people.csv"];
    assert_eq!(dir.run(two.iter().chain(&theirs)).text(), "id,customer,day\n1,ana,mo\n");
    let error =
        dir.run(two.iter().chain(&["--column-b", "name", "orders.csv", "people.csv"])).error();
    assert!(error.contains("2 parts and 1 part"), "{error}");

    dir.file("a.tsv", "x\t1\ny\t2\n");
    dir.file("b.txt", "2;q\n");
    let fields = ["diff", "--field", "2", "--field-b", "1", "--delimiter-b", ";", "a.tsv", "b.txt"];
    assert_eq!(dir.run(fields).text(), "x\t1\n");
    dir.file("a.jsonl", "{\"id\":\"x\"}\n{\"id\":\"y\"}\n");
    dir.file("b.jsonl", "{\"user\":{\"id\":\"y\"}}\n");
    let json = ["diff", "--json-key", "/id", "--json-key-b", "/user/id", "a.jsonl", "b.jsonl"];
    assert_eq!(dir.run(json).text(), "{\"id\":\"x\"}\n");
    dir.file("a.csv", "x,\"1\"\ny,2\n");
    dir.file("b.csv", "2,q\n");
    let csv = ["diff", "--csv", "--no-header", "--field", "2", "--field-b", "1", "a.csv", "b.csv"];
    assert_eq!(dir.run(csv).text(), "x,\"1\"\n");
}

#[test]
fn a_column_can_be_compared() {
    let dir = TestDir::new();
    dir.file("users.csv", "id,email\n1,\"ana@x\"\n2,bob@x\n3,\"c,d@x\"\n");
    dir.file("gone.csv", "email,since\nbob@x,2020\n\"c,d@x\",2021\n");
    let args = ["--csv", "--column", "email", "users.csv", "gone.csv"];
    assert_eq!(dir.run(["diff"].iter().chain(&args)).text(), "id,email\n1,\"ana@x\"\n");
    let both = dir.run(["common"].iter().chain(&args)).text();
    assert_eq!(both, "id,email\n2,bob@x\n3,\"c,d@x\"\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: prop::test_runner::RngSeed::Fixed(2), ..Default::default() })]

    #[test]
    fn diff_and_common_agree_with_a_hash_set(
        a in prop::collection::vec(0u64..4_000, 0..6_000),
        b in prop::collection::vec(2_000u64..6_000, 0..6_000),
    ) {
        let (a, b) = (lines(a), lines(b));
        let dir = TestDir::new();
        dir.file("a", &a);
        let only = dir.run_with(["diff", "--memory", "0", "a", "-"], b.as_bytes()).text();
        prop_assert_eq!(only, naive(&a, &b, false));
        let both = dir.run_with(["common", "a", "-"], b.as_bytes()).text();
        prop_assert_eq!(both, naive(&a, &b, true));
    }
}
