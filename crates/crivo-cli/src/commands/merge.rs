//! `crivo merge`: the union of filters.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use crivo::codec::{LoadOptions, Metadata};
use crivo::filter::{AnyFilter, OperationError, RebuildError};
use crivo::hash::{Family, HashIdentity};
use serde::Serialize;

use crate::describe::{FilterSummary, mergeable_kinds, past_capacity};
use crate::error::Error;
use crate::filter_file::FilterFile;
#[cfg(feature = "formats")]
use crate::foreign::{self, ForeignArgs, ForeignReport};
use crate::human;
use crate::input::{is_standard_input, options_of, place_of};
use crate::output;
#[cfg(feature = "formats")]
use crate::parquet::is_parquet;
use crate::secret::KeyFileArgs;
use crate::status::Status;
use crate::update;

/// Merges filters into one that contains the keys of all
///
/// They must have been built with the same --kind, --keys, --fpr, --hash and --seed, and their keys taken
/// from their inputs in the same way.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// The file to write; it may be one of the inputs; `-` is standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// The filters, two or more; one of them may be `-`, standard input
    #[arg(value_name = "FILE", required = true, num_args = 2.., value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    key: KeyFileArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    foreign: ForeignArgs,

    /// Print no summary
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo merge -o week.crivo monday.crivo tuesday.crivo
  ssh other cat a.crivo | crivo merge -o both.crivo - b.crivo
  crivo build -o monday.crivo --keys 1M monday.txt      with the same --keys
  crivo build -o tuesday.crivo --keys 1M tuesday.txt
";

/// What the library calls the parameter.
const HASH_FUNCTION: &str = "hash function";

const SAME_KEY: &str = "build both with --hash sip and the same --key-file";

const SAME_OPTIONS: &str = "build both with the same --kind, --keys, --fpr, --hash and --seed";

impl MergeArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        update::check_summary(&self.output, self.json)?;
        update::check_output(&self.output, &[])?;
        if self.files.iter().filter(|path| is_standard_input(path)).count() > 1 {
            return Err(Error::new("only one of the filters can be standard input"));
        }
        let options = self.key.options()?;
        let (first, others) = self.files.split_first().ok_or_else(|| Error::new("no filters"))?;
        #[cfg(feature = "formats")]
        if let Some(path) = self.files.iter().find(|path| is_parquet(path)) {
            return Err(Error::new(format_args!(
                "{} is a table with filters, and not a filter: merge takes filters alone",
                path.display()
            )));
        }
        let first_file = FilterFile::open(first)?;
        #[cfg(feature = "formats")]
        if let Some(filter) = self.foreign.open(&first_file)? {
            let all = foreign::merge(filter, others, &self.foreign, &self.output)?;
            let what = format!("merged from {}", self.files.len());
            if !self.quiet {
                ForeignReport::of(update::output_name(&self.output), &*all)
                    .print_written(self.json, &what)?;
            }
            return Ok(Status::Success);
        }
        let mut all = load(&first_file, &options)?;
        for path in others {
            let other = load(&FilterFile::open(path)?, &options)?;
            check_place(&all, first, &other, path)?;
            let hashers = [all.hasher(), other.hasher()].map(|hasher| hasher.identity());
            all.union_with(&other).map_err(|error| {
                let advice = match error {
                    // What the library advises is for programs.
                    OperationError::Rebuild(RebuildError::Incompatible(difference))
                        if difference.parameter == HASH_FUNCTION =>
                    {
                        return Error::new(format_args!(
                            "{} and {}: the {HASH_FUNCTION} is {} in one and {} in the other; {}",
                            first.display(),
                            path.display(),
                            difference.ours,
                            difference.theirs,
                            same_hash(hashers),
                        ));
                    }
                    OperationError::Rebuild(RebuildError::Incompatible(_)) => {
                        format!("; {SAME_OPTIONS}")
                    }
                    OperationError::Rebuild(RebuildError::Full(_)) => {
                        "; build them with a larger --keys".to_owned()
                    }
                    OperationError::Unsupported { .. } => {
                        format!("; use {} filters for merging", mergeable_kinds())
                    }
                    _ => String::new(),
                };
                Error::new(format_args!(
                    "{} and {}: {error}{advice}",
                    first.display(),
                    path.display()
                ))
            })?;
        }
        update::replace(&self.output, &all)?;
        if let Some(warning) = past_capacity(&all) {
            output::print_warning(warning);
        }
        let file = update::output_name(&self.output);
        if self.json {
            let facts = FilterSummary::of(&all);
            let summary = MergeSummary { file, merged: self.files.len(), facts };
            output::print_json(&summary)?;
        } else if !self.quiet {
            // Keys that seemed to be there already were not counted, so that a sum of counts is no bound where
            // there is an estimate.
            let keys = match all.estimated_key_count() {
                Some(found) => {
                    format!("about {}", human::counted(found.keys.round() as u64, "key"))
                }
                None => format!("at most {}", human::counted(all.key_count(), "key")),
            };
            output::print_message(format_args!(
                "{file}: {} merged; it holds {keys}",
                human::counted(self.files.len() as u64, &format!("{} filter", all.kind())),
            ));
        }
        Ok(Status::Success)
    }
}

/// Loads a filter to be merged. Of one that takes no secret key where one was given, the error says how to build one
/// that does.
fn load(file: &FilterFile, options: &LoadOptions) -> Result<AnyFilter, Error> {
    file.load(options).map_err(|error| match file.load(&LoadOptions::default()) {
        Ok(_) => {
            Error::new(format_args!("{error}; to merge it with a filter that has one, {SAME_KEY}"))
        }
        Err(_) => error,
    })
}

/// How to build two filters with the hash function of one of them: of the one with a secret key, which was
/// chosen for a reason; or of the one that is of the family that was the default once, since its keys may not
/// be at hand any more; or of the first.
fn same_hash(hashers: [HashIdentity; 2]) -> String {
    let of = |family| hashers.into_iter().find(|each| each.family() == family);
    let chosen = of(Family::Sip24).or_else(|| of(Family::Xxh3)).unwrap_or(hashers[0]);
    match chosen.family() {
        Family::Fold64 | Family::Xxh3 => {
            format!("build both with --hash {} --seed {}", chosen.family(), chosen.value())
        }
        Family::Sip24 => SAME_KEY.to_owned(),
        // A program has built it.
        _ => SAME_OPTIONS.to_owned(),
    }
}

/// Fails if both files record where their keys were taken from, and it differs.
fn check_place(
    ours: &AnyFilter,
    our_path: &Path,
    theirs: &AnyFilter,
    their_path: &Path,
) -> Result<(), Error> {
    let is_recorded = |filter: &AnyFilter| filter.metadata().get(Metadata::KEY_ENCODING).is_some();
    let (our_place, their_place) = (place_of(ours.metadata()), place_of(theirs.metadata()));
    if !is_recorded(ours) || !is_recorded(theirs) || our_place == their_place {
        return Ok(());
    }
    Err(Error::new(format_args!(
        "the keys of {} were taken with {}, those of {} with {}; build both in the same way, or add \
         keys by `crivo insert --as-given`",
        our_path.display(),
        options_of(&our_place),
        their_path.display(),
        options_of(&their_place),
    )))
}

#[derive(Serialize)]
struct MergeSummary {
    file: String,
    merged: usize,
    #[serde(flatten)]
    facts: FilterSummary,
}
