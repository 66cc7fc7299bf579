//! `crivo inspect`: describes a filter file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anstyle::Style;
use clap::{Args, ValueHint};
use crivo::codec::{FileKind, Header};
use crivo::filter::{AnyFilter, Capabilities, Cells, DynamicFilter, Occupancy};
use crivo::hash::Family;
use crivo_sketch::SimilarityIndex;
use serde::Serialize;

use crate::describe::{FilterSummary, distinct_keys, past_capacity};
use crate::error::Error;
use crate::filter_file::FilterFile;
#[cfg(feature = "formats")]
use crate::foreign::{ForeignArgs, ForeignReport};
use crate::human;
use crate::output;
#[cfg(feature = "formats")]
use crate::parquet::{ParquetReport, is_parquet};
use crate::secret::KeyFileArgs;
use crate::status::Status;
use crate::table::bar;

/// Shows what a filter file contains, how its keys were taken, and how full it is
///
/// The whole file is read and its checksums are verified.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// The filter; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    key: KeyFileArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    foreign: ForeignArgs,

    /// Print it to standard output as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo inspect seen.crivo
  crivo inspect --json seen.crivo | jq .expected_fpr
  crivo inspect visits.parquet                        the filters of a Parquet file
";

impl InspectArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        #[cfg(feature = "formats")]
        if is_parquet(&self.file) {
            ParquetReport::of(&self.file)?.print(self.json)?;
            return Ok(Status::Success);
        }
        let file = FilterFile::open(&self.file)?;
        #[cfg(feature = "formats")]
        if let Some(filter) = self.foreign.open(&file)? {
            ForeignReport::of(file.name(), &*filter).print(self.json)?;
            return Ok(Status::Success);
        }
        let header = file.verify()?;
        // Without its key a filter can be verified but not loaded.
        let needs_key = header.hash().family() == Family::Sip24 && self.key.key_file.is_none();
        let filter = match needs_key || header.filter_kind().is_none() {
            true => None,
            false => Some(file.load(&self.key.options()?)?),
        };
        let report = InspectReport::of(&file.name(), &header, filter.as_ref());
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print(&report.text(&header, filter.as_ref()))?;
            if needs_key {
                output::print_message(
                    "The filter was built with a secret key; --key-file shows more.",
                );
            }
            if let Some(warning) = filter.as_ref().and_then(past_capacity) {
                output::print_warning(warning);
            }
        }
        Ok(Status::Success)
    }
}

#[derive(Serialize)]
struct InspectReport {
    file: String,
    format_version: u16,
    kind: String,
    keys: u64,
    file_bytes: u64,
    hash: &'static str,
    seed: Option<u64>,
    /// Of the header and of the payload, in hexadecimal digits; both are verified.
    header_checksum: String,
    payload_checksum: String,
    parameters: Vec<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(flatten)]
    filter: Option<FilterDetails>,
}

/// What only the loaded filter can tell.
#[derive(Serialize)]
struct FilterDetails {
    capacity: Option<u64>,
    size_bytes: u64,
    bits_per_key: f64,
    expected_fpr: f64,
    expected_fpr_at_capacity: f64,
    /// The used share of the table, for kinds that have one.
    load: Option<f64>,
    /// The stages of a growing filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageDetails>,
}

#[derive(Serialize)]
struct StageDetails {
    keys: u64,
    capacity: u64,
    size_bytes: u64,
    expected_fpr: f64,
}

impl InspectReport {
    fn of(file: &str, header: &Header, filter: Option<&AnyFilter>) -> Self {
        let hash = header.hash();
        Self {
            file: file.to_owned(),
            format_version: header.version(),
            kind: kind_of(header).to_string(),
            keys: header.key_count(),
            file_bytes: header.file_length(),
            hash: hash.family().name(),
            seed: hash.hasher().and_then(|hasher| hasher.seed()),
            header_checksum: format!("{:016x}", header.header_checksum()),
            payload_checksum: format!("{:016x}", header.payload_checksum()),
            parameters: header.parameters().to_vec(),
            metadata: header
                .metadata()
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            filter: filter.map(FilterDetails::of),
        }
    }

