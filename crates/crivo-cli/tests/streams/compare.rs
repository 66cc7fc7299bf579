//! `crivo diff` and `crivo common`.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{Bench, lines};

/// The lines of `a` that are in `b` if `wanted`, or that are not.
fn naive(a: &str, b: &str, wanted: bool) -> String {
    let in_b: HashSet<&str> = b.lines().collect();
    let keeps = |line: &&str| in_b.contains(line.trim_end_matches('\n')) == wanted;
    a.split_inclusive('\n').filter(keeps).collect()
}

#[test]
fn order_and_repetitions_of_a_are_kept() {
    let bench = Bench::new();
    bench.file("a", "c\nb\na\r\nb\n\nc\nd");
    bench.file("b", "b\n\na\nx");
    assert_eq!(bench.run(["diff", "a", "b"]).text(), "c\nc\nd");
    assert_eq!(bench.run(["common", "a", "b"]).text(), "b\na\r\nb\n\n");
    bench.file("empty", "");
    assert_eq!(bench.run(["diff", "a", "empty"]).text(), "c\nb\na\r\nb\n\nc\nd");
    assert_eq!(bench.run(["common", "a", "empty"]).text(), "");
    assert_eq!(bench.run(["diff", "empty", "a"]).text(), "");
}

#[test]
fn either_can_be_a_pipe() {
    let bench = Bench::new();
    let (a, b) = (lines(0..50_000), lines((0..100_000).step_by(2)));
    bench.file("a", &a);
    bench.file("b", &b);
    let only = naive(&a, &b, false);
    assert!(bench.run_with(["diff", "-", "b"], a.as_bytes()).text() == only);
    assert!(bench.run_with(["diff", "a", "-"], b.as_bytes()).text() == only);
    assert!(bench.run_with(["common", "-", "b"], a.as_bytes()).text() == naive(&a, &b, true));
    let error = bench.run(["diff", "-", "-"]).error();
    assert!(error.contains("only one of A and B"), "{error}");
}

#[cfg(unix)]
#[test]
fn both_can_be_named_pipes() {
    let bench = Bench::new();
    let command =
        format!("'{}' diff <(printf 'a\\nb\\n') <(printf 'b\\n')", env!("CARGO_BIN_EXE_crivo"));
    let output = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(bench.path("."))
        .output();
    // Where there is no bash, there is no such pipe either.
    if let Ok(output) = output {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n");
    }
}

#[test]
fn little_memory_changes_nothing() {
    let bench = Bench::new();
    let a = lines((0..300_000).map(|number| number * 7 % 200_003));
    let b = lines((0..200_000).map(|number| number * 3 + 1));
    bench.file("a", &a);
    bench.file("b", &b);
    for memory in ["1GB", "1MB", "0"] {
        let args = ["--memory", memory, "a", "b"];
        let only = bench.run(["diff"].iter().chain(&args)).text();
        assert!(only == naive(&a, &b, false), "diff --memory {memory}");
        let both = bench.run(["common"].iter().chain(&args)).text();
        assert!(both == naive(&a, &b, true), "common --memory {memory}");
    }
}

#[test]
fn unchecked_answers_err_on_one_side_only() {
    let bench = Bench::new();
    let (a, b) = (lines(0..100_000), lines((0..200_000).step_by(2)));
    bench.file("a", &a);
    bench.file("b", &b);
    let exact: HashSet<String> = naive(&a, &b, false).lines().map(str::to_owned).collect();
    let ended = bench.run(["diff", "--approx", "a", "b"]);
    assert!(ended.stderr.contains("not checked"), "{}", ended.stderr);
    let printed = ended.text();
    assert!(printed.lines().all(|line| exact.contains(line)));
    // 1% of 50,000 are missing. The filter's seed is the run's: 500, give or take 30 at most.
    let missing = exact.len() - printed.lines().count();
    assert!((300..700).contains(&missing), "{missing}");
    let both = bench.run_with(["common", "--approx", "--rate", "0.1", "-", "b"], a.as_bytes());
    let both = both.text().lines().count();
    assert!((54_000..56_000).contains(&both), "{both}");
}

#[test]
fn a_column_can_be_compared() {
    let bench = Bench::new();
    bench.file("users.csv", "id,email\n1,\"ana@x\"\n2,bob@x\n3,\"c,d@x\"\n");
    bench.file("gone.csv", "email,since\nbob@x,2020\n\"c,d@x\",2021\n");
    let args = ["--csv", "--column", "email", "users.csv", "gone.csv"];
    assert_eq!(bench.run(["diff"].iter().chain(&args)).text(), "id,email\n1,\"ana@x\"\n");
    let both = bench.run(["common"].iter().chain(&args)).text();
    assert_eq!(both, "id,email\n2,bob@x\n3,\"c,d@x\"\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: prop::test_runner::RngSeed::Fixed(2), ..Default::default() })]

    #[test]
    fn as_the_naive_way(
        a in prop::collection::vec(0u64..4_000, 0..6_000),
        b in prop::collection::vec(2_000u64..6_000, 0..6_000),
    ) {
        let (a, b) = (lines(a), lines(b));
        let bench = Bench::new();
        bench.file("a", &a);
        let only = bench.run_with(["diff", "--memory", "0", "a", "-"], b.as_bytes()).text();
        prop_assert_eq!(only, naive(&a, &b, false));
        let both = bench.run_with(["common", "a", "-"], b.as_bytes()).text();
        prop_assert_eq!(both, naive(&a, &b, true));
    }
}
