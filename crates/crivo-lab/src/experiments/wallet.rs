//! Wallets: filters that are sent to a node, or fetched from it.

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::sim::wallet::{Chain, ChainPlan, WalletRow as Row, by_block_filters, by_sent_filter};
use crate::statistics::{
    CONFIDENCE, FALSE_ALARM, PointEstimate, mean, mean_interval, proportion_of_samples,
};

/// A wallet that looks for its transactions.
#[derive(Debug)]
pub(super) struct Wallet;

/// The false-positive rates that filters of BIP 37 are made for.
const FPRS: [f64; 3] = [0.0001, 0.001, 0.01];

impl Experiment for Wallet {
    fn name(&self) -> &'static str {
        "wallet"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let mut random = context.random("wallet chains");
        let plan = ChainPlan {
            blocks: context.pick(10, 40, 100),
            transactions: context.pick(50, 200, 500),
            ..ChainPlan::default()
        };
        let sizes: &[u64] = context.pick(
            &[1_000, 10_000],
            &[1_000, 3_000, 10_000, 30_000],
            &[1_000, 3_000, 10_000, 30_000],
        );
        data.set_parameter("transactions", plan.transactions);
        data.set_parameter("activity", plan.activity);
        let chains = context.repetitions();
        let mut rows = Vec::new();
        for number in 0..chains {
            let chain = Chain::generate(&ChainPlan { seed: random.number(), ..plan });
            for &addresses in sizes {
                rows.push(by_block_filters(&chain, addresses));
                for fpr in FPRS {
                    rows.push(by_sent_filter(&chain, addresses, fpr)?);
                }
            }
            context.step(u64::from(number) + 1, u64::from(chains));
        }
        data.add("runs", &rows)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rows: Vec<Row> = data.rows("runs")?;
        let groups = groups(&rows);
        Ok(Section {
            title: "Wallets",
            introduction:
                "A wallet without the whole chain must learn of its payments from a node that it does not \
                trust. It can send the node a Bloom filter of its addresses and receive the transactions \
                that match (BIP 37), or fetch a small filter of every block and then the blocks that may \
                concern it (BIP 158). Neither misses a transaction; they differ in bytes, and in what the \
                node learns."
                    .to_string(),
            sources: &[
                Source::Bonet2016,
                Source::HearnCorallo2012,
                Source::OsuntokunAkselrod2017,
                Source::Gervais2014,
            ],
            figures: vec![
                bytes_figure(data, &groups)?,
                in_vain_figure(&groups)?,
                privacy_figure(&groups)?,
            ],
        })
    }
}

/// All runs of one protocol, FPR and wallet size: one for each chain.
struct Group<'a> {
    protocol: &'a str,
    fpr: f64,
    addresses: u64,
    rows: Vec<&'a Row>,
}

impl Group<'_> {
    fn is_sent(&self) -> bool {
        self.protocol == "BIP 37"
    }

    /// The protocol, and the FPR where it is chosen.
    fn label(&self) -> String {
        match self.is_sent() {
            true => format!("{}, ε = {}", self.protocol, percent(self.fpr, 1)),
            false => self.protocol.to_string(),
        }
    }

    fn hue(&self) -> Hue {
        const HUES: [Hue; 3] = [Hue::Bloom, Hue::Blocked, Hue::Counting];
        let index = FPRS.iter().position(|fpr| *fpr == self.fpr);
        index.map_or(Hue::Fuse, |index| HUES[index])
    }

    fn mean(&self, column: impl Fn(&Row) -> f64, confidence: f64) -> PointEstimate {
        let sample: Vec<f64> = self.rows.iter().map(|row| column(row)).collect();
        mean_interval(&sample, confidence)
    }

    fn bytes_per_block(&self) -> PointEstimate {
        self.mean(|row| row.bytes as f64 / row.blocks as f64, CONFIDENCE)
    }

    fn sum(&self, column: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(|row| column(row)).sum()
    }

    /// A share over all chains, measured and in theory.
    fn share(
        &self,
        count: impl Fn(&Row) -> u64,
        theory: impl Fn(&Row) -> f64,
        trials: impl Fn(&Row) -> u64,
        confidence: f64,
    ) -> Result<(PointEstimate, f64), StudyError> {
        let trials = self.sum(trials);
        let counts = (self.sum(&count), self.sum(|row| count(row).pow(2)));
        let samples = self.rows.len() as u32;
        let measured = within_one(proportion_of_samples(samples, trials, counts, confidence)?);
        let theory: f64 = self.rows.iter().map(|row| theory(row)).sum();
        Ok((measured, theory / trials as f64))
    }

    /// The share of what does not concern the wallet that is fetched.
    fn in_vain(&self, confidence: f64) -> Result<(PointEstimate, f64), StudyError> {
        self.share(|row| row.in_vain, |row| row.in_vain_theory, |row| row.candidates, confidence)
    }

    /// The share of others’ addresses that the node suspects.
    fn suspected(&self, confidence: f64) -> Result<(PointEstimate, f64), StudyError> {
        let theory = |row: &Row| row.others_suspected_theory;
        self.share(|row| row.others_suspected, theory, |row| row.others, confidence)
    }

    /// The probability that a suspected address is the wallet’s.
    fn precision(&self) -> PointEstimate {
        within_one(self.mean(Row::precision, CONFIDENCE))
    }

    /// The same in theory.
    fn precision_theory(&self) -> f64 {
        mean(&self.rows.iter().map(|row| row.precision_theory()).collect::<Vec<_>>())
    }
}

