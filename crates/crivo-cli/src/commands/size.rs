//! `crivo size`: how large, and which kind?

use clap::Args;
use crivo::codec::Kind;
use crivo::filter::choose::{Abilities, Choice, Needs, choose};
use crivo::filter::{Filter, Plan};
use crivo::theory::limits;
use crivo::{Digest, KeyHasher};
use serde::Serialize;

use crate::describe::KindName;
use crate::human;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::table::{Align, Table};

/// Compares how much memory every kind of filter takes, and says which to choose
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizeArgs {
    /// How many keys: 1000000, 1_000_000 or 1M
    #[arg(long, value_name = "N", value_parser = human::parse_count)]
    #[arg(allow_negative_numbers = true)]
    keys: u64,

    /// The rate of wrong yeses: 0.01 or 1%
    #[arg(long, value_name = "R", default_value = "0.01", value_parser = human::parse_rate)]
    #[arg(allow_negative_numbers = true)]
    rate: f64,

    /// Only kinds that keys can be removed from
    #[arg(long)]
    remove: bool,

    /// Only kinds that know how often a key was inserted
    #[arg(long)]
    count_copies: bool,

    /// Only kinds of which two can be merged
    #[arg(long)]
    merge: bool,

    /// Print the table to standard output, as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo size --keys 1M --rate 0.001
  crivo size --keys 50_000 --rate 1% --remove --merge
  crivo size --keys 10M --json
";

impl SizeArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let limit = limits::fixed_set(self.rate)?;
        let needs = self.needs();
        let mut rows: Vec<Row> = Kind::ALL
            .into_iter()
            .filter(|&kind| self.allows(kind))
            .map(|kind| self.row(kind, limit))
            .collect();
        // Those out of reach are last.
        let bits = |row: &Row| row.plan.as_ref().map_or(f64::INFINITY, |plan| plan.bits_per_key);
        rows.sort_by(|a, b| bits(a).total_cmp(&bits(b)));
        let choices = Choices {
            keys_come_one_by_one: choose(&needs).ok().map(Recommendation::of),
            all_keys_at_once: self
                .allows(Kind::Fuse)
                .then(|| choose(&Needs { all_keys_at_once: true, ..needs }).ok())
                .flatten()
                .map(Recommendation::of),
        };
        if self.json {
            let (keys, rate) = (self.keys, self.rate);
            output::print_json(&Report {
                keys,
                rate,
                limit_bits_per_key: limit,
                kinds: rows,
                choose: choices,
            })?;
        } else {
            output::print(&self.table(&rows, limit, &choices))?;
        }
        Ok(Outcome::Done)
    }

    fn needs(&self) -> Needs {
        Needs {
            keys: Some(self.keys),
            remove: self.remove,
            count: self.count_copies,
            merge: self.merge,
            ..Needs::rate(self.rate)
        }
    }

    /// Whether a kind can do what is asked for.
    fn allows(&self, kind: Kind) -> bool {
        let can = Abilities::of(kind);
        (can.remove || !self.remove)
            && (can.count || !self.count_copies)
            && (can.merge || !self.merge)
    }

    fn row(&self, kind: Kind, limit: f64) -> Row {
        let planned = Plan::for_rate(kind, self.keys, self.rate);
        let plan = planned.as_ref().ok().map(|plan| Planned {
            bits_per_key: plan.bits_per_key(),
            size_bytes: plan.size_in_bits() / 8,
            times_limit: plan.bits_per_key() / limit,
            expected_rate: self.first_stage_rate(kind).unwrap_or(plan.expected_fpr()),
            expected_rate_at_capacity: plan.expected_fpr(),
        });
        Row {
            kind: KindName(kind),
            plan,
            out_of_reach: planned.err().map(|error| error.to_string()),
        }
    }

    /// The rate of a growing filter when its first stage is full, of which sizes are told; that which
    /// was asked for is for all stages together. `None` for other kinds.
    fn first_stage_rate(&self, kind: Kind) -> Option<f64> {
        if !matches!(kind, Kind::Growing | Kind::GrowingBlocked) {
            return None;
        }
        // From the least that a stage is made for to where the number of keys no longer matters.
        let keys = self.keys.clamp(1 << 10, 1 << 16);
        let digests = (0..keys).map(|key| Digest::new(key).remix()).collect();
        let plan = Plan::for_rate(kind, keys, self.rate).ok()?;
        plan.build(KeyHasher::default(), digests).ok().map(|filter| filter.expected_fpr())
    }

    fn table(&self, rows: &[Row], limit: f64, choices: &Choices) -> String {
        let mut table = Table::new([
            ("kind", Align::Left),
            ("bits per key", Align::Right),
            ("total", Align::Right),
            ("of the limit", Align::Right),
            ("expected rate", Align::Right),
            ("can", Align::Left),
        ]);
        for Row { kind: KindName(kind), plan, out_of_reach } in rows {
            match plan {
                Some(plan) => table.row([
                    kind.to_string(),
                    format!("{:.2}", plan.bits_per_key),
                    human::bytes(plan.size_bytes),
                    format!("{:.2} ×", plan.times_limit),
                    plan.rates(),
                    abilities(*kind).to_owned(),
                ]),
                None => table.row([
                    kind.to_string(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    out_of_reach.clone().unwrap_or_default(),
                ]),
            }
        }
        let mut text = format!(
            "{} at a rate of {}; no filter can take fewer than {limit:.2} bits per key\n\n{table}\n",
            human::counted(self.keys, "key"),
            human::rate(self.rate),
        );
        let mut advise = |when: &str, choice: &Option<Recommendation>| {
            if let Some(Recommendation { kind: KindName(kind), why, .. }) = choice {
                text.push_str(&format!("{when}: {kind}. {}\n", sentence(why)));
            }
        };
        match (&choices.keys_come_one_by_one, &choices.all_keys_at_once) {
            (None, None) => text.push_str("No kind can do that at this rate.\n"),
            (one_by_one, None) => advise("Choose", one_by_one),
            (one_by_one, at_once) => {
                advise("Keys come one by one", one_by_one);
                advise("All keys are there at once", at_once);
            }
        }
        text
    }
}

