//! The measurement.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crivo_hyphen::exceptions::{
    Counters, GuardOptions, GuardedExceptions, MemoryExceptions, StoredExceptions,
};
use crivo_hyphen::{Automaton, Breaks, Exception, Exceptions, Hyphenator, Language, fold};

use super::{
    CONSTRUCT, FEW_PERCENTS, FOLDED, Guarded, KINDS, LIST_MEMORY, LIST_STORED, LOOKUP, MEMORY,
    NO_FILTER, PERCENTS, RULES, STORED, cold, name, stored_name,
};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::timing::{Clock, Contender, Phase, interleave};

/// A filter with its rate, in front of exceptions in memory and on disk.
struct GuardPair {
    kind: crivo::filter::Kind,
    percent: u32,
    guard: GuardOptions,
    memory: Arc<GuardedExceptions>,
    stored: Arc<StoredExceptions>,
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let exceptions = match context.exceptions() {
        Some(own) => own.to_vec(),
        None => Language::EnglishUs.exceptions(),
    };
    let words = context.words().sample(context.pick(400, 20_000, usize::MAX));
    let patterns = Language::EnglishUs.patterns();
    let rules = Arc::new(Automaton::new(&patterns));
    let folded = Arc::new(Automaton::with_exceptions(&patterns, &exceptions));
    data.set_parameter("words", words.len());
    data.set_parameter("list", context.words().name());
    data.set_parameter("patterns", patterns.count());
    data.set_parameter("automaton_bytes", rules.size_in_bytes());
    data.set_parameter("folded_bytes", folded.size_in_bytes());

    let scratch = context.scratch()?;
    let original = scratch.path().join("exceptions.redb");
    let unguarded_store = StoredExceptions::open(&original, None)?;
    unguarded_store.insert(exceptions.iter().cloned())?;
    let key_count = unguarded_store.key_count()?;
    drop(unguarded_store);
    data.set_parameter("exceptions", key_count);
    let file_bytes = fs::metadata(&original).map_or(0, |metadata| metadata.len());
    data.set_parameter("store_bytes", file_bytes);

    let rounds = context.repetitions();
    let steps = 100;
    let mut pairs = Vec::new();
    for percent in PERCENTS {
        for (kind, _) in KINDS {
            let guard = GuardOptions::new(kind, f64::from(percent) / 100.0)?;
            let map = MemoryExceptions::new(exceptions.iter().cloned());
            let memory = GuardedExceptions::new(map, guard.clone())?;
            let path = scratch.path().join(format!("{kind}-{percent}.redb"));
            copy(&original, &path)?;
            let stored = StoredExceptions::open(&path, Some(guard.clone()))?;
            pairs.push(GuardPair {
                kind,
                percent,
                guard,
                memory: Arc::new(memory),
                stored: Arc::new(stored),
            });
        }
        context.step(u64::from(percent), steps);
    }
    let plain_memory = Arc::new(MemoryExceptions::new(exceptions.iter().cloned()));
    let plain_stored =
        Arc::new(StoredExceptions::open(scratch.path().join("exceptions.redb"), None)?);
    let with = |list: Arc<dyn Exceptions>| {
        Hyphenator::from_automaton(Arc::clone(&rules)).with_exceptions(list)
    };

    // A filter must not change the result: the sum of all breaks is compared.
    let in_one = Hyphenator::from_automaton(Arc::clone(&folded));
    let right = sum_of_breaks(&in_one, &words);
    // A later entry of a word replaces an earlier one.
    let breaks: HashMap<&str, &Breaks> =
        exceptions.iter().map(|each| (each.word(), each.breaks())).collect();
    let mut guarded = Vec::new();
    for pair in &pairs {
        let checked = (&exceptions[..], &breaks);
        guarded.push(pair.row(MEMORY, &pair.memory, checked, &words, right, with)?);
        guarded.push(pair.row(STORED, &pair.stored, checked, &words, right, with)?);
    }
    data.add("guards", &guarded)?;
    context.step(25, steps);

