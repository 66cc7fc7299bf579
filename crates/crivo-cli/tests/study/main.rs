//! `crivo study`: what it writes, and what it rejects.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn study(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivo"));
    command.current_dir(dir).arg("study").args(arguments).output().expect("the command runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_study_writes_a_report_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["best-m", "--quick", "--repetitions", "2", "--seed", "7", "--out", "results"];
    let first = study(dir.path(), &arguments);
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(first.stdout.is_empty(), "standard output is for data");
    assert!(stderr(&first).contains("best-m (1 of 1)"), "{}", stderr(&first));
    let page = fs::read_to_string(dir.path().join("results/index.html")).unwrap();
    assert!(page.contains("quick, seed 7, 2 repetitions"));
    assert!(dir.path().join("results/figures/best-m-fpr.png").exists());

    let again = study(dir.path(), &arguments);
    assert!(again.status.success());
    assert!(stderr(&again).contains("best-m: already measured"), "{}", stderr(&again));
}

#[test]
fn errors_are_reported_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("empty.txt"), "\n").unwrap();
    fs::write(dir.path().join("bad.txt"), "hy--phen\n").unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    for (arguments, message) in [
        (&["bestk"][..], "did you mean \"best-k\"?"),
        (&["--words", "empty.txt"], "empty.txt has no words"),
        (&["--words", "missing.txt"], "missing.txt cannot be read"),
        (&["--exceptions", "bad.txt"], "bad.txt"),
        (&["--exceptions", "missing.txt"], "missing.txt"),
        (&["--repetitions", "1"], "--repetitions"),
        (&["best-m", "--out", "file/below"], "cannot be written"),
    ] {
        let refused = study(dir.path(), arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&refused).contains(message), "{arguments:?}: {}", stderr(&refused));
        assert!(!dir.path().join("study").exists(), "{arguments:?}");
    }
}
