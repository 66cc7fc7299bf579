//! `crivo remove`: keys out of a filter file.

use clap::Args;
use crivo::codec::Header;
use crivo::filter::Filter;
use crivo::filter::choose::Abilities;
use serde::Serialize;

use super::change::{Change, ChangeArgs};
use crate::describe::{Facts, kinds_that};
use crate::human;
use crate::outcome::{Error, Outcome};
use crate::output;

/// Removes keys from a filter file, in place
///
/// Remove only what was inserted: a key that never was, but seems to be there, takes another one
/// with it. Each distinct key is removed once; from a counting filter, as often as it comes. A key
/// that several commands inserted must be removed as often. The file is replaced in one step, under
/// a lock. The exit status is 1 if nothing was removed.
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
";

impl RemoveArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let ChangeArgs { file, json, .. } = &self.args;
        let header = Header::load(file)?;
        let kind = header.kind();
        if !Abilities::of(kind).remove {
            return Err(Error::new(format_args!(
                "{} is a {kind} filter, from which nothing can be removed; {} filters give keys back",
                file.display(),
                kinds_that(|can| can.remove)
            )));
        }
        let mut absent = 0;
        let change = self.args.run(&header, |filter, digest, copies| {
            let Some(filter) = filter.as_removable_mut() else { return Ok(0) };
            let removals = (0..copies).take_while(|_| filter.remove_digest(digest).is_ok());
            let removed = removals.count() as u64;
            absent += copies - removed;
            Ok(removed)
        })?;
        let Change { filter, input_keys, changed: removed, .. } = change;
        let file = file.display();
        if *json {
            let (file, facts) = (file.to_string(), Facts::of(&filter));
            output::print_json(&Summary { file, input_keys, removed, absent, facts })?;
        } else {
            let rest = match absent {
                0 => String::new(),
                1 => "; 1 was not there".to_owned(),
                _ => format!("; {} were not there", human::count(absent)),
            };
            output::say(format_args!(
                "{file}: removed {}{rest}; it holds {}",
                human::counted(removed, "key"),
                human::count(filter.key_count())
            ));
        }
        Ok(if removed > 0 { Outcome::Done } else { Outcome::Nothing })
    }
}

#[derive(Serialize)]
struct Summary {
    file: String,
    input_keys: u64,
    removed: u64,
    absent: u64,
    #[serde(flatten)]
    facts: Facts,
}
