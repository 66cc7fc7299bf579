//! Requests that find their way through a tree by filters.
//!
//! Nodes form a rooted tree, and each has some resources: files, services, rows. A request for a
//! resource may come from any node. Where should it go? A list of all resources at every node
//! would answer that, at the cost of storing everything everywhere. Instead a node keeps **one filter for each
//! child**, which holds all resources of the child's subtree:
//!
//! ```text
//!                  root                       "song" asked for at c:
//!            ┌──────┴──────┐
//!          {a c d}       {b e}                c: not mine, no child       → up
//!            a             b                  a: child d accepts?  no     → up
//!        ┌───┴───┐         │                  root: child b accepts? yes  → down
//!       {c}     {d}       {e}                 b: child e accepts?  yes    → down
//!        c       d         e                  e: here it is: 4 hops, the shortest path
//!                       "song"
//! ```
//!
//! *Down where a filter accepts, else up.* A filter errs in one direction only. What it rejects is
//! certainly not there, so that no resource is ever missed. What it accepts may be a mistake: then
//! the request finds nothing below, and goes back to try the next child, or the parent. It carries
//! its path, and nodes remember nothing of it. A request for a resource that no node has ends at the
//! root.
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo_route::{Design, Network};
//!
//! let mut tree = Network::new(Design::sized(0.01, KeyHasher::default())?);
//! let (a, b) = (tree.join(tree.root())?, tree.join(tree.root())?);
//! let (c, e) = (tree.join(a)?, tree.join(b)?);
//! tree.add(e, b"song")?;
//!
//! let delivery = tree.request(c, b"song")?;
//! assert_eq!(delivery.outcome.holder, Some(e));
//! assert_eq!(delivery.outcome.hops, 4);
//! assert_eq!(tree.request(c, b"film")?.outcome.holder, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Two designs
//!
//! | [`Design`] | filters | a change costs, per step to the root |
//! |---|---|---|
//! | [`shared`](Design::shared) | all of one m and k, so that a parent's is the OR of its children's; large enough for the root | the bits that flipped |
//! | [`sized`](Design::sized) | as large as each subtree needs, rebuilt from digests | a digest |
//!
//! *Shared* filters need nothing but filters: a node builds its own from those of its children. But
//! each is as large as the root's, however small its subtree. They are sent as the
//! positions of their bits, by Rice's code, which takes little more than their entropy; in memory
//! they are uncompressed. Low in the tree they are nearly empty and hardly ever wrong.
//!
//! *Sized* filters are as small as they can be, and have the same FPR everywhere. The price is
//! that no filter can be built from smaller ones: digests travel to the root and are stored on the
//! way, where no request needs to read them.
//!
//! Either way, a change is reported from parent to parent, and only as far as it makes a difference
//! to a subtree. It makes none if another node of it has the same resource, or had set the same bits.
//! Nodes can be removed as exactly as they were added, because a parent knows what each of its
//! children contributed.
//!
//! # What it costs
//!
//! A wrong turn costs two hops at least: there and back. With F of them a request for a resource
//! that one node has takes
//!
//! ```text
//!   hops = shortest + 2 F          stretch = hops/shortest = 1 + 2 F/shortest
//! ```
//!
//! [`theory`] predicts F; `crivo study routing` measures it.
//!
//! # When not to use it
//! - A tree of a few nodes: let the root know everything.
//! - Resources that can be *given* a place: a distributed hash table finds them without filters.
//!   Filters are for resources whose place is given.
//! - Malicious nodes: one whose filter accepts everything attracts every request.
//!
//! The guarantee holds for a tree at rest. A request under way while nodes move can reach a node that
//! is gone, and has to be repeated.
//!
//! # References
//! - S. Rhea, J. Kubiatowicz, *Probabilistic location and routing*, INFOCOM 2002: filters that lead
//!   requests, weaker with distance.
//! - A. Broder, M. Mitzenmacher, *Network applications of Bloom filters: a survey*, Internet
//!   Mathematics 2004: this and many other uses.
//! - R. Rice, J. Plaunt, *Adaptive variable-length coding*, IEEE Trans. Communication Technology
//!   1971: the code of the messages.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod design;
mod error;
mod message;
mod network;
mod node;
mod numbers;
mod sized;
mod wire;

pub mod geographic;
pub mod theory;

pub use design::Design;
pub use error::RouteError;
pub use message::{Answer, Direction, MAX_NAME_LENGTH, Message, NodeId, Request, Whole};
pub use network::{Delivery, MessageCount, Network, Statistics};
pub use node::{Node, NodeAction, RequestOutcome};
pub use numbers::{SortedNumbers, SortedNumbersIter};
pub use wire::MessageError;
