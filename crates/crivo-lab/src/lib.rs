//! The study: experiments on membership structures, their data, their plots, and a report.
//!
//! Theory predicts how large a filter must be, its false-positive rate, how full a table can be.
//! Published experiments on this were often too small to be conclusive, or measured something else
//! than they claimed. This crate repeats them and states what the sample shows:
//!
//! ```text
//!   experiment  ──measures──▶  data/NAME.json, NAME.times.json, NAME.TABLE.csv
//!                                   │  (nothing else is read from here on)
//!                                   ▼
//!   report      ──presents─▶  figures/ID.svg, ID.png     index.html
//! ```
//!
//! ```no_run
//! use crivo_lab::{Options, Scale, Study};
//!
//! let options = Options { scale: Scale::Quick, ..Options::default() };
//! // No names: every experiment.
//! let report = Study::new(&[] as &[&str], options)?.run("study".as_ref(), &())?;
//! println!("open {}", report.display());
//! # Ok::<(), crivo_lab::StudyError>(())
//! ```
//!
//! # Rules
//!
//! - *Same seed, same data*, except for times, which are in separate files.
//! - *A verdict follows from the data*: no sentence of the report has its result built in.
//! - *A test states its probability of a false alarm*, over all its comparisons together.
//! - *Times are ratios*: contenders take turns in one process, every answer is checked, and each
//!   round is compared with the baseline's time in the same round.
//!
//! # When not to use it
//!
//! To compare crivo with other libraries, use the project's `bench` workspace.

mod context;
mod data;
mod error;
mod page_cache;
mod random;
mod settings;
mod study;
mod words;

pub mod experiments;
pub mod plot;
pub mod quality;
pub mod report;
pub mod section;
pub mod seeded;
pub mod sim;
pub mod statistics;
pub mod timing;

pub use context::{Context, Progress};
pub use data::{Dataset, Machine};
pub use error::StudyError;
pub use random::{RandomStrings, random_stream};
pub use settings::{CassandraServer, ListIdentity, Options, Scale, Settings};
pub use study::Study;
pub use words::{WORDS_LICENCE, WordList};

/// The examples of the project's README: this crate knows every crate that they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ProjectReadme;
