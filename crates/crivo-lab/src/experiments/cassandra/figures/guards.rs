//! Guards in the client.

use super::microseconds;
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{
    ABSENT_PERCENTAGES, GuardCount, NO_GUARD, TIMED_FPR, WITH_FILTER, WITHOUT_FILTER, guard_name,
};
use crate::plot::{Axis, Chart, Hue, Look, Panel, Point, Series, TickFormat, decimal, percent};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, proportion};
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons};

fn hue(kind: &str) -> Hue {
    match kind {
        "bloom" => Hue::Bloom,
        "blocked" => Hue::Blocked,
        "counting" => Hue::Counting,
        "cuckoo" => Hue::Cuckoo,
        "quotient" => Hue::Quotient,
        "fuse" => Hue::Fuse,
        "growing" => Hue::Growing,
        // There are no dictionaries in this figure: their colours are free.
        "growing-blocked" => Hue::Chained,
        "split-block" => Hue::Linear,
        "blocked-counting" => Hue::Hashbrown,
        "sharded-fuse" => Hue::Folded,
        _ => Hue::Plain,
    }
}

impl GuardCount {
    fn name(&self) -> String {
        guard_name(&self.kind, self.fpr)
    }

    fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    fn passed(&self) -> u64 {
        self.questions - self.stopped
    }
}

fn shares() -> [f64; ABSENT_PERCENTAGES.len()] {
    ABSENT_PERCENTAGES.map(|percentage| percentage as f64 / 100.0)
}

pub(in super::super) fn guards(data: &Dataset) -> Result<Figure, StudyError> {
    let counts: Vec<GuardCount> = data.rows("guards")?;
    let rows: Vec<Sample> = data.rows("guarded")?;
    let samples = Samples(&rows);
    let tasks: Vec<&str> = [WITH_FILTER, WITHOUT_FILTER]
        .into_iter()
        .filter(|task| !samples.contenders(task).is_empty())
        .collect();
    let Some(&first) = tasks.first() else {
        return Err(data.fault("there are no times of guards".to_string()));
    };
    let rounds = tasks.iter().map(|task| samples.rounds(task)).min().unwrap_or(0);

    let confidence = 1.0 - FALSE_ALARM / counts.len().max(1) as f64;
    let mut against = Vec::new();
    for count in &counts {
        if proportion(count.passed(), count.questions, confidence)?.low > count.fpr {
            against.push(format!("{} at {}", count.kind, percent(count.fpr, 1)));
        }
    }

    let timed: Vec<&GuardCount> = counts.iter().filter(|count| count.fpr == TIMED_FPR).collect();
    let comparisons = tasks.len() * timed.len() * ABSENT_PERCENTAGES.len();
    let mut panels: Vec<Panel> =
        tasks.iter().map(|task| by_share(&samples, task, &timed)).collect();
    panels.push(by_memory(&samples, first, &counts));
    let sentences: Vec<String> =
        tasks.iter().map(|task| worth(&samples, task, &timed, comparisons)).collect();
    let smallest = timed.iter().min_by(|a, b| a.bits.cmp(&b.bits)).map_or(String::new(), |count| {
        format!(
            " The smallest guard of FPR {} is {}: {} bits per key.",
            percent(TIMED_FPR, 1),
            count.kind,
            decimal(count.bits_per_key(), 3)
        )
    });
    Ok(Figure {
        id: "cassandra-guards",
        title: "Guards in the client".to_string(),
        question: "When does a filter in the client pay in addition to the server’s?".to_string(),
        method: format!(
            "A filter of every kind, of all keys of a table (by crivo-store, from a scan), in front of the server: \
             what it stops does not reach the network. One question at a time, a given share of them for absent \
             keys, {rounds} rounds in which all take turns, in front of a table whose SSTables have filters, and, \
             if the server’s settings could be chosen, of one whose SSTables have none. By share: FPR {}. By \
             memory: every FPR, absent keys alone, and the ratio of means, because the rare questions that pass \
             are not in a median. Bars: 95% intervals of the median ratio.",
            percent(TIMED_FPR, 1),
        ),
        panels,
        table: Some(guard_table(&samples, first, &counts)?),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{} {}{smallest}",
                match against.is_empty() {
                    true => "No guard passes more absent keys than it was made for.".to_string(),
                    false => format!("More pass than they were made for: {}.", against.join(", ")),
                },
                sentences.join(" "),
            ),
            test: format!(
                "Test: the share of absent keys that pass {} guards, by exact intervals corrected for their \
                 number (Bonferroni); probability of a false alarm at most {}%. Times: {}",
                counts.len(),
                100.0 * FALSE_ALARM,
                describe_comparisons(comparisons, rounds)
            ),
        },
    })
}

/// Times against the share of absent keys.
fn by_share(samples: &Samples<'_>, task: &str, timed: &[&GuardCount]) -> Panel {
    let series = timed.iter().map(|count| {
        let points = shares().into_iter().filter_map(|share| {
            Some((share, samples.ratio(task, share, &count.name(), NO_GUARD, CONFIDENCE)?))
        });
        Series::trace(count.kind.clone(), hue(&count.kind), points)
    });
    Panel::Chart(Chart {
        title: task.to_string(),
        x: Axis::linear("questions for absent keys").with_format(TickFormat::Percent),
        y: Axis::logarithmic("time over no guard").with_format(TickFormat::Ratio),
        series: series.collect(),
    })
}

