//! The expected number of wrong turns.
//!
//! A request asks the filters of children that do not have the resource: of all children at the
//! nodes it climbs through, and of those before the right one where it goes down. Each such
//! query opens a *wrong branch*. The mean number of wrong turns W of a wrong branch depends on whether
//! the filters' false positives are independent:
//!
//! ```text
//!   independent filters (sized)     W(l) = FPR(l) · (1 + arity · W(l+1))
//!   nested filters (shared)         W(l) = Σ over levels j ≥ l of arity^(j−l) · FPR(j)
//! ```
//!
//! The second is a sum because the filter of a subtree is the OR of its parts': whatever a part
//! accepts, the whole accepts, so that a node of the branch is visited just when its own filter
//! accepts.
//!
//! ```
//! use crivo_route::theory::{CompleteTree, Mistakes};
//!
//! // A root with 100 children, each with a filter at an FPR of 1%.
//! let star = CompleteTree::new(100, 1)?;
//! let expected = star.expect(&[0.0, 0.01], Mistakes::Independent)?;
//! // From child to child: up, then 98 wrong children, half of them asked before the right one.
//! assert_eq!(format!("{:.3}", expected.false_forwards), "0.485");
//! # Ok::<(), crivo::ParameterError>(())
//! ```

use crivo::ParameterError;
use crivo_core::check::check_range;

/// How the false positives of filters above and below each other depend on each other.
///
/// ```
/// use crivo_route::theory::{CompleteTree, Mistakes};
///
/// // Two levels at 10%: what errs below has erred above, in nested filters.
/// let tree = CompleteTree::new(10, 2)?;
/// let turns = |mistakes| tree.expect(&[0.0, 0.1, 0.1], mistakes).map(|cost| cost.false_forwards);
/// assert!(turns(Mistakes::Nested)? > turns(Mistakes::Independent)?);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistakes {
    /// Each filter errs on its own: [`Design::sized`](super::Design::sized).
    Independent,
    /// What a filter accepts, those above it accept as well:
    /// [`Design::shared`](super::Design::shared).
    Nested,
}

/// A tree in which every node down to the last level has the same number of children.
///
/// ```
/// use crivo_route::theory::CompleteTree;
///
/// assert_eq!(CompleteTree::new(2, 3)?.node_count(), 15);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompleteTree {
    arity: u32,
    depth: u32,
}

/// The expected cost of requests, on average over all origins and targets.
///
/// ```
/// use crivo_route::theory::{CompleteTree, Mistakes};
///
/// // Filters that never err.
/// let perfect = CompleteTree::new(10, 2)?.expect(&[0.0; 3], Mistakes::Independent)?;
/// assert_eq!((perfect.false_forwards, perfect.stretch), (0.0, 1.0));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ExpectedCost {
    /// Wrong turns of a request for a resource of another node.
    pub false_forwards: f64,
    /// Hops of such a request over those of the shortest path: the mean of the ratio.
    pub stretch: f64,
    /// Wrong turns of a request for a resource that no node has.
    pub false_forwards_if_absent: f64,
}

impl CompleteTree {
    /// The tree with `arity` children a node, and leaves `depth` steps below the root.
    ///
    /// ```
    /// use crivo_route::theory::CompleteTree;
    ///
    /// assert!(CompleteTree::new(2, 30).is_ok());
    /// assert!(CompleteTree::new(3, 30).is_err()); // 2·10^14 leaves
    /// ```
    ///
    /// # Errors
    /// If the arity is not from 1 to 1,000, the depth not from 1 to 30, or there would be more
    /// than 2^40 nodes.
    pub fn new(arity: u32, depth: u32) -> Result<Self, ParameterError> {
        check_range("arity", arity, 1..=1_000, "from 1 to 1000")?;
        check_range("depth", depth, 1..=30, "from 1 to 30")?;
        let tree = Self { arity, depth };
        if f64::from(arity).powi(depth as i32) > 2f64.powi(40) {
            return Err(ParameterError::new("depth", depth, "such that there are few nodes"));
        }
        Ok(tree)
    }

