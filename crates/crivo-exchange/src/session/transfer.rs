//! The items themselves, once it is known which.
//!
//! ```text
//!   initiator                                   responder
//!             ←── items … , end of items ────
//!             ─── [news,] items … , end, seal ──→           news: only if it was sent everything
//!             ←── seal ──────────────────────
//! ```
//!
//! A seal is the fingerprint of the union of both sets. It is the same on both sides, or the
//! exchange has failed.

use std::collections::{HashSet, VecDeque};

use super::Traffic;
use super::message::SessionMessage;
use crate::id::Fingerprint;
use crate::items::{ItemReader, ItemWriter};
use crate::{ExchangeError, Id, IdSet};

/// The maximum number of news in a message, each of at most ten bytes.
const MAX_NEWS: usize = 1 << 16;

/// What an initiator has requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Difference,
    Everything,
}

#[derive(Debug)]
pub(super) struct Transfer {
    set: IdSet,
    is_initiator: bool,
    /// Whether all items of the responder are sent, known or not.
    sends_everything: bool,
    phase: Phase,
    outbox: VecDeque<Vec<u8>>,
    writer: ItemWriter,
    reader: ItemReader,
    /// Ids still to be provided; empty if everything is sent.
    due: HashSet<Id>,
    /// Everything: in which order it was sent.
    sent: Vec<Id>,
    /// Which of our own ids have come in (or gone out), where everything is sent.
    seen: Marks,
    /// The ids that were received and are new here.
    new: HashSet<Id>,
    /// The number of items that the peer may still send: no more than it said it has.
    due_from_there: u64,
    /// Everything: how many known items came before each new one, and since the last.
    gaps: Vec<u64>,
    gap: u64,
    lacked_there: Vec<Id>,
    union: Fingerprint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    ReceiveNews,
    ReceiveItems,
    Provide,
    ReceiveSeal,
    Finished,
}

impl Transfer {
    pub(super) fn initiator(
        set: IdSet,
        wanted: Wanted,
        lacked_there: Vec<Id>,
        items_there: u64,
    ) -> Self {
        let everything = wanted == Wanted::Everything;
        let lacked = if everything { Vec::new() } else { lacked_there };
        let transfer = Self::new(set, true, everything, lacked, items_there);
        Self { phase: Phase::ReceiveItems, ..transfer }
    }

    pub(super) fn responder(set: IdSet, lacked_there: Vec<Id>, items_there: u64) -> Self {
        Self::new(set, false, false, lacked_there, items_there)
    }

    pub(super) fn responder_of_everything(set: IdSet, items_there: u64) -> Self {
        Self::new(set, false, true, Vec::new(), items_there)
    }

    fn new(
        set: IdSet,
        is_initiator: bool,
        sends_everything: bool,
        lacked_there: Vec<Id>,
        items_there: u64,
    ) -> Self {
        Self {
            due_from_there: items_there,
            is_initiator,
            sends_everything,
            phase: Phase::Provide,
            outbox: VecDeque::new(),
            writer: ItemWriter::default(),
            reader: ItemReader::default(),
            due: lacked_there.iter().copied().collect(),
            sent: Vec::new(),
            seen: Marks::new(if sends_everything { set.ids().len() } else { 0 }),
            new: HashSet::new(),
            gaps: Vec::new(),
            gap: 0,
            lacked_there,
            union: set.fingerprint(),
            set,
        }
    }

    pub(super) fn next_message(&mut self) -> Option<Vec<u8>> {
        self.outbox.pop_front()
    }

    pub(super) fn needs_items(&self) -> bool {
        self.phase == Phase::Provide
    }

    pub(super) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    pub(super) fn lacked_there(&self) -> &[Id] {
        &self.lacked_there
    }

    fn provides_everything(&self) -> bool {
        self.sends_everything && !self.is_initiator
    }

    pub(super) fn provide(&mut self, item: &[u8], traffic: &mut Traffic) {
        if self.phase != Phase::Provide {
            return;
        }
        let id = self.set.key().id(item);
        let is_due = if self.provides_everything() {
            let is_due = self.set.position(id).is_some_and(|position| self.seen.mark(position));
            if is_due {
                self.sent.push(id);
            }
            is_due
        } else {
            self.due.remove(&id)
        };
        if is_due {
            traffic.items_sent += 1;
            traffic.item_bytes_sent += item.len() as u64;
            self.writer.write(item, items_message, &mut self.outbox);
        }
    }

