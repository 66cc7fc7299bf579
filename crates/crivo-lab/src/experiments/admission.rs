//! Cache admission: does it pay to admit only objects that were requested before?

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, points, thousands,
};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::sim::admission::comparison::{AdmissionPlan, AdmissionRow as Row, compare};
use crate::sim::admission::trace::TracePlan;
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, mean_interval};

/// Policies on traces with one-hit wonders.
#[derive(Debug)]
pub(super) struct Admission;

/// The size of the cache, as a fraction of all objects.
const SIZES: [f64; 4] = [0.003, 0.01, 0.03, 0.1];
/// The example of the lecture: three quarters of the objects are requested once, and the cache has
/// room for a hundredth.
const ONCE: f64 = 0.75;
const EXAMPLE: f64 = 0.01;
/// The formulas are approximations for large caches: the tolerated errors.
const HITS_OFF: f64 = 0.01;
const WRITES_OFF: f64 = 0.05;

/// Requests per object of the catalogue: the formulas are for caches in steady state.
const REQUESTS: u64 = 30;

const LRU: &str = "LRU";
const DOORKEEPER: &str = "LRU, second request";

/// The policies in the order of the data, with their colours.
const POLICIES: [(&str, Hue); 6] = [
    (LRU, Hue::Plain),
    (DOORKEEPER, Hue::Bloom),
    ("LRU, ageing counts", Hue::Growing),
    ("W-TinyLFU", Hue::Counting),
    ("S3-FIFO", Hue::Cuckoo),
    ("S3-FIFO, second request", Hue::Blocked),
];

impl Experiment for Admission {
    fn name(&self) -> &'static str {
        "admission"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let mut random = context.random("admission traces");
        let catalogue: u64 = context.pick(500, 1_500, 15_000);
        let traces = context.repetitions();
        let plan = AdmissionPlan::default();
        let trace =
            TracePlan { catalogue, requests: REQUESTS * catalogue, once: ONCE, ..plan.trace };
        data.set_parameter("catalogue", catalogue);
        data.set_parameter("exponent", trace.exponent);
        data.set_parameter("object_bytes", plan.object_bytes);
        data.set_parameter("window_per_object", plan.window_per_object);
        data.set_parameter("filter_fpr", plan.fpr);
        let mut rows = Vec::new();
        for number in 0..traces {
            let trace = TracePlan { seed: random.number(), ..trace };
            for cache_share in SIZES {
                let measured = compare(&AdmissionPlan { trace, cache_share, ..plan })?;
                rows.extend(measured.into_iter().map(|row| Row { trace: number, ..row }));
            }
            context.step(u64::from(number) + 1, u64::from(traces));
        }
        data.add("policies", &rows)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rows: Vec<Row> = data.rows("policies")?;
        Ok(Section {
            title: "Admission to a cache",
            introduction:
                "Three quarters of the objects that a large content delivery network serves are \
                requested only once. A cache that admits them writes them for nothing, and evicts \
                something useful for each. A filter that remembers earlier requests keeps them \
                out, in a few bits per object."
                    .to_string(),
            sources: &[
                Source::Bonet2016,
                Source::MaggsSitaraman2015,
                Source::EinzigerFriedmanManes2017,
                Source::YangS3Fifo2023,
                Source::Garetto2016,
            ],
            figures: vec![hit_figure(data, &rows)?, write_figure(&rows)],
        })
    }
}

/// The rows of one policy and size of cache, one for each trace.
fn of<'a>(rows: &'a [Row], policy: &str, size: f64) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.policy == policy && row.cache_share == size).collect()
}

fn mean_of(rows: &[&Row], column: impl Fn(&Row) -> f64, confidence: f64) -> PointEstimate {
    let sample: Vec<f64> = rows.iter().map(|row| column(row)).collect();
    mean_interval(&sample, confidence)
}

/// The effect of the doorkeeper on the same trace, at one cache size.
fn paired(
    rows: &[Row],
    size: f64,
    change: fn(&Row, &Row) -> f64,
    confidence: f64,
) -> PointEstimate {
    let (plain, door) = (of(rows, LRU, size), of(rows, DOORKEEPER, size));
    let sample: Vec<f64> =
        plain.iter().zip(&door).map(|(plain, door)| change(plain, door)).collect();
    mean_interval(&sample, confidence)
}

/// A comparison of one quantity with theory.
struct TheoryComparison {
    /// The cases in which theory is off by more than the tolerance.
    against: Vec<String>,
    cases: usize,
    /// The largest mean difference.
    farthest: f64,
}