    /// The number of nodes.
    ///
    /// ```
    /// assert_eq!(crivo_route::theory::CompleteTree::new(10, 2)?.node_count(), 111);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn node_count(&self) -> u64 {
        (0..=self.depth).map(|level| u64::from(self.arity).pow(level)).sum()
    }

    /// The number of nodes in the subtree of a node at this level.
    ///
    /// ```
    /// let tree = crivo_route::theory::CompleteTree::new(10, 2)?;
    /// assert_eq!([0, 1, 2].map(|level| tree.subtree_node_count(level)), [111, 11, 1]);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn subtree_node_count(&self, level: u32) -> u64 {
        (0..=self.depth.saturating_sub(level)).map(|below| u64::from(self.arity).pow(below)).sum()
    }

    /// The expected wrong turns if the filters of subtrees at level l have the FPR `fprs[l]`;
    /// `fprs[0]` is not used.
    ///
    /// Origins are uniform over all nodes, and targets over all others.
    ///
    /// ```
    /// use crivo_route::theory::{CompleteTree, Mistakes};
    ///
    /// let tree = CompleteTree::new(10, 2)?;
    /// let cost = tree.expect(&[0.0, 0.01, 0.01], Mistakes::Independent)?;
    /// assert!((1.0..1.2).contains(&cost.stretch));
    /// assert!(tree.expect(&[0.01], Mistakes::Independent).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there is not an FPR for each level from 0 to the depth.
    pub fn expect(&self, fprs: &[f64], mistakes: Mistakes) -> Result<ExpectedCost, ParameterError> {
        let depth = self.depth as usize;
        if fprs.len() != depth + 1 {
            return Err(ParameterError::new("number of FPRs", fprs.len(), "depth + 1"));
        }
        let arity = f64::from(self.arity);
        // wrong[l]: the wrong turns that one question about a wrong child at level l costs; behind
        // the last level there are no children.
        let mut wrong = vec![0.0; depth + 2];
        for level in (1..=depth).rev() {
            wrong[level] = match mistakes {
                Mistakes::Independent => fprs[level] * (1.0 + arity * wrong[level + 1]),
                Mistakes::Nested => fprs[level] + arity * wrong[level + 1],
            };
        }
        // From the origin at level i up to, and not including, level a.
        let climb = |i: usize, a: usize| {
            let own = if a < i { arity * wrong[i + 1] } else { 0.0 };
            own + (a + 1..i).map(|level| (arity - 1.0) * wrong[level + 1]).sum::<f64>()
        };
        let nodes_at = |level: usize| arity.powi(level as i32);
        let (mut pairs, mut forwards, mut stretch) = (0.0, 0.0, 0.0);
        for i in 0..=depth {
            for j in 0..=depth {
                for a in 0..=i.min(j) {
                    let count = match (a == i, a == j) {
                        (true, true) => continue,
                        (true, false) => nodes_at(j),
                        (false, true) => nodes_at(i),
                        (false, false) => nodes_at(i) * (arity - 1.0) * nodes_at(j - a - 1),
                    };
                    let at_apex = match (a == i, a == j) {
                        (_, true) => 0.0,
                        (true, false) => (arity - 1.0) / 2.0 * wrong[a + 1],
                        (false, false) => (arity - 2.0).max(0.0) / 2.0 * wrong[a + 1],
                    };
                    let descent: f64 =
                        (a + 1..j).map(|level| (arity - 1.0) / 2.0 * wrong[level + 1]).sum();
                    let in_vain = climb(i, a) + at_apex + descent;
                    pairs += count;
                    forwards += count * in_vain;
                    stretch += count * (1.0 + 2.0 * in_vain / (i + j - 2 * a) as f64);
                }
            }
        }
        let absent = |i: usize| {
            // The root is climbed through as well; the origin itself may be the root.
            let root = if i > 0 { (arity - 1.0) * wrong[1] } else { arity * wrong[1] };
            climb(i, 0) + root
        };
        let nodes: f64 = (0..=depth).map(nodes_at).sum();
        Ok(ExpectedCost {
            false_forwards: forwards / pairs,
            stretch: stretch / pairs,
            false_forwards_if_absent: (0..=depth).map(|i| nodes_at(i) * absent(i)).sum::<f64>()
                / nodes,
        })
    }
}

/// The minimum number of bits to describe which `count` of `universe` numbers are in a set, about
/// log2 of the number of such sets: universe · H(count/universe), with the binary entropy H.
///
/// ```
/// use crivo_route::theory::subset_bits;
///
/// assert_eq!(subset_bits(1000.0, 500.0), 1000.0);
/// // 64-bit digests of a thousand resources: 55.5 bits each, not 64.
/// assert_eq!(format!("{:.1}", subset_bits(2f64.powi(64), 1000.0) / 1000.0), "55.5");
/// ```
pub fn subset_bits(universe: f64, count: f64) -> f64 {
    if count <= 0.0 || count >= universe {
        return 0.0;
    }
    let present = count * (universe / count).log2();
    let absent = -(universe - count) * (-count / universe).ln_1p() / std::f64::consts::LN_2;
    present + absent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mistakes_no_stretch() {
        let tree = CompleteTree::new(3, 4).unwrap();
        assert_eq!(tree.node_count(), 1 + 3 + 9 + 27 + 81);
        assert_eq!(tree.subtree_node_count(3), 4);
        for mistakes in [Mistakes::Independent, Mistakes::Nested] {
            let expected = tree.expect(&[0.0; 5], mistakes).unwrap();
            assert_eq!((expected.false_forwards, expected.stretch), (0.0, 1.0));
        }
    }

    #[test]
    fn a_chain_knows_one_way() {
        // With one child a node, every filter that is asked on the way down is the right one; on
        // the way up from the origin its own child is wrong.
        let chain = CompleteTree::new(1, 2).unwrap();
        let expected = chain.expect(&[0.0, 0.5, 0.5], Mistakes::Independent).unwrap();
        // Six ordered pairs; only from the middle to the root is a wrong child asked, at 1/2.
        assert!((expected.false_forwards - 0.5 / 6.0).abs() < 1e-12);
        assert!((expected.stretch - (1.0 + 2.0 * 0.5 / 6.0)).abs() < 1e-12);
        // Absent, from the root: its child (1/2), and its child (1/2 of that); from the middle: its
        // child; from the end: nothing.
        assert!((expected.false_forwards_if_absent - (0.75 + 0.5) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn wrong_parameters_are_refused() {
        assert!(CompleteTree::new(0, 3).is_err());
        assert!(CompleteTree::new(3, 0).is_err());
        assert!(CompleteTree::new(1_000, 30).is_err());
        assert!(CompleteTree::new(2, 2).unwrap().expect(&[0.1], Mistakes::Nested).is_err());
    }
}
