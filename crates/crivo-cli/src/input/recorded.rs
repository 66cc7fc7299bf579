//! How the keys of a filter were taken from their input, as its file records it.
//!
//! What a key *is* (its type, its parts, what was changed) must be the same for every key of a filter.
//! *Where* it is in a record may differ from input to input: keys that came from a column of CSV may be
//! asked for as plain lines. Both are taken from the file by default; arguments that contradict it are
//! an error, and `--as-given` lets those about the place prevail.

use clap::Args;
use crivo::codec::{Metadata, MetadataError};
use crivo::hash::{KeyEncoding, UnknownEncoding};

use super::csv::header_fields;
use super::json::JsonPointer;
use super::{FormatArgs, KEYS, layout};

/// For commands that take keys as the file of a filter records it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RecordedArgs {
    /// Take keys from where these options say, not from where the filter's own keys were taken, which
    /// its file records. By default options that contradict the file are an error
    #[arg(long, help_heading = KEYS)]
    pub(crate) as_given: bool,
}

/// Why keys cannot be taken as a file records it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordedError {
    #[error("its keys are of a type that this crivo cannot make: {0}; a newer one may")]
    Encoding(#[from] UnknownEncoding),
    #[error(
        "its metadata says {name} = {value:?}, which this crivo does not know; a newer one may"
    )]
    Value { name: &'static str, value: String },
    #[error(
        "its keys were made without {flag}, and would not be found with it; leave it out, or build the \
         filter with it"
    )]
    Change { flag: &'static str },
    #[error(
        "its keys were taken with {recorded}, but {given} is given; leave that out, or say --as-given \
         if the keys of this input are there"
    )]
    Place { recorded: String, given: String },
    #[error(
        "its keys have {expected} of the types {encoding}, but {found}; name them by --field, \
         --column or --json-key, in this order"
    )]
    Parts { encoding: KeyEncoding, expected: String, found: String },
}

/// Entries of the metadata about the place of keys, in the order in which options are shown.
const PLACE: [&str; 6] = ["csv", "header", "field", "column", "json-key", "delimiter"];

/// Entries that must be equal for filters to be merged, besides those that the library compares.
pub(crate) fn place_of(metadata: &Metadata) -> Vec<(&'static str, &str)> {
    PLACE.into_iter().filter_map(|name| Some((name, metadata.get(name)?))).collect()
}