impl TheoryComparison {
    /// In a sentence, with differences formatted by `distance`.
    fn describe(&self, distance: impl Fn(f64) -> String) -> String {
        let farthest = distance(self.farthest);
        if self.against.is_empty() {
            format!("Theory is off by at most {farthest}.")
        } else {
            format!(
                "Theory is off by more than the tolerance for {}; the largest mean difference is {farthest}.",
                self.against.join(" and ")
            )
        }
    }
}

/// Compares a quantity with theory, with a tolerance.
fn compare_with_theory(
    rows: &[Row],
    off: impl Fn(&Row) -> Option<f64>,
    allowed: f64,
) -> TheoryComparison {
    let mut samples: Vec<(String, Vec<f64>)> = Vec::new();
    for (policy, _) in POLICIES {
        for size in SIZES {
            let sample: Vec<f64> =
                of(rows, policy, size).iter().filter_map(|row| off(row)).collect();
            if !sample.is_empty() {
                samples.push((format!("{policy} at {}", percent(size, 1)), sample));
            }
        }
    }
    let cases = samples.len();
    let mut comparison = TheoryComparison { against: Vec::new(), cases, farthest: 0.0 };
    for (case, sample) in samples {
        let distance = mean_interval(&sample, corrected(cases));
        if distance.low > allowed || distance.high < -allowed {
            comparison.against.push(case);
        }
        comparison.farthest = comparison.farthest.max(distance.value.abs());
    }
    comparison
}

/// The confidence of each of `cases` comparisons with theory, and one with and without doorkeeper.
fn corrected(cases: usize) -> f64 {
    1.0 - FALSE_ALARM / (cases + 1) as f64
}

/// Measurements of every policy, with theory where there is one.
fn series(
    rows: &[Row],
    column: impl Fn(&Row) -> f64,
    theory: impl Fn(&Row) -> Option<f64>,
) -> Vec<Series> {
    let mut series = Vec::new();
    for (policy, hue) in POLICIES {
        let mut curve = Vec::new();
        for size in SIZES {
            let sample: Vec<f64> =
                of(rows, policy, size).iter().filter_map(|row| theory(row)).collect();
            if !sample.is_empty() {
                curve.push((size, crate::statistics::mean(&sample)));
            }
        }
        let seen = SIZES.map(|size| (size, mean_of(&of(rows, policy, size), &column, CONFIDENCE)));
        if curve.is_empty() {
            series.push(Series::trace(policy, hue, seen));
        } else {
            series.push(Series::line("theory", Hue::Theory, curve));
            series.push(Series::dots(policy, hue, seen));
        }
    }
    series
}

