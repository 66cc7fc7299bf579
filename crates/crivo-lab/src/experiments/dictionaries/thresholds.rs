//! The load of a cuckoo table at which an insertion fails, compared with theory.

use crivo::KeyHasher;
use crivo::theory::cuckoo::load_threshold;
use crivo_exact::{CuckooOptions, Eviction};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, percent, points, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, mean_interval};

/// One table, filled until an insertion failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FilledTable {
    choices: u32,
    bucket_size: u32,
    stash: u32,
    slots: u64,
    repetition: u32,
    entries: u64,
}

/// d, b and stash.
const SHAPES: [(u32, u32, u32); 8] =
    [(2, 1, 0), (2, 1, 4), (2, 2, 0), (2, 4, 0), (2, 8, 0), (3, 1, 0), (3, 2, 0), (4, 1, 0)];

const HUES: [Hue; 8] = [
    Hue::Counting,
    Hue::Bad,
    Hue::Blocked,
    Hue::Fuse,
    Hue::Cuckoo,
    Hue::Quotient,
    Hue::Linear,
    Hue::Bloom,
];

fn name((choices, bucket_size, stash): (u32, u32, u32)) -> String {
    let stash = if stash > 0 { format!(", stash {stash}") } else { String::new() };
    format!("{choices} × {bucket_size}{stash}")
}

/// The distance of a load from a threshold, in words.
fn beyond(gap: f64) -> String {
    format!("{} {} it", points(gap.abs()), if gap < 0.0 { "below" } else { "above" })
}

/// The width of the critical window of a table with two choices of single slots, whose keys form a
/// random graph close to the emergence of a giant component; other shapes have narrower windows.
fn window(slots: u64) -> f64 {
    (slots as f64).powf(-1.0 / 3.0)
}

pub(super) fn measure(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let sizes: &[usize] = context.pick(
        &[512, 2048],
        &[1 << 10, 1 << 13, 1 << 16],
        &[1 << 10, 1 << 13, 1 << 16, 1 << 19],
    );
    let mut random = context.random("dictionaries thresholds");
    let mut rows = Vec::new();
    for &size in sizes {
        for shape in SHAPES {
            // Large tables hardly vary, except for two choices of single slots, which are quick to
            // fill and vary most.
            let repetitions = match shape {
                (2, 1, _) => context.pick(5, 30, 30).max(context.repetitions()),
                _ if size > 100_000 => context.repetitions().min(5),
                _ => context.repetitions(),
            };
            for repetition in 0..repetitions {
                let (choices, bucket_size, stash) = shape;
                let options = CuckooOptions {
                    choices: choices as usize,
                    bucket_size: bucket_size as usize,
                    stash: stash as usize,
                    eviction: Eviction::BreadthFirst { max_buckets: 16_384 },
                    max_load: Some(1.0),
                    hasher: KeyHasher::xxh3(random.number()),
                    ..CuckooOptions::default()
                };
                let mut map = options.build::<u64, ()>(size)?;
                let slots = map.slot_count();
                let mut entries = 0;
                // A table that cannot place a key rehashes or grows.
                while map.slot_count() == slots && map.reseed_count() == 0 {
                    map.insert(entries, ())?;
                    entries += 1;
                }
                rows.push(FilledTable {
                    choices,
                    bucket_size,
                    stash,
                    slots: slots as u64,
                    repetition,
                    entries: entries - 1,
                });
            }
        }
    }
    data.add("thresholds", &rows)
}

pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<FilledTable> = data.rows("thresholds")?;
    let estimate = |shape: (u32, u32, u32), slots: u64, confidence: f64| -> PointEstimate {
        let loads: Vec<f64> = rows
            .iter()
            .filter(|row| (row.choices, row.bucket_size, row.stash) == shape && row.slots == slots)
            .map(|row| row.entries as f64 / row.slots as f64)
            .collect();
        mean_interval(&loads, confidence)
    };
    let mut series = Vec::new();
    let mut table = Table::new(&["d × b", "theory", "observed", "95% interval", "slots"]);
    let (mut farthest, mut stashed) = ((0.0f64, String::new()), String::new());
    let shapes = SHAPES.iter().filter(|shape| shape.2 == 0).count();
    let confidence = 1.0 - FALSE_ALARM / shapes as f64;
    let (mut inside, mut outside, mut widest) = (0, 0, 0.0f64);
    let mut lecture = String::new();
    for (shape, hue) in SHAPES.into_iter().zip(HUES) {
        let mut sizes: Vec<u64> = rows
            .iter()
            .filter(|row| (row.choices, row.bucket_size, row.stash) == shape)
            .map(|row| row.slots)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let (Some(&smallest), Some(&largest)) = (sizes.first(), sizes.last()) else { continue };
        let theory = load_threshold(shape.0, shape.1)?;
        let ends = [(smallest as f64, theory), (largest as f64, theory)];
        series.push(Series::dashed(String::new(), hue, ends));
        let dots = sizes.iter().map(|&slots| (slots as f64, estimate(shape, slots, CONFIDENCE)));
        series.push(Series::trace(name(shape), hue, dots));
        let observed = estimate(shape, largest, CONFIDENCE);
        let gap = observed.value - theory;
        // Theory has no stash: in a finite table it extends a shape beyond the threshold.
        if shape.2 > 0 {
            stashed = format!(
                " With a stash of {}, {} × {} ends {}.",
                shape.2,
                shape.0,
                shape.1,
                beyond(gap)
            );
        } else {
            let window = window(largest);
            widest = widest.max(window);
            let tested = estimate(shape, largest, confidence);
            let (low, high) = (tested.low - theory, tested.high - theory);
            inside += usize::from(low >= -window && high <= window);
            outside += usize::from(low > window || high < -window);
            if gap.abs() > farthest.0.abs() {
                farthest = (gap, name(shape));
            }
        }
        if shape == (2, 1, 0) {
            lecture = format!(
                " Two choices of single slots fail at {}, although the α ≤ 1 of a lecture suggests 100%.",
                percent(observed.value, 3)
            );
        }
        table.row([
            name(shape),
            percent(theory, 4),
            percent(observed.value, 4),
            format!("{}–{}", percent(observed.low, 4), percent(observed.high, 4)),
            thousands(largest),
        ]);
    }
    let finding = match (inside, outside) {
        (_, 1..) => Finding::Differs,
        _ if inside == shapes => Finding::Agrees,
        _ => Finding::Undecided,
    };
    let largest = rows.iter().map(|row| row.slots).max().unwrap_or(0);
    Ok(Figure {
        id: "dictionaries-thresholds",
        title: "Load at which the first insertion fails".to_string(),
        question: "How full can a cuckoo table be, for d choices and buckets of b slots?".to_string(),
        method:
            "Tables are filled until a breadth-first search of 16\u{202f}384 buckets finds no free slot: \
            the mean load over tables with new seeds, with Student’s 95% interval. Dashes: the asymptotic \
            threshold in theory, in the colour of its shape; small tables \
            fail earlier."
                .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("slots"),
            y: Axis::linear("load at first failure").with_format(TickFormat::Percent),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding,
            sentence: format!(
                "At {} slots, {inside} of {shapes} shapes without a stash fail within {} of their threshold, and \
                 {outside} outside; the largest distance is that of {}, {}.{stashed}{lecture}",
                thousands(largest),
                points(widest),
                farthest.1,
                beyond(farthest.0),
            ),
            test: format!(
                "Equivalence test: thresholds are asymptotic, and tables of n slots fail within a window of \
                 about n^[−1/3] around them. A shape passes if the interval of its mean, corrected for \
                 {shapes} shapes (Bonferroni), is within the window; the probability that a shape passes \
                 whose mean is outside is at most {}%.",
                100.0 * FALSE_ALARM
            ),
        },
    })
}
