//! A whole exchange, from two sets to their union on both sides.
//!
//! ```text
//!   initiator                                   responder
//!             ─── summary ──────────────────→
//!             ←── summary ───────────────────          sizes, and a check of the key
//!             ─── pull 16, 64, … ───────────→
//!             ←── symbols ───────────────────          until the difference is decoded, or …
//!             ─── filters, filter … ────────→
//!             ←── filter … , remaining ──────          … filters are cheaper: one, then the other if that
//!                                                      still pays; then symbols …
//!             ─── wanted, or everything ────→          … or everything is cheapest, or symbols
//!             ←── items ─────────────────────              have cost as much
//!             ─── items, seal ──────────────→
//!             ←── seal ──────────────────────          both have the same set, or it is an error
//! ```
//!
//! No estimate is sent: it follows from the counts of the first symbols. The initiator decides after
//! each answer, by the expected cost of the rest.

mod greeting;
mod initiator;
#[cfg(test)]
mod limit_tests;
mod limits;
mod message;
mod responder;
#[cfg(test)]
mod tests;
mod transfer;

pub use greeting::Greeting;
use initiator::Initiator;
use responder::Responder;
use transfer::Transfer;

use super::{ExchangeError, Id, IdSet, Protocol, SyncPlan};

/// Symbols and filters of the two rounds have unrelated hash functions. The filter of a side is the
/// first or the second as it is the initiator's or the responder's.
const FIRST_ROUND: u64 = 0;
const SECOND_ROUND: u64 = 1;

/// How an initiator chooses its protocol.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet, Protocol, Session, SyncPolicy};
///
/// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]);
/// let session = Session::initiator_with(set, SyncPolicy::Fixed(Protocol::Everything));
/// assert_eq!(session.plan(), None); // there is nothing to choose
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// The cheapest, by what is known at each step.
    #[default]
    Cheapest,
    /// This one: for a difference whose size is known, and for experiments. Once symbols have cost as
    /// much as sending everything, everything is sent all the same.
    Fixed(Protocol),
}

/// What to do next.
///
/// ```
/// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
///
/// let mut session = Session::responder(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
/// assert_eq!(session.action()?, Action::Receive); // the other side begins
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send this message to the peer.
    Send(Vec<u8>),
    /// Give the next message of the peer to [`Session::receive`].
    Receive,
    /// Give all items of the set to [`Session::provide`], send the messages that become ready
    /// meanwhile ([`Session::ready`]), and end with [`Session::provided`].
    Provide,
    /// Both sets are known to be the same now.
    Finished,
}

/// The cost of an exchange so far.
///
/// ```
/// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
///
/// let mut session = Session::initiator(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
/// let Action::Send(summary) = session.action()? else { unreachable!("an initiator begins") };
/// assert_eq!(session.traffic().sent, summary.len() as u64);
/// assert_eq!(session.traffic().received, 0);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// The bytes of all messages sent.
    pub sent: u64,
    /// The bytes of all messages received.
    pub received: u64,
    /// The number of items sent.
    pub items_sent: u64,
    /// The number of new items received.
    pub items_received: u64,
    /// The length of the items sent.
    pub item_bytes_sent: u64,
    /// The length of the new items received.
    pub item_bytes_received: u64,
}

/// One side of an exchange that leaves both with the union of their sets.
///
/// It holds the ids of the set (16 bytes each), 32 bytes per coded symbol, and the ids of the
/// difference; where everything is sent, a bit per item here and 16 bytes per item there. See
/// [the module](super) for how it is driven.
///
/// # Limits
///
/// Let E be the bytes of the set's items and 10 more for each. Whatever messages a peer sends, and in
/// whatever order, a session sends no more than 4·E + 32 KiB, and an initiator not more than that and as
/// many bytes as it received. It makes at most one filter of its set, sends each item at most once, and
/// at most 4 coded symbols per item and 512 more, which take at most 256 bytes of memory per item and
/// 32 KiB. A request beyond that is an error, and ends the session.
///
/// ```
/// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
///
/// let key = ExchangeKey::new([7; 16]);
/// let set = IdSet::of_items(key, ["ana", "rui"]);
/// let mut peers = [Session::initiator(set.clone()), Session::responder(set)];
/// let mut turn = 0;
/// loop {
///     match peers[turn].action()? {
///         Action::Send(message) => peers[1 - turn].receive(&message, |_| {})?,
///         Action::Provide => {
///             ["ana", "rui"].map(|item| peers[turn].provide(item.as_bytes()));
///             peers[turn].provided()?;
///         }
///         Action::Receive => turn = 1 - turn,
///         Action::Finished if turn == 0 => break,
///         Action::Finished => turn = 0,
///     }
/// }
/// assert_eq!(peers[0].traffic().items_received, 0); // the sets were the same
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug)]
pub struct Session {
    stage: Stage,
    traffic: Traffic,
    plan: Option<SyncPlan>,
}

