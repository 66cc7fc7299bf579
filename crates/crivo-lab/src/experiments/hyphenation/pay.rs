//! When does a filter pay?

use super::{
    Guarded, KINDS, LIST_MEMORY, LIST_STORED, LOOKUP, MEMORY, NO_FILTER, PERCENTS, RULES, STORED,
    label, name, nudged, stored_name,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, PointEstimate};
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons};

/// The costs of lookups.
pub(super) struct Costs<'a> {
    samples: Samples<'a>,
    guarded: &'a [Guarded],
    /// Nanoseconds of an unguarded lookup of an absent word.
    pub(super) memory: PointEstimate,
    pub(super) stored: PointEstimate,
    /// Nanoseconds of the rules, per word.
    rules: PointEstimate,
    /// The fraction of the list's words that are exceptions.
    listed: f64,
}

impl<'a> Costs<'a> {
    pub(super) fn new(
        data: &Dataset,
        guarded: &'a [Guarded],
        samples: Samples<'a>,
    ) -> Result<Self, StudyError> {
        let median = |task: &str, contender: &str| {
            let found = samples.median(task, 0.0, contender);
            found.ok_or_else(|| data.fault(format!("the time of {contender} is missing")))
        };
        let first = guarded.first().ok_or_else(|| data.fault("there is no guard".to_string()))?;
        Ok(Self {
            samples,
            guarded,
            memory: median(LOOKUP, MEMORY)?,
            stored: median(LOOKUP, STORED)?,
            rules: median(LIST_STORED, RULES)?,
            listed: first.found as f64 / first.lookups.max(1) as f64,
        })
    }

    /// The time for the list with a filter over that without, predicted from its parts: a word costs
    /// the rules, the filter, and a lookup if the filter lets it through.
    pub(super) fn model(
        &self,
        lookup: f64,
        kind: crivo::filter::Kind,
        percent: u32,
    ) -> Option<f64> {
        let row = Guarded::of(self.guarded, kind, percent, MEMORY)?;
        let admitted = self.listed + (1.0 - self.listed) * row.fpr();
        let with = self.rules.value + self.filter(kind, percent)?.value + admitted * lookup;
        Some(with / (self.rules.value + lookup))
    }

    /// The time that the filter itself takes for a word: that of a guarded lookup in memory, less
    /// the lookups that the filter lets through.
    pub(super) fn filter(&self, kind: crivo::filter::Kind, percent: u32) -> Option<PointEstimate> {
        let row = Guarded::of(self.guarded, kind, percent, MEMORY)?;
        let behind = row.fpr() * self.memory.value;
        let time = self.samples.median(LOOKUP, 0.0, &name(kind, percent))?;
        Some(PointEstimate {
            value: time.value - behind,
            low: time.low - behind,
            high: time.high - behind,
        })
    }

    /// The cost of a lookup at which filter and no filter are equal.
    ///
    /// A word costs L without a filter; with one F + (p + (1 − p)·ε)·L, where p is the fraction
    /// of listed words. Equal at L = F / ((1 − p)(1 − ε)).
    fn break_even(&self, kind: crivo::filter::Kind, percent: u32) -> Option<PointEstimate> {
        let row = Guarded::of(self.guarded, kind, percent, MEMORY)?;
        let saved = (1.0 - self.listed) * (1.0 - row.fpr());
        Some(self.filter(kind, percent)?.scaled(1.0 / saved))
    }
}

