//! `crivo study`: compares theory with measurement.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
#[cfg(feature = "cassandra")]
use crivo_lab::CassandraServer;
use crivo_lab::{Options, Progress, Scale, Study, experiments};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Error;
use crate::output;
use crate::status::Status;

/// Repeats published experiments on filters and dictionaries, and writes a report
///
/// Experiments write data files (CSV and JSON), from which the report is made: one page for a browser
/// that needs no network, with every plot as SVG and PNG beside it. An interrupted study continues
/// with the next experiment when it is started again with the same options.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StudyArgs {
    /// Which experiments: all of them by default
    #[arg(value_name = "NAME", help = names())]
    experiments: Vec<String>,

    /// A first look, in less than a minute; the full study takes some minutes
    #[arg(long)]
    quick: bool,

    /// The directory for data, figures and index.html
    #[arg(long, value_name = "DIR", default_value = "study", value_hint = ValueHint::DirPath)]
    out: PathBuf,

    /// A list of words, one per line, instead of the built-in English one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    words: Option<PathBuf>,

    /// A list of hyphenation exceptions, with a hyphen at every break, instead of the English one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    exceptions: Option<PathBuf>,

    /// The number of repetitions, at least 2 [default: 30, with --quick 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    repetitions: Option<u32>,

    /// The seed of all randomness: the same seed gives the same data, except for times
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// A Cassandra node that scripts/services has set up, for the experiment cassandra: it is flushed,
    /// stopped and started
    #[cfg(feature = "cassandra")]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    cassandra: Option<PathBuf>,

    /// A Cassandra server for the experiment cassandra, of which only the client's side is measured
    #[cfg(feature = "cassandra")]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "cassandra")]
    cassandra_at: Option<String>,

    /// The files of the benchmark of the workspace engines, for the experiment join
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    joins: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo study --quick                          everything, in less than a minute
  crivo study best-k best-m                    two experiments
  crivo study hyphenation --words words.txt    with other words
";

/// The help of NAME.
fn names() -> String {
    let names: Vec<_> = experiments::names().collect();
    format!("Which experiments, all of them by default: {}", names.join(", "))
}

impl StudyArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        #[cfg(feature = "cassandra")]
        let cassandra = match (self.cassandra, self.cassandra_at) {
            (Some(directory), _) => Some(CassandraServer::Directory(directory)),
            (None, address) => address.map(CassandraServer::Address),
        };
        #[cfg(not(feature = "cassandra"))]
        let cassandra = None;
        let options = Options {
            scale: if self.quick { Scale::Quick } else { Scale::Full },
            seed: self.seed,
            repetitions: self.repetitions,
            words: self.words,
            exceptions: self.exceptions,
            cassandra,
            joins: self.joins,
        };
        let study = Study::new(&self.experiments, options).map_err(Error::new)?;
        let bars = Bars::new();
        let report = study.run(&self.out, &bars);
        bars.0.finish_and_clear();
        output::print_message(format_args!(
            "Open {} in a browser.",
            report.map_err(Error::new)?.display()
        ));
        Ok(Status::Success)
    }
}

/// A progress bar for the current experiment on a terminal, otherwise a line for each.
struct Bars(ProgressBar);

/// The resolution of the bar.
const STEPS: u64 = 1000;

impl Bars {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
        // The template is constant and valid.
        if let Ok(style) =
            ProgressStyle::with_template("{prefix:>9}  {msg:14} {bar:30} {percent:>3}%  {elapsed}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn print(&self, message: &str) {
        self.0.suspend(|| output::print_message(message));
    }
}

impl Progress for Bars {
    fn started(&self, name: &str, index: usize, total: usize) {
        self.0.reset();
        self.0.set_prefix(format!("{} of {total}", index + 1));
        self.0.set_message(name.to_owned());
        if !io::stderr().is_terminal() {
            self.print(&format!("{name} ({} of {total}) …", index + 1));
        }
    }

    fn step(&self, done: u64, total: u64) {
        self.0.set_position(STEPS * done / total.max(1));
    }

    fn finished(&self, name: &str) {
        if io::stderr().is_terminal() {
            let seconds = self.0.elapsed().as_secs_f64();
            self.print(&format!("{name}: {seconds:.1} s"));
        }
    }

    fn skipped(&self, name: &str, file: &Path) {
        let file = file.display();
        self.print(&format!(
            "{name}: already measured with these options; remove {file} to repeat it"
        ));
    }
}
