//! `crivo query`.

use super::{TestDir, lines};

#[test]
fn prints_possible_members_or_certain_non_members() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", &lines(0..1000), &["--fpr", "1e-9"]);
    let input = lines(500..1500);
    let seen = dir.run_with(["query", "seen.crivo"], input.as_bytes()).text();
    assert_eq!(seen, lines(500..1000));
    let new = dir.run_with(["query", "-v", "seen.crivo", "-"], input.as_bytes()).text();
    assert_eq!(new, lines(1000..1500));
    for no_verify in [&[][..], &["--no-verify"]] {
        let args = [&["query", "-c", "seen.crivo"], no_verify].concat();
        assert_eq!(dir.run_with(args, input.as_bytes()).text(), "500\n");
    }
    dir.file("input", &input);
    let json = dir.run(["query", "--count", "--json", "seen.crivo", "input"]).text();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["records"], 1000);
    assert_eq!(json["may_be_present"], 500);
    assert_eq!(json["certainly_absent"], 500);
}

#[test]
fn the_status_is_1_only_if_nothing_was_printed() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    for (args, input, status) in [
        (&["query", "seen.crivo"][..], "ana\n", 0),
        (&["query", "seen.crivo"], "bob\n", 1),
        (&["query", "seen.crivo"], "", 1),
        (&["query", "-v", "seen.crivo"], "ana\n", 1),
        (&["query", "-v", "seen.crivo"], "ana\nbob\n", 0),
        (&["query", "-q", "seen.crivo"], "bob\nana\n", 0),
        (&["query", "-q", "seen.crivo"], "bob\n", 1),
        (&["query", "-c", "seen.crivo"], "bob\n", 1),
    ] {
        let finished = dir.run_with(args, input.as_bytes());
        assert_eq!(finished.status, Some(status), "{args:?} {input:?}: {}", finished.stderr);
        assert!(finished.stderr.is_empty(), "{}", finished.stderr);
        assert!(!args.contains(&"-q") || finished.stdout.is_empty());
    }
}

#[test]
fn records_are_printed_unchanged() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n\nb\u{fc}\n", &[]);
    // Both line endings, an empty line, none at the end; keys are bytes, not text.
    let input = b"ana\r\n\nno\nana\n\xff\xfe\nb\xc3\xbc\r\n\r\nana";
    let printed = dir.run_with(["query", "seen.crivo"], input).printed();
    assert_eq!(printed, b"ana\r\n\nana\nb\xc3\xbc\r\n\r\nana");
    let input = b"ana\0no\0\0ana";
    assert_eq!(dir.run_with(["query", "-z", "seen.crivo"], input).printed(), b"ana\0\0ana");
}

#[test]
fn a_field_or_a_column_can_be_the_key() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n\"b,c\n", &["--fpr", "1e-9"]);
    let printed = dir.run_with(
        ["query", "--field", "2", "--delimiter", ":", "seen.crivo"],
        b"1:ana:x\nana:2\n3:ana\r\n",
    );
    assert_eq!(printed.printed(), b"1:ana:x\n3:ana\r\n");
    dir.file("a.csv", "id,name\n1,ana\n2,\"no\nana\"\n3,\"\"\"b,c\"\n");
    dir.file("b.csv", "id,\"name\"\r\n4,ana\n5,bob");
    let columns = ["query", "--csv", "--column", "name", "seen.crivo", "a.csv", "b.csv"];
    assert_eq!(dir.run(columns).text(), "id,name\n1,ana\n3,\"\"\"b,c\"\n4,ana\n");
}

#[test]
fn records_with_different_columns_are_not_mixed() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    dir.file("a.csv", "id,name\n1,ana\n");
    dir.file("b.csv", "name,id\nana,2\n");
    for command in [&["query", "seen.crivo"][..], &["dedup"]] {
        let args = [command, &["--csv", "--column", "name", "a.csv", "b.csv"]].concat();
        let error = dir.run(args).error();
        assert!(error.contains("the columns of b.csv differ from those of a.csv"), "{error}");
        assert!(error.contains("name, id; and: id, name"), "{error}");
    }
    // If nothing is printed, each file's own header gives the column.
    let count = ["query", "-c", "--csv", "--column", "name", "seen.crivo", "a.csv", "b.csv"];
    assert_eq!(dir.run(count).text(), "2\n");
}

