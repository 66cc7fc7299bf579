//! `crivo insert`, `remove` and `merge`: changes of filter files.

use std::fs;
use std::io::Write;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::process::Child;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crivo::codec;
use crivo::filter::AnyFilter;

#[cfg(target_os = "linux")]
use crate::signals::{interruptible, send};
use crate::support::{Finished, TestDir, counts_copies, kinds_that, list_of_kinds_that};

#[test]
fn insertion_adds_keys_in_place() {
    let dir = TestDir::new();
    dir.numbers("first", 0..1_000);
    dir.numbers("more", 500..2_000);
    for kind in kinds_that(|can| can.insert) {
        dir.ok(&format!("build -o f --kind {kind} --keys 5000 first"));
        let finished = dir.ok("insert f more");
        assert!(finished.out.is_empty() && finished.err.contains("f: inserted"), "{finished:?}");
        let filter = dir.load("f");
        assert!((0..2_000u32).all(|key| filter.contains(&key.to_string())), "{kind}");
        let keys = filter.key_count();
        // What cannot remove skips keys that seem present: 500, and at most 1% of the others.
        let fewest = if filter.kind().capabilities().remove { 2_500 } else { 1_970 };
        assert!((fewest..=2_500.min(fewest + 30)).contains(&keys), "{kind}");
        let facts = dir.run_with("insert --json f", b"new\nnew\n").json();
        assert_eq!((&facts["input_keys"], &facts["distinct_keys"]), (&2.into(), &1.into()));
        assert_eq!(facts["inserted"], if counts_copies(kind) { 2 } else { 1 });
    }
}

#[test]
fn insertion_past_the_capacity_warns_with_the_fpr() {
    let dir = TestDir::new();
    dir.numbers("first", 0..1_000);
    dir.numbers("more", 1_000..3_000);
    for kind in kinds_that(|can| can.never_full && !can.unlimited) {
        dir.ok(&format!("build -o f --kind {kind} first"));
        let finished = dir.ok("insert f more");
        assert!(
            finished.err.contains("warning") && finished.err.contains("made for 1,000 keys"),
            "{finished:?}"
        );
        let fpr = finished.err.split("is now ").nth(1).unwrap().split('%').next().unwrap();
        assert!(fpr.parse::<f64>().unwrap() > 10.0, "{kind}: {finished:?}");
    }
    dir.ok("build -o f --kind growing first");
    assert!(!dir.ok("insert f more").err.contains("warning"));
}

#[test]
fn inserting_into_a_full_filter_changes_nothing() {
    let dir = TestDir::new();
    dir.numbers("first", 0..1_000);
    dir.numbers("more", 1_000..3_000);
    for kind in ["cuckoo", "quotient"] {
        dir.ok(&format!("build -o f --kind {kind} first"));
        let before = dir.read("f");
        dir.fails("insert f more", &["no place", "unchanged"]);
        assert_eq!(dir.read("f"), before, "{kind}");
        assert_eq!(dir.names(), ["f", "first", "more"]);
    }
}

#[test]
fn unsupported_operations_name_the_kinds_that_support_them() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o f --kind fuse words");
    dir.fails("insert f words", &["fuse filter", &list_of_kinds_that(|can| can.insert)]);
    for kind in kinds_that(|can| !can.remove) {
        dir.ok(&format!("build -o f --kind {kind} words"));
        dir.fails("remove f words", &[kind, &list_of_kinds_that(|can| can.remove)]);
    }
}

/// Keys that seem present are not inserted, so that the key count of an overfilled filter is too low;
/// the FPR follows from its bits.
#[test]
fn an_overfilled_filter_reports_its_fpr() {
    let dir = TestDir::new();
    dir.numbers("first", 0..500);
    dir.numbers("more", 500..20_000);
    dir.numbers("strangers", 1_000_000..1_010_000);
    for kind in kinds_that(|can| can.never_full && !can.unlimited && !can.remove) {
        dir.ok(&format!("build -o f --kind {kind} --keys 1000 first"));
        let finished = dir.ok("insert f more");
        assert!(finished.err.contains("is now 100% instead of"), "{finished:?}");
        let expected = dir.ok("inspect --json f").json()["expected_fpr"].as_f64().unwrap();
        let positives: f64 = dir.ok("query -c f strangers").out.trim().parse().unwrap();
        assert!((expected - positives / 10_000.0).abs() < 0.02, "{kind}: {expected}, {positives}");
    }
}

#[test]
fn present_keys_are_not_inserted_again() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..500);
    for kind in kinds_that(|can| can.insert && !can.remove) {
        dir.ok(&format!("build -o f --kind {kind} keys"));
        assert_eq!(dir.ok("insert --json f keys").json()["inserted"], 0, "{kind}");
    }
}

