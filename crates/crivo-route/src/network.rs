//! A whole tree in memory, its messages delivered one by one and counted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::RouteError;
use super::design::Design;
use super::message::{Message, NodeId};
use super::node::{Node, NodeAction, RequestOutcome};

/// A number of messages and their bytes.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Network};
///
/// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
/// tree.join(tree.root())?;
/// assert_eq!(tree.statistics().wholes.messages, 1); // the summary of the new node
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageCount {
    /// The number of messages.
    pub messages: u64,
    /// Their bytes in total.
    pub bytes: u64,
}

impl MessageCount {
    pub(super) fn count(&mut self, bytes: &[u8]) {
        self.messages += 1;
        self.bytes += bytes.len() as u64;
    }
}

/// Counts of what happened in a [`Network`] so far.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Network};
///
/// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
/// let leaf = tree.join(tree.root())?;
/// tree.request(leaf, b"a song")?;
/// let statistics = tree.statistics();
/// assert_eq!((statistics.not_found, statistics.hops), (1, 1)); // to the root
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Whole summaries: of nodes that joined or moved.
    pub wholes: MessageCount,
    /// Changes of summaries, a message for each step towards the root.
    pub changes: MessageCount,
    /// Requests, a message for each hop.
    pub requests: MessageCount,
    /// Answers, a message for each hop back to the origin.
    pub answers: MessageCount,
    /// Everything else: leaving and moving.
    pub others: MessageCount,
    /// Requests that found their resource.
    pub found: u64,
    /// Requests for resources that no node has.
    pub not_found: u64,
    /// The hops of all requests.
    pub hops: u64,
    /// The hops that they would have had on the shortest path: to the nearest holder, or to the
    /// root if there is none.
    pub shortest_hops: u64,
    /// How often a request went down into a subtree without the resource.
    pub false_forwards: u64,
}

/// A finished request.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Network};
///
/// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
/// let leaf = tree.join_with(tree.root(), [&b"a song"[..]])?;
/// let delivery = tree.request(tree.root(), b"a song")?;
/// assert_eq!((delivery.outcome.holder, delivery.shortest_hops), (Some(leaf), 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its result.
    pub outcome: RequestOutcome,
    /// The hops of the shortest path through the tree: to the nearest holder, or to the root if
    /// no node has the resource.
    pub shortest_hops: u64,
}

impl Delivery {
    /// Hops taken over hops needed; 1 where none were needed and none taken.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join_with(tree.root(), [&b"a song"[..]])?;
    /// assert_eq!(tree.request(tree.root(), b"a song")?.stretch(), 1.0); // no wrong turn
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stretch(&self) -> f64 {
        match (self.outcome.hops, self.shortest_hops) {
            (0, 0) => 1.0,
            (hops, shortest) => hops as f64 / shortest as f64,
        }
    }
}

/// A tree of [nodes](Node), and the messages between them.
///
/// Messages arrive in the order in which they were sent, and every call lets all of them arrive
/// before it returns.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Network};
///
/// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
/// let (left, right) = (tree.join(tree.root())?, tree.join(tree.root())?);
/// let leaf = tree.join(right)?;
/// tree.add(leaf, b"a song")?;
///
/// let found = tree.request(left, b"a song")?;
/// assert_eq!(found.outcome.holder, Some(leaf));
/// assert_eq!((found.outcome.hops, found.shortest_hops), (3, 3)); // up, down, down
///
/// tree.leave(right)?; // its child moves up to the root
/// assert_eq!(tree.request(left, b"a song")?.outcome.hops, 2);
/// tree.remove(leaf, b"a song")?;
/// assert_eq!(tree.request(left, b"a song")?.outcome.holder, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Network {
    design: Design,
    nodes: BTreeMap<NodeId, Node>,
    /// The holders of each resource, which no node knows, for measuring shortest paths.
    holders: BTreeMap<Vec<u8>, BTreeSet<NodeId>>,
    next_id: u64,
    /// Sender, receiver, bytes.
    queue: VecDeque<(NodeId, NodeId, Vec<u8>)>,
    finished: Option<RequestOutcome>,
    statistics: Statistics,
}

impl Network {
    const ROOT: NodeId = NodeId(0);

