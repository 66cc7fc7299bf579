//! `crivo dedup`.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{TestDir, lines};

/// Every line once, by a set of the standard library.
fn naive(bytes: &[u8]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let is_new = |line: &&[u8]| {
        let key = line.strip_suffix(b"\n").unwrap_or(line);
        seen.insert(key.strip_suffix(b"\r").unwrap_or(key).to_vec())
    };
    bytes.split_inclusive(|byte| *byte == b'\n').filter(is_new).collect::<Vec<_>>().concat()
}

#[test]
fn repetitions_are_dropped() {
    let dir = TestDir::new();
    let finished = dir.run_with(["dedup"], b"b\na\r\nb\r\n\na\n\nc");
    assert_eq!(finished.stderr, "crivo: 3 records dropped of 7\n");
    assert_eq!(finished.printed(), b"b\na\r\n\nc");
    let quiet = dir.run_with(["dedup", "--quiet"], b"a\na");
    assert_eq!((quiet.stderr.as_str(), &quiet.stdout[..]), ("", &b"a\n"[..]));
    let finished = dir.run_with(["dedup", "--json"], b"a\na\n");
    let json: serde_json::Value = serde_json::from_str(&finished.stderr).unwrap();
    assert_eq!((&json["records"], &json["dropped"]), (&2.into(), &1.into()));
}

#[test]
fn an_empty_input_gives_an_empty_output() {
    let finished = TestDir::new().run_with(["dedup"], b"");
    assert_eq!(finished.stderr, "crivo: 0 records dropped of 0\n");
    assert!(finished.printed().is_empty());
}

#[test]
fn several_files_are_one_input() {
    let dir = TestDir::new();
    dir.file("a", "1\n2");
    dir.file("b", "2\n3\n");
    assert_eq!(dir.run(["dedup", "a", "b", "a"]).text(), "1\n2\n3\n");
    assert_eq!(dir.run_with(["dedup", "a", "-"], b"0\n1").text(), "1\n2\n0\n");
}

#[test]
fn keys_decide_and_records_are_printed() {
    let dir = TestDir::new();
    let fields = ["dedup", "--field", "1", "-d", ","];
    assert_eq!(dir.run_with(fields, b"a,1\nb,2\na,3\n").text(), "a,1\nb,2\n");
    let csv = ["dedup", "--csv", "--column", "k"];
    let input = b"v,k\r\n1,a\r\n2,\"a\"\r\n3,\"x\r\ny\"\r\n4,\"x\r\ny\"";
    assert_eq!(dir.run_with(csv, input).text(), "v,k\r\n1,a\r\n3,\"x\r\ny\"\r\n");
    // A blank line is not a CSV record and is not printed.
    let input = b"v,k\n\n1,a\n\n\n2,b\n3,a\n4,c\n\n5,d\n";
    assert_eq!(dir.run_with(csv, input).text(), "v,k\n1,a\n2,b\n4,c\n5,d\n");
}

#[test]
fn little_memory_changes_nothing() {
    let dir = TestDir::new();
    // 400,000 lines, 300,000 of them different: beyond 1 MB after about 50,000.
    let text = lines((0..400_000).map(|number| number * 7 % 300_007));
    let expected = naive(text.as_bytes());
    dir.file("input", &text);
    // With 137 kB the set is full before the first chunk ends, though a larger one would be allowed.
    for memory in ["1GB", "1MB", "137KB", "0"] {
        let finished = dir.run(["dedup", "--memory", memory, "input"]);
        assert_eq!(finished.stderr, "crivo: 99,993 records dropped of 400,000\n");
        assert!(finished.printed() == expected, "--memory {memory}");
    }
}

#[test]
fn fpr_drops_a_few_wrongly_and_reports_how_many() {
    let dir = TestDir::new();
    dir.file("input", lines((0..200_000).map(|number| number % 100_000)));
    for (more, at_least) in
        [(&["--fpr", "0.01"][..], 0.0), (&["--fpr", "0.01", "--keys", "100_000"], 100.0)]
    {
        let args = [&["dedup", "--json", "input"], more].concat();
        let finished = dir.run(args);
        let json: serde_json::Value = serde_json::from_str(&finished.stderr).unwrap();
        let expected = json["expected_wrongly_dropped"].as_f64().unwrap();
        let wrongly = json["dropped"].as_f64().unwrap() - 100_000.0;
        // Below 1% of 100,000. Roughly Poisson: six standard deviations are one in 500 million.
        assert!((at_least..1_000.0).contains(&expected), "{expected}");
        assert!((wrongly - expected).abs() < 6.0 * expected.sqrt() + 30.0, "{wrongly}, {expected}");
        let printed = finished.text();
        let printed: HashSet<&str> = printed.lines().collect();
        assert_eq!(printed.len(), (100_000.0 - wrongly) as usize);
    }
    let few = dir.run(["dedup", "--fpr", "0.01", "--keys", "1000", "input"]);
    assert!(few.stderr.contains("warning") && few.stderr.contains("--keys"), "{}", few.stderr);
}

