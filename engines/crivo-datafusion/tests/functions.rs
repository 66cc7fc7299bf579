//! The functions in SQL, and filters made in SQL that the command `crivo` queries.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use crivo::filter::AnyFilter;
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};

fn context() -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    crivo_datafusion::register_functions(&context);
    context
}

async fn rows(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    let frame = context.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The only value of the answer.
async fn value(context: &SessionContext, sql: &str) -> ScalarValue {
    let batches = rows(context, sql).await;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1, "{sql}");
    let batch = batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
    ScalarValue::try_from_array(batch.column(0), 0).unwrap()
}

async fn filter(context: &SessionContext, sql: &str) -> Vec<u8> {
    match value(context, sql).await {
        ScalarValue::Binary(Some(bytes)) => bytes,
        other => panic!("{sql}: {other:?}"),
    }
}

/// A table `numbers` of the column `n` with the integers of a range, in several partitions.
fn register_numbers(context: &SessionContext, count: i64) {
    let batch = |start: i64, end: i64| {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(start..end));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    };
    let partitions: Vec<Vec<RecordBatch>> =
        (0..4).map(|part| vec![batch(count * part / 4, count * (part + 1) / 4)]).collect();
    let table = MemTable::try_new(partitions[0][0].schema(), partitions).unwrap();
    context.register_table("numbers", Arc::new(table)).unwrap();
}

#[tokio::test]
async fn no_key_of_any_partition_is_missing_and_few_others_pass() {
    let context = context();
    register_numbers(&context, 100_000);
    let bytes = filter(&context, "SELECT bloom_agg(n) FROM numbers WHERE n % 10 = 0").await;
    let loaded = AnyFilter::from_bytes(&bytes).unwrap();
    assert_eq!(loaded.key_count(), 10_000);
    assert_eq!(loaded.metadata().get("key-encoding"), Some("i64"));
    let literal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let count = |condition: &str| {
        format!(
            "SELECT count(*) FROM numbers WHERE bloom_contains(x'{literal}', n) AND {condition}"
        )
    };
    let ScalarValue::Int64(Some(members)) = value(&context, &count("n % 10 = 0")).await else {
        panic!()
    };
    assert_eq!(members, 10_000);
    let ScalarValue::Int64(Some(others)) = value(&context, &count("n % 10 > 0")).await else {
        panic!()
    };
    // 90,000 keys at an FPR of at most 1%: 900 expected; the hash is fixed, and so is the number.
    assert!((500..1300).contains(&others), "{others}");
}

#[tokio::test]
async fn the_same_keys_make_the_same_bytes_however_they_are_partitioned_or_repeated() {
    let context = context();
    register_numbers(&context, 30_000);
    let once = filter(&context, "SELECT bloom_agg(n) FROM numbers").await;
    let twice = "SELECT bloom_agg(n) FROM (SELECT n FROM numbers UNION ALL \
                 SELECT n FROM numbers ORDER BY n DESC)";
    assert_eq!(filter(&context, twice).await, once);
    let narrow = "SELECT bloom_agg(CAST(n AS INT)) FROM numbers";
    assert_eq!(filter(&context, narrow).await, once);
}

#[tokio::test]
async fn groups_have_a_filter_each() {
    let context = context();
    register_numbers(&context, 1000);
    let sql = "SELECT n % 3 AS g, bloom_agg(n, 0.001) AS f FROM numbers GROUP BY n % 3 ORDER BY g";
    let batches = rows(&context, sql).await;
    let filters: Vec<AnyFilter> = batches
        .iter()
        .flat_map(|batch| batch.column(1).as_binary::<i32>().iter().flatten())
        .map(|bytes| AnyFilter::from_bytes(bytes).unwrap())
        .collect();
    assert_eq!(filters.iter().map(AnyFilter::key_count).collect::<Vec<_>>(), [334, 333, 333]);
}

#[tokio::test]
async fn nulls_are_in_no_filter_and_no_filter_removes_nothing() {
    let context = context();
    let source = "(VALUES (1), (NULL)) AS t(x)";
    let one = filter(&context, &format!("SELECT bloom_agg(x) FROM {source}")).await;
    assert_eq!(AnyFilter::from_bytes(&one).unwrap().key_count(), 1);
    let none = filter(&context, &format!("SELECT bloom_agg(x) FROM {source} WHERE x > 5")).await;
    assert_eq!(AnyFilter::from_bytes(&none).unwrap().key_count(), 0);
    for (literal, expected) in [(one, 1), (none, 0)] {
        let literal: String = literal.iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = format!("SELECT count(*) FROM {source} WHERE bloom_contains(x'{literal}', x)");
        assert_eq!(value(&context, &sql).await, ScalarValue::Int64(Some(expected)));
    }
    let sql = format!("SELECT count(*) FROM {source} WHERE bloom_contains(NULL, x)");
    assert_eq!(value(&context, &sql).await, ScalarValue::Int64(Some(2)));
}

