//! One node of the tree: bytes in, bytes out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::RouteError;
use super::design::{Design, NumberSet, View};
use super::message::{Answer, Direction, MAX_NAME_LENGTH, Message, NodeId, Request, Whole};
use super::numbers::SortedNumbers;
use super::wire::MessageError;
use crivo::ParameterError;

/// What the caller has to do for a node.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Node, NodeAction, NodeId};
///
/// // It has what it asks for.
/// let mut node = Node::new(NodeId(0), Design::sized(0.01, KeyHasher::default())?);
/// node.add(b"a song")?;
/// let actions = node.request(b"a song")?;
/// assert!(actions.iter().any(|action| matches!(action, NodeAction::Finished(_))));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeAction {
    /// Bytes for a neighbour.
    Send {
        /// Which neighbour.
        to: NodeId,
        /// A [`Message`].
        bytes: Vec<u8>,
    },
    /// A request has arrived where its resource is.
    Deliver {
        /// The name of the resource.
        resource: Vec<u8>,
        /// The node that requested it.
        origin: NodeId,
    },
    /// A request of this node has finished.
    Finished(RequestOutcome),
    /// The node has left the tree, and can be dropped.
    Left,
}

/// The result of a request.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Node, NodeAction, NodeId};
///
/// let node = Node::new(NodeId(0), Design::sized(0.01, KeyHasher::default())?);
/// let actions = node.request(b"a song")?;
/// let [NodeAction::Finished(outcome)] = &actions[..] else { panic!("nobody else is there") };
/// assert_eq!((outcome.holder, outcome.hops), (None, 0));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestOutcome {
    /// The name of the resource.
    pub resource: Vec<u8>,
    /// The node that has it; `None` if no node in the tree does.
    pub holder: Option<NodeId>,
    /// The hops of the request, wrong turns included.
    pub hops: u64,
    /// How often it went down into a subtree without the resource.
    pub false_forwards: u64,
}

/// A node of a tree in which requests find their way by filters. See [the module](super).
///
/// It knows its parent, its children, and the summaries that they sent. Two nodes, by hand:
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Node, NodeAction, NodeId};
///
/// let design = Design::sized(0.01, KeyHasher::default())?;
/// let (mut root, mut leaf) = (Node::new(NodeId(0), design), Node::new(NodeId(1), design));
/// leaf.add(b"a song")?;
/// for action in leaf.attach(NodeId(0)) {
///     let NodeAction::Send { bytes, .. } = action else { continue };
///     root.receive(NodeId(1), &bytes)?; // a summary of all that the leaf has
/// }
/// let asked = root.request(b"a song")?;
/// let NodeAction::Send { to, bytes } = &asked[0] else { panic!("the filter accepts it") };
/// assert_eq!(*to, NodeId(1));
/// let found = leaf.receive(NodeId(0), bytes)?;
/// assert!(matches!(&found[0], NodeAction::Deliver { origin: NodeId(0), .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Node {
    id: NodeId,
    design: Design,
    parent: Option<NodeId>,
    resources: BTreeSet<Vec<u8>>,
    /// The numbers of the node's own resources, and how many of them have each.
    own: BTreeMap<u64, u32>,
    children: BTreeMap<NodeId, View>,
    /// The numbers of the whole subtree, as the parent was told.
    told: NumberSet,
    sequence: u64,
    leaving: bool,
}

