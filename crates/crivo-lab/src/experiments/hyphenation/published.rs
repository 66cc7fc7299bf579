//! The thesis author's published raw times, labelled as what they are.

use crivo::filter::Kind;

use super::pay::Costs;
use super::{FOLDED, Guarded, LIST_STORED, NO_FILTER, PERCENTS, name};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::PointEstimate;
use crate::timing::{Sample, Samples};

/// Words of the Norwegian list over which the published times were taken.
const WORDS: f64 = 143_177.0;

/// Milliseconds for the whole list, mean and half width of the 95% interval over 30 runs, for
/// ε = 1…20%: with the Bloom filter, and with the cuckoo filter.
const TIMES: [[(f64, f64); 2]; 20] = [
    [(3574.0, 33.0), (3742.0, 65.0)],
    [(3580.0, 71.0), (3566.0, 53.0)],
    [(3604.0, 60.0), (3610.0, 65.0)],
    [(3534.0, 39.0), (3548.0, 40.0)],
    [(3568.0, 55.0), (3437.0, 35.0)],
    [(3526.0, 45.0), (3482.0, 37.0)],
    [(3561.0, 60.0), (3665.0, 93.0)],
    [(3559.0, 45.0), (3520.0, 45.0)],
    [(3563.0, 41.0), (3516.0, 36.0)],
    [(3521.0, 40.0), (3496.0, 39.0)],
    [(3544.0, 45.0), (3488.0, 31.0)],
    [(3502.0, 40.0), (3514.0, 54.0)],
    [(3568.0, 99.0), (3489.0, 58.0)],
    [(3527.0, 57.0), (3496.0, 46.0)],
    [(3604.0, 85.0), (3481.0, 37.0)],
    [(3579.0, 53.0), (3463.0, 54.0)],
    [(3482.0, 46.0), (3435.0, 37.0)],
    [(3467.0, 34.0), (3489.0, 84.0)],
    [(3495.0, 45.0), (3658.0, 91.0)],
    [(3462.0, 42.0), (3482.0, 39.0)],
];

/// Microseconds per word.
fn per_word((mean, half): (f64, f64)) -> PointEstimate {
    let scale = 1e3 / WORDS;
    PointEstimate { value: mean * scale, low: (mean - half) * scale, high: (mean + half) * scale }
}

pub(super) fn figure(
    data: &Dataset,
    guarded: &[Guarded],
    samples: &[Sample],
) -> Result<Figure, StudyError> {
    let samples = Samples(samples);
    let ours =
        |contender: &str| samples.mean(LIST_STORED, 0.0, contender).map(|time| time.scaled(1e-3));
    let rates = || PERCENTS.map(|percent| f64::from(percent) / 100.0);
    let theirs = |which: usize| rates().zip(TIMES.iter().map(move |times| per_word(times[which])));
    let of = |kind: Kind| {
        PERCENTS.filter_map(move |percent| {
            Some((f64::from(percent) / 100.0, ours(&name(kind, percent))?))
        })
    };
    let flat =
        |contender: &str| ours(contender).map(|time| [(0.01, time.value), (0.2, time.value)]);
    let mut series = vec![
        Series::dots("published code, Bloom", Hue::Chained, theirs(0)),
        Series::dots("published code, cuckoo", Hue::Plain, theirs(1)),
    ];
    for (contender, hue) in [(NO_FILTER, Hue::Limit), (FOLDED, Hue::Folded)] {
        series.extend(
            flat(contender).map(|line| Series::dashed(format!("here, {contender}"), hue, line)),
        );
    }
    series.push(Series::dots("here, Bloom and redb", Hue::Bloom, of(Kind::Bloom)));
    series.push(Series::dots("here, cuckoo and redb", Hue::Cuckoo, of(Kind::Cuckoo)));
    let mut table =
        Table::new(&["ε", "published Bloom", "published cuckoo", "Bloom here", "cuckoo here"]);
    for (requested, times) in PERCENTS.zip(TIMES) {
        let text = |time: Option<PointEstimate>| {
            time.map_or("–".to_string(), |time| format!("{} µs", decimal(time.value, 3)))
        };
        table.row([
            format!("{requested}%"),
            text(Some(per_word(times[0]))),
            text(Some(per_word(times[1]))),
            text(ours(&name(Kind::Bloom, requested))),
            text(ours(&name(Kind::Cuckoo, requested))),
        ]);
    }
    let missing = || data.fault("a time is missing".to_string());
    let first = ours(&name(Kind::Bloom, 1)).ok_or_else(missing)?;
    let published = per_word(TIMES[0][0]);
    let filter = Costs::new(data, guarded, samples)?.filter(Kind::Bloom, 1).ok_or_else(missing)?;
    let words: u64 = data.parameter("words")?;
    Ok(Figure {
        id: "hyphenation-published",
        title: "Published raw times and ours, per word".to_string(),
        question: "How do these times compare with those of the thesis’s published code?"
            .to_string(),
        method: format!(
            "The published times are for a Norwegian list of 143\u{202f}177 words with 43 exceptions, in \
             JavaScript on a Ryzen 7 3700U; they are not the figures printed in the thesis, which are for \
             English. The words, the language and the machine differ, so only orders of magnitude are comparable. Ours: \
             {} English words, exceptions in redb. Means with 95% intervals.",
            thousands(words)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("ε").with_format(TickFormat::Percent),
            y: Axis::logarithmic("microseconds per word"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "At ε = 1% the published code took {} µs per word; ours takes {} µs with exceptions on disk. A \
                 filter like ours, at {} ns, would be {} of the former, whose intervals are {} wide.",
                decimal(published.value, 3),
                decimal(first.value, 3),
                decimal(filter.value, 2),
                percent(filter.value / (1e3 * published.value), 2),
                percent((published.high - published.low) / published.value, 2),
            ),
            test: String::new(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_times_are_per_word() {
        let first = per_word(TIMES[0][0]);
        assert!((first.value - 24.96).abs() < 0.01, "{first:?}");
        assert!(
            TIMES
                .iter()
                .flatten()
                .all(|(mean, half)| (3400.0..3800.0).contains(mean) && *half < 100.0)
        );
    }
}
