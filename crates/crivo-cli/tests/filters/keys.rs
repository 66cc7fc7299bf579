//! Which bytes are the key of a record, and how a filter file records it.

use std::collections::{BTreeMap, HashSet};

use crivo::codec::Metadata;
use crivo::filter::{AnyFilter, Cuckoo};
use crivo::hash::CompositeKey;

use crate::support::{Finished, TestDir, kinds_that};

/// Fields with tabs between them: few different values, so that pairs repeat.
fn rows() -> String {
    let row = |n: u32| {
        let (a, b, c) = (n * 7 % 11, "é".repeat((n * 5 % 130) as usize), n * n % 7);
        format!("{a}\t{b}\t{c}\n")
    };
    (0..3000).map(row).collect()
}

fn metadata(filter: &AnyFilter) -> BTreeMap<&str, &str> {
    filter.metadata().iter().collect()
}

/// Whether a program can be run.
fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn several_fields_are_one_key_of_the_library() {
    let dir = TestDir::new();
    let rows = rows();
    dir.write("rows.tsv", &rows);
    let csv: String = rows.lines().map(|row| format!("{}\n", row.replace('\t', ","))).collect();
    dir.write("rows.csv", format!("a,b,c\n{csv}"));
    let tuples: HashSet<(&str, &str)> = rows
        .lines()
        .map(|row| row.split('\t').collect::<Vec<_>>())
        .map(|row| (row[2], row[1]))
        .collect();
    for arguments in [
        "--field 3,2 rows.tsv",
        "--field 3 --field 2 rows.tsv",
        "--csv --column c --column b rows.csv",
        "--csv --field 3,2 rows.csv",
    ] {
        let built = dir.ok(&format!("build -o f --fpr 1e-9 --json {arguments}")).json();
        assert_eq!(built["distinct_keys"], tuples.len(), "{arguments}");
        let filter = dir.load("f");
        assert!(tuples.iter().all(|tuple| filter.contains(tuple)), "{arguments}");
        // The expected number of false positives is below 1e-6.
        assert!(!tuples.iter().any(|(c, b)| filter.contains(&(b, c))), "{arguments}");
        assert_eq!(filter.metadata().get(Metadata::KEY_ENCODING), Some("(bytes,bytes)"));
    }
    // A key of one part is that part.
    dir.ok("build -o f --field 3 rows.tsv");
    assert!(dir.load("f").contains("4") && !dir.load("f").contains("\x014"));
}

/// Python writes the bytes of composite keys by docs/format.md, and nothing of crivo.
#[test]
fn python_makes_the_same_composite_keys() {
    const SCRIPT: &str = r#"
import random
random.seed(7)
def part():
    return bytes(random.choice(b"abc\xc3\xff ,;\"") for _ in range(random.choice([0, 1, 5, 127, 128, 300])))
def leb128(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))
with open("rows", "wb") as rows, open("keys", "w") as keys:
    for _ in range(2000):
        parts = [part() for _ in range(4)]
        rows.write(b"\t".join(parts) + b"\n")
        key = b"".join(leb128(len(p)) + p for p in (parts[3], parts[0], parts[1]))
        keys.write(key.hex() + "\n")
"#;
    if !has("python3") {
        return;
    }
    let dir = TestDir::new();
    let script = dir.in_dir("python3", &["-c", SCRIPT]).output().unwrap();
    assert!(script.status.success(), "{script:?}");
    dir.ok("build -o f --fpr 1e-9 --field 4,1,2 rows");
    let filter = dir.load("f");
    let text = String::from_utf8(dir.read("keys")).unwrap();
    let keys: HashSet<Vec<u8>> = text
        .lines()
        .map(|line| {
            (0..line.len())
                .step_by(2)
                .map(|i| u8::from_str_radix(&line[i..i + 2], 16).unwrap())
                .collect()
        })
        .collect();
    assert!(keys.len() > 1900 && keys.iter().all(|key| filter.contains(key)));
    assert_eq!(filter.key_count(), keys.len() as u64);
}

