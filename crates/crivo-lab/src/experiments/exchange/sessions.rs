//! Whole exchanges, by each protocol and by the planner's choice.

use crivo_exchange::{Action, ExchangeKey, IdSet, Policy, Protocol, Session, Situation};
use serde::{Deserialize, Serialize};

use super::{failed, fresh_key};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, mean, mean_interval};
use crate::study::Context;

/// One exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchanged {
    items: u64,
    difference: u64,
    /// The protocol that was demanded, or `session` for one that finds out for itself.
    protocol: String,
    /// Whether the planner would choose this protocol, knowing the difference.
    planned: bool,
    /// The bytes of all messages, without the differing items themselves.
    bytes: u64,
    /// What the planner expects of it.
    expected: f64,
}

/// The protocols in the order of the data, with their colours.
const PROTOCOLS: [(&str, Hue); 3] =
    [("rateless", Hue::Fuse), ("filters", Hue::Bloom), ("everything", Hue::Plain)];
const SESSION: &str = "session";

/// What the planner is held to, knowing the difference.
const PLANNER_GOAL: f64 = 1.1;
/// What a session is held to, of the best and beside it.
const SESSION_GOAL: (f64, f64) = (1.3, 1024.0);

const ITEM_BYTES: u64 = 40;

/// An item like any other of its length.
fn item(number: u64) -> [u8; ITEM_BYTES as usize] {
    let mut bytes = [b'.'; ITEM_BYTES as usize];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Sets of so many items each, of which each has `half` that the other lacks.
#[derive(Debug, Clone, Copy)]
struct Pair {
    items: u64,
    half: u64,
}

impl Pair {
    fn numbers(self, side: usize) -> std::ops::Range<u64> {
        let first = side as u64 * self.half;
        first..first + self.items
    }

    /// Runs both sides in this process, and answers the bytes without the differing items.
    fn exchange(self, policy: Policy, key: ExchangeKey) -> Result<u64, StudyError> {
        let set = |side: usize| IdSet::of_items(key, self.numbers(side).map(item));
        let mut peers = [Session::initiator_with(set(0), policy), Session::responder(set(1))];
        let mut learnt = [0, 0];
        let (mut turn, mut idle) = (0, 0);
        while idle < 2 {
            match peers[turn].action().map_err(failed)? {
                Action::Send(message) => {
                    let news = &mut learnt[1 - turn];
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
        if !is_finished || learnt != [self.half; 2] {
            return Err(StudyError::wrong(format_args!(
                "sides learnt {learnt:?} items, and lacked {}",
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
    let shares: [f64; 13] =
        [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2, 5e-2, 0.1, 0.3, 1.0];
    for (step, share) in (1..).zip(shares) {
        // So small a share of few items is none: the sets are as large as it takes.
        let least_half: f64 = context.pick(1.0, 1.0, 5.0);
        let items = least_items.max((2.0 * least_half / share).round() as u64);
        if items > most_items {
            continue;
        }
        let half = (share * items as f64 / 2.0).round() as u64;
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
            let pair = Pair { items, half };
            for ((name, _), protocol) in PROTOCOLS.into_iter().zip(fixed) {
                rows.push(Exchanged {
                    items,
                    difference,
                    protocol: name.to_string(),
                    planned: plan.protocol == protocol,
                    bytes: pair.exchange(Policy::Fixed(protocol), key)?,
                    expected: situation.cost(protocol),
                });
            }
            rows.push(Exchanged {
                items,
                difference,
                protocol: SESSION.to_string(),
                planned: false,
                bytes: pair.exchange(Policy::Cheapest, key)?,
                expected: plan.bytes,
            });
        }
        let steps = shares.len() as u64;
        context.step(steps + step, 3 * steps);
    }
    data.set_parameter("item bytes", ITEM_BYTES);
    data.add("sessions", &rows)
}

/// The exchanges of one difference.
struct Group<'a> {
    share: f64,
    items: u64,
    difference: u64,
    rows: Vec<&'a Exchanged>,
}

impl Group<'_> {
    fn bytes(&self, protocol: &str) -> Vec<f64> {
        let own = self.rows.iter().filter(|row| row.protocol == protocol);
        own.map(|row| row.bytes as f64).collect()
    }

    /// The mean of that for each item of a set.
    fn bytes_per_item(&self, protocol: &str) -> Estimate {
        let sample: Vec<f64> =
            self.bytes(protocol).iter().map(|bytes| bytes / self.items as f64).collect();
        mean_interval(&sample, CONFIDENCE)
    }

    fn expected(&self, protocol: &str) -> f64 {
        let own = self.rows.iter().find(|row| row.protocol == protocol);
        own.map_or(0.0, |row| row.expected)
    }

    /// The protocol that took the fewest bytes, and its mean.
    fn best(&self) -> (&'static str, f64) {
        let means = PROTOCOLS.map(|(name, _)| (name, mean(&self.bytes(name))));
        means.into_iter().fold(means[0], |one, other| if other.1 < one.1 { other } else { one })
    }

    fn planned(&self) -> &str {
        self.rows.iter().find(|row| row.planned).map_or("none", |row| &row.protocol)
    }

    /// Bytes of a protocol over the mean of the best.
    fn ratio(&self, protocol: &str, confidence: f64) -> Estimate {
        let best = self.best().1;
        let sample: Vec<f64> = self.bytes(protocol).iter().map(|bytes| bytes / best).collect();
        mean_interval(&sample, confidence)
    }

    /// Sessions that took more than they may.
    fn too_dear(&self) -> usize {
        let limit = SESSION_GOAL.0 * self.best().1 + SESSION_GOAL.1;
        self.bytes(SESSION).into_iter().filter(|&bytes| bytes > limit).count()
    }
}

fn groups(rows: &[Exchanged]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let Exchanged { items, difference, .. } = *row;
        match groups.iter_mut().find(|group| (group.items, group.difference) == (items, difference))
        {
            Some(group) => group.rows.push(row),
            None => {
                let share = difference as f64 / items as f64;
                groups.push(Group { share, items, difference, rows: vec![row] });
            }
        }
    }
    groups
}

fn method(groups: &[Group<'_>]) -> String {
    let least = groups.iter().map(|group| group.items).min().unwrap_or(0);
    let most = groups.iter().map(|group| group.items).max().unwrap_or(0);
    format!(
        "{} exchanges for each difference and protocol, between sets of {} items of {ITEM_BYTES} bytes each{}; \
         half of the difference d is on either side. Bytes are those of all messages in both directions, \
         less the differing items themselves, which any protocol must send.",
        groups.first().map_or(0, |group| group.bytes(SESSION).len()),
        thousands(least),
        if most > least {
            format!(", and up to {} where the difference is a smaller share", thousands(most))
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
                percent(group.share, 2),
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
            groups.iter().map(|group| (group.share, group.expected(name) / group.items as f64));
        series.push(Series::line("expected", Hue::Theory, expected));
        let seen = |group: &Group<'_>| (group.share, group.bytes_per_item(name));
        series.push(Series::dots(name, hue, groups.iter().map(seen)));
    }
    let seen = |group: &Group<'_>| (group.share, group.bytes_per_item(SESSION));
    series.push(Series::trace("a session of its own", Hue::Cuckoo, groups.iter().map(seen)));
    let off = groups
        .iter()
        .flat_map(|group| {
            PROTOCOLS.map(|(name, _)| {
                let expected = group.expected(name);
                // What is next to nothing may be off by any factor.
                let least = SESSION_GOAL.1;
                (mean(&group.bytes(name)) - expected).abs() / expected.max(least)
            })
        })
        .fold(0.0, f64::max);
    let told: Vec<String> = groups
        .iter()
        .filter(|group| {
            [1e-3, 1e-2, 0.1].iter().any(|share| (group.share / share - 1.0).abs() < 0.05)
        })
        .map(|group| {
            let (name, bytes) = group.best();
            format!(
                "{name} at {} ({} bytes)",
                percent(group.share, 1),
                thousands(bytes.round() as u64)
            )
        })
        .collect();
    Figure {
        id: "exchange-bytes",
        title: "Bytes to make two sets equal".to_string(),
        question: "Which protocol takes the fewest bytes, for a difference of a given size?"
            .to_string(),
        method: format!(
            "{} Expected: what the planner computes for each protocol, from the sizes and d. Bars: 95% \
             intervals.",
            method(&groups)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference, of a set’s size").with_format(Format::Percent),
            y: Axis::logarithmic("bytes beside the differing items, per item of a set"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::Measured,
            sentence: format!(
                "The fewest bytes: {}. Means are at most {} off what the planner expects (of 1 KB, where it \
                 expects less).",
                told.join(", "),
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
    let too_dear: usize = groups.iter().map(Group::too_dear).sum();
    let sessions: usize = groups.iter().map(|group| group.bytes(SESSION).len()).sum();
    let mut table = Table::new(&[
        "n",
        "d",
        "d/n",
        "best",
        "planned",
        "planned, of the best",
        "session, of the best",
        "95% interval",
    ]);
    for group in &groups {
        let (planned, session) =
            (group.ratio(group.planned(), CONFIDENCE), group.ratio(SESSION, CONFIDENCE));
        table.row([
            thousands(group.items),
            thousands(group.difference),
            percent(group.share, 2),
            group.best().0.to_string(),
            group.planned().to_string(),
            decimal(planned.value, 3),
            decimal(session.value, 3),
            format!("{}–{}", decimal(session.low, 3), decimal(session.high, 3)),
        ]);
    }
    let worst =
        |protocol: &dyn Fn(&Group<'_>) -> f64| groups.iter().map(protocol).fold(1.0, f64::max);
    let worst_planned = worst(&|group| group.ratio(group.planned(), CONFIDENCE).value);
    let worst_session = worst(&|group| group.ratio(SESSION, CONFIDENCE).value);
    let allowed = |group: &Group<'_>| SESSION_GOAL.0 + SESSION_GOAL.1 / group.best().1;
    Figure {
        id: "exchange-choice",
        title: "How well the protocol is chosen".to_string(),
        question:
            "Does the planner find the cheapest protocol, and what does a session pay for not \
            knowing the difference beforehand?"
                .to_string(),
        method: format!(
            "{} Planned: the protocol that the planner names, given d. Session: begins with symbols, \
             judges the difference by them, and decides on the way. Both over the mean of the best \
             protocol at that difference. Dashes: the goals, {PLANNER_GOAL} for the plan, {} and 1 KB for \
             the session. Bars: 95% intervals.",
            method(&groups),
            SESSION_GOAL.0,
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference, of a set’s size").with_format(Format::Percent),
            y: Axis::linear("bytes, of the best protocol’s").with_format(Format::Ratio),
            series: vec![
                Series::dashed(
                    "goal of a plan",
                    Hue::Limit,
                    groups.iter().map(|group| (group.share, PLANNER_GOAL)),
                ),
                Series::dashed(
                    "goal of a session",
                    Hue::Bad,
                    groups.iter().map(|group| (group.share, allowed(group))),
                ),
                Series::dots(
                    "planned",
                    Hue::Bloom,
                    groups
                        .iter()
                        .map(|group| (group.share, group.ratio(group.planned(), CONFIDENCE))),
                ),
                Series::trace(
                    "a session of its own",
                    Hue::Cuckoo,
                    groups.iter().map(|group| (group.share, group.ratio(SESSION, CONFIDENCE))),
                ),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(missed == 0 && too_dear == 0),
            sentence: format!(
                "{} {}",
                match missed {
                    0 => format!(
                        "Knowing the difference, the plan takes at most {} times the bytes of the best.",
                        decimal(worst_planned, 3)
                    ),
                    some => format!(
                        "The plan takes more than {PLANNER_GOAL} times the best at {some} of {} differences.",
                        groups.len()
                    ),
                },
                match too_dear {
                    0 => format!(
                        "None of {sessions} sessions took more than {} times the best and 1 KB; their mean is at \
                         most {} times the best.",
                        SESSION_GOAL.0,
                        decimal(worst_session, 3),
                    ),
                    some => format!(
                        "{some} of {sessions} sessions took more than {} times the best and 1 KB.",
                        SESSION_GOAL.0
                    ),
                },
            ),
            test: format!(
                "Test: the plan’s mean ratio above {PLANNER_GOAL} by Student’s interval at any of {} \
                 differences, corrected for their number (Bonferroni); probability of a false alarm at most \
                 {}%. Every session is held to its goal singly.",
                groups.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
