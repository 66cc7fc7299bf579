//! Hyphenation by TeX patterns: where may a word be divided at the end of a line?

mod automaton;
mod breaks;
mod error;
mod exception;
mod fold;
mod hyphenator;
#[cfg(feature = "languages")]
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
#[cfg(feature = "languages")]
pub use language::{Language, UnknownLanguage};
pub use patterns::Patterns;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