/// The same rows by awk, whose keys are joined by a byte that is in none of them.
#[test]
fn awk_finds_the_same_sets_by_several_fields() {
    if !has("awk") {
        return;
    }
    let dir = TestDir::new();
    let rows = rows();
    dir.write("a", &rows);
    dir.write(
        "b",
        rows.lines().skip(1000).step_by(3).map(|row| format!("{row}\n")).collect::<String>(),
    );
    let by_awk = |script: &str| dir.shell(&format!("LC_ALL=C awk -F'\t' '{script}' b a")).out;
    let only_a = "FNR == NR {seen[$3 \"\\001\" $1] = 1; next} ";
    for (arguments, script) in [
        ("dedup -q --field 3,1 a", "FNR == NR {next} !seen[$3 \"\\001\" $1]++"),
        ("diff --field 3,1 a b", &format!("{only_a} !(($3 \"\\001\" $1) in seen)")),
        ("common --field 3,1 a b", &format!("{only_a} ($3 \"\\001\" $1) in seen")),
    ] {
        assert_eq!(dir.ok(arguments).out, by_awk(script), "{arguments}");
    }
    dir.ok("build -o f --fpr 1e-9 --field 3,1 b");
    let expected = by_awk(&format!("{only_a} ($3 \"\\001\" $1) in seen"));
    assert_eq!(dir.ok("query --field 3,1 f a").out, expected);
    // The file says which fields.
    assert_eq!(dir.ok("query f a").out, expected);
}

#[test]
fn a_filter_records_how_its_keys_were_taken() {
    let dir = TestDir::new();
    dir.write("lines", "1;ana\n2;rui\n");
    dir.write("a.csv", "id,\"e,mail\"\n1,ana\n2,rui\n");
    for (arguments, expected) in [
        ("lines", &[][..]),
        ("--keep-cr lines", &[("cr", "keep")]),
        ("--null lines", &[]),
        ("--field 2 --delimiter ; lines", &[("field", "2"), ("delimiter", ";")]),
        ("--field 1 lines", &[("field", "1"), ("delimiter", "\t")]),
        (
            "--csv --column e,mail a.csv",
            &[("csv", "true"), ("column", "\"e,mail\""), ("delimiter", ",")],
        ),
        ("--csv a.csv", &[("csv", "true"), ("delimiter", ",")]),
        (
            "--csv --no-header --field 2 a.csv",
            &[("csv", "true"), ("header", "false"), ("field", "2"), ("delimiter", ",")],
        ),
    ] {
        dir.ok(&format!("build -o f {arguments}"));
        let filter = dir.load("f");
        let mut expected: BTreeMap<_, _> = expected.iter().copied().collect();
        expected.insert("key-encoding", "bytes");
        assert_eq!(metadata(&filter), expected, "{arguments}");
    }
}

#[test]
fn recorded_keys_are_used_by_default_and_contradictions_are_errors() {
    let dir = TestDir::new();
    dir.write("a.csv", "id,mail\n1,ana\n2,rui\n");
    dir.write("b.csv", "mail,id\nrui,7\neva,8\n");
    dir.ok("build -o f --kind cuckoo --keys 100 --fpr 1e-8 --csv --column mail a.csv");
    let before = dir.read("f");
    assert_eq!(dir.ok("query f b.csv").out, "mail,id\nrui,7\n");
    assert_eq!(dir.ok("query --csv --column mail f b.csv").out, "mail,id\nrui,7\n");
    for command in ["query", "insert", "remove"] {
        for (given, shown) in [
            ("--csv --column id", "--csv --column id --delimiter ,"),
            ("--field 2", "--field 2 --delimiter '\\t'"),
            ("--csv", "--csv --delimiter ,"),
            ("--null", "--null"),
        ] {
            let message =
                format!("taken with --csv --column mail --delimiter ,, but {shown} is given");
            let arguments = format!("{command} {given} f b.csv");
            dir.fails(&arguments, &["f: ", &message, "--as-given"]);
        }
        dir.fails(&format!("{command} --keep-cr f b.csv"), &["made without --keep-cr"]);
    }
    assert_eq!(dir.read("f"), before);
    // Elsewhere, on request.
    dir.write("lines", "eva\nana\n");
    let advice = "taken with --csv --column mail --delimiter ,, and --as-given";
    dir.fails("query f lines", &["lines has no column \"mail\"", advice]);
    assert_eq!(dir.ok("query --as-given f lines").out, "ana\n");
    dir.ok("insert f b.csv");
    assert!(dir.load("f").contains("eva") && !dir.load("f").contains("eva,8"));
    dir.ok("remove --as-given f lines");
    let filter = dir.load("f");
    assert!(filter.contains("rui") && !filter.contains("ana") && !filter.contains("eva"));
    assert_eq!(filter.metadata().get("column"), Some("mail"));
    // A filter of whole lines is asked for keys wherever they are.
    dir.ok("build -o f --fpr 1e-9 lines");
    assert_eq!(dir.ok("query --csv --column mail f b.csv").out, "mail,id\neva,8\n");
}

