//! What people give to commands by mistake, and what disks do.

use std::fs::File;

use crivo::filter::Filter;

use crate::support::{Folder, Ran};

/// Commands that read the filter `f`.
const READERS: [&str; 4] = ["inspect f", "insert f words", "remove f words", "merge -o g f f"];

#[test]
fn missing_files_are_named() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    for arguments in READERS {
        let ran = folder.run(arguments);
        ran.failed(arguments, &["cannot read f: ", "is the path right?"]);
        assert!(!ran.err.contains("os error"), "{ran:?}");
    }
    folder.fails("build -o f no-such-file", &["cannot read no-such-file"]);
    folder.fails("build -o f words no-such-file", &["cannot read no-such-file"]);
    folder.fails("build -o no/such/f words", &["cannot write no/such/f", "no folder no/such"]);
    assert_eq!(folder.names(), ["words"]);
}

#[test]
fn the_input_is_not_overwritten() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    folder.fails("build -o ./words words", &["cannot write ./words", "also the input"]);
    assert_eq!(folder.read("words"), b"ana\n");
}

#[test]
fn directories_are_not_files() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    std::fs::create_dir(folder.path("f")).unwrap();
    for arguments in READERS {
        folder.fails(arguments, &["cannot read f: it is a folder"]);
    }
    folder.fails("build -o g f", &["cannot read f", "it is a folder"]);
    folder.fails("build -o f words", &["cannot write f", "it is a folder"]);
    folder.fails("merge -o f g g", &["cannot write f", "it is a folder"]);
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("words", "ana\n");
    folder.ok("build -o f words");
    std::fs::set_permissions(folder.path("f"), PermissionsExt::from_mode(0o000)).unwrap();
    if File::open(folder.path("f")).is_ok() {
        return; // The superuser may read whatever there is.
    }
    for arguments in READERS {
        folder.fails(arguments, &["cannot read f: ", "may you read the file?"]);
    }
    folder.fails("build -o g f", &["cannot read f: "]);
}

#[test]
fn files_of_others_are_no_filters() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    for foreign in [&b""[..], b"ana\nrui\n", b"\x89PNG\r\n\x1a\n0123456789", &[0; 4096]] {
        folder.write("f", foreign);
        for arguments in READERS {
            folder.fails(arguments, &["cannot read f: "]);
        }
        assert_eq!(folder.read("f"), foreign);
    }
    folder.write("f", b"a text that is long enough to be a header of some kind of file, or two");
    folder.fails("inspect f", &["this is not a crivo filter"]);
}

#[test]
fn damage_is_found_wherever_it_is() {
    let folder = Folder::new();
    folder.numbers("words", 0..1_000);
    folder.ok("build -o whole --kind cuckoo words");
    let whole = folder.read("whole");
    for length in [1, 40, 63, 64, whole.len() / 2, whole.len() - 1] {
        folder.write("f", &whole[..length]);
        for arguments in READERS {
            folder.fails(arguments, &["cannot read f: "]);
        }
    }
    for position in [0, 9, 20, 50, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[position] ^= 4;
        folder.write("f", &damaged);
        for arguments in READERS {
            folder.fails(arguments, &["cannot read f: "]);
        }
        assert_eq!(folder.read("f"), damaged);
    }
    folder.write("f", [&whole[..], b"\n"].concat());
    folder.fails("inspect f", &["behind the end"]);
}

#[test]
fn keys_are_bytes() {
    let folder = Folder::new();
    // Without a newline at the end, with CRLF, and what is no UTF-8.
    folder.write("keys", b"ana\r\nrui\n\xff\xfe\x80\n\neva");
    folder.ok("build -o f --kind cuckoo keys");
    let filter = folder.load("f");
    assert_eq!(filter.key_count(), 5);
    for key in [&b"ana"[..], b"rui", b"\xff\xfe\x80", b"", b"eva"] {
        assert!(filter.contains(key), "{key:?}");
    }
    assert!(!filter.contains("ana\r"));
}

#[test]
fn a_line_may_have_a_hundred_megabytes() {
    let folder = Folder::new();
    let mut long = vec![b'x'; 100_000_000];
    long.extend_from_slice(b"\nana\n");
    folder.write("keys", &long);
    folder.ok("build -o f keys");
    folder.ok("insert f keys");
    let filter = folder.load("f");
    assert_eq!(filter.key_count(), 2);
    assert!(filter.contains(&long[..100_000_000]) && filter.contains("ana"));
}

/// A limited file size stands in for a full disk; the shell lets the error be returned.
#[cfg(unix)]
fn with_little_disk(folder: &Folder, arguments: &str) -> Ran {
    folder.shell(&format!("ulimit -f 64; exec \"$CRIVO\" {arguments}"))
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_files_as_they_were() {
    let folder = Folder::new();
    folder.numbers("words", 0..1_000);
    folder.ok("build -o f --keys 1M words");
    let before = folder.read("f");
    for arguments in ["build -o f --keys 1M words", "insert f words more", "merge -o f f f"] {
        folder.numbers("more", 1_000..2_000);
        let ran = with_little_disk(&folder, arguments);
        ran.failed(arguments, &["cannot write f: "]);
        assert_eq!(folder.read("f"), before);
    }
    with_little_disk(&folder, "build -o new --keys 1M words").failed("new", &["cannot write new"]);
    // Nothing half-written is left behind.
    assert_eq!(folder.names(), ["f", "more", "words"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_of_the_output() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    folder.ok("build -o f words");
    folder.fails("build -o /dev/full words", &["cannot write /dev/full", "make room"]);
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
        let ran = Ran::of(folder.crivo(arguments).stdout(full).output().unwrap());
        ran.failed(arguments, &["cannot write to standard output: "]);
    }
}

/// What is printed to nowhere is lost; what prints nothing needs no output.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[test]
fn a_closed_output_is_an_error_for_who_needs_it() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    let closed = |arguments: &str| folder.shell(&format!("exec \"$CRIVO\" {arguments} >&-"));
    assert_eq!(closed("build -o f words").status, 0);
    assert_eq!(closed("query -q f words").status, 0);
    for arguments in ["--help", "--version", "size --keys 10", "dedup words", "query f words"] {
        closed(arguments).failed(arguments, &["cannot write to standard output: it is closed"]);
    }
    assert_eq!(folder.shell("\"$CRIVO\" dedup words > /dev/null").status, 0);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_changed_in_place() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    folder.fails("insert /dev/null words", &["cannot read /dev/null"]);
}