/// Construction and contents.
impl Node {
    /// A node on its own: the root of a tree of one.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let node = Node::new(NodeId(7), Design::sized(0.01, KeyHasher::default())?);
    /// assert_eq!((node.id(), node.parent()), (NodeId(7), None));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn new(id: NodeId, design: Design) -> Self {
        Self {
            id,
            design,
            parent: None,
            resources: BTreeSet::new(),
            own: BTreeMap::new(),
            children: BTreeMap::new(),
            told: NumberSet::empty(&design),
            sequence: 0,
            leaving: false,
        }
    }

    /// The number of this node.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let design = Design::sized(0.01, KeyHasher::default())?;
    /// assert_eq!(Node::new(NodeId(7), design).id(), NodeId(7));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The parent; `None` for the root.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// leaf.attach(NodeId(0));
    /// assert_eq!(leaf.parent(), Some(NodeId(0)));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn parent(&self) -> Option<NodeId> {
        self.parent
    }

    /// The children, in order.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join(tree.root())?;
    /// assert!(tree.node(tree.root()).is_some_and(|root| root.children().eq([leaf])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn children(&self) -> impl Iterator<Item = NodeId> {
        self.children.keys().copied()
    }

    /// The names of the node's own resources, in order.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut node = Node::new(NodeId(0), Design::sized(0.01, KeyHasher::default())?);
    /// node.add(b"a song")?;
    /// node.add(b"a film")?;
    /// assert!(node.resources().eq([b"a film", b"a song"]));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn resources(&self) -> impl Iterator<Item = &[u8]> {
        self.resources.iter().map(Vec::as_slice)
    }

    /// Whether the node itself has the resource. This is exact.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut node = Node::new(NodeId(0), Design::sized(0.01, KeyHasher::default())?);
    /// node.add(b"a song")?;
    /// assert!(node.has(b"a song") && !node.has(b"a film"));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn has(&self, resource: &[u8]) -> bool {
        self.resources.contains(resource)
    }

    /// Whether the subtree of `child` may have the resource. `false` is certain; for a node that
    /// is not a child it is `false`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join_with(tree.root(), [&b"a song"[..]])?;
    /// let root = tree.node(tree.root()).expect("every tree has one");
    /// assert!(root.accepts(leaf, b"a song"));
    /// assert!(!root.accepts(leaf, b"a film"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accepts(&self, child: NodeId, resource: &[u8]) -> bool {
        let numbers = self.numbers_of(resource);
        self.children.get(&child).is_some_and(|view| view.accepts(&numbers))
    }

    /// The false-positive rate of the filter of `child`, by its size and contents; `None` for a node
    /// that is not a child.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join_with(tree.root(), [&b"a song"[..]])?;
    /// let root = tree.node(tree.root()).expect("every tree has one");
    /// assert!(root.expected_fpr(leaf).is_some_and(|fpr| fpr <= 0.01));
    /// assert_eq!(root.expected_fpr(tree.root()), None); // no child of itself
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expected_fpr(&self, child: NodeId) -> Option<f64> {
        self.children.get(&child).map(|view| view.expected_fpr(&self.design))
    }

    /// All resources of this node's subtree, in the form that a new parent receives.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut node = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// node.add(b"a song")?;
    /// let digest = KeyHasher::default().digest(b"a song").get();
    /// assert!(node.summary().numbers.iter().eq([digest]));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn summary(&self) -> Whole {
        let (complement, numbers) = self.told.sparser();
        let design = self.design.fingerprint();
        Whole { sequence: self.sequence, design, complement, numbers }
    }

    /// The bits of the filters that requests query.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// // A shared filter has its full size, however little is below.
    /// let mut tree = Network::new(Design::shared(1_000, 0.01, KeyHasher::default())?);
    /// tree.join(tree.root())?;
    /// assert_eq!(tree.node(tree.root()).map(|root| root.filter_bits()), Some(9_600));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter_bits(&self) -> u64 {
        self.children.values().map(|view| view.size_in_bits().0).sum()
    }

    /// The bits that filters are rebuilt from: digests, which may be kept in slow storage.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// // Filters that are sized by subtree are rebuilt from digests.
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// tree.join_with(tree.root(), [&b"a song"[..]])?;
    /// assert!(tree.node(tree.root()).is_some_and(|root| root.storage_bits() >= 64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn storage_bits(&self) -> u64 {
        self.children.values().map(|view| view.size_in_bits().1).sum()
    }

    fn numbers_of(&self, resource: &[u8]) -> Vec<u64> {
        self.design.numbers_of(self.design.hasher().digest(resource))
    }
}

