//! The side that encodes, and follows the initiator's requests.

use std::collections::VecDeque;

use super::limits::SymbolBudget;
use super::message::{MAX_SYMBOLS, SessionMessage};
use super::transfer::Transfer;
use super::{FIRST_ROUND, SECOND_ROUND};
use crate::rateless::Encoder;
use crate::rateless::codec::with_surplus;
use crate::wire::check_limit;
use crate::{ExchangeError, Id, IdSet, Offer, Sieve};

#[derive(Debug)]
pub(super) struct Responder {
    encoder: Encoder,
    awaits: Awaits,
    outbox: VecDeque<Vec<u8>>,
    /// The numbers of symbols sent and requested, of the set as the filters left it.
    sent: u64,
    asked: u64,
    /// The symbols that may still be requested, whatever the filters leave.
    budget: SymbolBudget,
    /// Our filter, as long as it is being sent.
    offer: Option<Offer>,
    /// Whether the peer's filter and ours may still be announced: each is used once.
    may_sift: bool,
    may_offer: bool,
    /// Whether the number of remaining items must still be sent.
    owes_residual: bool,
    /// Ids that the peer certainly lacks, and that are no longer in the encoder's set.
    lacked_there: Vec<Id>,
    /// Ids that the peer asked for; they are still in the encoder's set.
    wanted: Vec<Id>,
    wants_all: bool,
    /// The number of items that the peer says it has.
    items_there: u64,
}

#[derive(Debug)]
enum Awaits {
    Summary,
    Request,
    Filter { sieve: Sieve, width: u32 },
    Wanted,
    Nothing,
}

impl Responder {
    pub(super) fn new(set: IdSet) -> Self {
        Self {
            budget: SymbolBudget::new(set.item_count(), set.item_bytes()),
            encoder: Encoder::new(set, FIRST_ROUND),
            awaits: Awaits::Summary,
            outbox: VecDeque::new(),
            sent: 0,
            asked: 0,
            offer: None,
            may_sift: true,
            may_offer: true,
            owes_residual: false,
            lacked_there: Vec::new(),
            wanted: Vec::new(),
            wants_all: false,
            items_there: 0,
        }
    }

    pub(super) fn next_message(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        if let Some(message) = self.outbox.pop_front() {
            return Ok(Some(message));
        }
        if let Some(offer) = &mut self.offer {
            if let Some(message) = offer.next_message(self.encoder.set())? {
                return Ok(Some(message));
            }
            self.offer = None;
        }
        let item_count = self.encoder.set().item_count();
        if std::mem::take(&mut self.owes_residual) {
            return Ok(Some(SessionMessage::Residual { item_count }.to_bytes()));
        }
        if self.sent == self.asked {
            return Ok(None);
        }
        let start = self.sent;
        self.sent = self.asked.min(start + MAX_SYMBOLS);
        let symbols = with_surplus(self.encoder.symbols(start..self.sent), start, item_count);
        Ok(Some(SessionMessage::Symbols { start, symbols }.to_bytes()))
    }

    pub(super) fn is_concluded(&self) -> bool {
        matches!(self.awaits, Awaits::Nothing)
    }

    pub(super) fn into_transfer(self) -> Transfer {
        let mut set = self.encoder.into_set();
        set.rejoin(&self.lacked_there);
        if self.wants_all {
            // The results of filters no longer matter.
            return Transfer::responder_of_everything(set, self.items_there);
        }
        let mut lacked = self.lacked_there;
        lacked.extend(self.wanted);
        Transfer::responder(set, lacked, self.items_there)
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        let message = SessionMessage::from_bytes(bytes)?;
        match (&mut self.awaits, message) {
            (Awaits::Summary, SessionMessage::Summary { check, item_count, .. }) => {
                self.items_there = item_count;
                let set = self.encoder.set();
                if check != set.key().check_value() {
                    return Err(ExchangeError::SeedMismatch);
                }
                let (item_count, item_bytes) = (set.item_count(), set.item_bytes());
                self.outbox.push_back(
                    SessionMessage::Summary { item_count, item_bytes, check }.to_bytes(),
                );
                self.awaits = Awaits::Request;
            }
            (Awaits::Request, SessionMessage::Pull { up_to }) => {
                if up_to <= self.asked {
                    return Err(ExchangeError::Inconsistent("no new symbols are asked for"));
                }
                self.budget.spend(up_to - self.asked)?;
                self.asked = up_to;
            }
            (Awaits::Request, SessionMessage::Filters { here, there }) => {
                if (here, there) == (0, 0) {
                    return Err(ExchangeError::Inconsistent("no filter is announced"));
                }
                if (here > 0 && !self.may_sift) || (there > 0 && !self.may_offer) {
                    return Err(ExchangeError::Inconsistent("a filter is announced twice"));
                }
                self.may_sift &= here == 0;
                self.may_offer &= there == 0;
                if here > 0 {
                    let sieve = Sieve::new(self.encoder.set().key(), FIRST_ROUND);
                    self.awaits = Awaits::Filter { sieve, width: there };
                } else {
                    self.answer_with_filter(there)?;
                }
            }
            (Awaits::Filter { sieve, width }, SessionMessage::Filter) => {
                sieve.receive(bytes, self.encoder.set())?;
                if sieve.is_complete() {
                    let width = *width;
                    self.lacked_there = sieve.missing().to_vec();
                    self.answer_with_filter(width)?;
                }
            }
            (Awaits::Request | Awaits::Wanted, SessionMessage::Wanted { halves, is_last }) => {
                self.want(&halves)?;
                if is_last {
                    self.wanted.sort_unstable();
                    if self.wanted.windows(2).any(|pair| pair[0] == pair[1]) {
                        return Err(ExchangeError::Inconsistent("an item is wanted twice"));
                    }
                }
                self.awaits = if is_last { Awaits::Nothing } else { Awaits::Wanted };
            }
            (Awaits::Request, SessionMessage::WantAll) => {
                self.wants_all = true;
                self.awaits = Awaits::Nothing;
            }
            (awaits, message) => return Err(message.instead_of(awaits.name())),
        }
        Ok(())
    }

    /// Goes on with the ids that the filter left, and sends their number.
    fn answer_with_filter(&mut self, width: u32) -> Result<(), ExchangeError> {
        let key = self.encoder.set().key();
        let nothing = Encoder::new(IdSet::of_ids(key, Vec::new(), 0), SECOND_ROUND);
        let mut set = std::mem::replace(&mut self.encoder, nothing).into_set();
        set.remove_all(&self.lacked_there);
        if width > 0 {
            self.offer = Some(Offer::new(&set, width, SECOND_ROUND)?);
        }
        self.encoder = Encoder::new(set, SECOND_ROUND);
        self.owes_residual = true;
        (self.sent, self.asked) = (0, 0);
        self.awaits = Awaits::Request;
        Ok(())
    }

    /// Adds the items whose ids begin so.
    fn want(&mut self, halves: &[u64]) -> Result<(), ExchangeError> {
        let set = self.encoder.set();
        let count = (self.wanted.len() + halves.len()) as u64;
        check_limit("number of wanted items", count, set.item_count())?;
        for &half in halves {
            let [id] = *set.with_upper_half(half) else {
                return Err(ExchangeError::Inconsistent("an item is wanted that is not here"));
            };
            self.wanted.push(id);
        }
        Ok(())
    }
}

impl Awaits {
    fn name(&self) -> &'static str {
        match self {
            Self::Summary => "a summary",
            Self::Request => "a request",
            Self::Filter { .. } => "a filter",
            Self::Wanted => "more of the wanted items",
            Self::Nothing => "nothing",
        }
    }
}
