//! A hundred million keys within a memory: a process of its own, whose memory is measured.

use crivo::KeyHasher;
use crivo::filter::{Bytes, KeyCollector, ShardedFuse};
use crivo::theory::interval;

const KEYS: u64 = 100_000_000;

/// For the collector and the construction, beside the filter.
const MEMORY: u64 = 256 << 20;

/// For the stacks of threads and whatever a test takes.
const BESIDES: u64 = 24 << 20;

const BATCH: u64 = 1 << 16;

/// The most memory that this process has used; `None` where the system does not tell.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

#[test]
#[ignore = "a minute, 0.8 GB of disk: cargo test -p crivo --test hundred_million -- --ignored"]
fn a_hundred_million_keys_within_256_mebibytes() {
    let hasher = KeyHasher::default();
    let batch = |from: u64| (from..from + BATCH).map(|key| hasher.digest(&key)).collect::<Vec<_>>();
    let mut collector = KeyCollector::within(Bytes(MEMORY), hasher);
    // Some keys come twice.
    for from in (0..KEYS).step_by(BATCH as usize).chain((0..KEYS / 10).step_by(BATCH as usize)) {
        let digests = batch(from);
        collector.insert_digests(&digests[..BATCH.min(KEYS - from) as usize]).unwrap();
    }
    let keys = collector.finish().unwrap();
    assert_eq!(keys.count(), KEYS);
    let filter = ShardedFuse::from_keys(keys, 0.01).unwrap();
    assert_eq!((filter.key_count(), filter.shards(), filter.width()), (KEYS, 64, 7));
    assert!(filter.bits_per_key() < 7.96, "{}", filter.bits_per_key());
    if let Some(peak) = peak() {
        println!(
            "{} MiB at most, {} MiB of them the filter",
            peak >> 20,
            filter.size_in_bits() >> 23
        );
        assert!(peak <= filter.size_in_bits() / 8 + MEMORY + BESIDES, "{peak}");
    }

    let mut hits = [false; BATCH as usize];
    for from in (0..KEYS).step_by(BATCH as usize) {
        let digests = batch(from);
        filter.contains_batch(&digests, &mut hits);
        let asked = BATCH.min(KEYS - from) as usize;
        assert!(hits[..asked].iter().all(|&hit| hit), "a key from {from} on is not found");
    }
    // An interval that the FPR of theory leaves once in a million times.
    let (mut found, mut asked) = (0, 0);
    for from in (1 << 40..(1 << 40) + 20_000_000).step_by(BATCH as usize) {
        filter.contains_batch(&batch(from), &mut hits);
        found += hits.iter().map(|&hit| u64::from(hit)).sum::<u64>();
        asked += BATCH;
    }
    let interval = interval::exact(found, asked, 1.0 - 1e-6).unwrap();
    assert!(interval.contains(filter.expected_fpr()), "{found} of {asked}: {interval:?}");
}