#[test]
fn filters_that_record_nothing_are_asked_as_the_options_say() {
    let dir = TestDir::new();
    let mut filter = Cuckoo::new(10, 1e-6).unwrap();
    for key in ["ana", "ana\r"] {
        filter.insert(key).unwrap();
    }
    filter.save(dir.path("f")).unwrap();
    dir.write("lines", "1\tana\r\n");
    assert_eq!(dir.ok("query --field 2 f lines").out, "1\tana\r\n");
    assert_eq!(dir.ok("query --keep-cr --field 2 f lines").out, "1\tana\r\n");
    dir.ok("insert f lines");
    assert!(dir.load("f").contains("1\tana") && dir.load("f").metadata().is_empty());
}

#[test]
fn keys_of_a_type_are_read_as_it() {
    let dir = TestDir::new();
    let with = |encoding: &str, keys: &[CompositeKey]| {
        let mut filter = Cuckoo::new(100, 1e-6).unwrap();
        filter.metadata_mut().set(Metadata::KEY_ENCODING, encoding).unwrap();
        filter.metadata_mut().set("column", "id").unwrap();
        assert!(keys.iter().all(|key| filter.insert(key).unwrap()));
        filter.save(dir.path("f")).unwrap();
    };
    let of = |number: i64| {
        let mut key = CompositeKey::new();
        key.push(&number);
        key
    };
    with("i64", &[of(5), of(-7)]);
    dir.write("lines", "5\n05\n6\n-7\n");
    assert_eq!(dir.ok("query f lines").out, "5\n05\n-7\n");
    dir.write("lines", "5\n6\nabc\n");
    for command in ["query", "insert", "remove"] {
        let finished = dir.run(&format!("{command} f lines"));
        assert_eq!(finished.status, 2, "{finished:?}");
        let message = "lines, line 3: \"abc\" is not a key of type i64";
        assert!(finished.err.contains(message), "{finished:?}");
    }
    dir.write("lines", "8\n");
    dir.ok("insert f lines");
    assert!(dir.load("f").contains(&8i64) && !dir.load("f").contains("8"));

    let mut pair = CompositeKey::new();
    pair.push("ana").push(&5i64);
    with("(utf8,i64)", &[pair]);
    dir.write("rows", "5\tana\n6\tana\n");
    assert_eq!(dir.ok("query --field 2,1 f rows").out, "5\tana\n");
    dir.fails(
        "query f rows",
        &["f: its keys have 2 parts", "(utf8,i64)", "there is one", "--field"],
    );
    dir.fails("query --field 1,2,3 f rows", &["there are 3"]);

    with("geometry(4326)", &[]);
    for command in ["query f rows", "insert f rows", "remove f rows"] {
        dir.fails(command, &["f: ", "cannot make", "geometry(4326)"]);
    }
    assert!(dir.ok("inspect f").out.contains("geometry(4326)"));
}

