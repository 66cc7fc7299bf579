//! The settings of a study, which determine its data.

use std::fmt;
use std::path::PathBuf;

use crivo::KeyHasher;
use serde::{Deserialize, Serialize};

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
    /// The server of the experiment on Cassandra.
    pub cassandra: Option<CassandraServer>,
    /// The directory of the files that the benchmark of joins on a cluster has written.
    pub joins: Option<PathBuf>,
}

/// A server of the experiment on Cassandra, which needs the feature `cassandra`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CassandraServer {
    /// The directory of a node that `scripts/services` has set up. It is flushed, stopped and started.
    Directory(PathBuf),
    /// Host and port of a server. What needs more than CQL is left out.
    Address(String),
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
    pub(crate) fn new(name: &str, words: impl Iterator<Item = impl AsRef<str>>) -> Self {
        // Data files have the result: the family never changes.
        let hasher = KeyHasher::xxh3(0);
        let (count, hash) = words.fold((0, 0u64), |(count, hash), word| {
            let next = [hash, hasher.digest(word.as_ref()).get()].map(u64::to_le_bytes).concat();
            (count + 1, hasher.digest(&next).get())
        });
        Self { name: name.to_string(), count, fingerprint: format!("{hash:016x}") }
    }
}
