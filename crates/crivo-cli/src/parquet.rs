//! Whole Parquet files: the filters of their columns.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anstyle::Style;
use clap::Args;
use crivo_formats::parquet::{ColumnFilters, Membership, ParquetError, ParquetFile};
use crivo_formats::{KeyType, TypedKey};
use serde::Serialize;

use crate::error::Error;
use crate::foreign::SYSTEMS;
use crate::human;
use crate::output;
use crate::table::{Align, TextTable};

/// Which filters of a Parquet file are asked.
#[derive(Debug, Args)]
pub(crate) struct ParquetArgs {
    /// The column of a Parquet file, by its path, such as `id` or `tags.list.element`
    #[arg(long, help_heading = SYSTEMS, value_name = "NAME")]
    parquet_column: Option<String>,

    /// With --parquet-column: print the row groups that may contain a record, such as `0,2`, and a tab
    /// in front of it
    #[arg(long, help_heading = SYSTEMS, requires = "parquet_column")]
    #[arg(conflicts_with_all = ["absent", "count", "csv", "quiet"])]
    pub(crate) row_groups: bool,
}

/// Whether a file is a Parquet file, by its first bytes.
pub(crate) fn is_parquet(path: &Path) -> bool {
    let mut start = [0; 4];
    // What cannot be read twice is something else.
    fs::metadata(path).is_ok_and(|found| found.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && [b"PAR1", b"PARE"].contains(&&start)
}

/// For `map_err`: what is wrong with this file.
pub(crate) fn about(path: &Path) -> impl Fn(ParquetError) -> Error + '_ {
    move |error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Error::new(format_args!("{}: {error}{}", path.display(), cause.unwrap_or_default()))
    }
}

/// The filters of a column, and how a record is a key of it.
#[derive(Debug)]
pub(crate) struct AskedColumn {
    filters: ColumnFilters,
    pub(crate) key_type: KeyType,
}

impl ParquetArgs {
    /// The column, if the file is a Parquet file.
    pub(crate) fn open(
        &self,
        path: &Path,
        key_type: Option<KeyType>,
    ) -> Result<Option<AskedColumn>, Error> {
        if !is_parquet(path) {
            return match &self.parquet_column {
                None => Ok(None),
                Some(_) => Err(Error::new(format_args!(
                    "--parquet-column is for Parquet files, which {} is not",
                    path.display()
                ))),
            };
        }
        let mut file = ParquetFile::open(path).map_err(about(path))?;
        let Some(name) = &self.parquet_column else {
            let columns: Vec<&str> = file.columns().iter().map(|it| it.path.as_str()).collect();
            return Err(Error::new(format_args!(
                "{} is a Parquet file: say --parquet-column and one of {}",
                path.display(),
                columns.join(", ")
            )));
        };
        let filters = file.column_filters(name).map_err(about(path))?;
        let missing = filters.filters().iter().filter(|filter| filter.is_none()).count();
        if missing > 0 {
            output::print_warning(format_args!(
                "{}: {name} has no filter in {} of {}, which may contain anything; \
                 `crivo add-filters` adds them",
                path.display(),
                human::count(missing as u64),
                human::counted(filters.filters().len() as u64, "row group"),
            ));
        }
        // Keys of a type that the column does not have are errors, which name both.
        let key_type = key_type.or(filters.column().key_type()).unwrap_or(KeyType::Bytes);
        Ok(Some(AskedColumn { filters, key_type }))
    }
}

impl AskedColumn {
    /// Whether any row group may contain the key.
    pub(crate) fn may_contain(&self, key: &TypedKey<'_>) -> Result<bool, Error> {
        Ok(self.answers(key)?.iter().any(|answer| *answer != Membership::No))
    }

    /// The row groups that may contain the key, as `0,2`.
    pub(crate) fn row_groups(&self, key: &TypedKey<'_>) -> Result<String, Error> {
        let answers = self.answers(key)?;
        let groups = answers.iter().enumerate().filter(|(_, answer)| **answer != Membership::No);
        Ok(groups.map(|(group, _)| group.to_string()).collect::<Vec<_>>().join(","))
    }