/// Changes that start at this node.
impl Node {
    /// Adds a resource. Nothing changes if it is there already.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// leaf.attach(NodeId(0));
    /// assert_eq!(leaf.add(b"a song")?.len(), 1); // a message for the parent
    /// assert_eq!(leaf.add(b"a song")?.len(), 0); // nothing changed
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the name is longer than [`MAX_NAME_LENGTH`].
    pub fn add(&mut self, resource: &[u8]) -> Result<Vec<NodeAction>, ParameterError> {
        check_name(resource)?;
        if !self.resources.insert(resource.to_vec()) {
            return Ok(Vec::new());
        }
        let numbers = self.numbers_of(resource);
        for &number in &numbers {
            *self.own.entry(number).or_insert(0) += 1;
        }
        Ok(self.tell_changes(&self.changed_of(&numbers)))
    }

    /// Removes a resource. Nothing changes if it is not there.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// leaf.attach(NodeId(0));
    /// leaf.add(b"a song")?;
    /// assert_eq!(leaf.remove(b"a song").len(), 1); // a message for the parent
    /// assert_eq!(leaf.remove(b"a song").len(), 0); // nothing changed
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn remove(&mut self, resource: &[u8]) -> Vec<NodeAction> {
        if !self.resources.remove(resource) {
            return Vec::new();
        }
        let numbers = self.numbers_of(resource);
        for &number in &numbers {
            if let Some(count) = self.own.get_mut(&number) {
                *count -= 1;
                if *count == 0 {
                    self.own.remove(&number);
                }
            }
        }
        self.tell_changes(&self.changed_of(&numbers))
    }

    /// Makes `parent` the parent: the node joins a tree with all of its own subtree, or moves to
    /// another place of its tree.
    ///
    /// The parent must not be a node of this node's own subtree, which the node cannot check: a
    /// tree has no cycles.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeAction, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// let actions = leaf.attach(NodeId(0));
    /// assert!(matches!(&actions[..], [NodeAction::Send { to: NodeId(0), .. }])); // its summary
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn attach(&mut self, parent: NodeId) -> Vec<NodeAction> {
        let old = self.parent.replace(parent);
        // First the new parent learns of it, then the old one: no resource is hidden in between.
        let mut actions = vec![self.tell_all(parent)];
        actions.extend(old.filter(|&old| old != parent).map(|old| send(old, &Message::Leave)));
        actions
    }

    /// Begins to leave. The node's children move to its parent; when they have gone, the node goes
    /// itself and returns [`NodeAction::Left`]. Until then it serves requests as before.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeAction, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// assert!(leaf.leave().is_err()); // it is the root of its own tree
    /// leaf.attach(NodeId(0));
    /// assert_eq!(leaf.leave()?.last(), Some(&NodeAction::Left));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the node is the root: a tree has one.
    pub fn leave(&mut self) -> Result<Vec<NodeAction>, RouteError> {
        let parent = self.parent.ok_or(RouteError::RootCannotLeave)?;
        self.leaving = true;
        if self.children.is_empty() {
            return Ok(vec![send(parent, &Message::Leave), NodeAction::Left]);
        }
        Ok(self.children.keys().map(|&child| send(child, &Message::Reattach(parent))).collect())
    }

    /// Requests a resource. The result comes as [`NodeAction::Finished`], from here or from a later
    /// [`receive`](Self::receive).
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeAction, NodeId};
    ///
    /// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
    /// leaf.attach(NodeId(0));
    /// let actions = leaf.request(b"a song")?;
    /// assert!(matches!(&actions[..], [NodeAction::Send { to: NodeId(0), .. }])); // up
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the name is longer than [`MAX_NAME_LENGTH`].
    pub fn request(&self, resource: &[u8]) -> Result<Vec<NodeAction>, ParameterError> {
        check_name(resource)?;
        Ok(self.search(
            Request {
                direction: Direction::Up,
                hops: 0,
                false_forwards: 0,
                climbed: 0,
                path: Vec::new(),
                resource: resource.to_vec(),
            },
            Search { tried: None, entered_from: None },
        ))
    }
}

