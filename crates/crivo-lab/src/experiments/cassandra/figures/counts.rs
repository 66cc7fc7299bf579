//! What the server counted, against the files of its filters and theory.

use super::label;
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{CHANCES, Count, SSTABLES, UNIFORM, chance_name};
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, normal_interval, proportion};

impl Count {
    /// The FPR that the server counted. Its interval is the exact one of the questions, wider by what
    /// filters of one size differ.
    pub(super) fn fpr(&self, confidence: f64) -> Result<PointEstimate, StudyError> {
        let trials = self.questions * self.sstables;
        let exact = proportion(self.false_positives.min(trials), trials, confidence)?;
        let between = normal_interval(0.0, self.deviation, confidence).high;
        let (low, high) = ((exact.low - between).max(0.0), (exact.high + between).min(1.0));
        Ok(PointEstimate { low, high, ..exact })
    }

    /// SSTables that were opened per question.
    pub(super) fn opened(&self, confidence: f64) -> Result<PointEstimate, StudyError> {
        Ok(self.fpr(confidence)?.scaled(self.sstables as f64))
    }

    pub(super) fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }
}

/// Whether the server’s counts agree with the files, and with theory: what contradicts, in words.
pub(super) fn contradictions(counts: &[&Count]) -> Result<Vec<String>, StudyError> {
    let tested = counts.iter().filter(|count| count.distribution == UNIFORM).count();
    let confidence = 1.0 - FALSE_ALARM / tested.max(1) as f64;
    let mut against = Vec::new();
    for count in counts {
        let place = format!("{} and S = {}", label(&count.filter), count.sstables);
        if count.false_positives != count.predicted {
            against.push(format!(
                "for {place} the server counts {}, the files give {}",
                thousands(count.false_positives),
                thousands(count.predicted)
            ));
        } else if count.distribution == UNIFORM && !count.fpr(confidence)?.contains(count.theory) {
            against.push(format!(
                "for {place} the FPR is {}, in theory {}",
                percent(count.fpr(confidence)?.value, 3),
                percent(count.theory, 3)
            ));
        }
    }
    Ok(against)
}

pub(super) fn describe_counts(counts: &[&Count]) -> String {
    let tested = counts.iter().filter(|count| count.distribution == UNIFORM).count();
    format!(
        "Test: the FPR of {tested} tables under different keys, by the exact interval of the questions, wider \
         by the deviation of filters of one size, corrected for their number (Bonferroni); probability of a \
         false alarm at most {}%. The numbers of the server and of the files must be equal.",
        100.0 * FALSE_ALARM
    )
}

pub(super) fn count_table(counts: &[&Count]) -> Result<Table, StudyError> {
    let mut table = Table::new(&[
        "filter",
        "SSTables",
        "questions",
        "distribution",
        "bits per key",
        "k",
        "false positives",
        "by the files",
        "FPR",
        "95% interval",
        "theory",
        "opened per question",
        "memory",
    ]);
    for count in counts {
        let fpr = count.fpr(CONFIDENCE)?;
        table.row([
            label(&count.filter),
            count.sstables.to_string(),
            thousands(count.questions),
            count.distribution.clone(),
            decimal(count.bits_per_key(), 3),
            count.probes.to_string(),
            thousands(count.false_positives),
            thousands(count.predicted),
            percent(fpr.value, 3),
            match &*count.distribution {
                UNIFORM => format!("{}–{}", percent(fpr.low, 3), percent(fpr.high, 3)),
                _ => "–".to_string(),
            },
            percent(count.theory, 3),
            decimal(fpr.value * count.sstables as f64, 3),
            format!("{} bytes", thousands(count.memory)),
        ]);
    }
    Ok(table)
}

/// How many SSTables a question for an absent key opens.
pub(in super::super) fn opened(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Count> = data.rows("counts")?;
    let own: Vec<&Count> = rows.iter().filter(|count| !count.replaced).collect();
    let against = contradictions(&own)?;
    let mut series = Vec::new();
    for (parts, hue) in SSTABLES.into_iter().zip([Hue::Bloom, Hue::Cuckoo, Hue::Fuse]) {
        let (mut theory, mut dots) = (Vec::new(), Vec::new());
        for chance in CHANCES {
            let name = chance_name(chance);
            let is_it = |count: &&&Count| {
                count.filter == name && count.sstables == parts && count.distribution == UNIFORM
            };
            let Some(count) = own.iter().find(is_it) else { continue };
            theory.push((chance, count.theory * parts as f64));
            dots.push((chance, count.opened(CONFIDENCE)?));
        }
        let label = format!("S = {parts}");
        series.push(Series::line(format!("{label}, theory"), hue, theory));
        series.push(Series::dots(label, hue, dots));
    }
    let half = own.iter().find(|count| count.filter == chance_name(0.5));
    let half = half.map_or(String::new(), |count| {
        format!(
            " The setting 0.5 yields {}: {} per key and k = {}.",
            percent(count.theory, 3),
            match decimal(count.bits_per_key(), 2) {
                bits if bits == "1.0" => "one bit".to_string(),
                bits => format!("{bits} bits"),
            },
            count.probes
        )
    });
    let questions = own.first().map_or(0, |count| count.questions);
    let keys: u64 = data.parameter("keys")?;
    Ok(Figure {
        id: "cassandra-opened",
        title: "SSTables opened for absent rows".to_string(),
        question: "How many SSTables does a question for an absent row open?".to_string(),
        method: format!(
            "For each setting of bloom_filter_fp_chance and each S, a table of {} rows in S SSTables, each row \
             in one. {} questions for different absent keys, and as many by Zipf’s law with exponent 1. \
             Keys outside the range of tokens of an SSTable, for which its filter is not asked, are left \
             out. The server counts false positives; the files of its filters, read by this program, give \
             the same number for the same keys if both are right. Theory: S·ε, with ε = (1 − e^[−kn/m])^[k] from \
             the m and k of each file, and a term of the order of n/m² for keys whose probes are the same \
             arithmetic progression (double hashing), which matters for small filters. Without a filter every SSTable is opened. Memory is what the server \
             reports for its filters.",
            thousands(keys),
            thousands(questions),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("bloom_filter_fp_chance (1: no filter)"),
            y: Axis::logarithmic("SSTables opened per question"),
            series,
        })],
        table: Some(count_table(&own)?),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{}{half}",
                match against.is_empty() {
                    true => format!(
                        "In all {} cases the server counts exactly the false positives that the files of its \
                         filters give, and the FPRs agree with their m and k.",
                        own.len()
                    ),
                    false => format!("The counts contradict theory: {}.", against.join("; ")),
                }
            ),
            test: describe_counts(&own),
        },
    })
}
