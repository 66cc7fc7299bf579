//! Bits per key against the observed rate.

use crivo::KeyHasher;
use crivo::theory::limits;

use super::super::rates::{Rate, contradictions, describe_test, outcome};
use super::subjects;
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Format, Hue, Look, Panel, Point, Series, decimal, percent, thousands,
};
use crate::report::{Figure, Table, Verdict};
use crate::study::Context;

const RATES: [f64; 7] = [0.2, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001];

/// How many filters of each kind are filled for each rate: enough to see how they scatter.
const FILTERS: u32 = 10;

/// Fills every filter for every rate, and counts its wrong yeses.
pub(super) fn measure(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let keys: u64 = context.pick(1_000, 50_000, 500_000);
    let questions: u64 = context.pick(2_000, 100_000, 1_000_000);
    let members: Vec<u64> = (0..keys).collect();
    let strangers: Vec<u64> = (keys..keys + questions).collect();
    let mut random = context.random("filters space");
    let mut rates: Vec<Rate> = Vec::new();
    for target in RATES {
        let first = rates.len();
        for _ in 0..FILTERS {
            let all = subjects::all(target, KeyHasher::xxh3(random.number()));
            for (place, mut subject) in all.into_iter().enumerate() {
                subject.fill(&members)?;
                if subject.count(&members) != keys {
                    let name = subject.name();
                    return Err(StudyError::wrong(format_args!("{name} denies a member")));
                }
                if rates.len() == first + place {
                    let (bits, theory) = subject.size();
                    rates.push(Rate {
                        filter: subject.name().to_string(),
                        x: target,
                        bits,
                        keys,
                        probes: 0,
                        filters: FILTERS,
                        asked: questions * u64::from(FILTERS),
                        wrong: 0,
                        wrong_squares: 0,
                        theory,
                    });
                }
                rates[first + place].add(subject.count_in_batches(&strangers));
            }
        }
    }
    data.set_parameter("space_keys", keys);
    data.add("space", &rates)
}

/// Every filter over the information limit.
pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rates: Vec<Rate> = data.rows("space")?;
    let keys: u64 = data.parameter("space_keys")?;
    let curve =
        |bits: fn(f64) -> Result<f64, crivo::ParameterError>| -> Result<Vec<_>, StudyError> {
            (0..=60)
                .map(|i| 0.3 * (3e-5f64 / 0.3).powf(f64::from(i) / 60.0))
                .map(|rate| Ok((rate, bits(rate)?)))
                .collect()
        };
    let mut series = vec![
        Series::line("information limit, log₂(1/ε)", Hue::Theory, curve(limits::fixed_set)?),
        Series::dashed("Bloom’s limit, 1.44·log₂(1/ε)", Hue::Limit, curve(limits::bloom)?),
    ];
    let mut names: Vec<&str> = Vec::new();
    for rate in &rates {
        if !names.contains(&rate.filter.as_str()) {
            names.push(&rate.filter);
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
        let of_name: Vec<&Rate> = rates.iter().filter(|rate| rate.filter == *name).collect();
        let points = of_name.iter().filter(|rate| rate.wrong > 0).map(|rate| {
            (rate.wrong as f64 / rate.asked as f64, rate.bits as f64 / rate.keys as f64)
        });
        let points = points.map(|(x, y)| Point { x, y, interval: None }).collect();
        series.push(Series::new(*name, subjects::hue(name), Look::Trace, points));
        if let Some(rate) = of_name.iter().find(|rate| rate.x == 0.01) {
            let observed = rate.observed()?;
            let bits = rate.bits as f64 / rate.keys as f64;
            table.row([
                (*name).to_string(),
                decimal(bits, 4),
                percent(rate.theory, 3),
                percent(observed.value, 3),
                format!("{}–{}", percent(observed.low, 3), percent(observed.high, 3)),
                format!("{}×", decimal(bits / limits::fixed_set(observed.value.max(1e-9))?, 3)),
            ]);
        }
    }
    let against = contradictions(&rates)?;
    let agreement = if against.is_empty() {
        format!("All {} observed rates agree with each filter’s own theory.", rates.len())
    } else {
        let who: Vec<String> = against
            .iter()
            .map(|rate| format!("{} at {}", rate.filter, percent(rate.x, 1)))
            .collect();
        format!(
            "{} of {} observed rates contradict theory: {}.",
            against.len(),
            rates.len(),
            who.join(", ")
        )
    };
    // Nearest to the limit, by bits over log2(1/observed rate), at 1%.
    let nearest = rates
        .iter()
        .filter(|rate| rate.x == 0.01 && rate.wrong > 0)
        .map(|rate| {
            let observed = rate.wrong as f64 / rate.asked as f64;
            (rate, rate.bits as f64 / rate.keys as f64 / -observed.log2())
        })
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let nearest = nearest.map_or(String::new(), |(rate, ratio)| {
        format!(
            " Nearest to the information limit at 1% is {}, with {} times the limit.",
            rate.filter,
            decimal(ratio, 3)
        )
    });
    Ok(Figure {
        id: "filters-space",
        title: "Bits per key against the observed rate of wrong yeses".to_string(),
        question:
            "How many bits does each filter take for its rate, and how far is it from the limit?"
                .to_string(),
        method: format!(
            "Every filter made for ε = 20% … 0.01% and {} keys, filled to its capacity (the growing \
             one began with a sixteenth), {FILTERS} times with fresh seeds, and asked for {} strangers in \
             all. Members were all found. Exact 95% intervals of the observed rates are narrower than \
             the dots.",
            thousands(keys),
            thousands(rates.first().map_or(0, |rate| rate.asked)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("observed rate of wrong yeses").with_format(Format::Percent),
            y: Axis::logarithmic("bits per key"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: outcome(&against),
            sentence: format!("{agreement}{nearest}"),
            test: describe_test(rates.len()),
        },
    })
}
