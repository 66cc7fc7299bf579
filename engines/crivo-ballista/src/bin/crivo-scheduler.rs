//! A scheduler of Ballista that knows crivo's functions.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use ballista_core::error::Result;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use clap::Parser;
use crivo_ballista::{
    CountedCores, MAX_MESSAGE_BYTES, cli, end_stalled_queries, return_lost_cores,
    scheduler_session, session_config,
};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::{TcpListener, TcpSocket};

/// Plans queries and gives their tasks to executors (crivo-executor)
///
/// SIGTERM and Ctrl-C end it; queries that run then end with an error. RUST_LOG=info logs what it does.
///
/// There is no authentication and no encryption: everybody who reaches its port can run queries and read
/// every file that the executors can. It listens on loopback unless an address is given.
#[derive(Debug, Parser)]
#[command(name = "crivo-scheduler", version)]
struct Args {
    /// Where to listen; port 0 is a free one
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:50050")]
    listen: SocketAddr,

    /// The name or address by which executors reach this host [default: the address of --listen]
    #[arg(long, value_name = "HOST")]
    external_host: Option<String>,

    /// Give an executor up from which nothing was heard for this long
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    executor_timeout: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    cli::start_logging();
    cli::finish("crivo-scheduler", run(args).await)
}

/// A listener whose connections send every message at once. Ballista does not ask for that, and each query
/// would wait 40 ms for an acknowledgement.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections inherit this from the listener.
    socket.set_nodelay(true)?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}

async fn run(args: Args) -> Result<()> {
    let listener = listen(args.listen)?;
    let address = listener.local_addr()?;
    let config = SchedulerConfig {
        external_host: args.external_host.unwrap_or_else(|| cli::host(address.ip())),
        bind_host: cli::host(address.ip()),
        bind_port: address.port(),
        executor_timeout_seconds: args.executor_timeout,
        expire_dead_executor_interval_seconds: (args.executor_timeout / 4).max(1),
        no_executors_grace_period_seconds: args.executor_timeout,
        grpc_server_max_decoding_message_size: MAX_MESSAGE_BYTES,
        grpc_server_max_encoding_message_size: MAX_MESSAGE_BYTES,
        grpc_client_max_message_size: MAX_MESSAGE_BYTES,
        override_config_producer: Some(Arc::new(session_config)),
        override_session_builder: Some(Arc::new(scheduler_session)),
        ..SchedulerConfig::default()
    };
    config.validate()?;
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let jobs = cluster.job_state();
    let cores = Arc::new(CountedCores::new(cluster.cluster_state()));
    let cluster = BallistaCluster::new(Arc::clone(&cores) as _, Arc::clone(&jobs));
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    eprintln!("crivo-scheduler: listening on {address}");
    tokio::spawn(end_stalled_queries(scheduler.clone(), jobs));
    tokio::spawn(return_lost_cores(scheduler.clone(), cores));
    tokio::select! {
        result = start_grpc_service_with_listener(listener, scheduler) => result,
        signal = cli::termination() => Ok(signal?),
    }
}
