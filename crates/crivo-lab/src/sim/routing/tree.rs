//! Requests through a tree of nodes with filters, measured and in theory.
//!
//! ```
//! use crivo_lab::sim::routing::tree::{TreePlan, measure};
//!
//! let plan = TreePlan { depth: 3, requests: 200, changes: 20, ..TreePlan::default() };
//! for row in measure(&plan)? {
//!     println!("{}: stretch {:.3}, theory {:.3}", row.design, row.stretch, row.stretch_theory);
//!     assert_eq!(row.lost, 0);
//! }
//! # Ok::<(), crivo_route::RouteError>(())
//! ```

use crivo::KeyHasher;
use crivo_core::Random;
use crivo_core::check::check_positive;
use crivo_route::theory::{CompleteTree, Mistakes, subset_bits};
use crivo_route::{Design, Message, Network, Node, NodeId, RouteError};
use serde::{Deserialize, Serialize};

/// The parameters of an experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreePlan {
    /// The children of a node.
    pub arity: u32,
    /// The steps from the root to a leaf.
    pub depth: u32,
    /// The resources of each node.
    pub resources_per_node: u64,
    /// The false-positive rate that filters are sized for.
    pub fpr: f64,
    /// The number of requests for resources of other nodes; as many are made for absent resources.
    pub requests: u64,
    /// The number of resources that are added, and removed, to measure the cost of a change.
    pub changes: u64,
    /// The seed of all randomness.
    pub seed: u64,
}

impl Default for TreePlan {
    /// 341 nodes with 6,820 resources, at 1%.
    fn default() -> Self {
        Self {
            arity: 4,
            depth: 4,
            resources_per_node: 20,
            fpr: 0.01,
            requests: 20_000,
            changes: 500,
            seed: 1,
        }
    }
}

/// One design on one tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreeRow {
    /// The name of the [`Design`].
    pub design: String,
    /// The false-positive rate that filters were sized for.
    pub fpr: f64,
    /// The number of nodes.
    pub nodes: u64,
    /// The number of resources.
    pub resources: u64,
    /// Requests for existing resources.
    pub requests: u64,
    /// Requests with a wrong result: an existing resource not found, or found at a wrong node, or an
    /// absent one found.
    pub lost: u64,
    /// The mean of hops taken over hops of the shortest path.
    pub stretch: f64,
    /// The stretch in theory, from the false-positive rates of the filters as they are.
    pub stretch_theory: f64,
    /// The standard error of the measured stretch.
    pub stretch_error: f64,
    /// False forwards per request.
    pub false_forwards: f64,
    /// False forwards per request in theory.
    pub false_forwards_theory: f64,
    /// False forwards per request for an absent resource.
    pub false_forwards_if_absent: f64,
    /// The same in theory.
    pub false_forwards_if_absent_theory: f64,
    /// The bytes of all filters that are queried.
    pub filter_bytes: u64,
    /// The bytes of all digests that filters are rebuilt from.
    pub storage_bytes: u64,
    /// The bytes of all messages of a change, on average over additions and removals.
    pub bytes_per_change: f64,
    /// The messages of a change: steps towards the root.
    pub messages_per_change: f64,
    /// The bytes of the message that describes the whole subtree of a child of the root, on average.
    pub summary_bytes: f64,
    /// The minimum of bytes for it, by entropy.
    pub summary_entropy_bytes: f64,
    /// Its bytes without compression: the filter, or digests of eight bytes.
    pub summary_plain_bytes: f64,
}

/// Both designs on the same tree, with the same requests and changes.
///
/// # Errors
/// If a parameter is out of range.
pub fn measure(plan: &TreePlan) -> Result<Vec<TreeRow>, RouteError> {
    check_positive("requests", plan.requests)?;
    check_positive("changes", plan.changes)?;
    check_positive("resources per node", plan.resources_per_node)?;
    let shape = CompleteTree::new(plan.arity, plan.depth)?;
    let resources = shape.node_count() * plan.resources_per_node;
    let hasher = KeyHasher::xxh3(plan.seed);
    let designs = [
        (Design::shared(resources, plan.fpr, hasher)?, Mistakes::Nested),
        (Design::sized(plan.fpr, hasher)?, Mistakes::Independent),
    ];
    designs
        .into_iter()
        .map(|(design, mistakes)| Simulation::new(plan, shape, design)?.run(mistakes))
        .collect()
}

