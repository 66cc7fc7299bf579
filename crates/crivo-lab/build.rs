//! Tells the crate which commit it was built from, and with which driver, where that can be known.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What git answers, if it is there and has an answer.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The version of a package that this file of locked versions has.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let text = fs::read_to_string(lock).ok()?;
    let mut lines = text.lines();
    lines.find(|line| *line == format!("name = \"{package}\""))?;
    Some(lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?.to_string())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A copy of the crate inside somebody else's repository must not claim that one's commit.
    if git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_none() {
        return;
    }
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=CRIVO_COMMIT={commit}");
    }
    // The driver itself tells only the version of one of its parts.
    let lock = "../../Cargo.lock";
    if let Some(version) = locked_version(lock, "scylla") {
        println!("cargo::rustc-env=CRIVO_DRIVER=scylla {version}");
        println!("cargo::rerun-if-changed={lock}");
    }
    // The log of HEAD grows with every commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
}
