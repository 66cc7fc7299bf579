//! Queries on a cluster of one scheduler and two executors, each a process, have the results that
//! DataFusion has in one process.

#[path = "../../../cases/mod.rs"]
mod cases;
mod data;
mod processes;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ballista::prelude::SessionContextExt;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use crivo_ballista::JobMetrics;
use crivo_datafusion::planner::{self, CrivoOptions, RuntimeFilterExec};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::common::Result;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use processes::Cluster;

/// Longer than any query takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A session on a cluster whose joins send no side to every partition of the other; `adaptive` chooses
/// Ballista's planner.
async fn session(
    cluster: &Cluster,
    options: CrivoOptions,
    adaptive: bool,
    directory: &Path,
) -> SessionContext {
    let context = crivo_ballista::connect(&cluster.address).await.unwrap();
    context.state_ref().write().config_mut().options_mut().extensions.insert(options);
    set(&context, "datafusion.execution.target_partitions", "2");
    set(&context, "ballista.optimizer.broadcast_join_threshold_bytes", "0");
    set(&context, "ballista.optimizer.broadcast_join_threshold_rows", "0");
    set(&context, "ballista.planner.adaptive.enabled", &adaptive.to_string());
    data::register(&context, directory).await;
    context
}

fn set(context: &SessionContext, option: &str, value: &str) {
    context.state_ref().write().config_mut().options_mut().set(option, value).unwrap();
}

/// The scale factor of TPC-H: `$CRIVO_TPCH_SCALE`, or 0.01.
fn scale() -> f64 {
    match std::env::var("CRIVO_TPCH_SCALE") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 0.01,
    }
}

fn plain() -> CrivoOptions {
    CrivoOptions::default()
}

/// The cost model, with small tables as if they were large.
fn predicted() -> CrivoOptions {
    let mut options = CrivoOptions::default();
    options.runtime_filters = true;
    options.min_probe_rows = 1000;
    options.key_query_milliseconds = 0;
    options
}

fn forced(fpr: f64) -> CrivoOptions {
    let mut options = CrivoOptions::default();
    options.runtime_filters = true;
    options.force = true;
    options.fpr = fpr;
    options
}

/// Filters count their rows, lists do not.
fn counting(mut options: CrivoOptions) -> CrivoOptions {
    options.max_in_list = 0;
    options
}

async fn plan(context: &SessionContext, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    context.sql(sql).await?.create_physical_plan().await
}

async fn rows(context: &SessionContext, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
    let rows = collect(Arc::clone(plan), context.task_ctx());
    tokio::time::timeout(PATIENCE, rows).await.expect("the query ends")
}

fn filter_count(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.downcast_ref::<RuntimeFilterExec>().map_or(0, |it| it.filters().len())
}

/// The rows of a query, sorted, and the number of its filters.
async fn run(context: &SessionContext, sql: &str) -> Result<(Vec<String>, usize)> {
    let plan =
        tokio::time::timeout(PATIENCE, plan(context, sql)).await.expect("the plan is made")?;
    Ok((cases::sorted_rows(&rows(context, &plan).await?), filter_count(&plan)))
}

/// The rows of a query, sorted, the number of its filters, and what the executors counted.
async fn run_and_measure(
    cluster: &Cluster,
    context: &SessionContext,
    sql: &str,
) -> Result<(Vec<String>, usize, JobMetrics)> {
    let plan =
        tokio::time::timeout(PATIENCE, plan(context, sql)).await.expect("the plan is made")?;
    let rows = cases::sorted_rows(&rows(context, &plan).await?);
    let metrics = crivo_ballista::job_metrics(&cluster.address, plan.as_ref()).await?;
    Ok((rows, filter_count(&plan), metrics))
}

/// How many filters each query of TPC-H gets by the cost model.
const PREDICTED: [usize; 22] = [0, 4, 2, 1, 4, 0, 2, 4, 1, 2, 4, 0, 0, 0, 0, 1, 2, 0, 1, 2, 4, 1];

/// How many it gets if they are forced: more than in one process, because scalar subqueries become joins.
const FORCED: [usize; 22] = [0, 16, 4, 2, 10, 0, 10, 14, 10, 6, 8, 2, 1, 2, 4, 3, 4, 6, 2, 8, 9, 1];

