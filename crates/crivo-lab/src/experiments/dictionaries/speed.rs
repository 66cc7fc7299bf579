//! Insertion, hit, miss and deletion by load.

use crivo::KeyHasher;
use serde::{Deserialize, Serialize};

use super::subjects::{BASELINE, KINDS, Subject};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::CONFIDENCE;
use crate::timing::{
    Clock, Comparison, Contender, Phase, Sample, Samples, corrected, describe_comparisons,
    interleave,
};

const LOADS: [f64; 7] = [0.2, 0.4, 0.6, 0.75, 0.85, 0.9, 0.95];
const TASKS: [&str; 4] = ["insert", "hit", "miss", "delete"];
/// The fraction of the slots that is filled and emptied in every round.
const TURNOVER: f64 = 0.02;
/// Loads of different tables differ only by rounding.
const TOLERANCE: f64 = 0.01;

/// Memory at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Memory {
    dictionary: String,
    load: f64,
    entries: usize,
    slots: usize,
    bytes: usize,
}

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
    step: impl Fn(u64, u64),
) -> Result<Vec<Sample>, StudyError> {
    let slots: usize = context.pick(1 << 10, 1 << 17, 1 << 20);
    let max_queries = context.pick(500, 50_000, 200_000);
    let mut random = context.random("dictionaries speed");
    let (mut samples, mut memory) = (Vec::new(), Vec::new());
    for (done, load) in LOADS.into_iter().enumerate() {
        let entries = (slots as f64 * load) as usize;
        let turnover = (slots as f64 * TURNOVER) as usize;
        let keys: Vec<u64> = (0..entries).map(|_| random.number()).collect();
        let (base, last) = keys.split_at(entries - turnover);
        let mut hits = keys.clone();
        random.shuffle(&mut hits);
        hits.truncate(max_queries);
        let misses: Vec<u64> = (0..hits.len()).map(|_| random.number()).collect();
        let hasher = KeyHasher::xxh3(random.number());

        let mut maps: Vec<(&str, Box<dyn Subject>)> = Vec::new();
        for kind in KINDS.iter().filter(|kind| load <= kind.max_load) {
            let mut map = kind.build(slots, hasher)?;
            let before = map.slots();
            map.insert(&keys)?;
            memory.push(Memory {
                dictionary: kind.name.to_string(),
                load,
                entries,
                slots: map.slots(),
                bytes: map.bytes(),
            });
            map.remove(last);
            // A cuckoo table that could not place a key has grown, and no longer has this load.
            if map.slots() == before {
                maps.push((kind.name, map));
            }
        }
        let phases = [
            Phase { task: "insert", operations: turnover, expected: None },
            Phase { task: "hit", operations: hits.len(), expected: Some(hits.len() as u64) },
            Phase { task: "miss", operations: misses.len(), expected: Some(0) },
            Phase { task: "delete", operations: turnover, expected: Some(turnover as u64) },
        ];
        let mut contenders: Vec<Contender<'_>> = maps
            .iter_mut()
            .map(|(name, map)| {
                let (hits, misses) = (&hits, &misses);
                Contender::new(*name, move |phase| match phase {
                    0 => map.insert(last).map(|()| 0),
                    1 => Ok(map.count(hits)),
                    2 => Ok(map.count(misses)),
                    _ => Ok(map.remove(last)),
                })
            })
            .collect();
        samples.extend(interleave(
            Clock::Processor,
            load,
            context.repetitions(),
            &phases,
            &mut contenders,
        )?);
        drop(contenders);
        for (name, map) in &maps {
            let real = (base.len() + turnover) as f64 / map.slots() as f64;
            if (real - load).abs() > TOLERANCE {
                samples.retain(|sample| sample.x != load || sample.contender != *name);
            }
        }
        step(done as u64 + 1, LOADS.len() as u64);
    }
    data.set_parameter("slots", slots);
    data.add("memory", &memory)?;
    Ok(samples)
}

/// The number of slots that a textbook table inspects for an absent key.
fn theory() -> Panel {
    let curve = |name: &str, looks: fn(f64) -> f64| {
        let hue = KINDS.iter().find(|kind| kind.name == name).map_or(Hue::Plain, |kind| kind.hue);
        let loads = (4..=19).map(|twentieth| f64::from(twentieth) / 20.0);
        Series::line(format!("{name}, theory"), hue, loads.map(|load| (load, looks(load))))
    };
    Panel::Chart(Chart {
        title: "theory: slots inspected for an absent key".to_string(),
        x: Axis::linear("load").with_format(TickFormat::Percent),
        y: Axis::logarithmic("slots"),
        series: vec![
            curve("chaining", |load| load),
            curve("linear probing", |load| (1.0 + (1.0 - load).powi(-2)) / 2.0),
            curve("cuckoo 3 × 1", |_| 3.0),
            curve("cuckoo 2 × 8", |_| 2.0),
        ],
    })
}

