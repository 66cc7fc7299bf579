//! Requests through a tree of nodes.

use crivo_route::RouteError;

use super::mean_of;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::sim::routing::tree::{TreePlan, TreeRow, measure};
use crate::statistics::{CONFIDENCE, FALSE_ALARM};

/// The FPRs that filters are sized for.
pub(super) const FPRS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// With fewer false forwards than this in all trees there is nothing to test.
const MIN_FALSE_FORWARDS: f64 = 30.0;

/// The smallest excess in the plot: shared filters of a low FPR have hardly any false positives.
const MIN_DRAWN: f64 = 1e-5;

/// Measures every FPR on as many trees as there are repetitions.
pub(super) fn run(
    context: &Context<'_>,
    data: &mut Dataset,
    (mut done, steps): (u64, u64),
) -> Result<(), StudyError> {
    let mut random = context.random("routing trees");
    let plan = TreePlan {
        depth: context.pick(3, 3, 4),
        requests: context.pick(200, 1_000, 2_000),
        changes: context.pick(20, 50, 200),
        ..TreePlan::default()
    };
    data.set_parameter("arity", plan.arity);
    data.set_parameter("tree_depth", plan.depth);
    let mut trees = Vec::new();
    for fpr in FPRS {
        for _ in 0..context.repetitions() {
            let plan = TreePlan { fpr, seed: random.number(), ..plan };
            trees.extend(measure(&plan).map_err(refused)?);
            done += 1;
            context.step(done, steps);
        }
    }
    data.add("trees", &trees)
}

fn refused(error: RouteError) -> StudyError {
    StudyError::wrong(format_args!("a tree could not be built: {error}"))
}

/// All trees of one design and FPR.
struct TreeGroup<'a> {
    design: &'a str,
    fpr: f64,
    trees: Vec<&'a TreeRow>,
}

/// The designs, each with a colour, in the order of the data.
fn designs(trees: &[TreeRow]) -> Vec<(&str, Hue)> {
    let mut names: Vec<&str> = Vec::new();
    for tree in trees {
        if !names.contains(&tree.design.as_str()) {
            names.push(&tree.design);
        }
    }
    names.into_iter().zip([Hue::Bloom, Hue::Cuckoo]).collect()
}

fn groups(trees: &[TreeRow]) -> Vec<TreeGroup<'_>> {
    let mut groups = Vec::new();
    for (design, _) in designs(trees) {
        for fpr in FPRS {
            let of = |tree: &&TreeRow| tree.design == design && tree.fpr == fpr;
            groups.push(TreeGroup { design, fpr, trees: trees.iter().filter(of).collect() });
        }
    }
    groups
}

