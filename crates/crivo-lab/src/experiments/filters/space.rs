//! Bits per key and observed false-positive rate.

use crivo::KeyHasher;
use crivo::theory::limits;

use super::super::fpr::{ObservedFpr, contradictions, describe_test, finding};
use super::subjects;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Hue, Look, Panel, Point, Series, TickFormat, decimal, percent, thousands,
};
use crate::section::{Figure, Table, Verdict};

const FPRS: [f64; 7] = [0.2, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001];

/// Filters of each kind for each rate: enough to estimate the variance between them.
const FILTERS: u32 = 10;

/// Fills every filter for every rate, and counts false positives.
pub(super) fn measure(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let keys: u64 = context.pick(1_000, 50_000, 500_000);
    let queries: u64 = context.pick(2_000, 100_000, 1_000_000);
    let members: Vec<u64> = (0..keys).collect();
    let absent: Vec<u64> = (keys..keys + queries).collect();
    let mut random = context.random("filters space");
    let mut rates: Vec<ObservedFpr> = Vec::new();
    for target in FPRS {
        let first = rates.len();
        for _ in 0..FILTERS {
            let all = subjects::all(target, KeyHasher::xxh3(random.number()));
            for (place, mut subject) in all.into_iter().enumerate() {
                subject.fill(&members)?;
                if subject.count(&members) != keys {
                    let name = subject.name();
                    return Err(StudyError::wrong(format_args!(
                        "false negative: {name} rejects an inserted key"
                    )));
                }
                if rates.len() == first + place {
                    let (bits, theory) = subject.size();
                    rates.push(ObservedFpr {
                        filter: subject.name().to_string(),
                        x: target,
                        bits,
                        keys,
                        probes: 0,
                        filters: FILTERS,
                        queries: queries * u64::from(FILTERS),
                        false_positives: 0,
                        false_positive_squares: 0,
                        theory,
                    });
                }
                rates[first + place].add(subject.count_in_batches(&absent));
            }
        }
    }
    data.set_parameter("space_keys", keys);
    data.add("space", &rates)
}

/// Every filter and the information limit.
pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rates: Vec<ObservedFpr> = data.rows("space")?;
    let keys: u64 = data.parameter("space_keys")?;
    let curve =
        |bits: fn(f64) -> Result<f64, crivo::ParameterError>| -> Result<Vec<_>, StudyError> {
            (0..=60)
                .map(|i| 0.3 * (3e-5f64 / 0.3).powf(f64::from(i) / 60.0))
                .map(|fpr| Ok((fpr, bits(fpr)?)))
                .collect()
        };
    let mut series = vec![
        Series::line("information limit, log₂(1/ε)", Hue::Theory, curve(limits::fixed_set)?),
        Series::dashed("Bloom’s limit, 1.44·log₂(1/ε)", Hue::Limit, curve(limits::bloom)?),
    ];
    let mut names: Vec<&str> = Vec::new();
    for row in &rates {
        if !names.contains(&row.filter.as_str()) {
            names.push(&row.filter);
        }
    }
    let mut table = Table::new(&[
        "filter",
        "bits per key at 1%",
        "theory ε",
        "observed ε",
        "95% interval",
        "over the limit",
    ]);
    for name in &names {
        let of_name: Vec<&ObservedFpr> = rates.iter().filter(|row| row.filter == *name).collect();
        let points = of_name.iter().filter(|row| row.false_positives > 0).map(|row| {
            (row.false_positives as f64 / row.queries as f64, row.bits as f64 / row.keys as f64)
        });
        let points = points.map(|(x, y)| Point { x, y, interval: None }).collect();
        series.push(Series::new(*name, subjects::hue(name), Look::Trace, points));
        if let Some(row) = of_name.iter().find(|row| row.x == 0.01) {
            let observed = row.observed()?;
            let bits = row.bits as f64 / row.keys as f64;
            table.row([
                (*name).to_string(),
                decimal(bits, 4),
                percent(row.theory, 3),
                percent(observed.value, 3),
                format!("{}–{}", percent(observed.low, 3), percent(observed.high, 3)),
                format!("{}×", decimal(bits / limits::fixed_set(observed.value.max(1e-9))?, 3)),
            ]);
        }
    }
    let against = contradictions(&rates)?;
    let agreement = if against.is_empty() {
        format!("All {} observed rates agree with the theory of each filter.", rates.len())
    } else {
        let names: Vec<String> =
            against.iter().map(|row| format!("{} at {}", row.filter, percent(row.x, 1))).collect();
        format!(
            "{} of {} observed rates contradict theory: {}.",
            against.len(),
            rates.len(),
            names.join(", ")
        )
    };
    // Closest to the limit, by bits over log2(1/observed rate), at 1%.
    let nearest = rates
        .iter()
        .filter(|row| row.x == 0.01 && row.false_positives > 0)
        .map(|row| {
            let observed = row.false_positives as f64 / row.queries as f64;
            (row, row.bits as f64 / row.keys as f64 / -observed.log2())
        })
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let nearest = nearest.map_or(String::new(), |(row, ratio)| {
        format!(
            " Closest to the information limit at 1% is {}, with {} times the limit.",
            row.filter,
            decimal(ratio, 3)
        )
    });
    Ok(Figure {
        id: "filters-space",
        title: "Bits per key and observed false-positive rate".to_string(),
        question:
            "How many bits does each filter need for its rate, and how far is that from the limit?"
                .to_string(),
        method: format!(
            "Every filter sized for ε = 20% … 0.01% and {} keys, filled to its capacity (the growing \
             filter started with a sixteenth of it), {FILTERS} times with new seeds, and queried with {} \
             absent keys in total. Every inserted key was found. Exact 95% intervals of the observed \
             rates are narrower than the dots.",
            thousands(keys),
            thousands(rates.first().map_or(0, |row| row.queries)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("observed false-positive rate").with_format(TickFormat::Percent),
            y: Axis::logarithmic("bits per key"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: finding(&against),
            sentence: format!("{agreement}{nearest}"),
            test: describe_test(rates.len()),
        },
    })
}
