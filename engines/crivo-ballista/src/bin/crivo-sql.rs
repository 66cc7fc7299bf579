//! `crivo-sql`: a query over files, in this process or on a cluster, with runtime filters.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use crivo_ballista::{cli, connect, job_metrics};
use crivo_datafusion::functions::FilterCounts;
use crivo_datafusion::planner::{self, CrivoOptions, RuntimeFilterExec};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err, plan_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{CsvReadOptions, JsonReadOptions, ParquetReadOptions, SessionContext};
use futures::TryStreamExt;

/// Runs a query over Parquet, CSV and JSON files
///
/// Joins drop rows by Bloom filters before they exchange them, where that is safe and predicted to pay: on
/// a cluster, and in this process with --filters. A line on standard error says how many.
#[derive(Debug, Parser)]
#[command(name = "crivo-sql", version, after_help = EXAMPLES)]
struct Args {
    /// The query
    sql: String,

    /// A table: a file or a directory of files, of the type that the ending of its name says (.parquet,
    /// .csv, .json: one record in each line). On a cluster every executor needs it at the same path
    #[arg(long = "table", value_name = "NAME=PATH", value_parser = parse_table)]
    tables: Vec<(String, String)>,

    /// Run the query on the cluster of this scheduler (crivo-scheduler)
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,

    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Write the result to this file instead of standard output. It appears when it is complete; if the
    /// query fails, the file is what it was before
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Use runtime filters in this process, too
    #[arg(long)]
    filters: bool,

    /// An option of the session, such as `crivo.fpr=0.001`, or `crivo.runtime_filters=false`
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
}

const EXAMPLES: &str = "\
Examples:
  crivo-sql 'SELECT count(*) FROM t' --table t=rows.parquet
  crivo-sql --cluster localhost:50050 --table l=/data/lineitem.parquet --table o=/data/orders.parquet \\
    'SELECT count(*) FROM l JOIN o ON l_orderkey = o_orderkey WHERE o_totalprice > 400000'
  crivo-sql --table t=rows.csv --format parquet -o filter.parquet \\
    'SELECT bloom_agg(id) AS filter FROM t'
";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people
    Table,
    /// Comma-separated values with a header
    Csv,
    /// A Parquet file; needs --output
    Parquet,
}

fn parse_pair(text: &str, form: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("not {form}")),
    }
}

fn parse_table(text: &str) -> std::result::Result<(String, String), String> {
    parse_pair(text, "NAME=PATH")
}

fn parse_setting(text: &str) -> std::result::Result<(String, String), String> {
    parse_pair(text, "OPTION=VALUE")
}

fn main() -> ExitCode {
    let args = Args::parse();
    cli::start_logging();
    let result = match run(&args) {
        // The reader has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        other => other,
    };
    cli::finish("crivo-sql", result)
}

