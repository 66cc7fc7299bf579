//! A guard in front of a Redis server, in its three modes.
//!
//! ```text
//! cargo run -p crivo-store --features redis --example guarded_redis redis://127.0.0.1/
//! ```

use std::error::Error;
use std::time::Duration;

use crivo::filter::Kind;
use crivo_store::redis::RedisStore;
use crivo_store::{AsyncGuarded, GuardOptions, OpenOptions, SharedOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&std::env::args().nth(1).ok_or("the address of a server is missing")?))
}

async fn run(address: &str) -> Result<(), Box<dyn Error>> {
    let client = redis::Client::open(address)?;
    // It connects again after a restart of the server, and sends no command twice.
    let connection = client.get_connection_manager().await?;
    let store = || RedisStore::new(connection.clone(), "crivo-example.user:");
    let guard = |kind: Kind| GuardOptions::new(kind, 0.001);

    // One writer. An earlier run of this program may have ended early, and still own the keys.
    let options = OpenOptions::new(guard(Kind::Cuckoo)?).take_over(true);
    let users = AsyncGuarded::open(store(), options).await?;
    users.put(b"ana", b"1").await?;
    assert!(!users.contains(b"rui").await?); // the server was not asked
    println!("one writer: {:?}", users.counters());
    users.close().await?;

    // Nobody writes any more.
    let users = AsyncGuarded::snapshot(store(), &guard(Kind::Fuse)?).await?;
    assert_eq!(users.get(b"ana").await?.as_deref(), Some(b"1".as_slice()));

    // Several writers. With a connection of its own for the stream, a reader hears of news at once.
    let options = SharedOptions::new(guard(Kind::Blocked)?).staleness(Duration::from_millis(500));
    let stream = client.get_connection_manager().await?;
    let writer = AsyncGuarded::share(store(), options.clone()).await?;
    let reader = AsyncGuarded::share(store().stream_connection(stream), options).await?;
    writer.put(b"eva", b"2").await?;
    assert!(writer.contains(b"eva").await?); // an own write is seen at once,
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(reader.contains(b"eva").await?); // and one of others after the staleness at the latest
    println!("several writers: {:?}", reader.counters());

    // The next owner has to take over: nobody knows when the last of several writers is gone.
    drop((writer, reader));
    let options = OpenOptions::new(guard(Kind::Cuckoo)?).take_over(true);
    let users = AsyncGuarded::open(store(), options).await?;
    users.delete_batch(&[b"ana", b"eva"]).await?;
    users.close().await?;
    Ok(())
}