/// Times for absent keys against memory, one point for each FPR.
fn by_memory(samples: &Samples<'_>, task: &str, counts: &[GuardCount]) -> Panel {
    let mut series: Vec<Series> = Vec::new();
    for count in counts.iter().rev() {
        let Some(y) = mean_ratio(samples, task, &count.name()) else { continue };
        let point = Point { x: count.bits_per_key(), y, interval: None };
        match series.iter_mut().find(|series| series.label == count.kind) {
            Some(known) => known.points.push(point),
            None => {
                let (label, hue) = (count.kind.clone(), hue(&count.kind));
                series.push(Series::new(label, hue, Look::Trace, vec![point]));
            }
        }
    }
    Panel::Chart(Chart {
        title: format!("absent keys alone; {task}"),
        x: Axis::linear("bits per key"),
        y: Axis::logarithmic("time over no guard").with_format(TickFormat::Ratio),
        series,
    })
}

/// The mean time for absent keys over that of no guard. Questions that pass are rare and slow: they are in
/// the mean, but not in the median.
fn mean_ratio(samples: &Samples<'_>, task: &str, name: &str) -> Option<f64> {
    let mean = |name: &str| samples.mean(task, 1.0, name).map(|mean| mean.value);
    Some(mean(name)? / mean(NO_GUARD)?)
}

fn guard_table(
    samples: &Samples<'_>,
    task: &str,
    counts: &[GuardCount],
) -> Result<Table, StudyError> {
    let mut table =
        Table::new(&["guard", "FPR asked for", "theory", "passed", "95% interval", "bits per key"]);
    table.head.extend(ABSENT_PERCENTAGES.map(|percentage| match percentage {
        0 => "time, 0% absent".to_string(),
        100 => "100%, mean".to_string(),
        percentage => format!("{percentage}%"),
    }));
    let unknown = ["–"; 4].map(String::from);
    table.row(
        [NO_GUARD.to_string()]
            .into_iter()
            .chain(unknown)
            .chain(["0".to_string()])
            .chain(shares().map(|share| microseconds(samples.median(task, share, NO_GUARD)))),
    );
    for count in counts {
        let shown = proportion(count.passed(), count.questions, CONFIDENCE)?;
        let mut cells = vec![
            count.kind.clone(),
            percent(count.fpr, 1),
            percent(count.expected_fpr, 2),
            percent(shown.value, 2),
            format!("{}–{}", percent(shown.low, 2), percent(shown.high, 2)),
            decimal(count.bits_per_key(), 3),
        ];
        cells.extend(shares().map(|share| {
            let ratio = match share {
                1.0 => mean_ratio(samples, task, &count.name()),
                share => samples
                    .ratio(task, share, &count.name(), NO_GUARD, CONFIDENCE)
                    .map(|ratio| ratio.value),
            };
            ratio.map_or("–".to_string(), |ratio| format!("{}×", decimal(ratio, 3)))
        }));
        table.row(cells);
    }
    Ok(table)
}

/// From which share of absent keys on guards are faster than none, and what they cost before.
fn worth(samples: &Samples<'_>, task: &str, timed: &[&GuardCount], comparisons: usize) -> String {
    let confidence = corrected(comparisons);
    let compare = |share: f64, name: &str| samples.compare(task, share, name, NO_GUARD, confidence);
    let all_are_faster = |share: &f64| {
        timed.iter().all(|count| compare(*share, &count.name()) == Some(Comparison::Faster))
    };
    let mut falling = shares();
    falling.reverse();
    let pays = match falling.into_iter().take_while(all_are_faster).last() {
        Some(share) => format!(
            "every guard is faster if {} or more of the questions are for absent keys",
            percent(share, 2)
        ),
        None => "not every guard is faster, even if all questions are for absent keys".to_string(),
    };
    let present = timed.iter().filter_map(|count| {
        Some(samples.ratio(task, 0.0, &count.name(), NO_GUARD, CONFIDENCE)?.value)
    });
    let absent = timed.iter().filter_map(|count| mean_ratio(samples, task, &count.name()));
    let slower: Vec<&str> = timed
        .iter()
        .filter(|count| compare(0.0, &count.name()) == Some(Comparison::Slower))
        .map(|count| count.kind.as_str())
        .collect();
    let costs = match slower.is_empty() {
        true => "with present keys alone none is measurably slower than no guard".to_string(),
        false => format!("with present keys alone these are slower: {}", slower.join(", ")),
    };
    format!(
        "Where {task}, {pays}; {costs} (at most {} times its time); with absent keys alone all take at most {} of \
         its mean time.",
        decimal(present.fold(0.0, f64::max), 3),
        percent(absent.fold(0.0, f64::max), 2),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crivo::filter::Kind;

    use super::*;

    #[test]
    fn every_kind_has_a_colour_of_its_own() {
        let hues: BTreeSet<_> =
            Kind::ALL.iter().map(|kind| format!("{:?}", hue(&kind.to_string()))).collect();
        assert_eq!(hues.len(), Kind::ALL.len(), "{hues:?}");
        assert!(!hues.contains("Plain"));
    }
}
