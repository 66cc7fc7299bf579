//! The open elements, and the formatting elements that are opened again.

use super::names::Name;
use super::scan::{Attributes, Tag};
use super::tree::{Element, NodeId, Place, Space, Tree};

/// An entry of the list of formatting elements.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    /// Elements before it are not opened again after it.
    Marker,
    Element {
        node: NodeId,
        name: Name,
        digest: u64,
    },
}

/// Which elements end the search for an open element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Plain,
    Button,
    ListItem,
    Table,
}

/// What a copy of an element counts for in [`Stack::steps`].
const STEPS_PER_COPY: usize = 64;

/// The open elements of a page, and the tree that they are in.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) tree: Tree,
    /// The open elements, the innermost one last.
    pub(super) open: Vec<NodeId>,
    pub(super) formatting: Vec<Entry>,
    /// Whether content that is not allowed in a table is moved before it.
    pub(super) moves_out_of_tables: bool,
    /// How many elements of each name of HTML are open.
    counts: Vec<u32>,
    /// Elements that were looked at in searches: the work that a page has cost.
    pub(super) steps: usize,
}

impl Stack {
    pub(super) fn new() -> Self {
        Self {
            tree: Tree::new(),
            open: Vec::new(),
            formatting: Vec::new(),
            moves_out_of_tables: false,
            counts: Vec::new(),
            steps: 0,
        }
    }

    pub(super) fn current(&self) -> Option<NodeId> {
        self.open.last().copied()
    }

    /// The name of the innermost open element, if it is one of HTML.
    pub(super) fn current_name(&self) -> Option<Name> {
        self.tree.html_name(self.current()?)
    }

    pub(super) fn name_at(&self, index: usize) -> Option<Name> {
        self.tree.html_name(*self.open.get(index)?)
    }

    /// Whether an element of HTML of this name is open.
    pub(super) fn is_open(&self, name: Name) -> bool {
        self.counts.get(name.index()).is_some_and(|&count| count > 0)
    }

    /// The position of the innermost open element of HTML of this name.
    pub(super) fn position(&mut self, name: Name) -> Option<usize> {
        if !self.is_open(name) {
            return None;
        }
        let found = self.open.iter().rposition(|&node| self.tree.html_name(node) == Some(name));
        self.steps += self.open.len() - found.unwrap_or(0);
        found
    }

    pub(super) fn push(&mut self, node: NodeId) {
        self.insert_open(self.open.len(), node);
    }

    pub(super) fn insert_open(&mut self, index: usize, node: NodeId) {
        if let Some(name) = self.tree.html_name(node) {
            if name.index() >= self.counts.len() {
                self.counts.resize(name.index() + 1, 0);
            }
            self.counts[name.index()] += 1;
        }
        self.steps += self.open.len() - index;
        self.open.insert(index, node);
    }

    pub(super) fn pop(&mut self) -> Option<NodeId> {
        let index = self.open.len().checked_sub(1)?;
        Some(self.remove_open(index))
    }

    pub(super) fn remove_open(&mut self, index: usize) -> NodeId {
        self.steps += self.open.len() - index;
        let node = self.open.remove(index);
        if let Some(name) = self.tree.html_name(node) {
            self.counts[name.index()] -= 1;
        }
        node
    }