#[test]
fn filters_whose_keys_were_taken_differently_are_not_merged() {
    let dir = TestDir::new();
    dir.write("rows", "ana\t1\nrui\t2\n");
    let build = |name: &str, options: &str| {
        dir.ok(&format!("build -o {name} --kind bloom --keys 100 {options} rows"));
    };
    build("one", "--field 1");
    build("same", "--field 1");
    build("two", "--field 2");
    build("both", "--field 1,2");
    build("lines", "--keep-cr");
    dir.ok("merge -o all one same");
    assert_eq!(dir.load("all").metadata().get("field"), Some("1"));
    let fails = |second: &str, messages: &[&str]| {
        dir.fails(&format!("merge -o all one {second}"), messages);
    };
    fails("two", &["the keys of one were taken with --field 1 ", "those of two with --field 2 "]);
    fails("both", &["--field 1,2"]);
    fails("lines", &["whole records"]);
    // What is not recorded is not compared.
    let mut filter = dir.load("two");
    filter.metadata_mut().clear();
    filter.save(dir.path("unknown")).unwrap();
    dir.ok("merge -o all one unknown");
}

#[test]
fn most_records_must_have_the_field() {
    let dir = TestDir::new();
    dir.write("log", "a b c\nd e f\n");
    for command in ["build -o f", "dedup", "build -o f --json"] {
        let finished = dir.run(&format!("{command} --field 3 log"));
        assert_eq!(finished.status, 2, "{finished:?}");
        let message = "2 of 2 records lack field 3: is the delimiter a tab?";
        assert!(
            finished.err.contains(message) && finished.err.contains("--allow-missing"),
            "{finished:?}"
        );
        dir.ok(&format!("{command} --allow-missing --field 3 log"));
    }
    let finished: Finished = dir.run("diff --field 3 log log");
    assert!(finished.status == 2 && finished.err.contains("lack field 3"), "{finished:?}");
    dir.write("a.csv", "a,b\n1\n2\n3,4\n");
    let finished = dir.run("build -o g --csv --column a --column b a.csv");
    finished.failed("build", &["2 of 3 records lack a field in column \"a\" or \"b\"."]);
    assert_eq!(dir.names(), ["a.csv", "f", "log"]);
}

#[test]
fn values_of_json_are_keys() {
    let dir = TestDir::new();
    dir.write(
        "a.jsonl",
        "{\"user\": {\"id\": 7, \"name\": \"An\\u00e3\"}, \"tags\": [1, 2]}\r\n\
         {\"user\": {\"name\": \"rui\", \"id\": 7.0}}\n{\"user\": {\"id\": null}}\n",
    );
    dir.ok("build -o f --fpr 1e-9 --json-key /user/id a.jsonl");
    let filter = dir.load("f");
    assert_eq!(filter.key_count(), 3);
    assert!(filter.contains("7") && filter.contains("7.0") && filter.contains(""));
    assert_eq!(filter.metadata().get("json-key"), Some("/user/id"));
    assert_eq!(
        dir.run_with("query f", b"{\"user\":{\"id\":\"7\"}}\n{}\n{\"user\":{\"id\":8}}\n")
            .out
            .lines()
            .count(),
        2
    );
    dir.fails("query --field 2 f a.jsonl", &["taken with --json-key /user/id, but --field 2"]);

    dir.ok("build -o f --fpr 1e-9 --json-key /user/name --json-key /user/id a.jsonl");
    let filter = dir.load("f");
    assert!(filter.contains(&("Anã", "7")) && filter.contains(&("rui", "7.0")));
    assert_eq!(filter.metadata().get("json-key"), Some("/user/name\n/user/id"));
    assert_eq!(dir.ok("query f a.jsonl").out.lines().count(), 3);

    assert_eq!(
        dir.ok("dedup -q --json-key /tags/1 --allow-missing a.jsonl").out.lines().count(),
        2
    );
    let finished = dir.run("dedup --json-key /tags/1 a.jsonl");
    finished_with(&finished, "2 of 3 records lack a value at /tags/1");
    let finished = dir.run("build -o g --json-key /user a.jsonl");
    finished_with(&finished, "a.jsonl, line 1: the value at /user is an object");
    let many = "{\"a\": 1}\n".repeat(100_000);
    dir.write("b.jsonl", format!("{many}{{\"a\": 01}}\n{many}"));
    let finished = dir.run("build -o g --json-key /a a.jsonl b.jsonl");
    finished_with(&finished, "b.jsonl, line 100001: the record is not JSON: a comma or }");
    dir.fails("dedup --json-key a b.jsonl", &["is not a JSON Pointer"]);
}