    let mut samples = construct(&exceptions, &pairs, rounds)?;
    context.step(30, steps);

    // The rules alone hyphenate the exceptions differently, so each contender has its own result.
    let list = |task: &'static str| Phase { task, operations: words.len(), expected: Some(0) };
    let contender = |name: String, hyphenator: Hyphenator, right: u64| {
        let words = &words;
        Contender::new(name, move |_| Ok(sum_of_breaks(&hyphenator, words).wrapping_sub(right)))
    };
    let alone = Hyphenator::from_automaton(Arc::clone(&rules));
    let by_rules = sum_of_breaks(&alone, &words);
    let without_filter = |plain: Arc<dyn Exceptions>| {
        vec![
            contender(NO_FILTER.to_string(), with(plain), right),
            contender(FOLDED.to_string(), in_one.clone(), right),
            contender(RULES.to_string(), alone.clone(), by_rules),
        ]
    };
    let mut stored = without_filter(plain_stored.clone());
    let mut memory = without_filter(plain_memory.clone());
    for pair in &pairs {
        let name = name(pair.kind, pair.percent);
        if FEW_PERCENTS.contains(&pair.percent) {
            memory.push(contender(name.clone(), with(pair.memory.clone()), right));
        }
        stored.push(contender(name, with(pair.stored.clone()), right));
    }
    samples.extend(interleave(Clock::Processor, 0.0, rounds, &[list(LIST_MEMORY)], &mut memory)?);
    context.step(45, steps);
    samples.extend(interleave(Clock::Processor, 0.0, rounds, &[list(LIST_STORED)], &mut stored)?);
    context.step(85, steps);
    samples.extend(lookups(&words, &pairs, &plain_memory, &plain_stored, rounds, context)?);
    context.step(92, steps);
    drop((stored, memory, plain_stored));
    data.add_times("samples", &samples)?;
    cold::measure(context, data, &original, &rules, &words)
}

fn copy(from: &Path, to: &Path) -> Result<(), StudyError> {
    let refused = |error| StudyError::Write { path: to.to_path_buf(), error };
    fs::copy(from, to).map(drop).map_err(refused)
}

/// All breaks of all words in one number.
pub(super) fn sum_of_breaks(hyphenator: &Hyphenator, words: &[&str]) -> u64 {
    let of_word = |word: &&str| -> u64 {
        hyphenator.breaks(word).iter().fold(1, |sum, offset| 31 * sum + offset as u64)
    };
    words.iter().map(of_word).fold(0, u64::wrapping_add)
}

/// Exceptions with counters of their guard.
trait Counting: Exceptions {
    fn counters(&self) -> Counters;
    fn guard_size_in_bits(&self) -> u64;
}

impl Counting for GuardedExceptions {
    fn counters(&self) -> Counters {
        self.counters()
    }

    fn guard_size_in_bits(&self) -> u64 {
        self.guard_status().size_in_bits
    }
}

impl Counting for StoredExceptions {
    fn counters(&self) -> Counters {
        self.counters()
    }

    fn guard_size_in_bits(&self) -> u64 {
        self.guard_status().map_or(0, |status| status.size_in_bits)
    }
}