    /// Closes elements until `length` are open.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.open.len() > length {
            self.pop();
        }
    }

    /// Closes elements up to and including the innermost one of these names.
    pub(super) fn pop_until(&mut self, wanted: impl Fn(Name) -> bool) {
        while let Some(node) = self.pop() {
            if self.tree.html_name(node).is_some_and(&wanted) {
                break;
            }
        }
    }

    /// Closes elements until the innermost one has one of these names.
    pub(super) fn pop_to(&mut self, wanted: impl Fn(Name) -> bool) {
        while !self.open.is_empty() && !self.current_name().is_some_and(&wanted) {
            self.pop();
        }
    }

    /// Whether an element of one of these names is open within the scope.
    pub(super) fn in_scope(&mut self, scope: Scope, wanted: impl Fn(Name) -> bool) -> bool {
        for &node in self.open.iter().rev() {
            self.steps += 1;
            let Some(element) = self.tree.element(node) else { return false };
            if element.space == Space::Html && wanted(element.name) {
                return true;
            }
            if ends_scope(element, scope) {
                return false;
            }
        }
        false
    }

    /// [`in_scope`](Self::in_scope) for one name.
    pub(super) fn has(&mut self, scope: Scope, name: Name) -> bool {
        self.is_open(name) && self.in_scope(scope, |other| other == name)
    }

    /// Closes elements whose end tags may be omitted, except those of one name.
    pub(super) fn close_implied(&mut self, except: Option<Name>) {
        while self.current_name().is_some_and(|name| name.has_implied_end() && Some(name) != except)
        {
            self.pop();
        }
    }

    /// The same, including the parts of tables.
    pub(super) fn close_all_implied(&mut self) {
        let ends =
            |name: Name| name.has_implied_end() || (name.is_table_part() && name != Name::COL);
        while self.current_name().is_some_and(ends) {
            self.pop();
        }
    }

    /// Closes a paragraph, if one is open in this block.
    pub(super) fn close_paragraph(&mut self) {
        if self.has(Scope::Button, Name::P) {
            self.close_implied(Some(Name::P));
            self.pop_until(|name| name == Name::P);
        }
    }

    /// Opens an element of HTML.
    pub(super) fn open_element(&mut self, tag: &Tag) -> NodeId {
        self.open_in(Space::Html, tag)
    }

    /// Opens an element that the page left out.
    pub(super) fn open_implied(&mut self, name: Name) -> NodeId {
        let attributes = Attributes::default();
        self.open_element(&Tag { name, closing: false, self_closing: false, attributes })
    }

    pub(super) fn open_in(&mut self, space: Space, tag: &Tag) -> NodeId {
        let node = self.tree.add(Some(element(space, tag)));
        let place = self.place(None);
        self.tree.insert(node, place);
        self.push(node);
        node
    }

    /// Adds text at the current place.
    pub(super) fn add_text(&mut self) -> NodeId {
        let node = self.tree.add(None);
        let place = self.place(None);
        self.tree.insert(node, place);
        node
    }

    /// Where new content belongs: at the end of the current element, or before a table that does not
    /// allow it.
    pub(super) fn place(&mut self, target: Option<NodeId>) -> Place {
        let Some(target) = target.or(self.current()) else { return Place::LastIn(Tree::PAGE) };
        let is_table = self
            .tree
            .html_name(target)
            .is_some_and(|name| matches!(name, Name::TABLE | Name::TR) || name.is_row_group());
        if !(self.moves_out_of_tables && is_table) {
            return Place::LastIn(target);
        }
        let template = self.position(Name::TEMPLATE);
        let table = self.position(Name::TABLE);
        match (template, table) {
            (Some(template), table) if table.is_none_or(|table| template > table) => {
                Place::LastIn(self.open[template])
            }
            (_, None) => Place::LastIn(self.open[0]),
            (_, Some(table)) => match self.tree.parent(self.open[table]) {
                Some(_) => Place::Before(self.open[table]),
                None => Place::LastIn(self.open[table.saturating_sub(1)]),
            },
        }
    }

    /// Opens formatting elements again that were closed together with their block.
    pub(super) fn reopen_formatting(&mut self) {
        let is_done = |stack: &mut Self, entry: Entry| match entry {
            Entry::Marker => true,
            Entry::Element { node, .. } => stack.is_node_open(node),
        };
        let mut first = self.formatting.len();
        while first > 0 && !is_done(self, self.formatting[first - 1]) {
            first -= 1;
        }
        for index in first..self.formatting.len() {
            let Entry::Element { node, name, digest } = self.formatting[index] else { continue };
            // A copy takes memory, so that it counts for more than a look.
            self.steps += STEPS_PER_COPY;
            let copy = self.tree.add(self.tree.element(node).cloned());
            let place = self.place(None);
            self.tree.insert(copy, place);
            self.push(copy);
            self.formatting[index] = Entry::Element { node: copy, name, digest };
        }
    }

    pub(super) fn is_node_open(&mut self, node: NodeId) -> bool {
        self.open_position(node).is_some()
    }

    fn open_position(&mut self, node: NodeId) -> Option<usize> {
        if self.tree.html_name(node).is_some_and(|name| !self.is_open(name)) {
            return None;
        }
        let found = self.open.iter().rposition(|&other| other == node);
        self.steps += self.open.len() - found.unwrap_or(0);
        found
    }

    /// Opens a formatting element and remembers it. Of equal ones at most three are remembered.
    pub(super) fn open_formatting(&mut self, tag: &Tag) {
        let node = self.open_element(tag);
        let (name, digest) = (tag.name, tag.attributes.digest);
        let mut equal = Vec::new();
        for (index, entry) in self.formatting.iter().enumerate().rev() {
            self.steps += 1;
            match *entry {
                Entry::Marker => break,
                Entry::Element { name: other, digest: theirs, .. } => {
                    if other == name && theirs == digest {
                        equal.push(index);
                    }
                }
            }
        }
        if let Some(&earliest) = equal.get(2) {
            self.formatting.remove(earliest);
        }
        self.formatting.push(Entry::Element { node, name, digest });
    }

    /// Forgets the formatting elements after the last marker.
    pub(super) fn clear_formatting(&mut self) {
        while let Some(Entry::Element { .. }) = self.formatting.pop() {}
    }

    /// The last formatting element of this name after the last marker: its index in the list.
    pub(super) fn formatting_named(&mut self, wanted: Name) -> Option<(usize, NodeId)> {
        for (index, entry) in self.formatting.iter().enumerate().rev() {
            self.steps += 1;
            match *entry {
                Entry::Marker => return None,
                Entry::Element { node, name, .. } if name == wanted => return Some((index, node)),
                Entry::Element { .. } => {}
            }
        }
        None
    }

    fn formatting_index(&mut self, wanted: NodeId) -> Option<usize> {
        self.steps += self.formatting.len();
        self.formatting
            .iter()
            .rposition(|entry| matches!(entry, Entry::Element { node, .. } if *node == wanted))
    }

    pub(super) fn forget_formatting(&mut self, node: NodeId) {
        if let Some(index) = self.formatting_index(node) {
            self.formatting.remove(index);
        }
    }

    /// The end tag of a formatting element, which need not be the innermost one: elements that are
    /// open inside of it are divided (the standard's adoption agency). Returns whether it was handled.
    pub(super) fn close_formatting(&mut self, name: Name) -> bool {
        if let Some(current) = self.current()
            && self.tree.html_name(current) == Some(name)
            && self.formatting_index(current).is_none()
        {
            self.pop();
            return true;
        }
        for _ in 0..8 {
            let Some((_, formatting)) = self.formatting_named(name) else { return false };
            let Some(at) = self.open_position(formatting) else {
                self.forget_formatting(formatting);
                return true;
            };
            if !self.is_in_plain_scope(at) {
                return true;
            }
            self.steps += self.open.len() - at;
            let block = (at + 1..self.open.len())
                .find(|&index| self.tree.element(self.open[index]).is_some_and(is_special));
            let Some(block) = block else {
                self.truncate(at);
                self.forget_formatting(formatting);
                return true;
            };
            self.divide(formatting, at, block);
        }
        true
    }

    /// Whether no element above `index` ends the plain scope.
    pub(super) fn is_in_plain_scope(&mut self, index: usize) -> bool {
        self.steps += self.open.len() - index;
        let above = self.open[index + 1..].iter();
        !above
            .filter_map(|&node| self.tree.element(node))
            .any(|element| ends_scope(element, Scope::Plain))
    }

    /// Divides the formatting element at `at` of the open elements, around the block at `block`.
    fn divide(&mut self, formatting: NodeId, at: usize, block: usize) {
        let furthest = self.open[block];
        let Some(mut bookmark) = self.formatting_index(formatting) else { return };
        let ancestor = self.open[at.saturating_sub(1)];
        let mut last = furthest;
        let mut index = block;
        let mut count = 0;
        while index > at + 1 {
            index -= 1;
            count += 1;
            let node = self.open[index];
            let mut entry = self.formatting_index(node);
            if let (true, Some(found)) = (count > 3, entry) {
                self.formatting.remove(found);
                bookmark -= usize::from(found < bookmark);
                entry = None;
            }
            let Some(entry) = entry else {
                self.remove_open(index);
                continue;
            };
            let copy = self.tree.add(self.tree.element(node).cloned());
            if let Entry::Element { node, .. } = &mut self.formatting[entry] {
                *node = copy;
            }
            self.open[index] = copy;
            if last == furthest {
                bookmark = entry + 1;
            }
            self.tree.insert(last, Place::LastIn(copy));
            last = copy;
        }
        let place = self.place(Some(ancestor));
        self.tree.insert(last, place);
        let copy = self.tree.add(self.tree.element(formatting).cloned());
        self.tree.move_children(furthest, copy);
        self.tree.insert(copy, Place::LastIn(furthest));
        if let Some(old) = self.formatting_index(formatting) {
            let mut entry = self.formatting.remove(old);
            if let Entry::Element { node, .. } = &mut entry {
                *node = copy;
            }
            bookmark -= usize::from(old < bookmark);
            self.formatting.insert(bookmark.min(self.formatting.len()), entry);
        }
        if let Some(old) = self.open_position(formatting) {
            self.remove_open(old);
        }
        if let Some(block) = self.open_position(furthest) {
            self.insert_open(block + 1, copy);
        }
    }

    /// The end tag of any other element: closes the innermost element of this name, unless a special
    /// element is open inside of it.
    pub(super) fn close_any(&mut self, name: Name) {
        if !self.is_open(name) {
            return;
        }
        for index in (0..self.open.len()).rev() {
            self.steps += 1;
            let node = self.open[index];
            if self.tree.html_name(node) == Some(name) {
                self.close_implied(Some(name));
                self.truncate(index);
                return;
            }
            if self.tree.element(node).is_some_and(is_special) {
                return;
            }
        }
    }
}

