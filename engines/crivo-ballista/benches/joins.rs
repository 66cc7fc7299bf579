//! Joins with and without runtime filters on a cluster of two executors.
//!
//! ```text
//! cargo bench --bench joins -- --scale 1 --runs 5 --output joins.csv
//! ```
//!
//! Each line of the result is one run of one query: its time, the bytes that the executors wrote for each
//! other, those of the filters' keys included, and what the filters did. Runs with and without filters
//! alternate, and must have the same result.

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

    /// Only these queries: `join`, `wide`, or numbers of TPC-H
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    /// Where the tables are written, and found by the next call with the same numbers
    #[arg(long)]
    data: Option<PathBuf>,

    /// The file for the measurements
    #[arg(long, default_value = "joins.csv")]
    output: PathBuf,

    /// Cargo gives this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// A tenth of a dimension with a tenth of the rows; 1% of the facts match.
const JOIN: &str = "SELECT count(*), sum(a), sum(b) FROM facts JOIN dimension ON f = d WHERE g = 7";

/// A build side that is too wide to be sent to every partition.
const WIDE: &str = "SELECT count(*), sum(a), max(t) FROM facts JOIN wide ON f = w WHERE w < 400000";

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
                "value AS d, value % 10 AS g, 'dimension ' || value AS h FROM range(0, {})",
                rows / 10
            ),
        ),
        (
            "wide",
            "value AS w, repeat(md5(CAST(value AS VARCHAR)), 12) AS t FROM range(0, 1200000)"
                .to_owned(),
        ),
    ] {
        let path = directory.join(format!("{name}.parquet"));
        let sql = format!("COPY (SELECT {select}) TO '{}' STORED AS PARQUET", path.display());
        context.sql(&sql).await?.collect().await?;
    }
    Ok(())
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
    shuffled_bytes: u64,
    filters: usize,
    keys: u64,
    filter_bytes: usize,
    rows: Vec<RecordBatch>,
}

async fn run(context: &SessionContext, sql: &str, exchange: &Path) -> Result<Run> {
    let before = jobs(exchange);
    let start = Instant::now();
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let rows = collect(plan.clone(), context.task_ctx()).await?;
    let seconds = start.elapsed().as_secs_f64();
    let new = jobs(exchange).difference(&before).map(|job| size(job)).sum();
    let filters = plan.downcast_ref::<RuntimeFilterExec>().map_or(&[][..], |it| it.filters());
    Ok(Run {
        seconds,
        shuffled_bytes: new,
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

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let temporary = tempfile::tempdir()?;
    let directory = args.data.clone().unwrap_or_else(|| temporary.path().join("data"));
    let exchange = temporary.path().join("exchange");
    fs::create_dir_all(&exchange)?;
    if !directory.join("wide.parquet").exists() {
        fs::create_dir_all(&directory)?;
        data::write_tpch(&directory, args.scale);
        write_facts(&directory, args.rows).await?;
    }
    let cluster = Cluster::start(&exchange);
    let mut output = File::create(&args.output)?;
    writeln!(
        output,
        "query,broadcast,filters,run,seconds,shuffled_bytes,filter_count,keys,filter_bytes"
    )?;
    println!("query  broadcast  seconds without  with    bytes without        with  filters");
    for broadcast in [false, true] {
        let sessions = [
            session(&cluster, &directory, false, broadcast).await?,
            session(&cluster, &directory, true, broadcast).await?,
        ];
        for (name, sql) in queries(&args.only) {
            let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
            let mut failed = None;
            for number in 0..args.runs {
                for ((context, runs), filters) in sessions.iter().zip(&mut runs).zip([false, true])
                {
                    let run = match run(context, sql, &exchange).await {
                        Ok(run) => run,
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    };
                    writeln!(
                        output,
                        "{name},{broadcast},{filters},{number},{:.4},{},{},{},{}",
                        run.seconds, run.shuffled_bytes, run.filters, run.keys, run.filter_bytes
                    )?;
                    runs.push(run);
                }
            }
            if let Some(error) = failed {
                println!("{name:>5}  {broadcast:<9}  {error}");
                continue;
            }
            let results: BTreeSet<Vec<String>> =
                runs.iter().flatten().map(|run| cases::sorted_rows(&run.rows)).collect();
            assert_eq!(results.len(), 1, "query {name} has several results");
            let [without, with] =
                runs.each_ref().map(|runs| median(runs.iter().map(|it| it.seconds)).unwrap_or(0.0));
            let [bytes_without, bytes_with] = runs
                .each_ref()
                .map(|it| median(it.iter().map(|it| it.shuffled_bytes)).unwrap_or(0));
            let filters = runs[1].first().map_or(0, |run| run.filters);
            println!(
                "{name:>5}  {broadcast:<9}  {without:>15.3}  {with:>6.3}  {bytes_without:>12}  \
                 {bytes_with:>10}  {filters:>7}"
            );
        }
    }
    cluster.stop();
    Ok(())
}
