//! The side that decodes and decides.

use std::collections::VecDeque;

use super::limits::SymbolBudget;
use super::message::{MAX_WANTED, SessionMessage};
use super::transfer::{Transfer, Wanted};
use super::{FIRST_ROUND, SECOND_ROUND, SyncPolicy};
use crate::offer::{MAX_WIDTH, fpr};
use crate::plan::FIRST_PULL;
use crate::rateless::codec::{FIXED_BYTES, symbols_bytes, with_count};
use crate::rateless::{Decoder, expected_symbols};
use crate::{ExchangeError, Id, IdSet, Offer, Protocol, Sieve, Situation, SyncPlan};

/// Sets of fewer bytes are sent as they are: one request, and no guessing.
const TINY: f64 = 1024.0;
/// The minimum number of symbols per request.
const MIN_PULL: u64 = 4;
/// The fraction of the symbols so far that is requested when decoding may end at any of them: more
/// wastes symbols, less takes more messages.
const SMALL_STEP: u64 = 24;
/// A better estimate may cost this fraction of the amount at stake.
const PRICE_OF_KNOWING: f64 = 0.06;
/// A relative standard error that needs no better estimate.
const GOOD_ENOUGH: f64 = 0.1;

#[derive(Debug)]
pub(super) struct Initiator {
    policy: SyncPolicy,
    decoder: Decoder,
    /// The peer's summary of its set.
    there: Option<There>,
    /// The symbols that may still be requested.
    budget: SymbolBudget,
    /// The bytes of the symbols before the filters.
    spent_before: f64,
    /// The number of items in the peer's symbols.
    coded_there: u64,
    awaits: Awaits,
    outbox: VecDeque<Vec<u8>>,
    /// Our filter, as long as it is being sent.
    offer: Option<Offer>,
    /// The widths of the filters that have been sent, ours and the peer's; 0 for none.
    filtered: (u32, u32),
    /// Ids that the peer certainly lacks, and that are no longer in the decoder's set.
    lacked_there: Vec<Id>,
    plan: Option<SyncPlan>,
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
    pub(super) fn new(set: IdSet, policy: SyncPolicy) -> Self {
        let summary = SessionMessage::Summary {
            item_count: set.item_count(),
            item_bytes: set.item_bytes(),
            check: set.key().check_value(),
        };
        Self {
            policy,
            decoder: Decoder::new(set, FIRST_ROUND),
            there: None,
            budget: SymbolBudget::new(0, 0),
            spent_before: 0.0,
            coded_there: 0,
            awaits: Awaits::Summary,
            outbox: VecDeque::from([summary.to_bytes()]),
            offer: None,
            filtered: (0, 0),
            lacked_there: Vec::new(),
            plan: None,
            wanted: None,
        }
    }