/// The query with an outer join, which gets no filter from Ballista's adaptive planner.
const OUTER: usize = 13;

/// The queries of TPC-H that the cluster cannot run, with or without filters.
const IMPOSSIBLE: [usize; 0] = [];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_queries_of_tpch_have_the_same_result() {
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    data::write_tpch(directory.path(), scale());
    let local = SessionContext::new();
    data::register(&local, directory.path()).await;
    let cluster = Cluster::start(exchange.path());
    let mut sessions = Vec::new();
    for (name, options, adaptive) in [
        ("plain", plain(), false),
        ("predicted", predicted(), false),
        ("forced, FPR 0.01", counting(forced(0.01)), false),
        ("forced, FPR 0.5", forced(0.5), false),
        ("plain, adaptive", plain(), true),
        ("forced, adaptive", forced(0.01), true),
    ] {
        let context = session(&cluster, options, adaptive, directory.path()).await;
        // Of what an executor has itself no bytes would be counted, and who has what is chance.
        set(&context, "ballista.shuffle.force_remote_read", "true");
        sessions.push((name, context));
    }
    let mut filters: [Vec<usize>; 6] = Default::default();
    let (mut dropped, mut fetched) = (Vec::new(), [0; 2]);
    for (number, sql) in cases::tpch::queries() {
        let (expected, _) = run(&local, sql).await.unwrap();
        let mut counted = Vec::new();
        for ((name, context), filters) in sessions.iter().zip(&mut filters) {
            match run_and_measure(&cluster, context, sql).await {
                Ok((rows, count, metrics)) => {
                    assert_eq!(rows, expected, "query {number}, {name}");
                    filters.push(count);
                    counted.push(metrics);
                }
                Err(error) => {
                    assert!(IMPOSSIBLE.contains(&number), "query {number}, {name}: {error}");
                }
            }
        }
        if let [plain, _, forced, ..] = counted[..] {
            dropped.push(forced.filter_output_rows < forced.filter_input_rows);
            fetched[0] += plain.fetched_bytes;
            fetched[1] += forced.fetched_bytes;
        }
    }
    // Every query with filters drops rows, and those are not fetched.
    assert_eq!(dropped, FORCED.map(|count| count > 0));
    assert!(2 * fetched[1] < fetched[0], "{fetched:?} bytes");
    if scale() == 0.01 {
        let [plain, predicted, forced @ .., plain_too, forced_too] = filters;
        for filters in [plain, plain_too] {
            assert_eq!(filters, [0; 22]);
        }
        assert_eq!(predicted, PREDICTED);
        for filters in forced {
            assert_eq!(filters, FORCED);
        }
        let mut without_outer = FORCED;
        without_outer[OUTER - 1] = 0;
        assert_eq!(forced_too, without_outer);
    }
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_joins_have_the_same_result() {
    const CASES: u64 = 26;
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let joins: Vec<_> = (0..CASES).map(cases::joins::case).collect();
    for (name, rows) in joins.iter().flat_map(|join| &join.tables) {
        data::write(directory.path(), name, std::iter::once(rows.clone()));
    }
    let local = SessionContext::new();
    data::register(&local, directory.path()).await;
    let cluster = Cluster::start(exchange.path());
    // Ballista's adaptive planner cannot run these if a side is empty, and without broadcasts.
    const NOT_ADAPTIVE: [&str; 4] = ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "NOT IN"];
    let mut filters = 0;
    for adaptive in [false, true] {
        let forced = session(&cluster, forced(0.01), adaptive, directory.path()).await;
        for (case, join) in joins.iter().enumerate() {
            if adaptive && NOT_ADAPTIVE.iter().any(|it| join.sql.contains(it)) {
                continue;
            }
            let (expected, _) = run(&local, &join.sql).await.unwrap();
            match run(&forced, &join.sql).await {
                Ok((rows, count)) => {
                    assert_eq!(rows, expected, "case {case}: {}", join.sql);
                    filters += count;
                }
                Err(error) => panic!("case {case}, adaptive {adaptive}: {error}: {}", join.sql),
            }
        }
    }
    assert!(filters > 10, "{filters} filters");
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_queries_have_the_same_result() {
    const CASES: u64 = 20;
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let local = SessionContext::new();
    for (name, sql) in cases::random::TABLES {
        local.sql(sql).await.unwrap().collect().await.unwrap();
        let path = directory.path().join(format!("{name}.parquet"));
        let copy = format!("COPY {name} TO '{}' STORED AS PARQUET", path.display());
        local.sql(&copy).await.unwrap().collect().await.unwrap();
    }
    let cluster = Cluster::start(exchange.path());
    let plain = session(&cluster, plain(), false, directory.path()).await;
    let forced = session(&cluster, forced(0.01), false, directory.path()).await;
    let (mut filters, mut failed) = (0, 0);
    for case in 0..CASES {
        let sql = cases::random::query(case);
        // What Ballista cannot run is none of the filters' business.
        let (Ok((expected, _)), Ok(_)) = (run(&local, &sql).await, run(&plain, &sql).await) else {
            failed += 1;
            continue;
        };
        match run(&forced, &sql).await {
            Ok((rows, count)) => {
                assert_eq!(rows, expected, "case {case}: {sql}");
                filters += count;
            }
            Err(error) => panic!("case {case}: {error}: {sql}"),
        }
    }
    assert!(filters > 10 && failed < CASES / 2, "{filters} filters, {failed} failed");
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_ends_if_a_side_is_empty() {
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = |range: std::ops::Range<i64>| {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
        std::iter::once(RecordBatch::try_from_iter([("n", column)]).unwrap())
    };
    data::write(directory.path(), "numbers", rows(0..300));
    data::write(directory.path(), "others", rows(1000..1300));
    let cluster = Cluster::start(exchange.path());
    let sql = "SELECT * FROM numbers AS l LEFT JOIN others AS r ON l.n = r.n";
    for adaptive in [false, true] {
        // A filter would leave no row of the other side.
        for options in [plain(), forced(0.01)] {
            let context = session(&cluster, options, adaptive, directory.path()).await;
            assert_eq!(run(&context, sql).await.unwrap().0.len(), 300);
        }
    }
    // Nor does a filter stop other joins by leaving a side empty.
    for (join, count) in [("JOIN", 0), ("LEFT SEMI JOIN", 0), ("LEFT ANTI JOIN", 300)] {
        let sql = sql.replace("LEFT JOIN", join);
        for adaptive in [false, true] {
            let context = session(&cluster, forced(0.01), adaptive, directory.path()).await;
            let (rows, filters) = run(&context, &sql).await.unwrap();
            assert_eq!(rows.len(), count, "{join}, adaptive {adaptive}");
            assert!(filters > 0, "{join}, adaptive {adaptive}");
        }
    }
    // Ballista's adaptive planner does not go on if it is empty without any filter.
    let context = session(&cluster, plain(), true, directory.path()).await;
    let empty = sql.replace("others", "(SELECT * FROM others WHERE n % 1000 > 500)");
    match run(&context, &empty).await {
        Ok((rows, _)) => assert_eq!(rows.len(), 300),
        Err(error) => {
            assert!(error.to_string().contains("the query cannot end"), "{error}");
        }
    }
    cluster.stop();
}

/// What a lost executor may do to a query: nothing, or an error; never a wrong result.
fn check(result: Result<Vec<RecordBatch>>, expected: &[String]) {
    match result {
        Ok(rows) => assert_eq!(cases::sorted_rows(&rows), expected),
        Err(error) => {
            eprintln!("{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_executor_makes_no_wrong_result() {
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    data::write_tpch(directory.path(), scale());
    let local = SessionContext::new();
    data::register(&local, directory.path()).await;
    let mut cluster = Cluster::start(exchange.path());
    let (_, sql) = cases::tpch::queries()[2];
    let (expected, _) = run(&local, sql).await.unwrap();
    for adaptive in [false, true] {
        let context = session(&cluster, forced(0.01), adaptive, directory.path()).await;
        lose_executors(&mut cluster, &context, sql, &expected).await;
    }
}

async fn lose_executors(
    cluster: &mut Cluster,
    context: &SessionContext,
    sql: &str,
    expected: &[String],
) {
    // Between the phases: the filters are made, the rows are not read yet.
    let made = plan(context, sql).await.unwrap();
    assert!(filter_count(&made) > 0);
    cluster.replace_executor(0);
    check(rows(context, &made).await, expected);

    // During the second phase, at some moments of it.
    for delay in [20, 100, 300] {
        let made = plan(context, sql).await.unwrap();
        let second = {
            let context = context.clone();
            tokio::spawn(async move { rows(&context, &made).await })
        };
        tokio::time::sleep(Duration::from_millis(delay)).await;
        cluster.replace_executor(0);
        check(second.await.unwrap(), expected);
    }

    // One is enough.
    cluster.kill_executor(0);
    check(rows(context, &plan(context, sql).await.unwrap()).await, expected);
    cluster.add_executor();
}

/// Rows of a join with forced filters.
async fn join_with_filters(context: &SessionContext) -> Result<Vec<String>> {
    {
        let state = context.state_ref();
        state.write().config_mut().options_mut().extensions.insert(forced(0.01));
    }
    let sql =
        "SELECT x FROM (VALUES (1), (2), (3)) AS t(x) JOIN (VALUES (3), (4)) AS u(y) ON x = y";
    Ok(run(context, sql).await?.0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_work_in_a_cluster_of_one_process_that_knows_the_functions() {
    let context = crivo_ballista::standalone().await.unwrap();
    assert_eq!(join_with_filters(&context).await.unwrap(), ["|3|"]);

    let stranger = planner::enable(&SessionContext::standalone().await.unwrap());
    let error = join_with_filters(&stranger).await.unwrap_err().to_string();
    assert!(error.contains("does not know the functions of runtime filters"), "{error}");
    let sql = "SELECT bloom_agg(x) FROM (VALUES (1)) AS t(x)";
    let error = run(&stranger, sql).await.unwrap_err().to_string();
    assert!(error.contains("bloom_agg"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_that_does_not_know_the_functions_is_told_of() {
    let exchange = tempfile::tempdir().unwrap();
    let cluster = Cluster::without_executors(exchange.path());
    let free_port = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let config = ExecutorProcessConfig {
        port: free_port(),
        grpc_port: free_port(),
        scheduler_host: "127.0.0.1".to_owned(),
        scheduler_port: cluster.address.rsplit_once(':').unwrap().1.parse().unwrap(),
        vcores: 2,
        work_dir: Some(exchange.path().to_str().unwrap().to_owned()),
        ..ExecutorProcessConfig::default()
    };
    let executor = tokio::spawn(start_executor_process(Arc::new(config)));
    let context = crivo_ballista::connect(&cluster.address).await.unwrap();
    let error = join_with_filters(&context).await.unwrap_err().to_string();
    assert!(error.contains("does not know the functions of runtime filters"), "{error}");
    executor.abort();
}

#[test]
fn executors_wait_for_a_scheduler_that_starts_later() {
    let exchange = tempfile::tempdir().unwrap();
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let directory = exchange.path().to_owned();
    let executor = std::thread::spawn(move || Cluster::executor(&address.to_string(), &directory));
    std::thread::sleep(Duration::from_secs(1));
    let cluster = Cluster::start_at(&address.to_string(), exchange.path());
    // It says so when the scheduler knows it.
    assert!(executor.join().unwrap().terminate());
    cluster.stop();
}

#[test]
fn crivo_sql_runs_queries_on_a_cluster() {
    let (directory, exchange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    data::write_tpch(directory.path(), scale());
    let cluster = Cluster::start(exchange.path());
    let table = |name: &str| format!("{name}={}", directory.path().join(name).display());
    let sql = "SELECT count(*) AS n FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_orderdate = DATE '1995-01-01'";
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crivo-sql"))
            .args(["--table", &format!("{}.parquet", table("lineitem"))])
            .args(["--table", &format!("{}.parquet", table("orders"))])
            .args([sql, "--format", "csv"])
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, expected, messages) = run(&[]);
    assert_eq!((status, messages.as_str()), (Some(0), ""));
    let on_cluster = ["--cluster", &cluster.address, "--set", "crivo.max_in_list=0"];
    let forced = ["--set", "crivo.force=true"];
    let (status, rows, messages) = run(&[&on_cluster[..], &forced].concat());
    assert_eq!((status, rows), (Some(0), expected), "{messages}");
    assert!(messages.contains("2 runtime filters"), "{messages}");
    // The condition of the date is part of the operator that has the filter of the orders.
    assert!(messages.contains(" with the query's own conditions dropped "), "{messages}");

    let (status, _, messages) = run(&["--cluster", "127.0.0.1:1"]);
    assert_eq!(status, Some(2));
    assert!(messages.starts_with("crivo-sql: Execution error: scheduler 127.0.0.1:1: "));
}

#[test]
fn crivo_sql_reads_and_writes_files_and_says_what_was_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let lines: String = (0..1000).map(|n| format!("{n},{}\n", n % 7)).collect();
    std::fs::write(path("facts.csv"), format!("id,kind\n{lines}")).unwrap();
    std::fs::write(path("kinds.json"), "{\"kind\":0}\n{\"kind\":6}\n").unwrap();
    let run = |arguments: &[&str]| {
        let facts = format!("facts={}", path("facts.csv"));
        let kinds = format!("kinds={}", path("kinds.json"));
        let output = Command::new(env!("CARGO_BIN_EXE_crivo-sql"))
            .args(["--table", &facts, "--table", &kinds])
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };

    let sql = "SELECT count(*) AS n FROM facts JOIN kinds ON facts.kind = kinds.kind";
    let (status, rows, messages) = run(&[sql, "--format", "csv"]);
    assert_eq!((status, rows.as_str(), messages.as_str()), (Some(0), "n\n285\n", ""));

    let options = ["--filters", "--set", "crivo.force=true", "--set", "crivo.max_in_list=0"];
    let (status, rows, messages) = run(&[&[sql], &options[..]].concat());
    assert_eq!(status, Some(0), "{messages}");
    assert!(rows.contains("| 285 |"), "{rows}");
    assert!(messages.contains("2 runtime filters (4 keys"), "{messages}");
    assert!(messages.contains("dropped 715 of 1002 rows"), "{messages}");
    let (status, _, messages) = run(&[&[sql], &options[..3]].concat());
    assert_eq!(status, Some(0), "{messages}");
    assert!(messages.contains("2 runtime filters (4 keys"), "{messages}");
    assert!(messages.contains("lists of keys: what they dropped is not counted"), "{messages}");

    let output = path("out.parquet");
    let arguments = ["SELECT id FROM facts WHERE kind = 3", "--format", "parquet", "-o", &output];
    assert_eq!(run(&arguments).0, Some(0));
    let table = format!("out={output}");
    let (_, rows, _) =
        run(&["SELECT count(*) AS n FROM out", "--table", &table, "--format", "csv"]);
    assert_eq!(rows, "n\n143\n");

    // A query that fails leaves the file as it was.
    std::fs::write(path("kept.csv"), "before").unwrap();
    let fails = "SELECT 1 / (id - 999) AS x FROM facts";
    let (status, _, message) = run(&[fails, "--format", "csv", "-o", &path("kept.csv")]);
    assert_eq!(status, Some(2), "{message}");
    assert_eq!(std::fs::read_to_string(path("kept.csv")).unwrap(), "before");

    // Input is no output, whatever it is called; nor is a new file beside the files of a table.
    let twice = path("./facts.csv");
    let (status, _, message) = run(&["SELECT 1", "-o", &twice]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("is also input"), "{message}");
    let all = format!("all={}", directory.path().to_str().unwrap());
    let (status, _, message) = run(&["SELECT 1", "--table", &all, "-o", &path("new.csv")]);
    assert!(message.contains("is also input, of the table all"), "{message}");
    assert_eq!(status, Some(2), "{message}");
    assert_eq!(std::fs::read_to_string(path("facts.csv")).unwrap().lines().count(), 1001);
    assert!(!std::fs::exists(path("new.csv")).unwrap());

    let (status, _, message) = run(&["SELECT * FROM nothing"]);
    assert_eq!(status, Some(2));
    assert!(message.starts_with("crivo-sql: "), "{message}");
    assert!(message.contains("nothing"), "{message}");
}
