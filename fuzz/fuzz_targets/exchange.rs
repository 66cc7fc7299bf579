//! Hostile peers: whatever messages come, in whatever order, the answer is an error or a step, and a
//! session sends no more than its documentation allows.
//!
//! The input is cut into messages: two bytes of length, then the bytes. The first byte of the input
//! chooses who is attacked. Version and key check are made right, which a fuzzer would never guess.
//! Checksums of symbols it would not guess either: two kinds of attack let honest peers talk over a
//! line that spoils a byte here and there.

#![no_main]

use std::collections::BTreeSet;

use crivo_exchange::join::{Answerer, Asker};
use crivo_exchange::{
    Action, ExchangeKey, Greeting, IdSet, Protocol, Session, Sieve, Strata, SyncPolicy,
};
use libfuzzer_sys::fuzz_target;

const FILTERS: SyncPolicy = SyncPolicy::Fixed(Protocol::Filters { here: 8, there: 8 });
const SYMBOLS: SyncPolicy = SyncPolicy::Fixed(Protocol::Rateless);
const ITEMS: [&[u8]; 5] = [b"ana", b"rui", b"eva", b"", b"ivo"];

fuzz_target!(|input: &[u8]| {
    let Some((&who, mut rest)) = input.split_first() else { return };
    let key = ExchangeKey::new([7; 16]);
    let set = IdSet::of_items(key, ITEMS);
    let mut messages = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let (body, behind) = behind.split_at(length);
        messages.push([&[1], body].concat());
        rest = behind;
    }
    match who % 9 {
        0 => attack(Session::responder(set.clone()), summary(set), &messages),
        1 => attack(Session::initiator(set.clone()), summary(set), &messages),
        // So few items are worth no symbols and no filters, unless somebody asks for them.
        2 => attack(Session::initiator_with(set.clone(), SYMBOLS), summary(set), &messages),
        3 => attack(Session::initiator_with(set.clone(), FILTERS), summary(set), &messages),
        4 => talk(SYMBOLS, &input[1..]),
        5 => talk(FILTERS, &input[1..]),
        6 => {
            let (mut asker, mut answerer) = (Asker::new(1), Answerer::new(1));
            ITEMS.iter().for_each(|item| asker.insert(item));
            ITEMS.iter().for_each(|item| answerer.survey(item, 100));
            if let Action::Send(survey) = answerer.action() {
                let _ = asker.receive(&survey, |_| true);
            }
            for message in &messages {
                let _ = (asker.receive(message, |_| true), answerer.receive(message));
                while let Action::Send(_) = asker.action() {}
                while let Action::Send(_) = answerer.action() {}
            }
        }
        7 => {
            let mut sieve = Sieve::new(key, 0);
            for message in &messages {
                let _ = sieve.receive(message, &set);
            }
            let _ = sieve.common(&set).count();
        }
        _ => {
            for message in &messages {
                if let Ok(strata) = Strata::from_bytes(message, key) {
                    assert_eq!(strata.to_bytes(), *message);
                    let _ = strata.estimate(&set);
                }
                if let Some(greeting) = message.first_chunk() {
                    let _ = Greeting::from_bytes(greeting);
                }
            }
        }
    }
});

/// What an honest peer with the same key says first.
fn summary(set: IdSet) -> Vec<u8> {
    match Session::initiator(set).action() {
        Ok(Action::Send(summary)) => summary,
        other => panic!("a session begins with its summary, not with {other:?}"),
    }
}

fn attack(mut session: Session, summary: Vec<u8>, messages: &[Vec<u8>]) {
    let items = ITEMS.iter().map(|item| item.to_vec()).collect();
    for message in std::iter::once(&summary).chain(messages) {
        let _ = session.receive(message, |_| {});
        say(&mut session, &items);
    }
    let everything: u64 = ITEMS.iter().map(|item| item.len() as u64 + 10).sum();
    let traffic = session.traffic();
    assert!(traffic.sent <= 4 * everything + (32 << 10) + traffic.received);
}

/// What a session has to say before it needs a message.
fn say(session: &mut Session, items: &BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    loop {
        match session.action() {
            Ok(Action::Send(message)) => messages.push(message),
            Ok(Action::Provide) => {
                items.iter().for_each(|item| session.provide(item));
                if session.provided().is_err() {
                    return messages;
                }
            }
            _ => return messages,
        }
    }
}

/// Lets two honest peers talk. Of each message a byte is changed, if it has one at the place that the
/// next three bytes tell: two for the place, one for the change. Those who come to the end without
/// an error have the same set.
fn talk(policy: SyncPolicy, mut changes: &[u8]) {
    let is_quiet = changes.is_empty();
    let key = ExchangeKey::new([7; 16]);
    let mut sets =
        [0..60, 6..66].map(|items| items.map(|item| vec![item; 40]).collect::<BTreeSet<_>>());
    let mut news = [BTreeSet::new(), BTreeSet::new()];
    let mut sessions = [
        Session::initiator_with(IdSet::of_items(key, &sets[0]), policy),
        Session::responder(IdSet::of_items(key, &sets[1])),
    ];
    let (mut speaker, mut silences) = (0, 0);
    while silences < 2 {
        let messages = say(&mut sessions[speaker], &sets[speaker]);
        silences = if messages.is_empty() { silences + 1 } else { 0 };
        speaker = 1 - speaker;
        for mut message in messages {
            if let Some((&[low, high, change], rest)) = changes.split_first_chunk() {
                if let Some(byte) = message.get_mut(usize::from(u16::from_le_bytes([low, high]))) {
                    *byte ^= change;
                }
                changes = rest;
            }
            let new = &mut news[speaker];
            let _ = sessions[speaker].receive(&message, |item| {
                new.insert(item.to_vec());
            });
        }
    }
    let are_finished = sessions.each_mut().map(|session| session.action() == Ok(Action::Finished));
    assert!(are_finished == [true; 2] || !is_quiet);
    if are_finished == [true; 2] {
        sets.iter_mut().zip(news).for_each(|(set, new)| set.extend(new));
        assert_eq!(sets[0], sets[1]);
    }
}
