//! The tree that html5ever builds of a page. The fuzz target for pages includes this file as well.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::interface::{Attribute, ElementFlags, NodeOrText, QualName, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// The nodes of a page, as a browser without scripts builds them. The first one is the page; nodes
/// without a parent are no longer in it.
pub fn parse(page: &str) -> Vec<Node> {
    let sink = Sink { nodes: RefCell::new(vec![Node::default()]) };
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
    let options = ParseOpts { tree_builder, ..Default::default() };
    parse_document(sink, options).one(page).nodes.into_inner()
}

/// A node of html5ever's tree.
#[derive(Default)]
pub struct Node {
    pub parent: Option<usize>,
    children: Vec<usize>,
    pub name: Option<QualName>,
    pub attributes: Vec<Attribute>,
    pub text: String,
    pub comment: String,
    is_integration_point: bool,
}

/// A tree for html5ever to build.
struct Sink {
    nodes: RefCell<Vec<Node>>,
}

impl Sink {
    fn add(&self, node: Node) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(node);
        nodes.len() - 1
    }

    fn detach(&self, node: usize) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(parent) = nodes[node].parent.take() {
            nodes[parent].children.retain(|&child| child != node);
        }
    }

    fn insert(&self, parent: usize, index: usize, child: NodeOrText<usize>) {
        let node = match child {
            NodeOrText::AppendNode(node) => {
                self.detach(node);
                node
            }
            NodeOrText::AppendText(text) => {
                self.add(Node { text: text.to_string(), ..Node::default() })
            }
        };
        let mut nodes = self.nodes.borrow_mut();
        nodes[node].parent = Some(parent);
        let index = index.min(nodes[parent].children.len());
        nodes[parent].children.insert(index, node);
    }
}

impl TreeSink for Sink {
    type Handle = usize;
    type Output = Self;
    type ElemName<'a> = QualNameOf;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> usize {
        0
    }

    fn elem_name<'a>(&'a self, node: &'a usize) -> QualNameOf {
        QualNameOf(self.nodes.borrow()[*node].name.clone().unwrap())
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> usize {
        let is_integration_point = flags.mathml_annotation_xml_integration_point;
        self.add(Node { name: Some(name), attributes, is_integration_point, ..Node::default() })
    }

    fn create_comment(&self, text: StrTendril) -> usize {
        self.add(Node { comment: text.to_string(), ..Node::default() })
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> usize {
        self.add(Node::default())
    }

    fn append(&self, parent: &usize, child: NodeOrText<usize>) {
        self.insert(*parent, usize::MAX, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &usize,
        previous: &usize,
        child: NodeOrText<usize>,
    ) {
        let has_parent = self.nodes.borrow()[*element].parent.is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    // The content of a template counts as inside of it.
    fn get_template_contents(&self, node: &usize) -> usize {
        *node
    }

    fn same_node(&self, one: &usize, other: &usize) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &usize, child: NodeOrText<usize>) {
        if let NodeOrText::AppendNode(node) = &child {
            self.detach(*node);
        }
        let (parent, index) = {
            let nodes = self.nodes.borrow();
            let parent = nodes[*sibling].parent.unwrap();
            (parent, nodes[parent].children.iter().position(|child| child == sibling).unwrap())
        };
        self.insert(parent, index, child);
    }

    fn add_attrs_if_missing(&self, node: &usize, attributes: Vec<Attribute>) {
        let old = &mut self.nodes.borrow_mut()[*node].attributes;
        for attribute in attributes {
            if !old.iter().any(|other| other.name == attribute.name) {
                old.push(attribute);
            }
        }
    }

    fn remove_from_parent(&self, node: &usize) {
        self.detach(*node);
    }

    fn reparent_children(&self, node: &usize, parent: &usize) {
        let children = self.nodes.borrow()[*node].children.clone();
        for child in children {
            self.detach(child);
            self.insert(*parent, usize::MAX, NodeOrText::AppendNode(child));
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, node: &usize) -> bool {
        self.nodes.borrow()[*node].is_integration_point
    }

    fn allow_declarative_shadow_roots(&self, _: &usize) -> bool {
        false
    }
}

/// A name that html5ever can ask for.
#[derive(Debug)]
struct QualNameOf(QualName);

impl html5ever::interface::ElemName for QualNameOf {
    fn ns(&self) -> &html5ever::Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &html5ever::LocalName {
        &self.0.local
    }
}
