//! Data files: the measurements of an experiment, and their settings.
//!
//! | file | content |
//! |---|---|
//! | `NAME.json` | settings, machine, parameters, and all tables except those of times |
//! | `NAME.times.json` | the tables of times, which differ from run to run |
//! | `NAME.TABLE.csv` | one table; lines that begin with `#` describe its origin |
//! | `NAME.times.TABLE.csv` | one table of times |
//!
//! The same settings give the same bytes, except for the files of times (and the description of the
//! machine in the others). Every file is replaced atomically, and `NAME.json` is written last: if it
//! exists, the others do as well.

mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use machine::Machine;

use crate::StudyError;
use crate::settings::Settings;

/// The measurements of one experiment.
///
/// A table is a list of rows, and a row is any flat structure that serde can serialise.
///
/// ```
/// use crivo_lab::{Dataset, Options};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Row {
///     k: u32,
///     fpr: f64,
/// }
///
/// let mut data = Dataset::new("example", Options::default().settings());
/// data.add("fpr", &[Row { k: 1, fpr: 0.5 }])?;
/// assert_eq!(data.rows::<Row>("fpr")?, [Row { k: 1, fpr: 0.5 }]);
/// assert!(data.rows::<Row>("other").is_err());
/// # Ok::<(), crivo_lab::StudyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset {
    head: Head,
    tables: Tables,
    times: Tables,
    csv: BTreeMap<String, String>,
    /// The file it was read from, for messages.
    path: PathBuf,
}

type Tables = BTreeMap<String, Vec<Value>>;

/// The description of a data file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Head {
    experiment: String,
    settings: Settings,
    machine: Machine,
    parameters: BTreeMap<String, Value>,
    /// The names of the tables in the file of times.
    timed: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct MainFile {
    #[serde(flatten)]
    head: Head,
    tables: Tables,
}

#[derive(Serialize, Deserialize)]
struct TimesFile {
    experiment: String,
    settings: Settings,
    machine: Machine,
    tables: Tables,
}

impl Dataset {
    /// A dataset without tables for an experiment.
    pub fn new(experiment: &str, settings: Settings) -> Self {
        Self {
            head: Head {
                experiment: experiment.to_string(),
                settings,
                machine: Machine::this(),
                parameters: BTreeMap::new(),
                timed: Vec::new(),
            },
            tables: Tables::new(),
            times: Tables::new(),
            csv: BTreeMap::new(),
            path: PathBuf::from(format!("{experiment}.json")),
        }
    }

    /// The name of the experiment.
    pub fn experiment(&self) -> &str {
        &self.head.experiment
    }

    /// The settings of the measurement.
    pub fn settings(&self) -> &Settings {
        &self.head.settings
    }

    /// The machine that measured.
    pub fn machine(&self) -> &Machine {
        &self.head.machine
    }

    /// Sets a parameter of the experiment.
    pub fn set_parameter(&mut self, name: &str, value: impl Into<Value>) {
        self.head.parameters.insert(name.to_string(), value.into());
    }

    /// The parameter of this name.
    ///
    /// # Errors
    /// If there is none, or it has another type.
    pub fn parameter<T: DeserializeOwned>(&self, name: &str) -> Result<T, StudyError> {
        let value = self.head.parameters.get(name);
        let value = value.ok_or_else(|| self.fault(format!("there is no parameter {name:?}")))?;
        serde_json::from_value(value.clone())
            .map_err(|error| self.fault(format!("parameter {name:?}: {error}")))
    }

    /// Adds a table.
    ///
    /// # Errors
    /// If a row is not flat.
    pub fn add<T: Serialize>(&mut self, name: &str, rows: &[T]) -> Result<(), StudyError> {
        let rows = self.convert(name, rows)?;
        self.tables.insert(name.to_string(), rows);
        Ok(())
    }

    /// Adds a table of times, which differ from run to run.
    ///
    /// # Errors
    /// If a row is not flat.
    pub fn add_times<T: Serialize>(&mut self, name: &str, rows: &[T]) -> Result<(), StudyError> {
        let rows = self.convert(name, rows)?;
        self.head.timed.push(name.to_string());
        self.times.insert(name.to_string(), rows);
        Ok(())
    }

