//! Packets to moving devices.

use super::mean_of;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::sim::routing::area::{AreaPlan, AreaRow, measure};
use crate::statistics::{CONFIDENCE, FALSE_ALARM};

/// The FPRs that filters are sized for, at the full depth.
const FPRS: [f64; 5] = [0.001, 0.003, 0.01, 0.03, 0.1];
/// The FPR at which depths are compared, and for which there is a goal.
const GOAL_FPR: f64 = 0.01;
/// The goal for the mean stretch.
const GOAL: f64 = 1.04;

/// Every depth at the goal's FPR, and every FPR at the largest depth.
fn plans(context: &Context<'_>) -> Vec<AreaPlan> {
    let deepest = context.pick(5, 10, 10);
    let plan = AreaPlan {
        depth: deepest,
        devices: context.pick(100, 300, 2_000),
        ticks: context.pick(20, 30, 50),
        packets_per_tick: 20,
        ..AreaPlan::default()
    };
    let shallow = [4, 6, 8].into_iter().filter(|&depth| depth < deepest);
    let depths = shallow.map(|depth| AreaPlan { depth, fpr: GOAL_FPR, ..plan });
    depths.chain(FPRS.map(|fpr| AreaPlan { fpr, ..plan })).collect()
}

pub(super) fn plan_count(context: &Context<'_>) -> u64 {
    plans(context).len() as u64
}

/// Measures each plan on as many areas as there are repetitions.
pub(super) fn run(
    context: &Context<'_>,
    data: &mut Dataset,
    (mut done, steps): (u64, u64),
) -> Result<(), StudyError> {
    let mut random = context.random("routing areas");
    let mut areas = Vec::new();
    for plan in plans(context) {
        for _ in 0..context.repetitions() {
            areas.push(measure(&AreaPlan { seed: random.number(), ..plan })?);
            done += 1;
            context.step(done, steps);
        }
    }
    data.add("areas", &areas)
}

/// The areas of one FPR and depth.
fn of(areas: &[AreaRow], fpr: f64, depth: u8) -> Vec<&AreaRow> {
    areas.iter().filter(|area| area.fpr == fpr && area.depth == depth).collect()
}

fn deepest(areas: &[AreaRow]) -> u8 {
    areas.iter().map(|area| area.depth).max().unwrap_or(0)
}