#[derive(Debug)]
enum Stage {
    Initiator(Box<Initiator>),
    Responder(Box<Responder>),
    Transfer(Box<Transfer>),
    Failed,
}

impl Session {
    /// The side that starts, and chooses the cheapest protocol.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
    ///
    /// let mut session = Session::initiator(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert!(matches!(session.action()?, Action::Send(_)));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn initiator(set: IdSet) -> Self {
        Self::initiator_with(set, SyncPolicy::Cheapest)
    }

    /// The side that starts, with a protocol of your choice.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Protocol, Session, SyncPolicy};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]);
    /// let mut session = Session::initiator_with(set, SyncPolicy::Fixed(Protocol::Rateless));
    /// assert!(matches!(session.action()?, Action::Send(_)));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn initiator_with(set: IdSet, policy: SyncPolicy) -> Self {
        Self::new(Stage::Initiator(Box::new(Initiator::new(set, policy))))
    }

    /// The side that answers.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
    ///
    /// let mut session = Session::responder(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert_eq!(session.action()?, Action::Receive);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn responder(set: IdSet) -> Self {
        Self::new(Stage::Responder(Box::new(Responder::new(set))))
    }

    fn new(stage: Stage) -> Self {
        Self { stage, traffic: Traffic::default(), plan: None }
    }

    /// What to do next.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
    ///
    /// let mut session = Session::initiator(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert!(matches!(session.action()?, Action::Send(_)));
    /// assert_eq!(session.action()?, Action::Receive);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for a filter, or the exchange has failed before.
    pub fn action(&mut self) -> Result<Action, ExchangeError> {
        if let Some(message) = self.ready()? {
            return Ok(Action::Send(message));
        }
        let is_concluded = match &self.stage {
            Stage::Initiator(side) => side.is_concluded(),
            Stage::Responder(side) => side.is_concluded(),
            Stage::Transfer(side) if side.needs_items() => return Ok(Action::Provide),
            Stage::Transfer(side) if side.is_finished() => return Ok(Action::Finished),
            Stage::Transfer(_) => false,
            Stage::Failed => return Err(ExchangeError::Failed),
        };
        if is_concluded {
            self.stage = match std::mem::replace(&mut self.stage, Stage::Failed) {
                Stage::Initiator(side) => {
                    self.plan = side.plan();
                    Stage::Transfer(Box::new(side.into_transfer()))
                }
                Stage::Responder(side) => Stage::Transfer(Box::new(side.into_transfer())),
                other => other,
            };
            return self.action();
        }
        Ok(Action::Receive)
    }

    /// A message that is ready to be sent, if there is one. While items are provided this keeps
    /// memory small; otherwise [`action`](Self::action) is all that is needed.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Session};
    ///
    /// let mut session = Session::initiator(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert!(session.ready()?.is_some());
    /// assert!(session.ready()?.is_none());
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for a filter.
    pub fn ready(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        let message = match &mut self.stage {
            Stage::Initiator(side) => side.next_message(),
            Stage::Responder(side) => side.next_message(),
            Stage::Transfer(side) => Ok(side.next_message()),
            Stage::Failed => Err(ExchangeError::Failed),
        }?;
        self.traffic.sent += message.as_ref().map_or(0, |message| message.len() as u64);
        Ok(message)
    }

    /// Processes a message of the peer, and passes each new item to `on_new`.
    ///
    /// Until [`Action::Finished`] those items are not verified: keep them separate.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeError, ExchangeKey, IdSet, Session};
    ///
    /// let set = |key| IdSet::of_items(ExchangeKey::new(key), ["ana"]);
    /// let mut here = Session::initiator(set([1; 16]));
    /// let mut there = Session::responder(set([2; 16]));
    /// let Action::Send(summary) = here.action()? else { unreachable!("an initiator begins") };
    /// assert_eq!(there.receive(&summary, |_| {}), Err(ExchangeError::SeedMismatch));
    /// assert_eq!(there.action(), Err(ExchangeError::Failed));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the message is not what an honest peer would send now. The session has then failed.
    pub fn receive(
        &mut self,
        message: &[u8],
        on_new: impl FnMut(&[u8]),
    ) -> Result<(), ExchangeError> {
        self.traffic.received += message.len() as u64;
        let result = match &mut self.stage {
            Stage::Initiator(side) => side.receive(message),
            Stage::Responder(side) => side.receive(message),
            Stage::Transfer(side) => side.receive(message, &mut self.traffic, on_new),
            Stage::Failed => Err(ExchangeError::Failed),
        };
        if result.is_err() {
            self.stage = Stage::Failed;
        }
        result
    }

    /// Offers an item of the set. If the peer needs it, it becomes part of a message.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
    ///
    /// let set = |items: &[&str]| IdSet::of_items(ExchangeKey::new([7; 16]), items);
    /// let (here, there) = (set(&["ana"]), set(&["ana", "rui"]));
    /// let mut peers = [Session::initiator(here), Session::responder(there)];
    /// let (mut turn, mut learnt) = (0, Vec::new());
    /// loop {
    ///     match peers[turn].action()? {
    ///         Action::Send(message) => {
    ///             peers[1 - turn].receive(&message, |item| learnt.push(item.to_vec()))?;
    ///         }
    ///         Action::Provide => {
    ///             for item in ["ana", "rui"] {
    ///                 peers[turn].provide(item.as_bytes()); // it takes what the other lacks
    ///             }
    ///             peers[turn].provided()?;
    ///         }
    ///         Action::Receive => turn = 1 - turn,
    ///         Action::Finished if turn == 0 => break,
    ///         Action::Finished => turn = 0,
    ///     }
    /// }
    /// assert_eq!(learnt, [b"rui"]);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn provide(&mut self, item: &[u8]) {
        if let Stage::Transfer(side) = &mut self.stage {
            side.provide(item, &mut self.traffic);
        }
    }

    /// Ends the items.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeError, ExchangeKey, IdSet, Session};
    ///
    /// let set = |items: &[&str]| IdSet::of_items(ExchangeKey::new([7; 16]), items);
    /// let (here, there) = (set(&["ana"]), set(&["ana", "rui"]));
    /// let mut peers = [Session::initiator(here), Session::responder(there)];
    /// let mut turn = 0;
    /// loop {
    ///     match peers[turn].action()? {
    ///         Action::Send(message) => peers[1 - turn].receive(&message, |_| {})?,
    ///         Action::Provide if turn == 1 => break,
    ///         Action::Provide => peers[turn].provided()?,
    ///         Action::Receive | Action::Finished => turn = 1 - turn,
    ///     }
    /// }
    /// // The other side lacks "rui", which is not provided.
    /// assert_eq!(peers[1].provided(), Err(ExchangeError::ItemsChanged));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If an item is still missing: the set has changed since its ids were taken.
    pub fn provided(&mut self) -> Result<(), ExchangeError> {
        match &mut self.stage {
            Stage::Transfer(side) => side.provided(),
            _ => Ok(()),
        }
    }

    /// The ids that the peer lacked, once the session is finished.
    ///
    /// ```
    /// use crivo_exchange::{Action, ExchangeKey, IdSet, Session};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = |items: &[&str]| IdSet::of_items(key, items);
    /// let (here, there) = (set(&["ana", "rui"]), set(&["ana"]));
    /// let mut peers = [Session::initiator(here), Session::responder(there)];
    /// let mut turn = 0;
    /// loop {
    ///     match peers[turn].action()? {
    ///         Action::Send(message) => peers[1 - turn].receive(&message, |_| {})?,
    ///         Action::Provide => {
    ///             ["ana", "rui"].map(|item| peers[turn].provide(item.as_bytes()));
    ///             peers[turn].provided()?;
    ///         }
    ///         Action::Receive => turn = 1 - turn,
    ///         Action::Finished if turn == 0 => break,
    ///         Action::Finished => turn = 0,
    ///     }
    /// }
    /// assert_eq!(peers[0].lacked_there(), [key.id(b"rui")]);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn lacked_there(&self) -> &[Id] {
        match &self.stage {
            Stage::Transfer(side) if side.is_finished() => side.lacked_there(),
            _ => &[],
        }
    }

    /// The cost so far.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Session, Traffic};
    ///
    /// let session = Session::responder(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert_eq!(session.traffic(), Traffic::default());
    /// ```
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The chosen protocol, and its expected cost from there on. Only an initiator
    /// that chooses the cheapest knows, and only if the first symbols were not enough.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Session};
    ///
    /// let session = Session::initiator(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]));
    /// assert_eq!(session.plan(), None); // nothing is known yet
    /// ```
    pub fn plan(&self) -> Option<SyncPlan> {
        match &self.stage {
            Stage::Initiator(side) => side.plan(),
            _ => self.plan,
        }
    }
}
