//! Complete exchanges, by each protocol and by the planner's choice.

use crivo_exchange::{Action, ExchangeKey, IdSet, Protocol, Session, Situation, SyncPolicy};
use serde::{Deserialize, Serialize};

use super::{failed, fresh_key};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, mean, mean_interval};

/// One exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchanged {
    items: u64,
    difference: u64,
    /// The fixed protocol, or `session` for one that chooses by itself.
    protocol: String,
    /// Whether the planner would choose this protocol, knowing the difference.
    planned: bool,
    /// The bytes of all messages, without the differing items themselves.
    bytes: u64,
    /// The bytes that the planner expects.
    expected: f64,
}

/// The protocols in the order of the data, with their colours.
const PROTOCOLS: [(&str, Hue); 3] =
    [("rateless", Hue::Fuse), ("filters", Hue::Bloom), ("everything", Hue::Plain)];
const SESSION: &str = "session";

/// The goal of the planner if the difference is known: its bytes over the minimum.
const PLANNER_GOAL: f64 = 1.1;
/// The goal of a session: a factor of the minimum, and additional bytes.
const SESSION_GOAL: (f64, f64) = (1.3, 1024.0);

const ITEM_BYTES: u64 = 40;

/// An item of the given number.
fn item(number: u64) -> [u8; ITEM_BYTES as usize] {
    let mut bytes = [b'.'; ITEM_BYTES as usize];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Two sets of `items` items, each with `half` items that the other lacks.
#[derive(Debug, Clone, Copy)]
struct SetPair {
    items: u64,
    half: u64,
}

impl SetPair {
    fn numbers(self, side: usize) -> std::ops::Range<u64> {
        let first = side as u64 * self.half;
        first..first + self.items
    }

    /// Runs both sides in this process; returns the bytes without the differing items.
    fn exchange(self, policy: SyncPolicy, key: ExchangeKey) -> Result<u64, StudyError> {
        let set = |side: usize| IdSet::of_items(key, self.numbers(side).map(item));
        let mut peers = [Session::initiator_with(set(0), policy), Session::responder(set(1))];
        let mut received = [0, 0];
        let (mut turn, mut idle) = (0, 0);
        while idle < 2 {
            match peers[turn].action().map_err(failed)? {
                Action::Send(message) => {
                    let news = &mut received[1 - turn];
                    peers[1 - turn].receive(&message, |_| *news += 1).map_err(failed)?;
                    idle = 0;
                }
                Action::Provide => {
                    self.numbers(turn).for_each(|number| peers[turn].provide(&item(number)));
                    peers[turn].provided().map_err(failed)?;
                    idle = 0;
                }
                Action::Receive | Action::Finished => {
                    turn = 1 - turn;
                    idle += 1;
                }
            }
        }
        let is_finished = peers[0].action().map_err(failed)? == Action::Finished;
        if !is_finished || received != [self.half; 2] {
            return Err(StudyError::wrong(format_args!(
                "the sides received {received:?} items, and lacked {}",
                self.half
            )));
        }
        let traffic = peers[0].traffic();
        let items = traffic.item_bytes_sent + traffic.item_bytes_received;
        Ok(traffic.sent + traffic.received - items)
    }
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let mut random = context.random("exchange sessions");
    let least_items: u64 = context.pick(300, 2_000, 50_000);
    let most_items: u64 = context.pick(3_000, 200_000, 1_000_000);
    let keys = context.pick(2, 4, 5);
    let mut rows = Vec::new();
    let fractions: [f64; 13] =
        [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2, 5e-2, 0.1, 0.3, 1.0];
    for (step, fraction) in (1..).zip(fractions) {
        // The sets are large enough that the difference is at least a few items.
        let least_half: f64 = context.pick(1.0, 1.0, 5.0);
        let items = least_items.max((2.0 * least_half / fraction).round() as u64);
        if items > most_items {
            continue;
        }
        let half = (fraction * items as f64 / 2.0).round() as u64;
        let difference = 2 * half;
        let situation = Situation {
            here: items,
            there: items,
            there_bytes: ITEM_BYTES * items,
            difference: difference as f64,
        };
        let plan = situation.plan();
        let fixed = [Protocol::Rateless, situation.best_filters().protocol, Protocol::Everything];
        for _ in 0..keys {
            let key = fresh_key(&mut random);
            let pair = SetPair { items, half };
            for ((name, _), protocol) in PROTOCOLS.into_iter().zip(fixed) {
                rows.push(Exchanged {
                    items,
                    difference,
                    protocol: name.to_string(),
                    planned: plan.protocol == protocol,
                    bytes: pair.exchange(SyncPolicy::Fixed(protocol), key)?,
                    expected: situation.cost(protocol),
                });
            }
            rows.push(Exchanged {
                items,
                difference,
                protocol: SESSION.to_string(),
                planned: false,
                bytes: pair.exchange(SyncPolicy::Cheapest, key)?,
                expected: plan.bytes,
            });
        }
        let steps = fractions.len() as u64;
        context.step(steps + step, 3 * steps);
    }
    data.set_parameter("item_bytes", ITEM_BYTES);
    data.add("sessions", &rows)
}

/// The exchanges of one difference.
struct DifferenceGroup<'a> {
    fraction: f64,
    items: u64,
    difference: u64,
    rows: Vec<&'a Exchanged>,
}

