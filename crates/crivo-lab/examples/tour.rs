//! A tour: theory, dictionaries, cuckoo hashing, hash quality. Runs in a second.
//!
//! ```text
//! cargo run --release --example tour
//! ```

use std::error::Error;

use crivo::KeyHasher;
use crivo::hash::Family;
use crivo::theory::{blocked, bloom, cuckoo, fuse, limits};
use crivo_exact::cuckoo::trace::TraceTable;
use crivo_exact::{ChainedMap, CompactedMap, CuckooMap, Dictionary, Eviction, LinearMap};
use crivo_lab::quality::{DigestTable, QualityPlan};

fn main() -> Result<(), Box<dyn Error>> {
    sizes()?;
    dictionaries()?;
    lecture()?;
    hash_quality()
}

fn sizes() -> Result<(), Box<dyn Error>> {
    let n = 1_000_000;
    println!("Bits per key for {n} keys, by false-positive rate\n");
    println!("  FPR      minimum        fuse (fixed set)  cuckoo (removal)  Bloom  blocked Bloom");
    for rate in [0.1, 0.01, 0.001, 0.0001] {
        println!(
            "  {:<7}  {:>13.2}  {:>16.2}  {:>16.2}  {:>5.2}  {:>13.2}",
            format!("{}%", rate * 100.0),
            limits::fixed_set(rate)?,
            fuse::bits_per_key(n, rate, fuse::Arity::Four)?,
            cuckoo::bits_per_key(rate, 4, 0.95)?,
            bloom::size(n, rate)?.bits as f64 / n as f64,
            blocked::bits_per_key(blocked::Block::CACHE_LINE, rate)?,
        );
    }
    Ok(())
}

fn dictionaries() -> Result<(), Box<dyn Error>> {
    fn fill<D: Dictionary<u64, u64>>(name: &str, mut map: D) -> Result<(), Box<dyn Error>> {
        for key in 0..1_000_000 {
            map.insert(key, !key)?;
        }
        let found = (0..1_000_000).filter(|key| map.get(key) == Some(&!key)).count();
        let bytes = map.size_in_bytes() as f64 / map.len() as f64;
        println!("  {name:<32}  {found:>7}  {:>4.0}%  {bytes:>15.1}", 100.0 * map.load());
        Ok(())
    }
    println!("\nA million entries, u64 to u64\n");
    println!("  {:<32}  {:>7}  {:>5}  {:>15}", "map", "found", "load", "bytes per entry");
    let n = 1_000_000;
    fill("ChainedMap", ChainedMap::with_capacity(n)?)?;
    fill("LinearMap", LinearMap::with_capacity(n)?)?;
    fill("CuckooMap", CuckooMap::with_capacity(n)?)?;
    // Forty bits for a key: about one lookup in a million is a false positive.
    fill("CompactedMap, keys as 40 bits", CompactedMap::with_capacity(40, n)?)
}

fn lecture() -> Result<(), Box<dyn Error>> {
    println!("\nCuckoo hashing: nine places, two for each key, and Z comes last\n");
    let keys =
        [("A", [0, 3]), ("B", [3, 8]), ("C", [1, 2]), ("H", [4, 7]), ("P", [5, 8]), ("W", [7, 4])];
    for (name, eviction) in [
        ("random walk", Eviction::random_walk()),
        ("breadth-first search", Eviction::breadth_first()),
    ] {
        let mut table = TraceTable::new(9, eviction)?;
        for (key, places) in keys {
            table.insert(key, &places)?;
        }
        println!("  {name:<22}{}", table.insert("Z", &[7, 0])?);
    }
    Ok(())
}

fn hash_quality() -> Result<(), Box<dyn Error>> {
    println!(
        "\nTen functions of each family on 100,000 keys: uniform, uncorrelated, independent?\n"
    );
    for family in Family::ALL.into_iter().filter(|family| family.is_seeded()) {
        let hashers: Vec<KeyHasher> = (0..10).map(|seed| family.with_seed(seed)).collect();
        let keys = (0..100_000).map(|i| format!("key {i}"));
        let verdict =
            DigestTable::of_hashers(&hashers, keys)?.assess(QualityPlan::default())?.verdict;
        println!("  {family:<8}{verdict}");
    }
    Ok(())
}