    /// A tree of one node.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// assert_eq!(Network::new(Design::sized(0.01, KeyHasher::default())?).nodes().count(), 1);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn new(design: Design) -> Self {
        Self {
            design,
            nodes: BTreeMap::from([(Self::ROOT, Node::new(Self::ROOT, design))]),
            holders: BTreeMap::new(),
            next_id: 1,
            queue: VecDeque::new(),
            finished: None,
            statistics: Statistics::default(),
        }
    }

    /// The root. It never changes.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// assert_eq!(tree.node(tree.root()).and_then(|root| root.parent()), None);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn root(&self) -> NodeId {
        Self::ROOT
    }

    /// The node with this number, if there is one.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join(tree.root())?;
    /// assert_eq!(tree.node(leaf).and_then(|leaf| leaf.parent()), Some(tree.root()));
    /// tree.leave(leaf)?;
    /// assert!(tree.node(leaf).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// All nodes, in the order of their numbers.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join(tree.root())?;
    /// assert!(tree.nodes().map(|node| node.id()).eq([tree.root(), leaf]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The counts so far.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let middle = tree.join(tree.root())?;
    /// let leaf = tree.join(middle)?;
    /// tree.reset_statistics();
    /// tree.add(leaf, b"a song")?;
    /// assert_eq!(tree.statistics().changes.messages, 2); // one for each step to the root
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Resets the counts to 0.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network, Statistics};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// tree.join(tree.root())?;
    /// tree.reset_statistics();
    /// assert_eq!(tree.statistics(), Statistics::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_statistics(&mut self) {
        self.statistics = Statistics::default();
    }
}

/// Changes of the tree.
impl Network {
    /// A new node below `parent`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network, NodeId};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join(tree.root())?;
    /// assert!(tree.node(leaf).is_some());
    /// assert!(tree.join(NodeId(99)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such parent.
    pub fn join(&mut self, parent: NodeId) -> Result<NodeId, RouteError> {
        self.join_with(parent, std::iter::empty())
    }

    /// A new node below `parent` that has these resources.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join_with(tree.root(), [&b"a song"[..], b"a film"])?;
    /// assert_eq!(tree.request(tree.root(), b"a film")?.outcome.holder, Some(leaf));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such parent, or a name is too long. Nothing has changed.
    pub fn join_with<'a>(
        &mut self,
        parent: NodeId,
        resources: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<NodeId, RouteError> {
        self.expect(parent)?;
        let id = NodeId(self.next_id);
        let mut node = Node::new(id, self.design);
        for resource in resources {
            node.add(resource)?;
        }
        for resource in node.resources() {
            self.holders.entry(resource.to_vec()).or_default().insert(id);
        }
        let actions = node.attach(parent);
        self.next_id += 1;
        self.nodes.insert(id, node);
        self.settle(id, actions)?;
        Ok(id)
    }

    /// Removes a node with its resources; its children move to its parent.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let middle = tree.join(tree.root())?;
    /// let leaf = tree.join(middle)?;
    /// tree.leave(middle)?;
    /// assert_eq!(tree.node(leaf).and_then(|leaf| leaf.parent()), Some(tree.root()));
    /// assert!(tree.leave(tree.root()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such node, or it is the root.
    pub fn leave(&mut self, id: NodeId) -> Result<(), RouteError> {
        let node = self.expect(id)?;
        let actions = node.leave()?;
        let resources: Vec<Vec<u8>> = node.resources().map(<[u8]>::to_vec).collect();
        for resource in resources {
            self.forget_holder(id, &resource);
        }
        self.settle(id, actions)
    }

    /// The node moves to another parent, with its whole subtree.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let (left, right) = (tree.join(tree.root())?, tree.join(tree.root())?);
    /// tree.reattach(left, right)?;
    /// assert_eq!(tree.node(left).and_then(|node| node.parent()), Some(right));
    /// assert!(tree.reattach(right, left).is_err()); // it would be below itself
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such node, it is the root, or the parent lies within its subtree.
    pub fn reattach(&mut self, id: NodeId, parent: NodeId) -> Result<(), RouteError> {
        self.expect(parent)?;
        if self.expect(id)?.parent().is_none() {
            return Err(RouteError::RootCannotLeave);
        }
        if self.ancestors(parent).contains(&id) {
            return Err(RouteError::Ring { node: id, parent });
        }
        let actions = self.expect(id)?.attach(parent);
        self.settle(id, actions)
    }

    /// Adds a resource to a node.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join(tree.root())?;
    /// tree.add(leaf, b"a song")?;
    /// assert!(tree.node(leaf).is_some_and(|leaf| leaf.has(b"a song")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such node, or the name is too long.
    pub fn add(&mut self, id: NodeId, resource: &[u8]) -> Result<(), RouteError> {
        let actions = self.expect(id)?.add(resource)?;
        self.holders.entry(resource.to_vec()).or_default().insert(id);
        self.settle(id, actions)
    }

