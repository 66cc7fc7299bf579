//! From patterns to the automaton.
//!
//! A state is a node of the trie: its path is the longest beginning of a pattern that the letters
//! read so far end with. Its row has the next state for every letter, so a letter costs one access
//! to the table, however many patterns there are.
//!
//! A leaf of the trie differs from its fallback only in its levels. Levels are stored in the cells
//! that lead to a state, not in the state, so a leaf needs no row. Half of the nodes are leaves.

use std::collections::HashMap;

use crate::patterns::Pattern;
use crate::{Breaks, Exception, Patterns};

use super::alphabet::{Alphabet, DOT, END};
use super::cells::{Cell, Cells, GRANULE, Split};
use super::levels::{Pool, Rows};
use super::tables::{Fill, Tables};
use super::trie::{Fallbacks, Node, ROOT, Trie};
use super::{Automaton, Listed};

/// The cells have room for at least `min_next`; only tests pass more than 0.
pub(super) fn build(patterns: &Patterns, exceptions: &[&Exception], min_next: usize) -> Automaton {
    let alphabet = Alphabet::new(patterns, exceptions.iter().map(|exception| exception.word()));
    let mut trie = Trie::new(alphabet.class_count());
    let ends: Vec<PatternEnd<'_>> =
        patterns.iter().flat_map(|pattern| insert_pattern(&alphabet, &mut trie, pattern)).collect();
    let pattern_nodes = trie.node_count();
    let (listed, exception_of) = fold_exceptions(&alphabet, &mut trie, exceptions);
    let tree = trie.fallbacks();
    let (levels_of, rows) = levels(&ends, &tree);
    let stride = alphabet.class_count().next_multiple_of(GRANULE);
    let builder = Builder::new(trie, tree, pattern_nodes, levels_of, exception_of, stride);
    let start = builder.trie.child(ROOT, DOT).map_or(0, |node| builder.row(node));
    let max_next = builder.cell_count().max(listed.len() * GRANULE).max(min_next);
    let tables = Tables::new(rows, max_next, &builder);
    let has_apostrophes = patterns.letters().contains(&'\'');
    let has_middle_dots = patterns.letters().contains(&'\u{b7}');
    Automaton { alphabet, tables, start, listed, has_apostrophes, has_middle_dots }
}

/// The node at the end of a pattern, and the pattern's levels.
type PatternEnd<'p> = (Node, &'p [u8]);

/// Inserts a pattern into the trie. A pattern that ends with a dot is inserted twice, because a dot
/// inside a word also counts as an end of it.
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

/// Inserts the exceptions into the trie as rules for whole words. Returns their breaks by number,
/// and the number of the exception that ends at a node.
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

/// The levels of every node: the maximum over all patterns that end there. Returns the index of each
/// node's levels, and the distinct levels.
fn levels(ends: &[PatternEnd<'_>], tree: &Fallbacks) -> (Vec<u32>, Vec<Rows>) {
    let mut pool = Pool::new();
    let mut merged = vec![0; tree.fallback.len()];
    // Of two patterns with the same letters the first one applies.
    for &(end, levels) in ends.iter().rev() {
        merged[end as usize] = pool.number(levels);
    }
    for &node in &tree.order {
        let fallback = merged[tree.fallback[node as usize] as usize];
        merged[node as usize] = pool.merge(merged[node as usize], fallback);
    }
    // Shallow nodes first: they are visited most, and hot data should be close together.
    pool.into_used(merged, &tree.order)
}

/// Everything that is needed to fill the cells.
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
        pattern_nodes: usize,
        levels_of: Vec<u32>,
        exception_of: HashMap<Node, u32>,
        stride: usize,
    ) -> Self {
        let has_row = |node: Node| node == ROOT || !trie.is_leaf(node);
        let is_of_patterns = |node: Node| (node as usize) < pattern_nodes;
        // Rows that most words visit are close together: first those of patterns, shallow ones
        // first, then those that only exceptions need.
        let (of_patterns, of_exceptions): (Vec<Node>, Vec<Node>) = tree
            .order
            .iter()
            .filter(|&&node| has_row(node))
            .partition(|&&node| is_of_patterns(node));
        let mut row_of = vec![0; trie.node_count()];
        let with_row = of_patterns.iter().chain(&of_exceptions);
        let row_count = (0..).zip(with_row).map(|(row, &node)| row_of[node as usize] = row).count();
        for &leaf in tree.order.iter().filter(|&&node| !has_row(node)) {
            row_of[leaf as usize] = row_of[tree.fallback[leaf as usize] as usize];
        }
        Self { trie, tree, levels_of, exception_of, stride, row_of, row_count }
    }

    /// The first cell of a node's row.
    fn row(&self, node: Node) -> usize {
        self.row_of[node as usize] as usize * self.stride
    }

    fn cell_count(&self) -> usize {
        self.row_count * self.stride
    }
}

impl Fill for Builder {
    fn cells<C: Cell>(&self, split: Split) -> Cells<C> {
        let mut cells = vec![C::default(); self.cell_count()];
        for &node in &self.tree.order {
            if node != ROOT && self.trie.is_leaf(node) {
                continue;
            }
            let row = self.row(node);
            // A copy of the fallback's row, which is complete, except for the node's own children.
            let fallback = self.row(self.tree.fallback[node as usize]);
            cells.copy_within(fallback..fallback + self.stride, row);
            for child in self.trie.children(node) {
                let class = self.trie.label[child as usize];
                let next = match class {
                    // After the end there is no next row; the field holds the exception's number.
                    END => {
                        let number = self.exception_of.get(&child).copied().unwrap_or(0);
                        number as usize * GRANULE
                    }
                    _ => self.row(child),
                };
                let levels = self.levels_of[child as usize] as usize;
                cells[row + class as usize] = C::new(split, levels, next);
            }
        }
        Cells { split, cells }
    }
}
