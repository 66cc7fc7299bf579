//! Time per key, for tables in the cache and in main memory.

use crivo::KeyHasher;

use super::subjects::{self, BLOOM};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Panel, Series, TickFormat, decimal, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::CONFIDENCE;
use crate::timing::{
    Clock, Contender, Phase, Sample, Samples, corrected, describe_comparisons, interleave,
};

const FPR: f64 = 0.01;
const TASKS: [&str; 4] = ["insert", "present", "absent", "batch"];

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
    step: impl Fn(u64, u64),
) -> Result<Vec<Sample>, StudyError> {
    let sizes: &[u64] = context.pick(
        &[1_000, 4_000],
        &[10_000, 100_000, 1_000_000],
        &[10_000, 100_000, 1_000_000, 10_000_000],
    );
    let max_queries = context.pick(4_000, 200_000, 1_000_000);
    let mut random = context.random("filters speed");
    let mut samples = Vec::new();
    for (done, &keys) in sizes.iter().enumerate() {
        let members: Vec<u64> = (0..keys).map(|_| random.number()).collect();
        let queries = (keys as usize).min(max_queries);
        let mut present = members.clone();
        random.shuffle(&mut present);
        present.truncate(queries);
        let absent: Vec<u64> = (0..queries).map(|_| random.number()).collect();
        let mut subjects = subjects::all(FPR, KeyHasher::xxh3(random.number()));
        let x = keys as f64;

        // Filling a large filter takes long, so there are fewer rounds.
        let rounds = (context.pick(4_000, 5_000_000, 50_000_000) / keys)
            .clamp(2, u64::from(context.repetitions())) as u32;
        let mut filling: Vec<Contender<'_>> = subjects
            .iter_mut()
            .map(|subject| {
                let members = &members;
                Contender::new(subject.name(), move |_| subject.fill(members).map(|()| 0))
            })
            .collect();
        let insert = Phase { task: "insert", operations: members.len(), expected: None };
        samples.extend(interleave(Clock::Processor, x, rounds, &[insert], &mut filling)?);
        drop(filling);

        let found = Phase { task: "present", operations: queries, expected: Some(queries as u64) };
        let missed = Phase { task: "absent", operations: queries, expected: None };
        let batch = Phase { task: "batch", operations: queries, expected: None };
        let mut querying: Vec<Contender<'_>> = subjects
            .iter()
            .map(|subject| {
                let (present, absent) = (&present, &absent);
                Contender::new(subject.name(), move |phase| {
                    Ok(match phase {
                        0 => subject.count(present),
                        1 => subject.count(absent),
                        _ => subject.count_in_batches(absent),
                    })
                })
            })
            .collect();
        samples.extend(interleave(
            Clock::Processor,
            x,
            context.repetitions(),
            &[found, missed, batch],
            &mut querying,
        )?);
        drop(querying);
        step(done as u64 + 1, sizes.len() as u64);
    }
    data.set_parameter("speed_fpr", FPR);
    Ok(samples)
}

pub(super) fn figure(data: &Dataset, samples: &[Sample]) -> Result<Figure, StudyError> {
    let samples = Samples(samples);
    let titles = [
        "insert",
        "query of present keys",
        "query of absent keys",
        "query of absent keys, in batches",
    ];
    let mut panels = Vec::new();
    for (task, title) in TASKS.iter().zip(titles) {
        let mut series = Vec::new();
        for name in samples.contenders(task) {
            let points: Vec<_> = samples
                .xs(task)
                .into_iter()
                .filter_map(|x| Some((x, samples.ratio(task, x, &name, BLOOM, CONFIDENCE)?)))
                .collect();
            let hue = subjects::hue(&name);
            series.push(Series::trace(name, hue, points));
        }
        panels.push(Panel::Chart(Chart {
            title: title.to_string(),
            x: Axis::logarithmic("keys in the filter"),
            y: Axis::logarithmic("time over Bloom’s").with_format(TickFormat::Ratio),
            series,
        }));
    }
    let largest = samples.xs("absent").last().copied().unwrap_or(0.0);
    let mut table = Table::new(&[
        "filter",
        "insert, ns",
        "present, ns",
        "absent, ns",
        "batch, ns",
        "absent over Bloom",
    ]);
    for name in samples.contenders("absent") {
        let time = |task: &str| {
            samples
                .median(task, largest, &name)
                .map_or("–".to_string(), |time| decimal(time.value, 3))
        };
        let ratio = samples
            .ratio("absent", largest, &name, BLOOM, CONFIDENCE)
            .ok_or_else(|| data.fault("a time is missing".to_string()))?;
        table.row([
            name.clone(),
            time("insert"),
            time("present"),
            time("absent"),
            time("batch"),
            format!(
                "{}× ({}–{})",
                decimal(ratio.value, 3),
                decimal(ratio.low, 3),
                decimal(ratio.high, 3)
            ),
        ]);
    }
    // Any contender may be the fastest, so all pairs count as comparisons.
    let queries = [("present", "present keys"), ("absent", "absent keys"), ("batch", "batches")];
    let count = samples.contenders("absent").len();
    let comparisons = queries.len() * count * count.saturating_sub(1) / 2;
    let findings = queries.iter().filter_map(|(task, what)| {
        let (name, ratio, rivals) =
            samples.fastest(task, largest, BLOOM, corrected(comparisons))?;
        let rivals = match rivals.is_empty() {
            true => String::new(),
            false => format!(" (not significantly faster than {})", rivals.join("; ")),
        };
        Some(format!("for {what} {name}{rivals}, in {} times Bloom’s time", decimal(ratio, 3)))
    });
    let sentence = format!(
        "At {} keys the fastest is {}.",
        thousands(largest as u64),
        findings.collect::<Vec<_>>().join("; ")
    );
    Ok(Figure {
        id: "filters-speed",
        title: "Time per key relative to the Bloom filter, by number of keys".to_string(),
        question: "Which filter is fastest, in the cache and beyond it?".to_string(),
        method: format!(
            "All filters sized for ε = 1% and full; keys are 64-bit numbers in random order; hashing is \
             included. Contenders take turns; the plot shows the median over the rounds of the ratio to \
             Bloom’s time in the same round, with its 95% interval from order statistics. In theory \
             a query of a large filter costs one cache miss per line that it reads: Bloom k = 7 for a present \
             key and about 2 for an absent one, blocked 1, cuckoo 2, fuse 3 or 4; batches hide them. \
             Table: medians in nanoseconds at {} keys.",
            thousands(largest as u64)
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence,
            test: describe_comparisons(comparisons, samples.rounds("absent")),
        },
    })
}
