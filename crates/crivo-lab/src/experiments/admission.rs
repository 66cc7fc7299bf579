//! Cache admission: is it worth asking whether an object was asked for before?

use crate::sim::admission::study::{AdmissionPlan, compare};
use crate::sim::admission::trace::TracePlan;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, points, thousands};
use crate::report::{Figure, Outcome, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, mean_interval};
use crate::study::Context;

/// Policies on traces with one-hit wonders.
#[derive(Debug)]
pub(super) struct Admission;

/// One policy on one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    trace: u32,
    policy: String,
    cache_share: f64,
    cache_objects: u64,
    requests: u64,
    hits: u64,
    /// The share that theory expects, where there is a formula.
    hit_theory: Option<f64>,
    bytes_asked: u64,
    bytes_written: u64,
    bytes_written_theory: Option<f64>,
    bytes_written_to_main: u64,
    filter_bytes: u64,
}

impl Row {
    fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.requests as f64
    }

    /// Bytes written over bytes asked for.
    fn write_ratio(&self) -> f64 {
        self.bytes_written as f64 / self.bytes_asked as f64
    }

    fn write_theory(&self) -> Option<f64> {
        self.bytes_written_theory.map(|bytes| bytes / self.bytes_asked as f64)
    }
}

/// The room of the cache, as a share of all objects.
const SHARES: [f64; 4] = [0.003, 0.01, 0.03, 0.1];
/// The lecture's example: three quarters of objects come once, and room for a hundredth.
const ONCE: f64 = 0.75;
const EXAMPLE: f64 = 0.01;
/// The formulas are approximations, for large caches: how far off they may be.
const HITS_OFF: f64 = 0.01;
const WRITES_OFF: f64 = 0.05;

/// Requests for each object of the catalogue: formulas are about caches that have been at work for
/// long.
const REQUESTS: u64 = 30;

const LRU: &str = "LRU";
const DOOR: &str = "LRU, second request";

/// The policies in the order of the data, with their colours.
const POLICIES: [(&str, Hue); 6] = [
    (LRU, Hue::Plain),
    (DOOR, Hue::Bloom),
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
        data.set_parameter("object bytes", plan.object_bytes);
        data.set_parameter("window per object", plan.window_per_object);
        data.set_parameter("filter rate", plan.rate);
        let mut rows = Vec::new();
        for number in 0..traces {
            let trace = TracePlan { seed: random.number(), ..trace };
            for cache_share in SHARES {
                for row in compare(&AdmissionPlan { trace, cache_share, ..plan })? {
                    rows.push(Row {
                        trace: number,
                        policy: row.policy.to_string(),
                        cache_share,
                        cache_objects: row.cache_objects,
                        requests: row.requests,
                        hits: row.hits,
                        hit_theory: row.expected_hit_ratio,
                        bytes_asked: row.requests * plan.object_bytes,
                        bytes_written: row.bytes_written,
                        bytes_written_theory: row.expected_bytes_written,
                        bytes_written_to_main: row.bytes_written_to_main,
                        filter_bytes: row.filter_bytes,
                    });
                }
            }
            context.step(u64::from(number) + 1, u64::from(traces));
        }
        data.add("policies", &rows)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rows: Vec<Row> = data.rows("policies")?;
        Ok(Section {
            title: "Admission to a cache",
            introduction: "Three quarters of the objects that a large content network serves are \
                asked for once. A cache that lets them in writes them for nothing, and throws out \
                something useful for each. A filter that remembers what was asked for before keeps \
                them out, in a few bits per object."
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
fn of<'a>(rows: &'a [Row], policy: &str, share: f64) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.policy == policy && row.cache_share == share).collect()
}

fn mean_of(rows: &[&Row], column: impl Fn(&Row) -> f64, confidence: f64) -> Estimate {
    let sample: Vec<f64> = rows.iter().map(|row| column(row)).collect();
    mean_interval(&sample, confidence)
}

/// What a door changes on the same trace, at one size.
fn paired(rows: &[Row], share: f64, change: fn(&Row, &Row) -> f64, confidence: f64) -> Estimate {
    let (plain, door) = (of(rows, LRU, share), of(rows, DOOR, share));
    let sample: Vec<f64> =
        plain.iter().zip(&door).map(|(plain, door)| change(plain, door)).collect();
    mean_interval(&sample, confidence)
}

/// Theory and measurement of one number.
struct Held {
    /// Where theory is further off than allowed.
    against: Vec<String>,
    cases: usize,
    /// The largest mean distance.
    farthest: f64,
}

impl Held {
    /// In a sentence, with distances written in this way.
    fn told(&self, distance: impl Fn(f64) -> String) -> String {
        let farthest = distance(self.farthest);
        if self.against.is_empty() {
            format!("Theory is at most {farthest} off.")
        } else {
            format!(
                "Theory is further off than it may be for {}; the largest mean distance is {farthest}.",
                self.against.join(" and ")
            )
        }
    }
}

/// Holds a number to its theory, up to `allowed`.
fn hold(rows: &[Row], off: impl Fn(&Row) -> Option<f64>, allowed: f64) -> Held {
    let mut samples: Vec<(String, Vec<f64>)> = Vec::new();
    for (policy, _) in POLICIES {
        for share in SHARES {
            let sample: Vec<f64> =
                of(rows, policy, share).iter().filter_map(|row| off(row)).collect();
            if !sample.is_empty() {
                samples.push((format!("{policy} at {}", percent(share, 1)), sample));
            }
        }
    }
    let cases = samples.len();
    let mut held = Held { against: Vec::new(), cases, farthest: 0.0 };
    for (case, sample) in samples {
        let distance = mean_interval(&sample, corrected(cases));
        if distance.low > allowed || distance.high < -allowed {
            held.against.push(case);
        }
        held.farthest = held.farthest.max(distance.value.abs());
    }
    held
}

