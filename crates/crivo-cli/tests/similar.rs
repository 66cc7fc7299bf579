//! `crivo similar`, as people call it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs `crivo similar` in a folder.
fn similar(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivo"));
    command.current_dir(folder).arg("similar").args(arguments);
    command
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Words from `first` on.
fn words(first: usize, count: usize) -> String {
    (first..first + count).map(|word| format!("word{word} ")).collect()
}

/// A folder with texts of known similarity: by single words, `a` and `b` share 90 of 110, `a` and
/// `c` half of theirs, and `copy` is `a` with other line breaks.
fn essays() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("a", words(0, 100));
    write("b", words(10, 100));
    write("c", words(50, 50));
    write("copy", words(0, 100).replace(' ', "\n"));
    write("far", words(1_000, 100));
    write("blank", " \n\t\n".to_owned());
    folder
}

const ALL: [&str; 6] = ["a", "b", "c", "copy", "far", "blank"];

#[test]
fn files_come_with_their_exact_similarity() {
    let folder = essays();
    let arguments = [&["--words", "1"], &ALL[..]].concat();
    let output = similar(folder.path(), &arguments);
    assert_eq!(stdout(&output), "1.0000\ta\tcopy\n0.8182\ta\tb\n");
    assert_eq!(output.status.code(), Some(0));
    let words = stderr(&output);
    assert!(words.contains("5 files: 2 similar pairs among "), "{words}");
    assert!(words.contains("1 empty file left out"), "{words}");

    let arguments = [&["--words", "1", "--threshold", "0.5"], &ALL[..]].concat();
    let output = similar(folder.path(), &arguments);
    assert_eq!(stdout(&output), "1.0000\ta\tcopy\n0.8182\ta\tb\n0.5000\ta\tc\n0.5000\tb\tc\n");
}

#[test]
fn shingles_may_be_long() {
    let folder = essays();
    // Three words: a and b share 88 of 108 runs.
    let output = similar(folder.path(), &["-t", "0.8", "a", "b"]);
    assert_eq!(stdout(&output), "0.8148\ta\tb\n");
    let output = similar(folder.path(), &["-t", "0.8", "--chars", "1", "a", "far"]);
    assert_eq!(stdout(&output), "1.0000\ta\tfar\n");
}

#[test]
fn estimates_are_near() {
    let folder = essays();
    let output =
        similar(folder.path(), &["--approx", "--json", "-t", "0.6", "--words", "1", "a", "b"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pair = &report["pairs"][0];
    let (similarity, error) =
        (pair["similarity"].as_f64().unwrap(), pair["standard_error"].as_f64().unwrap());
    assert!(error > 0.01 && error < 0.04, "{pair}");
    // The seed is fixed: this holds always, or never.
    assert!((similarity - 90.0 / 110.0).abs() < 3.0 * error, "{pair}");
}

#[test]
fn lines_are_told_by_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let names =
        "Ana Maria Ferreira da Silva\nJoão Pereira de Sousa\n\nAna Maria Ferreira  da Silva\n";
    fs::write(folder.path().join("one.txt"), names).unwrap();
    fs::write(folder.path().join("two.txt"), "Ana Maria Ferreira da Silvo\r\nother\n").unwrap();
    let output = similar(folder.path(), &["--lines", "one.txt", "two.txt"]);
    // Of 23 + 23 runs of five characters, 22 are common: 22/24.
    assert_eq!(
        stdout(&output),
        "1.0000\tone.txt:1\tone.txt:4\n0.9167\tone.txt:1\ttwo.txt:1\n",
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("5 lines: 2 similar pairs"), "{}", stderr(&output));

    let output = similar(folder.path(), &["--lines", "--json", "one.txt", "two.txt"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["texts"], 5);
    assert_eq!(report["empty"], 1);
    let pair = &report["pairs"][1];
    assert_eq!(pair["a"]["line"], 1);
    assert_eq!(pair["b"]["file"], "two.txt");
    assert_eq!(pair["b"]["text"], "Ana Maria Ferreira da Silvo");
    assert!(pair.get("standard_error").is_none());
}

#[test]
fn every_pair_of_many_lines_is_found() {
    let folder = tempfile::tempdir().unwrap();
    // Two hundred families of three lines; a line of a family shares 9 words of 11 with the next.
    let line = |family: usize, member: usize| words(1_000 * family + member, 10);
    let text: String = (0..600).map(|i| line(i / 3, i % 3) + "\n").collect();
    fs::write(folder.path().join("lines"), text).unwrap();
    let output = similar(
        folder.path(),
        &["--lines", "--words", "1", "-t", "0.8", "--recall", "0.999", "lines"],
    );
    // By the plan each of the 400 pairs is missed with a probability below 0.001, and no seed changes.
    let found = stdout(&output).lines().count();
    assert!((397..=400).contains(&found), "{found}");
    assert!(stdout(&output).lines().all(|line| line.starts_with("0.8182\t")));
}

#[test]
fn standard_input_is_a_file() {
    let folder = essays();
    let mut child = command(folder.path(), &["--words", "1", "a", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(words(0, 100).as_bytes()).unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), "1.0000\ta\t-\n");
}

#[test]
fn mistakes_are_told_and_end_with_status_2() {
    let folder = essays();
    for (arguments, expected) in [
        (&["a"][..], "one file has no other to be similar to; name more, or use --lines"),
        (&["a", "missing"], "cannot read missing"),
        (&["-t", "1.5", "a", "b"], "threshold is 1.5, but it must be above 0 and at most 1"),
        (&["--words", "0", "a", "b"], "shingle length is 0, but it must be at least 1"),
        (&["-t", "0.0001", "a", "b"], "raise --threshold or lower --recall"),
        (&["--words", "2", "--chars", "2", "a", "b"], "cannot be used with"),
        (&[], "<FILE>..."),
    ] {
        let output = similar(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}
