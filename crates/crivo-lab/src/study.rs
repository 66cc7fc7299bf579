//! A study: which experiments, under which settings, into which folder.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crivo::KeyHasher;
use crivo_hyphen::Exception;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, prepare_folder};
use crate::experiments::{self, Experiment};
use crate::random::{RandomStrings, random_stream};
use crate::words::Words;
use crate::{StudyError, report};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Seconds: enough to see that everything works. The numbers mean little.
    Tiny,
    /// Under a minute: a first look.
    Quick,
    /// Some minutes: what the report is made for.
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

/// What the user asks for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How much is measured.
    pub scale: Scale,
    /// The seed of all randomness.
    pub seed: u64,
    /// How often everything is repeated; by default 30 times, 7 in a quick study.
    pub repetitions: Option<u32>,
    /// A list of words instead of the embedded one.
    pub words: Option<PathBuf>,
    /// Exceptions to hyphenation instead of the embedded ones.
    pub exceptions: Option<PathBuf>,
}

impl Options {
    /// How often everything is repeated: at least twice, for there is no interval without.
    pub fn repetitions(&self) -> u32 {
        let default = match self.scale {
            Scale::Tiny => 3,
            Scale::Quick => 7,
            Scale::Full => 30,
        };
        self.repetitions.unwrap_or(default).max(2)
    }

    /// The settings that these options amount to, with the embedded lists.
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

/// Everything that decides what an experiment measures: equal settings, equal data but for times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The version of this crate.
    pub version: String,
    /// The commit it was built from, where that is known.
    pub commit: Option<String>,
    /// How much was measured.
    pub scale: Scale,
    /// The seed of all randomness.
    pub seed: u64,
    /// How often everything was repeated.
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

/// Which list it was: two lists with the same identity are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListIdentity {
    /// The name of the file, without its folder.
    pub name: String,
    /// How many words it has.
    pub count: usize,
    /// A hash of them all.
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

/// Who is told how far a study is. All methods do nothing by default; `()` is a silent observer.
pub trait Progress {
    /// An experiment begins: the `index`-th, from 0, of `total`.
    fn started(&self, name: &str, index: usize, total: usize) {
        let _ = (name, index, total);
    }

    /// `done` of `total` steps of the present experiment are done.
    fn step(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// The present experiment has ended, and its data is in the folder.
    fn finished(&self, name: &str) {
        let _ = name;
    }

    /// An experiment is left out: its data for these settings is there already.
    fn skipped(&self, name: &str, file: &Path) {
        let _ = (name, file);
    }
}

impl Progress for () {}

/// How the names of scratch folders begin.
const SCRATCH: &str = ".crivo-scratch-";

/// Removes the scratch folders of a study that was killed. Whoever cannot be removed does no harm.
fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SCRATCH)) {
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// What an experiment may use.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    options: &'a Options,
    words: &'a Words,
    exceptions: Option<&'a OwnExceptions>,
    folder: &'a Path,
    progress: &'a dyn Progress,
}

impl<'a> Context<'a> {
    /// Whichever belongs to the scale.
    pub fn pick<T>(&self, tiny: T, quick: T, full: T) -> T {
        match self.options.scale {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// How often everything is repeated.
    pub fn repetitions(&self) -> u32 {
        self.options.repetitions()
    }

    /// The seed of all randomness.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// A stream of random numbers of its own for every name.
    pub fn random(&self, name: &str) -> crivo_core::Random {
        random_stream(self.seed(), name)
    }

    /// Random strings of their own for every name.
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

    /// A folder for files of the experiment's own, on the disk of the study, that is removed with
    /// all its content when it is dropped.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn scratch(&self) -> Result<tempfile::TempDir, StudyError> {
        let refused = |error| StudyError::Write { path: self.folder.to_path_buf(), error };
        tempfile::Builder::new().prefix(SCRATCH).tempdir_in(self.folder).map_err(refused)
    }

    /// Tells how far the experiment is.
    pub fn step(&self, done: u64, total: u64) {
        self.progress.step(done, total);
    }
}

/// Experiments to be run into a folder.
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
    /// The experiments of these names, or all if there are none. Reads the lists.
    ///
    /// # Errors
    /// If there is no experiment of some name, or if a list cannot be read or is empty.
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

    /// The settings of this study, by which data is recognised.
    pub fn settings(&self) -> Settings {
        let is_own = self.options.words.is_some();
        Settings {
            words: is_own.then(|| ListIdentity::of(&self.words)),
            exceptions: self.exceptions.as_ref().map(|own| own.identity.clone()),
            ..self.options.settings()
        }
    }

    /// [Measures](Self::measure), and makes the report of all data that is in `folder/data`.
    /// Answers the path of the report.
    ///
    /// # Errors
    /// If the folder cannot be written, or an experiment fails. What was finished before stays,
    /// and another run goes on from there.
    pub fn run(&self, folder: &Path, progress: &dyn Progress) -> Result<PathBuf, StudyError> {
        self.measure(folder, progress)?;
        report::write(folder)
    }

    /// Runs every experiment whose data is not in `folder/data` already.
    ///
    /// # Errors
    /// As with [`run`](Self::run).
    pub fn measure(&self, folder: &Path, progress: &dyn Progress) -> Result<(), StudyError> {
        let data_folder = folder.join("data");
        prepare_folder(&data_folder)?;
        remove_leftovers(folder);
        let settings = self.settings();
        for (index, experiment) in self.experiments.iter().enumerate() {
            let name = experiment.name();
            // What cannot be read was not written by this study to its end: measured again.
            let present = Dataset::load(&data_folder, name).ok().flatten();
            if present.is_some_and(|data| *data.settings() == settings) {
                progress.skipped(name, &data_folder.join(format!("{name}.json")));
                continue;
            }
            progress.started(name, index, self.experiments.len());
            let context = Context {
                options: &self.options,
                words: &self.words,
                exceptions: self.exceptions.as_ref(),
                folder,
                progress,
            };
            let mut data = Dataset::new(name, settings.clone());
            experiment.run(&context, &mut data)?;
            data.save(&data_folder)?;
            progress.finished(name);
        }
        Ok(())
    }
}
