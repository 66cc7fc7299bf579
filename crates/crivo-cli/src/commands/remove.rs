//! `crivo remove`: removes keys from a filter file.

use clap::Args;
use crivo::filter::OperationError;
use serde::Serialize;

use super::change::{Change, ChangeArgs};
use crate::describe::{FilterSummary, cannot_remove};
use crate::error::Error;
use crate::human;
use crate::output;
use crate::status::Status;

/// Removes keys from a filter file, in place
///
/// Remove only keys that were inserted: removing a false positive removes another key instead. Keys are
/// taken from the input as the file records it. Each distinct key is removed once; from a counting filter, as often as it occurs. A key that several
/// commands inserted must be removed as often. The file is replaced atomically, under a lock. The
/// exit status is 1 if nothing was removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    args: ChangeArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo remove live.crivo gone.txt
  printf 'ana\\n' | crivo remove live.crivo && echo gone

Exit status: 0 success, 1 nothing was removed, 2 error.
";

impl RemoveArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let ChangeArgs { json, quiet, .. } = self.args;
        let (file, header, kind) = self.args.open()?;
        if !kind.capabilities().remove {
            return Err(Error::new(format_args!("{}: {}", file.name(), cannot_remove(kind))));
        }
        let mut absent = 0;
        let change = self.args.run((&file, &header), |filter, digest, copies| {
            let mut removed = 0;
            while removed < copies {
                match filter.remove_digest(digest) {
                    Ok(()) => removed += 1,
                    Err(OperationError::NotPresent(_)) => break,
                    Err(error) => return Err(Error::new(error)),
                }
            }
            absent += copies - removed;
            Ok(removed)
        })?;
        let Change { filter, input_keys, changed: removed, .. } = change;
        let file = file.name();
        if json {
            let facts = FilterSummary::of(&filter);
            output::print_json(&RemoveSummary { file, input_keys, removed, absent, facts })?;
        } else if !quiet {
            let rest = match absent {
                0 => String::new(),
                1 => "; 1 was not present".to_owned(),
                _ => format!("; {} were not present", human::count(absent)),
            };
            output::print_message(format_args!(
                "{file}: removed {}{rest}; it holds {}",
                human::counted(removed, "key"),
                human::count(filter.key_count())
            ));
        }
        Ok(if removed > 0 { Status::Success } else { Status::NothingFound })
    }
}

#[derive(Serialize)]
struct RemoveSummary {
    file: String,
    input_keys: u64,
    removed: u64,
    absent: u64,
    #[serde(flatten)]
    facts: FilterSummary,
}
