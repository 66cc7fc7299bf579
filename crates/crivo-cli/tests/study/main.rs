//! `crivo study` on the real binary: what it writes, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn study(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivo"));
    command.current_dir(folder).arg("study").args(arguments).output().expect("the command runs")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_study_writes_a_report_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["best-m", "--quick", "--repetitions", "2", "--seed", "7", "--out", "results"];
    let first = study(folder.path(), &arguments);
    assert!(first.status.success(), "{}", words(&first));
    assert!(first.stdout.is_empty(), "standard output is for data");
    assert!(words(&first).contains("best-m (1 of 1)"), "{}", words(&first));
    let page = fs::read_to_string(folder.path().join("results/index.html")).unwrap();
    assert!(page.contains("quick, seed 7, 2 repetitions"));
    assert!(folder.path().join("results/figures/best-m-fpr.png").exists());

    let again = study(folder.path(), &arguments);
    assert!(again.status.success());
    assert!(words(&again).contains("best-m: measured already"), "{}", words(&again));
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.txt"), "\n").unwrap();
    fs::write(folder.path().join("bad.txt"), "hy--phen\n").unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (arguments, complaint) in [
        (&["bestk"][..], "did you mean \"best-k\"?"),
        (&["--words", "empty.txt"], "empty.txt has no words"),
        (&["--words", "missing.txt"], "missing.txt cannot be read"),
        (&["--exceptions", "bad.txt"], "bad.txt"),
        (&["--exceptions", "missing.txt"], "missing.txt"),
        (&["--repetitions", "1"], "--repetitions"),
        (&["best-m", "--out", "file/below"], "cannot be written"),
    ] {
        let refused = study(folder.path(), arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(words(&refused).contains(complaint), "{arguments:?}: {}", words(&refused));
        assert!(!folder.path().join("study").exists(), "{arguments:?}");
    }
}
