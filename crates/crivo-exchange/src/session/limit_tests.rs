//! Peers that follow the grammar of the protocol and nothing else: what a session does for them has
//! limits.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::limits::SymbolBudget;
use super::message::SessionMessage;
use super::*;
use crate::rateless::Encoder;
use crate::rateless::codec::with_surplus;
use crate::{ExchangeKey, MAX_MESSAGE, Offer};

const KEY: ExchangeKey = ExchangeKey::new([5; 16]);

/// A request to a responder.
#[derive(Debug, Clone, Copy)]
enum Request {
    /// For this share of the symbols that a set could need.
    Symbols(u8),
    /// By filters of these widths.
    Filters(u32, u32),
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        6 => any::<u8>().prop_map(Request::Symbols),
        3 => Just(Request::Filters(0, 0)),
        1 => (0..33u32).prop_map(|here| Request::Filters(here, 0)),
        1 => (0..33u32).prop_map(|there| Request::Filters(0, there)),
        1 => (0..33u32, 0..33u32).prop_map(|(here, there)| Request::Filters(here, there)),
    ]
}

/// What an initiator waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Nothing,
    Symbols { up_to: u64 },
    Filter,
    Residual,
    Items,
}

/// The items of one side.
fn items(range: std::ops::Range<u64>, length: usize) -> BTreeSet<Vec<u8>> {
    range
        .map(|number| {
            let mut item = number.to_le_bytes().to_vec();
            item.resize(length.max(3), 7);
            item
        })
        .collect()
}

fn max_symbols(set: &IdSet) -> u64 {
    SymbolBudget::new(set.item_count(), set.item_bytes()).left()
}

/// What sending a set takes at most.
fn everything(set: &IdSet) -> u64 {
    set.item_bytes() + 10 * set.item_count()
}

/// A peer that sends what is allowed at each point, beside a session that has to answer.
struct Driver {
    session: Session,
    items: BTreeSet<Vec<u8>>,
    theirs: IdSet,
    their_items: BTreeSet<Vec<u8>>,
    awaited: Awaited,
    /// The symbols asked for or sent since the last filter.
    symbols: u64,
    /// The larger, the smaller are requests for symbols.
    part: u64,
    /// The number of symbols that a set is allowed.
    max_symbols: u64,
    /// Whether filters of the peer and of the session have been announced.
    announced: (bool, bool),
    encoder: Encoder,
    /// The messages of filters and items that the session has sent.
    filters: u64,
    pieces: BTreeSet<Vec<u8>>,
}

impl Driver {
    fn new(session: Session, items: BTreeSet<Vec<u8>>, their_items: BTreeSet<Vec<u8>>) -> Self {
        let theirs = IdSet::of_items(KEY, &their_items);
        let max_symbols = max_symbols(&IdSet::of_items(KEY, &items));
        let mut driver = Self {
            session,
            items,
            encoder: Encoder::new(theirs.clone(), FIRST_ROUND),
            theirs,
            their_items,
            awaited: Awaited::Nothing,
            symbols: 0,
            part: 256,
            max_symbols,
            announced: (false, false),
            filters: 0,
            pieces: BTreeSet::new(),
        };
        driver.drain();
        let (item_count, item_bytes) = (driver.theirs.item_count(), driver.theirs.item_bytes());
        let check = KEY.check_value();
        driver.tell(&SessionMessage::Summary { item_count, item_bytes, check });
        driver
    }