/// The confidence of each of so many comparisons with theory, and one of the door with none.
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
        for share in SHARES {
            let sample: Vec<f64> =
                of(rows, policy, share).iter().filter_map(|row| theory(row)).collect();
            if !sample.is_empty() {
                curve.push((share, crate::statistics::mean(&sample)));
            }
        }
        let seen =
            SHARES.map(|share| (share, mean_of(&of(rows, policy, share), &column, CONFIDENCE)));
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
    let held = hold(rows, off, HITS_OFF);
    let gain = paired(
        rows,
        EXAMPLE,
        |plain, door| door.hit_ratio() - plain.hit_ratio(),
        corrected(held.cases),
    );
    let mut table =
        Table::new(&["policy", "cache", "theory", "hit ratio", "95% interval", "filter, bytes"]);
    for (policy, _) in POLICIES {
        for share in SHARES {
            let own = of(rows, policy, share);
            let hits = mean_of(&own, Row::hit_ratio, CONFIDENCE);
            let theory: Vec<f64> = own.iter().filter_map(|row| row.hit_theory).collect();
            table.row([
                policy.to_string(),
                percent(share, 1),
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
    let (window, rate): (f64, f64) =
        (data.parameter("window per object")?, data.parameter("filter rate")?);
    Ok(Figure {
        id: "admission-hits",
        title: "How many requests a cache answers".to_string(),
        question: "Does a cache answer more if it lets in only what is asked for a second time?"
            .to_string(),
        method: format!(
            "{} traces. {} requests in each go to {} objects by Zipf’s law with exponent {exponent}; strewn \
             in are objects that come once, so that these are {} of all objects. A fifth of the requests \
             warm the cache up. The doorkeeper remembers {window} objects for each place in the cache, with \
             filters of {}; the one with ageing counts has them halved after every two such windows of \
             misses. Theory: the approximation of Che, by which an object stays for a fixed time, \
             with the door and without. Bars: 95% intervals over traces.",
            of(rows, LRU, EXAMPLE).len(),
            thousands(REQUESTS * catalogue),
            thousands(catalogue),
            percent(ONCE, 2),
            percent(rate, 1),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("room of the cache, of all objects").with_format(Format::Percent),
            y: Axis::from_zero("requests answered").with_format(Format::Percent),
            series: series(rows, Row::hit_ratio, |row| row.hit_theory),
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: if !held.against.is_empty() || gain.high < 0.0 {
                Outcome::Differs
            } else if gain.low > 0.0 {
                Outcome::Agrees
            } else {
                Outcome::Undecided
            },
            sentence: format!(
                "With room for {} of the objects, the door changes the hit ratio of LRU by {} ({} to {}).{} {}",
                percent(EXAMPLE, 1),
                points(gain.value),
                decimal(100.0 * gain.low, 2),
                decimal(100.0 * gain.high, 2),
                best.map_or(String::new(), |(policy, hits)| format!(
                    " The best there is {policy}, with {}.",
                    percent(hits.value, 3)
                )),
                held.told(points),
            ),
            test: format!(
                "Test: the change on the same trace, and the distance from theory in {} cases, of which up \
                 to {} are allowed to an approximation, by Student’s intervals over traces, corrected for \
                 their number (Bonferroni); probability of a false alarm at most {}%.",
                held.cases,
                points(HITS_OFF),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn write_figure(rows: &[Row]) -> Figure {
    let off = |row: &Row| row.write_theory().map(|theory| row.write_ratio() / theory - 1.0);
    let held = hold(rows, off, WRITES_OFF);
    let ratio = |plain: &Row, door: &Row| door.write_ratio() / plain.write_ratio();
    let left = paired(rows, EXAMPLE, ratio, corrected(held.cases));
    let mut table = Table::new(&[
        "policy",
        "cache",
        "theory",
        "bytes written per byte asked for",
        "95% interval",
        "into the main part",
    ]);
    for (policy, _) in POLICIES {
        for share in SHARES {
            let own = of(rows, policy, share);
            let written = mean_of(&own, Row::write_ratio, CONFIDENCE);
            let theory: Vec<f64> = own.iter().filter_map(|row| row.write_theory()).collect();
            let into_main = |row: &Row| row.bytes_written_to_main as f64 / row.bytes_asked as f64;
            table.row([
                policy.to_string(),
                percent(share, 1),
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
        title: "How much is written to the cache".to_string(),
        question: "How many of a cache’s writes does a filter before it save?".to_string(),
        method: "The same traces; all objects are of one size. Written is what comes into any part of \
            the cache, over what was asked for. W-TinyLFU and S3-FIFO keep newcomers in a small part of \
            their own; what comes into the main part stands in the table. Theory: as for hits. Bars: \
            95% intervals over traces."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("room of the cache, of all objects").with_format(Format::Percent),
            y: Axis::from_zero("written, of bytes asked for").with_format(Format::Percent),
            series: series(rows, Row::write_ratio, Row::write_theory),
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: if !held.against.is_empty() || left.low > 0.5 {
                Outcome::Differs
            } else if left.high < 0.5 {
                Outcome::Agrees
            } else {
                Outcome::Undecided
            },
            sentence: format!(
                "With room for {} of the objects, LRU behind the door writes {} of what plain LRU writes, {} \
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
                held.told(|share| percent(share, 2)),
            ),
            test: format!(
                "Test: the ratio on the same trace against ½, and the distance from theory in {} cases, of \
                 which up to {} are allowed to an approximation, by Student’s intervals over traces, \
                 corrected for their number (Bonferroni); probability of a false alarm at most {}%.",
                held.cases,
                percent(WRITES_OFF, 1),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
