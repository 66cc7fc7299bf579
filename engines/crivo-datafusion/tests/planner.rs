//! Plans with runtime filters have the results of plans without.

#[path = "../../tpch/mod.rs"]
mod tpch;

use std::sync::Arc;

use crivo_datafusion::planner::{self, CrivoOptions, RuntimeFilterExec};
use datafusion::arrow::array::RecordBatch;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};

/// A session whose joins exchange rows between partitions, as those of a cluster do.
fn context(options: CrivoOptions) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(3);
    config.options_mut().optimizer.hash_join_single_partition_threshold = 0;
    config.options_mut().optimizer.hash_join_single_partition_threshold_rows = 0;
    config.options_mut().extensions.insert(options);
    planner::enable(&SessionContext::new_with_config(config))
}

fn forced(fpr: f64) -> CrivoOptions {
    let mut options = CrivoOptions::default();
    options.runtime_filters = true;
    options.force = true;
    options.fpr = fpr;
    // Filters count their rows, lists do not.
    options.max_in_list = 0;
    options
}

/// The rows of a query, the number of its filters, and how many rows these dropped.
async fn run(context: &SessionContext, sql: &str) -> (Vec<RecordBatch>, usize, u64) {
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = collect(Arc::clone(&plan), context.task_ctx()).await;
    let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
    match plan.downcast_ref::<RuntimeFilterExec>() {
        Some(root) => {
            let counts = root.counts();
            (rows, root.filters().len(), counts.rows - counts.passed)
        }
        None => (rows, 0, 0),
    }
}

/// How many filters each query of TPC-H gets if they are forced.
const FILTER_COUNTS: [usize; 22] =
    [0, 16, 4, 2, 10, 0, 10, 14, 10, 6, 4, 2, 1, 2, 2, 3, 4, 6, 2, 8, 9, 1];

/// The queries whose filters count no dropped row: there is no join (1, 6), every row passes (13), or all
/// others are outside the range of the keys (11, 15, 17).
const NOTHING_COUNTED: [usize; 6] = [1, 6, 11, 13, 15, 17];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_queries_of_tpch_have_the_same_result_with_forced_filters() {
    let tables = tpch::tables(0.01);
    let session = |options| {
        let context = context(options);
        for (name, batches) in &tables {
            context.register_table(*name, tpch::table(batches)).unwrap();
        }
        context
    };
    let plain = session(CrivoOptions::default());
    let filtered = [forced(0.01), forced(0.5)].map(session);
    for ((number, sql), filter_count) in tpch::queries().into_iter().zip(FILTER_COUNTS) {
        let (expected, none, _) = run(&plain, sql).await;
        assert_eq!(none, 0);
        let expected = tpch::sorted_rows(&expected);
        assert!(!expected.is_empty(), "query {number}");
        for context in &filtered {
            let (rows, filters, dropped) = run(context, sql).await;
            assert_eq!(tpch::sorted_rows(&rows), expected, "query {number}");
            assert_eq!(filters, filter_count, "query {number}");
            assert_eq!(dropped > 0, !NOTHING_COUNTED.contains(&number), "query {number}");
        }
    }
}

/// Numbers that are the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Pairs of types whose values can be joined, and the SQL of a value of each from an integer `$`.
const TYPES: [(&str, &str); 13] = [
    ("CAST($ AS INT)", "CAST($ AS BIGINT)"),
    ("CAST($ AS TINYINT)", "CAST($ AS SMALLINT)"),
    ("CAST($ AS BIGINT UNSIGNED)", "CAST($ AS BIGINT)"),
    ("CAST($ AS INT UNSIGNED)", "CAST($ AS INT)"),
    ("CAST($ AS REAL) / 4", "CAST($ AS DOUBLE) / 4"),
    ("CAST($ AS BIGINT)", "CAST($ AS DOUBLE)"),
    ("CAST('k' || $ AS VARCHAR)", "arrow_cast('k' || $, 'LargeUtf8')"),
    ("arrow_cast('k' || $, 'Dictionary(Int32, Utf8)')", "arrow_cast('k' || $, 'Utf8View')"),
    ("arrow_cast('k' || $, 'Binary')", "arrow_cast('k' || $, 'BinaryView')"),
    (
        "DATE '2026-01-01' + CAST($ AS INT)",
        "arrow_cast(DATE '2026-01-01' + CAST($ AS INT), 'Date64')",
    ),
    ("CAST($ AS DECIMAL(10, 2))", "CAST($ AS DECIMAL(20, 4))"),
    ("$ % 2 = 0", "$ % 2 = 0"),
    (
        "arrow_cast(CAST($ AS BIGINT), 'Timestamp(Second, None)')",
        "arrow_cast(CAST($ AS BIGINT) * 1000, 'Timestamp(Millisecond, None)')",
    ),
];

