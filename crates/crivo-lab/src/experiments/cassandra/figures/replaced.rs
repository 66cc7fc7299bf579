//! Our filters in the place of the server's.

use super::counts::{contradictions, count_table, describe_counts};
use super::microseconds;
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{ABSENT, CHANCE, Count, PARTS, UNIFORM, chance_name};
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal};
use crate::section::{Figure, Finding, Verdict};
use crate::statistics::CONFIDENCE;
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons};

/// Filters differ in memory by at most this share, if they are said to have the same.
const SAME_MEMORY: f64 = 0.1;

pub(in super::super) fn replaced(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Count> = data.rows("counts")?;
    let (client, server): (Vec<Sample>, Vec<Sample>) = (data.rows("client")?, data.rows("server")?);
    let (client, server) = (Samples(&client), Samples(&server));
    let shown: Vec<&Count> = rows
        .iter()
        .filter(|count| count.sstables == PARTS && count.bits > 0 && count.distribution == UNIFORM)
        .collect();
    let ours: Vec<&Count> = rows.iter().filter(|count| count.replaced).collect();
    let against = contradictions(&ours)?;
    let median =
        |samples: &Samples<'_>, count: &Count| samples.median(ABSENT, PARTS as f64, &count.filter);
    let (mut opened, mut at_client, mut in_server) = (Vec::new(), Vec::new(), Vec::new());
    for (is_ours, label, hue) in
        [(false, "the server’s own", Hue::Bloom), (true, "in its place", Hue::Cuckoo)]
    {
        let mut group: Vec<&&Count> =
            shown.iter().filter(|count| count.replaced == is_ours).collect();
        group.sort_by(|a, b| a.bits_per_key().total_cmp(&b.bits_per_key()));
        let theory = group.iter().map(|count| (count.bits_per_key(), count.theory * PARTS as f64));
        opened.push(Series::dashed(format!("{label}, theory"), hue, theory));
        let dots = group.iter().map(|count| Ok((count.bits_per_key(), count.opened(CONFIDENCE)?)));
        opened.push(Series::dots(label, hue, dots.collect::<Result<Vec<_>, StudyError>>()?));
        for (samples, panel) in [(&server, &mut in_server), (&client, &mut at_client)] {
            let medians = group.iter().filter_map(|count| {
                Some((count.bits_per_key(), median(samples, count)?.scaled(1e-3)))
            });
            panel.push(Series::dots(label, hue, medians));
        }
    }
    let mut table = count_table(&shown)?;
    table.head.extend(["mean in the server", "median at the client"].map(String::from));
    for (row, count) in table.rows.iter_mut().zip(&shown) {
        row.extend([&server, &client].map(|samples| microseconds(median(samples, count))));
    }
    let rivals = same_memory(&shown);
    Ok(Figure {
        id: "cassandra-replaced",
        title: "Other filters in the place of the server’s".to_string(),
        question: "Which filter gives the lowest time for a given memory?".to_string(),
        method: format!(
            "Tables of {PARTS} SSTables at fp_chance {CHANCE}. The node is stopped, each Filter.db replaced by one \
             of other dimensions that crivo-formats writes, and the node started: it uses the file as it is. \
             Questions and times as in the figures before. Filters of about the same memory differ in k.",
        ),
        panels: vec![
            chart("opened per question", Axis::logarithmic("SSTables"), opened),
            chart("in the server", Axis::from_zero("median of means, µs"), in_server),
            chart("at the client", Axis::from_zero("median over rounds, µs"), at_client),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{} {} {}",
                match against.is_empty() {
                    true =>
                        "The server uses our files, and counts exactly the false positives that they give."
                            .to_string(),
                    false => format!("The counts contradict theory: {}.", against.join("; ")),
                },
                describe_rivals(&server, &rivals),
                fastest(&server, &shown),
            ),
            test: format!(
                "{} Times in the server: {}",
                describe_counts(&ours),
                describe_comparisons(rivals.len().saturating_sub(1), server.rounds(ABSENT))
            ),
        },
    })
}

fn chart(title: &str, y: Axis, series: Vec<Series>) -> Panel {
    Panel::Chart(Chart { title: title.to_string(), x: Axis::linear("bits per key"), y, series })
}

/// The server's own filters at [`CHANCE`], and then those of ours that have about the same memory.
fn same_memory<'a>(shown: &[&'a Count]) -> Vec<&'a Count> {
    let own = chance_name(CHANCE);
    let Some(baseline) = shown.iter().find(|count| count.filter == own) else {
        return Vec::new();
    };
    let is_rival = |count: &&&Count| {
        let ratio = count.bits_per_key() / baseline.bits_per_key();
        count.replaced && (ratio - 1.0).abs() < SAME_MEMORY
    };
    let rivals = shown.iter().filter(is_rival);
    [*baseline].into_iter().chain(rivals.copied()).collect()
}

/// What filters of the same memory differ in.
fn describe_rivals(server: &Samples<'_>, rivals: &[&Count]) -> String {
    let [baseline, rivals @ ..] = rivals else { return String::new() };
    let confidence = corrected(rivals.len());
    let describe = |count: &&Count| {
        let (ours, own) = (&count.filter, &baseline.filter);
        let speed = match server.compare(ABSENT, PARTS as f64, ours, own, confidence) {
            Some(Comparison::Faster) => "faster in the server",
            Some(Comparison::Slower) => "slower in the server",
            _ => "no difference in time",
        };
        format!(
            "{} bits and k = {}: {} ({speed})",
            decimal(count.bits_per_key(), 3),
            count.probes,
            per_question(count)
        )
    };
    format!(
        "With {} bits per key, the server’s k = {} opens {} SSTables per question; {}.",
        decimal(baseline.bits_per_key(), 3),
        baseline.probes,
        per_question(baseline),
        rivals.iter().map(describe).collect::<Vec<_>>().join("; "),
    )
}

/// The smallest filter whose time in the server is not measurably above the lowest.
fn fastest(server: &Samples<'_>, shown: &[&Count]) -> String {
    let x = PARTS as f64;
    let time = |count: &Count| server.median(ABSENT, x, &count.filter).map(|time| time.value);
    let timed = shown.iter().filter_map(|count| Some((*count, time(count)?)));
    let Some((best, _)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { return String::new() };
    let confidence = corrected(shown.len());
    let is_as_fast = |count: &&&Count| {
        server.compare(ABSENT, x, &count.filter, &best.filter, confidence)
            != Some(Comparison::Slower)
    };
    let smallest = shown
        .iter()
        .filter(is_as_fast)
        .min_by(|a, b| a.bits.cmp(&b.bits))
        .map_or(0.0, |count| count.bits_per_key());
    format!(
        "The lowest time in the server is that of {} bits per key, and no filter of at least {} bits is \
         measurably slower than it.",
        decimal(best.bits_per_key(), 3),
        decimal(smallest, 3)
    )
}

fn per_question(count: &Count) -> String {
    decimal(count.false_positives as f64 / count.questions.max(1) as f64, 3)
}
