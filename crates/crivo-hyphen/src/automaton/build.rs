//! From patterns to the automaton.
//!
//! A state is what the letters read so far have in common with the beginnings of patterns: a node
//! of the tree, whose path is the longest such beginning that the letters end with. Three
//! observations keep the tables small.
//!
//! - Where a state has no letter to go on with, it goes on like its fallback. Most of a row is that
//!   of the state for the last letter alone, so those rows are the defaults, by pairs of letters,
//!   and a state stores only what differs.
//! - A leaf of the tree differs from its fallback only in its levels. Levels belong to the slots
//!   that lead to a state, not to the state, so a leaf needs no row.
//! - What remains is sparse, and is combed.

use std::collections::HashMap;

use crate::patterns::Pattern;
use crate::{Breaks, Exception, Patterns};

use super::alphabet::{Alphabet, Class, DOT, END};
use super::comb::{MAX_SLOTS, Placer, Slot};
use super::levels::{Pool, Windows, ones_of_levels};
use super::trie::{Fallbacks, Node, ROOT, Trie};
use super::{Automaton, Listed};

/// Defaults by pairs of letters are used up to this many classes: 256 KiB of them.
const MAX_PAIRED_CLASSES: usize = 181;

pub(super) fn build(patterns: &Patterns, exceptions: &[&Exception]) -> Automaton {
    let alphabet = Alphabet::new(patterns, exceptions.iter().map(|exception| exception.word()));
    let mut trie = Trie::new(alphabet.class_count());
    let ends: Vec<PatternEnd<'_>> =
        patterns.iter().flat_map(|pattern| insert_pattern(&alphabet, &mut trie, pattern)).collect();
    let (listed, exception_of) = fold_exceptions(&alphabet, &mut trie, exceptions);
    let tree = trie.fallbacks();
    let (levels_of, windows) = levels(patterns, &ends, &tree);
    let builder = Builder { trie, tree, levels_of, exception_of };
    let (rows, default_stride) = builder.rows(alphabet.class_count());
    let (slots, base_of) = builder.comb(&rows, alphabet.class_count());
    let defaults = builder.defaults(&base_of, alphabet.class_count(), default_stride);
    let start = builder.trie.child(ROOT, DOT).map_or(0, |node| base_of[node as usize]);
    Automaton { alphabet, slots, defaults, default_stride, start: start as usize, windows, listed }
}

/// The node at the end of a pattern, and the pattern's levels.
type PatternEnd<'p> = (Node, &'p [u8]);

/// Puts a pattern into the tree, and one that ends with a word twice: a dot inside a word counts as
/// an end of it, too.
fn insert_pattern<'p>(
    alphabet: &Alphabet,
    trie: &mut Trie,
    pattern: Pattern<'p>,
) -> impl Iterator<Item = PatternEnd<'p>> + use<'p> {
    let classes = pattern.letters.iter().map(|&letter| alphabet.class(letter));
    let whole = trie.insert(classes.clone());
    let at_end = (pattern.letters.last() == Some(&'.'))
        .then(|| trie.insert(classes.take(pattern.letters.len() - 1).chain([END])));
    [Some(whole), at_end].into_iter().flatten().map(move |node| (node, pattern.levels))
}

/// Puts the exceptions into the tree as rules for whole words. Tells their breaks by number, and
/// which node is the end of which number.
fn fold_exceptions(
    alphabet: &Alphabet,
    trie: &mut Trie,
    exceptions: &[&Exception],
) -> (Vec<Listed>, HashMap<Node, u32>) {
    let mut listed = vec![Listed::default()];
    let mut exception_of = HashMap::new();
    for exception in exceptions {
        let word = exception.word();
        let classes = word.chars().map(|letter| alphabet.class(letter));
        let end = trie.insert([DOT].into_iter().chain(classes).chain([END]));
        exception_of.insert(end, listed.len() as u32);
        let offsets = word.char_indices().enumerate();
        let breaks: Breaks = offsets
            .filter(|&(_, (offset, _))| exception.breaks().contains(offset))
            .map(|(index, _)| index)
            .collect();
        listed.push(Listed { letters: word.chars().count(), breaks });
    }
    (listed, exception_of)
}

