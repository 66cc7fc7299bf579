//! A study: which experiments, under which settings, into which directory.

use std::path::{Path, PathBuf};

use crivo_hyphen::Exception;

use crate::context::{Context, Progress, remove_leftovers};
use crate::data::{Dataset, prepare_directory};
use crate::experiments::{self, Experiment};
use crate::settings::{ListIdentity, Options, Settings};
use crate::words::WordList;
use crate::{StudyError, report};

/// The user's exceptions to hyphenation.
#[derive(Debug)]
struct OwnExceptions {
    identity: ListIdentity,
    list: Vec<Exception>,
}

impl OwnExceptions {
    fn read(path: &Path) -> Result<Self, StudyError> {
        let list = Exception::read_list(path)?;
        if list.is_empty() {
            return Err(StudyError::NoWords { path: path.to_path_buf() });
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let entries = list.iter().map(|each| each.breaks().join(each.word(), "-"));
        Ok(Self { identity: ListIdentity::new(&name, entries), list })
    }
}

/// A set of experiments with their settings.
///
/// ```no_run
/// use crivo_lab::{Options, Scale, Study};
///
/// let options = Options { scale: Scale::Quick, ..Options::default() };
/// let report = Study::new(&["best-k"], options)?.run("study".as_ref(), &())?;
/// println!("open {}", report.display());
/// # Ok::<(), crivo_lab::StudyError>(())
/// ```
#[derive(Debug)]
pub struct Study {
    experiments: Vec<&'static dyn Experiment>,
    options: Options,
    words: WordList,
    exceptions: Option<OwnExceptions>,
}

impl Study {
    /// The experiments with these names, or all if no name is given. Reads the lists.
    ///
    /// # Errors
    /// If a name is unknown, or if a list cannot be read or is empty.
    pub fn new(names: &[impl AsRef<str>], options: Options) -> Result<Self, StudyError> {
        let mut chosen = names
            .iter()
            .map(|name| experiments::find(name.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        if chosen.is_empty() {
            chosen = experiments::ALL.to_vec();
        }
        // In the order of the report, each once.
        let is_chosen = |one: &&dyn Experiment| chosen.iter().any(|any| any.name() == one.name());
        let experiments = experiments::ALL.iter().copied().filter(is_chosen).collect();
        let words = options.words.as_deref().map(WordList::read).transpose()?;
        let exceptions = options.exceptions.as_deref().map(OwnExceptions::read).transpose()?;
        let words = words.unwrap_or_else(WordList::embedded);
        Ok(Self { experiments, options, words, exceptions })
    }

    /// The settings of this study, which identify its data.
    pub fn settings(&self) -> Settings {
        let is_own = self.options.words.is_some();
        Settings {
            words: is_own.then(|| ListIdentity::new(self.words.name(), self.words.iter())),
            exceptions: self.exceptions.as_ref().map(|own| own.identity.clone()),
            ..self.options.settings()
        }
    }

    /// [Measures](Self::measure), and writes the report of all data in `directory/data`. Returns the
    /// path of the report.
    ///
    /// # Errors
    /// If the directory cannot be written, or an experiment fails. Finished experiments are kept, and
    /// another run continues from there.
    pub fn run(&self, directory: &Path, progress: &dyn Progress) -> Result<PathBuf, StudyError> {
        self.measure(directory, progress)?;
        report::write(directory)
    }

    /// Runs every experiment whose data is not yet in `directory/data`.
    ///
    /// # Errors
    /// As with [`run`](Self::run).
    pub fn measure(&self, directory: &Path, progress: &dyn Progress) -> Result<(), StudyError> {
        let data_directory = directory.join("data");
        prepare_directory(&data_directory)?;
        remove_leftovers(directory);
        let settings = self.settings();
        for (index, experiment) in self.experiments.iter().enumerate() {
            let name = experiment.name();
            // Data that cannot be read is incomplete, and measured again.
            let present = Dataset::load(&data_directory, name).ok().flatten();
            let is_measured = |data: &Dataset| {
                *data.settings() == settings && experiment.is_measured(data, &self.options)
            };
            if present.as_ref().is_some_and(is_measured) {
                progress.skipped(name, &data_directory.join(format!("{name}.json")));
                continue;
            }
            progress.started(name, index, self.experiments.len());
            let context = Context {
                options: &self.options,
                words: &self.words,
                exceptions: self.exceptions.as_ref().map(|own| own.list.as_slice()),
                directory,
                progress,
            };
            let mut data = Dataset::new(name, settings.clone());
            experiment.run(&context, &mut data)?;
            data.save(&data_directory)?;
            progress.finished(name);
        }
        Ok(())
    }
}
