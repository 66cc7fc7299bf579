//! `crivo insert`: more keys for a filter file.

use clap::Args;
use crivo::codec::{Header, Kind};
use crivo::filter::Filter;
use crivo::filter::choose::Abilities;
use serde::Serialize;

use super::change::{Change, ChangeArgs};
use crate::describe::{Facts, kinds_that, past_capacity};
use crate::human;
use crate::outcome::{Error, Outcome};
use crate::output;

/// Adds keys to a filter file, in place
///
/// The file is replaced in one step, under a lock: readers find the old filter or the new one, and
/// two insertions at once lose nothing. On an error the file is as it was.
///
/// Each distinct key of the input is inserted once; into a counting filter, as often as it comes.
/// What seems to be in the filter already is left out of bloom, blocked and growing filters. A
/// cuckoo or quotient filter stores another copy of it: a key that was inserted by three commands
/// takes three places, and is gone after three removals.
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
  crivo insert users.crivo --csv --column email today.csv
";

impl InsertArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let ChangeArgs { file, json, .. } = &self.args;
        let header = Header::load(file)?;
        let kind = header.kind();
        if !Abilities::of(kind).dynamic {
            return Err(Error::new(format_args!(
                "{} is a {kind} filter, which is built from all its keys and takes no more; \
                 {} filters take keys one by one",
                file.display(),
                kinds_that(|can| can.dynamic)
            )));
        }
        // To these kinds a key that seems to be there adds nothing but to their count of keys. The
        // others need it, so that it is still there when the one that it is taken for is removed.
        let skips_known =
            matches!(kind, Kind::Bloom | Kind::Blocked | Kind::Growing | Kind::GrowingBlocked);
        let change = self.args.run(&header, |filter, digest, copies| {
            let Some(filter) = filter.as_dynamic_mut() else { return Ok(0) };
            if skips_known && filter.contains_digest(digest) {
                return Ok(0);
            }
            (0..copies)
                .try_for_each(|_| filter.insert_digest(digest))
                .map_err(|full| Error::new(format_args!("{full}; the file is as it was")))?;
            Ok(copies)
        })?;
        let Change { filter, input_keys, distinct_keys, changed: inserted } = change;
        if let Some(warning) = past_capacity(&filter) {
            output::warn(warning);
        }
        let file = file.display();
        if *json {
            let (file, facts) = (file.to_string(), Facts::of(&filter));
            output::print_json(&Summary { file, input_keys, distinct_keys, inserted, facts })?;
        } else {
            let rest = match distinct_keys.saturating_sub(inserted) {
                0 => String::new(),
                1 => "; 1 is there already, or seems to be".to_owned(),
                there => format!("; {} are there already, or seem to be", human::count(there)),
            };
            output::say(format_args!(
                "{file}: inserted {}{rest}; it holds {}",
                human::counted(inserted, "key"),
                human::count(filter.key_count())
            ));
        }
        Ok(Outcome::Done)
    }
}

#[derive(Serialize)]
struct Summary {
    file: String,
    input_keys: u64,
    distinct_keys: u64,
    inserted: u64,
    #[serde(flatten)]
    facts: Facts,
}
