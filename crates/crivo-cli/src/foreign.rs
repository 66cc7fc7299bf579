//! Filters of other systems, by `crivo-formats`.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use anstyle::Style;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use crivo_formats::{
    Create, FORMATS, ForeignFilter, Format, FormatOptions, KeyType, Recognition, by_name, recognise,
};
use serde::Serialize;

use crate::error::Error;
use crate::filter_file::FilterFile;
use crate::human;
use crate::input::InputArgs;
use crate::output;
use crate::table::bar;
use crate::update;

pub(crate) const SYSTEMS: &str = "Filters of other systems";

/// How crivo's own files begin.
const OWN_MAGIC: &[u8] = b"\x89crivo\r\n";

/// How a filter of another system is read.
#[derive(Debug, Args)]
pub(crate) struct ForeignArgs {
    /// The format of a filter of another system. Files that begin in a way of their own are
    /// recognised without it
    #[arg(long, help_heading = SYSTEMS, value_name = "NAME", value_parser = formats())]
    format: Option<&'static Format>,

    /// With --format bip158: the hash of the block, as it is printed
    #[arg(long, help_heading = SYSTEMS, value_name = "HEX", value_parser = parse_block_hash)]
    block_hash: Option<[u8; 32]>,
}

/// What the keys of a filter of another system are.
#[derive(Debug, Args)]
pub(crate) struct KeyTypeArgs {
    /// The type of the keys, which the file of another system does not tell
    #[arg(long, help_heading = SYSTEMS, value_name = "TYPE", value_parser = key_types())]
    pub(crate) key_type: Option<KeyType>,
}

fn formats() -> impl TypedValueParser<Value = &'static Format> {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
        .map(|name| by_name(&name).expect("a possible value is a name"))
}

fn key_types() -> impl TypedValueParser<Value = KeyType> {
    PossibleValuesParser::new(KeyType::ALL.map(KeyType::name))
        .try_map(|name| name.parse::<KeyType>())
}

fn parse_block_hash(text: &str) -> Result<[u8; 32], String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| Some((digit(high)? * 16 + digit(low)?) as u8);
    // The last byte is printed first.
    let bytes: Option<Vec<u8>> = pairs.iter().rev().map(byte).collect();
    bytes
        .filter(|_| rest.is_empty())
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "a hash has 64 hexadecimal digits".to_owned())
}

/// The names of formats or types, for a sentence.
fn list(names: impl IntoIterator<Item = impl Display>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

impl ForeignArgs {
    /// The filter, unless it is one of ours.
    pub(crate) fn open(&self, file: &FilterFile) -> Result<Option<Box<dyn ForeignFilter>>, Error> {
        let Some(format) = self.format.map_or_else(|| find_format(file), |it| Ok(Some(it)))? else {
            return Ok(None);
        };
        let read = (format.read)(&file.bytes()?, &self.options());
        read.map(Some).map_err(|error| Error::new(format_args!("{}: {error}", file.name())))
    }

    /// The format to write, if one was named.
    pub(crate) fn format(&self) -> Option<&'static Format> {
        self.format
    }

    fn options(&self) -> FormatOptions {
        let mut options = FormatOptions::default();
        options.block_hash = self.block_hash;
        options
    }
}

impl KeyTypeArgs {
    /// The type of the keys of a filter in this format.
    pub(crate) fn require(&self, format: &str) -> Result<KeyType, Error> {
        let has = by_name(format).map_or(&[][..], |format| format.key_types);
        match self.key_type {
            Some(key_type) if by_name(format).is_some_and(|it| it.has_keys_of(key_type)) => {
                Ok(key_type)
            }
            Some(key_type) => Err(Error::new(format_args!(
                "--key-type {key_type}: a filter of {format} has keys of type {}",
                list(has)
            ))),
            None => Err(Error::new(format_args!(
                "a filter of {format} does not tell the type of its keys: say --key-type {}",
                list(has).replace(", ", " or ")
            ))),
        }
    }

    /// An error if a type was named where ours tell it.
    pub(crate) fn refuse(&self) -> Result<(), Error> {
        match self.key_type {
            None => Ok(()),
            Some(_) => Err(Error::new(
                "--key-type is for filters of other systems: crivo's own record the type of their keys",
            )),
        }
    }
}

/// The format of a file that begins in a way of its own; an error with the formats that it may have if
/// it is not ours either.
fn find_format(file: &FilterFile) -> Result<Option<&'static Format>, Error> {
    // A file that cannot be read, which has no head, is reported when it is read as one of ours.
    let head = file.head(OWN_MAGIC.len());
    if head.is_empty() || head == OWN_MAGIC {
        return Ok(None);
    }
    let bytes = file.bytes()?;
    match &recognise(&bytes)[..] {
        [] => Ok(None),
        [format] if matches!(format.recognition, Recognition::Magic(_)) => Ok(Some(format)),
        candidates => Err(Error::new(format_args!(
            "{} is not a crivo filter; it may be one of another system: say --format {}",
            file.name(),
            list(candidates.iter().map(|format| format.name)).replace(", ", " or ")
        ))),
    }
}

/// Merges filters of one format into a file.
pub(crate) fn merge(
    mut all: Box<dyn ForeignFilter>,
    others: &[impl AsRef<Path>],
    foreign: &ForeignArgs,
    output: &Path,
) -> Result<Box<dyn ForeignFilter>, Error> {
    for path in others {
        let file = FilterFile::open(path.as_ref())?;
        let other = foreign.open(&file)?.ok_or_else(|| {
            Error::new(format_args!("{} is not a filter of {}", file.name(), all.format()))
        })?;
        all.union_with_any(&*other)
            .map_err(|error| Error::new(format_args!("{}: {error}", file.name())))?;
    }
    update::replace_bytes(output, &all.to_bytes())?;
    Ok(all)
}