    /// Lets the session do all that it can without a message.
    fn drain(&mut self) {
        loop {
            match self.session.action() {
                Ok(Action::Send(message)) => self.note(&message),
                Ok(Action::Provide) => {
                    self.items.iter().for_each(|item| self.session.provide(item));
                    if self.session.provided().is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn note(&mut self, message: &[u8]) {
        assert!(message.len() <= MAX_MESSAGE);
        match SessionMessage::from_bytes(message).unwrap() {
            SessionMessage::Filter => self.filters += 1,
            SessionMessage::Items { .. } => {
                assert!(self.pieces.insert(message.to_vec()), "items are sent twice");
            }
            SessionMessage::Pull { up_to } => self.awaited = Awaited::Symbols { up_to },
            SessionMessage::Filters { there, .. } => {
                self.encoder = Encoder::new(self.theirs.clone(), SECOND_ROUND);
                self.symbols = 0;
                self.awaited = if there > 0 { Awaited::Filter } else { Awaited::Residual };
            }
            SessionMessage::Wanted { .. } | SessionMessage::WantAll => {
                self.awaited = Awaited::Items;
            }
            _ => {}
        }
    }

    fn tell(&mut self, message: &SessionMessage<'_>) {
        self.tell_bytes(&message.to_bytes());
    }

    /// An error ends the session, which then sends nothing more.
    fn tell_bytes(&mut self, bytes: &[u8]) {
        let _ = self.session.receive(bytes, |_| {});
        self.drain();
    }

    fn tell_filter(&mut self, is_empty: bool, round: u64) {
        let nothing = IdSet::of_ids(KEY, Vec::new(), 0);
        let set = if is_empty { &nothing } else { &self.theirs };
        let mut offer = Offer::new(set, 8, round).unwrap();
        let message = offer.next_message(set).unwrap().unwrap();
        self.tell_bytes(&message);
    }

    /// Asks a responder.
    fn ask(&mut self, request: Request) {
        match request {
            Request::Symbols(share) => {
                let wanted = 1 + u64::from(share) * self.items.len() as u64 / self.part;
                let up_to = (self.symbols + wanted).min(self.max_symbols);
                if up_to == self.symbols {
                    return;
                }
                self.symbols = up_to;
                self.tell(&SessionMessage::Pull { up_to: self.symbols });
            }
            Request::Filters(here, there) => {
                // A filter of each side, and announcements of none.
                let here = if self.announced.0 { 0 } else { here };
                let there = if self.announced.1 { 0 } else { there };
                self.announced = (self.announced.0 || here > 0, self.announced.1 || there > 0);
                self.symbols = 0;
                self.tell(&SessionMessage::Filters { here, there });
                if here > 0 {
                    self.tell_filter(there % 2 == 1, FIRST_ROUND);
                }
            }
        }
    }

    /// Asks a responder for items, and sends it those that it lacks.
    fn conclude(&mut self, share: u8, wants_all: bool) {
        if wants_all {
            self.tell(&SessionMessage::WantAll);
            self.tell(&SessionMessage::News { gaps: Vec::new(), is_last: true });
        } else {
            let ids = self.items.iter().map(|item| KEY.id(item).upper_half());
            let halves = ids.take(self.items.len() * usize::from(share) / 255).collect();
            self.tell(&SessionMessage::Wanted { halves, is_last: true });
        }
        self.tell_items();
    }

    fn tell_items(&mut self) {
        let mut piece = Vec::new();
        for item in self.their_items.difference(&self.items) {
            crate::wire::put_number(&mut piece, item.len() as u64);
            piece.extend(item);
        }
        let item_count = self.their_items.difference(&self.items).count() as u64;
        self.tell(&SessionMessage::Items { piece: &piece });
        self.tell(&SessionMessage::ItemsEnd { item_count });
    }

    /// Gives an initiator what it awaits.
    fn answer(&mut self, choice: u8) {
        match std::mem::replace(&mut self.awaited, Awaited::Nothing) {
            Awaited::Symbols { up_to } => {
                let start = self.symbols;
                let end = (start + 1 + u64::from(choice) * u64::from(choice)).min(up_to);
                let symbols = self.encoder.symbols(start..end);
                let mut symbols = with_surplus(symbols, start, self.theirs.item_count());
                // Now and then one that never becomes empty, and symbols of nothing.
                match choice % 8 {
                    0 => symbols[0].check ^= 1,
                    1 => symbols.fill(Default::default()),
                    _ => {}
                }
                self.symbols = end;
                if end < up_to {
                    self.awaited = Awaited::Symbols { up_to };
                }
                self.tell(&SessionMessage::Symbols { start, symbols });
            }
            Awaited::Filter => {
                self.awaited = Awaited::Residual;
                self.tell_filter(choice.is_multiple_of(4), SECOND_ROUND);
            }
            Awaited::Residual => {
                let item_count = self.theirs.item_count() * u64::from(choice) / 255;
                self.tell(&SessionMessage::Residual { item_count });
            }
            Awaited::Items => self.tell_items(),
            Awaited::Nothing => {}
        }
    }

    /// The limits that the documentation of [`Session`] states.
    fn check(&self, received: u64) {
        let set = IdSet::of_items(KEY, &self.items);
        let sent = self.session.traffic().sent;
        let limit = 4 * everything(&set) + (32 << 10) + received;
        assert!(sent <= limit, "{sent} bytes were sent, more than {limit}");
        assert!(self.filters <= 1, "{} filters of a small set were sent", self.filters);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 300 }))]

    #[test]
    fn a_responder_sends_no_more_than_four_times_everything(
        requests in vec(request(), 0..40), count in 0..2_000u64, length in 3..80usize,
        theirs in 0..300u64, part in 16..500u64, (share, wants_all) in any::<(u8, bool)>(),
    ) {
        let own = items(0..count, length);
        let session = Session::responder(IdSet::of_items(KEY, &own));
        let mut driver = Driver::new(session, own, items(count / 2..count / 2 + theirs, length));
        driver.part = part;
        for &request in &requests {
            driver.ask(request);
        }
        driver.conclude(share, wants_all);
        driver.check(0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn an_initiator_sends_no_more_than_that_and_what_it_received(
        choices in vec(any::<u8>(), 1..60), count in 0..500u64, length in 3..80usize,
        theirs in 0..2_000u64,
        policy in prop_oneof![
            Just(SyncPolicy::Cheapest),
            Just(SyncPolicy::Fixed(Protocol::Rateless)),
            (0..33u32, 0..33u32).prop_map(|(here, there)| {
                SyncPolicy::Fixed(Protocol::Filters { here, there })
            }),
        ],
    ) {
        let own = items(0..count, length);
        let session = Session::initiator_with(IdSet::of_items(KEY, &own), policy);
        let mut driver = Driver::new(session, own, items(count / 2..count / 2 + theirs, length));
        for &choice in &choices {
            driver.answer(choice);
        }
        driver.check(driver.session.traffic().received);
    }
}

/// An announcement of no filters used to begin the count of symbols from 0: a peer that sent 455
/// bytes was sent 112 times the whole set.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn announcements_of_filters_give_no_new_symbols() {
    let own = items(0..40_000, 22);
    let set = IdSet::of_items(KEY, &own);
    let max = max_symbols(&set);
    for widths in [vec![(0, 0); 50], vec![(0, 1), (0, 0), (0, 1)], vec![(0, 1)]] {
        let session = Session::responder(set.clone());
        let mut driver = Driver::new(session, own.clone(), BTreeSet::new());
        driver.tell(&SessionMessage::Pull { up_to: max });
        for (here, there) in widths {
            driver.tell(&SessionMessage::Filters { here, there });
            driver.tell(&SessionMessage::Pull { up_to: max });
        }
        driver.check(0);
        assert_eq!(driver.session.action(), Err(ExchangeError::Failed));
    }
}

#[test]
fn an_item_is_wanted_once() {
    let own = items(0..10, 8);
    let session = Session::responder(IdSet::of_items(KEY, &own));
    let mut driver = Driver::new(session, own.clone(), BTreeSet::new());
    let half = KEY.id(own.first().unwrap()).upper_half();
    driver.tell(&SessionMessage::Wanted { halves: vec![half], is_last: false });
    let again = SessionMessage::Wanted { halves: vec![half], is_last: true }.to_bytes();
    let refused = driver.session.receive(&again, |_| {});
    assert_eq!(refused, Err(ExchangeError::Inconsistent("an item is wanted twice")));
}

/// A peer that sends more items than it said it has.
#[test]
fn items_beyond_the_summary_are_refused() {
    let session = Session::initiator(IdSet::of_items(KEY, [b"ana"]));
    let mut driver = Driver::new(session, items(0..0, 3), items(0..2, 3));
    let piece = b"\x03one\x03two\x05three";
    let refused = driver.session.receive(&SessionMessage::Items { piece }.to_bytes(), |_| {});
    assert!(matches!(refused, Err(ExchangeError::Inconsistent(_))), "{refused:?}");
}