pub(super) fn figure(
    data: &Dataset,
    guarded: &[Guarded],
    samples: &[Sample],
) -> Result<Figure, StudyError> {
    let samples = Samples(samples);
    let missing = || data.fault("a time is missing".to_string());
    let costs = Costs::new(data, guarded, samples)?;
    let ends = |y: f64| [(0.01, y), (0.2, y)];
    let mut series = vec![
        Series::dashed("lookup in redb, warm", Hue::Theory, ends(costs.stored.value)),
        Series::dashed("lookup in memory", Hue::Limit, ends(costs.memory.value)),
    ];
    let mut table = Table::new(&[
        "filter, at 1%",
        "filter, ns",
        "pays above, ns",
        "list, redb",
        "list, memory",
    ]);
    for (kind, hue) in KINDS {
        let point = |percent: u32| {
            Some((nudged(f64::from(percent) / 100.0, kind), costs.break_even(kind, percent)?))
        };
        series.push(Series::trace(label(kind), hue, PERCENTS.filter_map(point)));
        let ratio = |task: &str| {
            samples
                .ratio(task, 0.0, &name(kind, 1), NO_FILTER, CONFIDENCE)
                .map_or("–".to_string(), |ratio| format!("{}×", decimal(ratio.value, 3)))
        };
        let text = |estimate: Option<PointEstimate>| {
            estimate.map_or("–".to_string(), |each| decimal(each.value, 3))
        };
        table.row([
            label(kind).to_string(),
            text(costs.filter(kind, 1)),
            text(costs.break_even(kind, 1)),
            ratio(LIST_STORED),
            ratio(LIST_MEMORY),
        ]);
    }
    // The model, for Bloom at 1%, over any cost of a lookup; and the two that were measured.
    let bloom = costs.filter(KINDS[0].0, 1).ok_or_else(missing)?;
    let fpr = Guarded::of(guarded, KINDS[0].0, 1, MEMORY).ok_or_else(missing)?.fpr();
    let admitted = costs.listed + (1.0 - costs.listed) * fpr;
    let model = (0..=60)
        .map(|i| 3.0 * 10f64.powf(f64::from(i) / 60.0 * 4.0))
        .map(|lookup| (lookup, (bloom.value + admitted * lookup) / lookup));
    let measured = |guarded: &str, plain: &str, cost: &PointEstimate| {
        Some((cost.value, samples.ratio(LOOKUP, 0.0, guarded, plain, CONFIDENCE)?))
    };
    let measured = [
        measured(&name(KINDS[0].0, 1), MEMORY, &costs.memory),
        measured(&stored_name(KINDS[0].0, 1), STORED, &costs.stored),
    ];
    let break_even = costs.break_even(KINDS[0].0, 1).ok_or_else(missing)?;
    let bloom_name = name(KINDS[0].0, 1);
    let say = |task: &str| -> Result<String, StudyError> {
        let ratio = samples.ratio(task, 0.0, &bloom_name, NO_FILTER, CONFIDENCE);
        let ratio = decimal(ratio.ok_or_else(missing)?.value, 3);
        Ok(match samples.compare(task, 0.0, &bloom_name, NO_FILTER, corrected(2)) {
            Some(Comparison::Faster) => {
                format!("a filter pays: the whole list takes {ratio} of the time")
            }
            Some(Comparison::Slower) => {
                format!("a filter costs: the whole list takes {ratio} times as long")
            }
            _ => "a filter makes no significant difference".to_string(),
        })
    };
    Ok(Figure {
        id: "hyphenation-break-even",
        title: "Lookup cost above which a filter pays".to_string(),
        question: "When does a filter pay?".to_string(),
        method: "A lookup of an absent word costs L. With a filter it costs F, the time of the filter, and \
            L only if the word is a false positive or is listed. The two are equal at \
            L = F/((1 − p)(1 − ε)), where p is the fraction of listed words. F is the time of a guarded \
            lookup in memory minus that of the lookups behind the filter. Left: break-even by ε, with \
            95% intervals; dashes: the measured cost of a lookup. Right: the model for a Bloom filter at \
            1% for any cost of a lookup."
            .to_string(),
        panels: vec![
            Panel::Chart(Chart {
                title: "break-even".to_string(),
                x: Axis::linear("ε").with_format(TickFormat::Percent),
                y: Axis::logarithmic("cost of a lookup, ns"),
                series,
            }),
            Panel::Chart(Chart {
                title: "time with a Bloom filter at 1% over time without".to_string(),
                x: Axis::logarithmic("cost of a lookup, ns"),
                y: Axis::logarithmic("time with filter over time without").with_format(TickFormat::Ratio),
                series: vec![
                    Series::dashed("equal", Hue::Limit, [(3.0, 1.0), (30_000.0, 1.0)]),
                    Series::line("model", Hue::Theory, model),
                    Series::dots("measured: in memory, in redb", Hue::Bloom, measured.into_iter().flatten()),
                ],
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "A Bloom filter at 1% pays if a lookup costs more than {} ns ({} to {}). In redb a lookup costs \
                 {} ns, and {}. In memory it costs {} ns, and {}.",
                decimal(break_even.value, 3),
                decimal(break_even.low, 3),
                decimal(break_even.high, 3),
                decimal(costs.stored.value, 3),
                say(LIST_STORED)?,
                decimal(costs.memory.value, 3),
                say(LIST_MEMORY)?,
            ),
            test: format!(
                "{} Of the words, {} are listed.",
                describe_comparisons(2, samples.rounds(LIST_STORED)),
                percent(costs.listed, 2),
            ),
        },
    })
}
