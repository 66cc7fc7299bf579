//! The first questions after a start with nothing in the page cache.

use super::{by_sstables, label, microseconds};
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{ABSENT, CHANCE, CHANCES, SSTABLES, chance_name};
use crate::plot::decimal;
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::CONFIDENCE;
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons};

pub(in super::super) fn cold(data: &Dataset) -> Result<Figure, StudyError> {
    let (warm, cold): (Vec<Sample>, Vec<Sample>) = (data.rows("client")?, data.rows("cold")?);
    let (warm, cold) = (Samples(&warm), Samples(&cold));
    let mut table = Table::new(&["filter", "SSTables", "warm", "cold"]);
    for filter in CHANCES.map(chance_name) {
        for parts in SSTABLES {
            table.row([
                label(&filter),
                parts.to_string(),
                microseconds(warm.median(ABSENT, parts as f64, &filter)),
                microseconds(cold.median(ABSENT, parts as f64, &filter)),
            ]);
        }
    }
    let most = SSTABLES[SSTABLES.len() - 1];
    let (none, some) = (chance_name(1.0), chance_name(CHANCE));
    let gain = cold.ratio(ABSENT, most as f64, &none, &some, CONFIDENCE);
    let compared = cold.compare(ABSENT, most as f64, &none, &some, corrected(1));
    let warm_gain = warm.ratio(ABSENT, most as f64, &none, &some, CONFIDENCE);
    let (Some(gain), Some(compared), Some(warm_gain)) = (gain, compared, warm_gain) else {
        return Err(data.fault("there are no times of cold starts".to_string()));
    };
    let factor = decimal(gain.value, 3);
    let sentence = match compared {
        Comparison::Slower => format!(
            "With {most} SSTables and nothing in memory, a question for an absent row takes {factor} times as \
             long without filters as at fp_chance {some}; with everything in memory, {} times.",
            decimal(warm_gain.value, 3)
        ),
        _ => format!(
            "With {most} SSTables, this sample shows no slower questions without filters after a start with \
             nothing in memory ({factor} times; the system or the disk may still have the files in a cache)."
        ),
    };
    Ok(Figure {
        id: "cassandra-cold",
        title: "Time with nothing in memory".to_string(),
        question: "What do filters save when the SSTables must be read from disk?".to_string(),
        method: format!(
            "{} times the node is stopped, the system is asked to evict all files of the tables from the page \
             cache (on Linux; elsewhere nothing is evicted, and cold is no more than a start), the node is started and warms up on another table, and then each table gets five questions for absent keys, \
             in random order. Cold is the client’s mean time of the five: later ones would find parts of the \
             files in memory. Warm is its time in the figure before. Bars: 95% intervals of the median.",
            cold.rounds(ABSENT)
        ),
        panels: vec![
            by_sstables(&cold, ABSENT, "cold, at the client", "median over starts, µs"),
            by_sstables(&warm, ABSENT, "warm, at the client", "median over rounds, µs"),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence,
            test: describe_comparisons(1, cold.rounds(ABSENT)),
        },
    })
}