impl GuardPair {
    /// Hyphenates the list once and counts lookups; then looks every exception up.
    fn row<E: Counting + 'static>(
        &self,
        store: &str,
        list: &Arc<E>,
        (exceptions, breaks): (&[Exception], &HashMap<&str, &Breaks>),
        words: &[&str],
        right: u64,
        with: impl Fn(Arc<dyn Exceptions>) -> Hyphenator,
    ) -> Result<Guarded, StudyError> {
        let before = list.counters();
        let sum = sum_of_breaks(&with(list.clone()), words);
        let after = list.counters();
        if sum != right || after.failures > 0 {
            return Err(StudyError::wrong(format_args!(
                "{} and the automaton give different breaks",
                name(self.kind, self.percent)
            )));
        }
        let (mut checked, mut missed) = (0, 0);
        for exception in exceptions {
            let word = exception.word();
            let capital = word.to_uppercase();
            for form in [word, &capital, &mixed(word)] {
                checked += 1;
                missed += u64::from(list.find(&fold(form)).as_ref() != breaks.get(word).copied());
            }
        }
        if missed > 0 {
            return Err(StudyError::wrong(format_args!(
                "{} missed {missed} of {checked} exceptions",
                name(self.kind, self.percent)
            )));
        }
        Ok(Guarded {
            filter: self.kind.to_string(),
            percent: self.percent,
            store: store.to_string(),
            exceptions: exceptions.len() as u64,
            bits: list.guard_size_in_bits(),
            lookups: after.questions - before.questions,
            rejections: after.stopped - before.stopped,
            found: after.found - before.found,
            false_positives: after.false_positives - before.false_positives,
            checked,
            missed,
        })
    }
}

/// The word with every second letter in upper case.
fn mixed(word: &str) -> String {
    let turn = |(i, c): (usize, char)| -> String {
        if i % 2 == 0 { c.to_uppercase().collect() } else { c.to_string() }
    };
    word.chars().enumerate().map(turn).collect()
}

/// The construction time of a filter from the exceptions.
fn construct(
    exceptions: &[Exception],
    pairs: &[GuardPair],
    rounds: u32,
) -> Result<Vec<crate::timing::Sample>, StudyError> {
    let mut contenders: Vec<Contender<'_>> = pairs
        .iter()
        .map(|pair| {
            let guard = &pair.guard;
            // Only the construction of the filter is timed, not that of the map.
            let mut list = Some(MemoryExceptions::new(exceptions.iter().cloned()));
            Contender::new(name(pair.kind, pair.percent), move |_| {
                let guarded =
                    GuardedExceptions::new(list.take().unwrap_or_default(), guard.clone())?;
                let count = guarded.key_count();
                list = Some(guarded.into_inner());
                Ok(count)
            })
        })
        .collect();
    let expected = pairs.first().map(|pair| pair.memory.key_count());
    let phase = Phase { task: CONSTRUCT, operations: 1, expected };
    interleave(Clock::Processor, 0.0, rounds, &[phase], &mut contenders)
}

/// The time of one lookup of a word that is not listed.
fn lookups(
    words: &[&str],
    pairs: &[GuardPair],
    memory: &Arc<MemoryExceptions>,
    stored: &Arc<StoredExceptions>,
    rounds: u32,
    context: &Context<'_>,
) -> Result<Vec<crate::timing::Sample>, StudyError> {
    let absent: Vec<String> = words
        .iter()
        .map(|word| fold(word).into_owned())
        .filter(|word| memory.find(word).is_none())
        .collect();
    let max = context.pick(100, 10_000, 50_000);
    let absent: Vec<&str> =
        absent.iter().map(String::as_str).step_by(absent.len().div_ceil(max).max(1)).collect();
    let absent = &absent;
    let look_up = |list: Arc<dyn Exceptions>| {
        move |_| -> Result<u64, StudyError> {
            Ok(absent.iter().map(|word| u64::from(list.find(word).is_some())).sum())
        }
    };
    let mut contenders = vec![
        Contender::new(MEMORY, look_up(memory.clone())),
        Contender::new(STORED, look_up(stored.clone())),
    ];
    for pair in pairs {
        contenders
            .push(Contender::new(name(pair.kind, pair.percent), look_up(pair.memory.clone())));
        if pair.percent == 1 {
            let name = stored_name(pair.kind, pair.percent);
            contenders.push(Contender::new(name, look_up(pair.stored.clone())));
        }
    }
    let phase = Phase { task: LOOKUP, operations: absent.len(), expected: Some(0) };
    interleave(Clock::Processor, 0.0, rounds, &[phase], &mut contenders)
}
