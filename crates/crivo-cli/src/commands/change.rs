//! The common part of `crivo insert` and `crivo remove`: changing a filter file key by key.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::Digest;
use crivo::codec::{DecodeError, Header};
use crivo::filter::{AnyFilter, Filter, Kind};
use crivo_core::spill::DistinctDigests;

use crate::distinct::gather;
use crate::error::Error;
use crate::filter_file::{FilterFile, check_standard_input};
use crate::human::parse_bytes;
use crate::input::{InputArgs, RecordedArgs};
use crate::secret::KeyFileArgs;
use crate::spill::DEFAULT_MEMORY;
use crate::update;

/// A filter, and keys.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The filter; `-` reads it from standard input and writes it to standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    recorded: RecordedArgs,

    #[command(flatten)]
    key: KeyFileArgs,

    /// The maximum memory for digests of keys; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = parse_bytes)]
    #[arg(allow_negative_numbers = true)]
    memory: u64,

    /// Print no summary
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The result of a change.
pub(crate) struct Change {
    /// The changed filter.
    pub(crate) filter: AnyFilter,
    pub(crate) input_keys: u64,
    pub(crate) distinct_keys: u64,
    /// How many keys were inserted, or removed.
    pub(crate) changed: u64,
}

impl ChangeArgs {
    /// The file, its header, and the kind of the filter in it.
    pub(crate) fn open(&self) -> Result<(FilterFile, Header, Kind), Error> {
        update::check_summary(&self.file, self.json)?;
        check_standard_input(&self.file, &self.input)?;
        let file = FilterFile::open(&self.file)?;
        let header = file.header()?;
        let kind = header.filter_kind().ok_or_else(|| {
            let error = DecodeError::NotAFilter(header.kind());
            Error::new(format_args!("cannot change {}: {error}", file.name()))
        })?;
        Ok((file, header, kind))
    }

    /// Calls `change` with each distinct key, and with the number of its copies if the filter counts
    /// them, otherwise 1. `change` returns the number of keys that it inserted or removed. On an
    /// error the file is unchanged.
    pub(crate) fn run(
        &self,
        (file, header): (&FilterFile, &Header),
        change: impl FnMut(&mut AnyFilter, Digest, u64) -> Result<u64, Error>,
    ) -> Result<Change, Error> {
        let hasher = self.key.hasher(header)?;
        let input = self.input.with_recorded(header.metadata(), &self.recorded, &self.file)?;
        if header.filter_kind().is_some_and(|kind| kind.capabilities().free_copies) {
            self.update((file, header), gather::<2>(&input, hasher, self.memory)?, change)
        } else {
            self.update((file, header), gather::<1>(&input, hasher, self.memory)?, change)
        }
    }

    /// The file is locked only now, so that other processes need not wait while the input is read.
    fn update<const W: usize>(
        &self,
        (file, header): (&FilterFile, &Header),
        keys: DistinctDigests<W>,
        mut change: impl FnMut(&mut AnyFilter, Digest, u64) -> Result<u64, Error>,
    ) -> Result<Change, Error> {
        let (input_keys, distinct_keys) = (keys.total(), keys.count());
        let (filter, changed) = update::update(file, self.key.options()?, |filter| {
            let kind = Some(filter.kind());
            if kind != header.filter_kind()
                || filter.hasher().identity() != header.hash()
                || filter.metadata() != header.metadata()
            {
                return Err(Error::new(
                    "another process has replaced the filter meanwhile; try again",
                ));
            }
            let mut changed = 0;
            keys.each(|digest, copies| {
                changed += change(filter, Digest::new(digest), copies)?;
                Ok::<(), Error>(())
            })?;
            Ok(changed)
        })?;
        Ok(Change { filter, input_keys, distinct_keys, changed })
    }
}
