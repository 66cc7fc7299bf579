//! The languages whose patterns come with the library.

use std::sync::{Arc, OnceLock};

use crate::{Automaton, Exception, Patterns};

/// A language whose patterns come with the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// English, with American hyphenation.
    EnglishUs,
}

impl Language {
    /// All languages of this build.
    pub fn all() -> impl Iterator<Item = Language> {
        [Self::EnglishUs].into_iter()
    }

    /// How many letters stand at least before a break and after it.
    pub fn minima(self) -> (usize, usize) {
        (2, 3)
    }

    /// The patterns of the language.
    pub fn patterns(self) -> Patterns {
        Patterns::parse(include_str!("../data/patterns/hyph-en-us.pat.txt")).unwrap()
    }

    /// The exceptions of the language, those that override others last.
    pub fn exceptions(self) -> Vec<Exception> {
        let own = Exception::parse_list(include_str!("../data/patterns/hyph-en-us.hyp.txt"));
        let more = Exception::parse_list(include_str!("../data/ushyphex.tex"));
        [own.unwrap(), more.unwrap()].concat()
    }

    /// The automaton of the language, built when it is first asked for.
    pub fn automaton(self) -> Arc<Automaton> {
        static AUTOMATON: OnceLock<Arc<Automaton>> = OnceLock::new();
        let build = || Arc::new(Automaton::with_exceptions(&self.patterns(), &self.exceptions()));
        Arc::clone(AUTOMATON.get_or_init(build))
    }
}