pub(super) fn figure(data: &Dataset, all: &[Sample]) -> Result<Figure, StudyError> {
    let samples = Samples(all);
    let memory: Vec<Memory> = data.rows("memory")?;
    let slots: u64 = data.parameter("slots")?;
    let ratio =
        |task: &str, load: f64, name: &str| samples.ratio(task, load, name, BASELINE, CONFIDENCE);
    let mut panels = Vec::new();
    for (task, title) in
        TASKS.iter().zip(["insert", "lookup of a present key", "lookup of an absent key", "delete"])
    {
        let mut series = Vec::new();
        for kind in &KINDS {
            let points: Vec<_> = LOADS
                .into_iter()
                .filter_map(|load| Some((load, ratio(task, load, kind.name)?)))
                .collect();
            series.push(Series::trace(kind.name, kind.hue, points));
        }
        panels.push(Panel::Chart(Chart {
            title: title.to_string(),
            x: Axis::linear("load").with_format(TickFormat::Percent),
            y: Axis::logarithmic("time over hashbrown’s").with_format(TickFormat::Ratio),
            series,
        }));
    }
    panels.push(theory());
    let mut table =
        Table::new(&["dictionary", "load", "bytes per entry", "insert", "hit", "miss", "delete"]);
    let mut findings = Vec::new();
    let comparisons = (KINDS.len() - 1) * TASKS.len();
    let (mut faster, mut slower) = (0, 0);
    for kind in &KINDS {
        let Some(load) = LOADS.into_iter().rfind(|&load| ratio("hit", load, kind.name).is_some())
        else {
            continue;
        };
        for task in TASKS {
            match samples.compare(task, load, kind.name, BASELINE, corrected(comparisons)) {
                Some(Comparison::Faster) => faster += 1,
                Some(Comparison::Slower) => slower += 1,
                _ => {}
            }
        }
        let bytes = memory
            .iter()
            .find(|row| row.dictionary == kind.name && row.load == load)
            .map_or(0.0, |row| row.bytes as f64 / row.entries.max(1) as f64);
        let mut cells = vec![kind.name.to_string(), percent(load, 2), decimal(bytes, 3)];
        for task in TASKS {
            cells.push(ratio(task, load, kind.name).map_or("–".to_string(), |r| {
                format!("{}× ({}–{})", decimal(r.value, 3), decimal(r.low, 3), decimal(r.high, 3))
            }));
        }
        table.row(cells);
        if ["chaining", "linear probing", "cuckoo 2 × 8"].contains(&kind.name) {
            let times = ["hit", "miss"].map(|task| {
                ratio(task, load, kind.name)
                    .map_or("–".to_string(), |each| decimal(each.value, 3))
            });
            findings.push(format!(
                "{} at {}: {} bytes per entry, a hit in {} times and a miss in {} times hashbrown’s time",
                kind.name,
                percent(load, 2),
                decimal(bytes, 3),
                times[0],
                times[1],
            ));
        }
    }
    let sentence = format!(
        "Each at its highest load, for entries of 16 bytes: {}. Of {comparisons} comparisons with \
         hashbrown, {faster} are faster, {slower} slower, and {} not significantly different.",
        findings.join("; "),
        comparisons - faster - slower,
    );
    Ok(Figure {
        id: "dictionaries-speed",
        title: "Time relative to hashbrown, by load".to_string(),
        question: "How fast is each dictionary, and how does that change with the load?"
            .to_string(),
        method: format!(
            "Tables of {} slots, u64 to u64, with the same hash function. Each is filled to 2% below a \
             load; a round inserts the last 2%, looks up present and absent keys in random order, and \
             removes the 2% again. Contenders take turns; the plot shows the median over the rounds of \
             the ratio to hashbrown’s time in the same round, with its 95% interval from order \
             statistics. hashbrown fills at most seven eighths of its slots, and has twice as many slots at the two \
             highest loads. Last panel: the slots that a textbook table inspects at load α, α entries of a \
             chain, (1 + 1/(1 − α)²)/2 slots by linear probing, d buckets by cuckoo hashing; this \
             implementation inspects sixteen slots at once. Table: each at its highest load.",
            thousands(slots)
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence,
            test: describe_comparisons(comparisons, samples.rounds("hit")),
        },
    })
}
