//! `crivo insert`: adds keys to a filter file.

use clap::Args;
use crivo::filter::Filter;
use serde::Serialize;

use super::change::{Change, ChangeArgs};
use crate::describe::{FilterSummary, cannot_insert, past_capacity};
use crate::error::Error;
use crate::human;
use crate::output;
use crate::status::Status;

/// Adds keys to a filter file, in place
///
/// The file is replaced atomically, under a lock: readers see the old filter or the new one, and
/// concurrent insertions lose nothing. On an error the file is unchanged.
///
/// Keys are taken from the input as the file records it. Each distinct key is inserted once; into a counting filter, as often as it occurs.
/// Keys that seem to be present already are not inserted into bloom, blocked and growing filters. A
/// cuckoo or quotient filter stores another copy: a key that was inserted by three commands takes
/// three slots and is gone after three removals.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InsertArgs {
    #[command(flatten)]
    args: ChangeArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo insert seen.crivo new-urls.txt
  printf 'ana\\nrui\\n' | crivo insert seen.crivo
  crivo insert users.crivo today.csv           the column that it was built with
";

impl InsertArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let ChangeArgs { json, quiet, .. } = self.args;
        let (file, header, kind) = self.args.open()?;
        if !kind.capabilities().insert {
            return Err(Error::new(format_args!("{}: {}", file.name(), cannot_insert(kind))));
        }
        // For these kinds, inserting a key that seems present changes only the key count. The others
        // must store it, so that it is still present after the key it is confused with is removed.
        let skips_known = !kind.capabilities().remove;
        let change = self.args.run((&file, &header), |filter, digest, copies| {
            if skips_known && filter.contains_digest(digest) {
                return Ok(0);
            }
            (0..copies)
                .try_for_each(|_| filter.insert_digest(digest).map(drop))
                .map_err(|error| Error::new(format_args!("{error}; the file is unchanged")))?;
            Ok(copies)
        })?;
        let Change { filter, input_keys, distinct_keys, changed: inserted } = change;
        if let Some(warning) = past_capacity(&filter) {
            output::print_warning(warning);
        }
        let file = file.name();
        if json {
            let facts = FilterSummary::of(&filter);
            output::print_json(&InsertSummary {
                file,
                input_keys,
                distinct_keys,
                inserted,
                facts,
            })?;
        } else if !quiet {
            let rest = match distinct_keys.saturating_sub(inserted) {
                0 => String::new(),
                1 => "; 1 was, or seemed to be, present already".to_owned(),
                present => {
                    let present = human::count(present);
                    format!("; {present} were, or seemed to be, present already")
                }
            };
            output::print_message(format_args!(
                "{file}: inserted {}{rest}; it holds {}",
                human::counted(inserted, "key"),
                human::count(filter.key_count())
            ));
        }
        Ok(Status::Success)
    }
}

#[derive(Serialize)]
struct InsertSummary {
    file: String,
    input_keys: u64,
    distinct_keys: u64,
    inserted: u64,
    #[serde(flatten)]
    facts: FilterSummary,
}