/// A share is not below 0 or above 1, as an interval by Student’s distribution may be.
fn within_one(share: PointEstimate) -> PointEstimate {
    PointEstimate { low: share.low.max(0.0), high: share.high.min(1.0), ..share }
}

/// In the order of the data.
fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let is_same = |group: &&mut Group<'_>| {
            (group.protocol, group.fpr, group.addresses)
                == (row.protocol.as_str(), row.fpr, row.addresses)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                protocol: &row.protocol,
                fpr: row.fpr,
                addresses: row.addresses,
                rows: vec![row],
            }),
        }
    }
    groups
}

/// Measurements and theory over wallet sizes, by protocol and FPR.
fn series(
    groups: &[&Group<'_>],
    measured: impl Fn(&Group<'_>) -> Result<PointEstimate, StudyError>,
    theory: impl Fn(&Group<'_>) -> Result<f64, StudyError>,
) -> Result<Vec<Series>, StudyError> {
    let mut labels: Vec<String> = groups.iter().map(|group| group.label()).collect();
    labels.sort();
    labels.dedup();
    let mut series = Vec::new();
    for label in labels {
        let own: Vec<&&Group<'_>> = groups.iter().filter(|group| group.label() == label).collect();
        let Some(hue) = own.first().map(|group| group.hue()) else { continue };
        let (mut curve, mut dots) = (Vec::new(), Vec::new());
        for group in own {
            curve.push((group.addresses as f64, theory(group)?));
            dots.push((group.addresses as f64, measured(group)?));
        }
        series.push(Series::line("theory", Hue::Theory, curve));
        series.push(Series::dots(label, hue, dots));
    }
    Ok(series)
}

fn addresses_axis() -> Axis {
    Axis::logarithmic("addresses of the wallet")
}

/// The largest wallet that was measured.
fn largest(groups: &[Group<'_>]) -> u64 {
    groups.iter().map(|group| group.addresses).max().unwrap_or(0)
}

fn bytes_figure(data: &Dataset, groups: &[Group<'_>]) -> Result<Figure, StudyError> {
    let missed: u64 = groups.iter().map(|group| group.sum(|row| row.missed)).sum();
    let own: u64 = groups.iter().map(|group| group.sum(|row| row.own_transactions)).sum();
    let mut table = Table::new(&[
        "protocol",
        "addresses",
        "bytes per block, theory",
        "bytes per block",
        "95% interval",
        "of which filters",
        "ε in theory",
    ]);
    for group in groups {
        let seen = group.bytes_per_block();
        let theory = group.mean(|row| row.bytes_theory / row.blocks as f64, CONFIDENCE);
        let filters = group.mean(|row| row.filter_bytes as f64 / row.blocks as f64, CONFIDENCE);
        table.row([
            group.label(),
            thousands(group.addresses),
            thousands(theory.value.round() as u64),
            thousands(seen.value.round() as u64),
            format!(
                "{}–{}",
                thousands(seen.low.max(0.0).round() as u64),
                thousands(seen.high.round() as u64)
            ),
            thousands(filters.value.round() as u64),
            percent(group.mean(|row| row.fpr_theory, CONFIDENCE).value, 2),
        ]);
    }
    let all: Vec<&Group<'_>> = groups.iter().collect();
    let mut lines = series(
        &all,
        |group| Ok(group.bytes_per_block()),
        |group| Ok(group.mean(|row| row.bytes_theory / row.blocks as f64, CONFIDENCE).value),
    )?;
    let whole = |group: &Group<'_>| {
        group.mean(|row| row.chain_bytes as f64 / row.blocks as f64, CONFIDENCE).value
    };
    let fetched: Vec<&Group<'_>> = groups.iter().filter(|group| !group.is_sent()).collect();
    let chain = fetched.iter().map(|group| (group.addresses as f64, whole(group)));
    lines.push(Series::dashed("all blocks", Hue::Limit, chain));
    // The filters of blocks are the same for every wallet: one test.
    let off = fetched.first().map(|group| {
        let confidence = 1.0 - FALSE_ALARM;
        group.mean(|row| row.filter_bytes as f64 / row.filter_bytes_theory - 1.0, confidence)
    });
    let agrees = off.is_none_or(|off| off.contains(0.0));
    let at_largest: Vec<String> = groups
        .iter()
        .filter(|group| group.addresses == largest(groups))
        .map(|group| {
            let share = group.bytes_per_block().value / whole(group);
            format!("{} with {}", percent(share, 2), group.label())
        })
        .collect();
    let (transactions, activity): (u32, f64) =
        (data.parameter("transactions")?, data.parameter("activity")?);
    let first = groups.first().and_then(|group| group.rows.first());
    Ok(Figure {
        id: "wallet-bytes",
        title: "Bytes that a wallet fetches".to_string(),
        question: "What does it cost a wallet to learn of its transactions?".to_string(),
        method: format!(
            "{} generated chains of {} blocks with {transactions} transactions of others, each of one to \
             three inputs and outputs that pay to hashes of keys. In a block the wallet is paid with a \
             probability of {}, and pays with the same. BIP 37: the wallet sends a filter of the hashes \
             and keys of all its addresses, of at most 36 000 bytes, and receives of every block its \
             header, a proof, and the transactions that match. BIP 158: it fetches the header and the \
             filter of every block, and the blocks that match. Theory: from the FPRs of the filters. Bars: \
             95% intervals over chains.",
            groups.first().map_or(0, |group| group.rows.len()),
            first.map_or(0, |row| row.blocks),
            percent(activity, 2),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: addresses_axis(),
            y: Axis::logarithmic("bytes per block"),
            series: lines,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(missed == 0 && agrees),
            sentence: format!(
                "{} {} Of the bytes of all blocks, a wallet of {} addresses fetches {}.",
                match missed {
                    0 => format!(
                        "No transaction of a wallet was missed, in {} cases.",
                        thousands(own)
                    ),
                    some => format!("{} transactions were missed.", thousands(some)),
                },
                match agrees {
                    true => "Filters of blocks have the size that theory gives.".to_string(),
                    false => format!(
                        "The size of filters of blocks contradicts theory, by {}.",
                        percent(off.map_or(0.0, |off| off.value), 2)
                    ),
                },
                thousands(largest(groups)),
                at_largest.join(", "),
            ),
            test: format!(
                "Test: the mean relative difference of the sizes of filters from theory over chains, by \
                 Student’s interval; probability of a false alarm at most {}%.",
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn in_vain_figure(groups: &[Group<'_>]) -> Result<Figure, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / groups.len().max(1) as f64;
    let mut against = Vec::new();
    let mut table =
        Table::new(&["protocol", "addresses", "of", "in vain", "theory", "share", "95% interval"]);
    for group in groups {
        let (seen, theory) = group.in_vain(confidence)?;
        if !seen.contains(theory) {
            against.push(format!("{} and {} addresses", group.label(), thousands(group.addresses)));
        }
        let (shown, _) = group.in_vain(CONFIDENCE)?;
        let what = if group.is_sent() { "transactions" } else { "blocks" };
        table.row([
            group.label(),
            thousands(group.addresses),
            format!("{} {what}", thousands(group.sum(|row| row.candidates))),
            thousands(group.sum(|row| row.in_vain)),
            percent(theory, 3),
            percent(seen.value, 3),
            format!("{}–{}", percent(shown.low, 3), percent(shown.high, 3)),
        ]);
    }
    let panel = |is_sent: bool, title: &str, label: &str| -> Result<Panel, StudyError> {
        let own: Vec<&Group<'_>> =
            groups.iter().filter(|group| group.is_sent() == is_sent).collect();
        let series = series(
            &own,
            |group| Ok(group.in_vain(CONFIDENCE)?.0),
            |group| Ok(group.in_vain(CONFIDENCE)?.1),
        )?;
        Ok(Panel::Chart(Chart {
            title: title.to_string(),
            x: addresses_axis(),
            y: match is_sent {
                true => Axis::logarithmic(label),
                false => Axis::from_zero(label),
            }
            .with_format(TickFormat::Percent),
            series,
        }))
    };
    let blocks: Vec<String> = groups
        .iter()
        .filter(|group| !group.is_sent() && group.addresses == largest(groups))
        .map(|group| Ok(percent(group.in_vain(CONFIDENCE)?.0.value, 2)))
        .collect::<Result<_, StudyError>>()?;
    Ok(Figure {
        id: "wallet-in-vain",
        title: "Fetched in vain".to_string(),
        question: "How much is fetched that does not concern the wallet?".to_string(),
        method: "The same chains. A transaction matches a filter of BIP 37 by its id, the hash of each \
            output, or the outpoint, the signature and the key of each input: one false positive is \
            enough. A node takes no filter of more than 36 000 bytes, so that a large wallet has an FPR \
            above the one that it asks for. In a filter of BIP 158 each element has an FPR of 1 in \
            784 931; the wallet asks for all its scripts. Theory: 1 − (1 − ε)ⁿ for n questions. Bars: 95% \
            intervals."
            .to_string(),
        panels: vec![
            panel(true, "BIP 37", "transactions of others that are sent")?,
            panel(false, "BIP 158", "blocks without the wallet that are fetched")?,
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against.is_empty()),
            sentence: format!(
                "{} A wallet of {} addresses fetches {} of the blocks in vain by BIP 158.",
                match against.is_empty() {
                    true => "What is fetched in vain agrees with theory.".to_string(),
                    false => format!(
                        "What is fetched in vain contradicts theory for {}.",
                        against.join(", ")
                    ),
                },
                thousands(largest(groups)),
                blocks.join(", "),
            ),
            test: format!(
                "Test: the share of transactions or blocks in {} cases, by the wider of the exact interval \
                 and Student’s over chains, corrected for their number (Bonferroni); probability of a \
                 false alarm at most {}%.",
                groups.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn privacy_figure(groups: &[Group<'_>]) -> Result<Figure, StudyError> {
    let tested: Vec<&Group<'_>> = groups.iter().filter(|group| group.is_sent()).collect();
    let confidence = 1.0 - FALSE_ALARM / tested.len().max(1) as f64;
    let mut against = 0;
    for group in &tested {
        let (seen, theory) = group.suspected(confidence)?;
        against += usize::from(!seen.contains(theory));
    }
    let mut table = Table::new(&[
        "protocol",
        "addresses",
        "suspected of others, theory",
        "suspected of others",
        "the wallet’s",
        "precision, theory",
        "precision",
        "95% interval",
    ]);
    for group in groups {
        let per_chain = |column: fn(&Row) -> f64| decimal(group.mean(column, CONFIDENCE).value, 3);
        let precision = group.precision();
        table.row([
            group.label(),
            thousands(group.addresses),
            per_chain(|row| row.others_suspected_theory),
            per_chain(|row| row.others_suspected as f64),
            per_chain(|row| row.own_suspected as f64),
            percent(group.precision_theory(), 3),
            percent(precision.value, 3),
            format!("{}–{}", percent(precision.low, 3), percent(precision.high, 3)),
        ]);
    }
    let all: Vec<&Group<'_>> = groups.iter().collect();
    let series = series(&all, |group| Ok(group.precision()), |group| Ok(group.precision_theory()))?;
    let smallest = groups.iter().map(|group| group.addresses).min().unwrap_or(0);
    let at_smallest: Vec<String> = groups
        .iter()
        .filter(|group| group.addresses == smallest)
        .map(|group| format!("{} with {}", percent(group.precision().value, 2), group.label()))
        .collect();
    Ok(Figure {
        id: "wallet-privacy",
        title: "What the node learns".to_string(),
        question: "How well can the node guess the addresses of the wallet?".to_string(),
        method: "The same chains. By BIP 37 the node has the filter: it suspects every address in the \
            blocks whose hash matches, and, where an input shows the key, whose key matches as well. By \
            BIP 158 it sees which blocks are fetched, and suspects every address in them. Precision: the \
            share of suspected addresses that are the wallet’s; all of these that are in the blocks are \
            suspected. Theory: ε of the addresses of others, ε² of those whose keys are shown; or all in \
            blocks that are fetched. Bars: 95% intervals over chains."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: addresses_axis(),
            y: Axis::logarithmic("suspected addresses that are the wallet’s")
                .with_format(TickFormat::Percent),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: format!(
                "A suspected address is that of a wallet of {} addresses with a probability of {}. {}",
                thousands(smallest),
                at_smallest.join(", "),
                match against {
                    0 => "The number of suspected addresses agrees with theory.".to_string(),
                    some => format!(
                        "The number of suspected addresses contradicts theory in {some} of {} cases.",
                        tested.len()
                    ),
                },
            ),
            test: format!(
                "Test: the share of others’ addresses that match a filter of BIP 37 in {} cases, by the \
                 wider of the exact interval and Student’s over chains, corrected for their number \
                 (Bonferroni); probability of a false alarm at most {}%.",
                tested.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
