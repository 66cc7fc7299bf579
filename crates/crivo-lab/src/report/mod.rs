//! The report: one page that needs no network, and every plot as a file of its own.
//!
//! It is made of the data files alone, and can be made again from them at any time.

mod glossary;
mod page;
mod references;

use std::path::{Path, PathBuf};

pub use references::Source;

use crate::data::{Dataset, prepare_folder, write_atomically};
use crate::plot::{Panel, sheet, to_png};
use crate::{StudyError, experiments};

/// What the report tells of one experiment.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its headline.
    pub title: &'static str,
    /// What it is about, and why one would want to know.
    pub introduction: String,
    /// Where the experiment and its theory come from.
    pub sources: &'static [Source],
    /// What was found.
    pub figures: Vec<Figure>,
}

/// A question with its answer, in a picture and in words.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its name in files and links: unique in the report.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// How it was measured.
    pub method: String,
    /// What is drawn.
    pub panels: Vec<Panel>,
    /// The numbers beside the picture.
    pub table: Option<Table>,
    /// The answer.
    pub verdict: Verdict,
}

/// Numbers in rows, each already as it is to be read.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The rows, each as long as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these heads.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|text| (*text).to_string()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// What the data says.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// In a sentence that was made from the data.
    pub sentence: String,
    /// The test behind it, and how often it raises a false alarm; empty where nothing is tested.
    pub test: String,
}

/// A verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Measurement and claim agree, as far as the sample can tell.
    Agrees,
    /// They differ by more than chance explains.
    Differs,
    /// The sample is too small to tell.
    Undecided,
    /// A number was asked for, not a yes or no.
    Measured,
}

impl Outcome {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
            Self::Measured => "measured",
        }
    }

    /// `Agrees` or `Differs`.
    pub const fn of(agrees: bool) -> Self {
        if agrees { Self::Agrees } else { Self::Differs }
    }
}

/// A section with the data that it was made of.
struct Chapter {
    section: Section,
    data: Dataset,
}

/// Makes the report of all data in `folder/data`: `folder/index.html` and `folder/figures`.
/// Answers the path of the page.
///
/// # Errors
/// If there is no data, a data file is damaged, or a file cannot be written.
pub fn write(folder: &Path) -> Result<PathBuf, StudyError> {
    let data_folder = folder.join("data");
    let mut chapters = Vec::new();
    for experiment in experiments::ALL {
        if let Some(data) = Dataset::load(&data_folder, experiment.name())? {
            chapters.push(Chapter { section: experiment.present(&data)?, data });
        }
    }
    if chapters.is_empty() {
        return Err(StudyError::NothingMeasured { path: data_folder });
    }
    let figures_folder = folder.join("figures");
    prepare_folder(&figures_folder)?;
    for figure in chapters.iter().flat_map(|chapter| &chapter.section.figures) {
        let svg = sheet(&figure.title, &figure.panels);
        let png = to_png(&svg)?;
        write_atomically(&figures_folder.join(format!("{}.svg", figure.id)), svg.as_bytes())?;
        write_atomically(&figures_folder.join(format!("{}.png", figure.id)), &png)?;
    }
    let page = folder.join("index.html");
    write_atomically(&page, page::render(&chapters).as_bytes())?;
    Ok(page)
}
