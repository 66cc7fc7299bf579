//! `crivo add-filters`: filters for the columns of a Parquet file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_formats::parquet::{AddFilters, ParquetFile};
use serde::Serialize;

use crate::error::Error;
use crate::human;
use crate::output;
use crate::parquet::about;
use crate::status::Status;
use crate::update;

/// Adds filters to the columns of a Parquet file that have none
///
/// Readers then skip row groups that do not contain a value. Whatever is in the file stays as it is:
/// rows, statistics, page indexes, filters that are there. The file is replaced atomically, under a
/// lock; on an error it is unchanged. Encrypted files are refused.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AddFiltersArgs {
    /// The Parquet file
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Write to this file instead; an existing one is replaced atomically
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Only in this column, by its path, such as `id` or `tags.list.element`; may be repeated
    #[arg(long = "column", value_name = "NAME")]
    columns: Vec<String>,

    /// The false-positive rate: 0.01 or 1%
    #[arg(long, value_name = "FPR", value_parser = human::parse_fpr, default_value = "0.01")]
    #[arg(allow_negative_numbers = true)]
    fpr: f64,

    /// Filters just as large as the FPR needs. By default sizes are powers of two, because some
    /// readers take no others
    #[arg(long)]
    exact_size: bool,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo add-filters visits.parquet                    in every column
  crivo add-filters --column visitor --fpr 0.001 visits.parquet
  crivo add-filters -o with-filters.parquet visits.parquet
  crivo query --parquet-column visitor visits.parquet names.txt
";

#[derive(Serialize)]
struct AddFiltersSummary {
    file: String,
    added: u64,
    added_bytes: u64,
    /// In how many row groups, by the names of columns.
    columns: BTreeMap<String, u64>,
}

impl AddFiltersArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let mut add = AddFilters::new(self.fpr)?;
        for column in self.columns {
            add = add.column(column);
        }
        if self.exact_size {
            add = add.exact_size();
        }
        let target = self.output.as_ref().unwrap_or(&self.file);
        let added = match &self.output {
            Some(output) => {
                update::check_output(output, &[])?;
                let _lock = update::lock_if_present(output)?;
                add.write(&self.file, output)
            }
            None => {
                let _lock = update::lock_if_present(&self.file)?;
                add.replace(&self.file)
            }
        };
        let added = added.map_err(about(&self.file))?;
        let names = ParquetFile::open(target).map_err(about(target))?;
        let mut columns = BTreeMap::new();
        for filter in &added {
            *columns.entry(names.columns()[filter.column].path.clone()).or_default() += 1;
        }
        let summary = AddFiltersSummary {
            file: target.display().to_string(),
            added: added.len() as u64,
            added_bytes: added.iter().filter_map(|filter| filter.length).sum(),
            columns,
        };
        if self.json {
            output::print_json(&summary)?;
        } else {
            output::print_message(format_args!(
                "{}: added {} in {}, {}",
                summary.file,
                human::counted(summary.added, "filter"),
                human::counted(summary.columns.len() as u64, "column"),
                human::bytes(summary.added_bytes),
            ));
        }
        Ok(Status::Success)
    }
}
