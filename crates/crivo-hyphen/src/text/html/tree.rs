//! The elements and texts of a page, as nodes in one vector.

use std::ops::Range;

use super::names::Name;

/// The number of a node.
pub(super) type NodeId = u32;

/// No node.
const NONE: NodeId = u32::MAX;

/// The vocabulary of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Html,
    MathMl,
    Svg,
}

/// An element, as far as it matters for the text inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: Name,
    pub(super) space: Space,
    /// Whether its class says that the text inside must not be changed.
    pub(super) has_ignored_class: bool,
    /// What the attribute `translate` says.
    pub(super) translate: Option<bool>,
    /// Where the value of the attribute `lang` is.
    pub(super) language: Option<Range<usize>>,
    /// Whether HTML is allowed inside this element of SVG or MathML.
    pub(super) holds_html: bool,
}

#[derive(Debug)]
struct Node {
    parent: NodeId,
    first: NodeId,
    last: NodeId,
    before: NodeId,
    after: NodeId,
    /// `None` for text.
    element: Option<Element>,
}

/// All nodes. Node 0 is the page.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// Where a node is inserted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    LastIn(NodeId),
    Before(NodeId),
}

impl Tree {
    pub(super) const PAGE: NodeId = 0;

    pub(super) fn new() -> Self {
        let mut tree = Self { nodes: Vec::new() };
        tree.add(None);
        tree
    }

    /// A new node without a parent.
    pub(super) fn add(&mut self, element: Option<Element>) -> NodeId {
        let node =
            Node { parent: NONE, first: NONE, last: NONE, before: NONE, after: NONE, element };
        self.nodes.push(node);
        (self.nodes.len() - 1) as NodeId
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn element(&self, node: NodeId) -> Option<&Element> {
        self.node(node).element.as_ref()
    }

    pub(super) fn element_mut(&mut self, node: NodeId) -> Option<&mut Element> {
        self.nodes[node as usize].element.as_mut()
    }

    /// The name of an element of HTML.
    pub(super) fn html_name(&self, node: NodeId) -> Option<Name> {
        self.element(node).filter(|element| element.space == Space::Html).map(|found| found.name)
    }

    pub(super) fn parent(&self, node: NodeId) -> Option<NodeId> {
        Some(self.node(node).parent).filter(|&parent| parent != NONE)
    }

    /// Moves a node, with everything inside, to another place.
    pub(super) fn insert(&mut self, node: NodeId, place: Place) {
        self.detach(node);
        let (parent, before, after) = match place {
            Place::LastIn(parent) => (parent, self.node(parent).last, NONE),
            Place::Before(after) => (self.node(after).parent, self.node(after).before, after),
        };
        let new = &mut self.nodes[node as usize];
        (new.parent, new.before, new.after) = (parent, before, after);
        self.link(parent, before, node);
        self.link(parent, node, after);
    }

    pub(super) fn detach(&mut self, node: NodeId) {
        let &Node { parent, before, after, .. } = self.node(node);
        if parent != NONE {
            self.link(parent, before, after);
        }
        let old = &mut self.nodes[node as usize];
        (old.parent, old.before, old.after) = (NONE, NONE, NONE);
    }

    /// Moves all children of a node to the end of another.
    pub(super) fn move_children(&mut self, from: NodeId, to: NodeId) {
        while self.node(from).first != NONE {
            self.insert(self.node(from).first, Place::LastIn(to));
        }
    }

    /// Makes two children of a parent neighbours; no node stands for an end of the list.
    fn link(&mut self, parent: NodeId, one: NodeId, other: NodeId) {
        match one {
            NONE => self.nodes[parent as usize].first = other,
            one => self.nodes[one as usize].after = other,
        }
        match other {
            NONE => self.nodes[parent as usize].last = one,
            other => self.nodes[other as usize].before = one,
        }
    }

    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// Calls `visit` for every node of the page, parents first, with what `visit` returned for its
    /// parent.
    pub(super) fn visit<T: Clone>(
        &self,
        page: T,
        mut visit: impl FnMut(NodeId, &T, Option<&Element>) -> T,
    ) {
        let mut above = vec![page];
        let mut node = self.node(Self::PAGE).first;
        while node != NONE {
            let parent = &above[above.len() - 1];
            let here = visit(node, parent, self.element(node));
            if self.node(node).first != NONE {
                above.push(here);
                node = self.node(node).first;
                continue;
            }
            while self.node(node).after == NONE && self.node(node).parent != Self::PAGE {
                above.pop();
                node = self.node(node).parent;
            }
            node = self.node(node).after;
        }
    }
}
