//! The first words after opening the store, with its file in the page cache and without.

use std::path::Path;
use std::sync::Arc;

use crivo::filter::Kind;
use crivo_hyphen::exceptions::{GuardOptions, StoredExceptions};
use crivo_hyphen::{Automaton, Hyphenator};

use super::measure::sum_of_breaks;
use super::{NO_FILTER, label, name};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::page_cache::evict;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::CONFIDENCE;
use crate::timing::{
    Clock, Comparison, Contender, Phase, Sample, Samples, corrected, describe_comparisons,
    interleave,
};

const WARM: &str = "warm";
const COLD: &str = "cold";
const OPEN: &str = "open";
const FIRST: &str = "first words";
const PERCENT: u32 = 1;
const FILTERS: [Option<Kind>; 4] = [None, Some(Kind::Bloom), Some(Kind::Cuckoo), Some(Kind::Fuse)];

fn contender_name(filter: Option<Kind>, state: &str) -> String {
    let filter = filter.map_or(NO_FILTER.to_string(), |kind| name(kind, PERCENT));
    format!("{filter}, {state}")
}

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
    original: &Path,
    rules: &Arc<Automaton>,
    words: &[&str],
) -> Result<(), StudyError> {
    // Few enough that most pages are read for the first time.
    let mut few: Vec<&str> = words.to_vec();
    context.random("hyphenation cold").shuffle(&mut few);
    few.truncate(context.pick(50, 200, 200));
    let mut contenders = Vec::new();
    let mut right = None;
    for filter in FILTERS {
        let guard =
            filter.map(|kind| GuardOptions::new(kind, f64::from(PERCENT) / 100.0)).transpose()?;
        for state in [WARM, COLD] {
            let name = contender_name(filter, state);
            let path = original.with_file_name(format!("{name}.redb"));
            std::fs::copy(original, &path)
                .map_err(|error| StudyError::Write { path: path.clone(), error })?;
            // Opened and closed once, so that the guard's file is there.
            drop(StoredExceptions::open(&path, guard.clone())?);
            let (few, rules, guard) = (&few, Arc::clone(rules), guard.clone());
            let mut open: Option<Hyphenator> = None;
            if right.is_none() {
                let store = StoredExceptions::open(&path, guard.clone())?;
                let hyphenator =
                    Hyphenator::from_automaton(Arc::clone(&rules)).with_exceptions(store);
                right = Some(sum_of_breaks(&hyphenator, few));
            }
            let work = move |phase| match phase {
                // Not timed: closing the store and evicting the file.
                0 => {
                    open = None;
                    if state == COLD {
                        evict(&path);
                        evict(&path.with_extension("redb.guard"));
                    }
                    Ok(0)
                }
                1 => {
                    let store = StoredExceptions::open(&path, guard.clone())?;
                    open =
                        Some(Hyphenator::from_automaton(Arc::clone(&rules)).with_exceptions(store));
                    Ok(0)
                }
                _ => Ok(open.as_ref().map_or(0, |hyphenator| sum_of_breaks(hyphenator, few))),
            };
            contenders.push(Contender::new(name, work));
        }
    }
    let phases = [
        Phase { task: "close", operations: 1, expected: None },
        Phase { task: OPEN, operations: 1, expected: None },
        Phase { task: FIRST, operations: few.len(), expected: right },
    ];
    // Wall-clock time, because waiting for the disk is what is measured.
    let mut samples =
        interleave(Clock::Wall, 0.0, context.repetitions(), &phases, &mut contenders)?;
    samples.retain(|sample| sample.task != "close");
    data.set_parameter("cold_words", few.len());
    data.add_times("cold", &samples)
}

pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Sample> = data.rows("cold")?;
    let samples = Samples(&rows);
    let words: u64 = data.parameter("cold_words")?;
    let baseline = contender_name(None, WARM);
    let names = FILTERS.map(|filter| {
        filter.map_or(NO_FILTER.to_string(), |kind| format!("{} {PERCENT}%", label(kind)))
    });
    let ratio = |task: &str, filter: Option<Kind>, state: &str| {
        samples.ratio(task, 0.0, &contender_name(filter, state), &baseline, CONFIDENCE)
    };
    let panel = |task: &str, title: &str| {
        let points = |state: &str, nudge: f64| {
            let point = |(i, filter): (usize, &Option<Kind>)| {
                Some((i as f64 + nudge, ratio(task, *filter, state)?))
            };
            FILTERS.iter().enumerate().filter_map(point).collect::<Vec<_>>()
        };
        Panel::Chart(Chart {
            title: title.to_string(),
            x: Axis::categories("", names.to_vec()),
            y: Axis::logarithmic("time over no filter, warm").with_format(TickFormat::Ratio),
            series: vec![
                Series::dashed(baseline.clone(), Hue::Limit, [(-0.4, 1.0), (3.4, 1.0)]),
                Series::dots("file in the page cache", Hue::Cuckoo, points(WARM, -0.1)),
                Series::dots("file evicted", Hue::Bloom, points(COLD, 0.1)),
            ],
        })
    };
    let mut table =
        Table::new(&["filter", "open, warm µs", "open, cold µs", "word, warm ns", "word, cold ns"]);
    for (filter, name) in FILTERS.iter().zip(&names) {
        let time = |task: &str, state: &str, scale: f64| {
            samples
                .median(task, 0.0, &contender_name(*filter, state))
                .map_or("–".to_string(), |time| decimal(time.value * scale, 3))
        };
        table.row([
            name.clone(),
            time(OPEN, WARM, 1e-3),
            time(OPEN, COLD, 1e-3),
            time(FIRST, WARM, 1.0),
            time(FIRST, COLD, 1.0),
        ]);
    }
    // Cold against warm without a filter, and the filter's gain when cold.
    let cold = contender_name(None, COLD);
    let behind = contender_name(Some(Kind::Bloom), COLD);
    let compared = |task: &str, contender: &str, baseline: &str| {
        let ratio = samples.ratio(task, 0.0, contender, baseline, CONFIDENCE)?;
        let comparison = samples.compare(task, 0.0, contender, baseline, corrected(2))?;
        Some((decimal(ratio.value, 3), comparison))
    };
    let (Some(slower), Some(gain)) =
        (compared(OPEN, &cold, &baseline), compared(FIRST, &behind, &cold))
    else {
        return Err(data.fault("times of opening are missing".to_string()));
    };
    let effect = match slower {
        (times, Comparison::Slower) => {
            format!("With the file evicted from the page cache, opening takes {times} times as long")
        }
        _ => "This sample shows no slower start with the file evicted (the system or the disk may still cache it)".to_string(),
    };
    let helps = match gain {
        (times, Comparison::Faster) => format!(
            "with a Bloom filter at 1% the first words then take {times} of the time without one"
        ),
        (times, Comparison::Slower) => format!(
            "with a Bloom filter at 1% the first words then take {times} times as long as without one"
        ),
        _ => "a Bloom filter makes no significant difference for the first words".to_string(),
    };
    Ok(Figure {
        id: "hyphenation-cold",
        title: "A cold start: opening the store, and the first words".to_string(),
        question: "Does a filter help when the dictionary is not in memory yet?".to_string(),
        method: format!(
            "Every round closes the store, evicts its file from the page cache (cold) or not (warm), \
             opens it with the file of the filter, and hyphenates {} random words; wall-clock time. The \
             file is small, so a few lookups read all of it. Median ratio to no filter, warm, in the \
             same round, with its 95% interval.",
            thousands(words)
        ),
        panels: vec![panel(OPEN, "opening"), panel(FIRST, "first words")],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!("{effect}; {helps}."),
            test: describe_comparisons(2, samples.rounds(FIRST)),
        },
    })
}
