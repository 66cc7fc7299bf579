//! `crivo dedup`: every record once, in the order of the input.
//!
//! Records are hashed on all cores and looked up in one set, in order. There are two kinds of set:
//! [`exact`], which spills to disk beyond its memory, and [`approximate`], a filter with a few bits per
//! record that wrongly drops a few records, and reports how many. Which records are printed may depend on
//! what comes later ([`selected`]); then the input is read twice.

mod approximate;
mod exact;
mod selected;
mod summary;

use std::path::PathBuf;

use clap::{Args, ValueHint};

use self::selected::GroupSelection;
use self::summary::DedupSummary;
use super::records::Printer;
use crate::error::Error;
use crate::human::{count, counted, parse_bytes, parse_count, parse_fpr};
use crate::input::InputArgs;
use crate::output;
use crate::spill::{DEFAULT_MEMORY, Keep};
use crate::status::Status;

/// Prints every record once, dropping repetitions
///
/// Records are printed unchanged, at their first occurrence. The answer is exact: records are stored
/// as 128-bit hashes in about 20 bytes each, on disk (TMPDIR) beyond --memory. With --fpr they are
/// stored in a filter with a few bits each, and a few new records are dropped.
///
/// With --duplicates, --unique, --count or --keep last the input is read twice; a pipe is copied to a
/// temporary file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DedupArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Print to this file, which is replaced when all is done; it may be an input [default: standard
    /// output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Print only records that are repeated, each once
    #[arg(long, conflicts_with_all = ["unique", "fpr"])]
    duplicates: bool,

    /// Print only records that are not repeated
    #[arg(long, conflicts_with = "fpr")]
    unique: bool,

    /// Print the number of repetitions before each record, as `uniq -c` does; with --csv it is the first
    /// column
    #[arg(short, long, conflicts_with = "fpr")]
    count: bool,

    /// Which of equal records to print
    #[arg(long, value_name = "WHICH", value_enum, default_value = "first", conflicts_with = "fpr")]
    keep: Keep,

    /// The maximum memory for hashes; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = parse_bytes)]
    #[arg(conflicts_with = "fpr", allow_negative_numbers = true)]
    memory: u64,

    /// Use a filter with this false-positive rate: it wrongly drops at most this share of new records
    #[arg(long, alias = "rate", value_name = "FPR", value_parser = parse_fpr)]
    #[arg(allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// With --fpr: a filter of this capacity, which never grows
    #[arg(long, value_name = "N", value_parser = parse_count, requires = "fpr")]
    #[arg(allow_negative_numbers = true)]
    keys: Option<u64>,

    /// Do not print how many records were dropped
    #[arg(short, long)]
    quiet: bool,

    /// Print how many records were dropped as JSON, to standard error
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo dedup access.log > once.log            every line once
  crivo dedup --field 7 -d ' ' access.log      the first line of each address
  crivo dedup -o list.txt list.txt             a file in its place
  crivo dedup --count words.txt | sort -rn     how often each line occurs
  crivo dedup --keep last --csv --column id changes.csv
  crivo dedup --memory 4GB huge.txt.zst        more memory, less work on disk
  tail -f urls | crivo dedup --fpr 0.001       an endless stream, in little memory
  crivo dedup --fpr 1e-6 --keys 100M big.txt   constant memory
";

impl DedupArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let summary = Printer::with_output(self.output.as_deref(), |printer| {
            match (self.fpr, self.selection()) {
                (Some(fpr), _) => approximate::dedup(&self.input, fpr, self.keys, printer),
                (None, Some(selection)) => self.print_selected(selection, printer),
                (None, None) => exact::dedup(&self.input, self.memory, printer),
            }
        })?;
        if self.json {
            // A struct of three numbers can always be serialized.
            output::print_message(serde_json::to_string(&summary).unwrap_or_default());
        } else if !self.quiet {
            let DedupSummary { records, dropped, expected_wrongly_dropped: wrongly } = summary;
            let about = match self.fpr {
                None => String::new(),
                Some(_) if wrongly < 10.0 => format!("; about {wrongly:.2} of them wrongly"),
                Some(_) => {
                    format!("; about {} of them wrongly", count(wrongly.round() as u64))
                }
            };
            let dropped = counted(dropped, "record");
            output::print_message(format_args!(
                "crivo: {dropped} dropped of {}{about}",
                count(records)
            ));
        }
        Ok(Status::Success)
    }

    /// What is printed, unless it is every first occurrence.
    fn selection(&self) -> Option<GroupSelection> {
        let selection = GroupSelection {
            keep: self.keep,
            singles: !self.duplicates,
            repeated: !self.unique,
            prints_count: self.count,
        };
        let is_default =
            !self.duplicates && !self.unique && !self.count && self.keep == Keep::First;
        (!is_default).then_some(selection)
    }
}