pub(super) fn stretch_figure(areas: &[AreaRow]) -> Figure {
    let depth = deepest(areas);
    let groups: Vec<(f64, Vec<&AreaRow>)> =
        FPRS.iter().map(|&fpr| (fpr, of(areas, fpr, depth))).collect();
    // One more comparison: the goal.
    let confidence = 1.0 - FALSE_ALARM / (groups.len() + 1) as f64;
    let off = |area: &AreaRow| area.stretch_at_rest - area.stretch_at_rest_theory;
    let against =
        groups.iter().filter(|(_, own)| !mean_of(own, off, confidence).contains(0.0)).count();
    let goal = mean_of(&of(areas, GOAL_FPR, depth), |area| area.stretch, confidence);
    let lost: u64 = areas.iter().map(|area| area.lost).sum();
    let mut table = Table::new(&[
        "ε",
        "stretch at rest, theory",
        "stretch at rest",
        "95% interval",
        "stretch while moving",
        "95% interval",
        "false forwards per packet",
        "filters, bytes",
    ]);
    for (fpr, own) in &groups {
        let mean = |column: fn(&AreaRow) -> f64| mean_of(own, column, CONFIDENCE);
        let (rest, moving) = (mean(|area| area.stretch_at_rest), mean(|area| area.stretch));
        table.row([
            percent(*fpr, 1),
            decimal(mean(|area| area.stretch_at_rest_theory).value, 5),
            decimal(rest.value, 5),
            format!("{}–{}", decimal(rest.low, 5), decimal(rest.high, 5)),
            decimal(moving.value, 5),
            format!("{}–{}", decimal(moving.low, 5), decimal(moving.high, 5)),
            decimal(mean(|area| area.false_forwards).value, 2),
            thousands(mean(|area| area.filter_bytes as f64).value.round() as u64),
        ]);
    }
    let column = |column: fn(&AreaRow) -> f64| {
        let mean =
            move |(fpr, own): &(f64, Vec<&AreaRow>)| (*fpr, mean_of(own, column, CONFIDENCE));
        groups.iter().map(mean)
    };
    let theory = column(|area| area.stretch_at_rest_theory).map(|(x, mean)| (x, mean.value));
    let first = areas.first();
    let packets: u64 = areas.iter().map(|area| area.packets).sum();
    Figure {
        id: "routing-area-stretch",
        title: "Stretch of packets to moving devices".to_string(),
        question: format!(
            "Does every packet arrive, at a mean stretch of at most {GOAL} for filters of {}?",
            percent(GOAL_FPR, 1)
        ),
        method: format!(
            "{} areas for each ε, recursively divided in four {depth} times, with {} devices that move by \
             the random waypoint model (per tick, the time of a hop, 10⁻⁶ to 3·10⁻⁵ of a side). Packets \
             between random devices, while all move and again while all rest. Theory: from the FPRs of \
             the filters that are queried on the way. Bars: 95% intervals over areas.",
            groups.first().map_or(0, |(_, own)| own.len()),
            thousands(first.map_or(0, |area| area.devices)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("ε, the FPR that filters are sized for")
                .with_format(TickFormat::Percent),
            y: Axis::linear("stretch").with_format(TickFormat::Ratio),
            series: vec![
                Series::dashed(
                    format!("goal at {}", percent(GOAL_FPR, 1)),
                    Hue::Limit,
                    [(FPRS[0], GOAL), (GOAL_FPR, GOAL)],
                ),
                Series::line("theory, at rest", Hue::Theory, theory),
                Series::dots("at rest", Hue::Bloom, column(|area| area.stretch_at_rest)),
                Series::dots("while moving", Hue::Cuckoo, column(|area| area.stretch)),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: if lost > 0 || against > 0 || goal.low > GOAL {
                Finding::Differs
            } else if goal.high <= GOAL {
                Finding::Agrees
            } else {
                Finding::Undecided
            },
            sentence: format!(
                "{} The mean stretch at {} and depth {depth} is {}, {}. {}",
                match lost {
                    // As many packets were sent at rest.
                    0 => format!("No packet was lost, of {}.", thousands(2 * packets)),
                    some => format!("{} packets were lost.", thousands(some)),
                },
                percent(GOAL_FPR, 1),
                decimal(goal.value, 4),
                if goal.high <= GOAL {
                    format!("significantly below {GOAL}")
                } else if goal.low > GOAL {
                    format!("significantly above {GOAL}")
                } else {
                    format!("and more areas are needed to decide whether it is below {GOAL}")
                },
                match against {
                    0 => "At rest, the stretch agrees with theory.".to_string(),
                    some => format!(
                        "At rest, the stretch contradicts theory at {some} of {} FPRs.",
                        groups.len()
                    ),
                },
            ),
            test: format!(
                "Test: the mean distance from theory at each of {} FPRs, and the goal, by Student’s \
                 intervals over areas, corrected for their number (Bonferroni); probability of a false \
                 alarm at most {}%.",
                groups.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}

/// The messages per move if every border between smallest squares is crossed equally often: of the
/// 2^D − 1 lines that divide the area, 2^(j − 1) belong to the squares of level j, and crossing one of
/// those changes D − j + 1 squares on each side, each of which informs four neighbours.
fn messages_if_even(depth: u8) -> f64 {
    let lines = 2f64.powi(i32::from(depth)) - 1.0;
    let messages =
        |level: u8| 8.0 * f64::from(depth - level + 1) * 2f64.powi(i32::from(level) - 1) / lines;
    (1..=depth).map(messages).sum()
}

pub(super) fn move_figure(areas: &[AreaRow]) -> Figure {
    let mut depths: Vec<u8> = areas.iter().map(|area| area.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut table = Table::new(&[
        "depth",
        "messages, theory",
        "messages per move",
        "95% interval",
        "bytes per move",
        "95% interval",
        "moves",
    ]);
    let (mut bytes, mut messages) = (Vec::new(), Vec::new());
    for &depth in &depths {
        let own = of(areas, GOAL_FPR, depth);
        // In a shallow area there may be no move at all, and then nothing to measure.
        let own: Vec<&AreaRow> = own.into_iter().filter(|area| area.moves > 0).collect();
        if own.is_empty() {
            continue;
        }
        let size = mean_of(&own, |area| area.bytes_per_move, CONFIDENCE);
        let count = mean_of(&own, |area| area.messages_per_move, CONFIDENCE);
        table.row([
            depth.to_string(),
            decimal(messages_if_even(depth), 3),
            decimal(count.value, 3),
            format!("{}–{}", decimal(count.low, 3), decimal(count.high, 3)),
            decimal(size.value, 3),
            format!("{}–{}", decimal(size.low, 3), decimal(size.high, 3)),
            thousands(own.iter().map(|area| area.moves).sum()),
        ]);
        bytes.push((f64::from(depth), size));
        messages.push((f64::from(depth), count));
    }
    let last = (bytes.last().copied(), messages.last().copied());
    let even = depths.iter().map(|&depth| (f64::from(depth), messages_if_even(depth)));
    Figure {
        id: "routing-area-moves",
        title: "Cost of a move".to_string(),
        question: "How many messages and bytes does a move of a device cost?".to_string(),
        method: format!(
            "The same areas, at ε = {}, and shallower ones. A move is a step from one smallest square \
             into another; all squares up to the first that contains both inform their parents and \
             siblings. Theory: the messages if every border between smallest squares were crossed \
             equally often, at most 16 at any depth. (The random waypoint model crosses the middle more \
             often than the edge.) Bars: 95% intervals over areas.",
            percent(GOAL_FPR, 1),
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "messages".to_string(),
                x: Axis::linear("depth of the area"),
                y: Axis::from_zero("messages per move"),
                series: vec![
                    Series::line("theory: uniform borders", Hue::Theory, even),
                    Series::dots("observed", Hue::Bloom, messages),
                ],
            }),
            Panel::Chart(Chart {
                title: "bytes".to_string(),
                x: Axis::linear("depth of the area"),
                y: Axis::from_zero("bytes per move"),
                series: vec![Series::dots("observed", Hue::Bloom, bytes)],
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: match last {
                (Some((depth, size)), Some((_, count))) => format!(
                    "At depth {depth} a move takes {} bytes in {} messages, on average; {} if \
                     borders were crossed equally often.",
                    decimal(size.value, 3),
                    decimal(count.value, 3),
                    decimal(messages_if_even(deepest(areas)), 3),
                ),
                _ => "No device left its square: more ticks are needed.".to_string(),
            },
            test: String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_count_the_squares_that_change() {
        // One division: every border is the middle line, and both squares inform four neighbours.
        assert_eq!(messages_if_even(1), 8.0);
        // Two: one line of three is the middle one, which costs twice as much.
        assert!((messages_if_even(2) - (16.0 + 8.0 + 8.0) / 3.0).abs() < 1e-12);
        assert!((15.9..16.0).contains(&messages_if_even(12)));
    }
}