/// SQL of a table with the key columns `a` and `b`, each NULL now and then, and the numbers of its rows.
fn side(numbers: &mut Numbers, types: [&str; 2], prefix: &str) -> String {
    let rows = numbers.pick(&[0, 1, 7, 300, 300, 1000]);
    let keys = numbers.pick(&[3, 20, 100]);
    let skew = numbers.pick(&[1, 1, 3]);
    let nulls = numbers.pick(&[1000, 10, 2]);
    let values: Vec<String> = (0..rows)
        .map(|row| {
            let mut key = || {
                let spread = numbers.below(keys);
                let key = if skew == 3 && numbers.below(3) > 0 { 1 } else { spread };
                if numbers.below(nulls) == 0 { "NULL".to_owned() } else { key.to_string() }
            };
            format!("({}, {}, {row})", key(), key())
        })
        .collect();
    let values = match values.is_empty() {
        true => "(0, 0, 0)".to_owned(),
        false => values.join(", "),
    };
    let column = |index: usize, name: &str| types[index].replace('$', &format!("t.{name}"));
    let filter = if rows == 0 { "WHERE false" } else { "" };
    format!(
        "(SELECT {} AS {prefix}a, {} AS {prefix}b, r AS {prefix}r \
         FROM (VALUES {values}) AS t(x, y, r) {filter})",
        column(0, "x"),
        column(1, "y")
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_joins_have_the_same_result_with_forced_filters() {
    const CASES: u64 = 120;
    let plain = context(CrivoOptions::default());
    let filtered = [forced(0.01), forced(0.5)].map(context);
    let (mut filters, mut dropped) = (0, 0);
    for case in 0..CASES {
        let mut numbers = Numbers(case);
        let first = TYPES[(case % TYPES.len() as u64) as usize];
        let second = numbers.pick(&TYPES);
        let left = side(&mut numbers, [first.0, second.0], "l");
        let right = side(&mut numbers, [first.1, second.1], "r");
        let join = numbers.pick(&[
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "LEFT SEMI JOIN",
            "RIGHT SEMI JOIN",
            "LEFT ANTI JOIN",
            "RIGHT ANTI JOIN",
        ]);
        let condition = numbers.pick(&[
            "la = ra",
            "la = ra AND lb = rb",
            "la = ra AND lr < rr",
            "la IS NOT DISTINCT FROM ra",
            "la = ra AND lb IS NOT DISTINCT FROM rb",
        ]);
        let sql = match numbers.below(6) {
            0 => format!("SELECT * FROM {left} AS l WHERE la NOT IN (SELECT ra FROM {right} AS r)"),
            1 => format!(
                "SELECT * FROM {left} AS l WHERE la IN (SELECT ra FROM {right} AS r WHERE rr % 3 = 0)"
            ),
            _ => format!("SELECT * FROM {left} AS l {join} {right} AS r ON {condition}"),
        };
        let expected = tpch::sorted_rows(&run(&plain, &sql).await.0);
        for context in &filtered {
            let (rows, count, fewer) = run(context, &sql).await;
            assert_eq!(tpch::sorted_rows(&rows), expected, "case {case}: {sql}");
            filters += count;
            dropped += fewer;
        }
    }
    // The cases are always the same.
    assert!(filters > 150 && dropped > 10_000, "{filters} filters dropped {dropped} rows");
}

#[tokio::test]
async fn explain_shows_the_filters() {
    let context = context(forced(0.01));
    let sql = "EXPLAIN SELECT * FROM (VALUES (1), (2), (3)) AS t(x) JOIN (VALUES (3), (4)) AS u(y) \
               ON x = y";
    let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
    let text = datafusion::arrow::util::pretty::pretty_format_batches(&rows).unwrap().to_string();
    assert!(text.contains("bloom_contains("), "{text}");
    assert!(text.contains("2 keys of u.y"), "{text}");
}

#[tokio::test]
async fn what_may_differ_between_the_phases_gets_no_filter() {
    let context = context(forced(0.01));
    let t = "(VALUES (1), (2), (3)) AS t(x)";
    for build in [
        "(SELECT y FROM (VALUES (1), (2)) AS u(y) LIMIT 1)",
        "(SELECT y FROM (VALUES (1), (2)) AS u(y) WHERE random() < 0.5)",
        "(SELECT CAST(sum(y) AS BIGINT) AS y FROM (VALUES (1.5), (2.5)) AS u(y))",
        "(SELECT CAST(row_number() OVER () AS BIGINT) AS y FROM (VALUES (1), (2)) AS u(y))",
    ] {
        // Only the side of t is filtered by the other one; the other may still be filtered by t.
        let sql = format!("SELECT * FROM {t} LEFT SEMI JOIN {build} AS b ON x = y");
        let frame = context.sql(&sql).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        if let Some(root) = plan.downcast_ref::<RuntimeFilterExec>() {
            assert!(root.filters().iter().all(|it| it.build.contains("t.x")), "{sql}");
        }
    }
}

#[tokio::test]
async fn a_file_that_changes_between_the_phases_ends_the_query_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("t.csv"), "x\n1\n2\n3\n").unwrap();
    std::fs::write(path("u.csv"), "y\n3\n").unwrap();
    let context = context(forced(0.01));
    for (name, file) in [("t", "t.csv"), ("u", "u.csv")] {
        context.register_csv(name, path(file), Default::default()).await.unwrap();
    }
    let frame = context.sql("SELECT * FROM t JOIN u ON x = y").await.unwrap();
    let plan = frame.clone().create_physical_plan().await.unwrap();
    assert_eq!(plan.downcast_ref::<RuntimeFilterExec>().unwrap().filters().len(), 2);
    let rows = collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);

    let plan = frame.create_physical_plan().await.unwrap();
    std::fs::write(path("u.csv"), "y\n3\n2\n").unwrap();
    let error = collect(plan, context.task_ctx()).await.unwrap_err();
    assert!(error.to_string().contains("changed while the query read them"), "{error}");
}
