//! Unreadable files, full disks, and readers that stop reading.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

#[cfg(unix)]
use super::unprivileged::run_unprivileged;
use super::{TestDir, is_empty, lines};

#[test]
fn missing_files_and_directories_are_errors() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "a\n", &[]);
    dir.file("a", "a\n");
    for args in [
        &["dedup", "a", "missing"][..],
        &["query", "seen.crivo", "missing"],
        &["diff", "a", "missing"],
        &["common", "missing", "a"],
    ] {
        let error = dir.run(args).error();
        assert!(error.contains("cannot read missing: "), "{error}");
        assert!(error.contains("is the path right?") && !error.contains("os error"), "{error}");
    }
    for args in [&["dedup", "."][..], &["query", "seen.crivo", "."], &["diff", ".", "a"]] {
        let error = dir.run(args).error();
        assert!(error.contains("it is a directory"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn files_without_permission_are_errors() {
    use std::os::unix::fs::PermissionsExt;

    let dir = TestDir::new();
    let path = dir.file("private", "a\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    let command = dir.command(["dedup", "private"]);
    if let Some(output) = run_unprivileged(command, &dir.path(".")) {
        let error = super::Finished::from(output).error();
        assert!(error.contains("do you have permission to read it?"), "{error}");
    }
}

#[test]
fn a_damaged_compressed_file_is_an_error() {
    let dir = TestDir::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(lines(0..100_000).as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    dir.file("whole.gz", &compressed);
    assert!(dir.run(["dedup", "whole.gz"]).text() == lines(0..100_000));
    let zstd = compress_to_vec(lines(0..100_000).as_bytes(), CompressionLevel::Fastest);
    for (name, compressed) in [("gzip", compressed), ("zstd", zstd)] {
        // Cut in its header, in the middle, and in the checksum at its end.
        for length in [6, compressed.len() / 2, compressed.len() - 1] {
            dir.file("cut", &compressed[..length]);
            for args in [&["dedup", "cut"][..], &["diff", "cut", "whole.gz"]] {
                let error = dir.run(args).error();
                let message = format!("cannot read cut: its {name} data is cut short; fetch");
                assert!(error.contains(&message), "{error}");
            }
        }
        let mut damaged = compressed;
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0x55);
        dir.file("damaged", &damaged);
        let error = dir.run(["dedup", "damaged"]).error();
        assert!(error.contains(&format!("cannot read damaged: its {name} data is")), "{error}");
    }
}

/// Tapes are padded with zeros, which gzip(1) ignores, too.
#[test]
fn zeros_after_gzip_data_are_ignored() {
    let dir = TestDir::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"ana\nbob\n").unwrap();
    let compressed = encoder.finish().unwrap();
    for zeros in [1, 512, 1_000_000] {
        dir.file("padded.gz", [&compressed[..], &vec![0; zeros]].concat());
        assert_eq!(dir.run(["dedup", "padded.gz"]).text(), "ana\nbob\n");
    }
    for more in [&b"x"[..], b"\0\0x", b"\0\x1f\x8b\x08"] {
        dir.file("more.gz", [&compressed[..], more].concat());
        let error = dir.run(["dedup", "more.gz"]).error();
        assert!(error.contains("cannot read more.gz: "), "{error}");
    }
}

#[test]
fn an_unclosed_quote_is_an_error_with_its_line() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    dir.file("first.csv", "id,name\n1,ana\n2,\"bo\nb\"\n\n3,\"cid\n4,dan\n");
    dir.file("header.csv", "id,\"name\n1,ana\n");
    // Also far behind the first chunk.
    let many: String = (0..100_000).map(|id| format!("{id},ana\n")).collect();
    dir.file("last.csv", format!("id,name\n{many}7,\"x\"\n8,\""));
    for (file, line) in [("first.csv", 6), ("header.csv", 1), ("last.csv", 100_003)] {
        for command in [&["dedup"][..], &["query", "seen.crivo"], &["build", "-o", "new"]] {
            let error = dir.run([command, &["--csv", "--column", "name", file]].concat()).error();
            let message = format!("{file}, line {line}: a quote opens a field there");
            assert!(error.contains(&message), "{error}");
        }
        let error = dir.run(["diff", "--csv", "--column", "name", file, file]).error();
        assert!(error.contains(&format!("{file}, line {line}: ")), "{error}");
    }
    assert!(!dir.path("new").exists());
}

#[test]
fn a_missing_column_is_an_error_that_names_the_columns() {
    let dir = TestDir::new();
    let error = dir.run_with(["dedup", "--csv", "--column", "email"], b"id,name\n").error();
    assert!(error.contains("no column \"email\"; its columns are: id, name"), "{error}");
    for args in [
        &["dedup", "--csv"][..],
        &["dedup", "--column", "a"],
        &["dedup", "--field", "0"],
        &["dedup", "--delimiter", ","],
        &["dedup", "--delimiter", "ab", "--field", "1"],
        &["dedup", "--csv", "--column", "a", "-z"],
        &["dedup", "--memory", "much"],
    ] {
        dir.run(args).error();
    }
}

#[test]
fn lines_of_100_mb_are_lines() {
    let dir = TestDir::new();
    let mut input = vec![b'x'; 100_000_000];
    input.extend_from_slice(b"\nshort\n");
    input.extend(std::iter::repeat_n(b'x', 100_000_000));
    input.extend_from_slice(b"\r\nshort");
    dir.file("input", &input);
    let printed = dir.run(["dedup", "input"]).printed();
    assert!(printed == input[..100_000_007]);
    // Through a pipe, and spilled to disk.
    let spilled = [lines(0..2_000).as_bytes(), &input].concat();
    let printed = dir.run_with(["dedup", "--memory", "0"], &spilled).printed();
    assert!(printed == spilled[..spilled.len() - 100_000_007]);
}

/// The reader stops after one line, and there is more output than a pipe holds.
#[test]
fn a_broken_pipe_is_no_error() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "", &[]);
    dir.file("input", lines(0..300_000));
    dir.file("empty", "");
    for args in [
        &["dedup", "input"][..],
        &["query", "-v", "seen.crivo", "input"],
        &["diff", "input", "empty"],
    ] {
        let mut child = dir.command(args).spawn().unwrap();
        let mut first = [0; 7];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(&first, b"line 0\n");
        let finished = super::Finished::from(child.wait_with_output().unwrap());
        assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "a\n", &[]);
    dir.file("a", "a\n");
    dir.file("empty", "");
    for args in [
        &["dedup", "a"][..],
        &["query", "seen.crivo", "a"],
        &["query", "-c", "seen.crivo", "a"],
        &["diff", "a", "empty"],
        &["common", "a", "a"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = dir.command(args).stdout(full).output().unwrap();
        let error = super::Finished::from(output).error();
        assert!(error.contains("cannot write to standard output"), "{args:?}: {error}");
    }
}

/// A limit on file sizes simulates a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_for_temporary_files_is_an_error_that_names_tmpdir() {
    let dir = TestDir::new();
    dir.file("input", lines(0..300_000));
    let script = "ulimit -f 64; exec \"$0\" dedup --memory 0 input";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_crivo")])
        .current_dir(dir.path("."))
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let finished = super::Finished::from(output);
    assert_eq!(finished.status, Some(2), "{}", finished.stderr);
    assert!(finished.stderr.contains("set TMPDIR"), "{}", finished.stderr);
}

