//! A study: which experiments, under which settings, into which directory.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crivo::KeyHasher;
use crivo_hyphen::Exception;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, prepare_directory};
use crate::experiments::{self, Experiment};
use crate::random::{RandomStrings, random_stream};
use crate::words::Words;
use crate::{StudyError, report};

/// The size of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Seconds: a test that everything works. The numbers mean little.
    Tiny,
    /// Under a minute: a first look.
    Quick,
    /// Some minutes: the intended size.
    #[default]
    Full,
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tiny => "tiny",
            Self::Quick => "quick",
            Self::Full => "full",
        })
    }
}

/// The options of a study.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The size of the study.
    pub scale: Scale,
    /// The seed of all randomness.
    pub seed: u64,
    /// The number of repetitions; by default 30, or 7 in a quick study.
    pub repetitions: Option<u32>,
    /// A list of words instead of the embedded one.
    pub words: Option<PathBuf>,
    /// Exceptions to hyphenation instead of the embedded ones.
    pub exceptions: Option<PathBuf>,
}

impl Options {
    /// The number of repetitions: at least 2, because one has no interval.
    pub fn repetitions(&self) -> u32 {
        let default = match self.scale {
            Scale::Tiny => 3,
            Scale::Quick => 7,
            Scale::Full => 30,
        };
        self.repetitions.unwrap_or(default).max(2)
    }

    /// The settings of these options, with the embedded lists.
    pub fn settings(&self) -> Settings {
        Settings {
            version: env!("CARGO_PKG_VERSION").to_string(),
            commit: option_env!("CRIVO_COMMIT").map(String::from),
            scale: self.scale,
            seed: self.seed,
            repetitions: self.repetitions(),
            words: None,
            exceptions: None,
        }
    }
}

/// Everything that determines the data: with equal settings all data are equal, except times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The version of this crate.
    pub version: String,
    /// The commit it was built from, if known.
    pub commit: Option<String>,
    /// The size of the study.
    pub scale: Scale,
    /// The seed of all randomness.
    pub seed: u64,
    /// The number of repetitions.
    pub repetitions: u32,
    /// The user's list of words.
    pub words: Option<ListIdentity>,
    /// The user's exceptions to hyphenation.
    pub exceptions: Option<ListIdentity>,
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, scale, seed, repetitions, .. } = self;
        write!(f, "crivo {version}")?;
        if let Some(commit) = &self.commit {
            write!(f, " ({commit})")?;
        }
        write!(f, ", {scale}, seed {seed}, {repetitions} repetitions")?;
        for (what, list) in [("words", &self.words), ("exceptions", &self.exceptions)] {
            if let Some(list) = list {
                write!(f, ", {what} {} ({})", list.name, list.count)?;
            }
        }
        Ok(())
    }
}

/// Identifies a list: lists with the same identity are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListIdentity {
    /// The name of the file, without its directory.
    pub name: String,
    /// The number of words.
    pub count: usize,
    /// A hash of all words.
    pub fingerprint: String,
}

impl ListIdentity {
    fn of(words: &Words) -> Self {
        Self::new(words.name(), words.iter())
    }

    fn new(name: &str, words: impl Iterator<Item = impl AsRef<str>>) -> Self {
        let hasher = KeyHasher::default();
        let (count, hash) = words.fold((0, 0u64), |(count, hash), word| {
            let next = [hash, hasher.digest(word.as_ref()).get()].map(u64::to_le_bytes).concat();
            (count + 1, hasher.digest(&next).get())
        });
        Self { name: name.to_string(), count, fingerprint: format!("{hash:016x}") }
    }
}

/// The user's exceptions to hyphenation.
#[derive(Debug)]
struct OwnExceptions {
    identity: ListIdentity,
    list: Vec<Exception>,
}

impl OwnExceptions {
    fn read(path: &Path) -> Result<Self, StudyError> {
        let list = Exception::read_list(path).map_err(StudyError::Exceptions)?;
        if list.is_empty() {
            return Err(StudyError::NoWords { path: path.to_path_buf() });
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let entries = list.iter().map(|each| each.breaks().join(each.word(), "-"));
        Ok(Self { identity: ListIdentity::new(&name, entries), list })
    }
}

/// Receives the progress of a study. All methods do nothing by default; `()` ignores everything.
pub trait Progress {
    /// An experiment starts: number `index`, from 0, of `total`.
    fn started(&self, name: &str, index: usize, total: usize) {
        let _ = (name, index, total);
    }

    /// `done` of `total` steps of the current experiment are done.
    fn step(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// The current experiment has ended, and its data is in the directory.
    fn finished(&self, name: &str) {
        let _ = name;
    }

    /// An experiment is skipped: its data for these settings exists.
    fn skipped(&self, name: &str, file: &Path) {
        let _ = (name, file);
    }
}

impl Progress for () {}

/// The prefix of scratch directories.
const SCRATCH: &str = ".crivo-scratch-";

/// Removes the scratch directories of a study that was killed. Failures are harmless.
fn remove_leftovers(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SCRATCH)) {
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// The environment of an experiment.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    options: &'a Options,
    words: &'a Words,
    exceptions: Option<&'a OwnExceptions>,
    directory: &'a Path,
    progress: &'a dyn Progress,
}

impl<'a> Context<'a> {
    /// The value for the scale of the study.
    pub fn pick<T>(&self, tiny: T, quick: T, full: T) -> T {
        match self.options.scale {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The number of repetitions.
    pub fn repetitions(&self) -> u32 {
        self.options.repetitions()
    }

    /// The seed of all randomness.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// A separate stream of random numbers for every name.
    pub fn random(&self, name: &str) -> crivo_core::Random {
        random_stream(self.seed(), name)
    }

    /// Separate random strings for every name.
    pub fn strings(&self, name: &str) -> RandomStrings {
        RandomStrings::new(self.seed(), name)
    }

    /// The words.
    pub fn words(&self) -> &'a Words {
        self.words
    }

    /// The user's exceptions to hyphenation, if there are any.
    pub fn exceptions(&self) -> Option<&'a [Exception]> {
        self.exceptions.map(|own| own.list.as_slice())
    }

    /// A directory for temporary files, on the disk of the study, which is removed with its content
    /// when it is dropped.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn scratch(&self) -> Result<tempfile::TempDir, StudyError> {
        let refused = |error| StudyError::Write { path: self.directory.to_path_buf(), error };
        tempfile::Builder::new().prefix(SCRATCH).tempdir_in(self.directory).map_err(refused)
    }

    /// Reports the progress of the experiment.
    pub fn step(&self, done: u64, total: u64) {
        self.progress.step(done, total);
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
    words: Words,
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
        let words = options.words.as_deref().map(Words::read).transpose()?;
        let exceptions = options.exceptions.as_deref().map(OwnExceptions::read).transpose()?;
        let words = words.unwrap_or_else(Words::embedded);
        Ok(Self { experiments, options, words, exceptions })
    }

    /// The settings of this study, which identify its data.
    pub fn settings(&self) -> Settings {
        let is_own = self.options.words.is_some();
        Settings {
            words: is_own.then(|| ListIdentity::of(&self.words)),
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
            if present.is_some_and(|data| *data.settings() == settings) {
                progress.skipped(name, &data_directory.join(format!("{name}.json")));
                continue;
            }
            progress.started(name, index, self.experiments.len());
            let context = Context {
                options: &self.options,
                words: &self.words,
                exceptions: self.exceptions.as_ref(),
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
