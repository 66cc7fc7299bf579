//! Making two sets equal, when they nearly are.
//!
//! Two peers have a set each, and each wants to know what the other has and it lacks. To send a whole
//! set for that is wasteful where the difference is small.
//!
//! ```text
//!   here   ana rui eva ivo                there   ana rui eva joy
//!                       └── only here                      └── only there
//! ```
//!
//! | question | module | what it costs |
//! |---|---|---|
//! | all of it, exactly, at the least cost | [`Session`] | chosen by a [`SyncPlan`] |
//! | what is different, exactly | [`rateless`] | about 29 bytes per differing item, whatever the size of the sets |
//! | what is missing or common, in one message | [`Offer`], [`Sieve`] | some bits per item of the set; a known false-positive rate |
//! | which rows have a partner there? | [`join`] | some bits per key |
//! | how large is the difference? | [`rateless::Decoder::estimate`] | nothing beside the symbols |
//! | the same, in one message and before anything else | [`Strata`] | 15 KB |
//!
//! Everything here is bytes in and bytes out: no sockets, no files, no clock and no randomness of
//! its own. The caller carries the messages, each at most [`MAX_MESSAGE`] bytes long, and supplies a
//! fresh [`ExchangeKey`].
//!
//! ```
//! use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
//!
//! let key = ExchangeKey::agreed([1; 16], [2; 16]); // 16 random bytes of each peer
//! let items = [["ana", "rui", "eva", "ivo"], ["ana", "rui", "eva", "joy"]];
//! let [here, there] = items.map(|items| IdSet::of_items(key, items));
//! let mut peers = [Session::initiator(here), Session::responder(there)];
//! let mut learnt = [Vec::new(), Vec::new()];
//!
//! // Both in one process: a peer acts until it must wait for the other.
//! let mut turn = 0;
//! loop {
//!     match peers[turn].action()? {
//!         Action::Send(message) => {
//!             let news = &mut learnt[1 - turn];
//!             peers[1 - turn].receive(&message, |item| news.push(item.to_vec()))?;
//!         }
//!         Action::Provide => {
//!             for item in items[turn] {
//!                 peers[turn].provide(item.as_bytes()); // it takes what the other lacks
//!             }
//!             peers[turn].provided()?;
//!         }
//!         Action::Receive => turn = 1 - turn,
//!         Action::Finished if turn == 0 => break,
//!         Action::Finished => turn = 0,
//!     }
//! }
//! assert_eq!(learnt, [vec![b"joy".to_vec()], vec![b"ivo".to_vec()]]);
//! # Ok::<(), crivo_exchange::ExchangeError>(())
//! ```
//!
//! # What can be trusted
//!
//! A message is checked before it is used: hostile or truncated bytes are an [`ExchangeError`], and
//! cause allocations only in proportion to what was received and to the set here. A session sends at
//! most four times what its whole set takes ([`Session`] has the numbers), and a join its rows once,
//! whatever the peer requests. But a peer that lies about its own set
//! is believed, and nothing here is encrypted or signed.
//!
//! # References
//! - L. Yang, Y. Gilad, M. Alizadeh, *Practical rateless set reconciliation*, SIGCOMM 2024: coded
//!   symbols without end, and why 1.35 of them per difference are enough.
//! - D. Eppstein, M. Goodrich, F. Uyeda, G. Varghese, *What's the difference?*, SIGCOMM 2011:
//!   invertible Bloom lookup tables for differences, and the strata estimator.
//! - A. P. Ozisik et al., *Graphene: efficient interactive set reconciliation*, SIGCOMM 2019: a
//!   filter first, and an invertible table for what it missed.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod error;
mod id;
mod items;
pub mod join;
mod offer;
mod plan;
pub mod rateless;
mod session;
mod strata;
mod wire;

pub use error::ExchangeError;
pub use id::{ExchangeKey, Id, IdSet};
pub use offer::{Offer, Sieve};
pub use plan::{Protocol, Situation, SyncPlan};
pub use session::{Action, Greeting, Session, SyncPolicy, Traffic};
pub use strata::Strata;
pub use wire::MAX_MESSAGE;
