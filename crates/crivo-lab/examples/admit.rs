//! Caches with and without a doorkeeper, which keeps out objects that are requested once.
//!
//! ```text
//! cargo run --release --example admit
//! ```

use std::error::Error;

use crivo_lab::sim::admission::comparison::{AdmissionPlan, compare};

fn main() -> Result<(), Box<dyn Error>> {
    let plan = AdmissionPlan::default();
    println!(
        "Zipf's law with exponent {}, {}% of the objects requested once, {} requests to the rest\n",
        plan.trace.exponent,
        plan.trace.once * 100.0,
        plan.trace.requests
    );
    for cache_share in [0.001, 0.01, 0.1] {
        println!("  a cache for {}% of the objects", cache_share * 100.0);
        println!(
            "    {:<24}  {:>9}  {:>8}  {:>11}  {:>8}  {:>9}",
            "policy", "hit ratio", "theory", "GB written", "theory", "into main"
        );
        for row in compare(&AdmissionPlan { cache_share, ..plan })? {
            let gigabytes = |bytes: f64| format!("{:.2}", bytes / 1e9);
            println!(
                "    {:<24}  {:>8.2}%  {:>8}  {:>11}  {:>8}  {:>9}",
                row.policy,
                100.0 * row.hit_ratio(),
                row.hit_theory.map_or(String::new(), |ratio| format!("{:.2}%", 100.0 * ratio)),
                gigabytes(row.bytes_written as f64),
                row.bytes_written_theory.map_or(String::new(), gigabytes),
                gigabytes(row.bytes_written_to_main as f64),
            );
        }
    }
    Ok(())
}
