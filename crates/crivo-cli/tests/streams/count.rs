//! `crivo count`.

use std::collections::HashSet;

use super::{TestDir, lines};

/// Records, some of them repeated, and how many are distinct.
fn numbers(count: u64, distinct: u64) -> (String, u64) {
    let numbers: Vec<u64> =
        (0..count).map(|number| number * 48_271 % 1_000_003 % distinct).collect();
    let different = numbers.iter().collect::<HashSet<_>>().len() as u64;
    (lines(numbers), different)
}

#[test]
fn exact_counts_are_exact_in_any_memory() {
    let dir = TestDir::new();
    for (count, distinct) in [(0, 1), (1, 1), (300_000, 200_000), (300_000, 10)] {
        let (text, expected) = numbers(count, distinct);
        dir.file("input", &text);
        for memory in ["1GB", "1MB", "0"] {
            let finished = dir.run(["count", "--memory", memory, "input"]);
            assert_eq!(finished.stderr, "");
            assert_eq!(finished.text(), format!("{expected}\n"), "--memory {memory}");
        }
        let report = dir.run_with(["count", "--json"], text.as_bytes()).text();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["records"], &report["distinct"]), (&count.into(), &expected.into()));
    }
    assert_eq!(dir.run_with(["count"], b"a\r\na\n\nb\n\n").text(), "3\n");
    assert_eq!(dir.run_with(["count", "--field", "2", "-d", ","], b"a,1\nb,1\nc,2").text(), "2\n");
}

/// Keys are hashed without a seed, so that the outcome is always the same. An estimate of 1% is beyond
/// four standard errors once in 16,000.
#[test]
fn estimates_are_near_and_can_be_merged() {
    let dir = TestDir::new();
    let estimate = |args: &[&str]| {
        let report = dir.run(args.iter().copied().chain(["--json"])).text();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let number = |name: &str| report[name].as_f64().unwrap();
        assert!(number("lower_bound") <= number("distinct"));
        assert!(number("distinct") <= number("upper_bound"));
        (number("distinct"), number("standard_error"))
    };
    let is_near = |(estimate, error): (f64, f64), truth: f64| {
        assert!((estimate / truth - 1.0).abs() < 4.0 * error, "{estimate} of {truth}, {error}");
        assert!(error <= 0.05, "{error}");
    };
    for (name, range) in [("a", 0..60_000), ("b", 40_000..100_000), ("few", 99_998..100_003)] {
        dir.file(name, lines(range.clone()));
        let (sketch, truth) = (format!("{name}.hll"), (range.end - range.start) as f64);
        for error in ["5%", "0.01", "0.1%"] {
            is_near(estimate(&["count", "--approx", "--error", error, "-o", &sketch, name]), truth);
        }
    }
    is_near(estimate(&["count", "--merge", "a.hll", "b.hll"]), 100_000.0);
    is_near(
        estimate(&["count", "--merge", "-o", "all.hll", "a.hll", "b.hll", "few.hll"]),
        100_003.0,
    );
    is_near(estimate(&["count", "--merge", "all.hll", "few.hll"]), 100_003.0);
    assert_eq!(dir.run(["count", "--merge", "--quiet", "few.hll", "few.hll"]).text(), "5\n");
    // Sketches of different sizes are merged to the smaller.
    estimate(&["count", "--approx", "--error", "5%", "-o", "b.hll", "b"]);
    let (merged, error) = estimate(&["count", "--merge", "a.hll", "b.hll"]);
    assert!(error > 0.02, "{error}");
    is_near((merged, error), 100_000.0);
    let said = dir.run(["count", "--approx", "a"]);
    assert!(said.stderr.starts_with("crivo: an estimate with a standard error of 0.651%; "));
}

#[test]
fn bad_sketches_and_options_are_errors() {
    let dir = TestDir::new();
    dir.file("text", "a\n");
    dir.file("empty", "");
    for (args, message) in [
        (&["count", "-o", "x.hll", "text"][..], "needs --approx or --merge"),
        (&["count", "--merge"], "names of sketches"),
        (&["count", "--merge", "text"], "text is not a sketch"),
        (&["count", "--merge", "empty"], "empty is not a sketch"),
        (&["count", "--merge", "missing"], "cannot read missing"),
        (&["count", "--approx", "--error", "0", "text"], "from 0.08% to 25%"),
        (&["count", "--error", "1%", "text"], "--approx"),
    ] {
        let error = dir.run(args).error();
        assert!(error.contains(message), "{error}");
    }
    assert!(!dir.path("x.hll").exists());
}
