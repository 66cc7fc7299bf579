//! `crivo inspect`: what is in this file?

use std::path::PathBuf;

use anstyle::Style;
use clap::{Args, ValueHint};
use crivo::codec::{self, Header, Kind};
use crivo::filter::{AnyFilter, DynamicFilter, Filter};
use crivo::hash::Family;
use serde::Serialize;

use crate::describe::{Facts, distinct_keys, past_capacity};
use crate::human;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::secret::KeyFileArgs;
use crate::table::bar;

/// Shows what a filter file holds, and how full it is
///
/// The whole file is read and its checksums are verified.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// The filter
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    key: KeyFileArgs,

    /// Print it to standard output as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo inspect seen.crivo
  crivo inspect --json seen.crivo | jq .expected_rate
";

impl InspectArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let header = codec::verify(&self.file)?;
        // Without its key a filter can be verified, but not be made.
        let needs_key = header.hash().family() == Family::Sip24 && self.key.key_file.is_none();
        let filter = match needs_key {
            true => None,
            false => Some(self.key.open()?.load::<AnyFilter>(&self.file)?),
        };
        let report = Report::of(&self.file.display().to_string(), &header, filter.as_ref());
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print(&report.text(&header, filter.as_ref()))?;
            if needs_key {
                output::say(
                    "The filter was made with a secret key: with --key-file there is more to tell.",
                );
            }
            if let Some(warning) = filter.as_ref().and_then(past_capacity) {
                output::warn(warning);
            }
        }
        Ok(Outcome::Done)
    }
}

#[derive(Serialize)]
struct Report {
    file: String,
    format_version: u16,
    kind: &'static str,
    keys: u64,
    file_bytes: u64,
    hash: &'static str,
    seed: Option<u64>,
    /// Of the header and of the payload, in hexadecimal digits; both are right.
    header_checksum: String,
    payload_checksum: String,
    parameters: Vec<u64>,
    #[serde(flatten)]
    filter: Option<Filled>,
}

/// What takes the filter itself to tell.
#[derive(Serialize)]
struct Filled {
    capacity: Option<u64>,
    size_bytes: u64,
    bits_per_key: f64,
    expected_rate: f64,
    expected_rate_at_capacity: f64,
    /// The share of the table that is in use, where a table can be partly used.
    load: Option<f64>,
    /// Of a growing filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<Stage>,
}

#[derive(Serialize)]
struct Stage {
    keys: u64,
    capacity: u64,
    size_bytes: u64,
    expected_rate: f64,
}

impl Report {
    fn of(file: &str, header: &Header, filter: Option<&AnyFilter>) -> Self {
        let hash = header.hash();
        Self {
            file: file.to_owned(),
            format_version: header.version(),
            kind: header.kind().name(),
            keys: header.key_count(),
            file_bytes: header.file_length(),
            hash: hash.family().name(),
            seed: hash.hasher().and_then(|hasher| hasher.seed()),
            header_checksum: format!("{:016x}", header.header_checksum()),
            payload_checksum: format!("{:016x}", header.payload_checksum()),
            parameters: header.parameters().to_vec(),
            filter: filter.map(Filled::of),
        }
    }

    fn text(&self, header: &Header, filter: Option<&AnyFilter>) -> String {
        let bold = Style::new().bold();
        let mut text = format!("{bold}{}: a {} filter{bold:#}\n", self.file, self.kind);
        let mut line = |name: &str, value: String| {
            text.push_str(&format!("  {name:<15}{value}\n"));
        };
        line("keys", human::count(self.keys));
        if let (Some(filled), Some(filter)) = (&self.filter, filter) {
            match filled.capacity {
                None => line("capacity", "any number".to_owned()),
                Some(_) if header.kind() == Kind::Fuse => {
                    line("capacity", "its own keys: it takes no more".to_owned());
                }
                Some(capacity) => line("capacity", human::count(capacity)),
            }
            if let Some(load) = filled.load {
                line("load", format!("{} {}", human::percent(load), what_is_loaded(filter)));
            }
            line("bits per key", format!("{:.2}", filled.bits_per_key));
            let at_capacity = human::rate(filled.expected_rate_at_capacity);
            let later = match header.kind() {
                Kind::Fuse => String::new(),
                Kind::Growing | Kind::GrowingBlocked => format!("; never above {at_capacity}"),
                _ => format!(" now; made for {at_capacity} at capacity"),
            };
            line("expected rate", format!("{}{later}", human::rate(filled.expected_rate)));
        }
        line("size", format!("{} in the file", human::bytes(self.file_bytes)));
        line("hash", header.hash().to_string());
        line("format", format!("version {}", self.format_version));
        line("checksum", format!("{} (verified)", self.payload_checksum));
        if let (Some(filled), Some(filter)) = (&self.filter, filter) {
            text.push_str(&filled.picture(distinct_keys(filter)));
        }
        text
    }
}