    fn convert<T: Serialize>(&mut self, name: &str, rows: &[T]) -> Result<Vec<Value>, StudyError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in rows {
            writer.serialize(row).map_err(|error| self.fault(format!("{name}: {error}")))?;
        }
        let bytes = writer.into_inner().map_err(|error| self.fault(format!("{name}: {error}")))?;
        self.csv.insert(name.to_string(), String::from_utf8_lossy(&bytes).into_owned());
        rows.iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| self.fault(format!("{name}: {error}")))
    }

    /// The rows of a table.
    ///
    /// # Errors
    /// If there is no such table, or it has other columns.
    pub fn rows<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, StudyError> {
        let rows = self.tables.get(name).or_else(|| self.times.get(name));
        let rows = rows.ok_or_else(|| self.fault(format!("there is no table {name:?}")))?;
        rows.iter()
            .map(T::deserialize)
            .collect::<Result<_, _>>()
            .map_err(|error| self.fault(format!("table {name:?}: {error}")))
    }

    /// The names of all tables.
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().chain(self.times.keys()).map(String::as_str)
    }

    /// The name of a table's CSV file.
    pub(crate) fn csv_name(&self, table: &str) -> String {
        let Head { experiment, timed, .. } = &self.head;
        let is_timed = timed.iter().any(|name| name == table);
        format!("{experiment}.{}{table}.csv", if is_timed { "times." } else { "" })
    }

    /// An error about this dataset.
    pub(crate) fn fault(&self, reason: String) -> StudyError {
        StudyError::Data { path: self.path.clone(), reason }
    }

    /// Writes all files of the dataset into `directory`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), StudyError> {
        let head = &self.head;
        for (table, rows) in &self.csv {
            let text = format!("{}{rows}", self.comment());
            replace_file(&directory.join(self.csv_name(table)), text.as_bytes())?;
        }
        if !head.timed.is_empty() {
            let times = TimesFile {
                experiment: head.experiment.clone(),
                settings: head.settings.clone(),
                machine: head.machine.clone(),
                tables: self.times.clone(),
            };
            self.write_json(&times_path(directory, &head.experiment), &times)?;
        }
        let main = MainFile { head: head.clone(), tables: self.tables.clone() };
        self.write_json(&main_path(directory, &head.experiment), &main)
    }

    fn write_json(&self, path: &Path, content: &impl Serialize) -> Result<(), StudyError> {
        let mut text =
            serde_json::to_vec_pretty(content).map_err(|error| self.fault(error.to_string()))?;
        text.push(b'\n');
        replace_file(path, &text)
    }

    /// The comment at the head of a CSV file, which makes it self-contained.
    fn comment(&self) -> String {
        let Head { experiment, settings, machine, parameters, .. } = &self.head;
        let parameters: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let parameters = parameters.join(" ").replace('\n', " ");
        format!("# crivo study: {experiment}; {settings}\n# {machine}\n# {parameters}\n")
    }

    /// Reads the dataset of an experiment, if there is one in `directory`.
    ///
    /// # Errors
    /// If a file exists but cannot be read, or is not a data file.
    pub fn load(directory: &Path, experiment: &str) -> Result<Option<Self>, StudyError> {
        let path = main_path(directory, experiment);
        if !path.exists() {
            return Ok(None);
        }
        let MainFile { head, tables } = read_json(&path)?;
        let times = if head.timed.is_empty() {
            Tables::new()
        } else {
            let times_path = times_path(directory, experiment);
            let times: TimesFile = read_json(&times_path)?;
            if times.settings != head.settings {
                let reason = "it belongs to another run".to_string();
                return Err(StudyError::Data { path: times_path, reason });
            }
            times.tables
        };
        Ok(Some(Self { head, tables, times, csv: BTreeMap::new(), path }))
    }
}

/// Writes a file completely or not at all.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    crivo_core::file::replace(path, |file| file.write_all(bytes))
        .map_err(|error| StudyError::Write { path: path.to_path_buf(), error })
}

/// Creates the directory if needed, and checks that it can be written to.
pub(crate) fn prepare_directory(path: &Path) -> Result<(), StudyError> {
    let failed = |error| StudyError::Write { path: path.to_path_buf(), error };
    fs::create_dir_all(path).map_err(failed)?;
    tempfile::tempfile_in(path).map_err(failed)?;
    Ok(())
}

fn main_path(directory: &Path, experiment: &str) -> PathBuf {
    directory.join(format!("{experiment}.json"))
}

fn times_path(directory: &Path, experiment: &str) -> PathBuf {
    directory.join(format!("{experiment}.times.json"))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StudyError> {
    let text =
        fs::read(path).map_err(|error| StudyError::Read { path: path.to_path_buf(), error })?;
    serde_json::from_slice(&text)
        .map_err(|error| StudyError::Data { path: path.to_path_buf(), reason: error.to_string() })
}
