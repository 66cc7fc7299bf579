//! `crivo size`: the size of every kind of filter, and a recommendation.

use clap::Args;
use crivo::filter::choose::{Choice, Needs, choose};
use crivo::filter::{Kind, Spec};
use crivo::theory::limits;
use serde::Serialize;

use crate::describe::KindName;
use crate::error::Error;
use crate::human;
use crate::output;
use crate::status::Status;
use crate::table::{Align, TextTable};

/// Compares the memory of every kind of filter and recommends one
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizeArgs {
    /// The number of keys: 1000000, 1_000_000 or 1M
    #[arg(long, value_name = "N", value_parser = human::parse_count)]
    #[arg(allow_negative_numbers = true)]
    keys: u64,

    /// The false-positive rate: 0.01 or 1%
    #[arg(long, alias = "rate", value_name = "FPR", default_value = "0.01")]
    #[arg(value_parser = human::parse_fpr, allow_negative_numbers = true)]
    fpr: f64,

    /// Only kinds that support removal
    #[arg(long)]
    remove: bool,

    /// Only kinds that count how often a key was inserted
    #[arg(long)]
    count_copies: bool,

    /// Only kinds that can be merged
    #[arg(long)]
    merge: bool,

    /// Print the table to standard output, as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo size --keys 1M --fpr 0.001
  crivo size --keys 50_000 --fpr 1% --remove --merge
  crivo size --keys 10M --json
";

impl SizeArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let limit = limits::fixed_set(self.fpr)?;
        let needs = self.needs();
        let mut rows: Vec<SizeRow> = Kind::ALL
            .into_iter()
            .filter(|&kind| self.allows(kind))
            .map(|kind| self.row(kind, limit))
            .collect();
        // Impossible ones come last.
        let bits =
            |row: &SizeRow| row.plan.as_ref().map_or(f64::INFINITY, |plan| plan.bits_per_key);
        rows.sort_by(|a, b| bits(a).total_cmp(&bits(b)));
        // What is impossible for every kind is a mistake in the arguments.
        if rows.iter().all(|row| row.plan.is_none())
            && let Some(reason) = rows.iter().find_map(|row| row.impossible.as_ref())
        {
            return Err(Error::new(format_args!("no filter can do that: {reason}")));
        }
        let choices = Recommendations {
            keys_come_one_by_one: choose(&needs).ok().map(Recommendation::of),
            all_keys_at_once: choose(&Needs { all_keys_at_once: true, ..needs })
                .ok()
                .map(Recommendation::of),
        };
        if self.json {
            let (keys, fpr) = (self.keys, self.fpr);
            output::print_json(&SizeReport {
                keys,
                fpr,
                limit_bits_per_key: limit,
                kinds: rows,
                choose: choices,
            })?;
        } else {
            output::print(&self.table(&rows, limit, &choices))?;
        }
        Ok(Status::Success)
    }

    fn needs(&self) -> Needs {
        Needs {
            keys: Some(self.keys),
            remove: self.remove,
            count: self.count_copies,
            merge: self.merge,
            ..Needs::fpr(self.fpr)
        }
    }

    /// Whether a kind has the required abilities.
    fn allows(&self, kind: Kind) -> bool {
        let can = kind.capabilities();
        (can.remove || !self.remove)
            && (can.count || !self.count_copies)
            && (can.merge || !self.merge)
    }

    fn row(&self, kind: Kind, limit: f64) -> SizeRow {
        let planned = Spec::for_fpr(kind, self.keys, self.fpr);
        let plan = planned.as_ref().ok().map(|spec| {
            let bits_per_key = spec.size_in_bits() as f64 / self.keys as f64;
            KindSize {
                bits_per_key,
                size_bytes: spec.size_in_bits() / 8,
                times_limit: bits_per_key / limit,
                expected_fpr: spec.fpr_at(spec.capacity()),
                expected_fpr_at_capacity: spec.fpr_when_full(),
            }
        });
        SizeRow {
            kind: KindName(kind),
            plan,
            impossible: planned.err().map(|error| error.to_string()),
        }
    }

    fn table(&self, rows: &[SizeRow], limit: f64, choices: &Recommendations) -> String {
        let mut table = TextTable::new([
            ("kind", Align::Left),
            ("bits per key", Align::Right),
            ("total", Align::Right),
            ("of the limit", Align::Right),
            ("expected FPR", Align::Right),
            ("can", Align::Left),
        ]);
        for SizeRow { kind: KindName(kind), plan, impossible } in rows {
            match plan {
                Some(plan) => table.row([
                    kind.to_string(),
                    format!("{:.2}", plan.bits_per_key),
                    human::bytes(plan.size_bytes),
                    format!("{:.2} ×", plan.times_limit),
                    plan.fpr_range(),
                    kind.summary().to_owned(),
                ]),
                None => table.row([
                    kind.to_string(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    impossible.clone().unwrap_or_default(),
                ]),
            }
        }
        let mut text = format!(
            "{} at a false-positive rate of {}; the minimum for any filter is {limit:.2} bits per key\n\n{table}\n",
            human::counted(self.keys, "key"),
            human::percentage(self.fpr),
        );
        let mut advise = |when: &str, choice: &Option<Recommendation>| {
            if let Some(Recommendation { kind: KindName(kind), why, .. }) = choice {
                text.push_str(&format!("{when}: {kind}. {}\n", sentence(why)));
            }
        };
        match (&choices.keys_come_one_by_one, &choices.all_keys_at_once) {
            (None, None) => text.push_str("No kind can do that at this false-positive rate.\n"),
            (one_by_one, None) => advise("Choose", one_by_one),
            (one_by_one, at_once) => {
                advise("Keys come one by one", one_by_one);
                advise("All keys are known in advance", at_once);
            }
        }
        text
    }
}

/// A reason as a sentence.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[derive(Serialize)]
struct SizeReport {
    keys: u64,
    fpr: f64,
    limit_bits_per_key: f64,
    kinds: Vec<SizeRow>,
    choose: Recommendations,
}

#[derive(Serialize)]
struct SizeRow {
    kind: KindName,
    #[serde(flatten)]
    plan: Option<KindSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impossible: Option<String>,
}

#[derive(Serialize)]
struct KindSize {
    bits_per_key: f64,
    size_bytes: u64,
    times_limit: f64,
    expected_fpr: f64,
    /// For a growing filter, that of any number of stages.
    expected_fpr_at_capacity: f64,
}

impl KindSize {
    fn fpr_range(&self) -> String {
        let [now, later] =
            [self.expected_fpr, self.expected_fpr_at_capacity].map(human::percentage);
        if now == later { now } else { format!("{now} to {later}") }
    }
}

#[derive(Serialize)]
struct Recommendations {
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
