//! Solving the shards one after another, several at a time.

use std::sync::Mutex;

use super::keys::KeySet;
use super::spec::ShardedFuseSpec;
use super::table::{ShardedGeometry, ShardedTable};
use crate::filter::FuseError;
use crate::filter::fuse::options::{MAX_ATTEMPTS, seed_of};
use crate::filter::fuse::solve::solve;
use crate::filter::threads::{WORTH_A_THREAD, share};
use crivo_core::memory::collected;

/// What the construction of a shard takes at most per key, its digests among it: 8 bytes for them and
/// then the order, one more for the order, 8 mixed, 9 for each of 1.13 cells, and the queue. Before, while they
/// are read, up to 24 where there are copies. An attempt that fails, which is rare, may take 9 more.
const BYTES_PER_KEY: u64 = 29;

/// The table of all keys.
pub(super) fn build_shards(
    spec: &ShardedFuseSpec,
    keys: KeySet,
) -> Result<ShardedTable, FuseError> {
    let shard_bits = spec.shard_bits();
    let largest = keys.largest_shard(shard_bits);
    let geometry = spec.geometry(keys.count(), largest)?;
    let mut words = ShardedTable::zeroed_words(&geometry)?;
    let mut seeds = collected((0..geometry.shards()).map(|_| seed_of(0)))?;
    if keys.count() > 0 {
        let threads = keys.threads();
        let fit = keys.free_memory() / (largest * BYTES_PER_KEY);
        let workers = threads.min(seeds.len()).min(fit.try_into().unwrap_or(usize::MAX)).max(1);
        let threads_of_one = (threads / workers).max(1);
        let shard_words = geometry.shard_words() as usize;
        let shards = words.to_mut().chunks_mut(shard_words).zip(&mut seeds).enumerate();
        share(workers, Mutex::new(shards), |(shard, (words, seed))| {
            let digests = keys.take_shard(shard, shard_bits)?;
            *seed = solve_shard(&geometry, digests, threads_of_one, words)?;
            Ok::<(), FuseError>(())
        })?;
    }
    let table = ShardedTable::new(geometry, &seeds, words)?;
    Ok(table.expect("as many seeds and words as the geometry says"))
}

/// Writes the cells of a shard, and returns its seed.
fn solve_shard(
    geometry: &ShardedGeometry,
    mut digests: Vec<u64>,
    threads: usize,
    words: &mut [u64],
) -> Result<u64, FuseError> {
    if digests.is_empty() {
        return Ok(seed_of(0));
    }
    let threads = threads.min(digests.len() / WORTH_A_THREAD + 1);
    for attempt in 0..MAX_ATTEMPTS {
        let seed = seed_of(attempt);
        if solve(&geometry.with_seed(seed), &mut digests, threads, words)? {
            return Ok(seed);
        }
    }
    Err(FuseError::Unsolved { key_count: digests.len() as u64, attempts: MAX_ATTEMPTS })
}
