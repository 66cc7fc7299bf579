//! The numbers of `docs/theory.md` are regenerated here: a document that drifts fails.

use super::blocked::{Block, Positions};
use super::fuse::Arity;
use super::{blocked, bloom, compaction, cuckoo, fuse, limits, quotient};
use crate::ParameterError;

const DOCUMENT: &str = include_str!("../../../../docs/theory.md");

const FPRS: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];

/// Bits per key for a structure at an FPR.
type BitsPerKey = fn(f64) -> Result<f64, ParameterError>;

fn bits_per_key_table() -> String {
    const KEYS: u64 = 1_000_000;
    const DISTINCT: Block = Block { positions: Positions::Distinct, ..Block::CACHE_LINE };
    const COUNTERS: Block = Block { bits: 128, ..Block::CACHE_LINE };
    fn classic(fpr: f64) -> Result<f64, ParameterError> {
        Ok(bloom::size(KEYS, fpr)?.bits as f64 / KEYS as f64)
    }
    let rows: [(&str, BitsPerKey); 12] = [
        ("*limit: any filter*", limits::fixed_set),
        ("binary fuse, 4 cells", |e| fuse::bits_per_key(KEYS, e, Arity::Four)),
        ("binary fuse, 3 cells", |e| fuse::bits_per_key(KEYS, e, Arity::Three)),
        ("*limit: with insertion and deletion*", limits::changing_set),
        ("quotient, load 95%", |e| quotient::bits_per_key(e, 0.95, quotient::RANK_AND_SELECT)),
        ("cuckoo, buckets of 4, load 95%", |e| cuckoo::bits_per_key(e, 4, 0.95)),
        ("classic Bloom", classic),
        ("blocked Bloom, 512 bits, distinct positions", |e| blocked::bits_per_key(DISTINCT, e)),
        ("blocked Bloom, 512 bits, independent positions", |e| {
            blocked::bits_per_key(Block::CACHE_LINE, e)
        }),
        ("hash compaction (stored hashes only)", |e| Ok(compaction::hash_bits(KEYS, e)?.into())),
        ("counting Bloom, counters of 4 bits", |e| Ok(4.0 * classic(e)?)),
        ("blocked counting Bloom, 128 counters of 4 bits", |e| {
            Ok(4.0 * blocked::bits_per_key(COUNTERS, e)?)
        }),
    ];
    let mut table =
        String::from("| structure | 10% | 1% | 0.1% | 0.01% |\n|---|---|---|---|---|\n");
    for (name, bits) in rows {
        let cells = FPRS.map(|fpr| format!("{:.2}", bits(fpr).unwrap()));
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    table
}

fn threshold_table() -> String {
    let mut table = String::from("| d | b = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |\n|---|");
    table += &"---|".repeat(8);
    table += "\n";
    for d in 2..=4 {
        let cells: Vec<String> = (1..=8)
            .map(|b| format!("{:.2}", 100.0 * cuckoo::load_threshold(d, b).unwrap()))
            .collect();
        table += &format!("| {d} | {} |\n", cells.join(" | "));
    }
    table
}

fn blocked_table() -> String {
    let mut table = String::from(
        "| bits per key | classic | blocked, as published | independent positions | distinct positions |\n\
         |---|---|---|---|---|\n",
    );
    for (budget, digits) in [(8, 2), (10, 3), (12, 3), (16, 4)] {
        let (m, n) = (budget * 1_000_000, 1_000_000);
        let k = bloom::best_probes(m, n).unwrap();
        let mut fprs = vec![bloom::fpr(m, n, k).unwrap()];
        for positions in [Positions::Textbook, Positions::Independent, Positions::Distinct] {
            let block = Block { positions, ..Block::CACHE_LINE };
            let k = blocked::best_probes(block, budget as f64).unwrap();
            fprs.push(blocked::fpr_at(block, budget as f64, k).unwrap());
        }
        let cells: Vec<String> =
            fprs.iter().map(|fpr| format!("{:.digits$}%", 100.0 * fpr)).collect();
        table += &format!("| {budget} | {} |\n", cells.join(" | "));
    }
    table
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_tables_of_the_document_are_what_the_functions_say() {
    for table in [bits_per_key_table(), threshold_table(), blocked_table()] {
        assert!(DOCUMENT.contains(&table), "docs/theory.md lacks this table:\n{table}");
    }
}