    pub(super) fn provided(&mut self) -> Result<(), ExchangeError> {
        if self.phase != Phase::Provide {
            return Ok(());
        }
        let is_complete = if self.provides_everything() {
            self.sent.len() == self.set.ids().len()
        } else {
            self.due.is_empty()
        };
        if !is_complete {
            return Err(ExchangeError::ItemsChanged);
        }
        let item_count = self.writer.finish(items_message, &mut self.outbox);
        self.outbox.push_back(SessionMessage::ItemsEnd { item_count }.to_bytes());
        self.phase = if self.is_initiator {
            self.outbox.push_back(self.seal());
            Phase::ReceiveSeal
        } else if self.sends_everything {
            Phase::ReceiveNews
        } else {
            Phase::ReceiveItems
        };
        Ok(())
    }

    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        traffic: &mut Traffic,
        mut on_new: impl FnMut(&[u8]),
    ) -> Result<(), ExchangeError> {
        match (self.phase, SessionMessage::from_bytes(bytes)?) {
            (Phase::ReceiveNews, SessionMessage::News { gaps, is_last }) => {
                self.learn_news(&gaps)?;
                if is_last {
                    self.sent = Vec::new();
                    self.phase = Phase::ReceiveItems;
                }
                Ok(())
            }
            (Phase::ReceiveItems, SessionMessage::Items { piece }) => {
                let mut reader = std::mem::take(&mut self.reader);
                reader.read(piece, |item| {
                    if self.take(item)? {
                        traffic.items_received += 1;
                        traffic.item_bytes_received += item.len() as u64;
                        on_new(item);
                    }
                    Ok(())
                })?;
                self.reader = reader;
                Ok(())
            }
            (Phase::ReceiveItems, SessionMessage::ItemsEnd { item_count }) => {
                self.reader.finish(item_count)?;
                self.phase = if self.is_initiator {
                    self.prepare_answer();
                    Phase::Provide
                } else {
                    Phase::ReceiveSeal
                };
                Ok(())
            }
            (Phase::ReceiveSeal, SessionMessage::Seal { item_count, sum }) => {
                if (Fingerprint { count: item_count, sum }) != self.union {
                    return Err(ExchangeError::NotEqual);
                }
                if !self.is_initiator {
                    self.outbox.push_back(self.seal());
                }
                self.phase = Phase::Finished;
                Ok(())
            }
            (phase, message) => Err(message.instead_of(phase.name())),
        }
    }

    /// Processes an item, and returns whether it is new.
    fn take(&mut self, item: &[u8]) -> Result<bool, ExchangeError> {
        self.due_from_there = self.due_from_there.checked_sub(1).ok_or(NOT_ASKED_FOR)?;
        let id = self.set.key().id(item);
        if let Some(position) = self.set.position(id) {
            let is_welcome = self.sends_everything && self.is_initiator && self.seen.mark(position);
            self.gap += 1;
            return if is_welcome { Ok(false) } else { Err(NOT_ASKED_FOR) };
        }
        if !self.new.insert(id) {
            return Err(NOT_ASKED_FOR);
        }
        self.union.insert(id);
        if self.sends_everything && self.is_initiator {
            self.gaps.push(std::mem::take(&mut self.gap));
        }
        Ok(true)
    }

    /// After everything was received: what was new, and what was not received.
    fn prepare_answer(&mut self) {
        if !self.sends_everything {
            return;
        }
        let gaps = std::mem::take(&mut self.gaps);
        let last = gaps.len().saturating_sub(1) / MAX_NEWS;
        for piece in 0..=last {
            let gaps = gaps[piece * MAX_NEWS..gaps.len().min((piece + 1) * MAX_NEWS)].to_vec();
            self.outbox.push_back(SessionMessage::News { gaps, is_last: piece == last }.to_bytes());
        }
        let ids = self.set.ids().iter().enumerate();
        self.lacked_there =
            ids.filter(|&(position, _)| !self.seen.contains(position)).map(|(_, &id)| id).collect();
        self.due = self.lacked_there.iter().copied().collect();
    }

    /// Which of the items that were sent the peer did not know.
    fn learn_news(&mut self, gaps: &[u64]) -> Result<(), ExchangeError> {
        for &gap in gaps {
            // `gap` counts the items from the last one that was news.
            let index = self.gap.saturating_add(gap);
            let id = usize::try_from(index).ok().and_then(|index| self.sent.get(index));
            let id = id.ok_or(ExchangeError::Inconsistent("there is news of an item not sent"))?;
            self.lacked_there.push(*id);
            self.gap = index + 1;
        }
        Ok(())
    }

    fn seal(&self) -> Vec<u8> {
        let Fingerprint { count, sum } = self.union;
        SessionMessage::Seal { item_count: count, sum }.to_bytes()
    }
}

fn items_message(piece: &[u8]) -> Vec<u8> {
    SessionMessage::Items { piece }.to_bytes()
}

const NOT_ASKED_FOR: ExchangeError =
    ExchangeError::Inconsistent("an item came that was not asked for");

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::ReceiveNews => "a list of news",
            Self::ReceiveItems => "items",
            Self::Provide => "nothing before our items",
            Self::ReceiveSeal => "a seal",
            Self::Finished => "nothing",
        }
    }
}

/// A bit for each of our ids.
#[derive(Debug)]
struct Marks(Vec<u64>);

impl Marks {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Sets a mark, and returns whether it was clear before.
    fn mark(&mut self, position: usize) -> bool {
        let word = &mut self.0[position / 64];
        let bit = 1 << (position % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn contains(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 != 0
    }
}