#[tokio::test]
async fn what_cannot_be_asked_is_a_clear_error() {
    let context = context();
    let numbers = filter(&context, "SELECT bloom_agg(x) FROM (VALUES (1)) AS t(x)").await;
    let literal: String = numbers.iter().map(|byte| format!("{byte:02x}")).collect();
    for (sql, message) in [
        (format!("SELECT bloom_contains(x'{literal}', 'ana')"), "keys of type i64"),
        (format!("SELECT bloom_contains(x'{literal}', 1, 2)"), "2 columns"),
        ("SELECT bloom_contains(x'00', 1)".to_owned(), "no filter"),
        ("SELECT bloom_agg(x, 1.5) FROM (VALUES (1)) AS t(x)".to_owned(), "between 0 and 1"),
        ("SELECT bloom_agg(INTERVAL '1' DAY)".to_owned(), "cannot be a key"),
    ] {
        let error = match context.sql(&sql).await {
            Ok(frame) => frame.collect().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains(message), "{sql}: {error}");
    }
}

/// The command: `$CRIVO`, or built from this repository.
fn command() -> &'static Path {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    COMMAND.get_or_init(|| {
        if let Some(path) = std::env::var_os("CRIVO") {
            return path.into();
        }
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--package", "crivo-cli", "--no-default-features"])
            .args(["--config", "profile.dev.opt-level=0", "--config", "profile.dev.debug=0"])
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
            .arg("--target-dir")
            .arg(&directory)
            .status()
            .unwrap();
        assert!(status.success());
        directory.join("debug/crivo")
    })
}

/// What `crivo query` prints.
fn query(filter: &Path, arguments: &[&str], lines: &str) -> (String, String) {
    let mut child = Command::new(command())
        .arg("query")
        .args(arguments)
        .arg(filter)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn the_command_finds_the_keys_of_every_type() {
    let context = context();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.crivo");
    let integers = ["TINYINT", "SMALLINT", "INT", "BIGINT"];
    let unsigned = ["TINYINT UNSIGNED", "SMALLINT UNSIGNED", "INT UNSIGNED", "BIGINT UNSIGNED"];
    let moments = [
        "arrow_cast(TIMESTAMP '2026-01-31T12:30:00', 'Timestamp(Second, None)')",
        "arrow_cast(TIMESTAMP '2026-01-31T12:30:00', 'Timestamp(Millisecond, None)')",
        "arrow_cast(TIMESTAMP '2026-01-31T12:30:00', 'Timestamp(Microsecond, Some(\"+00:00\"))')",
        "TIMESTAMP '2026-01-31T12:30:00'",
    ];
    // The SQL of a key, lines of text that are the key, and lines that are not.
    let mut cases: Vec<(String, &str, &str)> = Vec::new();
    cases.extend(integers.map(|it| (format!("CAST(-5 AS {it})"), "-5\n", "5\n-6\n")));
    cases.extend(unsigned.map(|it| (format!("CAST(5 AS {it})"), "5\n", "6\n")));
    for float in ["REAL", "DOUBLE"] {
        cases.push((format!("CAST(0.5 AS {float})"), "0.5\n.5\n5e-1\n", "0.25\n"));
        cases.push((format!("CAST(-0.0 AS {float})"), "0\n-0.0\n", "1\n"));
    }
    for text in ["Utf8", "LargeUtf8", "Utf8View", "Binary", "LargeBinary", "BinaryView"] {
        cases.push((format!("arrow_cast('ana', '{text}')"), "ana\n", "Ana\n"));
    }
    cases.push(("arrow_cast('ana', 'Dictionary(Int32, Utf8)')".to_owned(), "ana\n", "rui\n"));
    cases.push((
        "arrow_cast(arrow_cast('ana', 'Binary'), 'FixedSizeBinary(3)')".to_owned(),
        "ana\n",
        "rui\n",
    ));
    cases.push(("true".to_owned(), "true\n", "false\n"));
    cases.push(("DATE '2026-01-31'".to_owned(), "2026-01-31\n", "2026-02-01\n"));
    cases.push((
        "arrow_cast(DATE '1969-12-31', 'Date64')".to_owned(),
        "1969-12-31\n",
        "1970-01-01\n",
    ));
    cases.extend(moments.map(|it| {
        (
            it.to_owned(),
            "2026-01-31T12:30:00Z\n2026-01-31 13:30:00+01:00\n",
            "2026-01-31T12:30:01Z\n",
        )
    }));
    for decimal in ["Decimal32(9, 2)", "Decimal64(18, 2)", "Decimal128(38, 2)"] {
        cases.push((format!("arrow_cast(-12.5, '{decimal}')"), "-12.5\n-12.50\n", "12.5\n"));
    }
    for (key, present, absent) in &cases {
        let sql = format!("SELECT bloom_agg(x, 0.000001) FROM (SELECT {key} AS x)");
        std::fs::write(&path, filter(&context, &sql).await).unwrap();
        let (found, messages) = query(&path, &[], &[*absent, present, absent].concat());
        assert_eq!(found, *present, "{key}: {messages}");
    }

    let (found, message) = query(&path, &[], "abc\n");
    assert_eq!(found, "");
    assert!(message.contains("\"abc\" is not a key of type decimal(2)"), "{message}");

    let sql = "SELECT bloom_agg(a, b, c, 0.000001) FROM (VALUES ('ana', 5, DATE '2026-01-31')) \
               AS t(a, b, c)";
    std::fs::write(&path, filter(&context, sql).await).unwrap();
    let lines = "ana,5,2026-01-31\nana,6,2026-01-31\nrui,5,2026-01-31\n";
    let (found, messages) = query(&path, &["--field", "1,2,3", "--delimiter", ","], lines);
    assert_eq!(found, "ana,5,2026-01-31\n", "{messages}");
}
