//! The figures, from the data alone.

use super::{
    ABSENT, CHANCE, CHANCES, Count, GuardCount, NO_GUARD, PARTS, Quantiles, SSTABLES, ServerTime,
    TIMED_FPR, WITH_FILTER, WITHOUT_FILTER, chance_name,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Hue, Look, Panel, Point, Series, TickFormat, decimal, percent, thousands,
};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{
    CONFIDENCE, FALSE_ALARM, PointEstimate, median_interval, normal_interval, proportion,
};
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons, suffices};

/// The server's filters, in the order of [`CHANCES`].
const HUES: [Hue; 6] = [Hue::Plain, Hue::Bad, Hue::Counting, Hue::Bloom, Hue::Blocked, Hue::Fuse];

impl Count {
    /// The FPR that the server counted. Its interval is the exact one of the questions, wider by what
    /// filters of one size differ.
    fn fpr(&self, confidence: f64) -> Result<PointEstimate, StudyError> {
        let trials = self.questions * self.sstables;
        let exact = proportion(self.false_positives.min(trials), trials, confidence)?;
        let between = normal_interval(0.0, self.deviation, confidence).high;
        let (low, high) = ((exact.low - between).max(0.0), (exact.high + between).min(1.0));
        Ok(PointEstimate { low, high, ..exact })
    }

    /// SSTables that were opened per question.
    fn opened(&self, confidence: f64) -> Result<PointEstimate, StudyError> {
        Ok(self.fpr(confidence)?.scaled(self.sstables as f64))
    }

    fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    fn label(&self) -> String {
        match self.filter.parse::<f64>() {
            Ok(_) => format!("fp_chance {}", self.filter),
            Err(_) => self.filter.clone(),
        }
    }
}

/// Whether the server’s counts agree with the files, and with theory: what contradicts, in words.
fn contradictions(counts: &[&Count]) -> Result<Vec<String>, StudyError> {
    let tested = counts.iter().filter(|count| count.distribution == "uniform").count();
    let confidence = 1.0 - FALSE_ALARM / tested.max(1) as f64;
    let mut against = Vec::new();
    for count in counts {
        let place = format!("{} and S = {}", count.label(), count.sstables);
        if count.false_positives != count.predicted {
            against.push(format!(
                "for {place} the server counts {}, the files give {}",
                thousands(count.false_positives),
                thousands(count.predicted)
            ));
        } else if count.distribution == "uniform" && !count.fpr(confidence)?.contains(count.theory)
        {
            against.push(format!(
                "for {place} the FPR is {}, in theory {}",
                percent(count.fpr(confidence)?.value, 3),
                percent(count.theory, 3)
            ));
        }
    }
    Ok(against)
}

fn describe_counts(counts: &[&Count]) -> String {
    let tested = counts.iter().filter(|count| count.distribution == "uniform").count();
    format!(
        "Test: the FPR of {tested} tables under different keys, by the exact interval of the questions, wider \
         by the deviation of filters of one size, corrected for their number (Bonferroni); probability of a \
         false alarm at most {}%. The numbers of the server and of the files must be equal.",
        100.0 * FALSE_ALARM
    )
}