/// What to remember of a kind, in a few words.
fn abilities(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "merge; takes any number of keys, at a rising rate",
        Kind::Blocked => "merge; reads one cache line per question",
        Kind::Counting => "remove, count, merge",
        Kind::Cuckoo => "remove; merge while there is room",
        Kind::Quotient => "remove, count, merge, grow",
        Kind::Fuse => "nothing changes: built from all keys at once",
        Kind::Growing => "grow; size and lower rate are of its first stage",
        Kind::GrowingBlocked => "grow; as growing, with one cache line per stage",
        _ => "",
    }
}

/// A reason as a sentence of its own.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[derive(Serialize)]
struct Report {
    keys: u64,
    rate: f64,
    limit_bits_per_key: f64,
    kinds: Vec<Row>,
    choose: Choices,
}

#[derive(Serialize)]
struct Row {
    kind: KindName,
    #[serde(flatten)]
    plan: Option<Planned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_reach: Option<String>,
}

#[derive(Serialize)]
struct Planned {
    bits_per_key: f64,
    size_bytes: u64,
    times_limit: f64,
    expected_rate: f64,
    /// Of a growing filter, that of any number of stages.
    expected_rate_at_capacity: f64,
}

impl Planned {
    fn rates(&self) -> String {
        let [now, later] = [self.expected_rate, self.expected_rate_at_capacity].map(human::rate);
        if now == later { now } else { format!("{now} to {later}") }
    }
}

#[derive(Serialize)]
struct Choices {
    keys_come_one_by_one: Option<Recommendation>,
    all_keys_at_once: Option<Recommendation>,
}

#[derive(Serialize)]
struct Recommendation {
    kind: KindName,
    bits_per_key: f64,
    why: &'static str,
}

impl Recommendation {
    fn of(choice: Choice) -> Self {
        let Choice { kind, bits_per_key, why, .. } = choice;
        Self { kind: KindName(kind), bits_per_key, why }
    }
}