#[test]
fn removal_removes_what_was_inserted() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..1_000);
    dir.numbers("half", 0..500);
    dir.write("twice", "7\n7\n");
    for kind in kinds_that(|can| can.remove) {
        dir.ok(&format!("build -o f --kind {kind} --fpr 1e-6 keys"));
        let finished = dir.ok("remove f half");
        assert!(finished.err.contains("removed 500 keys"), "{finished:?}");
        let filter = dir.load("f");
        assert_eq!(filter.key_count(), 500);
        assert!((500..1_000u32).all(|key| filter.contains(&key.to_string())), "{kind}");
        // At an FPR of 1e-6, one of 500 is found with probability 1 in 2,000; seeds are fixed.
        assert!((0..500u32).all(|key| !filter.contains(&key.to_string())), "{kind}");
        // Nothing is left to remove: status 1, and the file is unchanged.
        let before = dir.read("f");
        let none = dir.run("remove f half");
        assert_eq!(none.status, 1, "{none:?}");
        assert!(none.err.contains("500 were not present"), "{none:?}");
        assert_eq!(dir.read("f"), before);
        assert_eq!(dir.run("remove --json f half").json()["absent"], 500);
        // Only a counting filter counts copies.
        dir.ok("insert f twice");
        let copies = dir.run("remove --json f twice").json();
        assert_eq!(copies["removed"], if counts_copies(kind) { 2 } else { 1 }, "{kind}");
    }
}

#[test]
fn concurrent_insertions_lose_nothing() {
    const AT_ONCE: u32 = 8;
    const EACH: u32 = 500;
    let dir = TestDir::new();
    dir.write("none", "");
    dir.ok("build -o f --kind cuckoo --keys 5000 none");
    let children: Vec<_> = (0..AT_ONCE)
        .map(|child| {
            let name = format!("part-{child}");
            dir.numbers(&name, child * EACH..(child + 1) * EACH);
            let mut command = dir.crivo(&format!("insert f {name}"));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let finished = Finished::of(child.wait_with_output().unwrap());
        assert_eq!(finished.status, 0, "{finished:?}");
    }
    let filter = dir.load("f");
    assert_eq!(filter.key_count(), u64::from(AT_ONCE * EACH));
    assert!((0..AT_ONCE * EACH).all(|key| filter.contains(&key.to_string())));
    assert!(!dir.names().iter().any(|name| name.ends_with(".tmp")));
}

/// Kills commands at different moments. When exactly depends on the machine; the file must be whole at
/// each of them.
#[test]
fn a_killed_command_leaves_the_old_file_or_the_new_one() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..50_000);
    dir.numbers("more", 50_000..60_000);
    // 8 MB, so that writing takes its time.
    dir.ok("build -o f --keys 7M keys");
    for round in 0..12 {
        let arguments = if round % 2 == 0 { "insert f more" } else { "build -o f --keys 7M keys" };
        let mut child = dir.crivo(arguments).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(3 * round));
        // It may have exited by itself.
        let _ = child.kill();
        child.wait().unwrap();
        codec::verify(dir.path("f")).unwrap();
        // At most one: the next command removes it. Where files can be nameless, none.
        let leftovers = dir.names().into_iter().filter(|name| name.ends_with(".tmp")).count();
        assert!(leftovers <= 1, "{:?}", dir.names());
        let filter = dir.load("f");
        assert!((0..50_000u32).all(|key| filter.contains(&key.to_string())));
    }
}

/// Waits until a command is writing its output; returns false if it ends first. On Linux the
/// unfinished file has no name, but is among the open files of the process.
#[cfg(target_os = "linux")]
fn wait_until_writing(child: &mut Child, dir: &TestDir) -> bool {
    let open_files = format!("/proc/{}/fd", child.id());
    let dir = fs::canonicalize(dir.path(".")).unwrap();
    let is_unfinished = |file: PathBuf| {
        let target = fs::read_link(file).unwrap_or_default();
        target.starts_with(&dir) && target.to_string_lossy().ends_with(" (deleted)")
    };
    while child.try_wait().unwrap().is_none() {
        let files = fs::read_dir(&open_files).into_iter().flatten().flatten();
        if files.map(|file| file.path()).any(is_unfinished) {
            return true;
        }
    }
    false
}

/// An unfinished file has no name. (Elsewhere than on Linux it has one, and the next command removes
/// it.)
#[cfg(target_os = "linux")]
#[test]
fn a_signal_while_writing_leaves_the_old_file_and_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt;
    let dir = TestDir::new();
    dir.numbers("keys", 0..1_000);
    dir.numbers("others", 1_000..2_000);
    // 60 MB, so that writing takes its time.
    dir.ok("build -o f --keys 50M keys");
    let before = dir.read("f");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        // A command that ends before the signal arrives is repeated.
        let was_interrupted = (0..100).any(|_| {
            let mut command = dir.crivo("build -o f --keys 50M others");
            let mut child = interruptible(&mut command).stderr(Stdio::null()).spawn().unwrap();
            if wait_until_writing(&mut child, &dir) {
                send(signal, &child);
            }
            let status = child.wait().unwrap();
            let was_interrupted = status.signal() == Some(signal);
            assert!(was_interrupted || status.success(), "{status}");
            if !was_interrupted {
                dir.ok("build -o f --keys 50M keys");
            }
            was_interrupted
        });
        assert!(was_interrupted, "signal {signal}");
        assert!(dir.read("f") == before, "signal {signal}");
        assert_eq!(dir.names(), ["f", "keys", "others"], "signal {signal}");
    }
}