/// Messages from neighbours.
impl Node {
    /// Processes a message of the neighbour `from`, and returns what to do.
    ///
    /// Meanwhile it takes at most 6 times the memory of a shared filter, or, for a summary by digests, 40
    /// times the message.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Node, NodeAction, NodeId, RouteError};
    ///
    /// let design = Design::sized(0.01, KeyHasher::default())?;
    /// let (mut root, mut leaf) = (Node::new(NodeId(0), design), Node::new(NodeId(1), design));
    /// for action in leaf.attach(NodeId(0)) {
    ///     let NodeAction::Send { bytes, .. } = action else { continue };
    ///     root.receive(NodeId(1), &bytes)?;
    /// }
    /// assert!(root.children().eq([NodeId(1)]));
    /// assert!(matches!(root.receive(NodeId(1), b"noise"), Err(RouteError::Message(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a message, or not one that this neighbour may send. Nothing has changed.
    pub fn receive(&mut self, from: NodeId, bytes: &[u8]) -> Result<Vec<NodeAction>, RouteError> {
        match Message::from_bytes(bytes)? {
            Message::Whole(whole) => self.receive_whole(from, &whole),
            Message::Change { sequence, flipped } => self.receive_change(from, sequence, &flipped),
            Message::WholeWanted => {
                self.expect_parent(from)?;
                Ok(vec![self.tell_all(from)])
            }
            Message::Leave => self.receive_leave(from),
            Message::Reattach(parent) => {
                self.expect_parent(from)?;
                if parent == self.id || self.children.contains_key(&parent) {
                    return Err(inconsistent("a node's parent cannot lie below it"));
                }
                Ok(self.attach(parent))
            }
            Message::Request(request) => self.receive_request(from, request),
            Message::Answer(answer) => {
                if !self.is_neighbour(from) {
                    return Err(RouteError::NotANeighbour(from));
                }
                match answer.path.last() {
                    Some(&next) if !self.is_neighbour(next) => Err(RouteError::NotANeighbour(next)),
                    _ => Ok(vec![self.pass_back(answer)]),
                }
            }
        }
    }

    fn is_neighbour(&self, node: NodeId) -> bool {
        self.parent == Some(node) || self.children.contains_key(&node)
    }

    fn receive_whole(
        &mut self,
        from: NodeId,
        whole: &Whole,
    ) -> Result<Vec<NodeAction>, RouteError> {
        if whole.design != self.design.fingerprint() {
            return Err(RouteError::OtherDesign(from));
        }
        if Some(from) == self.parent || from == self.id {
            return Err(RouteError::NotAChild(from));
        }
        let mut numbers = NumberSet::empty(&self.design);
        check_numbers(&whole.numbers, &numbers)?;
        if whole.complement {
            if let NumberSet::Digests(_) = numbers {
                return Err(inconsistent("digests are not sent by their complement"));
            }
            (0..=numbers.greatest()).for_each(|number| numbers.flip(number));
        }
        whole.numbers.iter().for_each(|number| numbers.flip(number));
        let view = View::new(from, &self.design, numbers, whole.sequence);
        let old = self.children.insert(from, view);
        let new = &self.children[&from].numbers;
        let changed = match old {
            Some(View { numbers: old, .. }) => {
                self.changed(new.count() + old.count(), union(new.iter(), old.iter()))
            }
            None => self.changed(new.count(), new.iter()),
        };
        let mut actions = self.tell_changes(&changed);
        // A node that joins one that is leaving is sent on.
        if let (true, Some(parent)) = (self.leaving, self.parent) {
            actions.push(send(from, &Message::Reattach(parent)));
        }
        Ok(actions)
    }

    fn receive_change(
        &mut self,
        from: NodeId,
        sequence: u64,
        flipped: &SortedNumbers,
    ) -> Result<Vec<NodeAction>, RouteError> {
        let view = self.children.get_mut(&from).ok_or(RouteError::NotAChild(from))?;
        check_numbers(flipped, &view.numbers)?;
        if !view.complete {
            return Ok(Vec::new());
        }
        if sequence != view.next_sequence {
            view.complete = false;
            return Ok(vec![send(from, &Message::WholeWanted)]);
        }
        view.next_sequence = sequence.wrapping_add(1);
        view.apply(flipped);
        let changed = self.changed(flipped.len() as u64, flipped.iter());
        Ok(self.tell_changes(&changed))
    }