    /// Removes a resource from a node, if it has it.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let leaf = tree.join_with(tree.root(), [&b"a song"[..]])?;
    /// tree.remove(leaf, b"a song")?;
    /// assert_eq!(tree.request(tree.root(), b"a song")?.outcome.holder, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such node.
    pub fn remove(&mut self, id: NodeId, resource: &[u8]) -> Result<(), RouteError> {
        let actions = self.expect(id)?.remove(resource);
        self.forget_holder(id, resource);
        self.settle(id, actions)
    }

    fn forget_holder(&mut self, id: NodeId, resource: &[u8]) {
        if let Some(holders) = self.holders.get_mut(resource) {
            holders.remove(&id);
            if holders.is_empty() {
                self.holders.remove(resource);
            }
        }
    }
}

/// Requests.
impl Network {
    /// A request for `resource` from the node `origin`, to its end.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::{Design, Network};
    ///
    /// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
    /// let (left, right) = (tree.join(tree.root())?, tree.join(tree.root())?);
    /// tree.add(right, b"a song")?;
    /// let outcome = tree.request(left, b"a song")?.outcome;
    /// assert_eq!((outcome.holder, outcome.hops), (Some(right), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such node, or the name is too long.
    #[allow(clippy::missing_panics_doc)] // it cannot
    pub fn request(&mut self, origin: NodeId, resource: &[u8]) -> Result<Delivery, RouteError> {
        let actions = self.expect(origin)?.request(resource)?;
        self.settle(origin, actions)?;
        let outcome = self.finished.take();
        // Every message has arrived, the tree is at rest, and each step leads to another or here.
        let outcome = outcome.expect("a request of a tree at rest comes to its end");
        let shortest_hops = self.shortest_hops(origin, resource);
        let statistics = &mut self.statistics;
        match outcome.holder {
            Some(_) => statistics.found += 1,
            None => statistics.not_found += 1,
        }
        statistics.hops += outcome.hops;
        statistics.shortest_hops += shortest_hops;
        statistics.false_forwards += outcome.false_forwards;
        Ok(Delivery { outcome, shortest_hops })
    }

    /// The hops to the nearest node that has the resource, or to the root.
    fn shortest_hops(&self, origin: NodeId, resource: &[u8]) -> u64 {
        let from_origin = self.ancestors(origin);
        let to_holder = |&holder: &NodeId| {
            let from_holder = self.ancestors(holder);
            let common = from_origin.iter().rev().zip(from_holder.iter().rev());
            let shared = common.take_while(|(a, b)| a == b).count();
            (from_origin.len() + from_holder.len() - 2 * shared) as u64
        };
        let holders = self.holders.get(resource).into_iter().flatten();
        holders.map(to_holder).min().unwrap_or(from_origin.len() as u64 - 1)
    }

    /// The node, its parent, and so on to the root.
    fn ancestors(&self, id: NodeId) -> Vec<NodeId> {
        std::iter::successors(Some(id), |id| self.nodes.get(id)?.parent()).collect()
    }

    fn expect(&mut self, id: NodeId) -> Result<&mut Node, RouteError> {
        self.nodes.get_mut(&id).ok_or(RouteError::UnknownNode(id))
    }

    /// Carries out the actions of a node, and all that follow from them.
    fn settle(&mut self, node: NodeId, actions: Vec<NodeAction>) -> Result<(), RouteError> {
        self.carry_out(node, actions);
        while let Some((from, to, bytes)) = self.queue.pop_front() {
            let actions = self.expect(to)?.receive(from, &bytes)?;
            self.carry_out(to, actions);
        }
        Ok(())
    }

    fn carry_out(&mut self, node: NodeId, actions: Vec<NodeAction>) {
        for action in actions {
            match action {
                NodeAction::Send { to, bytes } => {
                    self.statistics.count(&bytes);
                    self.queue.push_back((node, to, bytes));
                }
                NodeAction::Finished(outcome) => self.finished = Some(outcome),
                NodeAction::Deliver { .. } => {}
                NodeAction::Left => {
                    self.nodes.remove(&node);
                }
            }
        }
    }
}

impl Statistics {
    fn count(&mut self, bytes: &[u8]) {
        let kind = match Message::from_bytes(bytes) {
            Ok(Message::Whole(_)) => &mut self.wholes,
            Ok(Message::Change { .. }) => &mut self.changes,
            Ok(Message::Request(_)) => &mut self.requests,
            Ok(Message::Answer(_)) => &mut self.answers,
            _ => &mut self.others,
        };
        kind.count(bytes);
    }
}

#[cfg(test)]
mod tests;