fn count_table(counts: &[&Count]) -> Result<Table, StudyError> {
    let mut table = Table::new(&[
        "filter",
        "SSTables",
        "questions",
        "keys",
        "bits per key",
        "k",
        "opened in vain",
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
            count.label(),
            count.sstables.to_string(),
            thousands(count.questions),
            count.distribution.clone(),
            decimal(count.bits_per_key(), 3),
            count.probes.to_string(),
            thousands(count.false_positives),
            thousands(count.predicted),
            percent(fpr.value, 3),
            match &*count.distribution {
                "uniform" => format!("{}–{}", percent(fpr.low, 3), percent(fpr.high, 3)),
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
pub(super) fn opened(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Count> = data.rows("counts")?;
    let own: Vec<&Count> = rows.iter().filter(|count| !count.replaced).collect();
    let against = contradictions(&own)?;
    let mut series = Vec::new();
    for (parts, hue) in SSTABLES.into_iter().zip([Hue::Bloom, Hue::Cuckoo, Hue::Fuse]) {
        let (mut theory, mut dots) = (Vec::new(), Vec::new());
        for chance in CHANCES {
            let name = chance_name(chance);
            let is_it = |count: &&&Count| {
                count.filter == name && count.sstables == parts && count.distribution == "uniform"
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
        title: "SSTables opened in vain".to_string(),
        question: "How many SSTables does a question for an absent row open?".to_string(),
        method: format!(
            "For each setting of bloom_filter_fp_chance and each S, a table of {} rows in S SSTables, each row \
             in one. {} questions for different absent keys, and as many by Zipf’s law with exponent 1. \
             Keys outside the range of tokens of an SSTable, for which its filter is not asked, are left \
             out. The server counts false positives; the files of its filters, read by this program, give \
             the same number for the same keys if both are right. Theory: S·ε, with ε = (1 − e^[−kn/m])^[k] from \
             the m and k of each file. Without a filter every SSTable is opened.",
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
                        "In all {} cases the server opens as many SSTables in vain as the files of its filters \
                         say, and the FPRs agree with their m and k.",
                        own.len()
                    ),
                    false => format!("The counts contradict theory: {}.", against.join("; ")),
                }
            ),
            test: describe_counts(&own),
        },
    })
}

/// The times of a filter at two numbers of SSTables, as ratios within rounds.
fn growth_ratios(samples: &Samples<'_>, filter: &str, from: u64, to: u64) -> Vec<f64> {
    let [from, to] = [from, to].map(|parts| samples.times(ABSENT, parts as f64, filter));
    to.iter().zip(&from).map(|(to, from)| to / from).collect()
}

fn ratio_text(ratio: PointEstimate) -> String {
    format!("{}× ({}–{})", decimal(ratio.value, 3), decimal(ratio.low, 3), decimal(ratio.high, 3))
}

/// How times grow with the number of SSTables.
pub(super) fn growth(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Sample> = data.rows("latency")?;
    let samples = Samples(&rows);
    let server: Vec<ServerTime> = data.rows("server")?;
    let quantiles: Vec<Quantiles> = data.rows("quantiles")?;
    let [fewest, _, most] = SSTABLES;
    let server_time = |filter: &str, parts: u64| {
        let is_it = |row: &&ServerTime| row.filter == filter && row.sstables == parts;
        server.iter().find(is_it).map_or(0.0, |row| row.microseconds)
    };
    let (mut of_server, mut of_client) = (Vec::new(), Vec::new());
    for (chance, hue) in CHANCES.into_iter().zip(HUES) {
        let filter = chance_name(chance);
        let label = if chance == 1.0 { filter.clone() } else { format!("fp_chance {filter}") };
        let point =
            |parts: u64| Point { x: parts as f64, y: server_time(&filter, parts), interval: None };
        let points = SSTABLES.map(point).to_vec();
        of_server.push(Series::new(label.clone(), hue, Look::Trace, points));
        let medians = SSTABLES.into_iter().filter_map(|parts| {
            let median = samples.median(ABSENT, parts as f64, &filter)?;
            Some((parts as f64, median.scaled(1e-3)))
        });
        of_client.push(Series::trace(label, hue, medians));
    }
    let mut table = Table::new(&[
        "questions",
        "filter",
        "SSTables",
        "median at the client",
        "99% at the client",
        "mean in the server",
    ]);
    for row in &quantiles {
        table.row([
            row.task.clone(),
            row.filter.clone(),
            row.sstables.to_string(),
            format!("{} µs", decimal(row.median_microseconds, 3)),
            format!("{} µs", decimal(row.p99_microseconds, 3)),
            match row.task == ABSENT {
                true => format!("{} µs", decimal(server_time(&row.filter, row.sstables), 3)),
                false => "–".to_string(),
            },
        ]);
    }
    let (none, some) = (chance_name(1.0), chance_name(CHANCE));
    let [without, with] =
        [&none, &some].map(|filter| growth_ratios(&samples, filter, fewest, most));
    let rounds = without.len();
    let relative: Vec<f64> = without.iter().zip(&with).map(|(a, b)| a / b).collect();
    if relative.is_empty() {
        return Err(data.fault("there are no times of absent keys".to_string()));
    }
    let tested = median_interval(&relative, corrected(1));
    let finding = match tested {
        _ if !suffices(1, rounds) => Finding::Undecided,
        tested if tested.low > 1.0 => Finding::Agrees,
        tested if tested.high < 1.0 => Finding::Differs,
        _ => Finding::Undecided,
    };
    let [without, with] = [without, with].map(|ratios| median_interval(&ratios, CONFIDENCE));
    Ok(Figure {
        id: "cassandra-growth",
        title: "Time against the number of SSTables".to_string(),
        question:
            "Do filters keep the time for an absent row from growing with the number of SSTables?"
                .to_string(),
        method: format!(
            "The tables of the figure before, one question at a time, {rounds} rounds in which all tables take \
             turns. The server’s time is the mean that nodetool tablestats tells after the questions for \
             absent keys; it has no interval. The client’s time has the way over the loopback interface in it. \
             Bars: 95% intervals of the median over rounds. A present row is not looked for in every SSTable.",
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "in the server".to_string(),
                x: Axis::logarithmic("SSTables"),
                y: Axis::from_zero("mean, µs"),
                series: of_server,
            }),
            Panel::Chart(Chart {
                title: "at the client".to_string(),
                x: Axis::logarithmic("SSTables"),
                y: Axis::from_zero("median over rounds, µs"),
                series: of_client,
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding,
            sentence: format!(
                "With {most} SSTables instead of {fewest}, a question for an absent row takes the client {} as \
                 long without filters, and {} at fp_chance {some}. In the server it takes {} µs instead of {} \
                 without filters, and {} instead of {} with them.",
                ratio_text(without),
                ratio_text(with),
                decimal(server_time(&none, most), 3),
                decimal(server_time(&none, fewest), 3),
                decimal(server_time(&some, most), 3),
                decimal(server_time(&some, fewest), 3),
            ),
            test: describe_comparisons(1, rounds),
        },
    })
}

/// Our filters in the place of the server's.
pub(super) fn replaced(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Count> = data.rows("counts")?;
    let times: Vec<Sample> = data.rows("latency")?;
    let samples = Samples(&times);
    let server: Vec<ServerTime> = data.rows("server")?;
    let shown: Vec<&Count> = rows
        .iter()
        .filter(|count| {
            count.sstables == PARTS && count.bits > 0 && count.distribution == "uniform"
        })
        .collect();
    let ours: Vec<&Count> = rows.iter().filter(|count| count.replaced).collect();
    let against = contradictions(&ours)?;
    let median = |count: &Count| samples.median(ABSENT, PARTS as f64, &count.filter);
    let server_time = |count: &Count| {
        let is_it = |row: &&ServerTime| row.filter == count.filter && row.sstables == PARTS;
        server.iter().find(is_it).map_or(0.0, |row| row.microseconds)
    };
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
        let dots: Vec<_> = dots.collect::<Result<_, StudyError>>()?;
        opened.push(Series::dots(label, hue, dots));
        let medians = group
            .iter()
            .filter_map(|count| Some((count.bits_per_key(), median(count)?.scaled(1e-3))));
        at_client.push(Series::dots(label, hue, medians));
        let points = group.iter().map(|count| Point {
            x: count.bits_per_key(),
            y: server_time(count),
            interval: None,
        });
        in_server.push(Series::new(label, hue, Look::Dots, points.collect()));
    }
    let mut table = count_table(&shown)?;
    table.head.extend(["median at the client", "mean in the server"].map(String::from));
    for (row, count) in table.rows.iter_mut().zip(&shown) {
        let median = median(count).map_or(0.0, |median| 1e-3 * median.value);
        row.push(format!("{} µs", decimal(median, 3)));
        row.push(format!("{} µs", decimal(server_time(count), 3)));
    }
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
            Panel::Chart(Chart {
                title: "opened per question".to_string(),
                x: Axis::linear("bits per key"),
                y: Axis::logarithmic("SSTables"),
                series: opened,
            }),
            Panel::Chart(Chart {
                title: "in the server".to_string(),
                x: Axis::linear("bits per key"),
                y: Axis::from_zero("mean, µs"),
                series: in_server,
            }),
            Panel::Chart(Chart {
                title: "at the client".to_string(),
                x: Axis::linear("bits per key"),
                y: Axis::from_zero("median over rounds, µs"),
                series: at_client,
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{} {}",
                match against.is_empty() {
                    true =>
                        "The server uses our files, and opens as many SSTables in vain as they say."
                            .to_string(),
                    false => format!("The counts contradict theory: {}.", against.join("; ")),
                },
                same_memory(&samples, &shown),
            ),
            test: describe_counts(&ours),
        },
    })
}

