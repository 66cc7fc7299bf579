//! The patterns of one level.

use std::collections::{HashMap, HashSet};

/// A gap between two letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// A break is allowed where it is odd.
    pub(super) level: u8,
    pub(super) change: Option<Change>,
}

impl Gap {
    /// The same gap in a longer word, that has `letters` letters more before it.
    pub(super) fn moved(mut self, letters: usize) -> Self {
        if let Some(change) = &mut self.change {
            change.start += letters;
        }
        self
    }
}

/// A change of the spelling: the letters from `start` on are replaced by a text with an equals sign at
/// the break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) text: String,
}

/// A pattern: the levels around its letters, and its change, which begins at a letter of the pattern.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) levels: Vec<u8>,
    pub(super) change: Option<Change>,
}

/// Patterns as an automaton: a state for every beginning of a pattern.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    next: HashMap<(usize, char), usize>,
    states: Vec<State>,
    letters: HashSet<char>,
}

#[derive(Debug, Clone, Default)]
struct State {
    /// The state of the longest proper ending that is the beginning of a pattern.
    fallback: usize,
    rule: Option<Rule>,
    /// The number of letters, with dots.
    length: usize,
    starts_with_dot: bool,
}

impl Level {
    /// An automaton of patterns: their letters, with dots for the ends of a word, and their rules.
    pub(super) fn new(patterns: impl IntoIterator<Item = (Vec<char>, Rule)>) -> Self {
        let mut level = Self { states: vec![State::default()], ..Self::default() };
        // Children come after their parents.
        let mut parents = vec![(0, '.')];
        for (letters, rule) in patterns {
            let mut state = 0;
            for (index, &letter) in letters.iter().enumerate() {
                let count = level.states.len();
                let found = *level.next.entry((state, letter)).or_insert(count);
                if found == count {
                    let starts_with_dot = letters[0] == '.';
                    let length = index + 1;
                    level.states.push(State { length, starts_with_dot, ..State::default() });
                    parents.push((state, letter));
                }
                state = found;
            }
            level.states[state].rule = Some(rule);
            level.letters.extend(letters);
        }
        let mut order: Vec<usize> = (1..level.states.len()).collect();
        order.sort_by_key(|&state| level.states[state].length);
        for state in order {
            let (parent, letter) = parents[state];
            level.states[state].fallback = match parent {
                0 => 0,
                parent => level.step(level.states[parent].fallback, letter),
            };
        }
        level
    }

    /// Whether a letter is in a pattern.
    pub(super) fn has_letter(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.iter().all(|state| state.rule.is_none())
    }

    fn step(&self, mut state: usize, letter: char) -> usize {
        loop {
            match (self.next.get(&(state, letter)), state) {
                (Some(&next), _) => return next,
                (None, 0) => return 0,
                (None, _) => state = self.states[state].fallback,
            }
        }
    }

    /// The gaps of a word of n letters: n + 1, of which the first and the last are never a break.
    pub(super) fn gaps(&self, word: &[char]) -> Vec<Gap> {
        let letters = word.iter().map(|c| if c.is_ascii_digit() { '.' } else { *c });
        let dotted = ['.'].into_iter().chain(letters).chain(['.']);
        let mut levels = vec![0; word.len() + 3];
        // The change of the pattern that decided each gap.
        let mut winners: Vec<Option<&Change>> = vec![None; word.len() + 3];
        // For each letter: how many a change replaces from there on, and the gap of its break.
        let mut lengths = vec![0; word.len() + 3];
        let mut breaks = vec![0; word.len() + 3];
        let mut state = 0;
        for (index, letter) in dotted.enumerate() {
            state = self.step(state, letter);
            let State { rule: Some(rule), length, starts_with_dot, .. } = &self.states[state]
            else {
                continue;
            };
            // The gap before the first letter of the pattern, and that letter's place in the word.
            let first = index as isize - *length as isize;
            let dot = usize::from(*starts_with_dot);
            let letter = (first + dot as isize).max(0) as usize;
            if let Some(change) = &rule.change
                && let Some(replaced) = lengths.get_mut(letter + change.start)
            {
                *replaced = change.length;
            }
            for (k, &level) in rule.levels.iter().enumerate() {
                let Ok(gap) = usize::try_from(first + k as isize) else { continue };
                if levels.get(gap).is_none_or(|&old| old >= level) {
                    continue;
                }
                levels[gap] = level;
                if level % 2 == 0 {
                    continue;
                }
                winners[gap] = rule.change.as_ref();
                if let Some(change) = &rule.change
                    && k >= dot
                    && (change.start..=change.start + change.length).contains(&(k - dot))
                    && let Some(at) = breaks.get_mut(letter + change.start)
                {
                    *at = gap;
                }
            }
        }
        let mut gaps: Vec<Gap> =
            levels[..=word.len()].iter().map(|&level| Gap { level, change: None }).collect();
        gaps[0].level = 0;
        gaps[word.len()].level = 0;
        let mut start = 0;
        while start < word.len() {
            let (length, gap) = (lengths[start], breaks[start]);
            if length > 0
                && (1..=word.len()).contains(&gap)
                && let Some(change) = winners[gap]
            {
                let text = change.text.clone();
                gaps[gap].change = Some(Change { start, length, text });
                start += length;
            } else {
                start += 1;
            }
        }
        gaps
    }
}
