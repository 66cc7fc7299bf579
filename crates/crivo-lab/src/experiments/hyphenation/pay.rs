//! When does a filter pay?

use super::{
    Guarded, KINDS, LIST_MEMORY, LIST_STORED, LOOKUP, NO_FILTER, PERCENTS, label, name, nudged,
    stored_name,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM};
use crate::timing::{Sample, Samples};

/// What is known of the lookups.
struct Costs<'a> {
    samples: Samples<'a>,
    guarded: &'a [Guarded],
    /// Nanoseconds of an unguarded lookup of an absent word.
    memory: Estimate,
    stored: Estimate,
    /// The share of the list's words that are exceptions.
    listed: f64,
}

impl Costs<'_> {
    /// The time that the filter itself takes for a word: that of a guarded lookup in memory, less
    /// the lookups that the filter lets through.
    fn filter(&self, kind: crivo::codec::Kind, percent: u32) -> Option<Estimate> {
        let row = Guarded::of(self.guarded, kind, percent, "memory")?;
        let behind = row.rate() * self.memory.value;
        let time = self.samples.median(LOOKUP, 0.0, &name(kind, percent))?;
        Some(Estimate {
            value: time.value - behind,
            low: time.low - behind,
            high: time.high - behind,
        })
    }

    /// The cost of a lookup at which filter and no filter are equal.
    ///
    /// A word costs L without a filter; with one F + (p + (1 − p)·ε)·L, where p is the share of
    /// listed words. Equal at L = F / ((1 − p)(1 − ε)).
    fn break_even(&self, kind: crivo::codec::Kind, percent: u32) -> Option<Estimate> {
        let row = Guarded::of(self.guarded, kind, percent, "memory")?;
        let spared = (1.0 - self.listed) * (1.0 - row.rate());
        Some(self.filter(kind, percent)?.scaled(1.0 / spared))
    }
}

pub(super) fn figure(
    data: &Dataset,
    guarded: &[Guarded],
    samples: &[Sample],
) -> Result<Figure, StudyError> {
    let samples = Samples(samples);
    let missing = || data.fault("a time is missing".to_string());
    let first = guarded.first().ok_or_else(missing)?;
    let costs = Costs {
        samples,
        guarded,
        memory: samples.median(LOOKUP, 0.0, "memory").ok_or_else(missing)?,
        stored: samples.median(LOOKUP, 0.0, "redb").ok_or_else(missing)?,
        listed: first.found as f64 / first.lookups.max(1) as f64,
    };
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
        let text = |estimate: Option<Estimate>| {
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
    let rate = Guarded::of(guarded, KINDS[0].0, 1, "memory").ok_or_else(missing)?.rate();
    let admitted = costs.listed + (1.0 - costs.listed) * rate;
    let model = (0..=60)
        .map(|i| 3.0 * 10f64.powf(f64::from(i) / 60.0 * 4.0))
        .map(|lookup| (lookup, (bloom.value + admitted * lookup) / lookup));
    let measured = |guarded: &str, plain: &Estimate| {
        let time = samples.median(LOOKUP, 0.0, guarded)?;
        Some((plain.value, time.scaled(1.0 / plain.value)))
    };
    let measured = [
        measured(&name(KINDS[0].0, 1), &costs.memory),
        measured(&stored_name(KINDS[0].0, 1), &costs.stored),
    ];
    let on_disk =
        samples.ratio(LIST_STORED, 0.0, &name(KINDS[0].0, 1), NO_FILTER, 1.0 - FALSE_ALARM / 2.0);
    let in_map =
        samples.ratio(LIST_MEMORY, 0.0, &name(KINDS[0].0, 1), NO_FILTER, 1.0 - FALSE_ALARM / 2.0);
    let (on_disk, in_map) = (on_disk.ok_or_else(missing)?, in_map.ok_or_else(missing)?);
    let break_even = costs.break_even(KINDS[0].0, 1).ok_or_else(missing)?;
    let say = |ratio: &Estimate| {
        if ratio.high < 1.0 {
            format!("it pays: the whole list takes {} of the time", decimal(ratio.value, 3))
        } else if ratio.low > 1.0 {
            format!("it costs: the whole list takes {} times as long", decimal(ratio.value, 3))
        } else {
            "it makes no difference that this sample could show".to_string()
        }
    };
    Ok(Figure {
        id: "hyphenation-break-even",
        title: "The cost of a lookup from which on a filter pays".to_string(),
        question: "When does a filter pay?".to_string(),
        method: "A lookup of an absent word costs L; with a filter it costs F, the filter’s own time, and \
            L only if the filter errs or the word is listed. Both are equal at L = F/((1 − p)(1 − ε)), p \
            being the share of listed words. F is measured: a guarded lookup in memory less what the \
            filter lets through. Left: break-even by ε, with 95% intervals; dashes: what a lookup costs \
            here. Right: the model for a Bloom filter at 1% over any cost of a lookup."
            .to_string(),
        panels: vec![
            Panel::Chart(Chart {
                title: "break-even".to_string(),
                x: Axis::linear("ε").with_format(Format::Percent),
                y: Axis::logarithmic("cost of a lookup, ns"),
                series,
            }),
            Panel::Chart(Chart {
                title: "time with a Bloom filter at 1% over time without".to_string(),
                x: Axis::logarithmic("cost of a lookup, ns"),
                y: Axis::logarithmic("with filter over without").with_format(Format::Ratio),
                series: vec![
                    Series::dashed("equal", Hue::Limit, [(3.0, 1.0), (30_000.0, 1.0)]),
                    Series::line("model", Hue::Theory, model),
                    Series::dots("measured: in memory, in redb", Hue::Bloom, measured.into_iter().flatten()),
                ],
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::Measured,
            sentence: format!(
                "A Bloom filter at 1% pays before any lookup that costs more than {} ns ({} to {}). In redb a \
                 lookup costs {} ns, and {}. In memory it costs {} ns, and {}.",
                decimal(break_even.value, 3),
                decimal(break_even.low, 3),
                decimal(break_even.high, 3),
                decimal(costs.stored.value, 3),
                say(&on_disk),
                decimal(costs.memory.value, 3),
                say(&in_map),
            ),
            test: format!(
                "Test: the interval of the median ratio to no filter, corrected for two comparisons \
                 (Bonferroni), does not hold 1; probability of a false alarm at most {}. Of the words, {} \
                 are listed.",
                percent(FALSE_ALARM, 1),
                percent(costs.listed, 2),
            ),
        },
    })
}
