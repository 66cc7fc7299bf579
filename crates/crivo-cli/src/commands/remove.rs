//! `crivo remove`: keys out of a filter file.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::codec::{Header, Kind};
use crivo::filter::choose::Abilities;
use crivo::filter::{AnyFilter, Filter};
use serde::Serialize;

use super::insert::check_unchanged;
use crate::describe::{Facts, kinds_that};
use crate::distinct::{Distinct, gather};
use crate::human;
use crate::input::InputArgs;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::secret::KeyFileArgs;
use crate::update::{self, Changed};

/// Removes keys from a filter file, in place
///
/// Remove only what was inserted: a key that never was, but seems to be there, takes another one
/// with it. Each distinct key is removed once; from a counting filter, as often as it comes. A key
/// that several commands inserted must be removed as often. The file is replaced in one step, under
/// a lock. The exit status is 1 if nothing was removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RemoveArgs {
    /// The filter
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    key: KeyFileArgs,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo remove live.crivo gone.txt
  printf 'ana\\n' | crivo remove live.crivo && echo gone
";

impl RemoveArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let header = Header::load(&self.file)?;
        let kind = header.kind();
        if !Abilities::of(kind).remove {
            return Err(Error::new(format_args!(
                "{} is a {kind} filter, from which nothing can be removed; {} filters give keys back",
                self.file.display(),
                kinds_that(|can| can.remove)
            )));
        }
        let hasher = self.key.hasher(&header)?;
        match kind {
            Kind::Counting => self.remove(gather::<2>(&self.input, hasher)?, &header),
            _ => self.remove(gather::<1>(&self.input, hasher)?, &header),
        }
    }

    fn remove<const W: usize>(&self, keys: Distinct<W>, header: &Header) -> Result<Outcome, Error> {
        let total = keys.total;
        let (filter, (removed, absent)) = update::update(&self.file, self.key.open()?, |filter| {
            check_unchanged(filter, header)?;
            let (removed, absent) = remove_all(filter, keys)?;
            Ok(Changed { is_changed: removed > 0, report: (removed, absent) })
        })?;
        let file = self.file.display();
        if self.json {
            let facts = Facts::of(&filter);
            let file = file.to_string();
            output::print_json(&Summary { file, input_keys: total, removed, absent, facts })?;
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

/// How many were removed, and how many were not there.
fn remove_all<const W: usize>(
    filter: &mut AnyFilter,
    keys: Distinct<W>,
) -> Result<(u64, u64), Error> {
    let Some(filter) = filter.as_removable_mut() else { return Ok((0, 0)) };
    let (mut removed, mut absent) = (0, 0);
    keys.each(|digest, copies| {
        for copy in 0..copies {
            if filter.remove_digest(digest).is_err() {
                absent += copies - copy;
                break;
            }
            removed += 1;
        }
        Ok(())
    })?;
    Ok((removed, absent))
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