/// The element of a start tag.
pub(super) fn element(space: Space, tag: &Tag) -> Element {
    let Attributes { language, xml_language, class, translate, .. } = &tag.attributes;
    let holds_html = match space {
        Space::Html => false,
        Space::MathMl => tag.name == Name::ANNOTATION_XML && tag.attributes.is_html,
        Space::Svg => matches!(tag.name, Name::FOREIGNOBJECT | Name::DESC | Name::TITLE),
    };
    Element {
        name: tag.name,
        space,
        has_ignored_class: *class == Some(true),
        translate: translate.flatten(),
        language: language.clone().or_else(|| xml_language.clone()),
        holds_html,
    }
}

pub(super) fn is_special(element: &Element) -> bool {
    match element.space {
        Space::Html => element.name.is_special(),
        Space::MathMl => is_math_text(element) || element.name == Name::ANNOTATION_XML,
        Space::Svg => element.holds_html,
    }
}

/// Whether text in this element of MathML may be HTML.
pub(super) fn is_math_text(element: &Element) -> bool {
    element.space == Space::MathMl
        && matches!(element.name, Name::MI | Name::MN | Name::MO | Name::MS | Name::MTEXT)
}

fn ends_scope(element: &Element, scope: Scope) -> bool {
    let name = element.name;
    if scope == Scope::Table {
        return element.space == Space::Html
            && matches!(name, Name::HTML | Name::TABLE | Name::TEMPLATE);
    }
    if element.space != Space::Html {
        return is_special(element);
    }
    matches!(
        name,
        Name::APPLET
            | Name::CAPTION
            | Name::HTML
            | Name::MARQUEE
            | Name::OBJECT
            | Name::SELECT
            | Name::TABLE
            | Name::TD
            | Name::TEMPLATE
            | Name::TH
    ) || (scope == Scope::Button && name == Name::BUTTON)
        || (scope == Scope::ListItem && matches!(name, Name::OL | Name::UL))
}
