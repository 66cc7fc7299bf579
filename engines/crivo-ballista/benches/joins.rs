//! Joins with and without runtime filters on a cluster of two executors.
//!
//! ```text
//! cargo bench --bench joins -- --scale 1 --runs 5 --output joins
//! ```
//!
//! Each line of `joins.csv` is one run of one query: its time, the bytes that the executors wrote for each
//! other, those of the filters' keys included, and what the filters did. Runs with and without filters
//! alternate, and must have the same result. `sweep.csv` has a join with filters of several
//! false-positive rates, and without, for several shares of rows that match: the data of the experiment
//! `join` of the study.

// What only tests use is not used here.
#[allow(dead_code)]
#[path = "../../cases/mod.rs"]
mod cases;
#[path = "../tests/cluster/data.rs"]
mod data;
#[allow(dead_code)]
#[path = "../tests/cluster/processes.rs"]
mod processes;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use crivo_datafusion::planner::{CrivoOptions, RuntimeFilterExec};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use processes::Cluster;

/// Measures joins with and without runtime filters on a cluster of two executors
#[derive(Debug, Parser)]
struct Args {
    /// The scale factor of TPC-H
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// The rows of the larger table of the single joins
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,

    /// The runs of each query
    #[arg(long, default_value_t = 5)]
    runs: usize,

    /// Only these queries: `join`, `wide`, `sweep`, or numbers of TPC-H
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    /// Where the tables are written, and found by the next call with the same numbers
    #[arg(long)]
    data: Option<PathBuf>,

    /// The directory for the measurements: `joins.csv` and `sweep.csv`
    #[arg(long, default_value = "joins")]
    output: PathBuf,

