//! Experiments with trees: what was measured, and what theory expects.
//!
//! ```
//! use crivo_lab::sim::routing::tree::{TreePlan, tree};
//!
//! let plan = TreePlan { depth: 3, requests: 200, changes: 20, ..TreePlan::default() };
//! for row in tree(&plan)? {
//!     println!("{}: stretch {:.3}, expected {:.3}", row.design, row.stretch, row.expected_stretch);
//!     assert_eq!(row.lost, 0);
//! }
//! # Ok::<(), crivo_route::RouteError>(())
//! ```

use crivo::KeyHasher;
use crivo_core::Random;
use crivo_core::check::check_positive;
use crivo_route::theory::{CompleteTree, Mistakes, subset_bits};
use crivo_route::{Design, Message, Network, Node, NodeId, RouteError};

/// What to build and to ask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreePlan {
    /// The children of a node.
    pub arity: u32,
    /// The steps from the root to a leaf.
    pub depth: u32,
    /// The resources of each node.
    pub resources_per_node: u64,
    /// The rate of wrong yeses that filters are made for.
    pub rate: f64,
    /// How many requests for resources of other nodes; as many are made for what nobody has.
    pub requests: u64,
    /// How many resources are added, and as many removed, to measure what a change costs.
    pub changes: u64,
    /// The seed of all that is random.
    pub seed: u64,
}

impl Default for TreePlan {
    /// 341 nodes with 6,820 resources, at 1%.
    fn default() -> Self {
        Self {
            arity: 4,
            depth: 4,
            resources_per_node: 20,
            rate: 0.01,
            requests: 20_000,
            changes: 500,
            seed: 1,
        }
    }
}

/// What one design did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TreeRow {
    /// The name of the [`Design`].
    pub design: &'static str,
    /// The rate that filters were made for.
    pub rate: f64,
    /// How many nodes there were.
    pub nodes: u64,
    /// How many resources.
    pub resources: u64,
    /// Requests for existing resources.
    pub requests: u64,
    /// Requests that came to a wrong end: an existing resource not found, or found where it is not,
    /// or one found that nobody has.
    pub lost: u64,
    /// The mean of hops taken over hops of the shortest path.
    pub stretch: f64,
    /// What theory expects, from the rates of the filters as they are.
    pub expected_stretch: f64,
    /// The standard error of the measured stretch.
    pub stretch_error: f64,
    /// Wrong turns per request.
    pub false_forwards: f64,
    /// What theory expects.
    pub expected_false_forwards: f64,
    /// Wrong turns per request for what nobody has.
    pub false_forwards_if_absent: f64,
    /// What theory expects.
    pub expected_false_forwards_if_absent: f64,
    /// The mean rate of the filters of subtrees, by the level of the subtree; the root has none.
    pub rates: Vec<f64>,
    /// The bytes of all filters that are asked.
    pub filter_bytes: u64,
    /// The bytes of all digests that filters are rebuilt from.
    pub storage_bytes: u64,
    /// The bytes of all messages of a change, on average over additions and removals.
    pub bytes_per_change: f64,
    /// The messages of a change: steps towards the root.
    pub messages_per_change: f64,
    /// The bytes of the message that describes a whole child of the root, on average.
    pub summary_bytes: f64,
    /// The fewest bytes that could describe it, by entropy.
    pub summary_entropy_bytes: f64,
    /// Its bytes if it were not compressed: the filter, or digests of eight bytes.
    pub summary_plain_bytes: f64,
}

/// Both designs on the same tree, with the same requests and changes.
///
/// # Errors
/// If a parameter is out of its range.
pub fn tree(plan: &TreePlan) -> Result<Vec<TreeRow>, RouteError> {
    check_positive("requests", plan.requests)?;
    check_positive("changes", plan.changes)?;
    check_positive("resources per node", plan.resources_per_node)?;
    let shape = CompleteTree::new(plan.arity, plan.depth)?;
    let resources = shape.node_count() * plan.resources_per_node;
    let hasher = KeyHasher::xxh3(plan.seed);
    let designs = [
        (Design::shared(resources, plan.rate, hasher)?, Mistakes::Nested),
        (Design::sized(plan.rate, hasher)?, Mistakes::Independent),
    ];
    designs
        .into_iter()
        .map(|(design, mistakes)| Experiment::new(plan, shape, design)?.run(mistakes))
        .collect()
}

/// The resource `index` of a node.
fn name(node: NodeId, index: u64) -> Vec<u8> {
    format!("{index} of {node}").into_bytes()
}