impl Stage {
    fn of(stage: &impl DynamicFilter) -> Self {
        Self {
            keys: stage.key_count(),
            capacity: stage.capacity(),
            size_bytes: stage.size_in_bits() / 8,
            expected_rate: stage.expected_fpr(),
        }
    }
}

impl Filled {
    fn of(filter: &AnyFilter) -> Self {
        let Facts {
            capacity,
            size_bytes,
            bits_per_key,
            expected_rate,
            expected_rate_at_capacity,
            ..
        } = Facts::of(filter);
        let stages = match filter {
            AnyFilter::Growing(filter) => filter.stages().iter().map(Stage::of).collect(),
            AnyFilter::GrowingBlocked(filter) => filter.stages().iter().map(Stage::of).collect(),
            _ => Vec::new(),
        };
        Self {
            capacity,
            size_bytes,
            bits_per_key,
            expected_rate,
            expected_rate_at_capacity,
            load: load(filter),
            stages,
        }
    }

    /// How full it is: keys against capacity, of every stage if there are some.
    fn picture(&self, keys: u64) -> String {
        let line = |keys: u64, capacity: u64| {
            let share = keys as f64 / capacity.max(1) as f64;
            format!("  {} {:>4} of {}\n", bar(share), human::percent(share), human::count(capacity))
        };
        match self.capacity {
            None => self
                .stages
                .iter()
                .fold("\n".to_owned(), |text, stage| text + &line(stage.keys, stage.capacity)),
            Some(capacity) => format!("\n{}", line(keys, capacity)),
        }
    }
}

/// The share of the table that is in use.
fn load(filter: &AnyFilter) -> Option<f64> {
    let share = |part: u64, whole: u64| Some(part as f64 / whole as f64);
    match filter {
        AnyFilter::Bloom(filter) => share(filter.count_set_bits(), filter.size_in_bits()),
        AnyFilter::Blocked(filter) => share(filter.count_set_bits(), filter.size_in_bits()),
        AnyFilter::Counting(filter) => {
            let used = filter.counters().filter(|&counter| counter > 0).count();
            share(used as u64, filter.counter_count())
        }
        AnyFilter::Cuckoo(filter) => Some(filter.load()),
        AnyFilter::Quotient(filter) => share(filter.key_count(), filter.slot_count()),
        _ => None,
    }
}

/// What the load is a share of.
fn what_is_loaded(filter: &AnyFilter) -> String {
    match filter {
        AnyFilter::Bloom(filter) => {
            format!(
                "of {} are set, {} per key",
                human::counted(filter.size_in_bits(), "bit"),
                filter.probes()
            )
        }
        AnyFilter::Blocked(filter) => {
            format!(
                "of {} are set, {} per key",
                human::counted(filter.size_in_bits(), "bit"),
                filter.probes()
            )
        }
        AnyFilter::Counting(filter) => format!(
            "of {} are above 0, {} per key",
            human::counted(filter.counter_count(), "counter"),
            filter.probes()
        ),
        AnyFilter::Cuckoo(filter) => format!(
            "of {} are taken, {} bits each",
            human::counted(filter.slot_count(), "slot"),
            filter.fingerprint_bits()
        ),
        AnyFilter::Quotient(filter) => format!(
            "of {} are taken, {} bits each",
            human::counted(filter.slot_count(), "slot"),
            filter.remainder_bits()
        ),
        _ => String::new(),
    }
}
