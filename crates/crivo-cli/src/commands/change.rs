//! What `crivo insert` and `crivo remove` share: a filter file that is changed, key by key.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::Digest;
use crivo::codec::{Header, Kind};
use crivo::filter::{AnyFilter, Filter};

use crate::distinct::{Distinct, gather};
use crate::input::InputArgs;
use crate::outcome::Error;
use crate::secret::KeyFileArgs;
use crate::update;

/// A filter, and keys.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The filter
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    key: KeyFileArgs,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What came of a change.
pub(crate) struct Change {
    /// The filter as it is now.
    pub(crate) filter: AnyFilter,
    pub(crate) input_keys: u64,
    pub(crate) distinct_keys: u64,
    /// How many keys were inserted, or removed.
    pub(crate) changed: u64,
}

impl ChangeArgs {
    /// Calls `change` with each distinct key, and with the number of its copies if the filter counts
    /// them, otherwise 1. It answers how many it inserted or removed; on an error the file stays as
    /// it was.
    pub(crate) fn run(
        &self,
        header: &Header,
        change: impl FnMut(&mut AnyFilter, Digest, u64) -> Result<u64, Error>,
    ) -> Result<Change, Error> {
        let hasher = self.key.hasher(header)?;
        match header.kind() {
            Kind::Counting => self.update(header, gather::<2>(&self.input, hasher)?, change),
            _ => self.update(header, gather::<1>(&self.input, hasher)?, change),
        }
    }

    /// Locks the file only now: nobody has had to wait while the input was read.
    fn update<const W: usize>(
        &self,
        header: &Header,
        keys: Distinct<W>,
        mut change: impl FnMut(&mut AnyFilter, Digest, u64) -> Result<u64, Error>,
    ) -> Result<Change, Error> {
        let (input_keys, distinct_keys) = (keys.total, keys.distinct);
        let (filter, changed) = update::update(&self.file, self.key.open()?, |filter| {
            if filter.kind() != header.kind() || filter.hasher().identity() != header.hash() {
                return Err(Error::new(
                    "the file was replaced by another filter meanwhile; try again",
                ));
            }
            let mut changed = 0;
            keys.each(|digest, copies| {
                changed += change(filter, digest, copies)?;
                Ok(())
            })?;
            Ok(changed)
        })?;
        Ok(Change { filter, input_keys, distinct_keys, changed })
    }
}