/// As grep does: later inputs are not read.
#[test]
fn a_quiet_query_ends_at_the_first_hit() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    dir.file("hit", "bob\nana\n");
    dir.file("none", "bob\n");
    let hit = dir.run(["query", "-q", "seen.crivo", "hit", "missing"]);
    assert_eq!((hit.status, hit.stderr.as_str()), (Some(0), ""));
    for files in [["none", "missing"], ["missing", "hit"]] {
        let error = dir.run(["query", "-q", "seen.crivo"].iter().chain(&files)).error();
        assert!(error.contains("cannot read missing"), "{error}");
    }
    // If records are printed, a missing file is an early error.
    let finished = dir.run(["query", "seen.crivo", "hit", "missing"]);
    assert!(finished.stdout.is_empty());
    finished.error();
}

#[cfg(unix)]
#[test]
fn a_filter_can_come_through_a_pipe_but_not_be_mapped() {
    let dir = TestDir::new();
    dir.filter("seen.crivo", "ana\n", &[]);
    let crivo = env!("CARGO_BIN_EXE_crivo");
    let run = |more: &str| {
        let script = format!("cat seen.crivo | '{crivo}' query {more} /dev/stdin input");
        dir.file("input", "ana\nbob\n");
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", &script]).current_dir(dir.path(".")).output();
        super::Finished::from(output.unwrap())
    };
    assert_eq!(run("").text(), "ana\n");
    let error = run("--no-verify").error();
    assert!(error.contains("not a regular file; leave out --no-verify"), "{error}");
}

#[test]
fn many_lines_keep_their_order() {
    let dir = TestDir::new();
    let members: Vec<u64> = (0..600_000).filter(|number| number % 3 == 0).collect();
    dir.filter("seen.crivo", &lines(members.iter().copied()), &["--fpr", "1e-9"]);
    dir.file("input", lines(0..600_000));
    assert!(dir.run(["query", "seen.crivo", "input"]).text() == lines(members));
}

#[test]
fn a_secret_key_must_be_given_for_queries() {
    let dir = TestDir::new();
    dir.file("secret", [7; 16]);
    dir.filter("keyed.crivo", "ana\n", &["--hash", "sip", "--key-file", "secret"]);
    let error = dir.run_with(["query", "keyed.crivo"], b"ana\n").error();
    assert!(error.contains("secret key"), "{error}");
    for no_verify in [&[][..], &["--no-verify"]] {
        let args = [&["query", "keyed.crivo", "--key-file", "secret"], no_verify].concat();
        assert_eq!(dir.run_with(args, b"ana\nbob\n").text(), "ana\n");
    }
}

#[test]
fn damage_is_found_before_anything_is_printed() {
    let dir = TestDir::new();
    let path = dir.filter("seen.crivo", &lines(0..1000), &[]);
    let bytes = std::fs::read(path).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    dir.file("damaged", damaged);
    dir.file("short", &bytes[..bytes.len() - 1]);
    dir.file("long", [&bytes[..], b"x"].concat());
    dir.file("foreign", "line 1\n");
    dir.file("empty", "");
    for (file, message) in [
        ("damaged", "checksum is wrong"),
        ("short", "cut short"),
        ("long", "behind the end"),
        ("foreign", "not a crivo filter"),
        ("empty", ""),
        ("missing", "is the path right?"),
        (".", "it is a directory"),
    ] {
        let finished = dir.run_with(["query", file], lines(0..10).as_bytes());
        assert!(finished.stdout.is_empty());
        let error = finished.error();
        assert!(error.contains(message) && !error.contains("os error"), "{file}: {error}");
    }
    for file in ["short", "foreign", "empty", "missing", "."] {
        let error = dir.run_with(["query", "--no-verify", file], b"x\n").error();
        assert!(!error.contains("os error"), "{file}: {error}");
    }
}