    fn receive_leave(&mut self, from: NodeId) -> Result<Vec<NodeAction>, RouteError> {
        let view = self.children.remove(&from).ok_or(RouteError::NotAChild(from))?;
        if let (true, true, Some(parent)) = (self.leaving, self.children.is_empty(), self.parent) {
            return Ok(vec![send(parent, &Message::Leave), NodeAction::Left]);
        }
        let changed = self.changed(view.numbers.count(), view.numbers.iter());
        Ok(self.tell_changes(&changed))
    }

    fn receive_request(
        &self,
        from: NodeId,
        mut request: Request,
    ) -> Result<Vec<NodeAction>, RouteError> {
        let search = match request.direction {
            Direction::Down => {
                self.expect_parent(from)?;
                Search { tried: None, entered_from: None }
            }
            Direction::Up => {
                self.expect_child(from)?;
                if request.climbed != request.path.len() as u64 {
                    return Err(inconsistent("a request that goes up has never gone down"));
                }
                Search { tried: None, entered_from: Some(from) }
            }
            Direction::Back => {
                self.expect_child(from)?;
                if request.path.pop() != Some(self.id) {
                    return Err(inconsistent("a request came back to where it was not"));
                }
                let here = request.path.len() as u64;
                let entered_from = request.path.last().copied().filter(|_| here == request.climbed);
                Search { tried: Some(from), entered_from }
            }
        };
        let expected = match request.direction {
            Direction::Back => Some(from),
            _ => request.path.last().copied(),
        };
        if expected != Some(from) || request.climbed > request.path.len() as u64 {
            return Err(inconsistent("the path of the request is not that of its messages"));
        }
        Ok(self.search(request, search))
    }

    fn expect_parent(&self, from: NodeId) -> Result<(), RouteError> {
        if self.parent == Some(from) { Ok(()) } else { Err(RouteError::NotTheParent(from)) }
    }

    fn expect_child(&self, from: NodeId) -> Result<(), RouteError> {
        if self.children.contains_key(&from) { Ok(()) } else { Err(RouteError::NotAChild(from)) }
    }
}

/// Which children of a node need not be tried.
struct Search {
    /// The last one that was tried; those before it were tried or rejected.
    tried: Option<NodeId>,
    /// The one that the request climbed from.
    entered_from: Option<NodeId>,
}

/// Where requests and answers go.
impl Node {
    /// One step of the search:
    ///
    /// ```text
    ///   have it?                        deliver, and answer
    ///   a child accepts, untried?       down
    ///   came from above?                back
    ///   is there a parent?              up
    ///   otherwise                       no node has it: answer
    /// ```
    fn search(&self, mut request: Request, search: Search) -> Vec<NodeAction> {
        if search.tried.is_none() && self.has(&request.resource) {
            let origin = request.path.first().copied().unwrap_or(self.id);
            let deliver = NodeAction::Deliver { resource: request.resource.clone(), origin };
            return vec![deliver, self.answer(request, Some(self.id))];
        }
        let numbers = self.numbers_of(&request.resource);
        let after = search.tried.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self
            .children
            .range((after, Bound::Unbounded))
            .filter(|&(&child, _)| Some(child) != search.entered_from)
            .find(|(_, view)| view.accepts(&numbers));
        let at_apex = request.path.len() as u64 == request.climbed;
        let (to, direction) = match (next, self.parent) {
            (Some((&child, _)), _) => (child, Direction::Down),
            (None, Some(parent)) if at_apex => (parent, Direction::Up),
            (None, Some(parent)) => (parent, Direction::Back),
            (None, None) => return vec![self.answer(request, None)],
        };
        match direction {
            Direction::Down => request.path.push(self.id),
            Direction::Up => {
                request.path.push(self.id);
                request.climbed += 1;
            }
            Direction::Back => {
                request.false_forwards = request.false_forwards.saturating_add(1);
            }
        }
        request.direction = direction;
        request.hops = request.hops.saturating_add(1);
        vec![send(to, &Message::Request(request))]
    }

