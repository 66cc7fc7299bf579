//! The report: one self-contained page, and every plot as a separate file.
//!
//! It is generated from the data files alone, and can be regenerated from them at any time.

mod glossary;
mod page;

use std::path::{Path, PathBuf};

use crate::data::{Dataset, prepare_directory, replace_file};
use crate::plot::{sheet, to_png};
use crate::section::Section;
use crate::{StudyError, experiments};

/// A section with its data.
struct Chapter {
    section: Section,
    data: Dataset,
}

/// Writes the report of all data in `directory/data`: `directory/index.html` and `directory/figures`.
/// Returns the path of the page.
///
/// # Errors
/// If there is no data, a data file is damaged, or a file cannot be written.
pub fn write(directory: &Path) -> Result<PathBuf, StudyError> {
    let data_directory = directory.join("data");
    let mut chapters = Vec::new();
    for experiment in experiments::ALL {
        if let Some(data) = Dataset::load(&data_directory, experiment.name())? {
            chapters.push(Chapter { section: experiment.present(&data)?, data });
        }
    }
    if chapters.is_empty() {
        return Err(StudyError::NothingMeasured { path: data_directory });
    }
    let figures_directory = directory.join("figures");
    prepare_directory(&figures_directory)?;
    for figure in chapters.iter().flat_map(|chapter| &chapter.section.figures) {
        let svg = sheet(&figure.title, &figure.panels);
        let png = to_png(&svg)?;
        replace_file(&figures_directory.join(format!("{}.svg", figure.id)), svg.as_bytes())?;
        replace_file(&figures_directory.join(format!("{}.png", figure.id)), &png)?;
    }
    let page = directory.join("index.html");
    replace_file(&page, page::render(&chapters).as_bytes())?;
    Ok(page)
}
