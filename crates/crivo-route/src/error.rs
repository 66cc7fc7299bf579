//! Why a node or a network did not do what it was asked.

use std::fmt;

use super::message::NodeId;
use super::wire::MessageError;
use crivo::ParameterError;

/// Why a node or a network did not do what it was asked. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteError {
    /// The bytes are no message, or contradict what is known.
    Message(MessageError),
    /// A parameter is out of its range.
    Parameter(ParameterError),
    /// The neighbour makes its filters in another way.
    OtherDesign(NodeId),
    /// Only a child may send this message, and the sender is none.
    NotAChild(NodeId),
    /// Only the parent may send this message, and the sender is not the parent.
    NotTheParent(NodeId),
    /// An answer comes from, or is to go to, a node that is neither parent nor child.
    NotANeighbour(NodeId),
    /// There is no such node.
    UnknownNode(NodeId),
    /// The root of a tree can neither leave nor get a parent.
    RootCannotLeave,
    /// The new parent lies within the node's own subtree.
    Ring {
        /// The node that was to move.
        node: NodeId,
        /// Its new parent.
        parent: NodeId,
    },
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Parameter(error) => error.fmt(f),
            Self::OtherDesign(node) => write!(
                f,
                "{node} makes its filters in another way; give all nodes of a tree one design"
            ),
            Self::NotAChild(node) => write!(f, "{node} is no child, but sent what a child sends"),
            Self::NotTheParent(node) => {
                write!(f, "{node} is not the parent, but sent what a parent sends")
            }
            Self::NotANeighbour(node) => write!(f, "{node} is neither the parent nor a child"),
            Self::UnknownNode(node) => write!(f, "there is no {node}"),
            Self::RootCannotLeave => f.write_str("the root of a tree can neither leave nor move"),
            Self::Ring { node, parent } => {
                write!(f, "{parent} lies below {node} and cannot become its parent")
            }
        }
    }
}

impl std::error::Error for RouteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Message(error) => Some(error),
            Self::Parameter(error) => Some(error),
            _ => None,
        }
    }
}

impl From<MessageError> for RouteError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<ParameterError> for RouteError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}