    fn answers(&self, key: &TypedKey<'_>) -> Result<Vec<Membership>, Error> {
        self.filters.may_contain(key).map_err(Error::new)
    }
}

/// What `inspect` tells of a Parquet file.
#[derive(Serialize)]
pub(crate) struct ParquetReport {
    file: String,
    format: &'static str,
    row_groups: u64,
    columns: Vec<ColumnReport>,
    filters: Vec<FilterReport>,
}

#[derive(Serialize)]
struct ColumnReport {
    name: String,
    #[serde(rename = "type")]
    physical_type: String,
    /// The number of row groups in which it has a filter.
    filters: u64,
}

#[derive(Serialize)]
struct FilterReport {
    row_group: u64,
    column: String,
    offset: u64,
    size_bytes: u64,
    estimated_keys: Option<f64>,
    /// The share of bits that are set.
    load: f64,
    expected_fpr: f64,
}

impl ParquetReport {
    /// Reads every filter of the file.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let mut file = ParquetFile::open(path).map_err(about(path))?;
        let mut filters = Vec::new();
        for location in file.filters().to_vec() {
            let filter = file.filter(location.row_group, location.column).map_err(about(path))?;
            let Some(filter) = filter else { continue };
            let bits = filter.size_in_bits();
            filters.push(FilterReport {
                row_group: location.row_group as u64,
                column: file.columns()[location.column].path.clone(),
                offset: location.offset,
                size_bytes: bits / 8,
                estimated_keys: filter.estimated_key_count().map(|estimate| estimate.keys),
                load: filter.count_set_bits() as f64 / bits as f64,
                expected_fpr: filter.expected_fpr(),
            });
        }
        let columns = file.columns().iter().enumerate().map(|(index, column)| ColumnReport {
            name: column.path.clone(),
            physical_type: column.physical_type.to_string(),
            filters: file.filters().iter().filter(|filter| filter.column == index).count() as u64,
        });
        Ok(Self {
            file: path.display().to_string(),
            format: "parquet",
            row_groups: file.row_group_count() as u64,
            columns: columns.collect(),
            filters,
        })
    }

    /// Prints it to standard output.
    pub(crate) fn print(&self, as_json: bool) -> Result<(), Error> {
        if as_json {
            return output::print_json(self);
        }
        let bold = Style::new().bold();
        let mut text = format!(
            "{bold}{}: a Parquet file{bold:#} of {} and {}, with {}\n",
            self.file,
            human::counted(self.row_groups, "row group"),
            human::counted(self.columns.len() as u64, "column"),
            human::counted(self.filters.len() as u64, "filter"),
        );
        let mut columns = TextTable::new([
            ("column", Align::Left),
            ("type", Align::Left),
            ("row groups with a filter", Align::Right),
        ]);
        for column in &self.columns {
            let filters = human::count(column.filters);
            columns.row([column.name.clone(), column.physical_type.clone(), filters]);
        }
        text.push_str(&format!("\n{columns}"));
        if !self.filters.is_empty() {
            let mut filters = TextTable::new([
                ("row group", Align::Right),
                ("column", Align::Left),
                ("size", Align::Right),
                ("estimated keys", Align::Right),
                ("in use", Align::Right),
                ("expected FPR", Align::Right),
            ]);
            for filter in &self.filters {
                let keys = filter.estimated_keys.map(|keys| human::count(keys.round() as u64));
                filters.row([
                    human::count(filter.row_group),
                    filter.column.clone(),
                    human::bytes(filter.size_bytes),
                    keys.unwrap_or_else(|| "unknown".to_owned()),
                    human::percent(filter.load),
                    human::percentage(filter.expected_fpr),
                ]);
            }
            text.push_str(&format!("\n{filters}"));
        }
        output::print(&text)
    }
}
