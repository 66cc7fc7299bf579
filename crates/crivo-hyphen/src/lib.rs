//! Hyphenation by TeX patterns: where may a word be divided at the end of a line?
//!
//! ```
//! use crivo_hyphen::{Hyphenator, Language};
//!
//! let english = Hyphenator::new(Language::EnglishUs);
//! assert_eq!(english.hyphenate("hyphenation", "-"), "hy-phen-a-tion");
//! assert_eq!(english.breaks("extensive").iter().collect::<Vec<_>>(), [2, 5]);
//! ```
//!
//! | | |
//! |---|---|
//! | [`Hyphenator`] | words to breaks: a language, minima, exceptions |
//! | [`Language`] | the languages that come with the library, and their licences |
//! | [`Patterns`], [`Exception`], [`PatternFile`] | files of TeX patterns and exceptions, read at run time |
//! | [`Dictionary`] | dictionaries of LibreOffice, with breaks that change the spelling |
//! | [`SystemPatterns`] | patterns that TeX or LibreOffice have installed |
//! | [`Automaton`] | patterns and folded exceptions, compiled for matching |
//! | [`Breaks`] | the result: a small set of offsets |
//! | [`text`] | running text, HTML pages, streams: only the words are changed |
//! | [`exceptions`] | exceptions in a map, or on disk behind a filter (features `guard`, `stored`) |
//!
//! # The rules, on one word
//!
//! Franklin Liang's patterns are parts of words with digits between the letters. To hyphenate a
//! word, put a dot before and after it, find every pattern that occurs in it, and keep the highest
//! digit of each gap, the gap's *level*. A word may be divided where the level is odd. Odd digits
//! vote for a break, even ones against it, and the higher one wins: a rule, its exceptions, and
//! their exceptions.
//!
//! Of the 4,938 patterns for American English, these nine say something about the word
//! *hyphenation*:
//!
//! ```text
//! .   h   y   p   h   e   n   a   t   i   o   n   .
//!     h   y 3 p   h
//!                 h   e 2 n
//!                 h   e   n   a 4
//!                 h   e   n 5 a   t
//!                       1 n   a
//!                         n 2 a   t
//!                               1 t   i   o
//!                                 2 i   o
//!                                         o 2 n
//! .   h 0 y 3 p 0 h 0 e 2 n 5 a 4 t 2 i 0 o 2 n   .
//!     h   y - p   h   e   n - a   t   i   o   n
//! ```
//!
//! [`Patterns::levels`] does exactly this:
//!
//! ```
//! use crivo_hyphen::{Hyphenator, Patterns};
//!
//! let nine = Patterns::parse("hy3ph he2n hena4 hen5at 1na n2at 1tio 2io o2n")?;
//! //                                          h  y  p  h  e  n  a  t  i  o  n
//! assert_eq!(nine.levels("hyphenation"), [0, 0, 3, 0, 0, 2, 5, 4, 2, 0, 2, 0]);
//! assert_eq!(Hyphenator::from_patterns(&nine).hyphenate("hyphenation", "-"), "hy-phen-ation");
//!
//! let all = crivo_hyphen::Language::EnglishUs.patterns();
//! assert_eq!(all.levels("hyphenation"), nine.levels("hyphenation"));
//! # Ok::<(), crivo_hyphen::ParseError>(())
//! ```
//!
//! The patterns miss the break before *tion*: they were designed to err on the safe side. That is
//! what exceptions are for: TUGboat's list, which is included for American English, has
//! `hy-phen-a-tion`.
//!
//! The [`Automaton`] gives the same result in one pass over the word.
//!
//! # Words
//!
//! Letter case does not matter, within [two limits](fold()), and is preserved. Composed letters and
//! letters with combining marks are equivalent, and no word is divided before a mark. Minima
//! ([`Hyphenator::with_minima`]) and the minimum word length are counted in letters. Exceptions are
//! used exactly as listed, unless the caller sets minima. Text that is not a word is returned
//! unchanged.
//!
//! Patterns ignore marks that occur in no pattern, such as a stress mark. An exception applies to the
//! listed word only: with such a mark it is another word.
//!
//! # When not to use it
//!
//! Patterns know spelling, not meaning: they cannot distinguish *re-cord* from *rec-ord*. TeX's patterns
//! do not change the spelling at a break, as Hungarian and the older German rules require; a
//! [`Dictionary`] can.
//!
//! # References
//!
//! - F. M. Liang, *Word Hy-phen-a-tion by Com-put-er*, Stanford, 1983: how patterns are made from a
//!   dictionary, and why so few suffice.
//! - D. E. Knuth, *The TeXbook*, appendix H: the rules in two pages, on this same word.
//! - A. V. Aho, M. J. Corasick, *Efficient string matching*, CACM 18(6), 1975: all patterns at once.

mod automaton;
mod breaks;
mod dictionary;
mod error;
mod exception;
mod fold;
mod hyphenator;
#[cfg(feature = "languages")]
mod language;
mod limits;
mod pattern_file;
mod patterns;
mod system;
mod tex;

pub mod exceptions;
pub mod text;

pub use automaton::Automaton;
pub use breaks::Breaks;
pub use dictionary::{BreakPoint, Dictionary, SpellingChange};
pub use error::{ParseError, ReadError};
pub use exception::Exception;
pub use fold::fold;
pub use hyphenator::{Exceptions, Hyphenator};
#[cfg(feature = "languages")]
pub use language::{Language, UnknownLanguage};
pub use pattern_file::PatternFile;
pub use patterns::Patterns;
pub use system::{SystemPatterns, UnincludedLanguage};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
