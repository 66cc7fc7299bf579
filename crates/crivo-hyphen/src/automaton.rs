//! The automaton.

use std::collections::HashMap;

use crate::fold::Folded;
use crate::hyphenator::Limits;
use crate::{Breaks, Exception, Patterns};

/// Patterns, and exceptions folded in, made ready for matching.
#[derive(Debug, Clone)]
pub struct Automaton {
    patterns: Patterns,
    exceptions: HashMap<String, Breaks>,
}

impl Automaton {
    /// Patterns alone.
    pub fn new(patterns: &Patterns) -> Self {
        Self::with_exceptions(patterns, [])
    }

    /// Patterns and exceptions; of two exceptions for one word the later one holds.
    pub fn with_exceptions<'e>(
        patterns: &Patterns,
        exceptions: impl IntoIterator<Item = &'e Exception>,
    ) -> Self {
        let pairs = exceptions.into_iter().map(|e| (e.word().to_string(), e.breaks().clone()));
        Self { patterns: patterns.clone(), exceptions: pairs.collect() }
    }

    pub(crate) fn breaks_within(&self, word: &str, limits: &Limits) -> Breaks {
        let folded = Folded::new(word);
        let letters = folded.letters.len();
        if letters < limits.min_word_length {
            return Breaks::new();
        }
        let listed = self.exceptions.get(&folded.text);
        let levels = self.patterns.levels(word);
        let kept = folded.letters.iter().enumerate().filter_map(|(index, &(offset, origin))| {
            let holds = match listed {
                Some(breaks) => breaks.contains(offset) && limits.allow_listed(index, letters),
                None => {
                    levels[index] % 2 == 1
                        && limits.left <= index
                        && index + limits.right <= letters
                }
            };
            origin.filter(|_| holds)
        });
        kept.collect()
    }
}