fn hit_figure(data: &Dataset, rows: &[Row]) -> Result<Figure, StudyError> {
    let off = |row: &Row| row.hit_theory.map(|theory| row.hit_ratio() - theory);
    let comparison = compare_with_theory(rows, off, HITS_OFF);
    let gain = paired(
        rows,
        EXAMPLE,
        |plain, door| door.hit_ratio() - plain.hit_ratio(),
        corrected(comparison.cases),
    );
    let mut table =
        Table::new(&["policy", "cache", "theory", "hit ratio", "95% interval", "filter, bytes"]);
    for (policy, _) in POLICIES {
        for size in SIZES {
            let own = of(rows, policy, size);
            let hits = mean_of(&own, Row::hit_ratio, CONFIDENCE);
            let theory: Vec<f64> = own.iter().filter_map(|row| row.hit_theory).collect();
            table.row([
                policy.to_string(),
                percent(size, 1),
                match theory.is_empty() {
                    true => "—".to_string(),
                    false => percent(crate::statistics::mean(&theory), 4),
                },
                percent(hits.value, 4),
                format!("{}–{}", percent(hits.low, 4), percent(hits.high, 4)),
                thousands(own.first().map_or(0, |row| row.filter_bytes)),
            ]);
        }
    }
    let best = POLICIES
        .iter()
        .map(|(policy, _)| {
            (*policy, mean_of(&of(rows, policy, EXAMPLE), Row::hit_ratio, CONFIDENCE))
        })
        .max_by(|one, other| one.1.value.total_cmp(&other.1.value));
    let (catalogue, exponent): (u64, f64) =
        (data.parameter("catalogue")?, data.parameter("exponent")?);
    let (window, fpr): (f64, f64) =
        (data.parameter("window_per_object")?, data.parameter("filter_fpr")?);
    Ok(Figure {
        id: "admission-hits",
        title: "Hit ratio of a cache".to_string(),
        question: "Is the hit ratio higher if a cache admits only objects that are requested a second time?"
            .to_string(),
        method: format!(
            "{} traces. {} requests in each go to {} objects by Zipf’s law with exponent {exponent}, mixed \
             with objects that are requested once and make up {} of all objects. A fifth of the requests \
             warm up the cache. The doorkeeper remembers {window} objects per slot of the cache, with \
             filters of {}; with ageing counts, they are halved after every two such windows of misses. \
             Theory: Che’s approximation, in which an object stays for a fixed time, with and without the \
             doorkeeper. Bars: 95% intervals over traces.",
            of(rows, LRU, EXAMPLE).len(),
            thousands(REQUESTS * catalogue),
            thousands(catalogue),
            percent(ONCE, 2),
            percent(fpr, 1),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("cache size relative to all objects").with_format(TickFormat::Percent),
            y: Axis::from_zero("hit ratio").with_format(TickFormat::Percent),
            series: series(rows, Row::hit_ratio, |row| row.hit_theory),
        })],
        table: Some(table),
        verdict: Verdict {
            finding: if !comparison.against.is_empty() || gain.high < 0.0 {
                Finding::Differs
            } else if gain.low > 0.0 {
                Finding::Agrees
            } else {
                Finding::Undecided
            },
            sentence: format!(
                "With room for {} of the objects, the doorkeeper changes the hit ratio of LRU by {} ({} to {}).{} {}",
                percent(EXAMPLE, 1),
                points(gain.value),
                decimal(100.0 * gain.low, 2),
                decimal(100.0 * gain.high, 2),
                best.map_or(String::new(), |(policy, hits)| format!(
                    " The best there is {policy}, with {}.",
                    percent(hits.value, 3)
                )),
                comparison.describe(points),
            ),
            test: format!(
                "Test: the change on the same trace, and the difference from theory in {} cases, with a \
                 tolerance of {} for the approximation, by Student’s intervals over traces, corrected for \
                 their number (Bonferroni); probability of a false alarm at most {}%.",
                comparison.cases,
                points(HITS_OFF),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn write_figure(rows: &[Row]) -> Figure {
    let off = |row: &Row| row.write_theory().map(|theory| row.write_ratio() / theory - 1.0);
    let comparison = compare_with_theory(rows, off, WRITES_OFF);
    let ratio = |plain: &Row, door: &Row| door.write_ratio() / plain.write_ratio();
    let left = paired(rows, EXAMPLE, ratio, corrected(comparison.cases));
    let mut table = Table::new(&[
        "policy",
        "cache",
        "theory",
        "bytes written per byte requested",
        "95% interval",
        "into the main part",
    ]);
    for (policy, _) in POLICIES {
        for size in SIZES {
            let own = of(rows, policy, size);
            let written = mean_of(&own, Row::write_ratio, CONFIDENCE);
            let theory: Vec<f64> = own.iter().filter_map(|row| row.write_theory()).collect();
            let into_main =
                |row: &Row| row.bytes_written_to_main as f64 / row.bytes_requested as f64;
            table.row([
                policy.to_string(),
                percent(size, 1),
                match theory.is_empty() {
                    true => "—".to_string(),
                    false => percent(crate::statistics::mean(&theory), 3),
                },
                percent(written.value, 3),
                format!("{}–{}", percent(written.low, 3), percent(written.high, 3)),
                percent(mean_of(&own, into_main, CONFIDENCE).value, 3),
            ]);
        }
    }
    Figure {
        id: "admission-writes",
        title: "Bytes written to the cache".to_string(),
        question: "How many writes to a cache does a filter save?".to_string(),
        method: "The same traces; all objects have the same size. The plot shows bytes written to any \
            part of the cache over bytes requested. W-TinyLFU and S3-FIFO keep new objects in a small \
            separate part; the table has the bytes written to the main part. Theory: as for hits. Bars: \
            95% intervals over traces."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("cache size relative to all objects").with_format(TickFormat::Percent),
            y: Axis::from_zero("bytes written over bytes requested").with_format(TickFormat::Percent),
            series: series(rows, Row::write_ratio, Row::write_theory),
        })],
        table: Some(table),
        verdict: Verdict {
            finding: if !comparison.against.is_empty() || left.low > 0.5 {
                Finding::Differs
            } else if left.high < 0.5 {
                Finding::Agrees
            } else {
                Finding::Undecided
            },
            sentence: format!(
                "With room for {} of the objects, LRU with the doorkeeper writes {} of what plain LRU writes, {} \
                 half that is reported from practice. {}",
                percent(EXAMPLE, 1),
                percent(left.value, 3),
                if left.high < 0.5 {
                    "less than the"
                } else if left.low > 0.5 {
                    "more than the"
                } else {
                    "about the"
                },
                comparison.describe(|size| percent(size, 2)),
            ),
            test: format!(
                "Test: the ratio on the same trace against ½, and the difference from theory in {} cases, with \
                 a tolerance of {} for the approximation, by Student’s intervals over traces, \
                 corrected for their number (Bonferroni); probability of a false alarm at most {}%.",
                comparison.cases,
                percent(WRITES_OFF, 1),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
