//! Invalid files, damaged files, and full disks.

use std::fs::File;

use crate::support::{Finished, TestDir};
#[cfg(unix)]
use crate::unprivileged::run_unprivileged;

/// Commands that read the filter `f`.
const READERS: [&str; 4] = ["inspect f", "insert f words", "remove f words", "merge -o g f f"];

#[test]
fn missing_files_are_named() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    for arguments in READERS {
        let finished = dir.run(arguments);
        finished.failed(arguments, &["cannot read f: ", "is the path right?"]);
        assert!(!finished.err.contains("os error"), "{finished:?}");
    }
    dir.fails("build -o f no-such-file", &["cannot read no-such-file"]);
    dir.fails("build -o f words no-such-file", &["cannot read no-such-file"]);
    dir.fails("build -o no/such/f words", &["cannot write no/such/f", "no directory no/such"]);
    assert_eq!(dir.names(), ["words"]);
}

#[test]
fn the_input_is_not_overwritten() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.fails("build -o ./words words", &["cannot write ./words", "also the input"]);
    assert_eq!(dir.read("words"), b"ana\n");
}

#[test]
fn directories_are_not_files() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    std::fs::create_dir(dir.path("f")).unwrap();
    for arguments in READERS {
        dir.fails(arguments, &["cannot read f: it is a directory"]);
    }
    dir.fails("build -o g f", &["cannot read f", "it is a directory"]);
    dir.fails("build -o f words", &["cannot write f", "it is a directory"]);
    dir.fails("merge -o f g g", &["cannot write f", "it is a directory"]);
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o f words");
    std::fs::set_permissions(dir.path("f"), PermissionsExt::from_mode(0o000)).unwrap();
    for arguments in READERS.into_iter().chain(["build -o g f"]) {
        let Some(output) = run_unprivileged(dir.crivo(arguments), &dir.path(".")) else { return };
        let finished = Finished::of(output);
        finished.failed(arguments, &["cannot read f: Permission denied"]);
    }
}

#[test]
fn other_files_are_rejected() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    for foreign in [&b""[..], b"ana\nrui\n", b"\x89PNG\r\n\x1a\n0123456789", &[0; 4096]] {
        dir.write("f", foreign);
        for arguments in READERS {
            dir.fails(arguments, &["cannot read f: "]);
        }
        assert_eq!(dir.read("f"), foreign);
    }
    dir.write("f", b"a text that is long enough to be a header of some kind of file, or two");
    dir.fails("inspect f", &["this is not a crivo filter"]);
}

#[test]
fn damage_is_found_wherever_it_is() {
    let dir = TestDir::new();
    dir.numbers("words", 0..1_000);
    dir.ok("build -o whole --kind cuckoo words");
    let whole = dir.read("whole");
    for length in [1, 40, 63, 64, whole.len() / 2, whole.len() - 1] {
        dir.write("f", &whole[..length]);
        for arguments in READERS {
            dir.fails(arguments, &["cannot read f: "]);
        }
    }
    for position in [0, 9, 20, 50, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[position] ^= 4;
        dir.write("f", &damaged);
        for arguments in READERS {
            dir.fails(arguments, &["cannot read f: "]);
        }
        assert_eq!(dir.read("f"), damaged);
    }
    dir.write("f", [&whole[..], b"\n"].concat());
    dir.fails("inspect f", &["behind the end"]);
}

#[test]
fn keys_are_bytes() {
    let dir = TestDir::new();
    // CRLF, bytes that are not UTF-8, and no newline at the end.
    dir.write("keys", b"ana\r\nrui\n\xff\xfe\x80\n\neva");
    dir.ok("build -o f --kind cuckoo keys");
    let filter = dir.load("f");
    assert_eq!(filter.key_count(), 5);
    for key in [&b"ana"[..], b"rui", b"\xff\xfe\x80", b"", b"eva"] {
        assert!(filter.contains(key), "{key:?}");
    }
    assert!(!filter.contains("ana\r"));
}

#[test]
fn a_line_may_be_100_mb_long() {
    let dir = TestDir::new();
    let mut long = vec![b'x'; 100_000_000];
    long.extend_from_slice(b"\nana\n");
    dir.write("keys", &long);
    dir.ok("build -o f keys");
    dir.ok("insert f keys");
    let filter = dir.load("f");
    assert_eq!(filter.key_count(), 2);
    assert!(filter.contains(&long[..100_000_000]) && filter.contains("ana"));
}

/// A limit on file sizes simulates a full disk.
#[cfg(unix)]
fn with_little_disk(dir: &TestDir, arguments: &str) -> Finished {
    dir.shell(&format!("ulimit -f 64; exec \"$CRIVO\" {arguments}"))
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_files_unchanged() {
    let dir = TestDir::new();
    dir.numbers("words", 0..1_000);
    dir.ok("build -o f --keys 1M words");
    let before = dir.read("f");
    for arguments in ["build -o f --keys 1M words", "insert f words more", "merge -o f f f"] {
        dir.numbers("more", 1_000..2_000);
        let finished = with_little_disk(&dir, arguments);
        finished.failed(arguments, &["cannot write f: "]);
        assert_eq!(dir.read("f"), before);
    }
    with_little_disk(&dir, "build -o new --keys 1M words").failed("new", &["cannot write new"]);
    // Nothing half-written is left behind.
    assert_eq!(dir.names(), ["f", "more", "words"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_output_device_is_an_error() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o f words");
    dir.fails("build -o /dev/full words", &["cannot write /dev/full", "make room"]);
    for arguments in [
        "size --keys 1000",
        "inspect f",
        "inspect --json f",
        "man",
        "completions zsh",
        "--help",
        "build --help",
        "--version",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let finished = Finished::of(dir.crivo(arguments).stdout(full).output().unwrap());
        finished.failed(arguments, &["cannot write to standard output: "]);
    }
}

/// Commands that print nothing need no output.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[test]
fn a_closed_output_is_an_error_for_commands_that_print() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    let closed = |arguments: &str| dir.shell(&format!("exec \"$CRIVO\" {arguments} >&-"));
    assert_eq!(closed("build -o f words").status, 0);
    assert_eq!(closed("query -q f words").status, 0);
    for arguments in ["--help", "--version", "size --keys 10", "dedup words", "query f words"] {
        closed(arguments).failed(arguments, &["cannot write to standard output: it is closed"]);
    }
    assert_eq!(dir.shell("\"$CRIVO\" dedup words > /dev/null").status, 0);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_changed_in_place() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.fails("insert /dev/null words", &["cannot read /dev/null"]);
}