/// What filters of the same memory as the server's own differ in.
fn same_memory(samples: &Samples<'_>, shown: &[&Count]) -> String {
    let own = chance_name(CHANCE);
    let Some(baseline) = shown.iter().find(|count| count.filter == own) else {
        return String::new();
    };
    let is_rival = |count: &&&Count| {
        count.replaced && (count.bits_per_key() / baseline.bits_per_key() - 1.0).abs() < 0.1
    };
    let rivals: Vec<&&Count> = shown.iter().filter(is_rival).collect();
    let describe = |count: &&&Count| {
        let compared =
            samples.compare(ABSENT, PARTS as f64, &count.filter, &own, corrected(rivals.len()));
        let speed = match compared {
            _ if !suffices(rivals.len(), samples.times(ABSENT, PARTS as f64, &own).len()) => {
                "too few rounds to compare times"
            }
            Some(Comparison::Faster) => "faster at the client",
            Some(Comparison::Slower) => "slower at the client",
            _ => "no difference at the client",
        };
        format!("k = {}: {} ({speed})", count.probes, per_question(count))
    };
    format!(
        "With {} bits per key, the server’s k = {} opens {} SSTables per question; {}.",
        decimal(baseline.bits_per_key(), 3),
        baseline.probes,
        per_question(baseline),
        rivals.iter().map(describe).collect::<Vec<_>>().join(", "),
    )
}

