//! What goes wrong outside: files that cannot be read, disks that are full, readers that leave.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{Bench, is_empty, lines};

#[test]
fn what_cannot_be_read_is_an_error() {
    let bench = Bench::new();
    bench.filter("seen.crivo", "a\n", &[]);
    bench.file("a", "a\n");
    for args in [
        &["dedup", "a", "missing"][..],
        &["query", "seen.crivo", "missing"],
        &["diff", "a", "missing"],
        &["common", "missing", "a"],
    ] {
        let error = bench.run(args).error();
        assert!(error.contains("cannot read missing: "), "{error}");
        assert!(error.contains("is the path right?") && !error.contains("os error"), "{error}");
    }
    for args in [&["dedup", "."][..], &["query", "seen.crivo", "."], &["diff", ".", "a"]] {
        let error = bench.run(args).error();
        assert!(error.contains("it is a folder"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let bench = Bench::new();
    let path = bench.file("private", "a\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    // Who may read everything cannot be refused.
    if File::open(&path).is_err() {
        let error = bench.run(["dedup", "private"]).error();
        assert!(error.contains("may you read the file?"), "{error}");
    }
}

#[test]
fn a_damaged_compressed_file_is_an_error() {
    let bench = Bench::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(lines(0..100_000).as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    bench.file("whole.gz", &compressed);
    assert!(bench.run(["dedup", "whole.gz"]).text() == lines(0..100_000));
    let zstd = compress_to_vec(lines(0..100_000).as_bytes(), CompressionLevel::Fastest);
    for (name, compressed) in [("gzip", compressed), ("zstd", zstd)] {
        // Cut in its header, in the middle, and in the checksum at its end.
        for length in [6, compressed.len() / 2, compressed.len() - 1] {
            bench.file("cut", &compressed[..length]);
            for args in [&["dedup", "cut"][..], &["diff", "cut", "whole.gz"]] {
                let error = bench.run(args).error();
                let words = format!("cannot read cut: its {name} data is cut short; fetch");
                assert!(error.contains(&words), "{error}");
            }
        }
        let mut damaged = compressed;
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0x55);
        bench.file("damaged", &damaged);
        let error = bench.run(["dedup", "damaged"]).error();
        assert!(error.contains(&format!("cannot read damaged: its {name} data is")), "{error}");
    }
}

/// Tapes are filled up with zeros; gzip(1) does not mind either.
#[test]
fn zeros_behind_gzip_data_are_left_out() {
    let bench = Bench::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"ana\nbob\n").unwrap();
    let compressed = encoder.finish().unwrap();
    for zeros in [1, 512, 1_000_000] {
        bench.file("padded.gz", [&compressed[..], &vec![0; zeros]].concat());
        assert_eq!(bench.run(["dedup", "padded.gz"]).text(), "ana\nbob\n");
    }
    for more in [&b"x"[..], b"\0\0x", b"\0\x1f\x8b\x08"] {
        bench.file("more.gz", [&compressed[..], more].concat());
        let error = bench.run(["dedup", "more.gz"]).error();
        assert!(error.contains("cannot read more.gz: "), "{error}");
    }
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_that_tells_where_it_opens() {
    let bench = Bench::new();
    bench.filter("seen.crivo", "ana\n", &[]);
    bench.file("first.csv", "id,name\n1,ana\n2,\"bo\nb\"\n\n3,\"cid\n4,dan\n");
    bench.file("header.csv", "id,\"name\n1,ana\n");
    // Also far behind the first chunk.
    let many: String = (0..100_000).map(|id| format!("{id},ana\n")).collect();
    bench.file("last.csv", format!("id,name\n{many}7,\"x\"\n8,\""));
    for (file, line) in [("first.csv", 6), ("header.csv", 1), ("last.csv", 100_003)] {
        for command in [&["dedup"][..], &["query", "seen.crivo"], &["build", "-o", "new"]] {
            let error = bench.run([command, &["--csv", "--column", "name", file]].concat()).error();
            let words = format!("{file}, line {line}: a quote opens a field there");
            assert!(error.contains(&words), "{error}");
        }
        let error = bench.run(["diff", "--csv", "--column", "name", file, file]).error();
        assert!(error.contains(&format!("{file}, line {line}: ")), "{error}");
    }
    assert!(!bench.path("new").exists());
}

#[test]
fn a_missing_column_is_an_error_that_names_those_there_are() {
    let bench = Bench::new();
    let error = bench.run_with(["dedup", "--csv", "--column", "email"], b"id,name\n").error();
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
        bench.run(args).error();
    }
}

#[test]
fn lines_of_100_mb_are_lines() {
    let bench = Bench::new();
    let mut input = vec![b'x'; 100_000_000];
    input.extend_from_slice(b"\nshort\n");
    input.extend(std::iter::repeat_n(b'x', 100_000_000));
    input.extend_from_slice(b"\r\nshort");
    bench.file("input", &input);
    let printed = bench.run(["dedup", "input"]).printed();
    assert!(printed == input[..100_000_007]);
    // Through a pipe, and put aside on disk.
    let aside = [lines(0..2_000).as_bytes(), &input].concat();
    let printed = bench.run_with(["dedup", "--memory", "0"], &aside).printed();
    assert!(printed == aside[..aside.len() - 100_000_007]);
}

/// Whoever reads the output leaves after one line, and more is to come than a pipe holds.
#[test]
fn a_broken_pipe_is_no_error() {
    let bench = Bench::new();
    bench.filter("seen.crivo", "", &[]);
    bench.file("input", lines(0..300_000));
    bench.file("empty", "");
    for args in [
        &["dedup", "input"][..],
        &["query", "-v", "seen.crivo", "input"],
        &["diff", "input", "empty"],
    ] {
        let mut child = bench.command(args).spawn().unwrap();
        let mut first = [0; 7];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(&first, b"line 0\n");
        let ended = super::Ended::from(child.wait_with_output().unwrap());
        assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let bench = Bench::new();
    bench.filter("seen.crivo", "a\n", &[]);
    bench.file("a", "a\n");
    bench.file("empty", "");
    for args in [
        &["dedup", "a"][..],
        &["query", "seen.crivo", "a"],
        &["query", "-c", "seen.crivo", "a"],
        &["diff", "a", "empty"],
        &["common", "a", "a"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = bench.command(args).stdout(full).output().unwrap();
        let error = super::Ended::from(output).error();
        assert!(error.contains("cannot write to standard output"), "{args:?}: {error}");
    }
}

/// A limit of the size of files stands in for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_for_temporary_files_is_an_error_that_names_tmpdir() {
    let bench = Bench::new();
    bench.file("input", lines(0..300_000));
    let script = "ulimit -f 64; exec \"$0\" dedup --memory 0 input";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_crivo")])
        .current_dir(bench.path("."))
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let ended = super::Ended::from(output);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("set TMPDIR"), "{}", ended.stderr);
}

#[test]
fn no_temporary_file_is_left() {
    let bench = Bench::new();
    let folder = bench.path("temporary");
    std::fs::create_dir(&folder).unwrap();
    bench.file("input", lines((0..50_000).chain(0..50_000)));
    for args in
        [&["dedup", "--memory", "0", "input"][..], &["diff", "--memory", "0", "input", "input"]]
    {
        let output = bench.command(args).env("TMPDIR", &folder).output().unwrap();
        assert!(output.status.success());
        assert!(is_empty(&folder));
    }
    // Also if it ends before its work does: somebody stops reading.
    let mut child =
        bench.command(["dedup", "--memory", "0", "input"]).env("TMPDIR", &folder).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert!(is_empty(&folder));
}

/// Nothing is said on standard error, and the answer comes before the input ends.
#[test]
fn a_slow_pipe_is_answered_line_by_line() {
    let bench = Bench::new();
    let mut child = bench.command(["dedup", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let long = [&[b'x'; 200_000][..], b"\n"].concat();
    for line in [b"ana\n", &long[..], b"bob\n"] {
        input.write_all(line).unwrap();
        let mut answer = vec![0; line.len()];
        output.read_exact(&mut answer).unwrap();
        assert!(answer == line);
    }
    drop(input);
    let ended = super::Ended::from(child.wait_with_output().unwrap());
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
}

/// With `-q` the first answer is enough, even if the input goes on for ever.
#[test]
fn a_quiet_query_does_not_wait_for_the_end() {
    let bench = Bench::new();
    bench.filter("seen.crivo", "ana\n", &[]);
    let mut child =
        bench.command(["query", "-q", "seen.crivo"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"bob\nana\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}