    pub(super) fn plan(&self) -> Option<SyncPlan> {
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

    /// Whether the request is decided, and all of it has been sent.
    pub(super) fn is_concluded(&self) -> bool {
        self.wanted.is_some() && self.outbox.is_empty()
    }

    pub(super) fn into_transfer(self) -> Transfer {
        let (mut set, difference) = self.decoder.into_parts();
        set.rejoin(&self.lacked_there);
        let mut lacked = self.lacked_there;
        lacked.extend(difference.only_here);
        let items_there = self.there.map_or(0, |there| there.item_count);
        Transfer::initiator(set, self.wanted.unwrap_or(Wanted::Everything), lacked, items_there)
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        let message = SessionMessage::from_bytes(bytes)?;
        match (&mut self.awaits, message) {
            (Awaits::Summary, SessionMessage::Summary { item_count, item_bytes, check }) => {
                if check != self.decoder.set().key().check_value() {
                    return Err(ExchangeError::SeedMismatch);
                }
                self.there = Some(There { item_count, item_bytes });
                self.budget = SymbolBudget::new(item_count, item_bytes);
                self.coded_there = item_count;
                self.begin()
            }
            (Awaits::Symbols { up_to }, SessionMessage::Symbols { start, symbols }) => {
                let (up_to, received) = (*up_to, self.decoder.received());
                if start != received || symbols.is_empty() || start + symbols.len() as u64 > up_to {
                    return Err(ExchangeError::Inconsistent("symbols are out of order"));
                }
                self.decoder.receive(&with_count(&symbols, start, self.coded_there))?;
                if self.decoder.received() == up_to {
                    self.decide()?;
                }
                Ok(())
            }
            (Awaits::Filter(sieve), SessionMessage::Filter) => {
                sieve.receive(bytes, self.decoder.set())?;
                if sieve.is_complete() {
                    self.lacked_there = sieve.missing().to_vec();
                    self.awaits = Awaits::Residual;
                }
                Ok(())
            }
            (Awaits::Residual, SessionMessage::Residual { item_count }) => {
                if item_count > self.coded_there {
                    return Err(ExchangeError::Inconsistent(
                        "filters leave more items than before",
                    ));
                }
                self.spent_before += self.spent_on_symbols();
                self.coded_there = item_count;
                let key = self.decoder.set().key();
                let nothing = Decoder::new(IdSet::of_ids(key, Vec::new(), 0), SECOND_ROUND);
                let (mut set, _) = std::mem::replace(&mut self.decoder, nothing).into_parts();
                set.remove_all(&self.lacked_there);
                self.decoder = Decoder::new(set, SECOND_ROUND);
                self.offer = None;
                match self.second_filter() {
                    Some((here, there)) => self.exchange_filters(here, there)?,
                    None => self.pull(FIRST_PULL)?,
                }
                Ok(())
            }
            (awaits, message) => Err(message.instead_of(awaits.name())),
        }
    }

    /// The first request. Tiny sets are sent whole.
    fn begin(&mut self) -> Result<(), ExchangeError> {
        let situation = self.situation(0.0);
        let is_trivial =
            situation.here == 0 || situation.there == 0 || situation.everything() <= TINY;
        match self.policy {
            SyncPolicy::Fixed(protocol) => self.follow(protocol),
            SyncPolicy::Cheapest if is_trivial => self.choose(situation.priced_everything()),
            SyncPolicy::Cheapest => self.pull(FIRST_PULL),
        }
    }

    /// The bytes of the symbols received since the filters.
    fn spent_on_symbols(&self) -> f64 {
        symbols_bytes(self.coded_there as f64, self.decoder.received() as f64)
    }

    /// What comes after symbols: the end, more of them, or another protocol.
    fn decide(&mut self) -> Result<(), ExchangeError> {
        if let Some(difference) = self.decoder.difference() {
            let wanted: Vec<Id> = difference.only_there.clone();
            self.want(&wanted);
            return Ok(());
        }
        let received = self.decoder.received();
        let cost_of = |symbols: u64| symbols_bytes(self.coded_there as f64, symbols as f64);
        let spent = self.spent_on_symbols();
        let estimate = self.decoder.estimate();
        let size = estimate.map_or(0.0, |estimate| estimate.size);
        let situation = self.situation(size);
        let error = estimate.map_or(f64::INFINITY, |estimate| estimate.standard_error);
        // The larger the estimated difference, the cheaper sending everything seems: so a cautious
        // estimate is used.
        let cautious = self.situation((size - error).max(0.0));
        // Decoding never costs more than what it is meant to save: all items.
        let limit = cautious.everything_cost().max(cost_of(FIRST_PULL)) - self.spent_before;
        if spent >= limit {
            return self.follow(Protocol::Everything);
        }
        let affordable = (limit / (FIXED_BYTES + 1) as f64) as u64;
        let more = next_pull(received, size).min(affordable.max(received + MIN_PULL));
        if self.policy != SyncPolicy::Cheapest || self.filtered != (0, 0) {
            return self.pull(more);
        }
        let least = cost_of(more) - spent;
        let bytes = (situation.cost(Protocol::Rateless) - spent).max(least);
        let rest = SyncPlan { protocol: Protocol::Rateless, bytes };
        let other = situation.best_filters().cheaper(cautious.priced_everything());
        if rest.bytes <= other.bytes {
            self.plan = Some(rest);
            // Where the costs are close, decide again sooner.
            let is_close = rest.bytes > other.bytes / 2.0;
            self.pull(if is_close { more.min(2 * received) } else { more })
        } else if error > GOOD_ENOUGH * size && spent < PRICE_OF_KNOWING * other.bytes {
            self.pull(2 * received)
        } else {
            self.choose(other)
        }
    }

    fn choose(&mut self, plan: SyncPlan) -> Result<(), ExchangeError> {
        self.plan = Some(plan);
        self.follow(plan.protocol)
    }

    /// Starts a protocol.
    fn follow(&mut self, protocol: Protocol) -> Result<(), ExchangeError> {
        match protocol {
            Protocol::Rateless | Protocol::Filters { here: 0, there: 0 } => self.pull(FIRST_PULL),
            Protocol::Filters { here, there } => {
                let (here, there) = self.first_filter(here, there);
                self.exchange_filters(here, there)
            }
            Protocol::Everything => {
                self.outbox.push_back(SessionMessage::WantAll.to_bytes());
                self.finish(Wanted::Everything);
                Ok(())
            }
        }
    }

    fn situation(&self, difference: f64) -> Situation {
        // Called only once the peer's summary is there.
        let there = self.there.unwrap_or(There { item_count: 0, item_bytes: 0 });
        Situation {
            here: self.decoder.set().item_count(),
            there: there.item_count,
            there_bytes: there.item_bytes,
            difference,
        }
    }

    /// Requests symbols up to this number, or as many as the peer allows; everything, if it allows
    /// no more.
    fn pull(&mut self, up_to: u64) -> Result<(), ExchangeError> {
        let received = self.decoder.received();
        let count = up_to.saturating_sub(received).min(self.budget.left());
        if count == 0 {
            return self.follow(Protocol::Everything);
        }
        self.budget.spend(count)?;
        let up_to = received + count;
        self.outbox.push_back(SessionMessage::Pull { up_to }.to_bytes());
        self.awaits = Awaits::Symbols { up_to };
        Ok(())
    }

    /// Of two filters the smaller set's goes first: it shows how many items are on one side only, and so
    /// whether the other one pays at all. The plan is for ours before the peer's.
    fn first_filter(&self, here: u32, there: u32) -> (u32, u32) {
        if self.policy != SyncPolicy::Cheapest || here == 0 || there == 0 {
            return (here, there);
        }
        let size = self.decoder.estimate().map_or(0.0, |estimate| estimate.size);
        let situation = self.situation(size);
        if situation.here < situation.there {
            return (here, 0);
        }
        let mirrored = Situation { here: situation.there, there: situation.here, ..situation };
        match mirrored.best_filters().protocol {
            Protocol::Filters { here: width @ 1.., .. } => (0, width),
            _ => (0, there),
        }
    }

    /// After one filter: the widths of another one, if that pays.
    fn second_filter(&self) -> Option<(u32, u32)> {
        let There { item_count, item_bytes } = self.there?;
        // Of the ids that were queried, these were found missing on the other side.
        let (width, found) = match self.filtered {
            (here, 0) => (here, item_count.saturating_sub(self.coded_there)),
            (0, there) => (there, self.lacked_there.len() as u64),
            _ => return None,
        };
        if self.policy != SyncPolicy::Cheapest {
            return None;
        }
        let missed = found as f64 * fpr(width) / (1.0 - fpr(width));
        // Both sides have as many in common: what one lacks less what the other lacks is known.
        let here = self.decoder.set().item_count();
        let surplus = here as f64 - self.coded_there as f64;
        let others = if self.filtered.0 > 0 { missed + surplus } else { missed - surplus };
        let left = Situation {
            here,
            there: self.coded_there,
            there_bytes: mean_bytes(item_bytes, item_count, self.coded_there),
            difference: missed + others.max(0.0),
        };
        let widths = |width| if self.filtered.0 > 0 { (0, width) } else { (width, 0) };
        let cost = |&width: &u32| {
            let (here, there) = widths(width);
            left.cost(Protocol::Filters { here, there })
        };
        let best = (1..=MAX_WIDTH).min_by(|one, other| cost(one).total_cmp(&cost(other)))?;
        // Without it symbols would have to find all of it: sending everything is no longer possible.
        let by_symbols = left.cost(Protocol::Filters { here: 0, there: 0 });
        (cost(&best) < by_symbols).then(|| widths(best))
    }

    fn exchange_filters(&mut self, here: u32, there: u32) -> Result<(), ExchangeError> {
        self.filtered.0 += here;
        self.filtered.1 += there;
        self.outbox.push_back(SessionMessage::Filters { here, there }.to_bytes());
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
        let last = halves.len().saturating_sub(1) / MAX_WANTED;
        for piece in 0..=last {
            let end = halves.len().min((piece + 1) * MAX_WANTED);
            let halves = halves[piece * MAX_WANTED..end].to_vec();
            let message = SessionMessage::Wanted { halves, is_last: piece == last };
            self.outbox.push_back(message.to_bytes());
        }
        self.finish(Wanted::Difference);
    }

    fn finish(&mut self, wanted: Wanted) {
        self.awaits = Awaits::Nothing;
        self.wanted = Some(wanted);
    }
}

/// The length of `left` of these items, if all have the same length.
fn mean_bytes(item_bytes: u64, item_count: u64, left: u64) -> u64 {
    (item_bytes as f64 / item_count.max(1) as f64 * left as f64) as u64
}

/// Up to which symbol to ask: carefully while the estimate is rough, up to where decoding may
/// succeed, and from there in small steps.
fn next_pull(received: u64, difference: f64) -> u64 {
    let target = (0.97 * expected_symbols(difference)) as u64;
    let least = received + (received / SMALL_STEP).max(MIN_PULL);
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