fn finished_with(finished: &Finished, message: &str) {
    assert!(finished.status == 2 && finished.err.contains(message), "{finished:?}");
}

#[test]
fn case_and_white_space_can_be_ignored() {
    let dir = TestDir::new();
    dir.write("a", "Ana\n ÃNA\t\nana\n");
    dir.write("b", "ANA \nãna\nÃna\nrui\n");
    assert_eq!(dir.ok("dedup -q --ignore-case --trim a").out, "Ana\n ÃNA\t\n");
    assert_eq!(dir.ok("dedup -q --trim a").out, "Ana\n ÃNA\t\nana\n");
    assert_eq!(dir.ok("common --ignore-case b a").out, "");
    assert_eq!(dir.ok("common --ignore-case --trim b a").out, "ANA \nãna\nÃna\n");
    let build = |name: &str, options: &str| {
        dir.ok(&format!("build -o {name} --kind bloom --keys 100 --fpr 1e-9 {options}a"));
    };
    build("f", "--ignore-case --trim ");
    let filter = dir.load("f");
    assert!(filter.contains("ana") && filter.contains("ãna") && filter.key_count() == 2);
    assert_eq!(filter.metadata().get("ignore-case"), Some("true"));
    assert_eq!(filter.metadata().get("trim"), Some("true"));
    // The file says it.
    assert_eq!(dir.ok("query f b").out, "ANA \nãna\nÃna\n");
    assert!(dir.ok("inspect f").out.contains("ignore-case"));
    build("plain", "");
    for command in ["query", "insert"] {
        let message = "made without --ignore-case";
        dir.fails(&format!("{command} --ignore-case plain b"), &["plain: ", message]);
    }
    dir.fails("merge -o all f plain", &["f and plain: ", "ignore-case"]);
    // Parts are trimmed and folded one by one.
    dir.write("rows", "A\t B\n");
    dir.ok("build -o g --field 1,2 --trim --ignore-case rows");
    assert!(dir.load("g").contains(&("a", "b")));
}

#[test]
fn copies_of_keys_are_counted() {
    let dir = TestDir::new();
    dir.write("a", format!("{}rui\n", "ana\n".repeat(20)));
    dir.write("b", "eva\nana\nrui\n");
    dir.write("b.csv", "\u{feff}id,name\n1,eva\n2,rui\n");
    for kind in kinds_that(|can| can.free_copies) {
        dir.ok(&format!("build -o f --kind {kind} --fpr 1e-6 a"));
        assert_eq!(dir.ok("query --copies f b").out, "15+\tana\n1\trui\n", "{kind}");
        let csv = dir.ok("query --copies --csv --column name f b.csv");
        assert_eq!(csv.out, "\u{feff}copies,id,name\n1,2,rui\n", "{kind}");
    }
    for kind in ["cuckoo", "quotient"] {
        dir.ok(&format!("build -o f --kind {kind} --keys 100 --fpr 1e-6 a"));
        dir.ok("insert f a");
        assert_eq!(dir.ok("query --copies f b").out, "2\tana\n2\trui\n", "{kind}");
    }
    assert_eq!(dir.run_with("query --copies f", b"eva\n").status, 1);
    dir.ok("build -o f --kind bloom a");
    dir.fails("query --copies f b", &["f: a bloom filter does not count copies; counting"]);
}
