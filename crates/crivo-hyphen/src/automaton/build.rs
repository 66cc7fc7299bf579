//! From patterns to the automaton.
//!
//! A state is what the letters read so far have in common with the beginnings of patterns: a node
//! of the tree, whose path is the longest such beginning that the letters end with. Its row tells
//! for every letter the next state, so that a letter costs one look into the table, whatever the
//! patterns.
//!
//! A leaf of the tree differs from its fallback only in its levels. Levels belong to the cells that
//! lead to a state, not to the state, so a leaf needs no row: half of the nodes are leaves.

use std::collections::HashMap;

use crate::patterns::Pattern;
use crate::{Breaks, Exception, Patterns};

use super::alphabet::{Alphabet, DOT, END};
use super::levels::{Pool, Rows, ones_of_levels};
use super::table::{Cell, Fill, GRANULE, Split, Tables};
use super::trie::{Fallbacks, Node, ROOT, Trie};
use super::{Automaton, Listed};

/// The cells have room at least for `least_next`, which only tests ask for.
pub(super) fn build(
    patterns: &Patterns,
    exceptions: &[&Exception],
    least_next: usize,
) -> Automaton {
    let alphabet = Alphabet::new(patterns, exceptions.iter().map(|exception| exception.word()));
    let mut trie = Trie::new(alphabet.class_count());
    let ends: Vec<PatternEnd<'_>> =
        patterns.iter().flat_map(|pattern| insert_pattern(&alphabet, &mut trie, pattern)).collect();
    let (listed, exception_of) = fold_exceptions(&alphabet, &mut trie, exceptions);
    let tree = trie.fallbacks();
    let (levels_of, rows) = levels(patterns, &ends, &tree);
    let classes = alphabet.class_count();
    let builder = Builder::new(trie, tree, levels_of, exception_of, classes);
    let start = builder.trie.child(ROOT, DOT).map_or(0, |node| builder.granule(node));
    let max_next = builder.granule_count().max(listed.len()).max(least_next);
    let tables = Tables::new(rows, max_next, &builder);
    Automaton { alphabet, tables, start, listed }
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
fn levels(patterns: &Patterns, ends: &[PatternEnd<'_>], tree: &Fallbacks) -> (Vec<u32>, Vec<Rows>) {
    let ones = ones_of_levels(patterns.iter().flat_map(|pattern| pattern.levels.iter().copied()));
    let mut pool = Pool::new();
    let mut own = vec![None; tree.fallback.len()];
    for &(end, levels) in ends {
        let rows = levels.iter().map(|&level| ones[usize::from(level)]).collect();
        // Of two patterns with the same letters the first one holds.
        own[end as usize].get_or_insert_with(|| pool.merge(rows, 0));
    }
    let mut merged: Vec<u32> = own.into_iter().map(|own| own.unwrap_or(0)).collect();
    for &node in &tree.order {
        let fallback = merged[tree.fallback[node as usize] as usize];
        let own = &mut merged[node as usize];
        *own = match (*own, fallback) {
            (0, fallback) => fallback,
            (own, 0) => own,
            (own, fallback) => pool.merge(pool.rows[own as usize].clone(), fallback),
        };
    }
    pool.into_used(merged)
}

/// All that the cells tell.
struct Builder {
    trie: Trie,
    tree: Fallbacks,
    levels_of: Vec<u32>,
    exception_of: HashMap<Node, u32>,
    /// Cells per row.
    stride: usize,
    /// The number of the row of each node.
    row_of: Vec<u32>,
    row_count: usize,
}

impl Builder {
    fn new(
        trie: Trie,
        tree: Fallbacks,
        levels_of: Vec<u32>,
        exception_of: HashMap<Node, u32>,
        classes: usize,
    ) -> Self {
        let mut row_of = vec![0; trie.node_count()];
        let mut row_count = 0;
        for &node in &tree.order {
            row_of[node as usize] = match node != ROOT && trie.is_leaf(node) {
                true => row_of[tree.fallback[node as usize] as usize],
                false => {
                    row_count += 1;
                    row_count - 1
                }
            };
        }
        let stride = classes.next_multiple_of(GRANULE);
        let row_count = row_count as usize;
        Self { trie, tree, levels_of, exception_of, stride, row_of, row_count }
    }

    /// The first cell of a node's row, in granules.
    fn granule(&self, node: Node) -> usize {
        self.row_of[node as usize] as usize * (self.stride / GRANULE)
    }

    /// The length of all rows, in granules.
    fn granule_count(&self) -> usize {
        self.row_count * (self.stride / GRANULE)
    }
}

impl Fill for Builder {
    fn cells<C: Cell>(&self, split: Split) -> Vec<C> {
        let mut cells = vec![C::default(); self.row_count * self.stride];
        for &node in &self.tree.order {
            if node != ROOT && self.trie.is_leaf(node) {
                continue;
            }
            let row = self.granule(node) * GRANULE;
            // Like the fallback, whose row is complete, but for its own children.
            let fallback = self.granule(self.tree.fallback[node as usize]) * GRANULE;
            cells.copy_within(fallback..fallback + self.stride, row);
            for child in self.trie.children(node) {
                let class = self.trie.label[child as usize];
                let next = match class {
                    // After the end there is no next row, but there may be an exception.
                    END => self.exception_of.get(&child).map_or(0, |&number| number as usize),
                    _ => self.granule(child),
                };
                let levels = self.levels_of[child as usize] as usize;
                cells[row + class as usize] = C::new(split, levels, next);
            }
        }
        cells
    }
}