fn is_broken_pipe(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::IoError(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

fn run(args: &Args) -> Result<()> {
    if args.format == Format::Parquet && args.output.is_none() {
        return plan_err!("--format parquet needs --output FILE");
    }
    if let Some(output) = &args.output {
        check_output(output, &args.tables)?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let (context, plan) = runtime.block_on(async {
        let context = session(args).await?;
        for (name, path) in &args.tables {
            register(&context, name, path).await?;
        }
        let plan = context.sql(&args.sql).await?.create_physical_plan().await?;
        Ok::<_, DataFusionError>((context, plan))
    })?;
    let write = |output: &mut (dyn Write + Send)| {
        runtime.block_on(async {
            let rows = execute_stream(Arc::clone(&plan), context.task_ctx())?;
            write_rows(rows, args.format, output).await
        })
    };
    match &args.output {
        Some(path) => crivo_core::file::replace(path, |file| Ok(write(&mut BufWriter::new(file))?))
            .map_err(|error| error.downcast().unwrap_or_else(DataFusionError::from))?,
        None => write(&mut io::stdout())?,
    }
    if let Some(root) = plan.downcast_ref::<RuntimeFilterExec>() {
        eprintln!("crivo-sql: {}", runtime.block_on(savings(root, args.cluster.as_deref())));
    }
    Ok(())
}

/// A session in this process, or on a cluster, with its options.
async fn session(args: &Args) -> Result<SessionContext> {
    let context = match &args.cluster {
        Some(address) => connect(address).await?,
        None => planner::enable(&SessionContext::new()),
    };
    let state = context.state_ref();
    let mut state = state.write();
    let options = state.config_mut().options_mut();
    if let Some(own) = options.extensions.get_mut::<CrivoOptions>() {
        own.runtime_filters |= args.filters;
    }
    for (name, value) in &args.settings {
        options.set(name, value)?;
    }
    drop(state);
    Ok(context)
}

/// Refuses to replace what the query reads, and to add to it.
fn check_output(output: &Path, tables: &[(String, String)]) -> Result<()> {
    let directory = output.parent().filter(|it| !it.as_os_str().is_empty());
    let name = output.file_name().unwrap_or_default();
    let target = fs::canonicalize(output)
        .or_else(|_| Ok(fs::canonicalize(directory.unwrap_or(Path::new(".")))?.join(name)))
        .map_err(|error: io::Error| plan_datafusion_err!("{}: {error}", output.display()))?;
    for (name, path) in tables {
        if fs::canonicalize(path).is_ok_and(|table| target.starts_with(table)) {
            return plan_err!("{} is also input, of the table {name}", output.display());
        }
    }
    Ok(())
}

async fn register(context: &SessionContext, name: &str, path: &str) -> Result<()> {
    let is_directory = fs::metadata(path)
        .map_err(|error| plan_datafusion_err!("table {name}: {path}: {error}"))?
        .is_dir();
    let ending = match is_directory {
        true => first_ending(path)?,
        false => {
            PathBuf::from(path).extension().and_then(|it| it.to_str()).unwrap_or("").to_owned()
        }
    };
    match ending.as_str() {
        "parquet" => context.register_parquet(name, path, ParquetReadOptions::default()).await,
        "csv" => context.register_csv(name, path, CsvReadOptions::new()).await,
        "json" | "jsonl" | "ndjson" => {
            let extension = format!(".{ending}");
            let options = JsonReadOptions::default().file_extension(&extension);
            context.register_json(name, path, options).await
        }
        _ => plan_err!("table {name}: {path}: the name ends in none of .parquet, .csv, .json"),
    }
}

/// How the names of the files in a directory end.
fn first_ending(directory: &str) -> Result<String> {
    let mut endings: Vec<String> = fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path().extension()?.to_str()?.to_owned()))
        .collect();
    endings.sort();
    Ok(endings.into_iter().next().unwrap_or_default())
}

async fn write_rows(
    mut rows: SendableRecordBatchStream,
    format: Format,
    mut output: &mut (dyn Write + Send),
) -> Result<()> {
    match format {
        Format::Table => {
            let schema = rows.schema();
            let mut batches: Vec<_> = rows.try_collect().await?;
            if batches.is_empty() {
                batches.push(RecordBatch::new_empty(schema));
            }
            writeln!(output, "{}", pretty_format_batches(&batches)?)?;
        }
        Format::Csv => {
            let mut writer = WriterBuilder::new().with_header(true).build(&mut output);
            // The header comes with the first rows, also if there are none.
            writer.write(&RecordBatch::new_empty(rows.schema()))?;
            while let Some(batch) = rows.try_next().await? {
                writer.write(&batch)?;
            }
        }
        Format::Parquet => {
            let mut writer = ArrowWriter::try_new(&mut output, rows.schema(), None)?;
            while let Some(batch) = rows.try_next().await? {
                writer.write(&batch)?;
            }
            writer.close()?;
        }
    }
    Ok(output.flush()?)
}

/// What the filters of a query did.
async fn savings(root: &RuntimeFilterExec, cluster: Option<&str>) -> String {
    let filters = root.filters();
    let keys: u64 = filters.iter().map(|filter| filter.keys).sum();
    let bytes: usize = filters.iter().map(|filter| filter.bytes.len()).sum();
    let plural = if filters.len() == 1 { "" } else { "s" };
    let made = format!("{} runtime filter{plural} ({keys} keys, {bytes} bytes)", filters.len());
    let lists = filters.iter().filter(|filter| filter.is_list).count();
    let is_counted = lists < filters.len();
    let not_counted = match lists {
        0 => "",
        _ if is_counted => "; what lists of keys dropped is not counted",
        _ => ", lists of keys: what they dropped is not counted",
    };
    match cluster {
        None if !is_counted => format!("{made}{not_counted}"),
        None => {
            let FilterCounts { rows, passed } = root.counts();
            let saved = root.dropped_bytes();
            let dropped = rows - passed;
            format!("{made} dropped {dropped} of {rows} rows, about {saved} bytes{not_counted}")
        }
        // The executors have counted.
        Some(address) => match job_metrics(address, root).await {
            Ok(counts) => {
                let exchanged =
                    format!("executors fetched {} bytes from each other", counts.fetched_bytes);
                if !is_counted {
                    return format!("{made}{not_counted}; {exchanged}");
                }
                let rows = counts.filter_input_rows;
                let dropped = rows.saturating_sub(counts.filter_output_rows);
                // Which of the filters dropped a row is unknown.
                let counted = filters.iter().filter(|filter| !filter.is_list);
                let widths: usize = counted.map(|filter| filter.row_bytes).sum();
                let saved = dropped * widths as u64 / (filters.len() - lists).max(1) as u64;
                // Nor is it known what dropped a row: an operator counts for all its conditions.
                let together = match root.share_operators() {
                    true => " with the query's own conditions",
                    false => "",
                };
                format!(
                    "{made}{together} dropped {dropped} of {rows} rows, about {saved} bytes\
                     {not_counted}; {exchanged}"
                )
            }
            Err(error) => format!("{made}; what they dropped is unknown: {error}"),
        },
    }
}