/// The resource `index` of a node.
fn name(node: NodeId, index: u64) -> Vec<u8> {
    format!("{index} of {node}").into_bytes()
}

struct Simulation<'a> {
    plan: &'a TreePlan,
    shape: CompleteTree,
    design: Design,
    network: Network,
    /// The nodes of each level.
    levels: Vec<Vec<NodeId>>,
}

impl<'a> Simulation<'a> {
    fn new(plan: &'a TreePlan, shape: CompleteTree, design: Design) -> Result<Self, RouteError> {
        let mut network = Network::new(design);
        let root = network.root();
        for index in 0..plan.resources_per_node {
            network.add(root, &name(root, index))?;
        }
        let mut levels = vec![vec![root]];
        for level in 0..plan.depth as usize {
            let mut below = Vec::new();
            for &parent in &levels[level] {
                for _ in 0..plan.arity {
                    let id = NodeId(network.nodes().count() as u64);
                    let names: Vec<Vec<u8>> =
                        (0..plan.resources_per_node).map(|index| name(id, index)).collect();
                    below.push(network.join_with(parent, names.iter().map(Vec::as_slice))?);
                }
            }
            levels.push(below);
        }
        Ok(Self { plan, shape, design, network, levels })
    }

    fn run(mut self, mistakes: Mistakes) -> Result<TreeRow, RouteError> {
        let fprs = self.fpr_by_level();
        let expected = self.shape.expect(&fprs, mistakes)?;
        let (filter_bits, storage_bits) = self
            .network
            .nodes()
            .fold((0, 0), |sum, node| (sum.0 + node.filter_bits(), sum.1 + node.storage_bits()));
        let [summary_bytes, summary_entropy_bytes, summary_plain_bytes] = self.summaries();
        let found = self.requests()?;
        let (absent_forwards, wrongly_found) = self.requests_for_absent()?;
        let (bytes_per_change, messages_per_change) = self.changes()?;
        Ok(TreeRow {
            design: self.design.name().to_string(),
            fpr: self.plan.fpr,
            nodes: self.shape.node_count(),
            resources: self.shape.node_count() * self.plan.resources_per_node,
            requests: self.plan.requests,
            lost: found.lost + wrongly_found,
            stretch: found.stretch,
            stretch_theory: expected.stretch,
            stretch_error: found.stretch_error,
            false_forwards: found.false_forwards,
            false_forwards_theory: expected.false_forwards,
            false_forwards_if_absent: absent_forwards,
            false_forwards_if_absent_theory: expected.false_forwards_if_absent,
            filter_bytes: filter_bits / 8,
            storage_bytes: storage_bits / 8,
            bytes_per_change,
            messages_per_change,
            summary_bytes,
            summary_entropy_bytes,
            summary_plain_bytes,
        })
    }

    /// The mean false-positive rate of the filters of each level.
    fn fpr_by_level(&self) -> Vec<f64> {
        let fpr_of = |&id: &NodeId| {
            let parent = self.network.node(id).and_then(Node::parent)?;
            self.network.node(parent)?.expected_fpr(id)
        };
        let mean = |level: &Vec<NodeId>| {
            level.iter().filter_map(fpr_of).fold(0.0, |sum, fpr| sum + fpr) / level.len() as f64
        };
        self.levels.iter().map(mean).collect()
    }

    /// The bytes of the summary of a child of the root: sent, by entropy, and plain.
    fn summaries(&self) -> [f64; 3] {
        let children = &self.levels[1];
        let mut sums = [0.0; 3];
        for node in children.iter().filter_map(|&id| self.network.node(id)) {
            let whole = node.summary();
            let (count, (universe, plain)) =
                (whole.numbers.len() as f64, self.design.plain_bits(whole.numbers.len()));
            let sizes = [
                Message::Whole(whole).to_bytes().len() as f64,
                subset_bits(universe, count) / 8.0,
                plain / 8.0,
            ];
            for (sum, size) in sums.iter_mut().zip(sizes) {
                *sum += size / children.len() as f64;
            }
        }
        sums
    }

