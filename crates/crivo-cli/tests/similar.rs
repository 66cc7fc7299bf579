//! `crivo similar`.

#[path = "filters/support.rs"]
#[allow(dead_code, reason = "the commands about filters need more of it")]
mod support;

use std::collections::BTreeSet;

use support::TestDir;

/// Words from `first` on.
fn words(first: usize, count: usize) -> String {
    (first..first + count).map(|word| format!("word{word} ")).collect()
}

/// A directory with texts of known similarity: by single words, `a` and `b` share 90 of 110, `a` and
/// `c` half of theirs, and `copy` is `a` with other line breaks.
fn essays() -> TestDir {
    let dir = TestDir::new();
    dir.write("a", words(0, 100));
    dir.write("b", words(10, 100));
    dir.write("c", words(50, 50));
    dir.write("copy", words(0, 100).replace(' ', "\n"));
    dir.write("far", words(1_000, 100));
    dir.write("blank", " \n\t\n");
    dir
}

/// The clusters of lines, by comparing all pairs: the numbers of the lines, from 1, of every component of
/// two lines or more, the largest first.
fn naive(lines: &[&str], chars: usize, threshold: f64) -> Vec<Vec<usize>> {
    let set = |line: &&str| -> BTreeSet<Vec<char>> {
        let letters: Vec<char> =
            line.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
        letters.windows(chars.min(letters.len()).max(1)).map(<[char]>::to_vec).collect()
    };
    let sets: Vec<_> = lines.iter().map(set).collect();
    let is_similar = |a: usize, b: usize| {
        let common = sets[a].intersection(&sets[b]).count();
        common as f64 / (sets[a].len() + sets[b].len() - common) as f64 >= threshold
    };
    let mut left: BTreeSet<usize> =
        (0..lines.len()).filter(|line| !sets[*line].is_empty()).collect();
    let mut clusters = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut cluster, mut next) = (vec![first], 0);
        while next < cluster.len() {
            let near: Vec<usize> =
                left.iter().copied().filter(|other| is_similar(cluster[next], *other)).collect();
            left.retain(|line| !near.contains(line));
            cluster.extend(near);
            next += 1;
        }
        cluster.sort_unstable();
        clusters.push(cluster.into_iter().map(|line| line + 1).collect::<Vec<_>>());
    }
    clusters.retain(|cluster| cluster.len() > 1);
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
    clusters
}

/// The clusters of lines that were printed.
fn printed(out: &str) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for line in out.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let cluster: usize = fields[0].parse().unwrap();
        clusters.resize(clusters.len().max(cluster), Vec::new());
        clusters[cluster - 1].push(fields[2].rsplit(':').next().unwrap().parse().unwrap());
    }
    clusters
}

/// Lines of a log: a template, and this many random digits.
fn log_lines(count: u64, digits: usize) -> String {
    let mut state = 1u64;
    let mut digit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'0' + (state >> 33) as u8 % 10)
    };
    (0..count)
        .map(|_| {
            let number: String = (0..digits).map(|_| digit()).collect();
            format!(
                "2026-11-16 INFO request {number} of a client was answered in full, status 200\n"
            )
        })
        .collect()
}

#[test]
fn similarities_of_files_are_exact() {
    let dir = essays();
    let finished = dir.ok("similar --words 1 a b c copy far blank");
    assert_eq!(finished.out, "1\t1.0000\ta\n1\t0.8182\tb\n1\t1.0000\tcopy\n");
    assert_eq!(finished.err, "crivo: 3 of 5 files in 1 cluster\ncrivo: 1 empty file left out\n");

    let finished = dir.ok("similar --quiet --words 1 --threshold 0.5 a b c copy far blank");
    let c = "1\t0.5000\tc\n";
    assert!(finished.out.contains(c) && finished.err.is_empty(), "{finished:?}");
}

#[test]
fn shingles_may_be_long() {
    let dir = essays();
    // Three words: a and b share 88 of 108 runs.
    assert_eq!(dir.ok("similar -t 0.8 a b").out, "1\t1.0000\ta\n1\t0.8148\tb\n");
    assert_eq!(dir.ok("similar --chars 1 a far").out, "1\t1.0000\ta\n1\t1.0000\tfar\n");
}