    /// Cargo gives this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// A tenth of a dimension with a tenth of the rows; 1% of the facts match. The keys of the dimension are
/// all over the range of the facts.
const JOIN: &str = "SELECT count(*), sum(a), sum(b) FROM facts JOIN dimension ON f = d WHERE g = 7";

/// A build side that is too wide to be sent to every partition.
const WIDE: &str =
    "SELECT count(*), sum(a), max(t) FROM facts JOIN wide ON f = w WHERE w < 3200000";

/// The queries of TPC-H with joins of large tables.
const NAMED: [&str; 13] = ["3", "4", "5", "7", "8", "9", "10", "12", "17", "18", "19", "20", "21"];

/// A filter on the side of the facts alone: of an outer join, the other side is kept.
const SWEEP: &str = "SELECT count(a), sum(a), sum(b) FROM probe RIGHT JOIN build ON p = k";

/// The shares of the rows of the probe side that match.
const SHARES: [f64; 6] = [0.01, 0.1, 0.25, 0.5, 0.75, 1.0];

/// The false-positive rates of the filters; 0 is no filter.
const FPRS: [f64; 4] = [0.0, 0.001, 0.01, 0.1];

/// The rows of the probe side for each key of the dimension.
const ROWS_OF_A_KEY: u64 = 10;

fn queries(only: &[String]) -> Vec<(String, &'static str)> {
    let tpch = cases::tpch::queries().into_iter().map(|(number, sql)| (number.to_string(), sql));
    [("join".to_owned(), JOIN), ("wide".to_owned(), WIDE)]
        .into_iter()
        .chain(tpch)
        .filter(|(name, _)| only.is_empty() || only.contains(name))
        .collect()
}

/// Writes the tables of the single joins. The keys of the facts are those of a permutation.
async fn write_facts(directory: &Path, rows: u64) -> Result<()> {
    let context = SessionContext::new();
    for (name, select) in [
        (
            "facts",
            format!(
                "value * 2654435761 % {rows} AS f, value AS a, value % 1000 AS b, \
                 'fact number ' || value AS c FROM range(0, {rows})"
            ),
        ),
        (
            "dimension",
            format!(
                "value * 10 AS d, value % 10 AS g, 'dimension ' || value AS h FROM range(0, {})",
                rows / 10
            ),
        ),
        (
            "wide",
            "value * 8 AS w, repeat(md5(CAST(value AS VARCHAR)), 12) AS t FROM range(0, 1200000)"
                .to_owned(),
        ),
        (
            "probe",
            format!(
                "value * 2654435761 % {} AS p, value AS a, value % 1000 AS b FROM range(0, {})",
                sweep_keys(rows),
                sweep_keys(rows) * ROWS_OF_A_KEY
            ),
        ),
        ("keys", format!("value AS k FROM range(0, {})", sweep_keys(rows))),
    ] {
        let path = directory.join(format!("{name}.parquet"));
        let sql = format!("COPY (SELECT {select}) TO '{}' STORED AS PARQUET", path.display());
        context.sql(&sql).await?.collect().await?;
    }
    Ok(())
}

/// The keys of the sweep's dimension.
const fn sweep_keys(rows: u64) -> u64 {
    rows / 5 / ROWS_OF_A_KEY
}

async fn session(
    cluster: &Cluster,
    directory: &Path,
    filters: bool,
    broadcast: bool,
) -> Result<SessionContext> {
    let context = crivo_ballista::connect(&cluster.address).await?;
    {
        let state = context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        if let Some(own) = options.extensions.get_mut::<CrivoOptions>() {
            own.runtime_filters = filters;
        }
        options.execution.target_partitions = 4;
        if !broadcast {
            for bound in ["bytes", "rows"] {
                let name = format!("ballista.optimizer.broadcast_join_threshold_{bound}");
                options.set(&name, "0")?;
            }
        }
    }
    data::register(&context, directory).await;
    Ok(context)
}

/// One run of a query.
struct Run {
    seconds: f64,
    /// Of these, for the plan and the keys of its filters.
    plan_seconds: f64,
    shuffled_bytes: u64,
    /// Of these, for the keys of filters.
    key_bytes: u64,
    filters: usize,
    keys: u64,
    filter_bytes: usize,
    rows: Vec<RecordBatch>,
}

async fn run(context: &SessionContext, sql: &str, exchange: &Path) -> Result<Run> {
    let before = jobs(exchange);
    let start = Instant::now();
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let plan_seconds = start.elapsed().as_secs_f64();
    let planned = jobs(exchange);
    let resumed = Instant::now();
    let rows = collect(plan.clone(), context.task_ctx()).await?;
    let seconds = plan_seconds + resumed.elapsed().as_secs_f64();
    let written = |after: &BTreeSet<PathBuf>| after.difference(&before).map(|job| size(job)).sum();
    let filters = plan.downcast_ref::<RuntimeFilterExec>().map_or(&[][..], |it| it.filters());
    Ok(Run {
        seconds,
        plan_seconds,
        shuffled_bytes: written(&jobs(exchange)),
        key_bytes: written(&planned),
        filters: filters.len(),
        keys: filters.iter().map(|it| it.keys).sum(),
        filter_bytes: filters.iter().map(|it| it.bytes.len()).sum(),
        rows,
    })
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The directories of all jobs: one for each in that of each executor.
fn jobs(exchange: &Path) -> BTreeSet<PathBuf> {
    entries(exchange).flat_map(|executor| entries(&executor).collect::<Vec<_>>()).collect()
}

fn size(path: &Path) -> u64 {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => entries(path).map(|it| size(&it)).sum(),
        Ok(found) => found.len(),
        Err(_) => 0,
    }
}

fn median<T: PartialOrd + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

/// The medians of the runs of a query without filters, and with.
struct Medians {
    query: String,
    seconds: [f64; 2],
    bytes: [u64; 2],
}

/// Runs each query, without filters and with.
async fn measure(
    sessions: &[SessionContext; 2],
    broadcast: bool,
    args: &Args,
    exchange: &Path,
    output: &mut File,
) -> Result<Vec<Medians>> {
    let mut all = Vec::new();
    for (name, sql) in queries(&args.only) {
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        let mut failed = None;
        for number in 0..args.runs {
            for ((context, runs), filters) in sessions.iter().zip(&mut runs).zip([false, true]) {
                let run = match run(context, sql, exchange).await {
                    Ok(run) => run,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                };
                writeln!(
                    output,
                    "{name},{broadcast},{filters},{number},{:.4},{:.4},{},{},{},{},{}",
                    run.seconds,
                    run.plan_seconds,
                    run.shuffled_bytes,
                    run.key_bytes,
                    run.filters,
                    run.keys,
                    run.filter_bytes
                )?;
                runs.push(run);
            }
        }
        if let Some(error) = failed {
            println!("{name:>5}  {broadcast:<9}  {error}");
            continue;
        }
        assert_same_results(&name, runs.iter().flatten());
        let seconds =
            runs.each_ref().map(|runs| median(runs.iter().map(|it| it.seconds)).unwrap_or(0.0));
        let bytes = runs
            .each_ref()
            .map(|runs| median(runs.iter().map(|it| it.shuffled_bytes)).unwrap_or(0));
        let filters = runs[1].first().map_or(0, |run| run.filters);
        println!(
            "{name:>5}  {broadcast:<9}  {:>15.3}  {:>6.3}  {:>12}  {:>10}  {filters:>7}",
            seconds[0], seconds[1], bytes[0], bytes[1]
        );
        all.push(Medians { query: name, seconds, bytes });
    }
    Ok(all)
}

fn assert_same_results<'a>(name: &str, runs: impl Iterator<Item = &'a Run>) {
    let results: BTreeSet<Vec<String>> = runs.map(|run| cases::sorted_rows(&run.rows)).collect();
    assert_eq!(results.len(), 1, "query {name} has several results");
}

