//! Joins with and without runtime filters on a cluster of two executors.
//!
//! ```text
//! cargo bench --bench joins -- --scale 1 --runs 5 --output joins
//! ```
//!
//! Each line of `joins.csv` is one run of one query: its time, the bytes that the executors wrote for each
//! other, those of the filters' keys included, and what the filters did. Runs with and without filters
//! alternate, each first in every other run, and must have the same result. With broadcast on, the sessions have Ballista's own options;
//! with broadcast off, its adaptive planner is off, and no side of a join is sent to every partition.
//! `sweep.csv` has a join with filters of several
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

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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

    /// Only these queries: `join`, `wide`, `sweep`, `tpch`, or numbers of TPC-H
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    /// Only with broadcast on, or only with broadcast off
    #[arg(long, value_name = "ON", action = clap::ArgAction::Set)]
    broadcast: Option<bool>,

    /// Options of the sessions, as `datafusion.optimizer.prefer_hash_join=true`
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,

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

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("this is not NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A tenth of a dimension with a tenth of the rows; 1% of the facts match. The keys of the dimension are
/// all over the range of the facts.
const JOIN: &str = "SELECT count(*), sum(a), sum(b) FROM facts JOIN dimension ON f = d WHERE g = 7";

/// The columns of a build side that is too wide to be sent to every partition, as the statistics know.
const WIDE_COLUMNS: usize = 48;

fn wide() -> String {
    let columns: Vec<String> = (0..WIDE_COLUMNS).map(|number| format!("c{number}")).collect();
    format!(
        "SELECT count(*), sum(a), sum({}) FROM facts JOIN wide ON f = w WHERE w < 3200000",
        columns.join(" + ")
    )
}

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

fn queries(only: &[String]) -> Vec<(String, String)> {
    let all_of_tpch = only.iter().any(|name| name == "tpch");
    let tpch = cases::tpch::queries();
    let tpch = tpch.into_iter().map(|(number, sql)| (number.to_string(), sql.to_owned()));
    [("join".to_owned(), JOIN.to_owned()), ("wide".to_owned(), wide())]
        .into_iter()
        .chain(tpch)
        .filter(|(name, _)| {
            only.is_empty() || only.contains(name) || all_of_tpch && name.parse::<usize>().is_ok()
        })
        .collect()
}

/// Writes the tables of the single joins. The keys of the facts are those of a permutation.
async fn write_facts(directory: &Path, rows: u64) -> Result<()> {
    let context = SessionContext::new();
    let wide_columns: Vec<String> = (0..WIDE_COLUMNS)
        .map(|number| format!("value * {} % 1000003 AS c{number}", 7919 + number))
        .collect();
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
        ("wide", format!("value * 8 AS w, {} FROM range(0, 1200000)", wide_columns.join(", "))),
        (
            "probe",
            format!(
                "value * 2654435761 % {} AS p, value * 2654435761 % 1000000007 AS a, \
                 value * 40503 % 65537 AS b FROM range(0, {})",
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
    settings: &[(String, String)],
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
            // The planner that plans once sends no side of a join to every partition.
            options.set("ballista.planner.adaptive.enabled", "false")?;
        }
        for (name, value) in settings {
            options.set(name, value)?;
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

async fn run(context: &SessionContext, sql: &str, watch: &Watch) -> Result<Run> {
    watch.end();
    let start = Instant::now();
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let plan_seconds = start.elapsed().as_secs_f64();
    let key_bytes = watch.bytes();
    let resumed = Instant::now();
    let rows = collect(plan.clone(), context.task_ctx()).await?;
    let seconds = plan_seconds + resumed.elapsed().as_secs_f64();
    let filters = plan.downcast_ref::<RuntimeFilterExec>().map_or(&[][..], |it| it.filters());
    Ok(Run {
        seconds,
        plan_seconds,
        shuffled_bytes: watch.bytes(),
        key_bytes,
        filters: filters.len(),
        keys: filters.iter().map(|it| it.keys).sum(),
        filter_bytes: filters.iter().map(|it| it.bytes.len()).sum(),
        rows,
    })
}

/// Sees how large the files between stages become: a scheduler removes them as soon as a query ends, so
/// that they cannot be measured afterwards.
struct Watch {
    exchange: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The directories of queries that have ended, which need no more looks.
    ended: BTreeSet<PathBuf>,
    /// The sizes of the files of the other queries.
    sizes: HashMap<PathBuf, u64>,
}

impl Watch {
    /// Watches the directories of the executors as long as the program runs.
    fn start(exchange: &Path) -> Self {
        let watch = Self { exchange: exchange.to_owned(), seen: Arc::default() };
        let (exchange, seen) = (watch.exchange.clone(), Arc::clone(&watch.seen));
        std::thread::spawn(move || {
            loop {
                look(&exchange, &mut seen.lock().unwrap());
                // Stages take longer, and a look takes little of that.
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        watch
    }

    /// The bytes of the files so far of queries that have not ended.
    fn bytes(&self) -> u64 {
        let mut seen = self.seen.lock().unwrap();
        look(&self.exchange, &mut seen);
        seen.sizes.values().sum()
    }

    /// To be called when a query has ended.
    fn end(&self) {
        let mut seen = self.seen.lock().unwrap();
        seen.sizes.clear();
        seen.ended = jobs(&self.exchange).collect();
    }
}

fn look(exchange: &Path, seen: &mut Seen) {
    for job in jobs(exchange).filter(|job| !seen.ended.contains(job)).collect::<Vec<_>>() {
        note_sizes(&job, &mut seen.sizes);
    }
}

fn note_sizes(directory: &Path, sizes: &mut HashMap<PathBuf, u64>) {
    for path in entries(directory) {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => note_sizes(&path, sizes),
            Ok(found) => {
                let size = sizes.entry(path).or_default();
                *size = found.len().max(*size);
            }
            Err(_) => {}
        }
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The directories of all queries: one for each in that of each executor.
fn jobs(exchange: &Path) -> impl Iterator<Item = PathBuf> {
    entries(exchange).flat_map(|executor| entries(&executor).collect::<Vec<_>>())
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
    /// Of these, for the plan and the keys of its filters.
    plan_seconds: [f64; 2],
    bytes: [u64; 2],
}

/// Runs each query, without filters and with.
async fn measure(
    sessions: &[SessionContext; 2],
    broadcast: bool,
    args: &Args,
    watch: &Watch,
    output: &mut File,
) -> Result<Vec<Medians>> {
    let mut all = Vec::new();
    for (name, sql) in queries(&args.only) {
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        let mut failed = None;
        for number in 0..args.runs {
            // What comes second may find more in caches.
            let order = if number % 2 == 0 { [false, true] } else { [true, false] };
            for filters in order {
                let context = &sessions[usize::from(filters)];
                let run = match run(context, &sql, watch).await {
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
                runs[usize::from(filters)].push(run);
            }
        }
        if let Some(error) = failed {
            println!("{name:>5}  {broadcast:<9}  {error}");
            continue;
        }
        assert_same_results(&name, runs.iter().flatten());
        let seconds =
            runs.each_ref().map(|runs| median(runs.iter().map(|it| it.seconds)).unwrap_or(0.0));
        let plan_seconds = runs
            .each_ref()
            .map(|runs| median(runs.iter().map(|it| it.plan_seconds)).unwrap_or(0.0));
        let bytes = runs
            .each_ref()
            .map(|runs| median(runs.iter().map(|it| it.shuffled_bytes)).unwrap_or(0));
        let filters = runs[1].first().map_or(0, |run| run.filters);
        println!(
            "{name:>5}  {broadcast:<9}  {:>15.3}  {:>6.3}  {:>12}  {:>10}  {filters:>7}",
            seconds[0], seconds[1], bytes[0], bytes[1]
        );
        all.push(Medians { query: name, seconds, plan_seconds, bytes });
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
        let plans = [0, 1].map(|at| list.iter().map(|it| it.plan_seconds[at]).sum::<f64>());
        let bytes = [0, 1].map(|at| list.iter().map(|it| it.bytes[at]).sum::<u64>());
        println!(
            "{title}, {what}: {:.2} s without, {:.2} s with ({:.2}×), of these {:.3} s and {:.3} s for plans; \
             {} bytes without, {} with ({:.2}×)",
            seconds[0],
            seconds[1],
            seconds[0] / seconds[1],
            plans[0],
            plans[1],
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
async fn sweep(cluster: &Cluster, directory: &Path, args: &Args, watch: &Watch) -> Result<()> {
    let mut output = File::create(args.output.join("sweep.csv"))?;
    writeln!(
        output,
        "share,fpr,run,seconds,plan_seconds,shuffled_bytes,key_bytes,probe_rows,build_rows,filter_bytes"
    )?;
    println!("share  fpr    seconds  bytes");
    let context = session(cluster, directory, &args.set, true, false).await?;
    // Compressed, few rows are smaller than their share: more of them have the same key.
    let compression = "ballista.shuffle.compression.codec";
    context.state_ref().write().config_mut().options_mut().set(compression, "none")?;
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
                let run = run(&context, &sql, watch).await?;
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
    let watch = Watch::start(&exchange);
    if args.only.is_empty() || args.only.iter().any(|it| it == "sweep") {
        sweep(&cluster, &directory, &args, &watch).await?;
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
        if args.broadcast.is_some_and(|only| only != broadcast) {
            continue;
        }
        let sessions = [
            session(&cluster, &directory, &args.set, false, broadcast).await?,
            session(&cluster, &directory, &args.set, true, broadcast).await?,
        ];
        let found = measure(&sessions, broadcast, &args, &watch, &mut output).await?;
        medians.push((broadcast, found));
    }
    for (broadcast, medians) in medians {
        summarise(&medians, broadcast);
    }
    cluster.stop();
    Ok(())
}