impl DifferenceGroup<'_> {
    fn bytes(&self, protocol: &str) -> Vec<f64> {
        let own = self.rows.iter().filter(|row| row.protocol == protocol);
        own.map(|row| row.bytes as f64).collect()
    }

    /// The mean of the bytes per item of a set.
    fn bytes_per_item(&self, protocol: &str) -> PointEstimate {
        let sample: Vec<f64> =
            self.bytes(protocol).iter().map(|bytes| bytes / self.items as f64).collect();
        mean_interval(&sample, CONFIDENCE)
    }

    fn expected(&self, protocol: &str) -> f64 {
        let own = self.rows.iter().find(|row| row.protocol == protocol);
        own.map_or(0.0, |row| row.expected)
    }

    /// The protocol with the fewest bytes, and its mean.
    fn best(&self) -> (&'static str, f64) {
        let means = PROTOCOLS.map(|(name, _)| (name, mean(&self.bytes(name))));
        means.into_iter().fold(means[0], |one, other| if other.1 < one.1 { other } else { one })
    }

    fn planned(&self) -> &str {
        self.rows.iter().find(|row| row.planned).map_or("none", |row| &row.protocol)
    }

    /// Bytes of a protocol over the mean of the best.
    fn ratio(&self, protocol: &str, confidence: f64) -> PointEstimate {
        let best = self.best().1;
        let sample: Vec<f64> = self.bytes(protocol).iter().map(|bytes| bytes / best).collect();
        mean_interval(&sample, confidence)
    }

    /// Sessions that miss their goal.
    fn too_expensive(&self) -> usize {
        let limit = SESSION_GOAL.0 * self.best().1 + SESSION_GOAL.1;
        self.bytes(SESSION).into_iter().filter(|&bytes| bytes > limit).count()
    }
}

fn groups(rows: &[Exchanged]) -> Vec<DifferenceGroup<'_>> {
    let mut groups: Vec<DifferenceGroup<'_>> = Vec::new();
    for row in rows {
        let Exchanged { items, difference, .. } = *row;
        match groups.iter_mut().find(|group| (group.items, group.difference) == (items, difference))
        {
            Some(group) => group.rows.push(row),
            None => {
                let fraction = difference as f64 / items as f64;
                groups.push(DifferenceGroup { fraction, items, difference, rows: vec![row] });
            }
        }
    }
    groups
}

