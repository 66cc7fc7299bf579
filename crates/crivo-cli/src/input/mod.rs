//! Records and their keys, from files, pipes and compressed files.
//!
//! A *record* is what is printed, byte for byte; its *key* is what filters and sets see.
//!
//! ```text
//!   input             record         key            arguments
//!   "ana\r\n"         "ana\r\n"      "ana"          (none): lines; a CR before LF is not part of a key
//!   "ana\r\n"         "ana\r\n"      "ana\r"        --keep-cr
//!   "ana\0"           "ana\0"        "ana"          --null
//!   "7\tana\tx\n"     the line       "ana"          --field 2 (--delimiter is the tab)
//!   "7\tana\tx\n"     the line       ("ana", "7")   --field 2,1: a key of two parts
//!   "{\"id\": 7}\n"     the line       "7"            --json-key /id
//!   "7,\"a\"\"b\"\n"  the line       "a\"b"         --csv --column name
//! ```
//!
//! Reading, hashing and the work of the caller overlap, and the order of the input is kept:
//!
//! ```text
//!   chunks ──▶ pipeline: work on several chunks at once ──▶ the caller, chunk by chunk, in order
//!     ▲
//!   source: a file, standard input; compressed ones by their first bytes
//! ```
//!
//! [`layout`] finds records and keys in bytes, [`chunks`] splits the input into pieces of whole
//! records, and [`pipeline`] distributes them over the cores. Memory is bounded by a few chunks,
//! unless a single record is longer than that.

#[cfg(feature = "hyphen")]
mod bytes;
mod chunks;
mod compressed;
mod csv;
mod file_type;
mod json;
mod key;
mod layout;
mod pipeline;
mod progress;
mod recorded;
mod replay;
mod scan;
mod source;
mod standard;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use crivo::codec::Metadata;
use crivo::hash::KeyEncoding;
use crivo::{Digest, KeyHasher};

#[cfg(feature = "hyphen")]
pub(crate) use bytes::InputBytes;
pub(crate) use chunks::{Chunk, Chunks, Pieces, too_long};
pub(crate) use file_type::{FileType, file_type};
pub(crate) use json::JsonPointer;
use key::KeyChanges;
use layout::{KeySource, Records};
pub(crate) use layout::{RecordEnd, RecordFormat, parse_delimiter, parse_field};
pub(crate) use pipeline::run as in_parallel;
pub(crate) use progress::{InputProgress, hide as hide_progress};
pub(crate) use recorded::{RecordedArgs, options_of, place_of};
pub(crate) use replay::{ReadOnce, Replay};

use self::standard::STANDARD_INPUT;
pub(crate) use self::standard::{is_standard_input, open_standard_input};
use crate::error::Error;

/// Where records come from, and what their keys are.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputArgs {
    /// Files with keys, also compressed by gzip, zstd, xz or bzip2; `-` or none is standard input
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The heading in the help of the options about keys.
pub(crate) const KEYS: &str = "Keys";

/// What a record is, and which part of it is the key.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatArgs {
    /// Records end with a NUL byte instead of a line feed
    #[arg(short = 'z', long, help_heading = KEYS)]
    pub(crate) null: bool,

    /// Keep a carriage return (CR) at the end of a line as part of the key. By default CR LF ends a
    /// line as LF does, and `ana` is the same key in files of Unix and of Windows
    #[arg(long, help_heading = KEYS, conflicts_with_all = ["csv", "null"])]
    pub(crate) keep_cr: bool,

    /// The key is the N-th field of a record, counted from 1. Several, as in `1,3`, are a key of
    /// several parts
    #[arg(long, help_heading = KEYS, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_delimiter = ',', value_parser = layout::parse_field)]
    pub(crate) field: Vec<usize>,

    /// The separator of fields: one byte, or `\t` [default: tab; with --csv: comma]
    #[arg(short, long, help_heading = KEYS, value_name = "C")]
    #[arg(value_parser = layout::parse_delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// Inputs are CSV: quoted fields may hold delimiters and line feeds, the first record of each
    /// file is its header, and blank lines are ignored. Files whose records are printed
    /// together must have the same columns. Without --column or --field the key is the whole record,
    /// as it stands in the file
    #[arg(long, help_heading = KEYS, conflicts_with = "null")]
    pub(crate) csv: bool,

    /// With --csv: the key is the field in this column. Several --column are a key of several parts
    #[arg(long, help_heading = KEYS, value_name = "NAME", requires = "csv", conflicts_with = "field")]
    pub(crate) column: Vec<String>,

    /// With --csv: the first record of a file is a record like the others; use --field for the key
    #[arg(long, help_heading = KEYS, requires = "csv", conflicts_with = "column")]
    pub(crate) no_header: bool,

    /// The key is the value at this place of a record in JSON: a JSON Pointer, such as `/user/id`.
    /// Several --json-key are a key of several parts. A text is decoded, a number is a key as it is
    /// written, null is as if it were missing, and objects and arrays are errors
    #[arg(long, help_heading = KEYS, value_name = "PATH", value_parser = JsonPointer::parse)]
    #[arg(conflicts_with_all = ["csv", "field", "delimiter", "keep_cr"])]
    pub(crate) json_key: Vec<JsonPointer>,

    /// Letters that differ only in their case are the same, in all languages: `Ã` and `ã`
    #[arg(long, help_heading = KEYS)]
    pub(crate) ignore_case: bool,

    /// Remove white space around the key, or around each of its parts
    #[arg(long, help_heading = KEYS)]
    pub(crate) trim: bool,

    /// Take a field that a record lacks to be empty, even if most records lack it. Otherwise that is
    /// an error: the delimiter may be wrong
    #[arg(long, help_heading = KEYS)]
    pub(crate) allow_missing: bool,

    /// The type as which keys are read: what the file of a filter records.
    #[arg(skip)]
    encoding: Option<KeyEncoding>,

    /// The options about the place of keys that come from the file of a filter, for messages.
    #[arg(skip)]
    recorded: Option<String>,
}