/// Makes a filter of the keys of an input, and says how many distinct ones there are. They are kept in memory, unless
/// the capacity is given and copies of a key change nothing.
pub(crate) fn build(
    input: &InputArgs,
    format: &Format,
    foreign: &ForeignArgs,
    key_type: KeyType,
    capacity: Option<u64>,
    fpr: f64,
) -> Result<(Box<dyn ForeignFilter>, String), Error> {
    if let (Create::Empty(create), Some(capacity)) = (format.create, capacity) {
        let filter = create(capacity, fpr)?;
        // Only tables of bits estimate how many keys they have.
        if filter.estimated_key_count().is_some() {
            return stream(input, filter, key_type);
        }
    }
    let mut keys = HashSet::new();
    input.each_key(|key| {
        key_type.parse_key(key).map_err(Error::new)?;
        if !keys.contains(key) {
            keys.insert(key.to_vec());
        }
        Ok(())
    })?;
    // The order of the keys decides where a cuckoo filter has them.
    let mut keys: Vec<Vec<u8>> = keys.into_iter().collect();
    keys.sort_unstable();
    let typed = keys.iter().map(|key| key_type.parse_key(key));
    let typed = typed.collect::<Result<Vec<_>, _>>().map_err(Error::new)?;
    let distinct = typed.len() as u64;
    let filter = match format.create {
        Create::Empty(create) => {
            let mut filter = create(capacity.unwrap_or(distinct).max(1), fpr)?;
            for key in &typed {
                filter.insert_key(key).map_err(Error::new)?;
            }
            filter
        }
        Create::FromKeys(create) => create(&typed, &foreign.options()).map_err(Error::new)?,
        _ => return Err(Error::new(format_args!("--format {} is only read", format.name))),
    };
    Ok((filter, human::counted(distinct, "distinct key")))
}

/// Fills a filter in which copies of a key change nothing while the input is read, and estimates how many distinct
/// keys there are.
fn stream(
    input: &InputArgs,
    mut filter: Box<dyn ForeignFilter>,
    key_type: KeyType,
) -> Result<(Box<dyn ForeignFilter>, String), Error> {
    // Keys that seemed to be new are certainly distinct.
    let (mut total, mut certain) = (0, 0);
    input.each_key(|key| {
        let key = key_type.parse_key(key).map_err(Error::new)?;
        total += 1;
        certain += u64::from(filter.insert_key(&key).map_err(Error::new)?);
        Ok(())
    })?;
    let estimate = filter.estimated_key_count().map(|found| found.keys.round() as u64);
    let (prefix, distinct) = match estimate {
        _ if certain == total => ("", total),
        Some(estimate) => ("about ", estimate.clamp(certain, total)),
        // The table is full.
        None => ("at least ", certain),
    };
    Ok((filter, format!("{prefix}{}", human::counted(distinct, "distinct key"))))
}

/// What `inspect`, `merge` and `build` tell of a filter.
#[derive(Serialize)]
pub(crate) struct ForeignReport {
    file: String,
    format: &'static str,
    system: &'static str,
    key_types: Vec<&'static str>,
    /// As far as the file tells.
    keys: Option<u64>,
    estimated_keys: Option<f64>,
    /// The used share of the table, for formats that have one.
    load: Option<f64>,
    expected_fpr: f64,
    size_bytes: u64,
    parameters: Vec<(&'static str, String)>,
}

impl ForeignReport {
    pub(crate) fn of(file: String, filter: &dyn ForeignFilter) -> Self {
        let format = by_name(filter.format());
        Self {
            file,
            format: filter.format(),
            system: format.map_or("", |format| format.description),
            key_types: format
                .map_or(&[][..], |format| format.key_types)
                .iter()
                .map(|key_type| key_type.name())
                .collect(),
            keys: filter.key_count(),
            estimated_keys: filter.estimated_key_count().map(|estimate| estimate.keys),
            load: filter.fill(),
            expected_fpr: filter.expected_fpr(),
            size_bytes: filter.size_in_bits().div_ceil(8),
            parameters: filter.parameters(),
        }
    }

    /// Prints it to standard output.
    pub(crate) fn print(&self, as_json: bool) -> Result<(), Error> {
        if as_json {
            return output::print_json(self);
        }
        let bold = Style::new().bold();
        let mut text = format!("{bold}{}: a filter of {}{bold:#}\n", self.file, self.format);
        let mut line = |name: &str, value: String| {
            text.push_str(&format!("  {name:<16} {value}\n"));
        };
        line("system", self.system.to_owned());
        if let Some(keys) = self.keys {
            line("keys", human::count(keys));
        }
        if let Some(estimate) = self.estimated_keys {
            line("estimated keys", human::count(estimate.round() as u64));
        }
        line("types of keys", self.key_types.join(", "));
        line("expected FPR", human::percentage(self.expected_fpr));
        line("size", human::bytes(self.size_bytes));
        for (name, value) in &self.parameters {
            line(name, value.clone());
        }
        if let Some(load) = self.load {
            text.push_str(&format!("\n  {} {:>4} in use\n", bar(load), human::percent(load)));
        }
        output::print(&text)
    }

    /// One line about a file that was written.
    pub(crate) fn print_written(&self, as_json: bool, what: &str) -> Result<(), Error> {
        if as_json {
            return output::print_json(self);
        }
        output::print_message(format_args!(
            "{}: a filter of {} {what}, {}; expected false-positive rate: {}",
            self.file,
            self.format,
            human::bytes(self.size_bytes),
            human::percentage(self.expected_fpr)
        ));
        Ok(())
    }
}
