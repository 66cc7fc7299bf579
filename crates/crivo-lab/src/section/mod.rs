//! The parts of a report: a section of figures, each a question with its answer.

mod references;

pub use references::Source;

use crate::plot::Panel;

/// The section of one experiment.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// The subject, and why it matters.
    pub introduction: String,
    /// The sources of the experiment and its theory.
    pub sources: &'static [Source],
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A question with its answer, as a plot and as text.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its name in files and links: unique in the report.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// The question.
    pub question: String,
    /// The method.
    pub method: String,
    /// The plots.
    pub panels: Vec<Panel>,
    /// The numbers next to the plots.
    pub table: Option<Table>,
    /// The answer.
    pub verdict: Verdict,
}

/// A table of formatted numbers.
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

/// The answer that follows from the data.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The finding in a word.
    pub finding: Finding,
    /// A sentence that is derived from the data.
    pub sentence: String,
    /// The test, and its probability of a false alarm; empty if nothing is tested.
    pub test: String,
}

/// A finding in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The measurement does not contradict the claim.
    Agrees,
    /// The measurement contradicts the claim.
    Differs,
    /// The sample is too small to decide.
    Undecided,
    /// The question is about a number, not a claim.
    Measured,
}

impl Finding {
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