/// The levels of every node: the highest of all patterns that end there. The number of each node's
/// levels, and the levels.
fn levels(patterns: &Patterns, ends: &[PatternEnd<'_>], tree: &Fallbacks) -> (Vec<u32>, Windows) {
    let ones = ones_of_levels(patterns.iter().flat_map(|pattern| pattern.levels.iter().copied()));
    let mut pool = Pool::new();
    let mut own = vec![0; tree.fallback.len()];
    for &(end, levels) in ends {
        let rows = levels.iter().map(|&level| ones[usize::from(level)]).collect();
        own[end as usize] = pool.merge(rows, own[end as usize]);
    }
    let mut merged = own;
    for &node in &tree.order {
        let fallback = merged[tree.fallback[node as usize] as usize];
        let own = &mut merged[node as usize];
        *own = match (*own, fallback) {
            (0, fallback) => fallback,
            (own, 0) => own,
            (own, fallback) => pool.merge(pool.rows[own as usize].clone(), fallback),
        };
    }
    let (numbers, rows) = pool.into_used(merged);
    (numbers, Windows::new(rows))
}

struct Builder {
    trie: Trie,
    tree: Fallbacks,
    levels_of: Vec<u32>,
    exception_of: HashMap<Node, u32>,
}

/// The rows of all nodes, one after another.
struct Rows {
    entries: Vec<(Class, Node)>,
    /// Where each node's row lies in `entries`. A leaf has that of its fallback.
    range_of: Vec<(u32, u32)>,
    /// Each node whose row is its own.
    owners: Vec<Node>,
}

impl Builder {
    /// The rows, without what the defaults tell, and the stride of the defaults.
    fn rows(&self, classes: usize) -> (Rows, usize) {
        let (default_depth, default_stride) = match classes <= MAX_PAIRED_CLASSES {
            true => (1, classes),
            false => (0, 0),
        };
        let mut rows = Rows {
            entries: Vec::new(),
            range_of: vec![(0, 0); self.trie.node_count()],
            owners: Vec::new(),
        };
        for &node in &self.tree.order {
            if self.trie.depth[node as usize] <= default_depth {
                continue;
            }
            let inherited = rows.range_of[self.tree.fallback[node as usize] as usize];
            if self.trie.is_leaf(node) {
                rows.range_of[node as usize] = inherited;
                continue;
            }
            let start = rows.entries.len();
            let own =
                self.trie.children(node).map(|child| (self.trie.label[child as usize], child));
            rows.entries.extend(own);
            let own_end = rows.entries.len();
            for index in inherited.0 as usize..inherited.1 as usize {
                let entry = rows.entries[index];
                if rows.entries[start..own_end].iter().all(|own| own.0 != entry.0) {
                    rows.entries.push(entry);
                }
            }
            assert!(rows.entries.len() < MAX_SLOTS, "an automaton of more than two gigabytes");
            rows.range_of[node as usize] = (start as u32, rows.entries.len() as u32);
            rows.owners.push(node);
        }
        (rows, default_stride)
    }

    /// The rows in their places, and the base of every node's row.
    fn comb(&self, rows: &Rows, classes: usize) -> (Vec<Slot>, Vec<u32>) {
        let row = |node: Node| {
            let (start, end) = rows.range_of[node as usize];
            &rows.entries[start as usize..end as usize]
        };
        // Long rows first: short ones fit into what these leave.
        let mut owners = rows.owners.clone();
        owners.sort_by_key(|&node| std::cmp::Reverse(row(node).len()));
        let mut placer = Placer::new(classes);
        let mut base_of = vec![0u32; self.trie.node_count()];
        let mut labels = Vec::new();
        for &node in &owners {
            labels.clear();
            labels.extend(row(node).iter().map(|entry| entry.0));
            base_of[node as usize] = placer.place(&labels) as u32;
        }
        let mut slots = placer.free_slots(classes);
        assert!(slots.len() < MAX_SLOTS, "an automaton of more than two gigabytes");
        for &node in &self.tree.order {
            if self.trie.is_leaf(node) {
                base_of[node as usize] = base_of[self.tree.fallback[node as usize] as usize];
            }
        }
        for &node in &owners {
            for &(class, target) in row(node) {
                let slot = base_of[node as usize] as usize + usize::from(class);
                slots[slot] = self.slot(&base_of, class, target);
            }
        }
        (slots, base_of)
    }

    fn defaults(&self, base_of: &[u32], classes: usize, stride: usize) -> Vec<Slot> {
        let before: Vec<Class> = match stride {
            0 => vec![0],
            _ => (0..classes as Class).collect(),
        };
        let mut defaults = Vec::with_capacity(before.len() * classes);
        for &before in &before {
            let state = self.trie.child(ROOT, before).unwrap_or(ROOT);
            for class in 0..classes as Class {
                let target = self.trie.go(&self.tree.fallback, state, class);
                defaults.push(self.slot(base_of, class, target));
            }
        }
        defaults
    }

    fn slot(&self, base_of: &[u32], class: Class, target: Node) -> Slot {
        let next = match class {
            // After the end there is no next row, but there may be an exception.
            END => self.exception_of.get(&target).copied().unwrap_or(0),
            _ => base_of[target as usize],
        };
        Slot::new(class, self.levels_of[target as usize], next)
    }
}