impl InputArgs {
    /// The inputs, at least one: standard input if none is named.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match self.inputs.is_empty() {
            true => vec![PathBuf::from(STANDARD_INPUT)],
            false => self.inputs.clone(),
        }
    }

    /// These inputs, with keys that are taken as the file of a filter records it.
    pub(crate) fn with_recorded(
        &self,
        metadata: &Metadata,
        recorded: &RecordedArgs,
        filter: &Path,
    ) -> Result<Self, Error> {
        let format = self
            .format
            .with_recorded(metadata, recorded)
            .map_err(|error| Error::new(format_args!("{}: {error}", filter.display())))?;
        Ok(Self { inputs: self.inputs.clone(), format })
    }

    /// Opens the inputs for a command that prints no records.
    pub(crate) fn chunks(&self) -> Result<Chunks, Error> {
        let paths = self.paths();
        let progress = InputProgress::over(&paths);
        Chunks::open(&paths, self.format.format()?, progress)
    }

    /// Opens the inputs for a command that prints records.
    pub(crate) fn chunks_to_print(&self) -> Result<Chunks, Error> {
        let paths = self.paths();
        let progress = InputProgress::beside_records(&paths);
        Ok(Chunks::open(&paths, self.format.format()?, progress)?.under_one_header())
    }

    /// Opens the inputs one by one, for a command that may stop before the last.
    pub(crate) fn chunks_in_turn(&self) -> Result<Chunks, Error> {
        let paths = self.paths();
        let progress = InputProgress::over(&paths);
        Ok(Chunks::open_in_turn(&paths, self.format.format()?, progress))
    }

    /// Visits every key in the order of the input.
    pub(crate) fn each_key(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        in_parallel(
            self.chunks()?,
            |_, (): &mut ()| (),
            |chunk, ()| {
                let mut result = Ok(());
                chunk.each(|_, key| {
                    if result.is_ok() {
                        result = visit(key);
                    }
                });
                result.map(ControlFlow::Continue)
            },
        )
    }

    /// Visits the digest of every key in the order of the input, many at a time. Keys are hashed on
    /// all cores.
    pub(crate) fn each_batch(
        &self,
        hasher: KeyHasher,
        mut visit: impl FnMut(&[Digest]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        in_parallel(
            self.chunks()?,
            move |chunk, digests: &mut Vec<Digest>| {
                digests.clear();
                chunk.each(|_, key| digests.push(hasher.digest(key)));
            },
            |_, digests| visit(digests).map(ControlFlow::Continue),
        )
    }
}

impl FormatArgs {
    /// The format of the input, if the arguments agree.
    pub(crate) fn format(&self) -> Result<RecordFormat, Error> {
        let key = match (&self.field[..], &self.column[..]) {
            _ if !self.json_key.is_empty() => KeySource::Json(self.json_key.clone()),
            ([], []) => KeySource::Record,
            ([], names) => KeySource::Columns(names.to_vec()),
            (numbers, _) => KeySource::Fields(numbers.to_vec()),
        };
        let records = if self.csv {
            let delimiter = self.delimiter.unwrap_or(b',');
            Records::Csv { delimiter, has_header: !self.no_header }
        } else {
            if key == KeySource::Record && self.delimiter.is_some() {
                return Err(Error::new("--delimiter needs --field N or --csv"));
            }
            let end = match (self.null, self.keep_cr) {
                (true, _) => RecordEnd::Null,
                (false, true) => RecordEnd::LineFeed,
                (false, false) => RecordEnd::Line,
            };
            Records::Terminated { end, delimiter: self.delimiter.unwrap_or(b'\t') }
        };
        let is_typed = |encoding: &&KeyEncoding| {
            encoding.parts().iter().any(|part| *part != KeyEncoding::Bytes)
        };
        let types = self.encoding.as_ref().filter(is_typed);
        let changes = KeyChanges {
            trims: self.trim,
            ignores_case: self.ignore_case,
            types: types.map_or(Vec::new(), |encoding| encoding.parts().to_vec()),
        };
        let recorded = self.recorded.as_ref().map(|options| {
            format!(
                "; the filter's own keys were taken with {options}, and --as-given takes others as the \
                 options say"
            )
        });
        let advice = recorded.unwrap_or_default();
        Ok(RecordFormat { records, key, changes, may_lack_parts: self.allow_missing, advice })
    }
}

#[cfg(test)]
mod tests;