fn per_question(count: &Count) -> String {
    decimal(count.false_positives as f64 / count.questions.max(1) as f64, 3)
}

fn hue_of(kind: &str) -> Hue {
    match kind {
        "bloom" => Hue::Bloom,
        "blocked" => Hue::Blocked,
        "counting" => Hue::Counting,
        "cuckoo" => Hue::Cuckoo,
        "quotient" => Hue::Quotient,
        "fuse" => Hue::Fuse,
        "growing" => Hue::Growing,
        _ => Hue::Folded,
    }
}

/// Guards in the client.
pub(super) fn guards(data: &Dataset) -> Result<Figure, StudyError> {
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
    let mut table = Table::new(&[
        "guard",
        "FPR asked for",
        "theory",
        "passed",
        "95% interval",
        "bits per key",
        "time, 0% absent",
        "50%",
        "90%",
        "100%",
    ]);
    for count in &counts {
        let passed = count.questions - count.stopped;
        if proportion(passed, count.questions, confidence)?.low > count.fpr {
            against.push(format!("{} at {}", count.kind, percent(count.fpr, 1)));
        }
        let shown = proportion(passed, count.questions, CONFIDENCE)?;
        let mut cells = vec![
            count.kind.clone(),
            percent(count.fpr, 1),
            percent(count.expected_fpr, 2),
            percent(shown.value, 2),
            format!("{}–{}", percent(shown.low, 2), percent(shown.high, 2)),
            decimal(count.bits as f64 / count.keys as f64, 3),
        ];
        cells.extend([0.0, 0.5, 0.9, 1.0].map(|share| {
            let ratio = samples.ratio(first, share, &count.kind, NO_GUARD, CONFIDENCE);
            match ratio.filter(|_| count.fpr == TIMED_FPR) {
                Some(ratio) => format!("{}×", decimal(ratio.value, 2)),
                None => "–".to_string(),
            }
        }));
        table.row(cells);
    }

    let mut panels = Vec::new();
    let mut sentences = Vec::new();
    let mut kinds = samples.contenders(first);
    kinds.retain(|name| name != NO_GUARD);
    let comparisons = tasks.len() * kinds.len() * samples.xs(first).len();
    for task in &tasks {
        let shares = samples.xs(task);
        let series = kinds.iter().map(|kind| {
            let points = shares.iter().filter_map(|&share| {
                Some((share, samples.ratio(task, share, kind, NO_GUARD, CONFIDENCE)?))
            });
            Series::trace(kind.clone(), hue_of(kind), points)
        });
        panels.push(Panel::Chart(Chart {
            title: (*task).to_string(),
            x: Axis::linear("questions for absent keys").with_format(TickFormat::Percent),
            y: Axis::logarithmic("time, relative to no guard").with_format(TickFormat::Ratio),
            series: series.collect(),
        }));
        sentences.push(worth(&samples, task, &kinds, &shares, comparisons));
    }
    let smallest = counts
        .iter()
        .filter(|count| count.fpr == TIMED_FPR)
        .min_by(|a, b| a.bits.cmp(&b.bits))
        .map_or(String::new(), |count| {
            format!(
                " The smallest guard of FPR {} is {}: {} bits per key.",
                percent(TIMED_FPR, 1),
                count.kind,
                decimal(count.bits as f64 / count.keys as f64, 3)
            )
        });
    Ok(Figure {
        id: "cassandra-guards",
        title: "Guards in the client".to_string(),
        question: "When does a filter in the client pay in addition to the server’s?".to_string(),
        method: format!(
            "A filter of every kind, of all keys of a table (by crivo-store, from a scan), in front of the server: \
             what it stops does not reach the network. Times: FPR {}, one question at a time, a given share of \
             them for absent keys, {rounds} rounds in which all take turns, in front of a table whose SSTables \
             have filters, and, if the server’s settings could be chosen, of one whose SSTables have none. Bars: \
             95% intervals of the median ratio.",
            percent(TIMED_FPR, 1),
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{} {}{smallest}",
                match against.is_empty() {
                    true => "No guard lets more absent keys pass than it was made for.".to_string(),
                    false => format!("More pass than they were made for: {}.", against.join(", ")),
                },
                sentences.join(" "),
            ),
            test: format!(
                "Test: the share of absent keys that pass {} guards, by exact intervals corrected for their \
                 number (Bonferroni); probability of a false alarm at most {}%. {}",
                counts.len(),
                100.0 * FALSE_ALARM,
                describe_comparisons(comparisons, rounds)
            ),
        },
    })
}

