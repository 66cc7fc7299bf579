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
        &["dedup", "--column", "a"][..],
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

/// `printf 'ana\nrui\nana\n'` through xz 5.4.
const XZ: &[u8] = &[
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01,
    0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x0b, 0x61, 0x6e, 0x61, 0x0a, 0x72,
    0x75, 0x69, 0x0a, 0x61, 0x6e, 0x61, 0x0a, 0x00, 0x23, 0xf4, 0xe4, 0xde, 0x71, 0x44, 0xfd, 0x96,
    0x00, 0x01, 0x24, 0x0c, 0xa6, 0x18, 0xd8, 0xd8, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x04, 0x59, 0x5a,
];

/// The same through bzip2 1.0.
const BZIP2: &[u8] = &[
    0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x55, 0xbe, 0x45, 0xbc, 0x00, 0x00,
    0x03, 0x41, 0x80, 0x00, 0x10, 0x20, 0x21, 0x12, 0x00, 0x20, 0x00, 0x30, 0xc0, 0x04, 0xa3, 0x6a,
    0x69, 0x20, 0x89, 0x52, 0x5f, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0x55, 0xbe, 0x45, 0xbc,
];

#[test]
fn xz_and_bzip2_are_read() {
    let dir = TestDir::new();
    for (name, bytes) in [("xz", XZ), ("bzip2", BZIP2)] {
        // Two streams one after the other are one file, as for gzip.
        dir.file("twice", [bytes, bytes].concat());
        assert_eq!(dir.run(["dedup", "twice"]).text(), "ana\nrui\n", "{name}");
        assert_eq!(dir.run_with(["dedup"], bytes).text(), "ana\nrui\n", "{name}");
        dir.file("short", &bytes[..bytes.len() - 3]);
        let error = dir.run(["dedup", "short"]).error();
        assert!(error.contains("cannot read short: its") && error.contains(name), "{error}");
        let mut damaged = bytes.to_vec();
        damaged[30] ^= 1;
        dir.file("damaged", damaged);
        let error = dir.run(["dedup", "damaged"]).error();
        assert!(error.contains("is damaged") && error.contains(name), "{error}");
    }
}

#[test]
fn files_that_are_not_made_of_records_are_refused() {
    let dir = TestDir::new();
    for (bytes, what, tool) in [
        (b"PK\x03\x04\x14\0\0\0".as_slice(), "a zip archive", "unzip"),
        (b"PAR1\x15\x04\x15\x20\x15\x22", "a Parquet file", "duckdb"),
        (b"Obj\x01\x04\x16avro.schema", "an Avro file", "avro-tools"),
        (
            b"ORC\n\x06\x12\x04\x08\x05\x10\0\n\x06\x12\x04\x08\x05\x10\0 and more",
            "an ORC file",
            "orc-contents",
        ),
    ] {
        dir.file("data", bytes);
        for args in
            [&["dedup", "data"][..], &["build", "-o", "f", "data"], &["diff", "data", "data"]]
        {
            let error = dir.run(args).error();
            assert!(error.contains(what) && error.contains(tool), "{error}");
        }
    }
    assert!(!dir.path("f").exists());
}

/// What it prints would be its input, until the disk is full.
#[cfg(unix)]
#[test]
fn an_input_that_is_also_the_output_is_refused() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "a\n", &[]);
    dir.file("empty", "");
    for args in [
        &["dedup", "x"][..],
        &["dedup"],
        &["diff", "x", "empty"],
        &["common", "x", "x"],
        &["query", "--absent", "seen.crivo", "x"],
    ] {
        let path = dir.file("x", "b\nc\n");
        let output = File::options().append(true).open(&path).unwrap();
        let mut command = dir.command(args);
        command.stdin(File::open(&path).unwrap()).stdout(output);
        let error = super::Finished::from(command.output().unwrap()).error();
        assert!(error.contains("it is also the output"), "{args:?} {error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"b\nc\n");
    }
    // Nothing is read again from a device.
    assert_eq!(
        dir.command(["dedup", "/dev/null"]).stdout(Stdio::null()).status().unwrap().code(),
        Some(0)
    );
}
