//! An executor of Ballista that knows crivo's functions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::{BallistaError, Result};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::ExecutorHealth;
use clap::Parser;
use crivo_ballista::{
    MAX_MESSAGE_BYTES, cli, executor_functions, session_config, wait_for_scheduler,
};

/// How long a scheduler is waited for. Ballista itself tries once, or for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Executes the tasks that a scheduler (crivo-scheduler) gives it
///
/// SIGTERM and Ctrl-C end it after its tasks have ended. RUST_LOG=info logs what it does. A scheduler that is
/// not there yet is waited for, up to 30 seconds.
///
/// There is no authentication and no encryption: everybody who reaches its ports can run tasks and read
/// every file that this process can. It listens on loopback unless an address is given.
#[derive(Debug, Parser)]
#[command(name = "crivo-executor", version)]
struct Args {
    /// The scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,

    /// Where to listen for the scheduler; port 0 is a free one
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// The port, at the same address, where others fetch rows; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    rows_port: u16,

    /// The name or address by which others reach this host [default: the address of --listen]
    #[arg(long, value_name = "HOST")]
    external_host: Option<String>,

    /// The number of tasks at a time [default: the number of processors]
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,

    /// The directory for rows between stages [default: a temporary one, removed at the end, unless the
    /// process is killed]
    #[arg(long, value_name = "DIRECTORY")]
    work_dir: Option<PathBuf>,

    /// Tell the scheduler this often that the executor lives
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    heartbeat: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    cli::start_logging();
    cli::finish("crivo-executor", run(args).await)
}

async fn run(args: Args) -> Result<()> {
    let (scheduler_host, scheduler_port) = cli::host_and_port(&args.scheduler)?;
    // Before ports are chosen, which others could take meanwhile.
    wait_for_scheduler(&args.scheduler, PATIENCE).await?;
    let tasks = cli::free_port(args.listen)?;
    let rows = cli::free_port(SocketAddr::new(tasks.ip(), args.rows_port))?;
    let temporary = match &args.work_dir {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("crivo-executor-").tempdir()?),
    };
    let work_dir = args
        .work_dir
        .or_else(|| temporary.as_ref().map(|it| it.path().to_owned()))
        .unwrap_or_default()
        .into_os_string()
        .into_string()
        .map_err(|path| BallistaError::Configuration(format!("{path:?} is not UTF-8")))?;
    let default = ExecutorProcessConfig::default();
    let health = default.health.clone();
    let config = ExecutorProcessConfig {
        bind_host: cli::host(tasks.ip()),
        external_host: Some(args.external_host.unwrap_or_else(|| cli::host(tasks.ip()))),
        port: rows.port(),
        grpc_port: tasks.port(),
        scheduler_host,
        scheduler_port,
        vcores: args.tasks.unwrap_or(default.vcores),
        work_dir: Some(work_dir),
        executor_heartbeat_interval_seconds: args.heartbeat,
        grpc_max_decoding_message_size: MAX_MESSAGE_BYTES,
        grpc_max_encoding_message_size: MAX_MESSAGE_BYTES,
        override_function_registry: Some(Arc::new(executor_functions())),
        override_config_producer: Some(Arc::new(session_config)),
        ..default
    };
    tokio::spawn(announce(health, args.scheduler, rows));
    start_executor_process(Arc::new(config)).await
}

/// Says when the scheduler knows this executor.
async fn announce(health: ExecutorHealth, scheduler: String, rows: SocketAddr) {
    while !health.is_ready() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // In one piece, because several executors may write to one terminal.
    let line = format!("crivo-executor: listening on {rows}, for the scheduler {scheduler}\n");
    eprint!("{line}");
}
