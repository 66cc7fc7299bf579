//! Why a node or a network refused a call.

use super::message::NodeId;
use super::wire::MessageError;
use crivo::ParameterError;
use thiserror::Error;

/// Why a node or a network refused a call. Nothing has changed.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Network, NodeId, RouteError};
///
/// let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
/// assert_eq!(tree.join(NodeId(99)), Err(RouteError::UnknownNode(NodeId(99))));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The bytes are not a message, or contradict what is known.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A parameter is out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The neighbour uses another filter design.
    #[error("{0} uses another filter design; give all nodes of a tree the same one")]
    OtherDesign(NodeId),
    /// Only a child may send this message, and the sender is not a child.
    #[error("{0} is not a child, but sent what a child sends")]
    NotAChild(NodeId),
    /// Only the parent may send this message, and the sender is not the parent.
    #[error("{0} is not the parent, but sent what a parent sends")]
    NotTheParent(NodeId),
    /// An answer comes from, or is to go to, a node that is neither parent nor child.
    #[error("{0} is neither the parent nor a child")]
    NotANeighbour(NodeId),
    /// There is no such node.
    #[error("there is no {0}")]
    UnknownNode(NodeId),
    /// The root of a tree can neither leave nor get a parent.
    #[error("the root of a tree can neither leave nor move")]
    RootCannotLeave,
    /// The new parent lies within the node's own subtree.
    #[error("{parent} lies below {node} and cannot become its parent")]
    Ring {
        /// The node that was to move.
        node: NodeId,
        /// Its new parent.
        parent: NodeId,
    },
}