fn method(groups: &[DifferenceGroup<'_>]) -> String {
    let least = groups.iter().map(|group| group.items).min().unwrap_or(0);
    let most = groups.iter().map(|group| group.items).max().unwrap_or(0);
    format!(
        "{} exchanges for each difference and protocol, between sets of {} items of {ITEM_BYTES} bytes each{}; \
         half of the difference d is on each side. Bytes are those of all messages in both directions, \
         without the differing items themselves, which any protocol must send.",
        groups.first().map_or(0, |group| group.bytes(SESSION).len()),
        thousands(least),
        if most > least {
            format!(", and up to {} for smaller relative differences", thousands(most))
        } else {
            String::new()
        },
    )
}

pub(super) fn cost_figure(rows: &[Exchanged]) -> Figure {
    let groups = groups(rows);
    let mut table = Table::new(&["n", "d", "d/n", "protocol", "expected", "bytes", "95% interval"]);
    for group in &groups {
        for (name, _) in PROTOCOLS.into_iter().chain([(SESSION, Hue::Cuckoo)]) {
            let seen = mean_interval(&group.bytes(name), CONFIDENCE);
            table.row([
                thousands(group.items),
                thousands(group.difference),
                percent(group.fraction, 2),
                name.to_string(),
                thousands(group.expected(name).round() as u64),
                thousands(seen.value.round() as u64),
                format!(
                    "{}–{}",
                    thousands(seen.low.max(0.0).round() as u64),
                    thousands(seen.high.round() as u64)
                ),
            ]);
        }
    }
    let mut series = Vec::new();
    for (name, hue) in PROTOCOLS {
        let expected =
            groups.iter().map(|group| (group.fraction, group.expected(name) / group.items as f64));
        series.push(Series::line("expected", Hue::Theory, expected));
        let seen = |group: &DifferenceGroup<'_>| (group.fraction, group.bytes_per_item(name));
        series.push(Series::dots(name, hue, groups.iter().map(seen)));
    }
    let seen = |group: &DifferenceGroup<'_>| (group.fraction, group.bytes_per_item(SESSION));
    series.push(Series::trace("session", Hue::Cuckoo, groups.iter().map(seen)));
    let off = groups
        .iter()
        .flat_map(|group| {
            PROTOCOLS.map(|(name, _)| {
                let expected = group.expected(name);
                // Very small numbers may differ by any factor.
                let least = SESSION_GOAL.1;
                (mean(&group.bytes(name)) - expected).abs() / expected.max(least)
            })
        })
        .fold(0.0, f64::max);
    let cheapest: Vec<String> = groups
        .iter()
        .filter(|group| {
            [1e-3, 1e-2, 0.1].iter().any(|fraction| (group.fraction / fraction - 1.0).abs() < 0.05)
        })
        .map(|group| {
            let (name, bytes) = group.best();
            format!(
                "{name} at {} ({} bytes)",
                percent(group.fraction, 1),
                thousands(bytes.round() as u64)
            )
        })
        .collect();
    Figure {
        id: "exchange-bytes",
        title: "Bytes to reconcile two sets".to_string(),
        question: "Which protocol takes the fewest bytes, for a difference of a given size?"
            .to_string(),
        method: format!(
            "{} Expected: what the planner computes for each protocol, from the sizes and d. Bars: 95% \
             intervals.",
            method(&groups)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference relative to the set’s size")
                .with_format(TickFormat::Percent),
            y: Axis::logarithmic("bytes without the differing items, per item of a set"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "The fewest bytes: {}. Means differ from the planner’s expectation by at most {} (of 1 KB, where it \
                 expects less).",
                cheapest.join(", "),
                percent(off, 2),
            ),
            test: String::new(),
        },
    }
}

pub(super) fn choice_figure(rows: &[Exchanged]) -> Figure {
    let groups = groups(rows);
    let confidence = 1.0 - FALSE_ALARM / groups.len().max(1) as f64;
    let missed = groups
        .iter()
        .filter(|group| group.ratio(group.planned(), confidence).low > PLANNER_GOAL)
        .count();
    let too_expensive: usize = groups.iter().map(DifferenceGroup::too_expensive).sum();
    let sessions: usize = groups.iter().map(|group| group.bytes(SESSION).len()).sum();
    let mut table = Table::new(&[
        "n",
        "d",
        "d/n",
        "best",
        "planned",
        "planned over best",
        "session over best",
        "95% interval",
    ]);
    for group in &groups {
        let (planned, session) =
            (group.ratio(group.planned(), CONFIDENCE), group.ratio(SESSION, CONFIDENCE));
        table.row([
            thousands(group.items),
            thousands(group.difference),
            percent(group.fraction, 2),
            group.best().0.to_string(),
            group.planned().to_string(),
            decimal(planned.value, 3),
            decimal(session.value, 3),
            format!("{}–{}", decimal(session.low, 3), decimal(session.high, 3)),
        ]);
    }
    let worst = |protocol: &dyn Fn(&DifferenceGroup<'_>) -> f64| {
        groups.iter().map(protocol).fold(1.0, f64::max)
    };
    let worst_planned = worst(&|group| group.ratio(group.planned(), CONFIDENCE).value);
    let worst_session = worst(&|group| group.ratio(SESSION, CONFIDENCE).value);
    let allowed = |group: &DifferenceGroup<'_>| SESSION_GOAL.0 + SESSION_GOAL.1 / group.best().1;
    Figure {
        id: "exchange-choice",
        title: "Choice of the protocol".to_string(),
        question:
            "Does the planner find the cheapest protocol, and what does it cost a session not to \
            know the difference in advance?"
                .to_string(),
        method: format!(
            "{} Planned: the protocol that the planner chooses, given d. Session: starts with symbols, \
             estimates the difference from them, and then decides. Both relative to the mean of the best \
             protocol at that difference. Dashes: the goals, {PLANNER_GOAL} for the plan, {} and 1 KB for \
             the session. Bars: 95% intervals.",
            method(&groups),
            SESSION_GOAL.0,
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference relative to the set’s size")
                .with_format(TickFormat::Percent),
            y: Axis::linear("bytes relative to the best protocol").with_format(TickFormat::Ratio),
            series: vec![
                Series::dashed(
                    "goal of the planner",
                    Hue::Limit,
                    groups.iter().map(|group| (group.fraction, PLANNER_GOAL)),
                ),
                Series::dashed(
                    "goal of a session",
                    Hue::Bad,
                    groups.iter().map(|group| (group.fraction, allowed(group))),
                ),
                Series::dots(
                    "planned",
                    Hue::Bloom,
                    groups
                        .iter()
                        .map(|group| (group.fraction, group.ratio(group.planned(), CONFIDENCE))),
                ),
                Series::trace(
                    "session",
                    Hue::Cuckoo,
                    groups.iter().map(|group| (group.fraction, group.ratio(SESSION, CONFIDENCE))),
                ),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(missed == 0 && too_expensive == 0),
            sentence: format!(
                "{} {}",
                match missed {
                    0 => format!(
                        "If the difference is known, the planned protocol takes at most {} times the bytes of the best.",
                        decimal(worst_planned, 3)
                    ),
                    some => format!(
                        "The planned protocol takes more than {PLANNER_GOAL} times the best at {some} of {} differences.",
                        groups.len()
                    ),
                },
                match too_expensive {
                    0 => format!(
                        "None of {sessions} sessions took more than {} times the best plus 1 KB; their mean is at \
                         most {} times the best.",
                        SESSION_GOAL.0,
                        decimal(worst_session, 3),
                    ),
                    some => format!(
                        "{some} of {sessions} sessions took more than {} times the best plus 1 KB.",
                        SESSION_GOAL.0
                    ),
                },
            ),
            test: format!(
                "Test: the mean ratio of the planned protocol above {PLANNER_GOAL} by Student’s interval at any \
                 of {} differences, corrected for their number (Bonferroni); probability of a false alarm at \
                 most {}%. The goal applies to every single session.",
                groups.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
