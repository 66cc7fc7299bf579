//! Exceptions in a map.

use std::collections::HashMap;
use std::convert::Infallible;

use crivo::Digest;

use super::gate::{Counters, Gate};
use super::guard::{Guard, GuardError, HASHER, Sentry};
use crate::{Breaks, Exception, Exceptions, fold};

/// Exceptions in a map in memory, behind a guard or none; the last exception of a word counts.
///
/// ```
/// use crivo_hyphen::exceptions::MemoryExceptions;
/// use crivo_hyphen::{Exception, Hyphenator, Language};
///
/// let words = MemoryExceptions::new(Exception::parse_list("gno-mon Cri-vo")?);
/// let english = Hyphenator::new(Language::EnglishUs).with_exceptions(words);
/// assert_eq!(english.hyphenate("CRIVO", "-"), "CRI-VO");
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryExceptions {
    words: HashMap<Box<str>, Breaks>,
    gate: Gate,
}

impl MemoryExceptions {
    /// These exceptions, without a guard.
    pub fn new(exceptions: impl IntoIterator<Item = Exception>) -> Self {
        let entry = |exception: Exception| (exception.word().into(), exception.breaks().clone());
        Self { words: exceptions.into_iter().map(entry).collect(), gate: Gate::default() }
    }

    /// Puts a guard before the map, in place of any other. The counters begin anew.
    ///
    /// The map answers as fast as a filter does, so that this seldom pays: it is for measuring what a
    /// guard does, and for maps that are larger than the processor's caches.
    ///
    /// ```
    /// use crivo::codec::Kind;
    /// use crivo_hyphen::exceptions::{Guard, MemoryExceptions};
    /// use crivo_hyphen::Exception;
    ///
    /// let words = MemoryExceptions::new(Exception::parse_list("gno-mon cri-vo")?)
    ///     .with_guard(Guard::new(Kind::Blocked, 0.01)?)?;
    /// assert!(words.get("Crivo").is_some());
    /// assert!(words.get("sieve").is_none());
    ///
    /// let counters = words.counters();
    /// assert_eq!((counters.lookups, counters.found), (2, 1));
    /// assert_eq!(counters.rejections + counters.false_positives, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the guard cannot be built.
    pub fn with_guard(mut self, guard: Guard) -> Result<Self, GuardError> {
        self.gate = Gate::new(Some(Sentry::new(guard, self.digests())?));
        Ok(self)
    }

    /// Adds exceptions, or gives words other breaks. Tells how many words were not there before.
    ///
    /// # Errors
    /// If the guard had to be rebuilt, and could not. The words are in the map and will be found:
    /// there is no guard from then on.
    pub fn insert(
        &mut self,
        exceptions: impl IntoIterator<Item = Exception>,
    ) -> Result<u64, GuardError> {
        let mut new = Vec::new();
        for exception in exceptions {
            let word = exception.word();
            if self.words.insert(word.into(), exception.breaks().clone()).is_none() {
                new.push(HASHER.digest(word));
            }
        }
        let followed = self.gate.change(|sentry| sentry.insert(&new, || Ok(self.digests())));
        self.unless_lost(followed)?;
        Ok(new.len() as u64)
    }

    /// Takes words out, whatever their case. Tells how many were there.
    ///
    /// # Errors
    /// If the guard had to be rebuilt, and could not: there is no guard from then on.
    pub fn remove<W: AsRef<str>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<u64, GuardError> {
        let mut removed = Vec::new();
        for word in words {
            let word = fold(word.as_ref());
            if self.words.remove(&*word).is_some() {
                removed.push(HASHER.digest(&*word));
            }
        }
        let followed = self.gate.change(|sentry| sentry.remove(&removed, || Ok(self.digests())));
        self.unless_lost(followed)?;
        Ok(removed.len() as u64)
    }

    /// The listed breaks of a word, whatever its case: offsets into the [folded](fold()) word.
    pub fn get(&self, word: &str) -> Option<Breaks> {
        self.find(&fold(word))
    }

    /// All exceptions, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Exception> + '_ {
        self.words.iter().map(|(word, breaks)| Exception::new(word, breaks))
    }

    /// How many words there are.
    pub fn key_count(&self) -> u64 {
        self.words.len() as u64
    }

    /// What happened to the words that were asked for.
    pub fn counters(&self) -> Counters {
        self.gate.counters()
    }

    /// The guard, if there is one.
    pub fn guard(&self) -> Option<Guard> {
        self.gate.guard()
    }

    /// The memory of the guard in bits; 0 without one.
    pub fn guard_size_in_bits(&self) -> u64 {
        self.gate.guard_size_in_bits()
    }

    fn digests(&self) -> Vec<Digest> {
        self.words.keys().map(|word| HASHER.digest(&**word)).collect()
    }

    /// A guard that could not follow would hide words.
    fn unless_lost(&mut self, followed: Result<(), GuardError>) -> Result<(), GuardError> {
        if followed.is_err() {
            self.gate.open_for_good();
        }
        followed
    }
}

impl Exceptions for MemoryExceptions {
    fn find(&self, folded: &str) -> Option<Breaks> {
        let ask = || Ok::<_, Infallible>(self.words.get(folded).cloned());
        self.gate.look_up(folded, ask).unwrap_or_default()
    }
}

impl FromIterator<Exception> for MemoryExceptions {
    fn from_iter<I: IntoIterator<Item = Exception>>(exceptions: I) -> Self {
        Self::new(exceptions)
    }
}
