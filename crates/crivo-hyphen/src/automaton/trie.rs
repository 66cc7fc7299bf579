//! The trie of all patterns, and where matching continues after a mismatch.

use super::alphabet::Class;

pub(super) type Node = u32;
pub(super) const ROOT: Node = 0;
const NONE: Node = Node::MAX;

/// A trie whose edges are letters: the path to a node spells the beginning of a pattern.
#[derive(Debug)]
pub(super) struct Trie {
    /// The letter on the edge into each node.
    pub label: Vec<Class>,
    pub depth: Vec<u32>,
    first_child: Vec<Node>,
    next_sibling: Vec<Node>,
    /// The children of the root, by letter, because its list would be long.
    root_children: Vec<Node>,
}

/// The order and the fallbacks of all nodes, once the trie is complete.
#[derive(Debug)]
pub(super) struct Fallbacks {
    /// The nodes from the root downwards: shallow ones first.
    pub order: Vec<Node>,
    /// The longest proper suffix of a node's path that is itself a path.
    pub fallback: Vec<Node>,
}

impl Trie {
    pub fn new(classes: usize) -> Self {
        Self {
            label: vec![0],
            depth: vec![0],
            first_child: vec![NONE],
            next_sibling: vec![NONE],
            root_children: vec![NONE; classes],
        }
    }

    pub fn node_count(&self) -> usize {
        self.label.len()
    }

    pub fn is_leaf(&self, node: Node) -> bool {
        self.first_child[node as usize] == NONE
    }

    /// The node at the end of a path, which is created if needed.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Class>) -> Node {
        path.into_iter().fold(ROOT, |node, class| match self.child(node, class) {
            Some(child) => child,
            None => self.add_child(node, class),
        })
    }

    fn add_child(&mut self, parent: Node, class: Class) -> Node {
        let child = self.label.len() as Node;
        let first = &mut self.first_child[parent as usize];
        self.next_sibling.push(std::mem::replace(first, child));
        self.label.push(class);
        self.depth.push(self.depth[parent as usize] + 1);
        self.first_child.push(NONE);
        if parent == ROOT {
            self.root_children[class as usize] = child;
        }
        child
    }

    pub fn child(&self, parent: Node, class: Class) -> Option<Node> {
        if parent == ROOT {
            let child = self.root_children[class as usize];
            return (child != NONE).then_some(child);
        }
        self.children(parent).find(|&child| self.label[child as usize] == class)
    }

    pub fn children(&self, parent: Node) -> impl Iterator<Item = Node> + '_ {
        let some = |node: Node| (node != NONE).then_some(node);
        std::iter::successors(some(self.first_child[parent as usize]), move |&child| {
            some(self.next_sibling[child as usize])
        })
    }

    /// Aho and Corasick's failure links, breadth first.
    pub fn fallbacks(&self) -> Fallbacks {
        let mut fallback = vec![ROOT; self.node_count()];
        let mut order = Vec::with_capacity(self.node_count());
        order.push(ROOT);
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for child in self.children(node) {
                if node != ROOT {
                    fallback[child as usize] =
                        self.go(&fallback, fallback[node as usize], self.label[child as usize]);
                }
                order.push(child);
            }
        }
        Fallbacks { order, fallback }
    }

    /// Where a letter leads from a node whose fallbacks are known.
    pub fn go(&self, fallback: &[Node], mut node: Node, class: Class) -> Node {
        loop {
            match self.child(node, class) {
                Some(child) => return child,
                None if node == ROOT => return ROOT,
                None => node = fallback[node as usize],
            }
        }
    }
}
