//! Whole Parquet files: `inspect`, `query --parquet-column`, `add-filters`. The files are those of
//! pyarrow and duckdb in `crivo-formats`.

use crate::support::TestDir;

fn with_file(name: &str) -> TestDir {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../crivo-formats/tests/fixtures");
    let dir = TestDir::new();
    let path = format!("{fixtures}/parquet-files/{name}.parquet");
    dir.write("a.parquet", std::fs::read(path).expect("a fixture"));
    dir
}

#[test]
fn inspect_lists_filters_by_row_group_and_column() {
    let dir = with_file("pyarrow-filters");
    let facts = dir.ok("inspect --json a.parquet").json();
    assert_eq!(facts["row_groups"], 3);
    assert_eq!(facts["columns"].as_array().unwrap().len(), 15);
    assert_eq!(facts["columns"][0]["filters"], 3);
    assert_eq!(facts["columns"][9]["filters"], 0);
    let filters = facts["filters"].as_array().unwrap();
    assert_eq!(filters.len(), 24);
    for filter in filters {
        let estimate = filter["estimated_keys"].as_f64().unwrap();
        // 100 keys, or 80 that are not null; a table of 128 bytes estimates them to a few.
        assert!((60.0..125.0).contains(&estimate), "{filter}");
        assert!(filter["expected_fpr"].as_f64().unwrap() < 0.1, "{filter}");
    }
    let text = dir.ok("inspect a.parquet").out;
    assert!(text.starts_with("a.parquet: a Parquet file of 3 row groups and 15 columns"), "{text}");
    assert!(text.contains("struct.b.c") && text.contains("FIXED_LEN_BYTE_ARRAY(16)"), "{text}");
}

#[test]
fn query_tells_which_row_groups_may_contain_a_value() {
    let dir = with_file("pyarrow-filters");
    dir.write("texts", "ключ-0-é\nnothing\nключ-150-é\nключ-299-é");
    let query = "query --parquet-column text";
    let finished = dir.ok(&format!("{query} --row-groups a.parquet texts"));
    assert_eq!(finished.out, "0\tключ-0-é\n1\tключ-150-é\n2\tключ-299-é");
    let finished = dir.ok(&format!("{query} a.parquet texts"));
    assert_eq!(finished.out, "ключ-0-é\nключ-150-é\nключ-299-é");
    assert_eq!(dir.ok(&format!("{query} -v a.parquet texts")).out, "nothing\n");
    assert_eq!(dir.ok(&format!("{query} -c a.parquet texts")).out, "3\n");
    // The file tells the type: numbers are read as such.
    dir.write("numbers", "-3000000\n5\n-2208100\n");
    let finished = dir.ok("query --parquet-column int32 --row-groups a.parquet numbers");
    assert_eq!(finished.out, "0\t-3000000\n1\t-2208100\n");
    dir.fails("query --parquet-column int32 a.parquet texts", &["not a key of type int32"]);
    let other_type = "query --parquet-column int32 --key-type int64 a.parquet numbers";
    dir.fails(other_type, &["INT32", "int64"]);
    dir.fails("query --parquet-column id a.parquet texts", &["there is no column \"id\""]);
    dir.fails("query a.parquet texts", &["--parquet-column", "int32", "struct.b.c"]);
    dir.ok("build -o own texts");
    dir.fails("query --parquet-column text own texts", &["--parquet-column is for Parquet files"]);
    // A row group without a filter may contain anything.
    let finished = dir.ok("query --parquet-column struct.b.c --row-groups a.parquet texts");
    assert!(finished.out.starts_with("0,1,2\tключ-0-é\n"), "{finished:?}");
    assert!(finished.err.contains("no filter in 3 of 3 row groups"), "{finished:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn add_filters_replaces_the_file_or_writes_another() {
    let dir = with_file("pyarrow-plain");
    let before = dir.read("a.parquet");
    dir.write("keys", "7\nnothing\n");
    let one = dir.ok("add-filters --column struct.b.c --json -o b.parquet a.parquet").json();
    assert_eq!((&one["added"], &one["columns"]["struct.b.c"]), (&2.into(), &2.into()));
    assert!(dir.read("a.parquet") == before, "the input has changed");
    let query = "query --parquet-column struct.b.c --row-groups b.parquet keys";
    assert_eq!(dir.ok(query).out, "0\t7\n");

    let finished = dir.ok("add-filters --fpr 0.1% a.parquet");
    assert!(finished.err.contains("added 28 filters in 14 columns"), "{finished:?}");
    let after = dir.read("a.parquet");
    assert!(after.len() > before.len());
    dir.ok("add-filters a.parquet");
    assert!(dir.read("a.parquet") == after, "there was nothing to add");
    let facts = dir.ok("inspect --json a.parquet").json();
    assert_eq!(facts["filters"].as_array().unwrap().len(), 28);
    for filter in facts["filters"].as_array().unwrap() {
        assert!(filter["expected_fpr"].as_f64().unwrap() < 0.002, "{filter}");
    }

    dir.fails("add-filters --column bool a.parquet", &["a.parquet: column \"bool\"", "BOOLEAN"]);
    dir.fails("add-filters keys", &["keys: this is not a Parquet file"]);
    dir.fails("add-filters --fpr 2 a.parquet", &["--fpr"]);
    dir.fails("add-filters nothing.parquet", &["nothing.parquet"]);
    assert!(dir.read("a.parquet") == after);
    assert_eq!(dir.names(), ["a.parquet", "b.parquet", "keys"]);
}