    fn answer(&self, request: Request, holder: Option<NodeId>) -> NodeAction {
        let Request { hops, false_forwards, path, resource, .. } = request;
        self.pass_back(Answer { holder, hops, false_forwards, path, resource })
    }

    /// One step of an answer: to the last node of its path, or to the caller at the origin.
    fn pass_back(&self, mut answer: Answer) -> NodeAction {
        match answer.path.pop() {
            Some(to) => send(to, &Message::Answer(answer)),
            None => {
                let Answer { holder, hops, false_forwards, resource, .. } = answer;
                NodeAction::Finished(RequestOutcome { resource, holder, hops, false_forwards })
            }
        }
    }
}

/// Summaries for the parent.
impl Node {
    /// Those of the concerned numbers, all that may have changed and at most `count`, that did so for
    /// the subtree. A list, and not a vector: of a shared filter it may be every position.
    fn changed(&self, count: u64, concerned: impl Iterator<Item = u64>) -> SortedNumbers {
        let differs = |&number: &u64| self.subtree_has(number) != self.told.has(number);
        self.told.list(count, concerned.filter(differs))
    }

    fn changed_of(&self, numbers: &[u64]) -> SortedNumbers {
        self.changed(numbers.len() as u64, numbers.iter().copied())
    }

    /// Reports to the parent which numbers have changed for the subtree. A change that makes no
    /// difference to the subtree goes no further.
    fn tell_changes(&mut self, changed: &SortedNumbers) -> Vec<NodeAction> {
        if changed.is_empty() {
            return Vec::new();
        }
        for number in changed {
            self.told.flip(number);
        }
        let Some(parent) = self.parent else { return Vec::new() };
        self.sequence = self.sequence.wrapping_add(1);
        let flipped = SortedNumbers::from_sorted(changed.iter());
        vec![send(parent, &Message::Change { sequence: self.sequence, flipped })]
    }

    fn subtree_has(&self, number: u64) -> bool {
        self.own.contains_key(&number)
            || self.children.values().any(|view| view.numbers.has(number))
    }

    fn tell_all(&mut self, parent: NodeId) -> NodeAction {
        self.sequence = self.sequence.wrapping_add(1);
        send(parent, &Message::Whole(self.summary()))
    }
}

fn send(to: NodeId, message: &Message) -> NodeAction {
    NodeAction::Send { to, bytes: message.to_bytes() }
}

fn check_name(resource: &[u8]) -> Result<(), ParameterError> {
    if resource.len() <= MAX_NAME_LENGTH {
        return Ok(());
    }
    Err(ParameterError::new("length of the resource's name", resource.len(), "at most 65536 bytes"))
}

fn check_numbers(numbers: &SortedNumbers, set: &NumberSet) -> Result<(), RouteError> {
    match set {
        NumberSet::Bits { .. } if numbers.last().is_some_and(|last| last > set.greatest()) => {
            Err(inconsistent("a position lies outside of the filter"))
        }
        // Digests are spread over 64 bits. A list of neighbours, a bit each, would be a small message
        // about a large set; that a digest takes less than 16 bits has a chance of 2^−48.
        NumberSet::Digests(_) if numbers.size_in_bytes() < 2 * numbers.len() => {
            Err(inconsistent("the digests lie too close together"))
        }
        _ => Ok(()),
    }
}

/// The numbers of two sequences in ascending order, in ascending order, each once.
fn union(
    one: impl Iterator<Item = u64>,
    other: impl Iterator<Item = u64>,
) -> impl Iterator<Item = u64> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || {
        let next = match (one.peek(), other.peek()) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&number), None) | (None, Some(&number)) => number,
            (None, None) => return None,
        };
        one.next_if_eq(&next);
        other.next_if_eq(&next);
        Some(next)
    })
}

fn inconsistent(what: &'static str) -> RouteError {
    RouteError::Message(MessageError::Inconsistent(what))
}

#[cfg(test)]
mod tests;