    fn text(&self, header: &Header, filter: Option<&AnyFilter>) -> String {
        let bold = Style::new().bold();
        let mut text =
            format!("{bold}{}: a {}{bold:#}\n", self.file, kind_of(header).description());
        let mut line = |name: &str, value: String| {
            text.push_str(&format!("  {name:<14} {value}\n"));
        };
        line("keys", human::count(self.keys));
        if let (Some(details), Some(filter)) = (&self.filter, filter) {
            let can = filter.kind().capabilities();
            match details.capacity {
                None => line("capacity", "unlimited".to_owned()),
                Some(_) if !can.insert => {
                    line("capacity", "its own keys: it cannot be added to".to_owned());
                }
                Some(capacity) => line("capacity", human::count(capacity)),
            }
            if let Some(occupancy) = filter.occupancy() {
                let share = human::percent(occupancy.share());
                line("load", format!("{share} {}", of_what(occupancy)));
            }
            line("bits per key", format!("{:.2}", details.bits_per_key));
            let at_capacity = human::percentage(details.expected_fpr_at_capacity);
            let later = match can {
                Capabilities { insert: false, .. } => String::new(),
                Capabilities { unlimited: true, .. } => format!("; never above {at_capacity}"),
                _ => format!(" now; {at_capacity} at capacity"),
            };
            line("expected FPR", format!("{}{later}", human::percentage(details.expected_fpr)));
        }
        line("size", format!("{} in the file", human::bytes(self.file_bytes)));
        line("hash", header.hash().to_string());
        line("format", format!("version {}", self.format_version));
        for (name, value) in &self.metadata {
            line(&name.escape_debug().to_string(), format!("{}", value.escape_debug()));
        }
        line("checksum", format!("{} (verified)", self.payload_checksum));
        if let (Some(details), Some(filter)) = (&self.filter, filter) {
            text.push_str(&details.bars(distinct_keys(filter)));
        }
        text
    }
}

/// The kind of a file, with its name if it is known here.
fn kind_of(header: &Header) -> FileKind {
    let kind = header.kind();
    if kind == SimilarityIndex::FILE_KIND { SimilarityIndex::FILE_KIND } else { kind }
}

impl StageDetails {
    fn of(stage: &dyn DynamicFilter) -> Self {
        Self {
            keys: stage.key_count(),
            capacity: stage.capacity(),
            size_bytes: stage.size_in_bits() / 8,
            expected_fpr: stage.expected_fpr(),
        }
    }
}

impl FilterDetails {
    fn of(filter: &AnyFilter) -> Self {
        let FilterSummary {
            capacity,
            size_bytes,
            bits_per_key,
            expected_fpr,
            expected_fpr_at_capacity,
            ..
        } = FilterSummary::of(filter);
        Self {
            capacity,
            size_bytes,
            bits_per_key,
            expected_fpr,
            expected_fpr_at_capacity,
            load: filter.occupancy().map(|occupancy| occupancy.share()),
            stages: filter.stages().into_iter().map(StageDetails::of).collect(),
        }
    }

    /// Bars of keys against capacity, one for every stage.
    fn bars(&self, keys: u64) -> String {
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

/// What the occupancy is a share of.
fn of_what(Occupancy { total, cells, .. }: Occupancy) -> String {
    let (cell, state, share) = match cells {
        Cells::Bits { probes } => ("bit", "set", format!("{probes} per key")),
        Cells::Counters { probes } => ("counter", "above 0", format!("{probes} per key")),
        Cells::Slots { bits } => ("slot", "taken", format!("{bits} bits each")),
        _ => ("cell", "used", String::new()),
    };
    format!("of {} are {state}, {share}", human::counted(total, cell))
}
