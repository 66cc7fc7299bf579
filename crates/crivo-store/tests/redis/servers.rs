//! Where the servers of these tests come from.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crivo_store::redis::{RedisStore, RedisStoreError};
use crivo_store::{AsyncOwnedStore, AsyncStore, Owner};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisFuture, RedisResult, Value};
use tokio::sync::Mutex;

/// A machine under load answers late.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server, or a cluster.
pub trait Servers: Clone + Send + Sync + 'static {
    /// The variable that has the addresses.
    const VARIABLE: &str;

    type Store: AsyncOwnedStore<Key = [u8], NewValue = [u8], Value = Vec<u8>, Error = RedisStoreError>
        + AsyncStore<Key = [u8]>;

    fn connect(addresses: &str) -> impl Future<Output = Self>;

    fn store(&self, prefix: &str) -> Self::Store;
}

/// A single server.
#[derive(Clone)]
pub struct Single(pub Connection);

impl Servers for Single {
    const VARIABLE: &str = "CRIVO_TEST_REDIS";

    type Store = RedisStore<Connection>;

    async fn connect(address: &str) -> Self {
        Self(Connection::new(address))
    }

    fn store(&self, prefix: &str) -> Self::Store {
        RedisStore::new(self.0.clone(), prefix)
    }
}

/// Runs a test with a prefix of its own, if there are servers. What it has written is deleted.
pub fn with<S: Servers, F: Future<Output = ()>>(test: impl FnOnce(S, String) -> F) {
    let Ok(addresses) = std::env::var(S::VARIABLE) else {
        skipped(&format!("{} names no server", S::VARIABLE));
        return;
    };
    block_on(async {
        let prefix = format!("crivo-test-[{}]:", Owner::random().unwrap());
        let servers = S::connect(&addresses).await;
        test(servers.clone(), prefix.clone()).await;
        let store = servers.store(&prefix);
        let claim = store.claim(Owner::random().unwrap(), true).await.unwrap();
        let mut keys = Vec::new();
        store.scan(|key| keys.push(key.to_vec())).await.unwrap();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        store.delete_batch(&claim, &keys).await.unwrap();
        store.release(&claim).await.unwrap();
    });
}

/// Says that a test was skipped: not by a macro, whose output is shown for tests that fail alone.
fn skipped(reason: &str) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    let _ = std::io::stderr().write_all(format!("skipped {name}: {reason}\n").as_bytes());
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A connection that begins again after an error, and sends nothing twice.
#[derive(Clone)]
pub struct Connection {
    client: redis::Client,
    current: Arc<Mutex<Option<MultiplexedConnection>>>,
}

impl Connection {
    pub fn new(address: &str) -> Self {
        Self { client: redis::Client::open(address).unwrap(), current: Arc::default() }
    }

    async fn current(&self) -> RedisResult<MultiplexedConnection> {
        let mut current = self.current.lock().await;
        if let Some(connection) = &*current {
            return Ok(connection.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(PATIENCE))
            .set_connection_timeout(Some(PATIENCE));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(current.insert(connection).clone())
    }

    async fn checked<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        if answer.as_ref().is_err_and(|error| error.is_unrecoverable_error()) {
            *self.current.lock().await = None;
        }
        answer
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let answer = self.current().await?.req_packed_command(command).await;
            self.checked(answer).await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let answer = self.current().await?.req_packed_commands(pipeline, offset, count).await;
            self.checked(answer).await
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

/// Servers of one test, which end with it.
pub struct OwnServers {
    script: PathBuf,
    directory: tempfile::TempDir,
}

impl OwnServers {
    /// They are started if that is allowed, and possible.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if std::env::var_os("CRIVO_TEST_SERVICES").is_none() {
            skipped("CRIVO_TEST_SERVICES is not set");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
        let servers = Self { script, directory: tempfile::tempdir().unwrap() };
        match servers.command("start").args(arguments).status().unwrap().code() {
            Some(0) => Some(servers),
            Some(3) => {
                skipped("Redis cannot be installed");
                None
            }
            status => panic!("the servers did not start: {status:?}"),
        }
    }

    fn command(&self, action: &str) -> Command {
        let mut command = Command::new(&self.script);
        command.args(["redis", action]).arg(self.directory.path());
        command
    }

    /// Kills a server.
    pub fn kill(&self, node: u32) {
        assert!(
            self.command("kill").args(["--node", &node.to_string()]).status().unwrap().success()
        );
    }

    /// Kills a server, and starts it again.
    pub fn kill_and_restart(&self, node: u32) {
        self.kill(node);
        assert!(self.command("start").status().unwrap().success());
    }

    pub fn addresses(&self) -> String {
        let output = self.command("env").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let address = text.lines().find_map(|line| line.split_once("_URL='")).unwrap().1;
        address.trim_end_matches('\'').to_owned()
    }
}

impl Drop for OwnServers {
    fn drop(&mut self) {
        let _ = self.command("stop").status();
    }
}