/// Far beyond its capacity a filter drops nearly everything. It cannot have dropped more wrongly than
/// it dropped.
#[test]
fn a_full_filter_reports_no_more_wrong_drops_than_drops() {
    let dir = TestDir::new();
    dir.file("numbers", (0..100_000).map(|n| format!("{n}\n")).collect::<String>());
    for keys in ["1", "10", "1000"] {
        let finished = dir.run(["dedup", "--fpr", "0.5", "--keys", keys, "--json", "numbers"]);
        let report = finished.stderr.lines().find(|line| line.starts_with('{')).unwrap();
        let report: serde_json::Value = serde_json::from_str(report).unwrap();
        let wrongly = report["expected_wrongly_dropped"].as_f64().unwrap();
        assert!(wrongly > 0.0 && wrongly <= report["dropped"].as_f64().unwrap(), "{report}");
    }
}

/// Lines of which some are repeated, and some not.
fn mixed_lines() -> String {
    let number = |n: u64| if n.is_multiple_of(3) { 100_000 + n } else { n * 7 % 9_001 };
    lines((0..30_000).map(number))
}

/// What a pipe of the system's programs prints for a file `input`.
fn by_shell(dir: &TestDir, script: &str) -> String {
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .env("LC_ALL", "C")
        .current_dir(dir.path("."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(unix)]
#[test]
fn selections_agree_with_uniq_and_awk() {
    let dir = TestDir::new();
    dir.file("input", mixed_lines());
    const ONCE: &str = "awk '{ count[$0]++; if (!($0 in first)) first[$0] = NR; line[NR] = $0 } END \
                        { for (i = 1; i <= NR; i++) if (first[line[i]] == i CONDITION) print line[i] }' input";
    for (options, script) in [
        (&["--duplicates"][..], ONCE.replace("CONDITION", "&& count[line[i]] > 1")),
        (&["--unique"], ONCE.replace("CONDITION", "&& count[line[i]] == 1")),
        (&["--keep", "last"], "tac input | awk '!seen[$0]++' | tac".to_owned()),
        (&["--keep", "first"], "awk '!seen[$0]++' input".to_owned()),
        (
            &["--keep", "last", "--duplicates"],
            "tac input | awk '++seen[$0] == 1' | tac | awk 'BEGIN { while ((getline l < \"input\") > 0) \
             count[l]++ } count[$0] > 1'"
                .to_owned(),
        ),
    ] {
        let expected = by_shell(&dir, &script);
        assert!(expected.lines().count() > 1_000, "{options:?}");
        for memory in ["1GB", "0"] {
            let args = [&["dedup", "--memory", memory, "input"], options].concat();
            assert!(dir.run(args).text() == expected, "{options:?} --memory {memory}");
        }
        // A pipe is read twice by way of a temporary file.
        let piped = dir.run_with(["dedup"].iter().chain(options), mixed_lines().as_bytes());
        assert!(piped.text() == expected, "{options:?} of a pipe");
    }
    for (options, uniq) in [
        (&["--count"][..], "uniq -c"),
        (&["-c", "--duplicates"], "uniq -cd"),
        (&["-c", "--unique"], "uniq -cu"),
    ] {
        let expected = by_shell(&dir, &format!("sort input | {uniq} | sort"));
        for memory in ["1GB", "0"] {
            let args = [&["dedup", "--memory", memory, "input"], options].concat();
            let printed = dir.run(args).text();
            let mut sorted: Vec<&str> = printed.split_inclusive('\n').collect();
            sorted.sort_unstable();
            assert!(sorted.concat() == expected, "{options:?} --memory {memory}");
        }
    }
}

#[test]
fn selections_go_by_keys_and_keep_headers() {
    let dir = TestDir::new();
    dir.file("log.csv", "user,n\nana,1\nbia,2\n\"ana\",3\ncid,4\nbia,5");
    let of = |options: &str| {
        let args = "dedup --csv --column user log.csv ".to_owned() + options;
        dir.run(args.split_whitespace()).text()
    };
    assert_eq!(of("--keep last"), "user,n\n\"ana\",3\ncid,4\nbia,5");
    assert_eq!(of("--duplicates"), "user,n\nana,1\nbia,2\n");
    assert_eq!(of("--unique"), "user,n\ncid,4\n");
    assert_eq!(of("--count"), "count,user,n\n2,ana,1\n2,bia,2\n1,cid,4\n");
    assert_eq!(of("--count --duplicates --keep last"), "count,user,n\n2,\"ana\",3\n2,bia,5");
    let finished = dir.run_with(["dedup", "--unique"], b"a\nb\na\n");
    assert_eq!(finished.stderr, "crivo: 2 records dropped of 3\n");
    for bad in
        ["--duplicates --unique", "--count --fpr 0.1", "--keep last --fpr 0.1", "--keep middle"]
    {
        dir.run(["dedup"].into_iter().chain(bad.split(' '))).error();
    }
}

/// The output replaces a file when it is complete: also an input, and not if anything fails.
#[test]
fn the_output_may_be_an_input() {
    let dir = TestDir::new();
    let text = mixed_lines();
    for options in ["", "--keep last", "--count", "--memory 0", "--fpr 1e-9"] {
        let path = dir.file("file", &text);
        let printed =
            dir.run(["dedup", "file"].into_iter().chain(options.split_whitespace())).text();
        let args = ["dedup", "-o", "file", "file"].into_iter().chain(options.split_whitespace());
        let finished = dir.run(args);
        assert!(finished.stderr.contains("dropped"), "{}", finished.stderr);
        assert_eq!(finished.text(), "", "{options}");
        assert!(std::fs::read_to_string(path).unwrap() == printed, "{options}");
    }
    let path = dir.file("file", "a\na\n");
    dir.run(["dedup", "-o", "file", "file", "missing"]).error();
    dir.run(["dedup", "--keep", "last", "-o", "file", "file", "missing"]).error();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "a\na\n");
    let error = dir.run(["dedup", "-o", "no/where", "file"]).error();
    assert!(error.contains("cannot write no/where"), "{error}");
    assert_eq!(dir.run(["dedup", "-o", "-", "file"]).text(), "a\n");
}

#[test]
fn any_number_of_threads_gives_the_same_output() {
    let dir = TestDir::new();
    let text = mixed_lines();
    dir.file("input", &text);
    for threads in ["1", "2", "7"] {
        for options in ["", "--keep last", "--fpr 1e-9"] {
            let args = format!("dedup --threads {threads} input {options}");
            let printed = dir.run(args.split_whitespace()).printed().len();
            assert_eq!(printed, naive(text.as_bytes()).len(), "{args}");
        }
    }
    let error = dir.run(["dedup", "--threads", "0", "input"]).error();
    assert!(error.contains("--threads"), "{error}");
}

#[test]
fn fpr_must_be_between_0_and_1() {
    let dir = TestDir::new();
    for fpr in ["0", "1", "-0.1", "2", "nan", "much"] {
        let fpr = format!("--fpr={fpr}");
        let error = dir.run_with(["dedup", &fpr], b"a\n").error();
        assert!(error.contains("strictly between 0 and 1"), "{error}");
    }
    let error = dir.run_with(["dedup", "--keys", "10"], b"").error();
    assert!(error.contains("--fpr"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: prop::test_runner::RngSeed::Fixed(1), ..Default::default() })]

    #[test]
    fn dedup_agrees_with_a_hash_set(bytes in prop::collection::vec(
        prop::sample::select(&b"ab\r\n\n\xff"[..]), 0..2_000)) {
        let printed = TestDir::new().run_with(["dedup", "--memory", "0"], &bytes).printed();
        prop_assert_eq!(printed, naive(&bytes));
    }

    #[test]
    fn dedup_beyond_memory_agrees_with_a_hash_set(numbers in prop::collection::vec(0u64..6_000, 0..12_000)) {
        let text = lines(numbers);
        let printed = TestDir::new().run_with(["dedup", "--memory", "0"], text.as_bytes()).printed();
        prop_assert_eq!(printed, naive(text.as_bytes()));
    }
}
