//! The side that decodes and decides.

use std::collections::VecDeque;

use super::message::{MOST_WANTED, Message, absolute};
use super::transfer::{Transfer, Wanted};
use super::{FIRST_ROUND, Policy, SECOND_ROUND};
use crate::exchange::plan::{FIRST_PULL, symbol_bytes};
use crate::exchange::rateless::{Decoder, expected_symbols};
use crate::exchange::{ExchangeError, Id, IdSet, Offer, Plan, Protocol, Sieve, Situation};

/// Sets of fewer bytes are sent as they are: one request, and no guessing.
const TINY: f64 = 1024.0;
/// The fewest symbols that are worth a message.
const LEAST_PULL: u64 = 4;
/// The share of the symbols so far that is asked for when decoding may end at any of them: more
/// wastes symbols, less takes more messages.
const SMALL_STEP: u64 = 24;
/// To look closer may cost this share of what is to be decided about.
const PRICE_OF_KNOWING: f64 = 0.06;
/// A standard error, relative to the size, that needs no closer look.
const GOOD_ENOUGH: f64 = 0.1;

#[derive(Debug)]
pub(super) struct Initiator {
    policy: Policy,
    decoder: Decoder,
    /// What the peer said of its set.
    there: Option<There>,
    /// How many items the peer's symbols are made of.
    coded_there: u64,
    awaits: Awaits,
    outbox: VecDeque<Vec<u8>>,
    /// Our filter, as long as it is being sent.
    offer: Option<Offer>,
    /// Filters are exchanged at most once.
    has_filtered: bool,
    /// Ids that the peer certainly lacks, and that are no longer in the decoder's set.
    lacked_there: Vec<Id>,
    plan: Option<Plan>,
    wanted: Option<Wanted>,
}

#[derive(Debug, Clone, Copy)]
struct There {
    item_count: u64,
    item_bytes: u64,
}

#[derive(Debug)]
enum Awaits {
    Summary,
    Symbols { up_to: u64 },
    Filter(Sieve),
    Residual,
    Nothing,
}

impl Initiator {
    pub(super) fn new(set: IdSet, policy: Policy) -> Self {
        let summary = Message::Summary {
            item_count: set.item_count(),
            item_bytes: set.item_bytes(),
            check: set.key().check_value(),
        };
        Self {
            policy,
            decoder: Decoder::new(set, FIRST_ROUND),
            there: None,
            coded_there: 0,
            awaits: Awaits::Summary,
            outbox: VecDeque::from([summary.to_bytes()]),
            offer: None,
            has_filtered: false,
            lacked_there: Vec::new(),
            plan: None,
            wanted: None,
        }
    }

    pub(super) fn plan(&self) -> Option<Plan> {
        self.plan
    }

    pub(super) fn next_message(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        if let Some(message) = self.outbox.pop_front() {
            return Ok(Some(message));
        }
        match &mut self.offer {
            Some(offer) => offer.next_message(self.decoder.set()),
            None => Ok(None),
        }
    }

    /// Whether it is known what to ask for, and all has been sent.
    pub(super) fn is_concluded(&self) -> bool {
        self.wanted.is_some() && self.outbox.is_empty()
    }

    pub(super) fn into_transfer(self) -> Transfer {
        let (mut set, difference) = self.decoder.into_parts();
        set.rejoin(&self.lacked_there);
        let mut lacked = self.lacked_there;
        lacked.extend(difference.only_here);
        Transfer::initiator(set, self.wanted.unwrap_or(Wanted::Everything), lacked)
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        let message = Message::from_bytes(bytes)?;
        match (&mut self.awaits, message) {
            (Awaits::Summary, Message::Summary { item_count, item_bytes, check }) => {
                if check != self.decoder.set().key().check_value() {
                    return Err(ExchangeError::SeedMismatch);
                }
                self.there = Some(There { item_count, item_bytes });
                self.coded_there = item_count;
                self.begin()
            }
            (Awaits::Symbols { up_to }, Message::Symbols { start, symbols }) => {
                let (up_to, received) = (*up_to, self.decoder.received());
                if start != received || symbols.is_empty() || start + symbols.len() as u64 > up_to {
                    return Err(ExchangeError::Inconsistent("symbols are out of order"));
                }
                self.decoder.receive(&absolute(&symbols, start, self.coded_there))?;
                if self.decoder.received() == up_to {
                    self.decide()?;
                }
                Ok(())
            }
            (Awaits::Filter(sieve), Message::Filter) => {
                sieve.receive(bytes, self.decoder.set())?;
                if sieve.is_complete() {
                    self.lacked_there = sieve.missing().to_vec();
                    self.awaits = Awaits::Residual;
                }
                Ok(())
            }
            (Awaits::Residual, Message::Residual { item_count }) => {
                self.coded_there = item_count;
                let key = self.decoder.set().key();
                let nothing = Decoder::new(IdSet::of_ids(key, Vec::new(), 0), SECOND_ROUND);
                let (mut set, _) = std::mem::replace(&mut self.decoder, nothing).into_parts();
                set.remove_all(&self.lacked_there);
                self.decoder = Decoder::new(set, SECOND_ROUND);
                self.offer = None;
                self.pull(FIRST_PULL);
                Ok(())
            }
            (awaits, message) => Err(message.instead_of(awaits.name())),
        }
    }

