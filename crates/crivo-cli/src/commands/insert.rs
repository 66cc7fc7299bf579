//! `crivo insert`: more keys for a filter file.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::codec::{Header, Kind};
use crivo::filter::choose::Abilities;
use crivo::filter::{AnyFilter, Filter};
use serde::Serialize;

use crate::describe::{Facts, kinds_that, past_capacity};
use crate::distinct::{Distinct, gather};
use crate::human;
use crate::input::InputArgs;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::secret::KeyFileArgs;
use crate::update::{self, Changed};

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
  crivo insert seen.crivo new-urls.txt
  printf 'ana\\nrui\\n' | crivo insert seen.crivo
  crivo insert users.crivo --csv --column email today.csv
";

impl InsertArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let header = Header::load(&self.file)?;
        let kind = header.kind();
        if !Abilities::of(kind).dynamic {
            return Err(Error::new(format_args!(
                "{} is a {kind} filter, which is built from all its keys and takes no more; \
                 {} filters take keys one by one",
                self.file.display(),
                kinds_that(|can| can.dynamic)
            )));
        }
        let hasher = self.key.hasher(&header)?;
        // Whoever else wants to change the file need not wait until this input has been read.
        match kind {
            Kind::Counting => self.insert(gather::<2>(&self.input, hasher)?, &header),
            _ => self.insert(gather::<1>(&self.input, hasher)?, &header),
        }
    }

    fn insert<const W: usize>(&self, keys: Distinct<W>, header: &Header) -> Result<Outcome, Error> {
        let (total, distinct) = (keys.total, keys.distinct);
        let (filter, inserted) = update::update(&self.file, self.key.open()?, |filter| {
            check_unchanged(filter, header)?;
            let inserted = insert_all(filter, keys)?;
            Ok(Changed { is_changed: inserted > 0, report: inserted })
        })?;
        if let Some(warning) = past_capacity(&filter) {
            output::warn(warning);
        }
        let file = self.file.display();
        if self.json {
            let facts = Facts::of(&filter);
            let summary = Summary {
                file: file.to_string(),
                input_keys: total,
                distinct_keys: distinct,
                inserted,
                facts,
            };
            output::print_json(&summary)?;
        } else {
            let there = distinct.saturating_sub(inserted);
            let rest = match there {
                0 => String::new(),
                _ => format!("; {} there already, or seem to be", are(there)),
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

fn are(number: u64) -> String {
    format!("{} {}", human::count(number), if number == 1 { "is" } else { "are" })
}

/// Between the reading of the header and the lock another command may have put in another filter.
pub(crate) fn check_unchanged(filter: &AnyFilter, header: &Header) -> Result<(), Error> {
    if filter.kind() == header.kind() && filter.hasher().identity() == header.hash() {
        Ok(())
    } else {
        Err(Error::new("the file was replaced by another filter meanwhile; try again"))
    }
}

/// How many were inserted. On an error the filter is spoilt.
fn insert_all<const W: usize>(filter: &mut AnyFilter, keys: Distinct<W>) -> Result<u64, Error> {
    // To these kinds a key that seems to be there adds nothing but to their count of keys. The others
    // need it, so that it is still there when the one that it is taken for is removed.
    let skips_known =
        matches!(filter.kind(), Kind::Bloom | Kind::Blocked | Kind::Growing | Kind::GrowingBlocked);
    let Some(filter) = filter.as_dynamic_mut() else { return Ok(0) };
    let mut inserted = 0;
    keys.each(|digest, copies| {
        if skips_known && filter.contains_digest(digest) {
            return Ok(());
        }
        for _ in 0..copies {
            filter
                .insert_digest(digest)
                .map_err(|full| Error::new(format_args!("{full}; the file is as it was")))?;
            inserted += 1;
        }
        Ok(())
    })?;
    Ok(inserted)
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
