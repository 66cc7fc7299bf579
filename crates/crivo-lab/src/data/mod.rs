//! Data files: what an experiment measured, under which circumstances.
//!
//! | file | what it holds |
//! |---|---|
//! | `NAME.json` | settings, machine, parameters, and every table but those of times |
//! | `NAME.times.json` | the tables of times, which differ from run to run |
//! | `NAME.TABLE.csv` | one table; the lines that begin with `#` say where it comes from |
//! | `NAME.times.TABLE.csv` | one table of times |
//!
//! The same settings give the same bytes, but for the files of times (and the machine's name in
//! the others, on another machine). Every file is written beside its place and renamed into it,
//! and `NAME.json` comes last: where it stands, the others do.

mod file;
mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use file::{prepare_folder, write_atomically};
pub use machine::Machine;

use crate::StudyError;
use crate::study::Settings;

/// What one experiment measured.
///
/// A table is a list of rows, and a row any flat structure that serde knows.
///
/// ```
/// use crivo_lab::{Dataset, Options};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Row {
///     k: u32,
///     rate: f64,
/// }
///
/// let mut data = Dataset::new("example", Options::default().settings());
/// data.add("rates", &[Row { k: 1, rate: 0.5 }])?;
/// assert_eq!(data.rows::<Row>("rates")?, [Row { k: 1, rate: 0.5 }]);
/// assert!(data.rows::<Row>("other").is_err());
/// # Ok::<(), crivo_lab::StudyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset {
    head: Head,
    tables: Tables,
    times: Tables,
    csv: BTreeMap<String, String>,
    /// Where it was read from, for messages.
    path: PathBuf,
}

type Tables = BTreeMap<String, Vec<Value>>;

/// The part of a data file that says what the rest is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Head {
    experiment: String,
    settings: Settings,
    machine: Machine,
    parameters: BTreeMap<String, Value>,
    /// The names of the tables that stand in the file of times.
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
    /// A set without tables, of the experiment of this name.
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

    /// Under which settings it was measured.
    pub fn settings(&self) -> &Settings {
        &self.head.settings
    }

    /// Where it was measured.
    pub fn machine(&self) -> &Machine {
        &self.head.machine
    }

    /// Notes a parameter of the experiment.
    pub fn set_parameter(&mut self, name: &str, value: impl Into<Value>) {
        self.head.parameters.insert(name.to_string(), value.into());
    }

    /// The parameter of this name.
    ///
    /// # Errors
    /// If there is none, or it is of another type.
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

    /// Adds a table of times: one that another run will not repeat.
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

    /// An error about this set.
    pub(crate) fn fault(&self, reason: String) -> StudyError {
        StudyError::Data { path: self.path.clone(), reason }
    }

    /// Writes all its files into `folder`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), StudyError> {
        let head = &self.head;
        for (table, rows) in &self.csv {
            let text = format!("{}{rows}", self.comment());
            write_atomically(&folder.join(self.csv_name(table)), text.as_bytes())?;
        }
        if !head.timed.is_empty() {
            let times = TimesFile {
                experiment: head.experiment.clone(),
                settings: head.settings.clone(),
                machine: head.machine.clone(),
                tables: self.times.clone(),
            };
            self.write_json(&times_path(folder, &head.experiment), &times)?;
        }
        let main = MainFile { head: head.clone(), tables: self.tables.clone() };
        self.write_json(&main_path(folder, &head.experiment), &main)
    }

    fn write_json(&self, path: &Path, content: &impl Serialize) -> Result<(), StudyError> {
        let mut text =
            serde_json::to_vec_pretty(content).map_err(|error| self.fault(error.to_string()))?;
        text.push(b'\n');
        write_atomically(path, &text)
    }

    /// What stands at the head of a CSV file, so that it can travel alone.
    fn comment(&self) -> String {
        let Head { experiment, settings, machine, parameters, .. } = &self.head;
        let parameters: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let parameters = parameters.join(" ").replace('\n', " ");
        format!("# crivo study: {experiment}; {settings}\n# {machine}\n# {parameters}\n")
    }

    /// Reads the set of this experiment, if there is one in `folder`.
    ///
    /// # Errors
    /// If a file is there but cannot be read, or is not a data file.
    pub fn load(folder: &Path, experiment: &str) -> Result<Option<Self>, StudyError> {
        let path = main_path(folder, experiment);
        if !path.exists() {
            return Ok(None);
        }
        let MainFile { head, tables } = read_json(&path)?;
        let times = if head.timed.is_empty() {
            Tables::new()
        } else {
            let times_path = times_path(folder, experiment);
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

fn main_path(folder: &Path, experiment: &str) -> PathBuf {
    folder.join(format!("{experiment}.json"))
}

fn times_path(folder: &Path, experiment: &str) -> PathBuf {
    folder.join(format!("{experiment}.times.json"))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StudyError> {
    let text =
        fs::read(path).map_err(|error| StudyError::Read { path: path.to_path_buf(), error })?;
    serde_json::from_slice(&text)
        .map_err(|error| StudyError::Data { path: path.to_path_buf(), reason: error.to_string() })
}