    /// The first request. Tiny sets are not worth a symbol.
    fn begin(&mut self) -> Result<(), ExchangeError> {
        let situation = self.situation(0.0);
        let is_trivial =
            situation.here == 0 || situation.there == 0 || situation.everything() <= TINY;
        match self.policy {
            Policy::Fixed(protocol) => self.follow(protocol),
            Policy::Cheapest if is_trivial => self.choose(situation.priced_everything()),
            Policy::Cheapest => {
                self.pull(FIRST_PULL);
                Ok(())
            }
        }
    }

    /// What comes after symbols: the end, more of them, or another protocol.
    fn decide(&mut self) -> Result<(), ExchangeError> {
        if let Some(difference) = self.decoder.difference() {
            let wanted: Vec<Id> = difference.only_there.clone();
            self.want(&wanted);
            return Ok(());
        }
        let received = self.decoder.received();
        let one = symbol_bytes(self.coded_there as f64, received as f64);
        let spent = received as f64 * one;
        let estimate = self.decoder.estimate();
        let size = estimate.map_or(0.0, |estimate| estimate.size);
        let situation = self.situation(size);
        // Decoding never costs more than what it is meant to save: the items that both have.
        let limit = situation.cost(Protocol::Everything).max(FIRST_PULL as f64 * one);
        if spent > limit {
            return self.follow(Protocol::Everything);
        }
        let more = next_pull(received, size);
        if self.policy != Policy::Cheapest || self.has_filtered {
            self.pull(more);
            return Ok(());
        }
        let least = (more - received) as f64 * one;
        let bytes = (situation.cost(Protocol::Rateless) - spent).max(least);
        let rest = Plan { protocol: Protocol::Rateless, bytes };
        let other = situation.best_filters().cheaper(situation.priced_everything());
        let error = estimate.map_or(f64::INFINITY, |estimate| estimate.standard_error);
        if rest.bytes <= other.bytes {
            self.plan = Some(rest);
            // Where it is a close call, the next look comes sooner.
            let is_close = rest.bytes > other.bytes / 2.0;
            self.pull(if is_close { more.min(2 * received) } else { more });
            Ok(())
        } else if error > GOOD_ENOUGH * size && spent < PRICE_OF_KNOWING * other.bytes {
            self.pull(2 * received);
            Ok(())
        } else {
            self.choose(other)
        }
    }

    fn choose(&mut self, plan: Plan) -> Result<(), ExchangeError> {
        self.plan = Some(plan);
        self.follow(plan.protocol)
    }

    /// Begins with a protocol.
    fn follow(&mut self, protocol: Protocol) -> Result<(), ExchangeError> {
        match protocol {
            Protocol::Rateless => self.pull(FIRST_PULL),
            Protocol::Filters { here, there } => self.exchange_filters(here, there)?,
            Protocol::Everything => {
                self.outbox.push_back(Message::WantAll.to_bytes());
                self.finish(Wanted::Everything);
            }
        }
        Ok(())
    }

    fn situation(&self, difference: f64) -> Situation {
        // Asked only once the peer's summary is there.
        let there = self.there.unwrap_or(There { item_count: 0, item_bytes: 0 });
        Situation {
            here: self.decoder.set().item_count(),
            there: there.item_count,
            there_bytes: there.item_bytes,
            difference,
        }
    }

    fn pull(&mut self, up_to: u64) {
        self.outbox.push_back(Message::Pull { up_to }.to_bytes());
        self.awaits = Awaits::Symbols { up_to };
    }

    fn exchange_filters(&mut self, here: u32, there: u32) -> Result<(), ExchangeError> {
        self.has_filtered = true;
        self.outbox.push_back(Message::Filters { here, there }.to_bytes());
        if here > 0 {
            self.offer = Some(Offer::new(self.decoder.set(), here, FIRST_ROUND)?);
        }
        self.awaits = if there > 0 {
            Awaits::Filter(Sieve::new(self.decoder.set().key(), SECOND_ROUND))
        } else {
            Awaits::Residual
        };
        Ok(())
    }

    fn want(&mut self, wanted: &[Id]) {
        let halves: Vec<u64> = wanted.iter().map(|id| id.upper_half()).collect();
        let last = halves.len().saturating_sub(1) / MOST_WANTED;
        for piece in 0..=last {
            let end = halves.len().min((piece + 1) * MOST_WANTED);
            let halves = halves[piece * MOST_WANTED..end].to_vec();
            let message = Message::Wanted { halves, is_last: piece == last };
            self.outbox.push_back(message.to_bytes());
        }
        self.finish(Wanted::Difference);
    }

    fn finish(&mut self, wanted: Wanted) {
        self.awaits = Awaits::Nothing;
        self.wanted = Some(wanted);
    }
}

/// How far to ask for symbols: carefully while the estimate is rough, up to where decoding may
/// succeed, and from there in small steps.
fn next_pull(received: u64, difference: f64) -> u64 {
    let target = (0.97 * expected_symbols(difference)) as u64;
    let least = received + (received / SMALL_STEP).max(LEAST_PULL);
    target.min(4 * received).max(least)
}

impl Awaits {
    fn name(&self) -> &'static str {
        match self {
            Self::Summary => "a summary",
            Self::Symbols { .. } => "symbols",
            Self::Filter(_) => "a filter",
            Self::Residual => "a remaining count",
            Self::Nothing => "nothing",
        }
    }
}