pub(super) fn stretch_figure(data: &Dataset, trees: &[TreeRow]) -> Result<Figure, StudyError> {
    let groups = groups(trees);
    let false_forwards = |group: &TreeGroup<'_>| -> f64 {
        group.trees.iter().map(|tree| tree.false_forwards_theory * tree.requests as f64).sum()
    };
    let tested: Vec<&TreeGroup<'_>> =
        groups.iter().filter(|group| false_forwards(group) >= MIN_FALSE_FORWARDS).collect();
    let confidence = 1.0 - FALSE_ALARM / tested.len().max(1) as f64;
    let against = tested
        .iter()
        .filter(|group| {
            let off = |tree: &TreeRow| tree.stretch - tree.stretch_theory;
            !mean_of(&group.trees, off, confidence).contains(0.0)
        })
        .count();
    let lost: u64 = trees.iter().map(|tree| tree.lost).sum();
    let mut table = Table::new(&[
        "design",
        "ε",
        "stretch, theory",
        "stretch",
        "95% interval",
        "false forwards per request",
    ]);
    for group in &groups {
        let seen = mean_of(&group.trees, |tree| tree.stretch, CONFIDENCE);
        let theory = mean_of(&group.trees, |tree| tree.stretch_theory, CONFIDENCE);
        let forwards = mean_of(&group.trees, |tree| tree.false_forwards, CONFIDENCE);
        table.row([
            group.design.to_string(),
            percent(group.fpr, 2),
            decimal(theory.value, 5),
            decimal(seen.value, 5),
            format!("{}–{}", decimal(seen.low, 5), decimal(seen.high, 5)),
            decimal(forwards.value, 2),
        ]);
    }
    let mut series = Vec::new();
    for (design, hue) in designs(trees) {
        let excess = |tree: &TreeRow| tree.stretch_theory - 1.0;
        let theory_of = |group: &TreeGroup<'_>| mean_of(&group.trees, excess, CONFIDENCE).value;
        let own = || {
            let groups = groups.iter().filter(|group| group.design == design);
            groups.filter(|group| theory_of(group) >= MIN_DRAWN)
        };
        let theory = own().map(|group| (group.fpr, theory_of(group)));
        series.push(Series::line("theory", Hue::Theory, theory));
        let seen = |group: &TreeGroup<'_>| {
            (group.fpr, mean_of(&group.trees, |tree| tree.stretch - 1.0, CONFIDENCE))
        };
        series.push(Series::dots(format!("filters {design}"), hue, own().map(seen)));
    }
    let (arity, depth): (u32, u32) = (data.parameter("arity")?, data.parameter("tree_depth")?);
    let first = trees.first();
    Ok(Figure {
        id: "routing-tree-stretch",
        title: "Stretch of requests in a tree".to_string(),
        question: "How many additional hops does a request take, for filters of a given FPR?"
            .to_string(),
        method: format!(
            "{} trees for each ε, with {arity} children a node and leaves at depth {depth}: {} nodes, {} \
             resources. {} requests in each, from random nodes for resources of others, and as many for \
             absent resources. Shared: all filters have the size of the root’s, so that a parent’s filter \
             is the OR of its children’s. Sized: each filter is sized for its own subtree. Theory: from \
             the FPRs of the filters that are queried on the way. The plot shows stretch − 1. Bars: 95% \
             intervals over trees.",
            groups.first().map_or(0, |group| group.trees.len()),
            thousands(first.map_or(0, |tree| tree.nodes)),
            thousands(first.map_or(0, |tree| tree.resources)),
            thousands(first.map_or(0, |tree| tree.requests)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("ε, the FPR that filters are sized for")
                .with_format(TickFormat::Percent),
            y: Axis::logarithmic("hops beyond the minimum").with_format(TickFormat::Percent),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(lost == 0 && against == 0),
            sentence: format!(
                "{} {}",
                match lost {
                    0 => format!(
                        "None of {} requests had a wrong result.",
                        // As many requests were for absent resources.
                        thousands(2 * trees.iter().map(|tree| tree.requests).sum::<u64>())
                    ),
                    some => format!("{} requests had a wrong result.", thousands(some)),
                },
                match against {
                    0 => "The stretch agrees with theory, for both designs.".to_string(),
                    some => format!(
                        "The stretch contradicts theory in {some} of {} cases.",
                        tested.len()
                    ),
                },
            ),
            test: format!(
                "Test: the mean distance from theory over trees, by Student’s interval, in the {} cases \
                 in which theory expects at least {MIN_FALSE_FORWARDS} false forwards, corrected for their \
                 number (Bonferroni); probability of a false alarm at most {}%.",
                tested.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

pub(super) fn cost_figure(trees: &[TreeRow]) -> Figure {
    let groups = groups(trees);
    let mut table = Table::new(&[
        "design",
        "ε",
        "bytes per change",
        "95% interval",
        "messages per change",
        "summary, bytes",
        "entropy",
        "filters, bytes",
        "stored digests, bytes",
    ]);
    for group in &groups {
        let mean = |column: fn(&TreeRow) -> f64| mean_of(&group.trees, column, CONFIDENCE);
        let change = mean(|tree| tree.bytes_per_change);
        table.row([
            group.design.to_string(),
            percent(group.fpr, 2),
            decimal(change.value, 3),
            format!("{}–{}", decimal(change.low, 3), decimal(change.high, 3)),
            decimal(mean(|tree| tree.messages_per_change).value, 3),
            thousands(mean(|tree| tree.summary_bytes).value.round() as u64),
            thousands(mean(|tree| tree.summary_entropy_bytes).value.round() as u64),
            thousands(mean(|tree| tree.filter_bytes as f64).value.round() as u64),
            thousands(mean(|tree| tree.storage_bytes as f64).value.round() as u64),
        ]);
    }
    let (mut changes, mut summaries) = (Vec::new(), Vec::new());
    for (design, hue) in designs(trees) {
        let own = |column: fn(&TreeRow) -> f64| {
            let groups = groups.iter().filter(move |group| group.design == design);
            groups.map(move |group| (group.fpr, mean_of(&group.trees, column, CONFIDENCE)))
        };
        let name = format!("filters {design}");
        changes.push(Series::dots(name.clone(), hue, own(|tree| tree.bytes_per_change)));
        let entropy = own(|tree| tree.summary_entropy_bytes).map(|(x, mean)| (x, mean.value));
        summaries.push(Series::line("theory: entropy", Hue::Theory, entropy));
        summaries.push(Series::dots(name, hue, own(|tree| tree.summary_bytes)));
    }
    let above = trees
        .iter()
        .map(|tree| tree.summary_bytes / tree.summary_entropy_bytes - 1.0)
        .fold(0.0, f64::max);
    let at_one = |design: &str, column: fn(&TreeRow) -> f64| {
        let group = groups.iter().find(|group| group.design == design && group.fpr == FPRS[0]);
        group.map_or(0.0, |group| mean_of(&group.trees, column, CONFIDENCE).value)
    };
    let costs: Vec<String> = designs(trees)
        .into_iter()
        .map(|(design, _)| {
            format!(
                "with filters {design} a change takes {} bytes in {} messages",
                decimal(at_one(design, |tree| tree.bytes_per_change), 2),
                decimal(at_one(design, |tree| tree.messages_per_change), 2),
            )
        })
        .collect();
    Figure {
        id: "routing-tree-cost",
        title: "Cost of changes in a tree".to_string(),
        question: "How many bytes does an update take, and a summary of a whole subtree?"
            .to_string(),
        method: "The same trees. A change is one resource added or removed, which is sent from parent to \
            parent as long as it changes a filter. A summary describes the whole subtree of a child \
            of the root, as sent when a node joins. Theory: the entropy of the set of bits or digests \
            that is sent. Bars: 95% intervals over trees."
            .to_string(),
        panels: vec![
            Panel::Chart(Chart {
                title: "a change".to_string(),
                x: Axis::logarithmic("ε").with_format(TickFormat::Percent),
                y: Axis::from_zero("bytes of all messages"),
                series: changes,
            }),
            Panel::Chart(Chart {
                title: "a summary".to_string(),
                x: Axis::logarithmic("ε").with_format(TickFormat::Percent),
                y: Axis::from_zero("bytes"),
                series: summaries,
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "At ε = {}, {}; a summary takes at most {} more than its entropy.",
                percent(FPRS[0], 1),
                costs.join(", "),
                percent(above, 2),
            ),
            test: String::new(),
        },
    }
}