/// From which share of absent keys on guards are faster than none.
fn worth(
    samples: &Samples<'_>,
    task: &str,
    kinds: &[String],
    shares: &[f64],
    comparisons: usize,
) -> String {
    let confidence = corrected(comparisons);
    let all = |share: f64, wanted: Comparison| {
        kinds
            .iter()
            .all(|kind| samples.compare(task, share, kind, NO_GUARD, confidence) == Some(wanted))
    };
    let first = shares.iter().copied().find(|&share| all(share, Comparison::Faster));
    let pays = match first {
        Some(share) => format!(
            "every guard is faster if {} or more of the questions are for absent keys",
            percent(share, 2)
        ),
        None => "not every guard is faster at any share".to_string(),
    };
    let slower: Vec<&String> = kinds
        .iter()
        .filter(|kind| {
            samples.compare(task, 0.0, kind, NO_GUARD, confidence) == Some(Comparison::Slower)
        })
        .collect();
    let costs = match slower.is_empty() {
        true => "if all are for present keys none is slower than no guard".to_string(),
        false => {
            let names: Vec<&str> = slower.iter().map(|kind| kind.as_str()).collect();
            format!("if all are for present keys {} slower", names.join(", "))
        }
    };
    let gains: Vec<f64> = kinds
        .iter()
        .filter_map(|kind| samples.ratio(task, 1.0, kind, NO_GUARD, CONFIDENCE))
        .map(|ratio| 1.0 / ratio.value)
        .collect();
    let gain = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let gain = match gain.is_finite() {
        true => {
            format!("; if all are for absent keys, at least {} times as fast", decimal(gain, 2))
        }
        false => String::new(),
    };
    format!("Where {task}, {pays}; {costs}{gain}.")
}
