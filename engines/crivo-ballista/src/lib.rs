//! Bloom filters on clusters of [Ballista](ballista).
//!
//! Every process of a cluster must know the functions of [`crivo_datafusion`]: the client, which writes
//! them into plans, the scheduler, which plans stages, and the executors, which evaluate them. The
//! binaries `crivo-scheduler` and `crivo-executor` do, and [`connect`] gives a session that does. There,
//! runtime filters are on.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let context = crivo_ballista::connect("127.0.0.1:50050").await?;
//! context.register_parquet("t", "/data/t.parquet", Default::default()).await?;
//! context.sql("SELECT bloom_agg(id) FROM t").await?.show().await?;
//! # Ok(())
//! # }
//! ```

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use ballista::prelude::SessionContextExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::{default_config_producer, default_session_builder};
use crivo_datafusion::functions::{bloom_agg, bloom_contains, few_distinct};
use crivo_datafusion::planner::{self, CrivoOptions};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use tokio::net::TcpStream;

pub mod cli;
mod metrics;
mod slots;
mod stalled;

pub use metrics::{JobMetrics, job_metrics};
pub use slots::{CountedCores, return_lost_cores};
pub use stalled::end_stalled_queries;

/// The size of a message between processes. A plan with its filters is one.
pub const MAX_MESSAGE_BYTES: u32 = 64 * 1024 * 1024;

/// The configuration of a session on a cluster: Ballista's own, with runtime filters, and messages that are
/// large enough for them.
///
/// ```
/// use crivo_datafusion::planner::CrivoOptions;
///
/// let config = crivo_ballista::session_config();
/// let options = config.options().extensions.get::<CrivoOptions>();
/// assert!(options.is_some_and(|options| options.runtime_filters));
/// ```
pub fn session_config() -> SessionConfig {
    const MESSAGE_SIZE: &str = "ballista.client.grpc_max_message_size";
    let mut config = default_config_producer().set_u64(MESSAGE_SIZE, MAX_MESSAGE_BYTES.into());
    let mut options = CrivoOptions::default();
    options.runtime_filters = true;
    config.options_mut().extensions.insert(options);
    config
}

/// The state of a session on a scheduler, with the functions.
///
/// ```
/// let state = crivo_ballista::scheduler_session(crivo_ballista::session_config())?;
/// assert!(state.scalar_functions().contains_key("bloom_contains"));
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
///
/// # Errors
/// If there is no environment to run in.
pub fn scheduler_session(config: SessionConfig) -> Result<SessionState> {
    let context = SessionContext::new_with_state(default_session_builder(config)?);
    crivo_datafusion::register_functions(&context);
    Ok(context.state())
}

/// The functions that an executor knows.
///
/// ```
/// use datafusion::execution::FunctionRegistry;
///
/// assert!(crivo_ballista::executor_functions().udaf("bloom_agg").is_ok());
/// ```
pub fn executor_functions() -> BallistaFunctionRegistry {
    let mut functions = BallistaFunctionRegistry::default();
    let contains = bloom_contains();
    functions.scalar_functions.insert(contains.name().to_owned(), contains);
    for aggregate in [bloom_agg(), few_distinct()] {
        functions.aggregate_functions.insert(aggregate.name().to_owned(), aggregate);
    }
    functions
}

/// A session whose queries the cluster of the scheduler at `address` (`HOST:PORT`) executes.
///
/// # Errors
/// If nobody listens there, now and for three seconds: a scheduler that was just started is waited for.
pub async fn connect(address: &str) -> Result<SessionContext> {
    // The first query would tell so, too, but less clearly.
    wait_for_scheduler(address, Duration::from_secs(3))
        .await
        .map_err(|error| exec_datafusion_err!("{error}"))?;
    let url = format!("df://{address}");
    let context = SessionContext::remote_with_state(&url, client_state()).await?;
    Ok(planner::enable(&context))
}

/// Waits until somebody listens at `address` (`HOST:PORT`), as a scheduler does that was just started.
///
/// # Errors
/// If nobody does for as long as `patience`, or the address cannot be reached at all.
pub async fn wait_for_scheduler(address: &str, patience: Duration) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match TcpStream::connect(address).await {
            Ok(_) => return Ok(()),
            Err(error)
                if error.kind() != ErrorKind::ConnectionRefused || start.elapsed() >= patience =>
            {
                return Err(io::Error::new(error.kind(), format!("scheduler {address}: {error}")));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A session with a scheduler and an executor in this process.
///
/// # Errors
/// If they cannot be started.
pub async fn standalone() -> Result<SessionContext> {
    let context = SessionContext::standalone_with_state(client_state()).await?;
    Ok(planner::enable(&context))
}

fn client_state() -> SessionState {
    let state =
        SessionStateBuilder::new().with_default_features().with_config(session_config()).build();
    // A scheduler and an executor in this process copy the functions from here. The session itself loses
    // them when it is connected, and gets them again.
    let context = SessionContext::new_with_state(state);
    crivo_datafusion::register_functions(&context);
    context.state()
}