/// Prints the sums, and which queries became slower.
fn summarise(all: &[Medians], broadcast: bool) {
    let title = if broadcast { "broadcast on" } else { "broadcast off" };
    let named: Vec<&Medians> = all.iter().filter(|it| NAMED.contains(&it.query.as_str())).collect();
    let tpch: Vec<&Medians> = all.iter().filter(|it| it.query.parse::<usize>().is_ok()).collect();
    for (what, list) in [("named queries", named), ("TPC-H", tpch)] {
        let seconds = [0, 1].map(|at| list.iter().map(|it| it.seconds[at]).sum::<f64>());
        let bytes = [0, 1].map(|at| list.iter().map(|it| it.bytes[at]).sum::<u64>());
        println!(
            "{title}, {what}: {:.2} s without, {:.2} s with ({:.2}×); {} bytes without, {} with ({:.2}×)",
            seconds[0],
            seconds[1],
            seconds[0] / seconds[1],
            bytes[0],
            bytes[1],
            bytes[0] as f64 / bytes[1] as f64
        );
    }
    for it in all {
        let [without, with] = it.seconds;
        if with > without + (0.15 * without).max(0.2) {
            println!("{title}, {}: slower, {without:.3} s without, {with:.3} s with", it.query);
        }
    }
}

/// One join, for several shares of rows that match, with filters of several false-positive rates.
async fn sweep(cluster: &Cluster, directory: &Path, args: &Args, exchange: &Path) -> Result<()> {
    let mut output = File::create(args.output.join("sweep.csv"))?;
    writeln!(
        output,
        "share,fpr,run,seconds,plan_seconds,shuffled_bytes,key_bytes,probe_rows,build_rows,filter_bytes"
    )?;
    println!("share  fpr    seconds  bytes");
    let context = session(cluster, directory, true, false).await?;
    let set = |change: &dyn Fn(&mut CrivoOptions)| {
        let state = context.state_ref();
        let mut state = state.write();
        let options = &mut state.config_mut().options_mut().extensions;
        if let Some(own) = options.get_mut::<CrivoOptions>() {
            change(own);
        }
    };
    for share in SHARES {
        let build_rows = (sweep_keys(args.rows) as f64 * share).round() as u64;
        // The keys of the build side are all over the range of the dimension.
        let sql = SWEEP.replace(
            "build",
            &format!("(SELECT k FROM keys WHERE k * 7919 % 1000 < {}) AS build", share * 1000.0),
        );
        let mut runs: [Vec<Run>; FPRS.len()] = std::array::from_fn(|_| Vec::new());
        for number in 0..args.runs {
            for (fpr, runs) in FPRS.into_iter().zip(&mut runs) {
                set(&|options| {
                    options.runtime_filters = fpr > 0.0;
                    options.force = true;
                    options.max_in_list = 0;
                    options.fpr = if fpr > 0.0 { fpr } else { options.fpr };
                });
                let run = run(&context, &sql, exchange).await?;
                assert_eq!(run.filters, usize::from(fpr > 0.0), "{sql}");
                writeln!(
                    output,
                    "{share},{fpr},{number},{:.4},{:.4},{},{},{},{build_rows},{}",
                    run.seconds,
                    run.plan_seconds,
                    run.shuffled_bytes,
                    run.key_bytes,
                    sweep_keys(args.rows) * ROWS_OF_A_KEY,
                    run.filter_bytes
                )?;
                runs.push(run);
            }
        }
        assert_same_results("sweep", runs.iter().flatten());
        for (fpr, runs) in FPRS.iter().zip(&runs) {
            let seconds = median(runs.iter().map(|it| it.seconds)).unwrap_or(0.0);
            let bytes = median(runs.iter().map(|it| it.shuffled_bytes)).unwrap_or(0);
            println!("{share:<5}  {fpr:<5}  {seconds:>7.3}  {bytes}");
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let temporary = tempfile::tempdir()?;
    let directory = args.data.clone().unwrap_or_else(|| temporary.path().join("data"));
    let exchange = temporary.path().join("exchange");
    fs::create_dir_all(&exchange)?;
    fs::create_dir_all(&args.output)?;
    if !directory.join("keys.parquet").exists() {
        fs::create_dir_all(&directory)?;
        data::write_tpch(&directory, args.scale);
        write_facts(&directory, args.rows).await?;
    }
    let cluster = Cluster::start(&exchange);
    if args.only.is_empty() || args.only.iter().any(|it| it == "sweep") {
        sweep(&cluster, &directory, &args, &exchange).await?;
    }
    let mut output = File::create(args.output.join("joins.csv"))?;
    writeln!(
        output,
        "query,broadcast,filters,run,seconds,plan_seconds,shuffled_bytes,key_bytes,filter_count,keys,\
         filter_bytes"
    )?;
    println!("query  broadcast  seconds without  with    bytes without        with  filters");
    let mut medians = Vec::new();
    for broadcast in [false, true] {
        let sessions = [
            session(&cluster, &directory, false, broadcast).await?,
            session(&cluster, &directory, true, broadcast).await?,
        ];
        let found = measure(&sessions, broadcast, &args, &exchange, &mut output).await?;
        medians.push((broadcast, found));
    }
    for (broadcast, medians) in medians {
        summarise(&medians, broadcast);
    }
    cluster.stop();
    Ok(())
}
