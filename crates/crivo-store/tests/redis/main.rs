//! A guard in front of Redis or Valkey.
//!
//! These tests need servers: `CRIVO_TEST_REDIS` has the address of one, `CRIVO_TEST_REDIS_CLUSTER` those of
//! the masters of a cluster; `scripts/services redis` starts them. Tests that kill servers start their own,
//! if `CRIVO_TEST_SERVICES` is set. Without the variables they say that they were skipped.

#[cfg(feature = "redis-cluster")]
mod cluster;
mod exclusive;
#[cfg(unix)]
#[path = "../journal/mod.rs"]
mod journal;
#[cfg(unix)]
mod killed;
mod servers;
mod shared;

use std::time::{Duration, Instant};

use crivo::filter::Kind;
use crivo_store::{AsyncGuarded, AsyncStore, GuardOptions, Mode, OpenOptions};

fn guard(kind: Kind) -> GuardOptions {
    GuardOptions::new(kind, 0.01).unwrap()
}

fn options(kind: Kind) -> OpenOptions {
    OpenOptions::new(guard(kind))
}

/// Asks for 20,000 absent keys. A guard that is up to date stops at least 1 − 2·FPR of them: at an FPR of
/// at most 1.5%, more than 2% pass with a probability below 10^-7.
async fn stops_absent_keys<S, M>(guarded: &AsyncGuarded<S, M>)
where
    S: AsyncStore<Key = [u8]>,
    M: Mode,
{
    stops_absent_keys_when(guarded, async || ()).await;
}

/// Asks as [`stops_absent_keys`] does, each time as soon as the guard is ready.
async fn stops_absent_keys_when<S, M>(guarded: &AsyncGuarded<S, M>, mut ready: impl AsyncFnMut())
where
    S: AsyncStore<Key = [u8]>,
    M: Mode,
{
    let before = guarded.counters();
    for key in 0..20_000u64 {
        let key = [b"absent".as_slice(), &key.to_le_bytes()].concat();
        ready().await;
        assert!(!guarded.contains(&key).await.unwrap());
    }
    let stopped = guarded.counters().stopped - before.stopped;
    assert!(stopped >= 19_600, "{:?}", guarded.counters());
}

/// Waits until something is so, at most a minute.
async fn wait_until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