#[test]
fn no_temporary_file_is_left() {
    let dir = TestDir::new();
    let directory = dir.path("temporary");
    std::fs::create_dir(&directory).unwrap();
    dir.file("input", lines((0..50_000).chain(0..50_000)));
    for args in
        [&["dedup", "--memory", "0", "input"][..], &["diff", "--memory", "0", "input", "input"]]
    {
        let output = dir.command(args).env("TMPDIR", &directory).output().unwrap();
        assert!(output.status.success());
        assert!(is_empty(&directory));
    }
    // Also if the reader of its output stops.
    let mut child =
        dir.command(["dedup", "--memory", "0", "input"]).env("TMPDIR", &directory).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert!(is_empty(&directory));
}

/// Output comes before the input ends.
#[test]
fn a_slow_pipe_is_answered_line_by_line() {
    let dir = TestDir::new();
    let mut child = dir.command(["dedup", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let long = [&[b'x'; 200_000][..], b"\n"].concat();
    for line in [b"ana\n", &long[..], b"bob\n"] {
        input.write_all(line).unwrap();
        let mut answer = vec![0; line.len()];
        output.read_exact(&mut answer).unwrap();
        assert!(answer == line);
    }
    drop(input);
    let finished = super::Finished::from(child.wait_with_output().unwrap());
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
}

/// With `-q` the first hit is enough, even if the input never ends.
#[test]
fn a_quiet_query_does_not_wait_for_the_end() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    let mut child =
        dir.command(["query", "-q", "seen.crivo"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"bob\nana\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}