struct Experiment<'a> {
    plan: &'a TreePlan,
    shape: CompleteTree,
    design: Design,
    network: Network,
    /// The nodes of each level.
    levels: Vec<Vec<NodeId>>,
}

impl<'a> Experiment<'a> {
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
        let rates = self.rates();
        let expected = self.shape.expect(&rates, mistakes)?;
        let (filter_bits, storage_bits) = self
            .network
            .nodes()
            .fold((0, 0), |sum, node| (sum.0 + node.filter_bits(), sum.1 + node.storage_bits()));
        let [summary_bytes, summary_entropy_bytes, summary_plain_bytes] = self.summaries();
        let found = self.requests()?;
        let (absent_forwards, wrongly_found) = self.requests_for_absent()?;
        let (bytes_per_change, messages_per_change) = self.changes()?;
        Ok(TreeRow {
            design: self.design.name(),
            rate: self.plan.rate,
            nodes: self.shape.node_count(),
            resources: self.shape.node_count() * self.plan.resources_per_node,
            requests: self.plan.requests,
            lost: found.lost + wrongly_found,
            stretch: found.stretch,
            expected_stretch: expected.stretch,
            stretch_error: found.stretch_error,
            false_forwards: found.false_forwards,
            expected_false_forwards: expected.false_forwards,
            false_forwards_if_absent: absent_forwards,
            expected_false_forwards_if_absent: expected.false_forwards_if_absent,
            rates,
            filter_bytes: filter_bits / 8,
            storage_bytes: storage_bits / 8,
            bytes_per_change,
            messages_per_change,
            summary_bytes,
            summary_entropy_bytes,
            summary_plain_bytes,
        })
    }

    /// The mean rate of the filters of each level.
    fn rates(&self) -> Vec<f64> {
        let rate_of = |&id: &NodeId| {
            let parent = self.network.node(id).and_then(Node::parent)?;
            self.network.node(parent)?.expected_fpr(id)
        };
        let mean = |level: &Vec<NodeId>| {
            level.iter().filter_map(rate_of).fold(0.0, |sum, rate| sum + rate) / level.len() as f64
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

    fn requests(&mut self) -> Result<Found, RouteError> {
        let nodes = self.shape.node_count();
        let mut random = Random::new(self.plan.seed);
        let (mut lost, mut forwards, mut sum, mut squares) = (0, 0, 0.0, 0.0);
        for _ in 0..self.plan.requests {
            let origin = random.below(nodes);
            // Any other node, all with the same chance.
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
        Ok(Found {
            lost,
            stretch,
            stretch_error: ((squares / count - stretch * stretch).max(0.0) / count).sqrt(),
            false_forwards: forwards as f64 / count,
        })
    }

    /// Wrong turns per request for what nobody has, and how many found it nevertheless.
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

/// What became of requests for existing resources.
struct Found {
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
        // Filters that are shared err at their rate at the root alone, which nobody asks: only at a
        // high rate do those of its children err at all.
        for rate in [0.01, 0.1, 0.5] {
            let plan = TreePlan { rate, requests: 4_000, changes: 200, ..TreePlan::default() };
            for row in tree(&plan).unwrap() {
                assert_eq!(row.lost, 0, "{}", row.design);
                // The rates of single filters scatter around the mean that theory takes, and
                // requests share filters: five standard errors, a tenth of the excess, and one
                // wrong turn in all.
                let allowed =
                    5.0 * row.stretch_error + 0.1 * (row.expected_stretch - 1.0) + 2.0 / 4_000.0;
                let difference = (row.stretch - row.expected_stretch).abs();
                assert!(difference < allowed, "{row:?}");
                let absent = (row.false_forwards_if_absent, row.expected_false_forwards_if_absent);
                assert!((absent.0 - absent.1).abs() < 0.15 * absent.1 + 0.01, "{row:?}");
                assert!(row.messages_per_change <= f64::from(plan.depth));
                assert!(row.summary_bytes < 1.05 * row.summary_entropy_bytes + 24.0, "{row:?}");
            }
        }
    }

    #[test]
    fn plans_that_measure_nothing_are_refused() {
        assert!(tree(&TreePlan { requests: 0, ..TreePlan::default() }).is_err());
        assert!(tree(&TreePlan { arity: 0, ..TreePlan::default() }).is_err());
        assert!(tree(&TreePlan { rate: 0.0, ..TreePlan::default() }).is_err());
    }
}