#[test]
fn lines_are_printed_with_their_file_and_number() {
    let dir = TestDir::new();
    let names = "Ana Maria Ferreira da Silva\nJoão Pereira\n\nAna  Maria\tFerreira da Silva\n";
    dir.write("one.txt", names);
    dir.write("two.txt", "Ana Maria Ferreira da Silvo\r\nother\n");
    let finished = dir.ok("similar --lines one.txt two.txt");
    // Of 23 runs of five characters in each, 22 are common: 22/24.
    let expected = "1\t1.0000\tone.txt:1\tAna Maria Ferreira da Silva\n\
                    1\t1.0000\tone.txt:4\tAna  Maria\\tFerreira da Silva\n\
                    1\t0.9167\ttwo.txt:1\tAna Maria Ferreira da Silvo\n";
    assert_eq!(finished.out, expected);
    assert!(finished.err.contains("3 of 5 lines in 1 cluster"), "{}", finished.err);

    let finished = dir.ok("similar --lines --json one.txt two.txt");
    let report = finished.json();
    assert_eq!((&report["texts"], &report["empty"]), (&5.into(), &1.into()));
    let members = &report["clusters"][0];
    assert_eq!(members[0]["line"], 1);
    assert_eq!(members[2]["file"], "two.txt");
    assert_eq!(members[2]["text"], "Ana Maria Ferreira da Silvo");
}

#[test]
fn clusters_are_the_components_of_all_similar_pairs() {
    let dir = TestDir::new();
    // Chains whose ends are not similar, lines of one template, and copies.
    let chains: String =
        (0..120).map(|n| words(100 * (n / 12) + n % 12, 8) + "\n").collect::<String>();
    let text =
        [chains.as_str(), &log_lines(100, 3), &log_lines(60, 9), "copy\n", "copy\n"].concat();
    dir.write("lines", &text);
    let lines: Vec<&str> = text.lines().collect();
    for threshold in [0.0, 0.3, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0] {
        for chars in [2, 5, 9] {
            let arguments = format!("similar --lines --chars {chars} -t {threshold} lines");
            assert_eq!(
                printed(&dir.ok(&arguments).out),
                naive(&lines, chars, threshold),
                "{arguments}"
            );
        }
    }
}

/// Whether they are similar or not, no more than a few comparisons are made for each line.
#[test]
fn many_lines_of_one_template_are_compared_quickly() {
    let dir = TestDir::new();
    for (digits, clusters) in [(6, 1), (30, 0)] {
        dir.write("log", log_lines(20_000, digits));
        let finished = dir.ok("similar --lines --memory 64MB log");
        assert_eq!(printed(&finished.out).len(), clusters);
    }
}

#[test]
fn memory_is_bounded() {
    let dir = TestDir::new();
    dir.write("long", "x".repeat(3_000_000));
    dir.write("short", "a line\n");
    dir.fails(
        "similar --lines long short",
        &["long has a line of more than 1.00 MB", "--max-line"],
    );
    dir.fails("similar --lines --max-line 5 short", &["short has a line of more than 5 bytes"]);
    dir.ok("similar --lines --max-line 3MB long short");
    dir.ok("similar --lines --max-line 6 short");
    dir.fails("similar --memory 2MB long short", &["need more than the 2.00 MB of --memory"]);
    dir.write("log", log_lines(20_000, 30));
    dir.fails("similar --lines --memory 5MB log", &["need more than the 5.00 MB of --memory"]);
}

#[test]
fn standard_input_is_a_file() {
    let finished = essays().run_with("similar --words 1 a -", words(0, 100).as_bytes());
    assert_eq!((finished.status, finished.out.as_str()), (0, "1\t1.0000\ta\n1\t1.0000\t-\n"));
}

#[test]
fn errors_have_status_2() {
    let dir = essays();
    for (arguments, message) in [
        ("a", "there is only one file; name more, or use --lines"),
        ("a missing", "cannot read missing"),
        ("-t 1.5 a b", "threshold is 1.5, but it must be a number from 0 to 1"),
        ("-t -0.1 a b", "from 0 to 1"),
        ("-t nan a b", "from 0 to 1"),
        ("--words 0 a b", "shingle length is 0, but it must be at least 1"),
        ("--words 2 --chars 2 a b", "cannot be used with"),
    ] {
        dir.fails(&format!("similar {arguments}"), &[message]);
    }
}