/// Entries as the options that they come from.
pub(crate) fn options_of(place: &[(&'static str, &str)]) -> String {
    if place.is_empty() {
        return "whole records".to_owned();
    }
    let option = |(name, value): &(&'static str, &str)| match *name {
        "csv" => "--csv".to_owned(),
        "header" => "--no-header".to_owned(),
        "column" => columns_of(value)
            .iter()
            .map(|name| format!("--column {}", quoted(name)))
            .collect::<Vec<_>>()
            .join(" "),
        "json-key" => value
            .split('\n')
            .map(|key| format!("--json-key {}", quoted(key)))
            .collect::<Vec<_>>()
            .join(" "),
        name => format!("--{name} {}", quoted(value)),
    };
    place.iter().map(option).collect::<Vec<_>>().join(" ")
}

/// A value as a shell reads it, more or less.
fn quoted(value: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,@".contains(letter);
    match value {
        "\t" => r"'\t'".to_owned(),
        _ if !value.is_empty() && value.chars().all(is_plain) => value.to_owned(),
        _ => format!("'{}'", value.escape_debug()),
    }
}

impl FormatArgs {
    /// The number of the key's parts.
    fn part_count(&self) -> usize {
        [self.field.len(), self.column.len(), self.json_key.len(), 1].into_iter().max().unwrap_or(1)
    }

    /// Records in the metadata of a filter how its keys are taken.
    pub(crate) fn record(&self, metadata: &mut Metadata) -> Result<(), MetadataError> {
        let encoding = match self.part_count() {
            1 => KeyEncoding::Bytes,
            count => KeyEncoding::Composite(vec![KeyEncoding::Bytes; count]),
        };
        metadata.set(Metadata::KEY_ENCODING, &encoding.to_string())?;
        for (name, value) in self.place() {
            metadata.set(name, &value)?;
        }
        for (name, value, is_set) in [
            ("cr", "keep", self.keep_cr),
            ("ignore-case", "true", self.ignore_case),
            ("trim", "true", self.trim),
        ] {
            if is_set {
                metadata.set(name, value)?;
            }
        }
        Ok(())
    }

    /// The entries about the place of keys.
    fn place(&self) -> Vec<(&'static str, String)> {
        let mut entries = Vec::new();
        let mut add = |name, value: String| entries.push((name, value));
        if self.csv {
            add("csv", "true".to_owned());
        }
        if self.no_header {
            add("header", "false".to_owned());
        }
        if !self.field.is_empty() {
            let numbers: Vec<_> = self.field.iter().map(usize::to_string).collect();
            add("field", numbers.join(","));
        }
        if !self.column.is_empty() {
            let names: Vec<_> = self.column.iter().map(|name| csv_field(name)).collect();
            add("column", names.join(","));
        }
        if !self.json_key.is_empty() {
            let pointers: Vec<_> = self.json_key.iter().map(JsonPointer::as_str).collect();
            add("json-key", pointers.join("\n"));
        }
        let has_fields = self.csv || !self.field.is_empty();
        let default = if self.csv { b',' } else { b'\t' };
        if let Some(delimiter) = self.delimiter.or(has_fields.then_some(default)) {
            add("delimiter", char::from(delimiter).to_string());
        }
        entries
    }

    /// These arguments with what the file of a filter records.
    pub(crate) fn with_recorded(
        &self,
        metadata: &Metadata,
        RecordedArgs { as_given }: &RecordedArgs,
    ) -> Result<Self, RecordedError> {
        let Some(encoding) = metadata.key_encoding()? else { return Ok(self.clone()) };
        let mut args = self.clone();
        let off_on = ["false", "true"];
        args.keep_cr = switch(metadata, "cr", ["strip", "keep"], "--keep-cr", self.keep_cr)?;
        args.ignore_case =
            switch(metadata, "ignore-case", off_on, "--ignore-case", self.ignore_case)?;
        args.trim = switch(metadata, "trim", off_on, "--trim", self.trim)?;

        let recorded = place_of(metadata);
        // The column of a table that was no file of CSV says nothing about this input.
        let is_file = recorded.iter().any(|(name, _)| ["csv", "field", "json-key"].contains(name));
        if is_file && !as_given {
            let mut here = Self { null: self.null, ..Self::default() };
            here.take_place(&recorded)?;
            let given = self.place();
            if here.place() != given {
                if !given.is_empty() || here.null && here.csv {
                    let given: Vec<_> = given.iter().map(|(name, it)| (*name, &**it)).collect();
                    let given =
                        if given.is_empty() { "--null".to_owned() } else { options_of(&given) };
                    return Err(RecordedError::Place { recorded: options_of(&recorded), given });
                }
                args.take_place(&recorded)?;
                args.recorded = Some(options_of(&recorded));
            }
        }

        let (expected, found) = (encoding.parts().len(), args.part_count());
        if expected != found {
            let count = |count| crate::human::counted(count as u64, "part");
            let found = match found {
                1 => "there is one".to_owned(),
                _ => format!("there are {}", crate::human::count(found as u64)),
            };
            return Err(RecordedError::Parts { encoding, expected: count(expected), found });
        }
        args.encoding = Some(encoding);
        Ok(args)
    }

    /// Takes keys from where the metadata of a filter says.
    fn take_place(&mut self, place: &[(&'static str, &str)]) -> Result<(), RecordedError> {
        for &(name, value) in place {
            let unknown = || RecordedError::Value { name, value: value.to_owned() };
            match (name, value) {
                ("csv", "true") => self.csv = true,
                ("header", "false") => self.no_header = true,
                ("csv", "false") | ("header", "true") => {}
                ("field", numbers) => {
                    let numbers = numbers.split(',').map(layout::parse_field);
                    self.field = numbers.collect::<Result<_, _>>().map_err(|_| unknown())?;
                }
                ("column", names) => self.column = columns_of(names),
                ("json-key", pointers) => {
                    let pointers = pointers.split('\n').map(JsonPointer::parse);
                    self.json_key = pointers.collect::<Result<_, _>>().map_err(|_| unknown())?;
                }
                ("delimiter", text) => match text.as_bytes() {
                    [delimiter] => self.delimiter = Some(*delimiter),
                    _ => return Err(unknown()),
                },
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }
}

/// Whether a change of keys is recorded. It is an error to ask for one that is not.
fn switch(
    metadata: &Metadata,
    name: &'static str,
    [off, on]: [&str; 2],
    flag: &'static str,
    is_given: bool,
) -> Result<bool, RecordedError> {
    match metadata.get(name).unwrap_or(off) {
        value if value == on => Ok(true),
        value if value == off && is_given => Err(RecordedError::Change { flag }),
        value if value == off => Ok(false),
        value => Err(RecordedError::Value { name, value: value.to_owned() }),
    }
}

/// A field of CSV: in quotes if it needs them.
fn csv_field(text: &str) -> String {
    match text.is_empty() || text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The names in a record of CSV.
fn columns_of(record: &str) -> Vec<String> {
    let names = header_fields(record.as_bytes(), b',');
    names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