#[test]
fn a_command_killed_while_reading_changes_nothing() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o f words");
    let before = dir.read("f");
    // More than a pipe holds: when all of it is written, the command has read some.
    let keys = b"rui\neva\n".repeat(100_000);
    for arguments in ["insert f", "build -o f", "build -o new"] {
        let mut command = dir.crivo(arguments);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(&keys).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(dir.read("f"), before);
    }
    assert_eq!(dir.names(), ["f", "words"]);
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_and_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.write("more", "rui\n");
    dir.ok("build -o f --kind cuckoo --keys 100 words");
    fs::set_permissions(dir.path("f"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink(dir.path("f"), dir.path("link")).unwrap();
    dir.ok("insert link more");
    dir.ok("remove link words");
    dir.ok("build -o link --keys 100 words");
    dir.ok("insert link more");
    assert!(fs::symlink_metadata(dir.path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(dir.path("f")).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(dir.load("f").contains("rui"));
}

#[test]
fn merging_gives_the_union() {
    let dir = TestDir::new();
    dir.numbers("a", 0..1_000);
    dir.numbers("b", 1_000..2_000);
    dir.numbers("c", 2_000..3_000);
    for kind in kinds_that(|can| can.merge).chain(["cuckoo"]) {
        for name in ["a", "b", "c"] {
            dir.ok(&format!("build -o {name}.f --kind {kind} --keys 5000 {name}"));
        }
        let finished = dir.ok("merge -o all.f a.f b.f c.f");
        assert!(finished.err.contains(&format!("3 {kind} filters merged")), "{finished:?}");
        let all = dir.load("all.f");
        assert_eq!((all.kind().name(), all.key_count()), (kind, 3_000));
        // An estimate is no bound.
        let told = if all.estimated_key_count().is_some() { "about" } else { "at most 3,000" };
        assert!(finished.err.contains(&format!("it holds {told} ")), "{finished:?}");
        assert!((0..3_000u32).all(|key| all.contains(&key.to_string())), "{kind}");
        // The output may be an input.
        dir.ok("merge -o a.f a.f b.f");
        assert_eq!(dir.ok("merge -o all.f a.f c.f --json").json()["keys"], 3_000);
    }
}

#[test]
fn incompatible_filters_are_not_merged() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o a --keys 100 words");
    let advice = "--keys, --fpr, --hash and --seed";
    for (arguments, difference, advice) in [
        ("--keys 200", "number of blocks is 2 in one and 4 in the other", advice),
        ("--keys 100 --fpr 0.1", "number of blocks", advice),
        (
            "--keys 100 --seed 5",
            "function is fold64 with seed 0 in one and fold64 with seed 5",
            "in the other; build both with --hash fold64 --seed 0",
        ),
        (
            "--keys 100 --hash xxh3 --seed 7",
            "function is fold64 with seed 0 in one and xxh3 with seed 7",
            "in the other; build both with --hash xxh3 --seed 7",
        ),
        ("--keys 100 --kind bloom", "kind is blocked in one and bloom in the other", advice),
    ] {
        dir.ok(&format!("build -o b {arguments} words"));
        dir.fails("merge -o c a b", &["a and b: ", difference, advice]);
    }
    // In either order, the older family.
    dir.ok("build -o b --keys 100 --hash xxh3 words");
    for files in ["a b", "b a"] {
        dir.fails(&format!("merge -o c {files}"), &["build both with --hash xxh3 --seed 0"]);
    }
    // The one with a secret key is not to lose it.
    dir.write("key", [7; 16]);
    dir.ok("build -o s --keys 100 --hash sip --key-file key words");
    for files in ["a s", "s a", "b s", "s b"] {
        let arguments = format!("merge -o c --key-file key {files}");
        dir.fails(&arguments, &["build both with --hash sip and the same --key-file"]);
    }
    for kind in ["fuse", "growing"] {
        dir.ok(&format!("build -o f --kind {kind} words"));
        dir.fails("merge -o c f f", &[kind, &list_of_kinds_that(|can| can.merge)]);
    }
    dir.numbers("many", 0..1_000);
    dir.ok("build -o q --kind quotient many");
    dir.fails("merge -o c q q", &["2000 keys", "made for 1000", "larger --keys"]);
    dir.fails("merge -o c a", &["2"]);
    assert!(!dir.names().contains(&"c".to_owned()));
    // Past the capacity there is a warning, if the false-positive rate is above the promised one.
    // With some room, so that chance does not decide which of the two it is for the same keys twice.
    dir.ok("build -o m --keys 1100 many");
    let finished = dir.ok("merge -o c m m");
    assert!(!finished.err.contains("warning"), "{finished:?}");
    dir.numbers("others", 1_000..2_000);
    dir.ok("build -o o --keys 1100 others");
    let finished = dir.ok("merge -o c m o");
    assert!(finished.err.contains("warning"), "{finished:?}");
    assert!(matches!(dir.load("c"), AnyFilter::Blocked(_)));
}
