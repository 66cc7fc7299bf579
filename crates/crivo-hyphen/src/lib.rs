//! Hyphenation by TeX patterns: where may a word be divided at the end of a line?

mod automaton;
mod breaks;
mod error;
mod exception;
mod fold;
mod hyphenator;
mod language;
mod patterns;
mod tex;

pub mod exceptions;
pub mod text;

pub use automaton::Automaton;
pub use breaks::Breaks;
pub use error::{ParseError, ReadError};
pub use exception::Exception;
pub use fold::fold;
pub use hyphenator::{Exceptions, Hyphenator};
pub use language::Language;
pub use patterns::Patterns;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