    fn requests(&mut self) -> Result<Deliveries, RouteError> {
        let nodes = self.shape.node_count();
        let mut random = Random::new(self.plan.seed);
        let (mut lost, mut forwards, mut sum, mut squares) = (0, 0, 0.0, 0.0);
        for _ in 0..self.plan.requests {
            let origin = random.below(nodes);
            // Any other node, all with the same probability.
            let target = NodeId((origin + 1 + random.below(nodes - 1)) % nodes);
            let resource = name(target, random.below(self.plan.resources_per_node));
            let delivery = self.network.request(NodeId(origin), &resource)?;
            lost += u64::from(delivery.outcome.holder != Some(target));
            forwards += delivery.outcome.false_forwards;
            sum += delivery.stretch();
            squares += delivery.stretch() * delivery.stretch();
        }
        let count = self.plan.requests as f64;
        let stretch = sum / count;
        Ok(Deliveries {
            lost,
            stretch,
            stretch_error: ((squares / count - stretch * stretch).max(0.0) / count).sqrt(),
            false_forwards: forwards as f64 / count,
        })
    }

    /// False forwards per request for an absent resource, and how many such requests found one.
    fn requests_for_absent(&mut self) -> Result<(f64, u64), RouteError> {
        let mut random = Random::new(!self.plan.seed);
        let (mut forwards, mut found) = (0, 0);
        for index in 0..self.plan.requests {
            let origin = NodeId(random.below(self.shape.node_count()));
            let resource = format!("nobody's {index}");
            let outcome = self.network.request(origin, resource.as_bytes())?.outcome;
            forwards += outcome.false_forwards;
            found += u64::from(outcome.holder.is_some());
        }
        Ok((forwards as f64 / self.plan.requests as f64, found))
    }

    /// Bytes and messages per change.
    fn changes(&mut self) -> Result<(f64, f64), RouteError> {
        self.network.reset_statistics();
        let mut random = Random::new(self.plan.seed.rotate_left(32));
        let nodes = self.shape.node_count();
        for index in 0..self.plan.changes {
            let node = NodeId(random.below(nodes));
            self.network.add(node, format!("new {index}").as_bytes())?;
            let (node, index) =
                (NodeId(random.below(nodes)), random.below(self.plan.resources_per_node));
            self.network.remove(node, &name(node, index))?;
        }
        let traffic = self.network.statistics().changes;
        let count = 2.0 * self.plan.changes as f64;
        Ok((traffic.bytes as f64 / count, traffic.messages as f64 / count))
    }
}

/// The results of requests for existing resources.
struct Deliveries {
    lost: u64,
    stretch: f64,
    stretch_error: f64,
    false_forwards: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theory_and_measurement_agree_and_nothing_is_lost() {
        // Shared filters have their FPR at the root alone, whose filter is never queried: only at a
        // high FPR do those of its children have false positives at all.
        for fpr in [0.01, 0.1, 0.5] {
            let plan = TreePlan { fpr, requests: 4_000, changes: 200, ..TreePlan::default() };
            for row in measure(&plan).unwrap() {
                assert_eq!(row.lost, 0, "{}", row.design);
                // The FPRs of single filters scatter around the mean that theory uses, and
                // requests share filters: five standard errors, a tenth of the excess, and one
                // false forward in all.
                let allowed =
                    5.0 * row.stretch_error + 0.1 * (row.stretch_theory - 1.0) + 2.0 / 4_000.0;
                let difference = (row.stretch - row.stretch_theory).abs();
                assert!(difference < allowed, "{row:?}");
                let absent = (row.false_forwards_if_absent, row.false_forwards_if_absent_theory);
                assert!((absent.0 - absent.1).abs() < 0.15 * absent.1 + 0.01, "{row:?}");
                assert!(row.messages_per_change <= f64::from(plan.depth));
                assert!(row.summary_bytes < 1.05 * row.summary_entropy_bytes + 24.0, "{row:?}");
            }
        }
    }

    #[test]
    fn invalid_plans_are_rejected() {
        assert!(measure(&TreePlan { requests: 0, ..TreePlan::default() }).is_err());
        assert!(measure(&TreePlan { arity: 0, ..TreePlan::default() }).is_err());
        assert!(measure(&TreePlan { fpr: 0.0, ..TreePlan::default() }).is_err());
    }
}
